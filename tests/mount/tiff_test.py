# SPDX-License-Identifier: MIT
"""TIFF files as folders: pages, overviews, places, and files that are joined."""
import json
import os
import zlib

import netCDF4
import numpy as np
import tifffile
from osgeo import gdal, osr

import harness
import tiff_files

gdal.UseExceptions()
SCENE = np.arange(600, dtype="<u2").reshape(20, 30) * 7


def decoded(mounted):
    return json.loads(harness.read(mounted.path, ".ndlfs/stats.json"))["cache_misses_total"]


class TiffTest(harness.SourceTestCase):
    def put(self, name, content):
        with open(os.path.join(self.source, name), "wb") as file:
            file.write(content)

    def create(self, name, array, *options):
        """A file of GDAL with a place in zone 32 of UTM; `array` is (band, y, x)."""
        kinds = {"uint16": gdal.GDT_UInt16, "float32": gdal.GDT_Float32, "uint8": gdal.GDT_Byte}
        bands, length, width = array.shape
        dataset = gdal.GetDriverByName("GTiff").Create(
            os.path.join(self.source, name), width, length, bands, kinds[array.dtype.name], list(options))
        dataset.SetGeoTransform((500000, 10, 0, 4000000, 0, -10))
        dataset.SetSpatialRef(self.zone())
        dataset.WriteArray(array if bands > 1 else array[0])
        return dataset

    @staticmethod
    def zone():
        zone = osr.SpatialReference()
        zone.ImportFromEPSG(32632)
        return zone

    def test_scene_has_its_place_in_every_view(self):
        dataset = self.create("scene.tif", SCENE[None], "TILED=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=16",
                              "COMPRESS=DEFLATE", "PREDICTOR=2")
        band = dataset.GetRasterBand(1)
        band.SetNoDataValue(7)
        band.SetScale(0.5)
        band.SetOffset(-3)
        band.SetDescription("red")
        band = dataset = None
        with harness.Mount(self.source) as mounted:
            folder = mounted.join("scene.tif")
            np.testing.assert_array_equal(np.load(os.path.join(folder, "image", "data.npy")), SCENE)
            values = np.load(os.path.join(folder, "image", "values.npy"))
            self.assertTrue(np.isnan(values[0, 1]))
            np.testing.assert_array_equal(values.ravel()[2:], SCENE.ravel()[2:] * 0.5 - 3)
            np.testing.assert_array_equal(np.load(os.path.join(folder, "x", "data.npy")), 500005 + 10 * np.arange(30))
            for view in "data.tif", "data.vrt":
                copy = gdal.Open(os.path.join(folder, "image", view))
                self.assertEqual(copy.GetGeoTransform(), (500000, 10, 0, 4000000, 0, -10))
                self.assertEqual(copy.GetSpatialRef().GetAuthorityCode(None), "32632")
                np.testing.assert_array_equal(copy.ReadAsArray(), SCENE)
                self.assertEqual(copy.GetRasterBand(1).GetNoDataValue(), 7)
                copy = None  # closes the file
            with netCDF4.Dataset(os.path.join(folder, "data.nc")) as file:
                self.assertEqual(file["image"].dimensions, ("y", "x"))
                self.assertEqual(file["image"].grid_mapping, "spatial_ref")
                self.assertEqual(file["image"].long_name, "red")
                np.testing.assert_array_equal(file["y"][:], 3999995 - 10 * np.arange(20))
            with open(os.path.join(folder, ".source"), "rb") as file:
                copied = file.read()
            with open(os.path.join(self.source, "scene.tif"), "rb") as file:
                self.assertEqual(copied, file.read())

    def test_tiles_that_are_pictures(self):
        scene = np.stack([SCENE % 251, SCENE % 241, SCENE % 239]).astype("u1")
        tiles = ("TILED=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=16")
        for name, options in (("jpeg", ("COMPRESS=JPEG", "PHOTOMETRIC=YCBCR")), ("webp", ("COMPRESS=WEBP",)),
                              ("lerc", ("COMPRESS=LERC_ZSTD",))):
            self.create(name + ".tif", scene, *tiles, *options)
        with harness.Mount(self.source) as mounted:
            for name in "jpeg", "webp", "lerc":
                expected = gdal.Open(os.path.join(self.source, name + ".tif")).ReadAsArray().transpose(1, 2, 0)
                folder = mounted.join(name + ".tif", "image")
                np.testing.assert_array_equal(np.load(os.path.join(folder, "data.npy")), expected)
                copy = gdal.Open(os.path.join(folder, "data.tif"))
                np.testing.assert_array_equal(copy.ReadAsArray().transpose(1, 2, 0), expected)
                copy = None  # closes the file

    def test_overviews_and_masks(self):
        dataset = self.create("scene.tif", np.stack([SCENE, SCENE + 1, SCENE + 2]), "PHOTOMETRIC=RGB")
        gdal.SetConfigOption("GDAL_TIFF_INTERNAL_MASK", "YES")
        dataset.CreateMaskBand(gdal.GMF_PER_DATASET)
        dataset.GetRasterBand(1).GetMaskBand().WriteArray(np.where(SCENE % 2, 255, 0).astype("u1"))
        dataset = None
        gdal.Open(os.path.join(self.source, "scene.tif"), gdal.GA_Update).BuildOverviews("NEAREST", [2, 4])
        with harness.Mount(self.source) as mounted:
            folder = mounted.join("scene.tif")
            self.assertEqual(np.load(os.path.join(folder, "image", "data.npy")).shape, (20, 30, 3))
            np.testing.assert_array_equal(np.load(os.path.join(folder, "mask", "data.npy")), SCENE % 2)
            with_levels = gdal.Open(os.path.join(self.source, "scene.tif"))
            for level in 1, 2:
                expected = with_levels.GetRasterBand(2).GetOverview(level - 1).ReadAsArray()
                found = np.load(os.path.join(folder, "overviews", str(level), "data.npy"))
                np.testing.assert_array_equal(found[..., 1], expected)

    def test_picture_is_of_a_level_that_is_large_enough(self):
        for name, bands in ("one", 1), ("colours", 3):
            scene = np.ascontiguousarray(np.broadcast_to(np.arange(4096).astype("u1"), (bands, 4096, 4096)))
            memory = gdal.GetDriverByName("MEM").Create("", 4096, 4096, bands, gdal.GDT_Byte)
            memory.SetGeoTransform((500000, 10, 0, 4000000, 0, -10))
            memory.WriteArray(scene if bands > 1 else scene[0])
            gdal.GetDriverByName("COG").CreateCopy(self.path(name + ".tif"), memory,
                                                   options=["COMPRESS=DEFLATE", "BLOCKSIZE=256"])
        with harness.Mount(self.source) as mounted:
            for name in "one.tif", "colours.tif":
                before = decoded(mounted)
                self.assertTrue(harness.read(mounted.join(name, "image", "preview.png")).startswith(b"\x89PNG"))
                # Four of the level of 512 pixels, and those of its coordinates.
                self.assertLessEqual(decoded(mounted) - before, 6, name)
                levels = [np.load(mounted.join(name, "overviews", str(level), "data.npy"), mmap_mode="r").shape[0]
                          for level in range(1, 4)]
                self.assertEqual(levels, [2048, 1024, 512])

    def test_other_programs_read_the_system_from_netcdf(self):
        systems = {
            "albers": "+proj=aea +lat_1=29.5 +lat_2=45.5 +lat_0=23 +lon_0=-96 +datum=NAD83",
            "conic": "+proj=lcc +lat_1=49 +lat_2=44 +lat_0=46.5 +lon_0=3 +x_0=700000 +y_0=6600000 +ellps=GRS80",
            "conic1": "+proj=lcc +lat_1=40 +lat_0=40 +lon_0=10 +k_0=1 +datum=WGS84",
            "equal": "+proj=laea +lat_0=52 +lon_0=10 +x_0=4321000 +y_0=3210000 +ellps=GRS80",
            "mercator": "+proj=merc +lat_ts=30 +lon_0=20 +datum=WGS84",
            "polar": "+proj=stere +lat_0=90 +lat_ts=70 +lon_0=-45 +datum=WGS84",
            "south": "+proj=stere +lat_0=-90 +lat_ts=-71 +lon_0=0 +datum=WGS84",
            "transverse": "+proj=tmerc +lat_0=10 +lon_0=21 +k=0.99 +x_0=1000 +y_0=-2000 +datum=WGS84",
            "etrs": 25832, "nad": 26917,
        }
        known = {}
        for name, system in systems.items():
            known[name] = osr.SpatialReference()
            known[name].ImportFromEPSG(system) if isinstance(system, int) else known[name].ImportFromProj4(system + " +units=m")
            dataset = self.create(name + ".tif", SCENE[None])
            dataset.SetSpatialRef(known[name])
            dataset = None
        with harness.Mount(self.source) as mounted:
            for name, system in known.items():
                with self.subTest(name):
                    found = gdal.Open("NETCDF:" + mounted.join(name + ".tif", "data.nc") + ":image").GetSpatialRef()
                    self.assertIsNotNone(found)
                    here = []
                    for each in system, found:
                        degrees = each.CloneGeogCS()
                        for one in each, degrees:
                            one.SetAxisMappingStrategy(osr.OAMS_TRADITIONAL_GIS_ORDER)
                        here.append(osr.CoordinateTransformation(each, degrees).TransformPoint(500000, 200000)[:2])
                    np.testing.assert_allclose(here[0], here[1], atol=1e-7)

    def test_pages_of_microscopes(self):
        stack = np.arange(2 * 3 * 8 * 9, dtype=">u2").reshape(2, 3, 8, 9)
        tifffile.imwrite(os.path.join(self.source, "stack.tif"), stack, imagej=True, metadata={"axes": "TCYX"})
        with harness.Mount(self.source) as mounted:
            np.testing.assert_array_equal(np.load(mounted.join("stack.tif", "image", "data.npy")), stack)

    def test_pyramid_of_ome(self):
        planes = np.arange(2 * 3 * 32 * 48, dtype="u1").reshape(2, 3, 32, 48)
        with tifffile.TiffWriter(os.path.join(self.source, "a.ome.tif"), ome=True) as file:
            file.write(planes, subifds=1, photometric="minisblack", tile=(16, 16), metadata={
                "axes": "ZCYX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.5, "Channel": {"Name": ["a", "b", "c"]}})
            file.write(planes[..., ::2, ::2], subfiletype=1, photometric="minisblack", tile=(16, 16))
        with harness.Mount(self.source) as mounted:
            folder = mounted.join("a.ome.tif")
            np.testing.assert_array_equal(np.load(os.path.join(folder, "image", "data.npy")), planes.transpose(1, 0, 2, 3))
            np.testing.assert_array_equal(np.load(os.path.join(folder, "overviews", "1", "data.npy")),
                                          planes.transpose(1, 0, 2, 3)[..., ::2, ::2])
            np.testing.assert_array_equal(np.load(os.path.join(folder, "x", "data.npy"))[:3], [0, 0.5, 1])

    def test_planes_of_ome_in_two_files(self):
        planes = np.arange(2 * 3 * 8 * 9, dtype="u1").reshape(2, 3, 8, 9)
        for file, part in zip("ab", planes):
            tifffile.imwrite(os.path.join(self.source, file + ".ome.tif"), part, photometric="minisblack", metadata=None,
                             description=self.set_of_ome(("a.ome.tif", "b.ome.tif"), file))
        with harness.Mount(self.source) as mounted:
            for file in "ab":
                folder = mounted.join(file + ".ome.tif")
                np.testing.assert_array_equal(np.load(os.path.join(folder, "image", "data.npy")), planes)
            tifffile.imwrite(os.path.join(self.source, "b.ome.tif"), planes[0] + 100, photometric="minisblack", metadata=None,
                             description=self.set_of_ome(("a.ome.tif", "b.ome.tif"), "b"))
            harness.wait_until(lambda: np.load(mounted.join("a.ome.tif", "image", "data.npy"))[1, 0, 0, 0] == 100,
                               "a change of another file")
            os.unlink(os.path.join(self.source, "b.ome.tif"))
            harness.wait_until(lambda: not self.is_readable(mounted.join("a.ome.tif", "image", "data.npy")),
                               "the loss of another file")

    @staticmethod
    def is_readable(path):
        try:
            np.load(path)
        except OSError:
            return False
        return True

    @staticmethod
    def set_of_ome(names, uuid):
        """A description: each file has the three sections of one time."""
        parts = "".join(f'<TiffData IFD="0" FirstT="{time}" PlaneCount="3"><UUID FileName="{name}">urn:uuid:{name[0]}</UUID>'
                        "</TiffData>" for time, name in enumerate(names))
        return (f'<?xml version="1.0"?><OME UUID="urn:uuid:{uuid}"><Image ID="Image:0"><Pixels ID="Pixels:0" '
                f'DimensionOrder="XYZCT" Type="uint8" SizeX="9" SizeY="8" SizeZ="3" SizeC="1" SizeT="2">{parts}'
                "</Pixels></Image></OME>")

    def test_series_joins_along_the_dates_of_its_names(self):
        for day in 3, 1, 2:
            self.put(f"2020010{day}.tif", tiff_files.image(SCENE + day, 10, **tiff_files.PLACE))
        document = os.path.join(self.source, "series.ndl.yaml")
        pattern = os.path.join(self.source, "2020*.tif")  # which no shell has replaced
        self.run_ok(harness.BINARY, "join", pattern, "--along", "time", "-o", document)
        with harness.Mount(self.source) as mounted:
            folder = mounted.join("series.ndl.yaml")
            np.testing.assert_array_equal(np.load(os.path.join(folder, "image", "data.npy")),
                                          [SCENE + 1, SCENE + 2, SCENE + 3])
            np.testing.assert_array_equal(np.diff(np.load(os.path.join(folder, "time", "data.npy"))), [86400, 86400])
            np.testing.assert_array_equal(np.load(os.path.join(folder, "x", "data.npy")), 500005 + 10 * np.arange(30))

    def test_damaged_strip_is_an_error_and_others_are_read(self):
        scene = np.arange(1 << 15, dtype="<u2").reshape(512, 64)  # two strips of 32 KiB
        content = bytearray(tiff_files.image(scene, 256, zlib.compress, t259=(3, [8])))
        content[8:10] = b"\xff\xff"
        self.put("scene.tif", bytes(content))
        with harness.Mount(self.source) as mounted:
            with open(mounted.join("scene.tif", "image", "data.raw"), "rb", buffering=0) as file:
                file.seek(1 << 15)
                self.assertEqual(file.read(100), scene[256:].tobytes()[:100])
                file.seek(0)
                with self.assertRaises(OSError):
                    file.read(10)

    def test_file_that_only_has_the_name_stays_a_file(self):
        self.put("notes.tif", b"no picture at all" * 10)
        with harness.Mount(self.source) as mounted:
            self.assertEqual(harness.read(mounted.path, "notes.tif"), b"no picture at all" * 10)


if __name__ == "__main__":
    harness.main()
