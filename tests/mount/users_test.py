# SPDX-License-Identifier: MIT
"""Who may read what. Runs as root, to become other users; left out otherwise."""
import json
import os
import shutil
import stat
import subprocess
import sys

import h5py
import harness
import numpy as np

import make_data

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


class UsersTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.scratch, "source")
        shutil.copytree(harness.DATA, self.source)
        self.path = lambda *parts: os.path.join(self.source, *parts)
        # The folder of the build may be closed to others; a copy of the program is not.
        self.binary = os.path.join(self.scratch, "ndlfs")
        shutil.copy(harness.BINARY, self.binary)
        os.chmod(self.binary, 0o755)

    def as_nobody(self, *command):
        return harness.run(*AS_NOBODY, *command)

    def assert_denied(self, result):
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("Permission denied", result.stderr)

    def open_device(self):
        """The device of FUSE is open to everybody, as udev leaves it."""
        mode = stat.S_IMODE(os.stat("/dev/fuse").st_mode)
        os.chmod("/dev/fuse", 0o666)
        self.addCleanup(os.chmod, "/dev/fuse", mode)


class OthersTest(UsersTest):
    """Root mounts, somebody else reads."""

    def test_others_see_nothing_unless_allowed(self):
        mounted = self.mount(self.source)
        self.assert_denied(self.as_nobody("ls", mounted.path))
        self.assert_denied(self.as_nobody("cat", mounted.join("notes.txt")))

    def test_others_read_what_they_may_read_in_the_source(self):
        mounted = self.mount(self.source, "--allow-other")
        shown = self.as_nobody("cat", mounted.join("notes.txt"))
        self.assertEqual(shown.stdout, make_data.NOTES)
        sums = [self.run_ok(*who, "sha256sum", mounted.join("climate.zarr/t2m/data.raw")) for who in ([], AS_NOBODY)]
        self.assertEqual(sums[0], sums[1])

    def test_others_do_not_read_what_is_closed_to_them_in_the_source(self):
        os.chmod(self.path("notes.txt"), 0o640)
        os.chmod(self.path("arrays", "c_order.npy"), 0o640)
        os.chmod(self.path("ocean.zarr"), 0o750)
        mounted = self.mount(self.source, "--allow-other")
        harness.digests(mounted.path)  # what root has read and is cached is no more open than before
        for name in ("notes.txt", "arrays/c_order.npy/data.npy", "arrays/c_order.npy/.source",
                     "ocean.zarr/.ndl.yaml", "ocean.zarr/surface/sst/data.npy"):
            with self.subTest(name):
                self.assert_denied(self.as_nobody("cat", mounted.join(name)))
        self.assertEqual(self.as_nobody("cat", mounted.join("arrays/big_endian.npy/data.raw")).returncode, 0)

    def test_array_is_as_closed_as_its_metadata(self):
        os.chmod(self.path("ocean.zarr", "surface", "sst", "zarr.json"), 0o640)
        os.chmod(self.path("climate.zarr", "t2m", ".zarray"), 0o640)
        os.chmod(self.path("climate.zarr", "rain"), 0o700)
        mounted = self.mount(self.source, "--allow-other")
        harness.digests(mounted.path)
        for name in ("ocean.zarr/surface/sst/data.npy", "climate.zarr/t2m/data.raw", "climate.zarr/t2m/.ndl.yaml",
                     "climate.zarr/rain/data.raw", "ocean.zarr/.ndl.yaml"):
            with self.subTest(name):
                self.assert_denied(self.as_nobody("cat", mounted.join(name)))
        for name in ("ocean.zarr/profiles/depth/data.npy", "climate.zarr/lat/data.raw", "ocean.zarr/profiles/.ndl.yaml"):
            with self.subTest(name):
                self.assertEqual(self.as_nobody("cat", mounted.join(name)).returncode, 0)

    def secret(self):
        """A file that everybody might read, in a folder that nobody but root may enter."""
        os.mkdir(self.path("private"), 0o700)
        with open(self.path("private", "secret"), "wb") as file:
            file.write(b"geheim!!")
        return self.path("private", "secret")

    def assert_not_shown(self, *paths):
        """Neither to others nor to root, who would leave it in the page cache; the log says why."""
        for who in (self.as_nobody, harness.run):
            for path in paths:
                with self.subTest(path):
                    shown = who("cat", path)
                    self.assertNotEqual(shown.returncode, 0)
                    self.assertNotIn("geheim", shown.stdout)

    def test_stores_lead_nobody_to_files_that_are_closed_to_him(self):
        secret = self.secret()
        uncompressed = {"zarr_format": 2, "shape": [8], "chunks": [8], "dtype": "|u1", "compressor": None, "filters": None,
                        "fill_value": 0, "order": "C"}
        os.mkdir(self.path("by_link.zarr"))
        for store, reference in (("by_link.zarr", None), ("by_reference.json", [secret]),
                                 ("by_path.json", ["private/secret", 0, 8])):
            if reference is None:
                with open(self.path(store, ".zarray"), "w") as file:
                    json.dump(uncompressed, file)
                os.symlink("../private/secret", self.path(store, "0"))
            else:
                with open(self.path(store), "w") as file:
                    json.dump({"version": 1, "refs": {".zarray": json.dumps(uncompressed), "0": reference}}, file)
        with h5py.File(self.path("external.h5"), "w") as file:
            file.create_dataset("x", shape=(8,), dtype="u1", external=[(secret.encode(), 0, 8)])
        with h5py.File(self.path("private", "secret.h5"), "w") as file:
            file["x"] = np.frombuffer(b"geheim!!", "u1")
        os.chmod(self.path("private", "secret.h5"), 0o644)
        with h5py.File(self.path("virtual.h5"), "w") as file:
            layout = h5py.VirtualLayout(shape=(8,), dtype="u1")
            layout[:] = h5py.VirtualSource("private/secret.h5", "x", shape=(8,))
            file.create_virtual_dataset("x", layout)
        os.symlink("../private/secret", self.path("climate.zarr", "t2m", "secret.json"))
        paths = ("by_link.zarr/data.raw", "by_reference.json/data.raw", "by_path.json/data.raw", "external.h5/x/data.raw",
                 "virtual.h5/x/data.raw")
        alone = self.mount(self.source)
        for path in paths:
            self.assertEqual(harness.read(alone.join(path)), b"geheim!!", path)
        shared = self.mount(self.source, "--allow-other")
        self.assert_not_shown(*(shared.join(path) for path in paths))
        self.assertIn("closed to some of those who may read the metadata", harness.read(shared.path, ".ndlfs", "errors.log").decode())

    def test_metadata_do_not_come_from_files_that_are_closed(self):
        self.secret()
        with open(self.path("private", "notes.json"), "w") as file:
            json.dump({"note": "geheim"}, file)
        attributes = self.path("climate.zarr", "t2m", ".zattrs")
        os.remove(attributes)
        os.remove(self.path("climate.zarr", ".zmetadata"))
        os.symlink("../../private/notes.json", attributes)
        mounted = self.mount(self.source, "--allow-other")
        self.assertIn(b"geheim", harness.read(mounted.join("climate.zarr/t2m/.ndl.yaml")))
        for name in ("climate.zarr/.ndl.yaml", "climate.zarr/t2m/.ndl.yaml", "climate.zarr/t2m/data.raw"):
            with self.subTest(name):
                self.assert_denied(self.as_nobody("cat", mounted.join(name)))
        denied = self.as_nobody("getfattr", "-d", mounted.join("climate.zarr/t2m"))
        self.assertNotIn("geheim", denied.stdout)

    def test_chunk_that_is_closed_is_not_shown(self):
        os.chmod(self.path("climate.zarr", "t2m", "0.0.0"), 0o600)
        mounted = self.mount(self.source, "--allow-other", "--revalidate", "0")
        self.assert_not_shown(mounted.join("climate.zarr/t2m/data.raw"))
        os.chmod(self.path("climate.zarr", "t2m", "0.0.0"), 0o644)
        self.assertEqual(self.as_nobody("cat", mounted.join("climate.zarr/t2m/data.raw")).returncode, 0)


