# SPDX-License-Identifier: MIT
"""The n-th fault in a directory that ndlfs keeps something in: blocks of a remote source, views that were read to their end,
chunks that do not fit in memory. Each system call there fails once, in its turn. Such a directory saves time and nothing else:
whatever fails there, a reader gets the same bytes, and so does the next one.

The environment is that of nth_fault_test.py."""
import os
import re
import shutil
import time

import harness
import lying_server
import nth_fault_test as nth
import numpy as np
import serve_test
import zarr2 as zarr
from faulty_program import CALLS, FAULTS, OPEN, Control

# What lacks memory is tested where no directory matters.
KINDS = [fault for fault in FAULTS if fault != "memory"]
# Stores of one file, of several, and of many.
KEPT = [row for row in nth.STORES if row[0] in ("v3.zarr", "four.nc", "a.tif", "consolidated.zarr", "a.n5", "new.h5")]


class CacheCase(nth.FaultCase):
    """begin(name, state) makes a state, use(name) is what a reader then does, and judge(name, seen, what) says what is wrong with
    what it has seen."""

    def setUp(self):
        super().setUp()
        os.environ["no_proxy"] = "*"
        self.directory = os.path.join(self.scratch, "kept")
        self.control.close()
        self.control = Control(os.path.join(self.scratch, "control"), self.directory)

    def fail_each_call(self, names, states):
        groups = [(name, state, fault) for name in names for state in states for fault in KINDS]
        for name, state, fault in nth.chosen(groups, self.rng):
            self.begin(name, state)
            self.control.arm(fault, 0)
            wrong = self.judge(name, self.use(name), "")
            self.assertIsNone(wrong, (name, state, wrong))
            for at in self.places(self.control.field(CALLS)):
                self.begin(name, state)
                self.control.arm(fault, at)
                seen, what = self.use(name), self.control.what()
                self.control.disarm()
                with self.subTest(store=name, state=state, fault=fault, at=at, what=what):
                    self.assertIsNone(self.judge(name, seen, what))
                    self.assertIsNone(self.judge(name, self.use(name), ""), "the next try")
                self.found[what.partition(" ")[0] or "nothing"] += 1
        print(dict(self.found))


class BlockCacheTest(CacheCase):
    """Commands that read from a server and keep its blocks."""

    def words(self, name):
        return ["cat", f"{self.server.url}/{name.replace('.', '_')}/{name}", *self.inside[name]]

    def begin(self, name, state):
        self.control.disarm()
        shutil.rmtree(self.directory, ignore_errors=True)
        if state == "full":
            self.use(name)

    def use(self, name):
        return self.run_faulty([*self.words(name), "--block-cache", self.directory])

    def judge(self, name, seen, what):
        """A directory that cannot be opened or made is told before anything is read."""
        if seen[:2] == self.wanted[name]:
            return None
        lines = seen[2].splitlines()
        is_told = seen[0] == 1 and not seen[1] and len(lines) == 1 and self.directory in lines[0]
        if what and is_told and re.search(nth.REASONS, lines[0]):
            return None
        at = len(os.path.commonprefix([seen[1], self.wanted[name][1]]))
        return f"status {seen[0]}, from byte {at} on {seen[1][at:at + 40]} is not {self.wanted[name][1][at:at + 40]}, {seen[2]}"

    def serve(self, rows):
        self.inside = {name: [array] if array else [] for name, _, array in rows}
        for name, write, _ in rows:
            self.touch(self.make(name, write))  # what changed just now is not kept
        self.server = lying_server.Server(self.top)
        self.addCleanup(self.server.stop)
        self.wanted = {name: self.run_faulty(self.words(name))[:2] for name in self.inside}
        self.assertTrue(all(status == 0 and output for status, output in self.wanted.values()), self.wanted)

    def test_full_disk_is_told_apart_from_the_data(self):
        self.serve(KEPT[:1])
        os.mkdir(self.directory, 0o700)
        self.control.arm("ENOSPC", 1, lasts=True)
        status, output, errors = self.use(KEPT[0][0])
        self.assertEqual((status, output), self.wanted[KEPT[0][0]])
        self.assertRegex(errors, f"^ndlfs: [^\n]*{self.directory}[^\n]*No space left on device[^\n]*\n$")

    def test_blocks_that_cannot_be_kept_or_read(self):
        self.serve(KEPT)
        self.fail_each_call(self.inside, ("empty", "full"))


class KeptCase(CacheCase):
    """A server whose page of a store is read again and again, in the state "new" after everything of the store seems new."""
    STORE = "large.zarr"
    SHAPE = (48, 128, 128)

    def serve(self, page, *options):
        self.folder = self.make(self.STORE, self.write)
        self.page = f"/{os.path.basename(self.folder)}/{self.STORE}/a/{page}"
        os.makedirs(self.directory, mode=0o700)
        self.control.arm("EIO", 0)  # from now on the server's descriptors in the directory are known
        self.server = self.enterContext(serve_test.Server(self.top, "--revalidate", "0", "--threads", "1", *options,
                                                          env=self.environment))
        self.begin(self.STORE, "new")
        self.control.arm("EIO", 0)
        self.wanted = self.ask(self.page)
        self.assertGreater(self.control.field(CALLS), 0, "nothing is kept")

    def write(self, path):
        values = np.random.default_rng(7).integers(1, 9, self.SHAPE).astype("f4")
        zarr.open_group(path, "w").create_dataset("a", data=values, chunks=(1, *self.SHAPE[1:]))
        self.values = values

    def begin(self, _, state):
        self.control.disarm()
        if state == "new":
            self.touch(self.folder)
            time.sleep(0.15)  # what changed just now is not kept

    def use(self, _):
        return self.ask(self.page)

    def judge(self, _, seen, __):
        if self.control.field(OPEN) > nth.KEPT_OPEN:
            return f"{self.control.field(OPEN)} descriptors are open"
        return None if seen == self.wanted else f"{seen[0]}, {len(seen[1])} bytes: {seen[1][:200]}"


class KeptViewsTest(KeptCase):
    def test_views_that_cannot_be_kept_or_read(self):
        self.serve("data.npy", "--decoded-cache", self.directory)
        self.assertTrue(self.wanted[1].endswith(self.values.tobytes()))
        self.fail_each_call([self.STORE], ("new", "kept"))


class SpilledChunksTest(KeptCase):
    def test_chunks_that_cannot_be_spilled_or_read_again(self):
        self.serve("data[order=F].npy", "--cache-size", "1MiB", "--cache-dir", self.directory)
        self.assertTrue(self.wanted[1].endswith(self.values.tobytes("F")))
        self.fail_each_call([self.STORE], ("new",))


if __name__ == "__main__":
    harness.main()
