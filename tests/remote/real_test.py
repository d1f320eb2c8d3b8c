# SPDX-License-Identifier: MIT
"""Called by real.sh. Mounts of a bucket of Swift, whose own code verifies the signatures."""
import os
import shutil
import sys
import urllib.parse
import urllib.request

import numpy
import zarr2 as zarr

import harness

SERVER = os.environ["NDLFS_REAL_SERVER"]
USER, SECRET = "test:tester", "se/cret+"


class Swift:
    """An account of the server. It is filled by Swift's own protocol, which needs a token and no signature."""

    def __init__(self):
        request = urllib.request.Request(SERVER + "/auth/v1.0", headers={"X-Auth-User": USER, "X-Auth-Key": SECRET})
        with urllib.request.urlopen(request) as answer:
            self.url, self.token = answer.headers["X-Storage-Url"], answer.headers["X-Auth-Token"]

    def put(self, *names, data=b""):
        """Creates a bucket, or an object in one: names are the bucket and the key."""
        path = "/".join(urllib.parse.quote(name.encode("utf-8", "surrogateescape"), safe="/") for name in names)
        request = urllib.request.Request(f"{self.url}/{path}", data=data, method="PUT",
                                         headers={"X-Auth-Token": self.token, "Content-Type": "application/octet-stream"})
        with urllib.request.urlopen(request):
            pass

    def put_folder(self, bucket, top):
        self.put(bucket)
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    self.put(bucket, os.path.relpath(path, top), data=file.read())


class RealTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.scratch, "source")
        os.mkdir(self.source)
        self.swift = Swift()
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            del os.environ[name]
        os.environ.update({
            "AWS_ACCESS_KEY_ID": USER, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "eu-test-1",
            "AWS_ENDPOINT_URL": SERVER, "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent"})

    def bucket(self):
        """The name of the bucket of this test."""
        return self.id().rpartition(".")[2].replace("_", "-")[:60].rstrip("-")

    def values(self, seed=1):
        return numpy.random.default_rng(seed).integers(0, 1 << 60, (4, 100, 1000))

    def write_store(self, name="a.zarr", seed=1):
        path = os.path.join(self.source, name)
        shutil.rmtree(path, ignore_errors=True)
        group = zarr.open_group(path, mode="w")
        group.create_dataset("t", data=self.values(seed), chunks=(2, 100, 1000), compressor=None)
        group.create_dataset("small", data=numpy.arange(10), chunks=3)
        zarr.consolidate_metadata(path)

    def upload(self):
        self.swift.put_folder(self.bucket(), self.source)
        return "s3://" + self.bucket()

    def refused(self, *command):
        result = harness.run(harness.BINARY, *command)
        self.assertNotEqual(result.returncode, 0, command)
        self.assertNotIn(SECRET, result.stdout + result.stderr)
        return result.stderr

    def test_shows_what_a_local_mount_shows(self):
        self.write_store()
        zarr.open_group(os.path.join(self.source, "d/e/b b+%41ä.zarr"), mode="w").create_dataset(
            "g/x", data=numpy.arange(100), chunks=3)  # a list of several pages
        os.mkdir(os.path.join(self.source, "f"))
        numpy.save(os.path.join(self.source, "f/x.npy"), numpy.arange(12).reshape(3, 4))
        harness.write(os.path.join(self.source, "f/empty"), b"")
        harness.write(os.path.join(self.source, "notes #1?&=~.txt"), b"hello")
        with harness.Mount(self.source) as local:
            expected = {name: digest for name, digest in harness.digests(local.path).items()
                        if not name.endswith((".ndl.yaml", ".html", ".h5"))}  # these tell times or the source
            names = harness.walk(local.path)
        mount = self.mount(self.upload())
        self.assertEqual(harness.walk(mount.path), names)
        shown = harness.digests(mount.path)
        self.assertEqual({name: shown[name] for name in expected}, expected)

    def test_refusals_say_why_and_no_secret(self):
        self.write_store()
        url = self.upload()
        describe = ["describe", url + "/a.zarr"]
        self.run_ok(harness.BINARY, *describe)
        os.environ["AWS_SECRET_ACCESS_KEY"] = SECRET + "x"
        self.assertIn("SignatureDoesNotMatch", self.refused(*describe))
        os.environ["AWS_SECRET_ACCESS_KEY"] = SECRET
        self.refused(*describe, "--no-sign-request")  # this server takes it for no request of S3
        self.assertIn("NoSuchBucket", self.refused("describe", "s3://another-bucket/a.zarr"))

    def test_the_region_is_found_out(self):
        self.write_store()
        os.environ["AWS_REGION"] = "us-east-1"
        self.assertIn("small", self.run_ok(harness.BINARY, "describe", self.upload() + "/a.zarr"))

    def test_a_changed_object_is_shown_and_never_mixed(self):
        self.write_store()
        mount = self.mount(self.upload(), "--revalidate", "0.1")
        path = mount.join("a.zarr/t/data.raw")
        self.assertEqual(harness.read(path), self.values().tobytes())
        self.write_store(seed=2)
        self.upload()
        wanted = self.values(2).tobytes()

        def shows_the_new_content():
            try:
                found = harness.read(path)
            except OSError:
                return False
            self.assertIn(found[:len(found) // 2], (self.values().tobytes()[:len(found) // 2], wanted[:len(found) // 2]))
            return found == wanted
        harness.wait_until(shows_the_new_content, "the new content")

    def test_block_cache_serves_a_second_mount(self):
        self.write_store()
        url = self.upload()
        options = ["--block-cache", os.path.join(self.scratch, "blocks")]
        self.run_ok(harness.BINARY, "warm", url + "/a.zarr", *options)
        mount = self.mount(url, *options)
        self.assertEqual(harness.read(mount.join("a.zarr/t/data.raw")), self.values().tobytes())


if __name__ == "__main__":
    sys.exit(harness.main())
