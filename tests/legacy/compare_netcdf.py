"""Compares data.nc of every group of the stores in a directory with what other libraries read from the store.

    compare_netcdf.py SOURCE [EXPECTED.json]

mounts SOURCE, and reads each data.nc by netCDF4-python and, if it is CDF-1 or CDF-2, by SciPy. The store itself is read
by zarr-python, h5py, netCDF4 and NumPy. EXPECTED.json has the type and the SHA-256 of each array of stores that these
cannot read: {store: {"arrays": {path: {"dtype": ..., "sha256": ...}}}}.
"""
import hashlib
import json
import os
import sys

import h5py
import netCDF4
import numpy as np
import scipy.io
import zarr2 as zarr

import harness

# Attributes by which HDF5, netCDF-4 and NCZarr describe dimensions and themselves.
HIDDEN = {"_ARRAY_DIMENSIONS", "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid",
          "_Netcdf4Coordinates", "_NCProperties", "_nc3_strict", "_NCZARR_ARRAY", "_NCZARR_ATTR", "_NCZARR_GROUP",
          "_NCZARR_SUPERBLOCK", "_nczarr_array", "_nczarr_attr", "_nczarr_group", "_nczarr_superblock"}
# What ndlfs adds, where the source has no attribute of the name.
# A fill value of Zarr v2 beside `_FillValue` becomes `missing_value`.
ADDED = {"ndlfs_left_out", "ndlfs_name", "flag_values", "flag_meanings", "units", "calendar", "_FillValue", "missing_value", "_Encoding"}
# Types of CDF-1 that integers have instead of their own.
CLASSIC = {"u1": "i2", "u2": "i4", "u4": "f8", "i8": "f8", "u8": "f8"}
# Bytes of variables whose values are compared.
LARGEST = 1 << 26


class Reference:
    """A store by a reader that is not ndlfs: arrays and attributes by path."""

    def __init__(self, path):
        self.arrays = {}
        self.attributes = {}
        self.dimensions = {}
        self.hidden = set()  # dimensions without a variable
        self.read(path)

    def read(self, path):
        if os.path.isdir(path):
            return self.read_zarr(path)
        with open(path, "rb") as file:
            magic = file.read(8)
        if h5py.is_hdf5(path):
            return self.read_hdf5(path)
        if magic[:3] == b"CDF":
            return self.read_netcdf(path)
        if magic[:6] == b"\x93NUMPY":
            self.arrays["/"] = lambda: np.load(path)
        elif path.endswith(".npz"):
            for name in np.load(path).files:
                self.arrays["/" + name] = lambda name=name: np.load(path)[name]

    def read_zarr(self, path):
        for folder, folders, names in os.walk(path):
            inner = "/" + os.path.relpath(folder, path) if folder != path else "/"
            if "zarr.json" in names:
                with open(os.path.join(folder, "zarr.json"), encoding="utf-8") as file:
                    self.attributes[inner] = json.load(file).get("attributes", {})
            if ".zattrs" in names:
                with open(os.path.join(folder, ".zattrs"), encoding="utf-8") as file:
                    self.attributes[inner] = json.load(file)
            if ".zarray" in names:
                folders.clear()
                self.arrays[inner] = lambda folder=folder: read_zarr_array(folder)
                if "_ARRAY_DIMENSIONS" in self.attributes.get(inner, {}):
                    self.dimensions[inner] = tuple(self.attributes[inner]["_ARRAY_DIMENSIONS"])

    def read_hdf5(self, path):
        with h5py.File(path, "r") as file:
            self.attributes["/"] = read_attributes(file)
            file.visititems(self.add_hdf5(path))

    def add_hdf5(self, path):
        def add(name, thing):
            self.attributes["/" + name] = read_attributes(thing)
            is_dimension = str(self.attributes["/" + name].get("NAME")).startswith("b'This is a netCDF dimension but not")
            if is_dimension:
                self.hidden.add("/" + name)
            elif isinstance(thing, h5py.Dataset) and thing.shape is not None:
                self.arrays["/" + name] = lambda: read_dataset(path, name)
        return add

    def read_netcdf(self, path):
        with netCDF4.Dataset(path) as file:
            self.attributes["/"] = {name: file.getncattr(name) for name in file.ncattrs()}
            for name, variable in file.variables.items():
                self.attributes["/" + name] = {key: variable.getncattr(key) for key in variable.ncattrs()}
                self.dimensions["/" + name] = variable.dimensions
                self.arrays["/" + name] = lambda name=name: read_variable(path, name)


