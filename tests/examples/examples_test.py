# SPDX-License-Identifier: MIT
"""The example data are what their maker makes, and what independent readers read. Needs no mount."""
import filecmp
import os
import sys
import tempfile
import unittest

import numpy as np
import zarr

EXAMPLES = os.environ["NDLFS_EXAMPLES"]
DATA = os.path.join(EXAMPLES, "data")
sys.path.insert(0, EXAMPLES)

import make_data  # noqa: E402 - its folder is known only now
import zarr3  # noqa: E402


def files(top):
    return sorted(os.path.relpath(os.path.join(folder, name), top)
                  for folder, _, names in os.walk(top) for name in names)


class ExamplesTest(unittest.TestCase):
    def test_making_them_again_gives_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as again:
            make_data.write_climate(os.path.join(again, "climate.zarr"))
            make_data.write_ocean(os.path.join(again, "ocean.zarr"))
            make_data.write_arrays(os.path.join(again, "arrays"))
            with open(os.path.join(again, "notes.txt"), "w", encoding="utf-8") as file:
                file.write(make_data.NOTES)
            self.assertEqual(files(again), files(DATA))
            for name in files(DATA):
                self.assertTrue(filecmp.cmp(os.path.join(again, name), os.path.join(DATA, name), False), name)

    def test_they_take_less_than_a_mebibyte(self):
        self.assertLess(sum(os.path.getsize(os.path.join(DATA, name)) for name in files(DATA)), 1 << 20)

    def test_zarr_and_numpy_read_what_went_in(self):
        group = zarr.open_consolidated(os.path.join(DATA, "climate.zarr"), mode="r")
        for name, array in make_data.climate().items():
            np.testing.assert_array_equal(group[name][...], array)
        for name, array in make_data.arrays().items():
            np.testing.assert_array_equal(np.load(os.path.join(DATA, "arrays", f"{name}.npy")), array)

    def test_checksum_has_its_published_check_value(self):
        self.assertEqual(zarr3.crc32c(b"123456789"), 0xE3069283)


if __name__ == "__main__":
    unittest.main(verbosity=2)
