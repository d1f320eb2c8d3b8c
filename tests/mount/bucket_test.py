# SPDX-License-Identifier: MIT
"""Stores in a bucket whose chunks are parts of other objects: what they show, and how many requests that takes."""
import os
import subprocess
import time

import numpy as np

import harness
from icechunk_writer import Repository, id_text
from s3_test import S3TestCase

FIRST = np.arange(40, dtype="<i4").reshape(10, 4)
SECOND = FIRST * 2
ROWS = 3  # of a chunk


class IcechunkCase(S3TestCase):
    """A repository with the tags v1 and v2, and with a commit after them."""

    def make(self, name="r", version=2):
        repository = Repository(os.path.join(self.source, name), version)
        repository.tags["v1"] = repository.commit(FIRST, ROWS)
        repository.tags["v2"] = repository.commit(SECOND, ROWS)
        repository.write_refs()
        return repository

    def asked(self):
        """The requests since the last call: for a list "LIST prefix", for all others the method and the key."""
        return [f"{request.method} {request.key}" if request.key else f"LIST {request.query['prefix']}"
                for request in self.stub.take_requests()]

    def assert_asked(self, *expected):
        self.assertEqual(sorted(self.asked()), sorted(expected))

    def read(self, *parts):
        return harness.read(*parts, "v/data.raw")


