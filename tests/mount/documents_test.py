# SPDX-License-Identifier: MIT
"""The documents that ndlfs writes: `validate` accepts all of them, and every reader of YAML has the same from them.

The readers are PyYAML (YAML 1.1, by itself and over libyaml), ruamel.yaml (1.1 and 1.2) and R's yaml (1.1); of the last
two those that are installed. NDLFS_DOCUMENT_STORES=/folder adds all stores of a folder to those that are made here.
"""
import base64
import json
import math
import os
import random
import shutil
import subprocess
import unittest

import h5py
import harness
import netCDF4
import numcodecs
import numpy as np
import yaml
import zarr2 as zarr

try:
    import ruamel.yaml
except ImportError:
    ruamel = None

MORE_STORES = os.environ.get("NDLFS_DOCUMENT_STORES", "")

# What some reader takes for something else where it stands without quotes.
TRAPS = ["y", "n", "Y", "N", "yes", "No", "on", "OFF", "true", "False", "null", "~", "=", "<<", "0o17", "017", "0b1",
         "0B1", "0x1", "0X1F", "1_000", "1,000", "12:30:00", "1:30", ".5", "1.", "+1", "-0", "1e5", "1E+05", "12e03",
         ".inf", "-.Inf", ".nan", ".NaN", ".na", ".na.real", "2008-12-31", "2001-12-14t21:59:43.10-05:00", "-", "?", ":",
         "-_1", ":symbol", "- a", "? a", ": a", "-a", "?a", "a: b", "a:", "a #b", "#a", "a, b", "[a]", "{a", "&a", "*a",
         "!a", "!!str", "|", ">", "'a'", "\"a\"", "%a", "@a", "`a", "---", "...", " a", "a ", "", "a\nb\n", "a\n\nb\n\n",
         "\ta\nb", "a\tb", "a\rb", "\u0085", "\u2028", "\ufeff", "\u00e9", "\u20ac", "\U0001f600", "\x7f", "\x1b", "\\"]

R_SCRIPT = r"""
library(yaml)
hex <- function(text) paste(charToRaw(enc2utf8(text)), collapse = "")
tags <- c("str", "null", "bool#yes", "bool#no", "int", "int#hex", "int#oct", "int#base60", "int#na", "float", "float#fix",
          "float#exp", "float#inf", "float#neginf", "float#nan", "float#na", "float#base60", "bool#na", "str#na", "merge",
          "default", "binary", "timestamp", "timestamp#iso8601", "timestamp#spaced", "timestamp#ymd")
handlers <- lapply(tags, function(tag) { force(tag); function(text) paste0(tag, ":", hex(text)) })
names(handlers) <- tags
handlers$seq <- function(items) structure(as.list(items), tag = "seq")
handlers$map <- function(items) structure(as.list(items), tag = "map")
tokens <- function(value) {
  tag <- attr(value, "tag")
  if (is.null(tag)) return(value)
  if (tag == "seq") return(c("[", unlist(lapply(value, tokens)), "]"))
  c("{", unlist(lapply(seq_along(value), function(i) c(names(value)[[i]], tokens(value[[i]])))), "}")
}
for (file in readLines("stdin")) cat(tokens(yaml.load_file(file, handlers = handlers)), "\n")
"""


def has_r():
    if not shutil.which("Rscript"):
        return False
    return harness.run("Rscript", "-e", "library(yaml)").returncode == 0


def scalar_of_r(tag, digits):
    text = bytes.fromhex(digits).decode()
    if tag == "binary":
        return base64.b64decode(text)
    kind = tag.split("#")[0]
    if tag == "float#nan":
        return math.nan
    if tag in ("float#inf", "float#neginf"):
        return math.inf if tag == "float#inf" else -math.inf
    makers = {"str": str, "null": lambda _: None, "bool": lambda _: tag == "bool#yes", "int": int, "float": float}
    return makers[kind](text)


def value_of_r(tokens):
    """The first value of an iterator over tokens."""
    token = next(tokens)
    if token == "[":
        items = []
        while (item := value_of_r(tokens)) is not StopIteration:
            items.append(item)
        return items
    if token == "{":
        entries = {}
        while (key := next(tokens)) != "}":
            entries[scalar_of_r(*key.split(":"))] = value_of_r(tokens)
        return entries
    if token == "]":
        return StopIteration
    tag, text = token.split(":")
    return scalar_of_r(tag, text)


