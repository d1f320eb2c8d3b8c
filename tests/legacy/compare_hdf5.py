#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares data.h5 of stores with the stores themselves, by independent readers.

  compare_hdf5.py SOURCE MOUNT [--list]

SOURCE is a directory of stores, MOUNT where ndlfs shows it. Every array and every attribute
that h5py, netCDF4, zarr or NumPy find in a store has to be in its data.h5 as h5py reads it, or be
named in the attribute ndlfs_left_out. netCDF4 has to open each data.h5, and read the numbers
that h5py reads.
"""

import argparse
import json
import multiprocessing
import os
import resource
import sys
import warnings

import h5py
import netCDF4
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mount"))

import zarr2 as zarr  # noqa: E402 - its folder is known only now

warnings.filterwarnings("ignore")
NO_COORDINATE = "_nc4_non_coord_"
OWN = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid",
       "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict", "DIMENSION_LABELS"}


# These are in the type of the variable.
OF_VARIABLE = {"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range",
               "flag_values", "flag_masks"}


def text(value):
    if isinstance(value, bytes):
        try:
            return value.rstrip(b"\0").decode()
        except UnicodeDecodeError:
            return value.rstrip(b"\0").decode("latin-1")
    return str(value).rstrip("\0")


def is_text(array):
    return array.dtype.kind in "SU" or (
        array.dtype.kind == "O" and all(isinstance(v, (str, bytes)) for v in array.ravel()))


def joined(array):
    """Characters as texts of the last dimension."""
    array = np.ascontiguousarray(array)
    return array.view(f"S{array.shape[-1]}")[..., 0] if array.shape[-1] else array[..., 0:0]


def flat(value):
    """A value as a flat list of plain things."""
    array = np.asarray(value)
    if array.dtype.names:
        return [flat(joined(array[name]) if array.dtype[name].subdtype and
                     array.dtype[name].base == "S1" else array[name]) for name in array.dtype.names]
    if array.dtype.kind == "O":
        return [text(v) if isinstance(v, (str, bytes)) else
                "ref" if isinstance(v, (h5py.Reference, h5py.RegionReference)) else
                flat(v) if isinstance(v, np.ndarray) else v for v in array.ravel()]
    if array.dtype.kind in "SU":
        return [text(v) for v in array.ravel()]
    if array.dtype.kind == "V":
        return array.tobytes().hex()
    if array.dtype.kind in "Mm":
        array = array.view("i8")
    if array.dtype.kind == "b":
        array = array.astype("i1")
    return array


def same(a, b):
    a, b = flat(a), flat(b)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.size != b.size:
            return False
        return np.array_equal(a.ravel(), b.ravel(), equal_nan=a.dtype.kind in "fc")
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(
            same(x, y) if isinstance(x, (list, np.ndarray)) or isinstance(y, (list, np.ndarray))
            else x == y or (x != x and y != y) for x, y in zip(a, b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(np.asarray(a).ravel(), np.asarray(b).ravel())
    return a == b


class FromHdf5:
    """What h5py finds in a file."""

    def __init__(self, path):
        self.file = h5py.File(path, "r")

    def arrays(self):
        found = {}

        def visit(name, item):
            if isinstance(item, h5py.Dataset) and item.shape is not None:
                only = text(item.attrs.get("NAME", "")) if "NAME" in item.attrs else ""
                if not only.startswith("This is a netCDF dimension but"):
                    found[name] = item
        self.file.visititems(visit)
        return found

    def groups(self):
        found = {"": self.file}
        self.file.visititems(
            lambda name, item: found.__setitem__(name, item)
            if isinstance(item, h5py.Group) else None)
        return found

    @staticmethod
    def attributes(item):
        found = {}
        for name in item.attrs:
            if name in OWN:
                continue
            try:
                value = item.attrs[name]
            except Exception:  # what h5py cannot read
                continue
            if not isinstance(value, h5py.Empty):
                found[name] = value
        return found

    @staticmethod
    def values(item):
        return item[()]


class FromClassic:
    def __init__(self, path):
        self.file = netCDF4.Dataset(path)
        self.file.set_auto_maskandscale(False)
        self.file.set_auto_chartostring(False)

    def arrays(self):
        return dict(self.file.variables)

    def groups(self):
        return {"": self.file}

    @staticmethod
    def attributes(item):
        return {name: item.getncattr(name) for name in item.ncattrs()}

    @staticmethod
    def values(item):
        return np.asarray(item[...])


class FromZarr:
    def __init__(self, path):
        self.root = zarr.open_group(path, mode="r")

    def items(self, kind):
        found = {}
        self.root.visititems(lambda name, item: found.__setitem__(name, item)
                             if isinstance(item, kind) else None)
        return found

    def arrays(self):
        return self.items(zarr.Array)

    def groups(self):
        return {"": self.root, **self.items(zarr.Group)}

    @staticmethod
    def attributes(item):
        return {k: v for k, v in item.attrs.asdict().items()
                if k not in ("_ARRAY_DIMENSIONS", "_NCZARR_ATTR", "_nczarr_attr")}

    @staticmethod
    def values(item):
        return item[...]


class FromNpz:
    def __init__(self, path):
        self.file = np.load(path, allow_pickle=False)

    def arrays(self):
        return {name: name for name in self.file.files}

    def groups(self):
        return {}

    @staticmethod
    def attributes(_item):
        return {}

    def values(self, item):
        return self.file[item]


def open_source(path):
    if os.path.isdir(path):
        return FromZarr(path)
    with open(path, "rb") as file:
        head = file.read(8)
    if head.startswith(b"CDF"):
        return FromClassic(path)
    if head.startswith(b"PK"):
        import zipfile
        if any(name.endswith(".npy") for name in zipfile.ZipFile(path).namelist()):
            return FromNpz(path)
        return FromZarr(path)
    return FromHdf5(path)


class Comparison:
    def __init__(self, source, path):
        self.source = source
        self.made = h5py.File(path, "r")
        self.netcdf = netCDF4.Dataset(path)
        self.netcdf.set_auto_maskandscale(False)
        self.netcdf.set_auto_chartostring(False)
        left = self.made.attrs.get("ndlfs_left_out", b"")
        self.left_out = text(left).split("\n") if len(left) else []
        self.wrong = []
        self.arrays = self.attributes = self.variables = 0

    def is_left_out(self, name):
        return any(line.lstrip("/").startswith((name + ":", name + "/")) or
                   line.startswith(name + ":") for line in self.left_out)

    def find(self, name):
        folder, _, last = name.rpartition("/")
        for other in (f"{folder}/{NO_COORDINATE}{last}".lstrip("/"), name):
            if other in self.made:
                return other
        return None

    def run(self):
        for name, item in self.source.arrays().items():
            name = name.strip("/")
            found = self.find(name)
            if found is None:
                if not self.is_left_out(name):
                    self.wrong.append(f"{name}: missing")
                continue
            if self.is_comparable(item):
                self.compare_values(name, self.source.values(item), self.made[found])
            self.compare_attributes(name, self.source.attributes(item), self.made[found])
            self.compare_netcdf(found)
        for name, item in self.source.groups().items():
            found = self.made if name == "" else self.made.get(name)
            if found is None:
                if not self.is_left_out(name):
                    self.wrong.append(f"{name}: missing group")
            else:
                self.compare_attributes(name or "/", self.source.attributes(item), found)
        return self.wrong

    @staticmethod
    def is_comparable(item):
        """zarr shows what memory held where nothing is stored and there is no fill value."""
        size = np.prod([int(n) for n in getattr(item, "shape", ())], dtype=float)
        has_fill = getattr(item, "fill_value", 0) is not None or \
            getattr(item, "nchunks_initialized", 0) == getattr(item, "nchunks", 0)
        return size < 5e7 and has_fill

    def compare_values(self, name, expected, made):
        self.arrays += 1
        values = made[()]
        expected = np.asarray(expected)
        if is_text(expected) and isinstance(values, np.ndarray) and values.dtype == "S1" \
                and values.ndim == expected.ndim + 1:
            values = joined(values)
        if not same(expected, values):
            self.wrong.append(f"{name}: values differ: {expected.dtype} {expected.shape} and "
                              f"{made.dtype} {made.shape}")

    def compare_attributes(self, name, expected, made):
        for key, value in expected.items():
            self.attributes += 1
            if key in OWN:
                continue
            if key not in made.attrs:
                if not self.is_left_out(name):
                    self.wrong.append(f"{name}: attribute {key} missing")
                continue
            got = made.attrs[key]
            if isinstance(value, (dict, list, type(None), bool)) and isinstance(got, (str, bytes)):
                try:
                    if json.loads(text(got)) == value:
                        continue
                except ValueError:
                    pass
            if isinstance(value, bool):
                value = int(value)
            if key in OF_VARIABLE and np.asarray(value).dtype.kind in "iufb" and \
                    hasattr(made, "dtype") and np.asarray(got).dtype == made.dtype:
                value = np.asarray(value).astype(made.dtype)  # rounded to the type of the variable
            if not same(value, got):
                self.wrong.append(f"{name}: attribute {key} differs: {value!r} and {got!r}"[:200])

    def is_shadowed(self, name, variable):
        """netCDF4-python looks for dimensions by name, and finds the inner one."""
        group = self.netcdf
        lengths = {}
        for part in ["", *name.split("/")[:-1]]:
            group = group[part] if part else group
            for key, dimension in group.dimensions.items():
                lengths.setdefault(key, set()).add(len(dimension))
        return any(len(lengths[key]) > 1 for key in variable.dimensions)

    def compare_netcdf(self, name):
        try:
            variable = self.netcdf[name]
        except IndexError:
            return  # of a type that netCDF-4 lacks
        if not isinstance(variable, netCDF4.Variable):
            return
        made = self.made[name]
        if made.dtype.kind not in "iufS" or variable.dtype is str or made.size > 5e7:
            return
        self.variables += 1
        if made.size == 0:
            return
        if self.is_shadowed(name, variable):
            return
        if not same(np.asarray(variable[...]), made[()]):
            self.wrong.append(f"{name}: netCDF4 reads other values than h5py")


def stores(mount):
    for folder, names, files in os.walk(mount):
        if ".ndl.yaml" in files or "error.txt" in files:
            if ".ndl.yaml" in files:
                yield os.path.relpath(folder, mount)
            names[:] = []


def compare(source, mount):
    """(what was compared or skipped, problems) of one store."""
    path = os.path.join(mount, "data.h5")
    if not os.path.exists(path):
        return "no data.h5", []
    try:
        opened = open_source(source)
        opened.arrays()
    except Exception as error:  # readers differ in what they refuse
        h5py.File(path, "r").close()
        netCDF4.Dataset(path).close()
        return f"not read: {type(error).__name__}: {error}"[:120], []
    comparison = Comparison(opened, path)
    wrong = comparison.run()
    return (f"{comparison.arrays} arrays, {comparison.attributes} attributes, "
            f"{comparison.variables} variables, left out {len(comparison.left_out)}"), wrong


def answer(source, mount, queue):
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    try:
        queue.put(compare(source, mount))
    except Exception as error:
        queue.put((f"{type(error).__name__}: {error}", ["fails"]))


def compare_apart(source, mount):
    """Some sources crash the libraries, or keep them busy forever."""
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=answer, args=(source, mount, queue))
    process.start()
    try:
        return queue.get(timeout=60)
    except Exception:
        return "crashed, or came to no end", ["fails"]
    finally:
        process.kill()
        process.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("mount")
    arguments = parser.parse_args()
    bad = 0
    for name in stores(arguments.mount):
        what, wrong = compare_apart(os.path.join(arguments.source, name),
                                    os.path.join(arguments.mount, name))
        print(f"{'BAD' if wrong else 'ok '} {name}: {what}", flush=True)
        for line in wrong[:8]:
            print("      ", line)
        bad += bool(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