class OrdinaryUserTest(UsersTest):
    """Somebody without privileges mounts and reads."""

    def setUp(self):
        super().setUp()
        self.open_device()
        self.mount_point = os.path.join(self.scratch, "mnt")
        os.mkdir(self.mount_point)
        os.chown(self.mount_point, NOBODY, NOBODY)
        self.addCleanup(self.clean_up)

    def clean_up(self):
        if harness.mount_type(self.mount_point):
            harness.unmount(self.mount_point, lazy=True)

    def test_mounts_reads_and_unmounts(self):
        result = self.as_nobody(self.binary, "mount", self.source, self.mount_point)
        self.assertEqual(result.returncode, 0, result.stderr)
        program = "import sys, numpy as np; a = np.load(sys.argv[1], mmap_mode='r'); print(a.shape, a.dtype)"
        shown = self.as_nobody(sys.executable, "-c", program, os.path.join(self.mount_point, "climate.zarr/t2m/data.npy"))
        self.assertEqual(shown.stdout.strip(), "(24, 45, 90) float32", shown.stderr)
        raw = subprocess.run([*AS_NOBODY, "cat", os.path.join(self.mount_point, "climate.zarr/t2m/data.raw")],
                             capture_output=True, timeout=harness.DEADLINE)
        self.assertEqual(raw.stdout, harness.little_endian(make_data.climate()["t2m"]))
        result = self.as_nobody(self.binary, "umount", self.mount_point)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIsNone(harness.mount_type(self.mount_point))

    def test_source_that_may_not_be_entered_is_refused(self):
        os.chmod(self.source, 0o700)
        result = self.as_nobody(self.binary, "mount", self.source, self.mount_point)
        self.assertEqual(result.returncode, 1)
        self.assertIn(self.source, result.stderr)
        self.assertIsNone(harness.mount_type(self.mount_point))

    def test_what_the_user_may_not_read_is_denied_and_the_rest_is_not(self):
        np.save(self.path("closed.npy"), np.arange(3))
        os.chmod(self.path("closed.npy"), 0o600)
        os.chmod(self.path("climate.zarr", "t2m", "0.0.0"), 0o600)
        os.chmod(self.path("ocean.zarr", "surface"), 0o700)
        result = self.as_nobody(self.binary, "mount", self.source, self.mount_point)
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("closed.npy/data.npy", "closed.npy/.source", "climate.zarr/t2m/data.raw", "ocean.zarr/surface/sst/data.npy"):
            with self.subTest(name):
                self.assertNotEqual(self.as_nobody("cat", os.path.join(self.mount_point, name)).returncode, 0)
        for name in ("notes.txt", "climate.zarr/rain/data.raw", "ocean.zarr/profiles/depth/data.npy"):
            with self.subTest(name):
                self.assertEqual(self.as_nobody("cat", os.path.join(self.mount_point, name)).returncode, 0)

    def test_without_the_device_it_fails_with_the_reason(self):
        os.chmod("/dev/fuse", 0o600)
        result = self.as_nobody(self.binary, "mount", self.source, self.mount_point)
        self.assertEqual(result.returncode, 1)
        self.assertIn("/dev/fuse", result.stderr)
        self.assertIsNone(harness.mount_type(self.mount_point))


if __name__ == "__main__":
    if os.getuid() != 0:
        print("left out: only root can become another user")
        sys.exit(harness.SKIPPED)
    harness.main()
