# SPDX-License-Identifier: MIT
"""Files that are written while they are open in a mount whose clock differs from theirs: what is read is of one version.

NDLFS_CLOCK_LIBRARY is clock.cc, preloaded into the daemon."""
import errno
import os
import random
import time

import h5py
import harness
import netCDF4
import numcodecs
import numpy as np
import zarr2 as zarr

LIBRARY = os.environ["NDLFS_CLOCK_LIBRARY"]
ROWS, ROW = 64, 1024


def rows(value):
    # Differs from row to row, and compresses to the same size with any value.
    return np.full((ROWS, ROW), value, "<i4")


class ClocksTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        for name, chunks, compressor in (("chunks.zarr", (1, ROW), None), ("plain.zarr", (ROWS, ROW), None),
                                         ("blosc.zarr", (ROWS, ROW), numcodecs.Blosc("lz4", 1, 0))):
            zarr.open_array(self.path(name), mode="w", shape=(ROWS, ROW), chunks=chunks, dtype="<i4",
                            compressor=compressor)[...] = rows(1)
        np.save(self.path("flat.npy"), rows(1))
        with netCDF4.Dataset(self.path("classic.nc"), "w", format="NETCDF3_CLASSIC") as dataset:
            dataset.createDimension("y", ROWS)
            dataset.createDimension("x", ROW)
            dataset.createVariable("v", "i4", ("y", "x"))[:] = rows(1)
        with h5py.File(self.path("contiguous.h5"), "w") as file:
            file["v"] = rows(1)
        time.sleep(0.1)

    def write_again(self, name, dtype="<i4"):
        """In place, in pieces; the time of the last write is set back."""
        path = self.path(name)
        status = os.stat(path)
        with open(path, "r+b") as file:
            begin = file.read().index(rows(1)[0].astype(dtype).tobytes())
            file.seek(begin)
            file.write(rows(2).astype(dtype).tobytes())
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def write_chunks(self):
        for row in range(ROWS):
            rows(2)[row].tofile(self.path("chunks.zarr", f"{row}.0"))

    def write_blosc(self):
        path = self.path("blosc.zarr", "0.0")
        status = os.stat(path)
        encoded = numcodecs.Blosc("lz4", 1, 0).encode(rows(2))
        self.assertEqual(len(encoded), status.st_size)
        with open(path, "r+b") as file:
            file.write(encoded)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def values_while(self, path, write):
        """The values in data.raw, which is written again after a third of it was read."""
        file = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
            order = list(range(ROWS))
            random.Random(1).shuffle(order)
            values = set()
            for count, row in enumerate(order):
                if count == ROWS // 3:
                    write()
                values |= set(np.frombuffer(os.pread(file, 4 * ROW, 4 * ROW * row), "<i4"))
            return values
        except OSError as error:
            self.assertEqual(error.errno, errno.ESTALE)
            return set()
        finally:
            os.close(file)

    def assert_one_version(self, ahead):
        prefix = ["env", f"LD_PRELOAD={LIBRARY}", f"NDLFS_CLOCK_AHEAD={ahead}"]
        with harness.Mount(self.source, "--cache-size=1MiB", prefix=prefix) as mount:
            for path, write in (("chunks.zarr", self.write_chunks),
                                ("plain.zarr", lambda: self.write_again("plain.zarr/0.0")),
                                ("blosc.zarr", self.write_blosc),
                                ("flat.npy", lambda: self.write_again("flat.npy")),
                                ("classic.nc/v", lambda: self.write_again("classic.nc", ">i4")),
                                ("contiguous.h5/v", lambda: self.write_again("contiguous.h5"))):
                with self.subTest(path, ahead=ahead):
                    self.assertLessEqual(len(self.values_while(mount.join(path, "data.raw"), write)), 1)

    def test_clock_ahead(self):
        self.assert_one_version(60)

    def test_clock_far_ahead(self):
        self.assert_one_version(3600)

    def test_clock_behind(self):
        self.assert_one_version(-60)

    def test_clock_far_behind(self):
        self.assert_one_version(-3600)

    def test_same_clock(self):
        self.assert_one_version(0)


if __name__ == "__main__":
    harness.main()