def read_zarr_array(folder):
    array = zarr.open_array(folder, mode="r")
    if array.fill_value is None:
        array._fill_value = array.dtype.type()  # pylint: disable=protected-access; else memory as it comes
    return array[...]


def read_dataset(path, name):
    with h5py.File(path, "r") as file:
        found = file[name][()]
        # h5py cuts off the zeros at the end of a single text.
        return np.array(found, file[name].dtype) if isinstance(found, bytes) and file[name].dtype.kind == "S" else found


def read_variable(path, name):
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        return file.variables[name][...]


def read_attributes(thing):
    found = {}
    for name in thing.attrs:
        try:
            found[name] = thing.attrs[name]
        except (OSError, TypeError, RuntimeError):  # a type that h5py does not read
            found[name] = None
    return found


class Comparison:
    def __init__(self):
        self.problems = []
        self.counts = {"files": 0, "CDF": {}, "variables": 0, "left out": 0, "attributes": 0, "hashes": 0, "scipy": 0,
                       "without reference": 0, "too large": 0}
        self.stores = set()

    def complain(self, where, what):
        self.problems.append(f"{where}: {what}")

    def compare_file(self, path, where, group, reference, expected):
        self.stores.add(where.removesuffix(":"))
        with open(path, "rb") as file:
            version = file.read(4)[3]
        self.counts["files"] += 1
        self.counts["CDF"][version] = self.counts["CDF"].get(version, 0) + 1
        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            file.set_auto_chartostring(False)
            left_out = getattr(file, "ndlfs_left_out", "").split("\n")
            left_out = {line.split(": ")[0] for line in left_out if line}
            self.counts["left out"] += len(left_out)
            shown = {}
            for variable in file.variables.values():
                shown[getattr(variable, "ndlfs_name", variable.name)] = variable
            names = {path.rpartition("/")[2]: path for path in {*reference.arrays, *expected} - reference.hidden
                     if (path.rpartition("/")[0] or "/") == group and path != "/"}
            for name, path_in_store in names.items():
                place = f"{where}{path_in_store}"
                if name in shown:
                    self.compare_variable(shown[name], place, path_in_store, reference, expected)
                elif os.path.islink(os.path.join(os.path.dirname(path), name)):
                    continue
                elif name not in left_out and name.replace("\n", " ") not in left_out:
                    self.complain(place, "neither there nor left out")
            self.compare_attributes(file, where + group, reference.attributes.get(group))
        if version < 5 and os.path.getsize(path) <= LARGEST:
            self.compare_by_scipy(path, where)

    def compare_by_scipy(self, path, where):
        """SciPy has a reader of its own: it finds the same values."""
        with netCDF4.Dataset(path) as file, scipy.io.netcdf_file(path, mmap=False, maskandscale=False) as other:
            file.set_auto_maskandscale(False)
            file.set_auto_chartostring(False)
            for name, variable in file.variables.items():
                found = other.variables[name.encode().decode("latin-1")]  # as SciPy reads names
                size = np.prod(variable.shape, dtype=object) * variable.dtype.itemsize
                if not 0 < size <= LARGEST:  # SciPy does not read records that are not there
                    continue
                values = np.asarray(found.data)
                if variable[...].tobytes() != values.astype(values.dtype.newbyteorder("=")).tobytes():
                    self.complain(f"{where} {name}", "SciPy reads other values")
                self.counts["scipy"] += 1

    def compare_variable(self, variable, where, path, reference, expected):
        self.counts["variables"] += 1
        self.compare_attributes(variable, where, reference.attributes.get(path))
        dimensions = reference.dimensions.get(path)
        if dimensions is not None and variable.dimensions[:len(dimensions)] != dimensions:
            if not all(new == old or new.startswith(f"{old}_") or not old
                       for new, old in zip(variable.dimensions, dimensions)):
                self.complain(where, f"dimensions {variable.dimensions}, not {dimensions}")
        if np.prod(variable.shape, dtype=object) * variable.dtype.itemsize > LARGEST:
            self.counts["too large"] += 1
            return
        found = variable[...]
        if path in reference.arrays:
            self.compare_values(where, found, reference.arrays[path]())
        elif path in expected and "sha256" in expected[path]:
            self.compare_hash(where, found, expected[path])
        else:
            self.counts["without reference"] += 1

    def compare_values(self, where, found, wanted):
        wanted = np.asarray(wanted)
        if wanted.dtype.kind == "U":
            encoded = [str(text).encode().ljust(wanted.dtype.itemsize, b"\0") for text in wanted.flat]
            wanted = np.array(encoded, f"S{wanted.dtype.itemsize}").reshape(wanted.shape)
        if wanted.dtype.kind == "S" and wanted.dtype.itemsize > 1:
            wanted = np.frombuffer(wanted.tobytes(), "S1").reshape(*wanted.shape, wanted.dtype.itemsize)
        elif wanted.dtype.kind in "Mm":
            wanted = wanted.view("i8")
        elif wanted.dtype.kind == "b":
            wanted = wanted.astype("i1")
        elif wanted.dtype.kind == "f" and wanted.dtype.itemsize == 2:
            wanted = wanted.astype("f4")
        if found.shape != wanted.shape and not (found.size == wanted.size == 0):
            return self.complain(where, f"shape {found.shape}, not {wanted.shape}")
        classic = CLASSIC.get(wanted.dtype.str[1:])
        if classic and found.dtype.newbyteorder("=") == np.dtype(classic):
            exact = wanted.astype(classic)
            if [int(number) for number in exact.flat] != [int(number) for number in wanted.flat]:
                return self.complain(where, f"{classic} does not hold the values")
            wanted = exact
        if found.dtype.newbyteorder("=") != wanted.dtype.newbyteorder("="):
            return self.complain(where, f"type {found.dtype}, not {wanted.dtype}")
        same = found == wanted if found.dtype.kind != "f" else (found == wanted) | (np.isnan(found) & np.isnan(wanted))
        if not np.all(same):
            self.complain(where, f"{np.size(same) - np.count_nonzero(same)} values differ")

    def compare_hash(self, where, found, wanted):
        """The hash is of all elements, in either byte order."""
        dtype = wanted["dtype"]
        if not isinstance(dtype, str):
            return self.complain(where, f"there, but of type {dtype}")
        dtype = np.dtype(dtype)
        if dtype.kind == "S":
            found = np.frombuffer(found.tobytes(), dtype)
        elif dtype.kind == "U":
            texts = [bytes(row).rstrip(b"\0").decode() for row in np.ascontiguousarray(found).reshape(-1, found.shape[-1])]
            found = np.array(texts, dtype)
        elif dtype.kind in "Mmb":
            found = found.astype("i8" if dtype.kind != "b" else "i1").view(dtype)
        hashes = {hashlib.sha256(np.ascontiguousarray(found.astype(dtype.newbyteorder(order))).tobytes()).hexdigest()
                  for order in "<>"}
        if wanted["sha256"] not in hashes:
            return self.complain(where, "the values have another hash")
        self.counts["hashes"] += 1

    def compare_attributes(self, thing, where, wanted):
        found = {name: thing.getncattr(name) for name in thing.ncattrs()}
        if wanted is None:
            return
        for name, value in wanted.items():
            if name in HIDDEN or value is None:
                continue
            if name not in found:
                if name != "_FillValue" and not isinstance(value, h5py.Empty) and not set(name) - set(map(chr, range(33, 127))):
                    self.complain(where, f"no attribute {name}")
                continue
            self.counts["attributes"] += 1
            if not is_same(found[name], value):
                self.complain(where, f"attribute {name} is {str(found[name])[:60]!r}, not {str(value)[:60]!r}")
        for name in found:
            if name not in wanted and name not in ADDED and "_2" not in name:
                self.complain(where, f"an attribute {name} that the store does not have")