class IcechunkTest(IcechunkCase):
    def test_two_tags(self):
        self.make()
        for url, folder in ("s3://bucket/r", ""), ("s3://bucket", "r"):
            with self.subTest(url), harness.Mount(url) as mount:
                shown = mount.join(folder)
                versions = os.path.join(shown, ".versions")
                self.assertEqual(sorted(os.listdir(versions + "/tags")), ["v1", "v2"])
                self.assertEqual(self.read(versions, "tags/v1"), FIRST.tobytes())
                self.assertEqual(self.read(shown), SECOND.tobytes())
                for other, status in ("tags/v2", 1), ("../.versions/tags/v1", 0):
                    done = harness.run("cmp", f"{versions}/tags/v1/v/data.raw", f"{versions}/{other}/v/data.raw")
                    self.assertEqual(done.returncode, status, done.stderr)
                for tag, values in ("v1", FIRST), ("v2", SECOND):
                    self.assertIn(values.astype(">i4").tobytes(), harness.read(versions, "tags", tag, "data.nc"))
                self.run_ok("cp", "-r", f"{versions}/tags/v1", os.path.join(self.scratch, "copy" + folder))
                self.assertEqual(self.read(self.scratch, "copy" + folder), FIRST.tobytes())

    def test_commands(self):
        repository = self.make()
        ids = [id_text(snapshot[0]) for snapshot in repository.snapshots]
        log = self.run_ok(harness.BINARY, "describe", "--log", "s3://bucket/r")
        for line in (f"tag v1 -> {ids[0]}\n", f"tag v2 -> {ids[1]}\n", f"{ids[1]} 2023-11-14T22:13:21.000000Z snapshot 1\n"):
            self.assertIn(line, log)
        self.assertIn("4 chunks", self.run_ok(harness.BINARY, "check", "s3://bucket/r"))
        done = subprocess.run([harness.BINARY, "cat", "s3://bucket/r", "/v", "--view", "raw", "--ref", "tag=v1"],
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual((done.stdout, done.stderr), (FIRST.tobytes(), b""))
        lost = os.path.join(repository.path, "chunks", sorted(os.listdir(os.path.join(repository.path, "chunks")))[0])
        os.remove(lost)
        self.run_ok(harness.BINARY, "check", "s3://bucket/r")
        said = harness.run(harness.BINARY, "check", "s3://bucket/r", "--ref", "tag=v1")
        self.assertIn("is not there", said.stdout + said.stderr)

    def test_a_commit_and_a_moved_branch_are_seen_and_never_mixed(self):
        repository = self.make()
        mount = self.mount("s3://bucket/r", "--revalidate", "0.1")
        versions = mount.join(".versions")
        with open(mount.join("v/data.raw"), "rb", buffering=0) as file:
            begin = file.read(48)
            repository.commit(FIRST + 100, ROWS)
            harness.wait_until(lambda: self.read(mount.path) == (FIRST + 100).tobytes(), "the commit")
            self.assertEqual(begin + file.read(), SECOND.tobytes())
        self.assertEqual(self.read(versions, "branches/main"), (FIRST + 100).tobytes())
        repository.branches["main"] = 0  # it was reset
        repository.write_refs()
        harness.wait_until(lambda: self.read(mount.path) == FIRST.tobytes(), "the moved branch")
        harness.wait_until(lambda: self.read(versions, "branches/main") == FIRST.tobytes(), "the moved branch")
        self.assertEqual(self.read(versions, "tags/v2"), SECOND.tobytes())

    def test_version_1(self):
        repository = self.make(version=1)
        mount = self.mount("s3://bucket/r", "--revalidate", "0.1")
        self.assertEqual(self.read(mount.path), SECOND.tobytes())
        self.assertEqual(self.read(mount.join(".versions/tags/v1")), FIRST.tobytes())
        repository.commit(FIRST + 100, ROWS)
        harness.wait_until(lambda: self.read(mount.path) == (FIRST + 100).tobytes(), "the commit")


class IcechunkRequestsTest(IcechunkCase):
    def test_listing_reads_no_manifest(self):
        """One request is that of detection."""
        for version, ref in (2, "repo"), (1, "refs/branch.main/ref.json"):
            name = f"v{version}"
            repository = self.make(name, version)
            with self.subTest(version), harness.Mount(f"s3://bucket/{name}", "--revalidate", "3600") as mount:
                self.asked()
                self.assertIn("v", os.listdir(mount.path))
                self.assert_asked(f"LIST {name}/", f"GET {name}/{ref}",
                                  f"GET {name}/snapshots/{id_text(repository.snapshots[-1][0])}")
                self.run_ok("ls", "-l", mount.path, mount.join("v"))
                self.assert_asked()

    def test_a_chunk_takes_its_manifest_and_one_request(self):
        self.make()
        mount = self.mount("s3://bucket/r", "--revalidate", "3600")
        os.listdir(mount.join("v"))
        self.asked()
        with open(mount.join("v/data.raw"), "rb", buffering=0) as file:
            file.read(16)
            asked = self.asked()
            self.assertEqual(asked[0].split("/")[1], "manifests")
            self.assertEqual({name.split("/")[1] for name in asked[1:]}, {"chunks"})
            file.read()
            asked += self.asked()
        self.assertEqual(len(asked), len(set(asked)))
        self.assertEqual(len(asked), 1 + -(-len(SECOND) // ROWS))
        self.read(mount.path)
        self.assert_asked()

    def test_revalidating_is_one_request(self):
        self.make()
        mount = self.mount("s3://bucket/r", "--revalidate", "1")
        self.read(mount.path)
        for look in (lambda: os.listdir(mount.path), lambda: os.stat(mount.join("v")), lambda: self.read(mount.path),
                     lambda: self.read(mount.join(".versions/tags/v1"))):
            look()
            time.sleep(1.5)
            self.asked()
            look()
            self.assertEqual(set(self.asked()), {"LIST r/"})

    def test_nothing_is_asked_within_the_time(self):
        self.make()
        mount = self.mount("s3://bucket/r", "--revalidate", "3600")
        versions = [mount.path, *(mount.join(".versions", name) for name in ("tags/v1", "tags/v2", "branches/main"))]
        for _ in range(2):
            self.asked()
            for version in versions:
                self.read(version)
                os.listdir(os.path.join(version, "v"))
        self.assert_asked()

    def test_what_never_changes_comes_from_the_block_cache(self):
        self.make()
        options = ["--block-cache", os.path.join(self.scratch, "blocks"), "--revalidate", "3600"]
        for is_first in (True, False):
            with harness.Mount("s3://bucket/r", *options) as mount:
                self.asked()
                os.listdir(mount.path)
                self.assertEqual(self.read(mount.path), SECOND.tobytes())
                self.assertEqual(self.read(mount.join(".versions/tags/v1")), FIRST.tobytes())
                asked = self.asked()
                fixed = [name for name in asked if name.split("/")[1] in ("snapshots", "manifests", "chunks")]
                self.assertEqual(bool(fixed), is_first, fixed)
        self.assertEqual(asked, ["LIST r/"])


if __name__ == "__main__":
    harness.main()
