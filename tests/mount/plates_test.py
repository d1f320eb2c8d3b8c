# SPDX-License-Identifier: MIT
"""Images of microscopes as people see them: plates, channels in colours, labels, scale bars, and data.ome.tif."""
import io
import json
import os
import re

import numpy as np
import tifffile
from PIL import Image

import harness

MICROMETRE = {"type": "space", "unit": "micrometer"}
AXES = [{"name": "c", "type": "channel"}, {"name": "y", **MICROMETRE}, {"name": "x", **MICROMETRE}]


def write_json(path, value):
    harness.write(path, json.dumps(value))


def write_group(folder, **attributes):
    write_json(os.path.join(folder, ".zgroup"), {"zarr_format": 2})
    write_json(os.path.join(folder, ".zattrs"), attributes)


def write_array(folder, values):
    """A Zarr v2 array in one chunk, not compressed."""
    write_json(os.path.join(folder, ".zarray"),
               {"zarr_format": 2, "shape": list(values.shape), "chunks": list(values.shape), "dtype": values.dtype.str,
                "compressor": None, "fill_value": 0, "filters": None, "order": "C", "dimension_separator": "/"})
    chunk = os.path.join(folder, *["0"] * values.ndim)
    os.makedirs(os.path.dirname(chunk), exist_ok=True)
    with open(chunk, "wb") as file:
        file.write(values.tobytes())


def write_image(folder, values, levels=1, axes=AXES, scale=0.5, **attributes):
    """Each level has half the columns and rows of the one before."""
    datasets = []
    for level in range(levels):
        step = 2 ** level
        sizes = [1.0] * (values.ndim - 2) + [scale * step] * 2
        datasets.append({"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": sizes}]})
        write_array(os.path.join(folder, str(level)), np.ascontiguousarray(values[..., ::step, ::step]))
    write_group(folder, multiscales=[{"version": "0.4", "name": "cells", "axes": axes, "datasets": datasets}], **attributes)


def channels(*colours, **more):
    return {"channels": [{"label": f"dye {i}", "color": colour, "window": {"start": 0, "end": 200}, **more}
                         for i, colour in enumerate(colours)]}


class PlatesTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        self.cells = np.zeros((2, 400, 600), "u2")
        self.cells[0, :, :300] = 200
        self.cells[1, 200:] = 100
        write_image(self.at("cells.zarr"), self.cells, levels=3, omero=channels("FF0000", "0000ff"))

    def at(self, *names):
        return os.path.join(self.source, *names)

    def plate(self, name, rows="AB", columns=(1, 2, 3), wells=("A/1", "B/2", "A/3"), there=("A/1", "B/2")):
        listed = [{"path": path, "rowIndex": rows.find(path.split("/")[0]), "columnIndex": int(path.split("/")[1]) - 1}
                  for path in wells]
        write_group(self.at(name), plate={"version": "0.4", "name": "screen", "rows": [{"name": r} for r in rows],
                                          "columns": [{"name": str(c)} for c in columns], "wells": listed})
        for path in there:
            write_group(self.at(name, path.split("/")[0]))
            write_group(self.at(name, path), well={"images": [{"path": "0"}, {"path": "1"}]})
            for field in "01":
                values = np.full((1, 64, 64), 7 if field == "0" else 9, "u1")
                values[:, 20:40, 20:40] = 200
                write_image(self.at(name, path, field), values)

    @staticmethod
    def picture(mounted, *path):
        picture = Image.open(io.BytesIO(harness.read(mounted.path, *path)))
        picture.load()
        assert picture.format == "PNG"
        return picture.convert("RGB")

    def test_a_plate_is_one_page(self):
        self.plate("plate.zarr")
        mounted = self.mount(self.source)
        page = harness.read(mounted.path, "plate.zarr/index.html").decode()
        self.assertIn("2 rows, 3 columns, 3 wells.", page)
        self.assertIn("1 well is not in the store", page)
        pictures = re.findall('<img src="([^"]*)"', page)
        self.assertEqual(pictures, ["A/1/thumbnail.png", "B/2/thumbnail.png"])
        for name in pictures:
            self.assertEqual(self.picture(mounted, "plate.zarr", name).size, (320, 320))
        # The page of a well has its fields, that of an image its picture.
        well = harness.read(mounted.path, "plate.zarr/A/1/index.html").decode()
        self.assertEqual(re.findall('<img src="([^"]*)"', well), ["0/thumbnail.png", "1/thumbnail.png"])
        self.assertIn('<img src="preview.png"', harness.read(mounted.path, "plate.zarr/A/1/0/index.html").decode())
        self.assertNotIn("thumbnail.png", os.listdir(mounted.join("plate.zarr/A/1")))

    def test_a_well_whose_field_is_not_there_has_no_picture(self):
        self.plate("plate.zarr", there=())
        write_group(self.at("plate.zarr/A"))
        write_group(self.at("plate.zarr/A/1"), well={"images": [{"path": "7"}]})
        write_group(self.at("plate.zarr/A/3"), well={"images": [{"path": "../../../cells.zarr"}]})
        mounted = self.mount(self.source)
        with self.assertRaises(OSError):
            harness.read(mounted.path, "plate.zarr/A/1/thumbnail.png")
        self.assertFalse(os.path.exists(mounted.join("plate.zarr/A/3/thumbnail.png")))
        self.assertIn("1 well is not in the store",
                      harness.read(mounted.path, "plate.zarr/index.html").decode())

    def test_hostile_plates_are_sentences(self):
        """What is wrong with each of them stands in its page."""
        well = {"path": "A/1", "rowIndex": 0, "columnIndex": 0}
        some = {"rows": [{"name": "A"}], "columns": [{"name": "1"}], "wells": [well]}
        cases = {
            "million": ({**some, "wells": [well] * 1_000_000}, "at most 16777216 are accepted"),
            "many": ({**some, "wells": [well] * 200_000}, "attribute &quot;plate&quot; is not shown"),
            "no_such_row": ({**some, "wells": [{**well, "rowIndex": 9}, {**well, "columnIndex": -1}]}, "2 wells are left out"),
            "climbs": ({**some, "wells": [{**well, "path": "../.."}, {**well, "path": "/etc"}]}, "2 wells are left out"),
            "twice": ({**some, "wells": [well, well]}, "1 well is left out, because another well"),
            "no_wells": ({**some, "wells": []}, "It has no wells."),
            "numbers": ({"rows": 1, "columns": 1e300, "wells": {"path": 1}}, "It has no wells."),
            "rows": ({**some, "rows": [{"name": "A"}] * 2_000}, "The first 128 of 2000 rows"),
        }
        for name, (plate, _) in cases.items():
            write_group(self.at(name + ".zarr"), plate=plate)
        mounted = self.mount(self.source)
        for name, (_, sentence) in cases.items():
            page = harness.read(mounted.path, name + ".zarr", "index.html").decode()
            self.assertIn(sentence, page, name)
            self.assertLess(len(page), 8 << 20, name)

    def test_channels_are_mixed_in_their_colours(self):
        mounted = self.mount(self.source)
        alone = self.picture(mounted, "cells.zarr/0/thumbnail.png")
        width, height = alone.size

        def at(x, y):
            return alone.getpixel((int(x * width), int(y * height)))
        self.assertEqual(at(0.25, 0.25), (255, 0, 0))
        self.assertEqual(at(0.75, 0.25), (0, 0, 0))
        self.assertEqual(at(0.25, 0.75), (255, 0, 128))
        self.assertEqual(at(0.75, 0.75), (0, 0, 128))
        self.assertEqual(self.picture(mounted, "cells.zarr/thumbnail.png").getpixel((5, 5)), (255, 0, 0))

    def test_wrong_channels_are_a_sane_picture(self):
        """The values of the channels are 200 and 100 where they are not 0."""
        nothing = {"start": float("nan"), "end": float("nan")}
        cases = {
            "colour": channels("red", "0000FF"),
            "window": channels("FF0000", "0000FF", window=nothing),
            "empty_window": channels("FF0000", "0000FF", window={"start": 3, "end": 3}),
            "infinite": channels("FF0000", "0000FF", window={"start": float("-inf"), "end": float("inf")}),
            "inactive": channels("FF0000", "0000FF", active=False),
            "others": {"channels": {"a": 3}},
            "too_many": channels(*["FF0000"] * 5000),
        }
        for name, omero in cases.items():
            write_image(self.at(name + ".zarr"), self.cells, omero=omero)
        for scale in 0, -0.5, float("inf"), float("nan"), 1e308:
            write_image(self.at(f"scale{scale}.zarr"), self.cells, scale=scale)
        mounted = self.mount(self.source)
        for name in os.listdir(mounted.path):
            if name.startswith("."):
                continue
            for file in "preview.png", "thumbnail.png":
                colours = self.picture(mounted, name, "0", file).getcolors(1 << 20)
                self.assertGreaterEqual(len(colours), 3, (name, file))

    def test_labels_have_stable_colours(self):
        axes = AXES[1:]
        labels = np.zeros((60, 80), "u4")
        labels[:30, :40], labels[:30, 40:] = 7, 300
        write_image(self.at("few.zarr"), labels, axes=axes, **{"image-label": {"version": "0.4"}})
        others = labels.copy()
        others[30:] = np.arange(80)
        write_image(self.at("many.zarr"), others, axes=axes, **{"image-label": {"version": "0.4"}})
        listed = {"colors": [{"label-value": 7, "rgba": [10, 200, 30, 255]}, {"label-value": 300, "rgba": [1, 2, 3, 0]}]}
        write_image(self.at("listed.zarr"), labels, axes=axes, **{"image-label": listed})
        mounted = self.mount(self.source)
        seen = {}
        for name in "few", "many", "listed":
            picture = self.picture(mounted, name + ".zarr/0/thumbnail.png")
            seen[name] = [picture.getpixel((int(x * picture.width), 20)) for x in (0.25, 0.75)]
        self.assertEqual(seen["few"], seen["many"])
        self.assertNotEqual(*seen["few"])
        self.assertEqual(seen["listed"][0], (10, 200, 30))
        self.assertLess(sum(seen["listed"][1]), 200, "a clear label is dark")

    def test_ome_tiff_is_what_the_image_says(self):
        mounted = self.mount(self.source)
        with tifffile.TiffFile(mounted.join("cells.zarr/data.ome.tif")) as file:
            self.assertTrue(file.is_ome)
            series = file.series[0]
            self.assertEqual(series.axes, "CYX")
            self.assertEqual([level.shape for level in series.levels], [(2, 400, 600), (2, 200, 300), (2, 100, 150)])
            np.testing.assert_array_equal(series.asarray(), self.cells)
            np.testing.assert_array_equal(series.levels[2].asarray(), self.cells[:, ::4, ::4])
            self.assertEqual([len(page.subifds) for page in file.pages], [2, 2])
            described = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
        self.assertEqual((described["PhysicalSizeX"], described["PhysicalSizeXUnit"]), (0.5, "µm"))
        self.assertEqual([channel["Name"] for channel in described["Channel"]], ["dye 0", "dye 1"])
        self.assertEqual([channel["Color"] & 0xFFFFFFFF for channel in described["Channel"]], [0xFF0000FF, 0x0000FFFF])

    def test_ome_tiff_as_a_source_has_the_same_colours(self):
        mounted = self.mount(self.source)
        with open(self.at("copy.tif"), "wb") as file:
            file.write(harness.read(mounted.path, "cells.zarr/data.ome.tif"))
        copied = self.mount(self.source)
        document = harness.read(copied.path, "copy.tif/.ndl.yaml").decode()
        self.assertIn("#FF0000", document)
        picture = self.picture(copied, "copy.tif/image/thumbnail.png")
        self.assertEqual(picture.getpixel((10, 10)), (255, 0, 0))


if __name__ == "__main__":
    harness.main()
