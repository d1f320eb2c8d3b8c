# SPDX-License-Identifier: MIT
"""What the tests of mounts of buckets share, whatever server they are on."""
import os
import shutil

import numpy
import zarr2 as zarr

import harness

SHAPE = (4, 100, 1000)


def values(seed=1):
    return numpy.random.default_rng(seed).integers(0, 1 << 60, SHAPE)


class BucketCase(harness.TestCase):
    """A server `stub` of the directory `source`, whose environment is the only one that leads to it."""
    url = None  # of the bucket
    chunks = (1, 100, 1000)
    secrets = ()  # that no message may have

    def make_stub(self):
        raise NotImplementedError

    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.scratch, "source")
        os.mkdir(self.source)
        self.stub = self.enterContext(self.make_stub())
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.clear()
        os.environ.update(self.stub.environment())

    def mount_options(self):
        """Those of each mount."""
        return ()

    def mount(self, url=None, *options):
        return super().mount(url or self.url, *self.mount_options(), *options)

    def refused_mount(self, *options, url=None, endpoint=None, timeout=20):
        """The one line that says why a mount of the URL is refused."""
        point = os.path.join(self.scratch, "point")
        os.makedirs(point, exist_ok=True)
        result = harness.run(harness.BINARY, "mount", url or self.url + "/a.zarr", point, "--endpoint", endpoint or self.stub.url,
                             f"--timeout={timeout}", *options)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for secret in self.secrets:
            self.assertNotIn(secret, result.stdout + result.stderr)
        return result.stderr

    def write_store(self, name="a.zarr", seed=1, **options):
        path = os.path.join(self.source, name)
        group = zarr.open_group(path, mode="w")
        group.create_dataset("t", data=values(seed), chunks=self.chunks, compressor=None, **options)
        group.create_dataset("small", data=numpy.arange(10), chunks=3)
        group.attrs["title"] = "a test"
        zarr.consolidate_metadata(path)
        return path

    def assert_reads(self, mount, expected, store="a.zarr"):
        numpy.testing.assert_array_equal(numpy.load(mount.join(store, "t", "data.npy")), expected)


class BucketTests:
    """Tests for each kind of bucket, beside a BucketCase."""

    def test_shows_what_a_local_mount_shows(self):
        path = os.path.join(self.source, "d/e/b b+%41ä.zarr")
        zarr.open_group(path, mode="w").create_dataset("g/x", data=numpy.arange(10), chunks=3)
        os.mkdir(os.path.join(self.source, "f"))
        numpy.save(os.path.join(self.source, "f/x.npy"), numpy.arange(12).reshape(3, 4))
        harness.write(os.path.join(self.source, "f/empty"), b"")
        harness.write(os.path.join(self.source, "notes #1?&=.txt"), b"hello")
        self.stub.page = 3
        with harness.Mount(self.source) as local:
            expected = {name: digest for name, digest in harness.digests(local.path).items()
                        if not name.endswith((".ndl.yaml", ".html", ".h5"))}
            names = harness.walk(local.path)
        mount = self.mount()
        self.assertEqual(harness.walk(mount.path), names)
        shown = harness.digests(mount.path)
        self.assertEqual({name: shown[name] for name in expected}, expected)

    def test_first_listing_of_a_consolidated_store_costs_three_requests(self):
        self.write_store()
        mount = self.mount(self.url + "/a.zarr")
        self.stub.take_requests()
        self.assertLessEqual({"t", "small"}, set(os.listdir(mount.path)))
        self.assertLessEqual(len(self.stub.take_requests()), 3)

    def test_a_changed_object_is_shown_and_never_mixed(self):
        self.write_store()
        mount = self.mount(self.url, "--revalidate", "0.1")
        self.assert_reads(mount, values())
        shutil.rmtree(os.path.join(self.source, "a.zarr"))
        self.write_store(seed=2)

        def shows_new():
            try:
                return harness.read(mount.path, "a.zarr/t/data.raw") == values(2).tobytes()
            except OSError:
                return False
        harness.wait_until(shows_new, "the new content")

    def test_a_server_that_cannot_be_reached_is_named(self):
        self.assertRegex(self.refused_mount(endpoint="http://127.0.0.1:1", timeout=2), harness.NO_CONNECTION)
        self.assertIn("Could not resolve host", self.refused_mount(endpoint="http://host.invalid", timeout=2))
        # The server has to answer for that, which takes longer where much else runs.
        self.assertRegex(self.refused_mount(endpoint=self.stub.url.replace("http:", "https:")), "SSL|TLS")
