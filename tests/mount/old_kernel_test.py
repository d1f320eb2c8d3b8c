# SPDX-License-Identifier: MIT
"""ndlfs on Linux 4.18: what other suites assert, where openat2, close_range and all that is newer are missing."""
import ctypes
import errno
import os

import h5py
import harness
import numpy as np
import old_kernel

# Confinement, the rights of users, and what takes other system calls than reading.
SAME = ["confinement_test", "access_test.MetadataTest", "access_test.DataTest", "users_test.OthersTest",
        "users_test.OrdinaryUserTest", "run_test",
        "detect_test.OneFileTest.test_what_it_refers_to_is_read_but_not_by_way_of_the_mount_itself",
        "detect_test.OneFileTest.test_mounted_beside_itself_by_relative_names",
        "system_test.DeadMountTest", "system_test.MountCommandTest"]


class OldKernelTest(harness.SourceTestCase):
    def test_newer_system_calls_are_missing(self):
        syscall = ctypes.CDLL(None, use_errno=True).syscall
        for number in (434, 435, 436, 437, 439, 444):
            self.assertEqual((syscall(number, 0, 0, 0, 0), ctypes.get_errno()), (-1, errno.ENOSYS), number)

    def test_hdf5_is_read_and_the_mount_ends(self):
        with h5py.File(self.path("a.h5"), "w") as file:
            file["x"] = np.arange(1000)
        place = os.path.join(self.scratch, "mnt")
        os.mkdir(place)
        self.run_ok(harness.BINARY, "mount", self.source, place)
        try:
            np.testing.assert_array_equal(np.load(f"{place}/a.h5/x/data.npy"), np.arange(1000))
        finally:
            self.run_ok(harness.BINARY, "umount", place)
        self.assertIsNone(harness.mount_type(place))


def load_tests(loader, tests, _):
    tests.addTests(loader.loadTestsFromNames(SAME))
    return tests


if __name__ == "__main__":
    old_kernel.pretend()
    harness.main()