def is_same(found, wanted):
    """Whether an attribute has the value, in one of the forms that netCDF classic leaves it."""
    if isinstance(wanted, (np.ndarray, list, tuple)):
        wanted = np.asarray(wanted)
        if wanted.dtype.kind in "OSU" and all(isinstance(item, (str, bytes)) for item in wanted.flat):
            return text_of(found) == "\n".join(text_of(item) for item in wanted.flat)
        if wanted.dtype.kind not in "iufb":
            return isinstance(found, str)  # its NDL
        found = np.atleast_1d(found)
        if found.dtype.kind in "iuf" and found.size == wanted.size:
            return bool(np.all((found == wanted.ravel()) | ((found != found) & (wanted.ravel() != wanted.ravel()))))
        return bool(found.dtype.kind in "SU" and wanted.size == 0)
    if isinstance(wanted, h5py.Empty):
        return np.size(found) == 0 or found == ""
    if isinstance(wanted, (str, bytes)):
        # A number in the variable's type, as the text of it in JSON.
        return text_of(found) == text_of(wanted) or isinstance(found, np.number)
    if isinstance(wanted, (bool, int, float, np.number, np.bool_)):
        return isinstance(found, str) or bool(np.all(found == wanted) or (found != found and wanted != wanted)) or \
            np.float32(found) == np.float32(wanted)
    return isinstance(found, str)


