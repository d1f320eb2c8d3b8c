#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Icechunk repositories in a mount, at each of their versions, and while somebody commits to them."""
import os
import subprocess
import time
import unittest

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

    def test_versions_are_folders(self):
        repository = self.make()
        repository.tags["v2"] = 1
        repository.deleted_tags = ["old"]
        repository.branches["a/b"] = 0
        repository.write_repo()
        mounted = self.mount(self.source)
        self.assertNotIn(".versions", os.listdir(mounted.join("r")))
        versions = mounted.join("r/.versions")
        names = [id_text(snapshot[0]) for snapshot in repository.snapshots]
        for folder, listed in {"": ["at", "branches", "log.txt", "snapshots", "tags"], "branches": ["a%2Fb", "main"],
                               "tags": ["v1", "v2"], "snapshots": sorted(names), "at": []}.items():
            self.assertEqual(sorted(os.listdir(os.path.join(versions, folder))), listed, folder)
        for name, values in {"branches/a%2Fb": FIRST, "branches/main": SECOND, "tags/v1": FIRST, "tags/v2": SECOND,
                             "snapshots/" + names[0]: FIRST, "snapshots/" + names[1]: SECOND,
                             "at/2023-11-14T22:13": None, "at/2023-11-14T22:13:20.5Z": FIRST,
                             "at/2023-11-15": SECOND}.items():
            folder = os.path.join(versions, name)
            if values is None:
                self.assertFalse(os.path.exists(folder), name)
                continue
            self.assertEqual(harness.read(folder, "v/data.raw"), values.tobytes(), name)
            self.assertEqual(sorted(os.listdir(folder)), sorted(os.listdir(mounted.join("r"))), name)
        self.assertEqual(harness.read(versions, "log.txt").decode(),
                         self.run_ok(harness.BINARY, "describe", repository.path, "--log"))
        for name in ("tags/x", "tags/old", "branches/x", "snapshots/x", "snapshots/" + "0" * 20, "at/x", "x"):
            with self.assertRaises(FileNotFoundError, msg=name):
                os.stat(os.path.join(versions, name))
        errors = harness.read(mounted.join(".ndlfs"), "errors.log").decode()
        self.assertIn('.versions/tags/old: the tag "old" was deleted', errors)
        self.assertIn("may have expired", errors)

    def test_programs_compare_and_copy_versions(self):
        self.make()
        mounted = self.mount(self.source)
        versions = mounted.join("r/.versions")
        for other, status in (("branches/main", 1), ("snapshots/" + os.listdir(versions + "/snapshots")[-1], 0)):
            done = harness.run("cmp", f"{versions}/tags/v1/v/data.raw", f"{versions}/{other}/v/data.raw")
            self.assertEqual(done.returncode, status, other)
        with open(f"{versions}/tags/v1/data.nc", "rb") as file:
            self.assertIn(FIRST.astype(">i4").tobytes(), file.read())
        self.run_ok("cp", "-r", f"{versions}/tags/v1", self.path("copy"))
        self.assertEqual(harness.read(self.path("copy"), "v/data.raw"), FIRST.tobytes())
        numbers = {os.stat(os.path.join(versions, name)).st_ino for name in ("tags/v1/v", "branches/main/v", "../v")}
        self.assertEqual(len(numbers), 3)
        self.assertTrue(os.path.samefile(f"{versions}/tags/v1/.source", mounted.join("r/.source")))
        for command in (["describe"], ["check"]):
            for name in ("", "/v"):
                self.run_ok(harness.BINARY, *command, f"{versions}/tags/v1{name}")
        done = subprocess.run([harness.BINARY, "cat", f"{versions}/tags/v1", "/v", "--view", "raw"],
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual((done.stdout, done.stderr), (FIRST.tobytes(), b""))

    def test_versions_at_the_root_of_a_mount(self):
        repository = self.make()
        repository.branches["dev"] = 0
        repository.commit(FIRST + 1, 3, branch="dev")
        mounted = self.mount(repository.path, "--ref", "branch=dev")
        self.assertEqual(harness.read(mounted.join("v"), "data.raw"), (FIRST + 1).tobytes())
        versions = mounted.join(".versions")
        self.assertEqual(harness.read(versions, "branches/main/v/data.raw"), SECOND.tobytes())
        self.assertEqual(harness.read(versions, "at/2023-11-14T22:13:21/v/data.raw"), FIRST.tobytes())
        self.assertEqual(harness.read(versions, "at/2023-11-15/v/data.raw"), (FIRST + 1).tobytes())
        self.assertTrue(os.path.isdir(os.path.join(versions, "tags/v1/.source")))

    def test_a_commit_moves_branches_only(self):
        repository = self.make()
        mounted = self.mount(self.source, "--revalidate", "0.1")
        versions = mounted.join("r/.versions")
        with open(f"{versions}/branches/main/v/data.raw", "rb", buffering=0) as file:
            begin = file.read(48)
            before = os.stat(f"{versions}/tags/v1/v/data.raw")
            repository.tags["v3"] = repository.commit(FIRST + 100, 3)
            repository.write_repo()
            time.sleep(0.3)
            self.assertEqual(begin + file.read(), SECOND.tobytes())
        self.assertEqual(harness.read(versions, "branches/main/v/data.raw"), (FIRST + 100).tobytes())
        self.assertEqual(harness.read(versions, "at/2023-11-15/v/data.raw"), (FIRST + 100).tobytes())
        self.assertEqual(harness.read(versions, "tags/v1/v/data.raw"), FIRST.tobytes())
        self.assertEqual(os.stat(f"{versions}/tags/v1/v/data.raw"), before)
        self.assertEqual(sorted(os.listdir(versions + "/tags")), ["v1", "v3"])
        del repository.branches["main"], repository.tags["v3"]
        repository.branches["other"] = 2
        repository.write_repo()
        time.sleep(0.3)
        self.assertEqual(os.listdir(versions + "/tags") if os.path.exists(versions) else ["v1"], ["v1"])

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

    @unittest.skipUnless(os.getuid() == 0, "needs another user")
    def test_others_see_of_versions_what_they_may_read(self):
        repository = self.make()
        repository.tags["v2"] = 1
        repository.write_repo()
        for name in (f"snapshots/{id_text(repository.snapshots[0][0])}", "manifests/" + max(os.listdir(self.path("r/manifests")))):
            os.chmod(self.path("r", name), 0o600)  # of the first version, and of the second
        mounted = self.mount(self.source, "--allow-other")
        others = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for tag, values in ("v1", FIRST), ("v2", SECOND):
            path = mounted.join(f"r/.versions/tags/{tag}/v/data.raw")
            self.assertEqual(harness.read(path), values.tobytes())
            denied = harness.run(*others, "cat", path)
            self.assertIn("Permission denied", denied.stderr)
        self.assertEqual(self.run_ok(*others, "ls", mounted.join("r/.versions/tags")).split(), ["v1", "v2"])
        for folder, _, names in os.walk(self.source):
            for name in names:
                os.chmod(os.path.join(folder, name), 0o644)
        mounted = self.mount(self.source, "--allow-other")
        sums = [self.run_ok(*who, "sha256sum", mounted.join("r/.versions/tags/v1/v/data.raw")) for who in ([], others)]
        self.assertEqual(sums[0], sums[1])

    def test_files_instead_of_folders_are_of_the_version_of_ref(self):
        self.make()
        for options, values in ((), SECOND), (("--ref", "tag=v1"), FIRST):
            with harness.Mount(self.source, "--as", "nc", *options) as mounted:
                self.assertEqual(sorted(os.listdir(mounted.path)), [".ndlfs", "r.nc"])
                self.assertIn(values.astype(">i4").tobytes(), harness.read(mounted.join("r.nc")))
                for name in (".versions", "r/.versions", "r.nc/.versions"):
                    self.assertFalse(os.path.exists(mounted.join(name)), name)

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
