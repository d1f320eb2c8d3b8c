# SPDX-License-Identifier: MIT
"""Flat files with headers of other programs: written by these programs, and by ndlfs itself, and read through a mount."""
import bz2
import errno
import gzip
import inspect
import json
import os
import subprocess
import time
import warnings

import astropy.io.fits
import astropy.wcs
import netCDF4
import nibabel
import numpy as np
from osgeo import gdal, osr

import harness

gdal.UseExceptions()
VALUES = (np.arange(60, dtype="<i2") * 7 - 100).reshape(3, 4, 5)
NRRD = "NRRD0004\ntype: short\ndimension: 3\nsizes: 5 4 3\nendian: little\nencoding: "
# Astropy 5.3 has exchanged the order of the axes, and the name.
TILES = ({"tile_shape": (2, 7, 10)} if "tile_shape" in inspect.signature(astropy.io.fits.CompImageHDU).parameters
         else {"tile_size": (10, 7, 2)})


def load(*parts):
    return np.load(os.path.join(*parts, "data.npy"))


class WrittenByOthersTest(harness.SourceTestCase):
    """Values, shapes and coordinates are those that the programs say."""

    def expect(self, mounted, store, name, values):
        found = load(mounted.join(store, name))
        self.assertEqual(found.dtype, values.dtype.newbyteorder("<"), store)
        np.testing.assert_array_equal(found, values, store)

    def test_nifti_of_nibabel(self):
        random = np.random.default_rng(1)
        expected = {}
        for order in "<>":
            for kind in ("u1", "i2", "i4", "f4", "f8", "c8", "u2", "i8"):
                for cls, end in (nibabel.Nifti1Image, ".nii"), (nibabel.Nifti2Image, ".nii.gz"), (nibabel.Nifti1Pair, ".img"):
                    values = (random.random((5, 4, 3, 2)) * 100).astype(kind)
                    name = f"{kind}{'lb'[order == '>']}{end[1:].replace('.', '')}"
                    header = cls.header_class(endianness=order)
                    header.set_data_dtype(kind)
                    header.set_xyzt_units("mm", "sec")
                    cls(values, np.diag([2, 3, 4, 1.0]), header=header).to_filename(os.path.join(self.source, name + end))
                    expected[name + end.replace(".img", ".hdr"), name] = values.T
        image = nibabel.Nifti1Image(random.random((5, 4)), np.eye(4))
        image.header.set_data_dtype("i2")
        image.to_filename(os.path.join(self.source, "scaled.nii"))
        mounted = self.mount(self.source)
        for (store, name), values in expected.items():
            self.expect(mounted, store, name, values)
        np.testing.assert_array_equal(load(mounted.join("f4lnii.nii/y")), np.arange(4) * 3.0)
        self.assertEqual(os.getxattr(mounted.join("f4lnii.nii/x"), "user.attr.units"), b"mm")
        scaled = nibabel.load(os.path.join(self.source, "scaled.nii")).get_fdata().T
        np.testing.assert_array_equal(np.load(mounted.join("scaled.nii/scaled/values.npy")), scaled)

    def test_fits_of_astropy(self):
        random = np.random.default_rng(2)
        units, expected = [astropy.io.fits.PrimaryHDU()], {}
        for kind in ("u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
            values = np.frombuffer(random.bytes(24 * int(kind[1])), kind).reshape(2, 3, 4)
            values = random.random((2, 3, 4)).astype(kind) if kind[0] == "f" else values
            units.append(astropy.io.fits.ImageHDU(values, name="x" + kind))
            units[-1].header["OBSERVER"] = "O'Neill"
            expected["X" + kind.upper()] = values
        column = astropy.io.fits.Column
        table = astropy.io.fits.BinTableHDU.from_columns(
            [column("x", "E", array=np.arange(3.0)), column("u", "I", bzero=32768, array=np.array([0, 40000, 65535], "u2")),
             column("v", "6J", dim="(3,2)", array=np.arange(18, dtype="i4").reshape(3, 2, 3))], name="rows")
        astropy.io.fits.HDUList([*units, table]).writeto(os.path.join(self.source, "a.fits"))
        mounted = self.mount(self.source)
        for name, values in expected.items():
            self.expect(mounted, "a.fits", name, values)
        self.assertEqual(os.getxattr(mounted.join("a.fits/XU2"), "user.attr.OBSERVER"), b"O'Neill")
        rows = load(mounted.join("a.fits/ROWS"))
        self.assertEqual(rows.dtype, np.dtype([("x", "<f4"), ("u", "<u2"), ("v", "<i4", (2, 3))]))
        self.assertEqual(rows["u"].tolist(), [0, 40000, 65535])
        np.testing.assert_array_equal(rows["v"], np.arange(18).reshape(3, 2, 3))

    def test_parts_of_images_have_their_place_in_the_sky(self):
        header = astropy.io.fits.Header()
        for n, (kind, value, pixel) in enumerate((("RA---TAN", 308.7, 40.0), ("DEC--TAN", 60.15, 30.0), ("FREQ", 1.4e9, 1.0)), 1):
            header[f"CTYPE{n}"], header[f"CRVAL{n}"], header[f"CRPIX{n}"] = kind, value, pixel
        header["CUNIT3"], header["OBJECT"] = "Hz", "NGC 6946"
        matrix = [[-1.9e-4, 5.9e-5, 0], [5.9e-5, 1.9e-4, 0], [0, 0, 1e6]]
        forms = {"cd": {f"CD{i + 1}_{j + 1}": matrix[i][j] for i in range(3) for j in range(3) if matrix[i][j]},
                 "pc": {"CDELT1": -2e-4, "CDELT2": 2e-4, "CDELT3": 1e6, "PC1_2": -0.3, "PC2_1": 0.3},
                 "plain": {"CDELT1": -2e-4, "CDELT2": 2e-4, "CDELT3": 1e6}}
        values = np.arange(4 * 6 * 8, dtype="f4").reshape(4, 6, 8)
        for form, cards in forms.items():
            own = header.copy()
            own.update(cards)
            astropy.io.fits.PrimaryHDU(values, own).writeto(os.path.join(self.source, f"{form}.fits"))
        mounted = self.mount(self.source)
        for form in forms:
            world = astropy.wcs.WCS(astropy.io.fits.getheader(os.path.join(self.source, f"{form}.fits")))
            for part, steps in (("data.fits", (1, 1, 1)), ("data[1:,2:5,3:].fits", (1, 1, 1)), ("data[:,::2,1::3].fits", (1, 2, 3))):
                first = {"data.fits": (0, 0, 0), "data[1:,2:5,3:].fits": (1, 2, 3)}.get(part, (0, 0, 1))
                shown = astropy.io.fits.getheader(mounted.join(f"{form}.fits", form, part))
                self.assertEqual(shown["OBJECT"], "NGC 6946")
                pixels = np.array([[0, 0, 0], [1, 1, 2]], float)  # the fastest axis first
                moved = pixels * steps[::-1] + first[::-1]
                np.testing.assert_allclose(astropy.wcs.WCS(shown).wcs_pix2world(pixels, 0), world.wcs_pix2world(moved, 0),
                                           rtol=1e-12, err_msg=f"{form} {part}")
        # Axes without a type, and without a reference pixel; and one that depends on one that is dropped.
        plain = astropy.io.fits.Header()
        plain["CRVAL1"], plain["CDELT1"] = 4000.0, 2.0
        astropy.io.fits.PrimaryHDU(np.arange(40.0), plain).writeto(os.path.join(self.source, "line.fits"))
        shown = astropy.wcs.WCS(astropy.io.fits.getheader(mounted.join("line.fits/line/data[10:].fits")))
        self.assertEqual(shown.wcs_pix2world([[0.0]], 0).tolist(), [[4022.0]])
        own = header.copy()
        own.update({**forms["cd"], "CD1_3": 0.5})
        astropy.io.fits.PrimaryHDU(values, own).writeto(os.path.join(self.source, "coupled.fits"))
        self.assertNotIn("CTYPE1", astropy.io.fits.getheader(mounted.join("coupled.fits/coupled/data[2].fits")))
        shown = astropy.io.fits.getheader(mounted.join("cd.fits/cd/data[2].fits"))
        self.assertEqual((shown["CTYPE1"], shown["CTYPE2"], shown["NAXIS"]), ("RA---TAN", "DEC--TAN", 2))
        self.assertNotIn("CTYPE1", astropy.io.fits.getheader(mounted.join("cd.fits/cd/data[:,2].fits")))

    def test_tables_of_astropy_have_the_values_of_the_standard(self):
        column = astropy.io.fits.Column
        lists = np.array([np.array([10, 20], "i4"), np.array([1, 2, 3], "i4"), np.array([], "i4")], dtype=object)
        binary = astropy.io.fits.BinTableHDU.from_columns([
            column("v", "PJ()", array=lists),
            column("w", "QD()", array=np.array([np.array([.5]), np.array([]), np.array([1.5, 2.5])], dtype=object)),
            column("n", "I", array=np.arange(3, dtype="i2"))], name="LISTS")
        scaled = astropy.io.fits.BinTableHDU.from_columns(
            [column("a", "I", array=np.array([1, 3, 5], "i2")), column("n", "J", array=np.array([1, -99, 3], "i4"), null=-99)],
            name="SCALED")
        scaled.header["TSCAL1"], scaled.header["TZERO1"] = 0.5, 1.0
        text = astropy.io.fits.TableHDU.from_columns(
            [column("n", "I6", array=np.array([1, 20, 300])), column("x", "E15.7", array=np.array([.5, 2.5, -1e9], "f4")),
             column("s", "A3", array=np.array(["ab", "cde", ""]))], name="TEXT")
        empty = astropy.io.fits.BinTableHDU(name="EMPTY")
        path = os.path.join(self.source, "t.fits")
        astropy.io.fits.HDUList([astropy.io.fits.PrimaryHDU(), binary, scaled, text, empty]).writeto(path)
        raw = bytearray(harness.read(path))  # astropy scales what it writes: put the stored numbers back
        at = raw.index(b"XTENSION", raw.index(b"TZERO1")) - 2880
        raw[at:at + 18] = b"".join(np.array([a], ">i2").tobytes() + np.array([n], ">i4").tobytes()
                                   for a, n in ((1, 1), (3, -99), (5, 3)))
        harness.write(path, bytes(raw))
        mounted = self.mount(self.source)
        rows = [json.loads(line) for line in harness.read(mounted.join("t.fits/LISTS/data.jsonl")).splitlines()]
        rows = rows[0] if len(rows) == 1 and isinstance(rows[0], list) and isinstance(rows[0][0], dict) else rows
        self.assertIn("10, 20", json.dumps(rows))
        self.assertIn("1.5, 2.5", json.dumps(rows))
        with astropy.io.fits.open(path) as file:
            self.assertEqual(file["SCALED"].data["a"].tolist(), [1.5, 2.5, 3.5])
            found = load(mounted.join("t.fits/SCALED"))
            self.assertEqual(found["a"].tolist(), [1.5, 2.5, 3.5])
            self.assertEqual((found["n"][0], np.isnan(found["n"][1]), found["n"][2]), (1, True, 3))
            found = load(mounted.join("t.fits/TEXT"))
            self.assertEqual(found["n"].tolist(), file["TEXT"].data["n"].tolist())
            self.assertEqual(found["x"].tolist(), file["TEXT"].data["x"].tolist())
        self.assertEqual(len(load(mounted.join("t.fits/EMPTY"))), 0)
        self.assertEqual(harness.run(harness.BINARY, "check", path).returncode, 0)

    def test_tiles_of_wider_integers_are_read_as_cfitsio_does(self):
        values = np.arange(12, dtype=">i4").reshape(3, 4)
        values[0, 0] = -5
        tiles = [gzip.compress(row.tobytes(), mtime=0) for row in values]
        places = np.cumsum([0, *map(len, tiles)])
        rows = b"".join(np.array([len(tile), place], ">i4").tobytes() for tile, place in zip(tiles, places))
        header = astropy.io.fits.Header()
        for card in (("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", 8), ("NAXIS2", 3),
                     ("PCOUNT", int(places[-1])), ("GCOUNT", 1), ("TFIELDS", 1), ("TTYPE1", "COMPRESSED_DATA"),
                     ("TFORM1", "1PB(99)"), ("ZIMAGE", True), ("ZBITPIX", 16), ("ZNAXIS", 2), ("ZNAXIS1", 4),
                     ("ZNAXIS2", 3), ("ZTILE1", 4), ("ZTILE2", 1), ("ZCMPTYPE", "GZIP_1")):
            header.append(card)
        data = rows + b"".join(tiles)
        primary = astropy.io.fits.PrimaryHDU().header
        harness.write(os.path.join(self.source, "w.fits"),
                      (primary.tostring() + header.tostring()).encode() + data + bytes(-len(data) % 2880))
        mounted = self.mount(self.source)
        self.expect(mounted, "w.fits", "hdu1", values.astype("<i2"))

    def test_fits_in_compressed_tiles_of_astropy(self):
        waves = 1000 * np.sin(np.arange(3 * 20 * 700) / 37).reshape(3, 20, 700)
        waves[0, 3, 5], waves[0, 10:15] = np.nan, 0
        images = {}
        for kind in ("GZIP_1", "GZIP_2", "RICE_1", "PLIO_1"):
            whole = np.abs(np.nan_to_num(waves[:, :, :40])).astype("i2")
            images[kind + "_i2"] = whole, {"compression_type": kind, **TILES}
            for method in () if kind == "PLIO_1" else (-1, 1, 2):
                images[f"{kind}_F{method + 1}"] = waves[0].astype("f4"), {
                    "compression_type": kind, "quantize_level": 16, "quantize_method": method, "dither_seed": 9999}
        images["RICE_1_U2"] = (waves[1] + 30000).astype("u2"), {"compression_type": "RICE_1"}
        images["LOSSLESS"] = waves[0], {"compression_type": "GZIP_2", "quantize_level": 0}
        images["NOISE"] = np.ldexp(waves[2], np.arange(700) - 350), {"compression_type": "RICE_1"}
        images["H"] = whole[0], {"compression_type": "HCOMPRESS_1"}
        path = os.path.join(self.source, "a.fits")
        units = [astropy.io.fits.CompImageHDU(values, name=name, **how) for name, (values, how) in images.items()]
        astropy.io.fits.HDUList([astropy.io.fits.PrimaryHDU(), *units]).writeto(path)
        mounted = self.mount(self.source)
        self.assertIn(b'tiles compressed by "HCOMPRESS_1" are not supported', harness.read(mounted.join("a.fits/H/error.txt")))
        with astropy.io.fits.open(path) as file:
            for name in images.keys() - {"H"}:
                expected = file[name].data
                self.assertEqual(load(mounted.join("a.fits", name.upper())).tobytes(),
                                 expected.astype(expected.dtype.newbyteorder("<")).tobytes(), name)

    def test_envi_of_gdal(self):
        reference = osr.SpatialReference()
        reference.ImportFromEPSG(4326)
        for interleave in ("BSQ", "BIL", "BIP"):
            path = os.path.join(self.source, interleave + ".img")
            data = gdal.GetDriverByName("ENVI").Create(path, 5, 4, 3, gdal.GDT_Int16, ["INTERLEAVE=" + interleave])
            data.SetProjection(reference.ExportToWkt())
            data.SetGeoTransform([10, 0.5, 0, 60, 0, -0.25])
            for band in range(3):
                data.GetRasterBand(band + 1).WriteArray(VALUES[band])
            data = None
        mounted = self.mount(self.source)
        for interleave, axes in ("BSQ", (0, 1, 2)), ("BIL", (1, 0, 2)), ("BIP", (1, 2, 0)):
            self.expect(mounted, interleave + ".hdr", interleave, VALUES.transpose(axes))
            self.assertEqual(load(mounted.join(interleave + ".hdr/lon")).tolist(), [10.25, 10.75, 11.25, 11.75, 12.25])
            self.assertEqual(load(mounted.join(interleave + ".hdr/lat")).tolist(), [59.875, 59.625, 59.375, 59.125])
            self.assertEqual(len(harness.read(mounted.join(interleave + ".img"))), VALUES.nbytes)

    def test_nrrd_of_teem(self):
        whole = (NRRD + "raw\n\n").encode() + VALUES.tobytes()
        for end, encoding in (".nrrd", "gzip"), (".nhdr", "raw"), ("b.nrrd", "bzip2"):
            subprocess.run(["teem-unu", "save", "-f", "nrrd", "-e", encoding, "-o", os.path.join(self.source, "a" + end)],
                           input=whole, check=True)
        mounted = self.mount(self.source)
        for name in ("a.nrrd", "a.nhdr", "ab.nrrd"):
            self.expect(mounted, name, name[:-5], VALUES)


class WrittenByNdlfsTest(harness.SourceTestCase):
    """The headers and files that a mount shows, mounted again."""

    def test_round_trip(self):
        stores = os.path.join(self.scratch, "stores")
        os.mkdir(stores)
        random = np.random.default_rng(3)
        arrays = {}
        with netCDF4.Dataset(os.path.join(stores, "a.nc"), "w") as file:
            for name, values in ("time", np.arange(2) * 6.0), ("lat", np.array([5, 3, 1], "f4")), ("lon", np.arange(4) / 4):
                file.createDimension(name, len(values))
                file.createVariable(name, values.dtype, (name,))[:] = values
            file["time"].units = "hours since 2000-01-01 00:00:00"
            file["lat"].units, file["lon"].units = "degrees_north", "degrees_east"
            for kind in ("u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
                arrays[kind] = (random.random((2, 3, 4)) * 100).astype(kind)
                file.createVariable(kind, kind, ("time", "lat", "lon"), fill_value=False)[:] = arrays[kind]
        first = self.mount(stores)
        shown = 0
        for kind in arrays:
            folder = os.path.join(self.source, kind)
            os.mkdir(folder)
            for name in ("raw", "nhdr", "mhd", "hdr", "ctl", "bov", "fits", "nii"):
                try:
                    content = harness.read(first.join("a.nc", kind, "data." + name))
                except FileNotFoundError:  # not a type of that format
                    continue
                harness.write(os.path.join(folder, "data." + name), content)
                shown += name != "raw"
        # A mount of copies, and one of the mount itself.
        for second in self.mount(self.source), self.mount(first.join("a.nc")):
            found = 0
            for kind, values in arrays.items():
                for name in ("nhdr", "mhd", "hdr", "ctl", "bov", "fits", "nii"):
                    store = second.join(kind, "data." + name)
                    if not os.path.exists(store):
                        continue
                    array = load(store, kind if name in ("bov", "ctl") else "data")
                    self.assertEqual((array.dtype, array.shape), (values.dtype, values.shape), store)
                    np.testing.assert_array_equal(array, values, store)
                    found += 1
            self.assertEqual(found, shown)
            np.testing.assert_array_equal(load(second.join("f4/data.ctl/lat")), [5, 3, 1])
            np.testing.assert_array_equal(load(second.join("f4/data.fits/lat")), [5, 3, 1])
            np.testing.assert_array_equal(load(second.join("f4/data.nhdr/lon")), np.arange(4) / 4)
            self.assertEqual(os.getxattr(second.join("f4/data.ctl/time"), "user.attr.units"),
                             b"hours since 2000-01-01 00:00:00")
        self.assertGreater(shown, 40)


class FilesTest(harness.SourceTestCase):
    """What is there, what is missing, what changes."""

    def put(self, name, text, data=None):
        harness.write(os.path.join(self.source, name + ".nhdr"), text)
        if data is not None:
            harness.write(os.path.join(self.source, name + ".raw"), data)

    def test_headers_of_others_stay_plain(self):
        texts = {"g.hdr": "SIMPLE  =                    T / conforms\nBITPIX  =  -32\nNAXIS   =   2\nEND\n",
                 "h.header": "SIMPLE  =                    T / conforms to the standard of FITS \nBITPIX  = 8\nEND\n",
                 "meta.json": '{"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}}}',
                 "a.hdr": "BYTEORDER I\nLAYOUT BIL\n", "b.ctl": "dset is a word of a control file of Oracle\n",
                 "c.meta": "fileFormatVersion: 2\nguid: 0123456789\n", "d.mhd": "a table of a flow in a magnetic field\n",
                 "e.bov": "cattle\n" * 10, "f.ctl": "dset ^a.grb\ndtype grib\nxdef 1 linear 0 1\nvars 1\nv 0 99 v\nendvars\n"}
        for name, text in texts.items():
            harness.write(os.path.join(self.source, name), text)
        for options in ((), ("--detect", "name")):
            mounted = self.mount(self.source, *options)
            for name, text in texts.items():
                self.assertEqual(harness.read(mounted.join(name)).decode(), text)
            self.assertEqual(sorted(os.listdir(mounted.path)), sorted([".ndlfs", *texts]))

    def test_bytes_around_the_frames_of_envi_are_no_numbers(self):
        cube = np.arange(24, dtype="<u2").reshape(2, 3, 4)
        header = ("ENVI\nsamples = 4\nlines = 3\nbands = 2\nheader offset = 0\nfile type = ENVI Standard\n"
                  "data type = 12\ninterleave = bsq\nbyte order = 0\nmajor frame offsets = {8, 4}\n"
                  "minor frame offsets = {0, 0}\n")
        harness.write(os.path.join(self.source, "e.hdr"), header)
        harness.write(os.path.join(self.source, "e.img"), b"".join(b"P" * 8 + band.tobytes() + b"S" * 4 for band in cube))
        harness.write(os.path.join(self.source, "unknown.hdr"), header + "line skip bytes = 2\n")
        harness.write(os.path.join(self.source, "unknown.img"), bytes(200))
        mounted = self.mount(self.source)
        np.testing.assert_array_equal(load(mounted.join("e.hdr/e")), cube)
        self.assertIn(b"line skip bytes", harness.read(mounted.join("unknown.hdr/error.txt")))
        self.assertEqual(harness.run(harness.BINARY, "check", os.path.join(self.source, "unknown.hdr")).returncode, 4)

    def test_missing_and_short_data_are_said_in_a_line(self):
        self.put("missing", NRRD + "raw\ndata file: missing.raw\n")
        self.put("short", NRRD + "raw\ndata file: short.raw\n", b"few")
        self.put("out", NRRD + "raw\ndata file: ../secret\n")
        self.put("link", NRRD + "raw\ndata file: link.raw\n")
        harness.write(os.path.join(self.scratch, "secret"), bytes(VALUES.nbytes))
        os.symlink("../secret", os.path.join(self.source, "link.raw"))
        mounted = self.mount(self.source)
        for name, words in {"missing": "there is no data file", "short": "3 bytes, the header needs 120",
                            "out": "outside of the source"}.items():
            text = harness.read(mounted.join(f"{name}.nhdr/{name}/error.txt")).decode()
            self.assertIn(words, text)
            self.assertEqual(text.count("\n"), 1)
            self.assertFalse(os.path.exists(mounted.join(f"{name}.nhdr/{name}/data.npy")))
        self.assertFalse(os.path.exists(mounted.join("link.nhdr/link/data.npy")))
        done = subprocess.run([harness.BINARY, "check", self.source], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("missing.nhdr", done.stdout)

    def test_damage_in_compressed_data_is_eio(self):
        packed = bytearray(gzip.compress(os.urandom(120_000)))
        packed[60_000] ^= 255
        harness.write(os.path.join(self.source, "a.nrrd"),
                      NRRD.replace("5 4 3", "500 40 3").encode() + b"gzip\n\n" + packed)
        harness.write(os.path.join(self.source, "b.nrrd"), NRRD.encode() + b"bzip2\n\n" + bz2.compress(b"less than that"))
        mounted = self.mount(self.source)
        for name in "ab":
            with self.assertRaises(OSError) as caught:
                harness.read(mounted.join(f"{name}.nrrd/{name}/data.raw"))
            self.assertEqual(caught.exception.errno, errno.EIO)

    def test_compressed_data_are_read_anywhere(self):
        values = np.arange(3_000_000, dtype="<i2").reshape(3, 1000, 1000)
        harness.write(os.path.join(self.source, "a.nrrd"),
                      NRRD.replace("5 4 3", "1000 1000 3").encode() + b"gzip\n\n" + gzip.compress(values.tobytes(), 1))
        mounted = self.mount(self.source)
        array = np.load(mounted.join("a.nrrd/a/data.npy"), mmap_mode="r")
        for index in (2, 999, 999), (0, 0, 0), (1, 500, 3), (2, 0, 0):
            self.assertEqual(array[index], values[index])
        np.testing.assert_array_equal(array, values)

    def test_changed_data_are_seen(self):
        self.put("a", NRRD + "raw\ndata file: a.raw\n", VALUES.tobytes())
        mounted = self.mount(self.source)
        np.testing.assert_array_equal(load(mounted.join("a.nhdr/a")), VALUES)
        time.sleep(1.1)
        self.put("a", NRRD + "raw\ndata file: a.raw\n", (VALUES + 1).tobytes())
        time.sleep(1.1)
        np.testing.assert_array_equal(load(mounted.join("a.nhdr/a")), VALUES + 1)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    harness.main()
