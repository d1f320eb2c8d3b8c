# SPDX-License-Identifier: MIT
"""Stores that other software writes, read back through a mount and compared with what that software reads."""
import errno
import json
import os
import shutil
import threading
import warnings
import zipfile

import grib_messages
import h5py
import harness
import netCDF4
import numcodecs
import numpy as np
import parquet
import yaml
import zarr2 as zarr
from numpy.lib import recfunctions

# Whatever netCDF-4 has: types of all kinds, groups, dimensions used below their group, or not at all.
NETCDF4_CDL = """
netcdf a {
types:
  byte enum cloud_t {Clear = 0, Cumulus = 1, Stratus = 2, Missing = 127} ;
  compound wind_t { float speed ; short dir(2) ; } ;
  compound outer_t { wind_t wind ; double t ; cloud_t cloud ; } ;
  int(*) row_t ;
  opaque(5) blob_t ;
dimensions:
  time = UNLIMITED ; lat = 2 ; unused = 7 ; never = UNLIMITED ;
variables:
  float lat(lat) ;
    lat:units = "degrees" ;
  int t(time, lat) ;
    t:_FillValue = -9 ;
    t:range = 1s, 2s ;
    cloud_t t:sky = Cumulus ;
    wind_t t:wind = {1.5, {2, 3}} ;
  cloud_t primary_cloud(time) ;
    cloud_t primary_cloud:_FillValue = Missing ;
  wind_t w(lat) ;
  outer_t o(lat) ;
  row_t ragged(lat) ;
  blob_t raw(lat) ;
  string name(lat) ;
  char c(lat, unused) ;
  uint64 big ;
  :title = "hello" ;
  string :many = "a", "b\\nc" ;
  row_t :rows = {1, 2}, {3} ;
data:
  lat = 1, 2 ;
  t = 1, 2, 3, _, 5, 6 ;
  primary_cloud = Clear, Missing, Stratus ;
  w = {1.5, {2, 3}}, {2.5, {4, 5}} ;
  o = {{1.5, {2, 3}}, 7.25, Stratus}, {{2.5, {4, 5}}, 8.5, Clear} ;
  ragged = {1, 2, 3}, {4} ;
  raw = 0X0102030405, 0XaabbccddEE ;
  name = "x", "\u00e9t\u00e9" ;
  c = "abcdefg", "hi" ;
  big = 18446744073709551615 ;
group: g {
  dimensions:
    z = 3 ;
  variables:
    short v(z, lat) ;
    byte z(z) ;
  data:
    v = 1, 2, 3, 4, 5, 6 ;
    z = 7, 8, 9 ;
  group: deep {
    variables:
      double d(z, time) ;
    :note = 1.5f, NaNf ;
    data:
      d = {1, 2, 3}, {4, 5, 6}, {7, 8, 9} ;
  }
}
}
"""

# What NCZarr of netCDF-C 4.9.0 can hold of that: atomic types, no unlimited dimensions.
NCZARR_CDL = """
netcdf a {
dimensions:
  time = 3 ; lat = 5 ; unused = 7 ; x\\ y = 4 ;
variables:
  float lat(lat) ;
    lat:units = "degrees" ;
  int t(time, lat) ;
    t:_FillValue = -9 ;
    t:range = 1s, 2s ;
    t:scale = 1.5f ;
  ubyte u1(lat) ;
  ushort u2(lat) ;
  uint u4(lat) ;
  uint64 u8(lat) ;
  int64 i8(lat) ;
  byte i1(lat) ;
  double s ;
  char c(lat, x\\ y) ;
  :title = "hello" ;
data:
  lat = 1, 2, 3, 4, 5 ;
  t = 1, 2, 3, _, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 ;
  u1 = 0, 1, 2, 3, 255 ;
  u2 = 0, 1, 2, 3, 65535 ;
  u4 = 0, 1, 2, 3, 4294967295 ;
  u8 = 0, 1, 2, 3, 18446744073709551615 ;
  i8 = 0, 1, 2, 3, -9223372036854775807 ;
  i1 = 0, 1, 2, 3, -128 ;
  s = 3.5 ;
  c = "abcd", "efgh", "ijkl", "mnop", "qr" ;
group: g {
  dimensions:
    z = 3 ;
  variables:
    short v(z, lat) ;
    byte z(z) ;
    :note = "inside" ;
  data:
    v = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 ;
    z = 7, 8, 9 ;
  group: deep {
    variables:
      double d(z, lat) ;
    data:
      d = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 ;
  }
}
}
"""


# Header, chunk, offsets of chunks, trailer.
BLOSC2_FRAME = bytes.fromhex(
    "9ea86232 6672616d 6500d200 000061cf 00000000 000000cc a4120051 03d30000 00000000 0018d300 00000000"
    "000024d2 00000004 d2000000 18d20000 0018d100 01d10001 c2d80600 00000000 00000000 00000000 00000093"
    "cd0007de 0000dc00 00"
    "05010504 18000000 18000000 24000000 00000000 00000000 00000000 00000030 07000000"
    "05010708 08000000 08000000 28000000 00000000 00000000 00000000 00000000 00000000 00000000"
    "940193cd 0006de00 00dc0000 ce000000 23d80000 00000000 00000000 00000000 000000")


