# SPDX-License-Identifier: MIT
"""Who may read what. Runs as root, to become other users; left out otherwise."""
import os
import shutil
import stat
import subprocess
import sys

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
                     "climate.zarr/rain/data.raw"):
            with self.subTest(name):
                self.assert_denied(self.as_nobody("cat", mounted.join(name)))
        for name in ("ocean.zarr/profiles/depth/data.npy", "climate.zarr/lat/data.raw", "climate.zarr/.ndl.yaml"):
            with self.subTest(name):
                self.assertEqual(self.as_nobody("cat", mounted.join(name)).returncode, 0)


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
