# SPDX-License-Identifier: MIT
"""Volumes of microscopes as folders: MRC files, and Neuroglancer's precomputed volumes."""
import gzip
import json
import os
import struct

import netCDF4
import numpy as np

import harness

VOLUME = np.arange(5 * 6 * 7, dtype="<f4").reshape(5, 6, 7)


class VolumesTest(harness.SourceTestCase):
    def mrc(self):
        header = bytearray(1024)
        struct.pack_into("<10i", header, 0, 7, 6, 5, 2, 0, 0, 0, 7, 6, 5)
        struct.pack_into("<6f", header, 40, 14, 12, 10, 90, 90, 90)
        struct.pack_into("<3i", header, 64, 1, 2, 3)
        struct.pack_into("<i", header, 88, 1)
        header[208:216] = b"MAP DD\0\0"
        return bytes(header) + VOLUME.tobytes()

    def test_mrc_plain_and_compressed(self):
        harness.write(self.path("map"), self.mrc())
        harness.write(self.path("a.mrc.gz"), gzip.compress(self.mrc()))
        with harness.Mount(self.source) as mounted:
            np.testing.assert_array_equal(np.load(mounted.join("a.mrc.gz", "a", "data.npy")), VOLUME)
            np.testing.assert_array_equal(np.load(mounted.join("map", "map", "data.npy")), VOLUME)
            with netCDF4.Dataset(mounted.join("map", "data.nc")) as file:
                self.assertEqual(file["map"].dimensions, ("z", "y", "x"))
                np.testing.assert_array_equal(file["x"][:], 2.0 * np.arange(7))
                self.assertEqual(file["x"].units, "angstrom")
            self.assertEqual(harness.read(mounted.join("map", "map", "data.mrc")), self.mrc())
            part = harness.read(mounted.join("map", "map", "data[1:3].mrc"))
            self.assertEqual(struct.unpack("<3i", part[:12]), (7, 6, 2))
            self.assertEqual(part[1024:], VOLUME[1:3].tobytes())

    def test_precomputed_chunks(self):
        scale = {"key": "4_4_40", "size": [7, 6, 5], "chunk_sizes": [[4, 4, 4]], "resolution": [4, 4, 40], "encoding": "raw",
                 "voxel_offset": [10, 0, 0]}
        harness.write(self.path("volume", "info"), json.dumps({
            "@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": "float32", "num_channels": 1, "scales": [scale]}))
        for z in 0, 4:
            for y in 0, 4:
                for x in 0, 4:
                    chunk = VOLUME[z:z + 4, y:y + 4, x:x + 4]
                    name = f"{10 + x}-{10 + x + chunk.shape[2]}_{y}-{y + chunk.shape[1]}_{z}-{z + chunk.shape[0]}"
                    content = chunk.tobytes()
                    if z == 4:
                        name, content = name + ".gz", gzip.compress(content)
                    harness.write(self.path("volume", "4_4_40", name), content)
        with harness.Mount(self.source) as mounted:
            np.testing.assert_array_equal(np.load(mounted.join("volume", "4_4_40", "data.npy")), VOLUME)
            np.testing.assert_array_equal(np.load(mounted.join("volume", "x", "data.npy")), 4 * (10.5 + np.arange(7)))


if __name__ == "__main__":
    harness.main()
