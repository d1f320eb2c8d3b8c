# SPDX-License-Identifier: MIT
"""preview.png as programs see it: its size, its pixels, and what reading it costs."""
import errno
import io
import json
import os
import subprocess
import threading
import time

import netCDF4
import numpy as np
import zarr2 as zarr
from PIL import Image

import harness

# Of arrays that have at least as many bytes; smaller pictures of smaller arrays are half as large.
MOST = 64 * 1024
LEAST = 6 * 1024
WHITE = (255, 255, 255)


def decoded(mounted):
    return json.loads(harness.read(mounted.path, ".ndlfs/stats.json"))["cache_misses_total"]


class PreviewsTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        with netCDF4.Dataset(os.path.join(self.source, "a.nc"), "w") as file:
            for name, count in ("time", 301), ("lat", 10), ("lon", 20):
                file.createDimension(name, count)
            harness.put_variable(file, "time", np.arange(301) * 6.0, ("time",), units="hours since 2000-01-01")
            harness.put_variable(file, "lat", np.linspace(45, -45, 10), ("lat",), units="degrees_north")
            harness.put_variable(file, "lon", np.arange(20) * 9.0, ("lon",), units="degrees_east")
            values = np.zeros((301, 10, 20), "i2")
            values[150, :5] = 100
            values[150, :, 10:] = -999
            harness.put_variable(file, "t", values, ("time", "lat", "lon"), units="K", scale_factor=np.float32(0.5),
                                 missing_value=np.int16(-999))
        group = zarr.open_group(os.path.join(self.source, "z.zarr"), "w")
        group.create_dataset("line", data=np.sin(np.arange(500) / 30), chunks=(100,))
        group.create_dataset("broken", data=np.add.outer(np.arange(40.), np.arange(60.)), chunks=(20, 20))
        self.spoil("broken", "1.2")
        group.create_dataset("dead", data=np.arange(10.), chunks=(10,))
        self.spoil("dead", "0")
        pixels = np.zeros((20, 30, 3), "u1")
        pixels[..., 0], pixels[:, 15:, 1] = 250, 120
        group.create_dataset("photo", data=pixels)
        group.create_dataset("words", data=np.array(["a", "b"]))
        group.create_dataset("empty", shape=(0, 4), dtype="f4")

    def spoil(self, array, chunk):
        harness.write(os.path.join(self.source, "z.zarr", array, chunk), "not a chunk")

    def picture(self, mounted, *path):
        picture = Image.open(io.BytesIO(harness.read(mounted.path, *path, "preview.png")))
        picture.load()
        self.assertEqual(picture.format, "PNG")
        self.assertIn(picture.size, ((1200, 800), (600, 400), (400, 266)))
        # As if all of them were whole ones.
        return picture.convert("RGB").resize((1200, 800), Image.NEAREST)

    def test_a_map_has_its_colours_where_the_elements_are(self):
        picture = self.picture(self.mount(self.source), "a.nc", "t")
        box = self.frame_of(picture)
        self.assertAlmostEqual((box[2] - box[0]) / (box[3] - box[1]), 180 / 100, delta=0.02)

        def at(x, y):
            return picture.getpixel((round(box[0] + x * (box[2] - box[0])), round(box[1] + y * (box[3] - box[1]))))
        north, south, missing = at(0.2, 0.2), at(0.2, 0.8), at(0.8, 0.5)
        self.assertGreater(sum(north), sum(south) + 200, "larger values are lighter, and north is up")
        self.assertTrue(missing[0] == missing[1] == missing[2] and 150 < missing[0] < 230, missing)

    @staticmethod
    def frame_of(picture):
        """The frame is the longest dark lines: its inside as left, top, right and bottom."""
        dark = (np.asarray(picture).max(axis=2) < 60)
        columns = [x for x in range(1200) if dark[:, x].sum() > 300]
        rows = [y for y in range(800) if dark[y].sum() > 300]
        return columns[0] + 1, rows[0] + 1, columns[-1], rows[-1]

    def test_a_line_is_blue_on_white(self):
        picture = np.asarray(self.picture(self.mount(self.source), "z.zarr", "line")).astype(int)
        blue = (picture[..., 2] > picture[..., 0] + 60).any(axis=0)
        self.assertGreater(blue[150:1100].mean(), 0.99)

    def test_what_is_corrupt_is_hatched_and_the_rest_is_shown(self):
        mounted = self.mount(self.source)
        picture = np.asarray(self.picture(mounted, "z.zarr", "broken")).astype(int)
        stripes = (picture[..., 0] > 120) & (picture[..., 0] > picture[..., 1] + 60) & (picture[..., 0] > picture[..., 2] + 60)
        rows, columns = np.nonzero(stripes[:740])
        lower_right = (rows > 400) & (columns > 600)
        self.assertGreater(lower_right.sum(), 5_000)
        self.assertGreater(lower_right.mean(), 0.9, "the legend alone is elsewhere")
        self.assertGreater(stripes[740:].sum(), 200, "a line at the bottom")

    def test_nothing_to_show_is_an_error(self):
        mounted = self.mount(self.source)
        with self.assertRaises(OSError) as caught:
            harness.read(mounted.path, "z.zarr/dead/preview.png")
        self.assertEqual(caught.exception.errno, errno.EIO)
        self.assertIn(b"chunk 0", harness.read(mounted.path, "z.zarr/dead/error.txt"))

    def test_pixels_keep_their_colours(self):
        colours = self.picture(self.mount(self.source), "z.zarr", "photo").getcolors(1 << 20)
        counts = {colour: count for count, colour in colours}
        self.assertAlmostEqual(counts[(250, 0, 0)] / counts[(250, 120, 0)], 1, delta=0.02)

    def test_listing_and_stat_decode_nothing(self):
        mounted = self.mount(self.source)
        for array, has_picture in ("line", True), ("broken", True), ("dead", True), ("words", False), ("empty", False):
            folder = mounted.join("z.zarr", array)
            self.assertEqual("preview.png" in os.listdir(folder), has_picture, array)
            if has_picture:
                size = os.stat(os.path.join(folder, "preview.png")).st_size
                self.assertTrue(LEAST <= size <= os.stat(os.path.join(folder, "data.raw")).st_size + LEAST, size)
        self.assertEqual(os.stat(mounted.join("z.zarr/photo/preview.png")).st_size, LEAST)
        self.run_ok("ls", "-lR", mounted.join("z.zarr"))
        self.assertEqual(decoded(mounted), 0)

    def test_a_picture_costs_little_more_than_its_array_and_64_KiB_at_most(self):
        group = zarr.open_group(os.path.join(self.source, "sizes.zarr"), "w")
        random = np.random.default_rng(1)
        for i in range(20):
            group.create_dataset(f"small{i}", data=random.standard_normal(300))
        group.create_dataset("noise", data=random.standard_normal((800, 1200)))
        group.create_dataset("noisy_photo", data=random.integers(0, 255, (800, 1200, 3)).astype("u1"))
        mounted = self.mount(self.source)
        names = [*(f"small{i}" for i in range(20)), "noise", "noisy_photo"]
        sizes = {name: len(harness.read(mounted.path, "sizes.zarr", name, "preview.png")) for name in names}
        self.assertLessEqual(sum(sizes[f"small{i}"] for i in range(20)), 20 * 3 * 300 * 8)
        self.assertEqual((sizes["noise"], sizes["noisy_photo"]), (MOST, MOST))
        for name in names:
            self.picture(mounted, "sizes.zarr", name)
            thumbnail = harness.read(mounted.path, "sizes.zarr", name, "thumbnail.png")
            self.assertEqual(os.stat(mounted.join("sizes.zarr", name, "thumbnail.png")).st_size, len(thumbnail))
            self.assertEqual(Image.open(io.BytesIO(thumbnail)).size[0], 320)
            self.assertNotIn("thumbnail.png", os.listdir(mounted.join("sizes.zarr", name)))

    def test_it_is_made_once(self):
        mounted = self.mount(self.source)
        path = mounted.join("z.zarr/line/preview.png")
        pictures = []
        threads = [threading.Thread(target=lambda: pictures.append(harness.read(path))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(pictures)), 1)
        self.assertEqual(len(pictures), 8)
        self.assertEqual(decoded(mounted), 5)

    def test_a_change_of_the_array_is_another_picture(self):
        mounted = self.mount(self.source, "--revalidate", "0")
        path = mounted.join("z.zarr/line/preview.png")
        before = harness.read(path)
        array = zarr.open(os.path.join(self.source, "z.zarr"))["line"]
        array[:] = np.cos(np.arange(500) / 3)
        harness.wait_until(lambda: harness.read(path) != before, "another picture")

    def test_a_huge_array_costs_some_hundred_chunks(self):
        group = zarr.open_group(os.path.join(self.source, "huge.zarr"), "w")
        array = group.create_dataset("t", shape=(1000, 5000, 5000), chunks=(1, 100, 100), dtype="f4", fill_value=1)
        array[500, 2000:2100] = np.broadcast_to(np.arange(5000), (100, 5000))
        mounted = self.mount(self.source)
        self.picture(mounted, "huge.zarr", "t")
        self.assertLessEqual(decoded(mounted), 600)


if __name__ == "__main__":
    harness.main()