def groups(top, path=""):
    """Every group below `top` of netCDF4 with its path, "" for the root."""
    yield path, top
    for name, group in top.groups.items():
        yield from groups(group, f"{path}/{name}")


def open_netcdf(path):
    """As netCDF4-python reads it, which leaves out nested compounds and opaque types, and says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return netCDF4.Dataset(path)


def raw_values(variable):
    variable.set_auto_maskandscale(False)
    variable.set_auto_chartostring(False)
    return np.asarray(variable[...])


def json_lines(folder):
    with open(os.path.join(folder, "data.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def load(folder):
    return np.load(os.path.join(folder, "data.npy"))


class FormatTestCase(harness.TestCase):
    def path(self, *parts):
        return os.path.join(self.scratch, *parts)

    def ncgen(self, cdl, *options):
        """The netCDF-4 file a.nc, written by netCDF-C."""
        harness.write(self.path("a.cdl"), cdl)
        self.run_ok("ncgen", *options, "-o", self.path("a.nc"), self.path("a.cdl"))
        return self.path("a.nc")

    def assert_same_variables(self, dataset, folder):
        """Everything that netCDF-C reads, in the views of `folder`."""
        for path, group in groups(dataset):
            for name, variable in group.variables.items():
                place = folder + path + "/" + name
                with self.subTest(place):
                    self.assert_same_values(variable, place)

    def assert_same_values(self, variable, place):
        want = raw_values(variable)
        if want.dtype == object or isinstance(variable.datatype, netCDF4.VLType) or variable.dtype is str:
            plain = [value.tolist() if isinstance(value, np.ndarray) else value for value in want.reshape(-1)]
            self.assertEqual(json_lines(place), plain)
            return
        got = load(place)
        self.assertEqual(got.shape, want.shape)
        self.assertEqual(got.astype(want.dtype).tobytes(), want.tobytes())


class NczarrTest(FormatTestCase):
    def convert(self, source, name, mode):
        self.run_ok("nccopy", source, f"file://{self.path(name)}#mode={mode}")

    def test_what_nccopy_writes_reads_as_the_original(self):
        source = self.ncgen(NCZARR_CDL, "-k", "nc4")
        self.convert(source, "file.zarr", "nczarr,file")
        mounted = self.mount(self.scratch)
        with open_netcdf(source) as dataset:
            self.assert_same_variables(dataset, mounted.join("file.zarr"))
            self.assert_same_variables(dataset, mounted.join("a.nc"))

    def test_what_nccopy_writes_as_plain_zarr_has_the_same_values(self):
        source = self.ncgen(NCZARR_CDL, "-k", "nc4")
        self.convert(source, "plain.zarr", "zarr,file")
        mounted = self.mount(self.scratch)
        with open_netcdf(source) as dataset:
            for name in ("lat", "t", "u8", "i1"):
                self.assert_same_values(dataset.variables[name], mounted.join("plain.zarr", name))

    def test_what_ncgen_writes_is_described_as_netcdf_describes_it(self):
        harness.write(self.path("a.cdl"), NCZARR_CDL)
        self.run_ok("ncgen", "-4", "-lb", "-o", f"file://{self.path('a.zarr')}#mode=nczarr,file", self.path("a.cdl"))
        described = yaml.safe_load(harness.read(self.mount(self.scratch).path, "a.zarr/.ndl.yaml"))
        root, group, deep = described["/"], described["/g"], described["/g/deep"]
        self.assertEqual(root["attributes"]["title"], "hello")
        self.assertEqual(root["dimcoords"]["lat"]["size"], 5)
        self.assertEqual(root["dimcoords"]["lat"]["attributes"]["units"], "degrees")
        self.assertEqual(root["ndarrays"]["t"]["x-dims"], ["time", "lat"])
        self.assertEqual(root["ndarrays"]["t"]["attributes"]["range"]["type"], "int16")
        self.assertEqual(root["ndarrays"]["t"]["attributes"]["scale"]["type"], "float32")
        self.assertEqual(root["ndarrays"]["t"]["storage"]["fillvalue"], -9)
        self.assertEqual(root["ndarrays"]["s"]["shape"], [])
        self.assertEqual(root["ndarrays"]["s"]["value"], 3.5)
        self.assertEqual(root["ndarrays"]["c"]["x-dims"], ["lat", "x y"])
        self.assertEqual(root["x-dims"]["unused"], 7)
        self.assertEqual(group["attributes"]["note"], "inside")
        self.assertEqual(group["ndarrays"]["v"]["shape"], ["z", "lat"])
        self.assertEqual(deep["ndarrays"]["d"]["shape"], ["z", "lat"])


class NetCdf4Test(FormatTestCase):
    def test_every_type_and_group_reads_as_netcdf_reads_it(self):
        source = self.ncgen(NETCDF4_CDL, "-k", "nc4")
        mounted = self.mount(self.scratch)
        with open_netcdf(source) as dataset:
            self.assert_same_variables(dataset, mounted.join("a.nc"))
        with h5py.File(source) as file:
            for name in ("o", "raw"):
                want, got = file[name][...], load(mounted.join("a.nc", name))
                packed = recfunctions.repack_fields(want.dtype, recurse=True) if want.dtype.names else want.dtype  # without padding
                self.assertEqual(got.astype(packed).tobytes(), want.astype(packed).tobytes(), name)

    def test_nothing_that_ncdump_shows_is_lost(self):
        source = self.ncgen(NETCDF4_CDL, "-k", "nc4")
        text = harness.read(self.mount(self.scratch).path, "a.nc/.ndl.yaml")
        described = yaml.safe_load(text)
        with open_netcdf(source) as dataset:
            for path, group in groups(dataset):
                with self.subTest(path or "/"):
                    self.check_group(group, described[path or "/"])
        self.assertEqual(described["/"]["ndarrays"]["o"]["shape"], ["lat"])
        self.assertEqual(described["/"]["ndarrays"]["raw"]["shape"], ["lat"])
        for word in ("Cumulus: 1", "Missing: 127", "- speed: float32", "dir: {array: {base: int16, shape: [2]}}",
                     "{opaque: {size: 5}}", "{vlen: {base: int32}}"):
            self.assertIn(word, text.decode())

    def check_group(self, group, described):
        arrays = {**described.get("ndarrays", {}), **described.get("dimcoords", {})}
        self.assertEqual(sorted(set(arrays) - {"o", "raw"}), sorted(group.variables))
        for name, dimension in group.dimensions.items():
            size = None if dimension.isunlimited() else len(dimension)
            if name in described.get("dimcoords", {}):
                self.assertEqual(described["dimcoords"][name]["size"], size)
            else:
                self.assertEqual(described["x-dims"].get(name, "lost"), size)
        for name, variable in group.variables.items():
            array = arrays[name]
            if name not in group.dimensions:
                names = array.get("x-dims", array["shape"])
                self.assertEqual(names, list(variable.dimensions))
                self.assertEqual(len(array["shape"]), variable.ndim)
            self.assertEqual(sorted(array.get("attributes", {})), sorted(variable.ncattrs()))
        self.assertEqual(sorted(described.get("attributes", {})), sorted(group.ncattrs()))

    def test_filters_of_netcdf(self):
        values = np.random.default_rng(5).integers(0, 50, (40, 30)).astype("i4")
        with netCDF4.Dataset(self.path("filters.nc"), "w") as dataset:
            dataset.createDimension("y", 40)
            dataset.createDimension("x", 30)
            for name, options in {
                "deflate": {"zlib": True, "shuffle": False},
                "shuffle": {"zlib": True, "shuffle": True},
                "checked": {"zlib": True, "fletcher32": True},
                "szip": {"compression": "szip", "szip_coding": "nn", "szip_pixels_per_block": 8},
            }.items():
                variable = dataset.createVariable(name, "i4", ("y", "x"), chunksizes=(16, 16), **options)
                variable[:] = values
        mounted = self.mount(self.scratch)
        for name in ("deflate", "shuffle", "checked", "szip"):
            np.testing.assert_array_equal(load(mounted.join("filters.nc", name)), values, name)
        described = yaml.safe_load(harness.read(mounted.path, "filters.nc/.ndl.yaml"))["/"]["ndarrays"]
        self.assertIn("szip", str(described["szip"]["storage"]["filter"]))
        self.assertIn("fletcher32", str(described["checked"]["storage"]["filter"]))

    def test_classic_files_of_all_kinds(self):
        values = np.arange(35, dtype="f8").reshape(7, 5)
        for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"):
            with netCDF4.Dataset(self.path(kind + ".nc"), "w", format=kind) as dataset:
                dataset.createDimension("t", None)
                dataset.createDimension("x", 5)
                dataset.createVariable("a", "f8", ("t", "x"))[:] = values
                dataset.createVariable("b", "i2", ("t",))[:] = np.arange(7)
                dataset.createVariable("x", "f4", ("x",))[:] = np.arange(5)
        mounted = self.mount(self.scratch)
        for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"):
            with open_netcdf(self.path(kind + ".nc")) as dataset:
                self.assert_same_variables(dataset, mounted.join(kind + ".nc"))


class Hdf5Test(FormatTestCase):
    def test_filters_of_plugins(self):
        h5py.h5pl.append(b"/usr/lib/x86_64-linux-gnu/hdf5/serial/plugins")
        values = (np.random.default_rng(3).standard_normal((40, 30)).cumsum(axis=1)).astype("f4")
        with h5py.File(self.path("zfp.h5"), "w") as file:
            for name, options in {"rate": (1, 0, 0, 1076101120), "precision": (2, 0, 18),
                                  "accuracy": (3, 0, 0, 1068498944), "reversible": (5,)}.items():
                file.create_dataset(name, data=values, chunks=(16, 7), compression=32013, compression_opts=options)
        mounted = self.mount(self.scratch)
        with h5py.File(self.path("zfp.h5")) as file:
            for name, dataset in file.items():
                np.testing.assert_array_equal(load(mounted.join("zfp.h5", name)), dataset[()], name)
        described = yaml.safe_load(harness.read(mounted.path, "zfp.h5/.ndl.yaml"))["/"]["ndarrays"]
        self.assertIn("zfp", described["rate"]["storage"]["filter"][0])

    def test_filters_that_no_plugin_here_writes(self):
        floats = np.linspace(0, 1, 6, dtype="<f4")
        chunks = {"bitgroom": (32022, (3, 4, 0, 0, 0), floats, floats.tobytes()),
                  "granular": (32023, (3, 4, 0, 0, 0), floats, floats.tobytes()),
                  "vbz": (32020, (0, 4, 1, 0), np.arange(5, 0, -1, "<i4"),
                          bytes([20, 0, 0, 0, 0, 0, 10, 1, 1, 1, 1])),
                  # A frame of Blosc 2 with one chunk, all of whose elements are 7.
                  "blosc2": (32026, (1, 0, 4, 24, 5, 1, 1), np.full(6, 7, "<i4"), BLOSC2_FRAME)}
        with h5py.File(self.path("a.h5"), "w") as file:
            for name, (code, parameters, values, chunk) in chunks.items():
                plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                plist.set_chunk(values.shape)
                plist.set_filter(code, h5py.h5z.FLAG_OPTIONAL, parameters)
                dataset = h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(values.dtype),
                                          h5py.h5s.create_simple(values.shape), plist)
                dataset.write_direct_chunk((0,), chunk)
        mounted = self.mount(self.scratch)
        for name, (_, _, values, _) in chunks.items():
            np.testing.assert_array_equal(load(mounted.join("a.h5", name)), values, name)

    def test_lzo_of_pytables(self):
        import tables  # which registers filters, and costs the other tests a second
        values = np.arange(5000, dtype="i4") // 7
        records = np.zeros(300, [("a", "i4"), ("b", "f8")])
        records["a"] = np.arange(300)
        with tables.open_file(self.path("a.h5"), "w", filters=tables.Filters(5, "lzo", shuffle=True)) as file:
            file.create_carray("/", "array", obj=values)
            file.create_table("/", "table", obj=records)
        mounted = self.mount(self.scratch)
        np.testing.assert_array_equal(load(mounted.join("a.h5", "array")), values)
        np.testing.assert_array_equal(load(mounted.join("a.h5", "table")), records)

    def test_links_are_links_where_their_target_is_in_the_mount(self):
        with h5py.File(self.path("a.h5"), "w") as file:
            file["g/data"] = np.arange(4)
            file["hard"] = file["g/data"]
            file["soft"] = h5py.SoftLink("/g/data")
            file["group"] = h5py.SoftLink("g")
            file["away"] = h5py.ExternalLink("b.h5", "/x")
            file["gone"] = h5py.SoftLink("/nowhere")
            file["out"] = h5py.ExternalLink("../../etc/x.h5", "/x")
            file["loop"] = h5py.SoftLink("/loop")
        with h5py.File(self.path("b.h5"), "w") as file:
            file["x"] = np.arange(3) + 7
        store = self.mount(self.scratch).join("a.h5")
        for name, expected in {"soft": [0, 1, 2, 3], "group/data": [0, 1, 2, 3], "away": [7, 8, 9]}.items():
            np.testing.assert_array_equal(load(os.path.join(store, name)), expected, name)
        for name in ("soft", "group", "away"):
            self.assertTrue(os.path.islink(os.path.join(store, name)), name)
        for name in ("gone", "out", "loop"):
            self.assertFalse(os.path.exists(os.path.join(store, name, "data.npy")), name)
        np.testing.assert_array_equal(load(os.path.join(store, "hard")), [0, 1, 2, 3])

    def test_virtual_dataset_that_does_not_fit_its_source_is_damaged_and_has_not_changed(self):
        os.mkdir(self.path("v"))
        with h5py.File(self.path("v/part.h5"), "w") as file:
            file["d"] = [[1.0, 2.0], [3.0, 4.0]]
        with h5py.File(self.path("v/whole.h5"), "w") as file:
            layout = h5py.VirtualLayout(shape=(3, 3), dtype="f8")
            layout[0:3, 0:3] = h5py.VirtualSource("part.h5", "d", shape=(3, 3))
            file.create_virtual_dataset("v", layout, fillvalue=-1)
        # What a virtual dataset is made of is looked at again after each interval, and error.txt goes then.
        mounted = self.mount(self.path("v"), "--revalidate", "60")
        with self.assertRaises(OSError) as caught:
            harness.read(mounted.join("whole.h5/v/data.raw"))
        self.assertEqual(caught.exception.errno, errno.EIO)
        self.assertIn(b"insufficient elements", harness.read(mounted.join("whole.h5/v/error.txt")))

    def test_references_name_what_they_refer_to(self):
        with h5py.File(self.path("a.h5"), "w") as file:
            data = file.create_dataset("g/data", data=np.arange(60).reshape(6, 10))
            objects = file.create_dataset("objects", (2,), h5py.ref_dtype)
            objects[0], objects[1] = data.ref, file["g"].ref
            regions = file.create_dataset("regions", (1,), h5py.regionref_dtype)
            regions[0] = data.regionref[1:4, 2:5]
        store = self.mount(self.scratch).join("a.h5")
        self.assertEqual(json_lines(os.path.join(store, "objects")), ["/g/data", "/g"])
        self.assertEqual(json_lines(os.path.join(store, "regions")),
                         [{"target": "/g/data", "start": [1, 2], "opposite": [3, 4]}])

    def test_eight_readers_of_one_compressed_dataset_see_the_same(self):
        values = np.random.default_rng(1).integers(0, 1000, (64, 64, 64)).astype("i4")
        with h5py.File(self.path("a.h5"), "w") as file:
            file.create_dataset("a", data=values, chunks=(8, 32, 32), compression="gzip", shuffle=True)
        raw = self.mount(self.scratch).join("a.h5/a/data.raw")
        want, wrong = values.tobytes(), []

        def reader():
            if harness.read(raw) != want:
                wrong.append(threading.get_ident())

        readers = [threading.Thread(target=reader) for _ in range(8)]
        for thread in readers:
            thread.start()
        for thread in readers:
            thread.join()
        self.assertEqual(wrong, [])


class ArchiveTest(FormatTestCase):
    ARRAYS = {
        "ints": np.arange(24, dtype="<i4").reshape(2, 3, 4),
        "big": np.arange(5, dtype=">f8"),
        "fortran": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        "text": np.array(["a", "\u00e9t\u00e9"]),
        "struct": np.array([(1, 2.5), (3, 4.5)], [("a", "i2"), ("b", "<f4")]),
        "flags": np.array([True, False]),
        "scalar": np.float32(2.5),
        "empty": np.zeros((0, 3)),
        "times": np.array(["2024-01-02", "NaT"], "M8[D]"),
    }

    def test_npz_as_numpy_writes_it(self):
        np.savez(self.path("stored.npz"), **self.ARRAYS)
        np.savez_compressed(self.path("deflated.npz"), **self.ARRAYS)
        mounted = self.mount(self.scratch)
        for archive in ("stored.npz", "deflated.npz"):
            self.assertEqual(sorted(name for name in os.listdir(mounted.join(archive))
                                    if name[0] != "." and name not in ("data.nc", "index.html")),
                             sorted(self.ARRAYS))
            for name, want in self.ARRAYS.items():
                with self.subTest(archive=archive, name=name):
                    got = load(mounted.join(archive, name))
                    self.assertEqual(got.dtype.newbyteorder("<"), np.asarray(want).dtype.newbyteorder("<"))
                    np.testing.assert_array_equal(got, want)

    def write_zarr(self, store, prefix=""):
        group = zarr.group(store, path=prefix, overwrite=False)
        group.create_dataset("t", data=np.arange(100, dtype="f4").reshape(10, 10), chunks=(3, 4))
        group.create_group("g")["n"] = np.arange(7)

    def test_zarr_in_zip_at_its_root_or_one_folder_down(self):
        for name, prefix, compression in (("stored.zip", "", zipfile.ZIP_STORED),
                                          ("deflated.zip", "", zipfile.ZIP_DEFLATED),
                                          ("below.zip", "sub", zipfile.ZIP_STORED)):
            memory = zarr.MemoryStore()
            self.write_zarr(memory)
            with zipfile.ZipFile(self.path(name), "w", compression) as archive:
                for key in memory:
                    archive.writestr(f"{prefix}/{key}" if prefix else key, bytes(memory[key]))
        mounted = self.mount(self.scratch)
        for folder in ("stored.zip", "deflated.zip", "below.zip/sub"):
            np.testing.assert_array_equal(load(mounted.join(folder, "t")), np.arange(100.0).reshape(10, 10), folder)
            np.testing.assert_array_equal(load(mounted.join(folder, "g/n")), np.arange(7), folder)

    def test_linked_dimensions_in_an_archive_that_was_just_written(self):
        sizes = {"time": 3, "lat": 4, "lon": 5}
        store = zarr.ZipStore(self.path("linked.zip"), mode="w")
        group = zarr.group(store)
        for name, dimensions in (*((name, [name]) for name in sizes), ("tas", list(sizes)), ("pr", ["lat", "lon"])):
            shape = [sizes[dimension] for dimension in dimensions]
            array = group.create_dataset(name, data=np.arange(np.prod(shape)).reshape(shape), chunks=[1] * len(shape))
            array.attrs["_ARRAY_DIMENSIONS"] = dimensions
        store.close()
        mounted = self.mount(self.scratch)
        for name in (*sizes, "tas", "pr"):
            values = load(mounted.join("linked.zip", name))
            np.testing.assert_array_equal(values, np.arange(values.size).reshape(values.shape), name)


class OtherZarrTest(FormatTestCase):
    def test_n5_as_zarr_writes_it(self):
        values = np.arange(11 * 7, dtype="i4").reshape(11, 7)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            group = zarr.group(zarr.N5Store(self.path("a.n5")))
            for name, compressor in {"raw": None, "gzip": numcodecs.GZip(3), "bzip2": numcodecs.BZ2(5),
                                     "xz": numcodecs.LZMA(preset=1), "blosc": numcodecs.Blosc("lz4")}.items():
                group.create_dataset(name, data=values, chunks=(4, 3), compressor=compressor)
        mounted = self.mount(self.scratch)
        for name in ("raw", "gzip", "bzip2", "xz", "blosc"):
            np.testing.assert_array_equal(load(mounted.join("a.n5", name)), values, name)

    def test_kerchunk_references_to_an_hdf5_file(self):
        values = np.arange(48, dtype="<i4").reshape(6, 8)
        with h5py.File(self.path("a.h5"), "w") as file:
            dataset = file.create_dataset("v", data=values, chunks=(3, 4), compression="gzip")
            chunks = [dataset.id.get_chunk_info(i) for i in range(dataset.id.get_num_chunks())]
        array = {"zarr_format": 2, "shape": [6, 8], "chunks": [3, 4], "dtype": "<i4", "order": "C", "fill_value": 0,
                 "filters": None, "compressor": {"id": "zlib", "level": 4}}
        references = {".zgroup": json.dumps({"zarr_format": 2}), "v/.zarray": json.dumps(array)}
        for chunk in chunks:
            key = f"v/{chunk.chunk_offset[0] // 3}.{chunk.chunk_offset[1] // 4}"
            references[key] = ["a.h5", chunk.byte_offset, chunk.size]
        harness.write(self.path("inside.json"), json.dumps({"version": 1, "refs": references}))
        outside = {key: ["../../" + value[0], *value[1:]] if isinstance(value, list) else value
                   for key, value in references.items()}
        harness.write(self.path("outside.json"), json.dumps({"version": 1, "refs": outside}))
        remote = {key: ["https://example.org/a.h5", *value[1:]] if isinstance(value, list) else value
                  for key, value in references.items()}
        harness.write(self.path("remote.json"), json.dumps({"version": 1, "refs": remote}))
        mounted = self.mount(self.scratch)
        np.testing.assert_array_equal(load(mounted.join("inside.json/v")), values)
        for name, words in {"outside.json": "outside the source tree", "remote.json": "remote"}.items():
            folder = mounted.join(name, "v")
            self.assertIn(words, harness.read(folder, "error.txt").decode(), name)
            self.assertFalse(os.path.exists(os.path.join(folder, "data.npy")), name)

    def test_chunks_that_are_messages_of_grib(self):
        # Two messages with junk between, in a file that a kerchunk document and Zarr v3 chunks take them of.
        numbers = (np.arange(2 * 48) * 977 % 65536).reshape(2, 6, 8)
        messages = [grib_messages.packed_message(field.ravel(), 8, 6, reference=200, scan=0x40) for field in numbers]
        harness.write(self.path("a.grib2"), messages[0] + b"junk" + messages[1])
        array = {"zarr_format": 2, "shape": [2, 6, 8], "chunks": [1, 6, 8], "dtype": "<f4", "order": "C", "fill_value": None,
                 "filters": [{"id": "grib", "var": "t", "dtype": "float32"}], "compressor": None}
        latitude = {**array, "shape": [6, 8], "chunks": [6, 8], "dtype": "<f8", "filters": [{"id": "grib", "var": "latitude"}]}
        references = {".zgroup": json.dumps({"zarr_format": 2}), "t/.zarray": json.dumps(array),
                      "t/0.0.0": ["a.grib2", 0, len(messages[0])],
                      "t/1.0.0": ["a.grib2", len(messages[0]) + 4, len(messages[1])],
                      "latitude/.zarray": json.dumps(latitude), "latitude/0.0": ["a.grib2", 0, len(messages[0])]}
        harness.write(self.path("a.json"), json.dumps({"version": 1, "refs": references}))
        metadata = {"zarr_format": 3, "node_type": "array", "shape": [2, 6, 8], "data_type": "float64", "fill_value": "NaN",
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 6, 8]}},
                    "chunk_key_encoding": {"name": "default"}, "attributes": {},
                    "codecs": [{"name": "gribberish", "configuration": {"var": "t", "north_up": True}}]}
        harness.write(self.path("b.zarr", "zarr.json"), json.dumps(metadata))
        for i, message in enumerate(messages):
            harness.write(self.path("b.zarr", f"c/{i}/0/0"), message)
        mounted = self.mount(self.scratch)
        np.testing.assert_array_equal(load(mounted.join("a.json/t")), numbers + np.float32(200))
        np.testing.assert_allclose(load(mounted.join("a.json/latitude"))[:, 3], [50, 52, 54, 56, 58, 40])
        np.testing.assert_array_equal(load(mounted.join("b.zarr")), numbers[:, ::-1] + 200.0)

    def test_kerchunk_references_in_parquet(self):
        """Two arrays, of which one has chunks in three tables; some are absent, some stand in the table."""
        values = np.arange(48, dtype="<i4").reshape(6, 8)
        chunks = [values[i:i + 2, j:j + 2].tobytes() for i in range(0, 6, 2) for j in range(0, 8, 2)]
        harness.write(self.path("refs.parq/data.bin"), b"head" + b"".join(chunks))
        array = {"zarr_format": 2, "shape": [6, 8], "chunks": [2, 2], "dtype": "<i4", "order": "C", "fill_value": -1,
                 "filters": None, "compressor": None}
        metadata = {".zgroup": {"zarr_format": 2}, "g/.zgroup": {"zarr_format": 2}, "g/v/.zarray": array,
                    "g/v/.zattrs": {"_ARRAY_DIMENSIONS": ["y", "x"]}, "s/.zarray": array | {"shape": [], "chunks": []}}
        harness.write(self.path("refs.parq/.zmetadata"), json.dumps({"metadata": metadata, "record_size": 5}))
        rows = [("data.bin", 4 + 16 * i, 16, None) for i in range(12)]
        rows[3], rows[7] = (None, 0, 0, None), (None, 0, 0, chunks[7])
        for number, options in enumerate(({"codec": "zstd"}, {"encoding": "dictionary"}, {"encoding": "delta", "version": 2})):
            part = rows[5 * number:5 * number + 5] + [(None, 0, 0, None)] * (3 if number == 2 else 0)
            columns = {name: (kind, [row[i] for row in part])
                       for i, (name, kind) in enumerate((("path", "text"), ("offset", "i8"), ("size", "i8"), ("raw", "text")))}
            harness.write(self.path(f"refs.parq/g/v/refs.{number}.parq"), parquet.table(columns, **options))
        harness.write(self.path("refs.parq/s/refs.0.parq"), parquet.table({"raw": ("text", [b"\7\0\0\0"])}))
        mounted = self.mount(self.scratch)
        expected = values.copy()
        expected[0:2, 6:8] = -1
        np.testing.assert_array_equal(load(mounted.join("refs.parq", "g/v")), expected)
        self.assertEqual(load(mounted.join("refs.parq", "s")), 7)
        self.assertEqual(sorted(os.listdir(mounted.join("refs.parq", "g")))[-1], "v")

    def test_integers_of_four_bits(self):
        values = np.array([7, -8, -7, -1, 0, 3], "i1")
        for name, codec, chunk in (("bytes", "bytes", bytes((value & 15) | 0xa0 for value in values.tolist())),
                                   ("packbits", "packbits", bytes.fromhex("87f930"))):
            metadata = {"zarr_format": 3, "node_type": "array", "shape": [12], "data_type": "int4", "fill_value": -2,
                        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [6]}},
                        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": codec}], "attributes": {}}
            harness.write(self.path(name + ".zarr", "zarr.json"), json.dumps(metadata))
            harness.write(self.path(name + ".zarr", "c/0"), chunk)
        mounted = self.mount(self.scratch)
        for name in ("bytes", "packbits"):
            got = load(mounted.join(name + ".zarr"))
            self.assertEqual(got.dtype, np.int8)
            np.testing.assert_array_equal(got, [*values, *[-2] * 6], name)

    def test_stores_without_any_metadata_but_consolidated_ones(self):
        path = self.path("a.zarr")
        group = zarr.open_group(path, mode="w")
        group.attrs["title"] = "t"
        values = np.arange(12, dtype="<f4").reshape(3, 4)
        group.array("temp", values, chunks=(2, 2)).attrs["units"] = "K"
        group.array("deep/er/b", values.astype("<i2"), chunks=(3, 4))
        group.full("never/written", fill_value=7, shape=(2,), dtype="u1")
        zarr.consolidate_metadata(path)
        for folder, _, names in os.walk(path, topdown=False):
            for name in names:
                if name in (".zgroup", ".zarray", ".zattrs"):
                    os.remove(os.path.join(folder, name))
            if not os.listdir(folder):
                os.rmdir(folder)
        self.assertNotIn("never", os.listdir(path))

        mounted = self.mount(self.scratch)
        names = [name for name in harness.walk(mounted.join("a.zarr")) if os.path.basename(name) not in harness.BESIDE]
        self.assertEqual(names, sorted(
            [".ndl.yaml", ".source", *(f"{folder}/.ndl.yaml" for folder in ("deep", "deep/er", "never")),
             "deep", "deep/er", "never", "data.nc", "deep/er/data.nc", "never/data.nc",
             *(f"{folder}index.html" for folder in ("", "deep/", "deep/er/", "never/")),
             *(f"{array}/{file}" for array in ("temp", "deep/er/b", "never/written") for file in harness.ARRAY_FILES),
             "temp", "deep/er/b", "never/written"]))
        opened = zarr.open_consolidated(path)
        for name in ("temp", "deep/er/b", "never/written"):
            found = np.load(mounted.join("a.zarr", name, "data.npy"))
            self.assertEqual(found.dtype, opened[name].dtype, name)
            np.testing.assert_array_equal(found, opened[name][...], name)
        described = self.run_ok(harness.BINARY, "describe", path)
        self.assertEqual(described.encode(), harness.read(mounted.join("a.zarr", ".ndl.yaml")))
        document = yaml.safe_load(described)
        self.assertEqual(document["/"]["attributes"], dict(opened.attrs))
        self.assertEqual(document["/"]["ndarrays"]["temp"]["attributes"], dict(opened["temp"].attrs))

    def test_version_3_wins_over_the_same_chunks(self):
        base = self.path("both.zarr")
        array = {"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "order": "C", "fill_value": 0,
                 "filters": None, "compressor": None}
        v3 = {"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int32", "fill_value": 0,
              "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
              "chunk_key_encoding": {"name": "v2"},
              "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": {"is": "v3"}}
        harness.write(os.path.join(base, ".zarray"), json.dumps(array))
        harness.write(os.path.join(base, ".zattrs"), json.dumps({"is": "v2"}))
        harness.write(os.path.join(base, "zarr.json"), json.dumps(v3))
        harness.write(os.path.join(base, "0"), np.arange(4, dtype="<i4").tobytes())
        mounted = self.mount(self.scratch)
        np.testing.assert_array_equal(load(mounted.join("both.zarr")), np.arange(4))
        self.assertEqual(os.getxattr(mounted.join("both.zarr"), "user.attr.is"), b"v3")

    def test_structs_of_version_3_in_both_forms(self):
        dtype = np.dtype([("x", "<f4"), ("in", [("a", "<i2"), ("b", "u1")])])
        values = np.array([(1.5, (2, 3)), (4.5, (5, 6)), (7.5, (8, 9))], dtype)
        inner = [{"name": "a", "data_type": "int16"}, {"name": "b", "data_type": {"name": "uint8"}}]
        forms = {
            "struct": ({"name": "struct", "configuration": {"fields": [
                {"name": "x", "data_type": "float32"},
                {"name": "in", "data_type": {"name": "struct", "configuration": {"fields": inner}}}]}},
                {"x": "NaN", "in": {"a": -1, "b": 7}}),
            "structured": ({"name": "structured", "configuration": {"fields": [
                ["x", "float32"],
                ["in", {"name": "structured", "configuration": {"fields": [["a", "int16"], ["b", "uint8"]]}}]]}},
                "AADAf///Bw=="),
        }
        for name, (data_type, fill) in forms.items():
            metadata = {"zarr_format": 3, "node_type": "array", "shape": [6], "data_type": data_type,
                        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}},
                        "chunk_key_encoding": {"name": "default"}, "fill_value": fill, "attributes": {},
                        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
            harness.write(self.path(name + ".zarr", "zarr.json"), json.dumps(metadata))
            harness.write(self.path(name + ".zarr", "c/0"), values.tobytes())
        mounted = self.mount(self.scratch)
        for name in forms:
            got = load(mounted.join(name + ".zarr"))
            self.assertEqual(got.dtype, dtype)
            self.assertEqual(got[:3].tobytes(), values.tobytes())
            self.assertTrue(np.isnan(got["x"][3:]).all(), name)
            self.assertEqual(got["in"][3:].tolist(), [(-1, 7)] * 3, name)


class DetectionTest(FormatTestCase):
    COUNT = 2000

    def write_one_of_each(self):
        """One file of each kind; the names of those that are stores."""
        np.save(self.path("a.npy"), np.arange(10))
        np.savez(self.path("a.npz"), a=np.arange(3))
        with h5py.File(self.path("a.h5"), "w") as file:
            file["x"] = np.arange(5)
        with netCDF4.Dataset(self.path("a.nc"), "w", format="NETCDF3_CLASSIC") as dataset:
            dataset.createDimension("x", 2)
        with zipfile.ZipFile(self.path("a.zip"), "w") as archive:
            archive.writestr("a.txt", "text")
        harness.write(self.path("a.txt"), "text")
        harness.write(self.path("a.json"), "{}")
        return ["a.npy", "a.npz", "a.h5", "a.nc"], ["a.zip", "a.txt", "a.json"]

    def test_contents_decide_where_names_do_not(self):
        stores, others = self.write_one_of_each()
        shutil.copy(self.path("a.h5"), self.path("hdf5.nc"))
        shutil.copy(self.path("a.nc"), self.path("classic.nc4"))
        with zipfile.ZipFile(self.path("array.zip"), "w") as archive:
            archive.writestr(".zgroup", '{"zarr_format": 2}')
        os.makedirs(self.path("folder.zarr"))
        mounted = self.mount(self.scratch)
        for name in [*stores, "hdf5.nc", "classic.nc4", "array.zip"]:
            self.assertTrue(os.path.exists(mounted.join(name, ".ndl.yaml")), name)
        for name in others:
            self.assertEqual(harness.read(mounted.join(name)), harness.read(self.path(name)), name)
        self.assertEqual(os.listdir(mounted.join("folder.zarr")), [])

    def test_listing_many_files_looks_into_none(self):
        stores, others = self.write_one_of_each()
        for number in range(self.COUNT):
            name = (stores + others)[number % 7]
            os.makedirs(self.path("many"), exist_ok=True)
            os.link(self.path(name), self.path("many", f"{number:05d}{name[1:]}"))
        mounted = self.mount(self.scratch)
        self.assertEqual(len(os.listdir(mounted.join("many"))), self.COUNT)
        statistics = json.loads(harness.read(mounted.path, ".ndlfs/stats.json"))
        self.assertLess(statistics["lookups_total"], 20)
        self.assertEqual(statistics["open_stores"], 0)
        for name in os.listdir(mounted.join("many")):
            os.lstat(mounted.join("many", name))
        statistics = json.loads(harness.read(mounted.path, ".ndlfs/stats.json"))
        self.assertEqual(statistics["open_stores"], 0)


if __name__ == "__main__":
    harness.main()