def text_of(value):
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            value = value.decode("latin-1")
    return str(value).rstrip("\0")


def compare(source, mounted, expected):
    comparison = Comparison()
    references = {}
    for folder, _, _ in os.walk(mounted):
        try:
            store = os.getxattr(folder, "user.ndl.store").decode()
            group = os.getxattr(folder, "user.ndl.path").decode()
            if b"group" != os.getxattr(folder, "user.ndl.kind"):
                continue
        except OSError:
            continue
        if not os.path.exists(os.path.join(folder, "data.nc")):
            continue
        if store not in references:
            references.clear()
            references[store] = read_reference(source, store, comparison)
        arrays = {"/" + name.lstrip("/"): array for name, array in
                  expected.get(store, expected.get(store + "#v3", {"arrays": {}}))["arrays"].items()}
        try:
            comparison.compare_file(os.path.join(folder, "data.nc"), store + ":", group, references[store], arrays)
        except Exception as error:  # whatever other readers throw
            comparison.complain(f"{store}:{group}", f"{type(error).__name__}: {error}")
    return comparison


def read_reference(source, store, comparison):
    try:
        return Reference(os.path.join(source, store))
    except Exception as error:  # whatever other readers throw
        print(f"{store}: cannot be read by others: {error}", file=sys.stderr)
        reference = object.__new__(Reference)
        reference.arrays, reference.attributes, reference.dimensions, reference.hidden = {}, {}, {}, set()
        return reference


def main():
    source = sys.argv[1]
    expected = {}
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as file:
            expected = json.load(file)
    with harness.Mount(source) as mounted:
        comparison = compare(source, mounted.path, expected)
    for problem in comparison.problems:
        print(problem)
    print(f"{len(comparison.stores)} stores, {comparison.counts}, {len(comparison.problems)} problems")
    return 1 if comparison.problems else 0


if __name__ == "__main__":
    sys.exit(main())