def load_with_r(files):
    result = subprocess.run(["Rscript", "-e", R_SCRIPT], input="\n".join(files) + "\n", capture_output=True, text=True,
                            env={**os.environ, "LC_ALL": "C.UTF-8"}, timeout=600)
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return [value_of_r(iter(line.split())) for line in result.stdout.splitlines()]


def load_with_ruamel(text, version):
    loader = ruamel.yaml.YAML(typ="safe", pure=True)
    loader.version = version
    return loader.load(text)


def difference(a, b, path="$"):
    """Where two values differ, in type or content; NaN is NaN."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return None
    if type(a) is not type(b):
        return f"{path}: {a!r}, {b!r}"
    if isinstance(a, dict):
        if list(a) != list(b):
            return f"{path}: the keys {list(a)}, {list(b)}"
        return next((found for key in a if (found := difference(a[key], b[key], f"{path}/{key}"))), None)
    if isinstance(a, list) and len(a) == len(b):
        return next((found for i, item in enumerate(a) if (found := difference(item, b[i], f"{path}[{i}]"))), None)
    return None if a == b else f"{path}: {a!r}, {b!r}"


def write_traps(path):
    """A Zarr group whose names, attributes and dimensions are all traps."""
    draw = random.Random(5)
    texts = TRAPS + ["".join(draw.choices(TRAPS, k=2)) for _ in range(100)]
    group = zarr.group(zarr.DirectoryStore(path))
    group.attrs.update({name: draw.choice(texts) for name in texts})
    group.attrs["list"] = texts
    group.attrs["json"] = {"it's": [texts, None, {}], "quoted": "\"'\"", "lines": "a\nb"}
    group.attrs["simple"] = {"model": {"name": "arome", "it's": None}}
    for number, name in enumerate(["y", "n", "1_000", "=", "on", "-a", "12:30", "2008-12-31", "\u00e4", "null", ":s"]):
        array = group.create_dataset(name, shape=(2,), dtype="f4", fill_value=[1e5, 1e-9, np.nan, np.inf][number % 4])
        array[...] = [number, 1e22]
        array.attrs["_ARRAY_DIMENSIONS"] = [name]
        array = group.create_dataset(f"of {number}", shape=(2, 3), dtype=[("no", "S3"), (name, "<U2"), ("z", "V2")])
        array.attrs["_ARRAY_DIMENSIONS"] = [name, draw.choice(TRAPS)]
    dates = group.create_dataset("dates", shape=(3,), dtype="M8[Y]", fill_value="NaT")
    dates.attrs["_ARRAY_DIMENSIONS"] = ["off"]
    group.create_dataset("empty", shape=(1, 0), dtype="f4")
    group.create_dataset("of text", shape=(2,), dtype=object, object_codec=numcodecs.VLenUTF8())


def write_odd_hdf5(path):
    """What validate once refused, although ndlfs wrote it: no elements, enums without a name, maxima, references."""
    with h5py.File(path, "w") as file:
        enum = h5py.enum_dtype({"A": 1, "B": 5}, "i2")
        for number, shape in enumerate([(1, 0), (0,), (0, 3), (2, 0, 3), (3, 2, 0)]):
            file.attrs[f"empty {number}"] = np.zeros(shape, "f4")
            most = tuple(max(1, 2 * extent) for extent in shape)
            file.create_dataset(f"references {number}", shape, h5py.ref_dtype, maxshape=most)
            file.create_dataset(f"regions {number}", shape, h5py.regionref_dtype, maxshape=(None, *most[1:]))
            file.create_dataset(f"numbers {number}", shape, "f4")
        file.attrs.create("enum", 9, dtype=enum)
        file.attrs.create("enums", [9, 1], dtype=enum)
        file.create_dataset("enum", (3,), enum, fillvalue=0)
        file.create_dataset("an enum", (), enum, data=7)
        file.create_dataset("no bool", (), h5py.enum_dtype({"FALSE": 0, "TRUE": 1}, "i1"), data=3)
        for name, extent, most in (("lat", 4, 10), ("none", 0, 0), ("grows", 0, None)):
            scale = file.create_dataset(name, (extent,), "f4", maxshape=(most,))
            scale.make_scale(name)
            file.create_dataset(f"of {name}", (extent, 5), "f4", maxshape=(20, 5)).dims[0].attach_scale(scale)
        references = file.create_dataset("some", (2, 3), h5py.ref_dtype, maxshape=(5, None))
        references[0, 0] = file["lat"].ref
        file.create_dataset("null", data=h5py.Empty("f4"))


def write_links(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("first", data=np.arange(3, dtype="i2")).attrs["units"] = "K"
        scale = file.create_dataset("lat", data=np.arange(2.0))
        scale.make_scale("lat")
        file.create_dataset("runs/2024/t", data=np.zeros((2, 3))).dims[0].attach_scale(scale)
        file["second"] = file["first"]
        file["latitude"] = file["lat"]
        file["runs/again"] = file["runs/2024/t"]
        file["runs/up"] = file["/"]
        file["same runs"] = file["runs"]
        file["latest"] = h5py.SoftLink("runs/2024")
        file["runs/y"] = h5py.SoftLink("/nowhere")
        file["other"] = h5py.ExternalLink("other.h5", "/x/y")


def write_structs(path):
    with h5py.File(path, "w") as file:
        inner = np.dtype([("u", "<f4"), ("v", ">f4")])
        dtype = np.dtype([("time", "i1"), ("station", "S4"), ("wind", inner), ("names", "S2", (3,)), ("n", "<i8")],
                         align=True)
        file.create_dataset("observations", (2,), dtype)
        file.create_dataset("text", (2,), "S7")
        file.create_dataset("plain", (2,), "f4")
        file.create_dataset("complex", (2,), "c8")


def write_netcdf4(path):
    with netCDF4.Dataset(path, "w") as file:
        for name, size in (("time", None), ("y", 3), ("z", 4)):
            file.createDimension(name, size)
        file.createVariable("time", "f8", ("time",))
        file.createVariable("y", "f8", ("y",))[:] = [1, 2, 3]
        file.createVariable("t", "f4", ("time", "y", "z"))
        group = file.createGroup("inner")
        group.createDimension("z", 7)
        group.createVariable("q", "f4", ("time", "z"))


class DocumentsTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.stores = os.path.join(self.scratch, "stores")
        os.mkdir(self.stores)

    def path(self, name):
        return os.path.join(self.stores, name)

    def document(self, name, path="/"):
        return self.run_ok(harness.BINARY, "describe", self.path(name), path)

    def documents(self):
        """The files .ndl.yaml of all stores, groups and arrays, copied."""
        copies = []
        for source in filter(None, (self.stores, harness.DATA, MORE_STORES)):
            with harness.Mount(source) as mounted:
                for name in harness.walk(mounted.path):
                    if os.path.basename(name) == ".ndl.yaml":
                        copies.append((os.path.join(source, name), harness.read(mounted.path, name).decode()))
        return copies

    def write_all(self):
        write_traps(self.path("traps.zarr"))
        write_odd_hdf5(self.path("odd.h5"))
        write_links(self.path("links.h5"))
        write_structs(self.path("structs.h5"))
        write_netcdf4(self.path("netcdf.nc"))

    def save(self, documents):
        """In files of their own; their names."""
        files = []
        for number, (_, text) in enumerate(documents):
            files.append(os.path.join(self.scratch, f"{number}.yaml"))
            harness.write(files[-1], text)
        return files

    def test_all_are_valid(self):
        self.write_all()
        documents = self.documents()
        files = self.save(documents)
        self.assertGreater(len(files), 60)
        for i in range(0, len(files), 1000):
            result = harness.run(harness.BINARY, "validate", *files[i:i + 1000])
            for line in result.stdout.splitlines():
                number = int(os.path.basename(line.split(":")[0]).removesuffix(".yaml"))
                self.fail(f"{documents[number][0]}: {line}")
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_every_reader_of_yaml_has_the_same(self):
        self.write_all()
        documents = self.documents()
        loaded = {"PyYAML": lambda text: yaml.load(text, yaml.SafeLoader)}
        if ruamel:
            loaded["ruamel.yaml 1.1"] = lambda text: load_with_ruamel(text, (1, 1))
            loaded["ruamel.yaml 1.2"] = lambda text: load_with_ruamel(text, (1, 2))
        by_r = load_with_r(self.save(documents)) if has_r() else [None] * len(documents)
        self.assertEqual(len(by_r), len(documents))
        for (name, text), value_by_r in zip(documents, by_r):
            want = yaml.load(text, yaml.CSafeLoader)
            for reader, load in loaded.items():
                self.assertIsNone(difference(want, load(text)), f"{name}: PyYAML over libyaml, {reader}")
            if value_by_r is not None:
                self.assertIsNone(difference(want, value_by_r), f"{name}: PyYAML over libyaml, R")
        print(f"{len(documents)} documents, {', '.join([*loaded, *(['R'] if has_r() else [])])}")

    def test_names_and_values_are_the_texts_of_the_store(self):
        write_traps(self.path("traps.zarr"))
        document = yaml.load(self.document("traps.zarr"), yaml.CSafeLoader)["/"]
        with open(self.path("traps.zarr/.zattrs"), encoding="utf-8") as file:
            attributes = json.load(file)
        for name, value in attributes.items():
            got = document["attributes"][name]
            got = got["value"] if isinstance(got, dict) else got
            if isinstance(value, dict):
                self.assertEqual(json.loads(got), value)
            else:
                self.assertEqual(got, value, name)
        self.assertIn("y", document["dimcoords"])
        self.assertEqual(document["ndarrays"]["of 0"]["shape"][0], "y")

    def test_y_as_a_name_is_quoted_wherever_it_stands(self):
        write_netcdf4(self.path("netcdf.nc"))
        text = self.document("netcdf.nc")
        self.assertIn('\n    "y":\n', text)
        self.assertIn('shape: [time, "y", 4]', text)
        write_traps(self.path("traps.zarr"))
        self.assertRegex(self.document("traps.zarr"), r'shape: \["y", 3\]\n      x-dims: \["y", ')

    def test_json_is_in_single_quotes(self):
        write_traps(self.path("traps.zarr"))
        self.assertIn("""\n      value: '{"model":{"it''s":null,"name":"arome"}}'\n""", self.document("traps.zarr"))

    def test_links_are_shown(self):
        write_links(self.path("links.h5"))
        document = yaml.load(self.document("links.h5"), yaml.CSafeLoader)
        root = document["/"]
        self.assertEqual(root["ndarrays"]["second"], {"shape": [3], "type": "int16", "x-same-as": "/first"})
        self.assertEqual(root["ndarrays"]["first"]["attributes"], {"units": "K"})
        self.assertEqual(root["dimcoords"]["latitude"]["x-same-as"], "/lat")
        self.assertEqual(root["x-links"], {"latest": "/runs/2024", "other": {"file": "other.h5", "path": "/x/y"}})
        self.assertEqual(document["/runs"]["x-links"], {"y": "/nowhere"})
        self.assertEqual(document["/runs"]["ndarrays"]["again"]["shape"], ["lat", 3])
        self.assertEqual(document["/runs/up"], {"x-same-as": "/"})
        self.assertEqual(document["/same runs"], {"x-same-as": "/runs"})

    def test_layouts_are_those_of_data_raw(self):
        write_structs(self.path("structs.h5"))
        arrays = yaml.load(self.document("structs.h5"), yaml.CSafeLoader)["/"]["ndarrays"]
        with harness.Mount(self.stores) as mounted:
            folder = mounted.join("structs.h5/observations")
            dtype = np.load(os.path.join(folder, "data.npy")).dtype
            layout = arrays["observations"]["x-layout"]
            self.check_layout(layout, dtype)
            self.assertEqual(layout["members"]["station"], {"offset": 1, "size": 4, "charset": "ascii"})
            self.assertEqual(layout["members"]["names"]["item"], {"size": 2, "charset": "ascii"})
            shown = os.getxattr(folder, "user.ndl.layout").decode()
            self.assertEqual(yaml.load(shown, yaml.CSafeLoader), layout)
            alone = yaml.load(harness.read(folder, ".ndl.yaml"), yaml.CSafeLoader)
            self.assertEqual(alone["/"]["ndarrays"]["observations"]["x-layout"], layout)
            self.assertNotIn("user.ndl.layout", os.listxattr(mounted.join("structs.h5/plain")))
        self.assertEqual(arrays["text"]["x-layout"], {"size": 7, "charset": "ascii"})
        self.assertNotIn("x-layout", arrays["plain"])
        self.assertNotIn("x-layout", arrays["complex"])

    def check_layout(self, layout, dtype):
        self.assertEqual(layout["size"], dtype.itemsize)
        self.assertEqual(list(layout.get("members", {})), list(dtype.names or []))
        for name in dtype.names or []:
            member = dict(layout["members"][name])
            self.assertEqual(member.pop("offset"), dtype.fields[name][1])
            self.check_layout(member, dtype[name])


if __name__ == "__main__":
    harness.main()
