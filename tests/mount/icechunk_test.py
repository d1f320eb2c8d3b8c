#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Icechunk repositories in a mount, at each of their versions, and while somebody commits to them."""
import os
import subprocess
import time

import numpy as np

import harness
from icechunk_writer import Repository, id_text

FIRST = np.arange(40, dtype="<i4").reshape(10, 4)
SECOND = FIRST * 2


class IcechunkTest(harness.SourceTestCase):
    def make(self):
        repository = Repository(self.path("r"))
        repository.tags["v1"] = repository.commit(FIRST, 3)
        repository.commit(SECOND, 3)
        return repository

    def test_shows_the_branch_main(self):
        self.make()
        mounted = self.mount(self.source)
        np.testing.assert_array_equal(np.load(mounted.join("r/v/data.npy")), SECOND)
        self.assertIn(b"shape: [10, 4]", harness.read(mounted.join("r"), ".ndl.yaml"))

    def test_opens_each_version(self):
        repository = self.make()
        snapshot = id_text(repository.snapshots[0][0])
        for ref, values in {"tag=v1": FIRST, "branch=main": SECOND, f"snapshot={snapshot}": FIRST,
                            "at=2023-11-14T22:13:20.5": FIRST, "at=2023-11-15": SECOND}.items():
            done = subprocess.run([harness.BINARY, "cat", repository.path, "/v", "--view", "raw", "--ref", ref],
                                  stdin=subprocess.DEVNULL, capture_output=True)
            self.assertEqual((done.stdout, done.stderr), (values.tobytes(), b""), ref)
        log = self.run_ok(harness.BINARY, "describe", repository.path, "--log")
        self.assertIn(f"tag v1 -> {snapshot}\n", log)
        self.assertIn(f"{snapshot} 2023-11-14T22:13:20.000000Z snapshot 0\n", log)
        mounted = self.mount(self.source, "--ref", "tag=v1")
        np.testing.assert_array_equal(np.load(mounted.join("r/v/data.npy")), FIRST)

    def test_an_open_file_stays_at_its_snapshot(self):
        repository = self.make()
        mounted = self.mount(self.source, "--revalidate", "0.1")
        path = mounted.join("r/v/data.raw")
        with open(path, "rb", buffering=0) as file:
            begin = file.read(48)
            repository.commit(FIRST + 100, 3)
            time.sleep(0.3)
            self.assertEqual(begin + file.read(), SECOND.tobytes())
        time.sleep(0.3)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), (FIRST + 100).tobytes())

    def test_a_lost_chunk_is_an_error(self):
        repository = self.make()
        for name in os.listdir(os.path.join(repository.path, "chunks")):
            os.remove(os.path.join(repository.path, "chunks", name))
        mounted = self.mount(self.source)
        with self.assertRaises(OSError):
            harness.read(mounted.join("r/v"), "data.raw")

    def test_says_what_became_of_a_version(self):
        repository = self.make()
        repository.deleted_tags = ["old"]
        repository.write_repo()
        for ref, words in {"tag=old": "was deleted", "tag=x": "has no tag", "x": "expected branch=NAME"}.items():
            done = harness.run(harness.BINARY, "describe", repository.path, "--ref", ref)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr, ref)
        repository.status = {"availability": 2, "limited_availability_reason": "moved"}
        repository.write_repo()
        done = harness.run(harness.BINARY, "describe", repository.path)
        self.assertIn("the repository is offline: moved", done.stderr)


if __name__ == "__main__":
    harness.main()
