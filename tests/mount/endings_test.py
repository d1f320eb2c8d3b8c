# SPDX-License-Identifier: MIT
"""Work that nobody waits for ends, and keeps nobody else waiting: processes of libhdf5 that are killed or stopped, documents
that refer to each other without end, a server that falls silent, and an address space that is too small."""
import contextlib
import os
import resource
import signal
import subprocess
import threading
import unittest

import h5py
import harness
import numpy as np


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        found = [int(child) for child in file.read().split()]
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            found += [int(child) for child in file.read().split()]
    return sorted(set(found))


class HelperTest(harness.TestCase):
    """The process of libhdf5."""

    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.scratch, "source")
        os.mkdir(self.source)
        for number in range(12):
            with h5py.File(f"{self.source}/{number}.h5", "w") as file:
                file["x"] = np.arange(100)

    def signal_helpers(self, mounted, number):
        for child in children_of(mounted.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)

    def read(self, mounted, number):
        return len(harness.read(mounted.path, f"{number}.h5/x/data.raw"))

    def test_it_inherits_no_environment(self):
        os.environ["AWS_SECRET_ACCESS_KEY"] = "not for others"
        try:
            mounted = self.mount(self.source)
        finally:
            del os.environ["AWS_SECRET_ACCESS_KEY"]
        self.assertEqual(self.read(mounted, 0), 800)
        helpers = children_of(mounted.process.pid)
        self.assertTrue(helpers)
        for helper in helpers:
            with open(f"/proc/{helper}/environ", "rb") as file:
                self.assertNotIn(b"AWS", file.read())

    def test_one_that_is_killed_marks_no_file(self):
        mounted = self.mount(self.source, "--revalidate", "0")
        self.assertEqual(self.read(mounted, 11), 800)  # libfuse's own process has ended by then
        for number in range(6):
            self.signal_helpers(mounted, signal.SIGKILL)
            self.assertEqual(self.read(mounted, number), 800)
            self.assertNotIn("error.txt", os.listdir(mounted.join(f"{number}.h5")))

    def test_a_file_is_read_again_after_all_attempts_were_killed(self):
        mounted = self.mount(self.source, "--revalidate", "0")
        self.assertEqual(self.read(mounted, 0), 800)
        ended = threading.Event()

        def kill():
            while not ended.is_set():
                self.signal_helpers(mounted, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            for number in range(1, 12):
                with contextlib.suppress(OSError):
                    self.read(mounted, number)
        finally:
            ended.set()
            killer.join()

        def is_read():
            with contextlib.suppress(OSError):
                return all(self.read(mounted, number) == 800 for number in range(12))
            return False

        harness.wait_until(is_read, "a mark that ends by itself")

    def test_one_that_is_stopped_is_replaced(self):
        mounted = self.mount(self.source)
        self.assertEqual(self.read(mounted, 11), 800)  # libfuse's own process has ended by then
        for number in range(4):
            self.signal_helpers(mounted, signal.SIGSTOP)
            self.assertEqual(self.read(mounted, number), 800)
        self.signal_helpers(mounted, signal.SIGSTOP)  # and the mount ends all the same


class UnionTest(harness.TestCase):
    """Documents that are the union of others, which are unions."""

    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.scratch, "source")
        harness.write(f"{self.source}/plain.txt", "hello")
        for layer in range(7):  # each the union of all of the next layer
            names = ", ".join(f"w{layer + 1}_{number}.ndl.yaml" for number in range(10))
            for number in range(10):
                harness.write(f"{self.source}/w{layer}_{number}.ndl.yaml", f"/: {{x-source: {{union: [{names}]}}}}\n")
        for layer in range(17):  # each the union of ten times the next one
            names = ", ".join([f"u{layer + 1}.ndl.yaml"] * 10)
            harness.write(f"{self.source}/u{layer}.ndl.yaml", f"/: {{x-source: {{union: [{names}]}}}}\n")

    def test_too_many_are_refused_with_the_reason(self):
        mounted = self.mount(self.source)
        self.assertIn("documents refer to more than", harness.read(mounted.path, "w0_0.ndl.yaml/error.txt").decode())
        self.assertIn("documents refer to each other", harness.read(mounted.path, "u0.ndl.yaml/error.txt").decode())

    def test_killed_readers_hold_nobody(self):
        mounted = self.mount(self.source, "--timeout", "10")
        readers = [subprocess.Popen(["ls", "-lR", mounted.join(f"w{number % 4}_{number}.ndl.yaml")],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for number in range(10)]
        for reader in readers:
            reader.kill()
            reader.wait()
        self.assertEqual(harness.read(mounted.path, "plain.txt"), b"hello")


class AddressSpaceTest(harness.TestCase):
    @unittest.skipIf(os.environ.get("NDLFS_SANITIZED"), "sanitizers need their address space")
    def test_too_little_is_an_error_at_the_start(self):
        os.mkdir(os.path.join(self.scratch, "point"))
        limit = 220 << 20
        result = subprocess.run(
            [os.environ["NDLFS_BINARY"], "mount", self.scratch, os.path.join(self.scratch, "point")], check=False,
            capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertNotIn(result.returncode, (0, -signal.SIGSEGV, -signal.SIGABRT))
        self.assertIn("ulimit -v", result.stderr)


if __name__ == "__main__":
    harness.main()
