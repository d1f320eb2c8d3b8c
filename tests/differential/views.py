# SPDX-License-Identifier: MIT
"""Every file that a mount makes of an array, and every answer of a server, read by the program that it is for."""
import base64
import contextlib
import csv
import ctypes
import io
import json
import os
import sys

import astropy.io.fits
import h5py
import harness
import netCDF4
import nibabel
import numpy as np
import scipy.io
import tifffile
import zarr2 as zarr
import zarr3_reader
from osgeo import gdal

gdal.UseExceptions()


def same(found, wanted):
    """Equal values, NaN included, of the same shape."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if wanted.dtype.names:
        return found.dtype.names == wanted.dtype.names and all(same(found[name], wanted[name]) for name in wanted.dtype.names)
    if wanted.dtype.kind in "mM":
        return found.dtype.newbyteorder("=") == wanted.dtype.newbyteorder("=") and np.array_equal(found.astype("i8"), wanted.astype("i8"))
    if wanted.dtype.kind in "iufc" and found.dtype.kind not in "iufcb":
        return False
    if wanted.dtype.kind == "O":
        return found.shape == wanted.shape and all(map(same_item, found.ravel(), wanted.ravel()))
    return found.shape == wanted.shape and np.array_equal(found, wanted, equal_nan=wanted.dtype.kind in "fc")


def has_arrays(dtype):
    """Structs with arrays inside, which Zarr v3 has not."""
    return bool(dtype.names) and any(dtype[name].subdtype or has_arrays(dtype[name]) for name in dtype.names)


def same_item(found, wanted):
    """A text, a list of numbers, or a document."""
    if isinstance(wanted, np.ndarray):
        return same(found, wanted)
    return (found.decode() if isinstance(found, bytes) else found) == wanted


def same_attribute(found, wanted):
    """Where a format has none of several texts, they are lines; integers that it has not are text."""
    if isinstance(wanted, list):
        return found == wanted or found == "\n".join(wanted)
    if isinstance(found, str) and not isinstance(wanted, str):
        return np.asarray(wanted).dtype.str[1:] in ("i8", "u8") and found in (str(wanted), str(np.ravel(wanted).tolist()))
    return same(found, wanted)


def close(found, wanted):
    """The same but for the order in which a factor and a summand are rounded, both perhaps in single precision."""
    found, wanted = np.asarray(found, "f8"), np.asarray(wanted, "f8")
    most = np.max(np.abs(wanted), where=np.isfinite(wanted), initial=0)
    return found.shape == wanted.shape and np.allclose(found, wanted, rtol=1e-6, atol=1e-9 + 5e-7 * most, equal_nan=True)


def flat(value):
    return [one for part in value for one in flat(part)] if isinstance(value, list) else [value]


def numbers(texts, dtype):
    """Of texts; complex numbers take two of them."""
    if dtype.kind == "c":
        parts = numbers(texts, np.dtype(f"f{dtype.itemsize // 2}"))
        return parts.view(dtype.newbyteorder("="))
    return np.array([int(text) if dtype.kind in "iub" else float(text) for text in texts], dtype)


def joined(found, wanted):
    """Text of fixed length is characters in data.h5, and times are numbers, also in structs."""
    if wanted.dtype.names:
        whole = np.zeros(wanted.shape, wanted.dtype)
        for name in wanted.dtype.names:
            whole[name] = joined(found[name], wanted[name])
        return whole
    if wanted.dtype.kind in "mM" and found.dtype.kind == "i":
        # Units of several seconds (and so on) are such of one.
        return (found.astype("i8") // np.datetime_data(wanted.dtype)[1]).view(wanted.dtype.newbyteorder("="))
    if wanted.dtype.kind not in "SU" or found.dtype.itemsize != 1 or found.ndim != wanted.ndim + 1:
        return found
    texts = [row.tobytes() for row in found.reshape(-1, found.shape[-1])]
    texts = [text.rstrip(b"\0") if wanted.dtype.kind == "S" else text.decode().rstrip("\0") for text in texts]
    return np.array(texts, wanted.dtype).reshape(wanted.shape)


def read_mrc(path, dtype):
    content = harness.read(path)
    shape = np.frombuffer(content, "<i4", 3)[::-1]
    extended = int(np.frombuffer(content, "<i4", 1, 92)[0])
    return np.frombuffer(content, dtype.newbyteorder("<"), int(np.prod(shape)), 1024 + extended)


def tokens(path):
    lines = [line for line in harness.read(path).decode().splitlines() if not line.startswith("#")]
    return " ".join(lines).replace(",", " ").split()


def as_json(value, names=None):
    """What a line of data.jsonl says of an element."""
    if isinstance(value, np.ndarray) and value.shape:
        return [as_json(one) for one in value.ravel()]  # flat, too, where it has several dimensions
    if isinstance(value, np.void) and value.dtype.names:
        return [as_json(value[name]) for name in value.dtype.names]
    if isinstance(value, np.void):
        return base64.b64encode(value.tobytes()).decode()
    if isinstance(value, bytes):
        return value.decode()
    if names:
        return names[int(value)]
    if isinstance(value, (complex, np.complexfloating)):
        return [float(value.real), float(value.imag)]
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return int(value.view("i8"))
    return value.item() if isinstance(value, np.generic) else value


def equal_json(found, wanted):
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(equal_json, found, wanted))
    if isinstance(wanted, str):  # ASCII tables of FITS fill up with blanks
        return found in (wanted, wanted.rstrip(" "))
    return found == wanted or (isinstance(wanted, float) and found is not None and np.isnan(wanted) and np.isnan(found))


def read_zarr3(path):
    with open(os.path.join(path, "zarr.json"), encoding="utf-8") as file:
        metadata = json.load(file)
    dtype = zarr3_reader.dtype_of(metadata["data_type"])
    return zarr3_reader.read_zarr3(path, zarr3_reader.fill_of(dtype, metadata["fill_value"]))


class Views:
    """Reads each view of an array with the software that it is for, and yields what differs."""

    def __init__(self, folder, array):
        self.folder = folder
        self.array = array
        self.stored = array.stored

    def differences(self):
        if not os.path.isdir(self.folder):
            yield "folder", "is not there"
            return
        if os.path.exists(os.path.join(self.folder, "error.txt")):
            yield "error.txt", harness.read(self.folder, "error.txt").decode().strip()
            return
        for name, agrees in self.checks().items():
            path = os.path.join(self.folder, name)
            if not os.path.exists(path):
                continue
            try:
                if not agrees(path):
                    yield name, "differs"
            except Exception as error:  # whatever its reader says of the file
                yield name, f"{type(error).__name__}: {error}"

    def checks(self):
        stored, size = self.stored, self.stored.size
        lines = {"data.jsonl": self.lines}
        if stored.dtype.kind == "O":
            texts = not self.array.is_json and all(isinstance(item, str) for item in stored.ravel())
            return lines | ({"data.zarr": lambda path: same(read_zarr3(path), stored)} if texts else {})
        found = {
            **lines,
            "data.npy": self.numpy_numbers,
            "data.raw": lambda path: harness.read(path) == np.load(os.path.join(self.folder, "data.npy")).tobytes(),
        }
        found |= {
            "data.zarr2": lambda path: same(zarr.open(path, mode="r")[...], stored),
        } | ({} if has_arrays(stored.dtype) else {"data.zarr": lambda path: same(read_zarr3(path), stored)})
        if stored.dtype.kind in "SUVmM":
            return found
        found |= {
            "data.txt": lambda path: same(numbers(tokens(path), stored.dtype), stored.ravel()),
            "data.tif": lambda path: same(self.picture(path), stored) and self.gdal_numbers(path),
            "data.vrt": self.gdal_numbers,
            "data.mrc": lambda path: same(read_mrc(path, stored.dtype), stored.ravel()),
            "data.f77": lambda path: same(self.fortran(path), stored.ravel()),
        }
        if not self.array.is_number():
            return found
        return found | {
            "data.fits": self.fits_numbers,
            "data.nii": lambda path: same(self.volume(path, is_scaled=False), stored),
            "values.zarr2": self.zarr_values,
            "values.zarr": lambda path: self.array.is_time() or close(read_zarr3(path), self.array.values()),
            "values.npy": self.numpy_values,
            "values.raw": lambda path: harness.read(path) == np.load(os.path.join(self.folder, "values.npy")).tobytes(),
            "values.tif": lambda path: self.array.is_time() or close(self.picture(path), self.array.values()),
            "values.fits": lambda path: self.array.is_time() or close(self.fits_values(path), self.array.values()),
            "values.nii": lambda path: self.array.is_time() or close(self.volume(path), self.array.values()),
            "values.txt": lambda path: self.text_values(tokens(path)) if size else True,
            "values.jsonl": lambda path: self.text_values(["nan" if item is None else item for item in self.json(path)]),
        }

    def picture(self, path):
        """Stacks of ImageJ have channels as the fastest dimension of pages, and times as the slowest; here it is the other way round."""
        with tifffile.TiffFile(path) as file:
            sizes = file.imagej_metadata or {}
            found = file.asarray() if not sizes else np.stack([page.asarray() for page in file.pages])
        channels = sizes.get("channels", 1)
        pages = self.stored.shape[:self.stored.ndim - found.ndim + 1]
        is_channels_first = len(pages) == 2 and (channels, sizes.get("slices", 1)) == pages and self.array.dims[:1] == ["channel"]
        if (len(pages) >= 3 or is_channels_first) and channels > 1:
            found = np.moveaxis(found.reshape(-1, channels, *self.stored.shape[len(pages):]), 1, 0)
        if self.stored.ndim == 4 and sizes.get("frames", 1) > 1 and self.array.dims[1:2] == ["time"]:
            found = np.swapaxes(found.reshape(self.stored.shape[1], self.stored.shape[0], *self.stored.shape[2:]), 0, 1)
        return found.reshape(self.stored.shape)

    def numpy_numbers(self, path):
        """Text has zeros behind it or none."""
        found = np.load(path)
        return same(found, self.stored)

    def lines(self, path):
        lines = [json.loads(line) for line in harness.read(path).splitlines()]
        wanted = [as_json(value, self.array.names) for value in (self.stored.ravel() if self.stored.shape else [self.stored[()]])]
        return equal_json(lines, wanted)

    def fortran(self, path):
        file = scipy.io.FortranFile(path, "r")
        return file.read_record(self.stored.dtype.newbyteorder("<"))

    def gdal_numbers(self, path):
        """Bands, or rows and columns; GDAL 3.6 knows no signed bytes."""
        if self.stored.dtype.str[1:] in ("i1", "f2", "b1") or self.stored.ndim not in (2, 3):
            return True
        file = gdal.Open(path)
        found = file.ReadAsArray()
        del file
        if found.dtype != self.stored.dtype.newbyteorder("="):
            return False
        if found.size != self.stored.size and path.endswith(".tif"):
            # One of several pages.
            return same(found, self.stored.reshape(-1, *found.shape)[0])
        # A picture has its bands first.
        return same(found.reshape(self.stored.shape), self.stored) or same(np.moveaxis(found, 0, -1).reshape(self.stored.shape), self.stored)

    def fits_numbers(self, path):
        """As the header says; astropy itself takes BLANK = 0 for none, and fails at BLANK of signed bytes."""
        with astropy.io.fits.open(path, do_not_scale_image_data=True) as file:
            header, raw = file[0].header, file[0].data.reshape(self.stored.shape)
        zero = header.get("BZERO", 0)
        if "BSCALE" in header:
            # The packing is said: beside it BZERO is that of the values.
            attributes = self.array.attributes
            scale, offset = (float(attributes.get(name, one)) for name, one in (("scale_factor", 1), ("add_offset", 0)))
            zeros = [0, -128, 1 << 15, 1 << 31, 1 << 63]  # of FITS' integers with the other sign
            raw_zero = min(zeros, key=lambda one: abs(offset + scale * one - zero))
            if header["BSCALE"] != scale or not np.isclose(offset + scale * raw_zero, zero):
                return False
            zero = raw_zero
        found = raw if raw.dtype.kind == "f" else np.asarray(raw.astype(object) + int(zero)).astype(self.stored.dtype)
        is_blank = raw == header["BLANK"] if "BLANK" in header else np.zeros(raw.shape, bool)
        return same(found, self.stored) and (raw.dtype.kind == "f" or not np.any(is_blank & ~self.array.missing()))

    def fits_values(self, path):
        with astropy.io.fits.open(path) as file:
            return file[0].data.reshape(self.stored.shape)

    def volume(self, path, is_scaled=True):
        """Three bytes are a colour."""
        image = nibabel.load(path)
        is_plain = is_scaled or image.get_data_dtype().names
        found = np.asanyarray(image.dataobj if is_plain else image.dataobj.get_unscaled()).T
        if found.dtype.names:
            found = np.stack([found[name] for name in found.dtype.names], -1)
        return found.reshape(self.stored.shape)

    def json(self, path):
        return [item for line in harness.read(path).splitlines() for item in flat(json.loads(line))]

    def numpy_values(self, path):
        values = np.load(path)
        if not self.array.is_time():
            return close(values, self.array.values())
        return self.text_values(["NaT" if np.isnat(item) else str(item) for item in values.ravel()]
                                if values.dtype.kind == "M" else values.ravel().tolist())

    def text_values(self, texts):
        if not self.array.is_time():
            return close(np.array([float(text) for text in texts]), self.array.values().ravel())
        wanted = self.array.values().ravel()
        return len(texts) == wanted.size and all(self.is_moment(text, moment) for text, moment in zip(texts, wanted))

    @staticmethod
    def is_moment(text, wanted):
        if wanted is None:
            return text in ("NaT", "nan", "null")
        return str(text).split(".")[0] == wanted.split(".")[0]

    def zarr_values(self, path):
        values = zarr.open(path, mode="r")[...]
        return True if self.array.is_time() else close(values, self.array.values())


@contextlib.contextmanager
def silence():
    """netCDF-C 4.9.0 writes "checksumhack" to standard output."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def unmasked(variable):
    variable.set_auto_maskandscale(False)
    return variable[...]


def objects_of(arrays):
    return [id(array) for array in arrays.values()]


class Comparison:
    """What differs in a store: (array, view, what)."""

    def __init__(self, name, arrays, mounted, server):
        self.store, self.mounted, self.server, self.differences = name, mounted, server, []
        self.folder = mounted.join(name)
        self.arrays = dict(arrays)
        if "" in arrays and not os.path.exists(os.path.join(self.folder, "data.npy")):
            # Its coordinates may stand beside it.
            found = [entry.name for entry in os.scandir(self.folder) if entry.is_dir()] if os.path.isdir(self.folder) else []
            stem = name.split(".")[0]
            names = [name for name in found if name in ("image", stem)] or found or ["no array"]
            self.arrays = {names[0]: arrays[""]}
        try:
            self.compare()
        except Exception as error:  # whatever a reader has not told as an error of its own
            self.note("", "a reader", f"{type(error).__name__}: {error}")

    def compare(self):
        self.leave_out()
        for path, array in self.arrays.items():
            self.take_rounding(path, array)
            for view, what in Views(os.path.join(self.folder, path), array).differences():
                self.note(path, view, f"{what}; {array.stored.dtype} {array.stored.shape} {array.attributes}")
        # A file of netCDF has no links: of two names of an object, it has one.
        objects = objects_of(self.arrays)
        self.known = {path: array for path, array in self.arrays.items() if array.is_number() and objects.count(id(array)) == 1}
        for group in {path.rpartition("/")[0] for path in self.arrays}:
            self.compare_group(group)
            self.compare_text(group)
        self.compare_zarr()
        self.compare_hdf5()
        self.compare_table()
        self.compare_server()

    def note(self, path, view, what):
        self.differences.append((path, view, what))

    def leave_out(self):
        """What need not be there, and the places of all points where a regular grid has those of rows and columns."""
        for path, array in list(self.arrays.items()):
            place = os.path.join(self.folder, path, "data.npy")
            if array.is_optional and not os.path.exists(place):
                del self.arrays[path]
            elif array.is_optional and array.stored.ndim == 2:
                found = np.load(place)
                if found.ndim == 1:
                    array.stored = array.stored[:, 0] if path.endswith("latitude") else array.stored[0]
                # A longitude is one whatever turns it has.
                if path.endswith("longitude") and found.shape == array.stored.shape:
                    turned = found + (array.stored - found + 180) % 360 - 180
                    array.stored = np.where(np.isnan(turned), found, turned)

    def take_rounding(self, path, array):
        """Where numbers are computed, those of data.npy that are near enough count for the other views."""
        place = os.path.join(self.folder, path, "data.npy")
        if array.is_computed and os.path.exists(place):
            try:
                found = np.load(place)
            except OSError as error:
                self.note(path, "data.npy", str(error))
                return
            if close(found, array.stored):
                array.stored = found

    def compare_dataset(self, view, file, arrays):
        """A file or server of many variables, as netCDF reads it: what is stored, and what it stands for."""
        for path, array in arrays.items():
            try:
                variable = file[path or self.store.split(".")[0]]
                stored = np.asarray(unmasked(variable)).reshape(array.stored.shape)
            except (OSError, RuntimeError, IndexError, KeyError, ValueError) as error:
                self.note(path, view, f"{type(error).__name__}: {error}; {array.stored.dtype} {array.stored.shape}")
                continue
            if not same(stored, array.stored):
                self.note(path, view, f"stored: {stored} is not {array.stored}")
            attributes = {key: getattr(variable, key, None) for key in array.attributes}
            if view == "DAP 4" and "_FillValue" in attributes:
                # netCDF-C 4.9 changes the last bits of floats, and has none of enums: this one says it again.
                attributes["_FillValue"] = getattr(variable, "missing_value", attributes["_FillValue"])
            # netCDF-C 4.9 leaves what XML writes for a quotation mark, and drops backslashes, where an attribute has several texts.
            compared = {key: value for key, value in array.attributes.items() if view != "DAP 4" or not isinstance(value, list)}
            if not all(same_attribute(attributes[key], value) for key, value in compared.items()):
                self.note(path, view, f"attributes: {attributes} are not {array.attributes}")
            variable.set_auto_maskandscale(True)
            if array.is_time():
                continue
            values = np.ma.filled(np.ma.asarray(variable[...], dtype="f8"), np.nan).reshape(array.stored.shape)
            # netCDF4-python masks these without being told to, bytes in some files only.
            is_default = array.stored == netCDF4.default_fillvals[array.stored.dtype.str[1:]]
            if not close(np.where(is_default, 0, values), np.where(is_default, 0, array.values())):
                self.note(path, view, f"values: {values} is not {array.values()}, {array.attributes}")

    def compare_group(self, group):
        path = os.path.join(self.folder, group, "data.nc")
        own = {name.rpartition("/")[2]: array for name, array in self.known.items() if name.rpartition("/")[0] == group}
        if not os.path.exists(path) or not own:
            return
        try:
            with netCDF4.Dataset(path) as file:
                left_out = getattr(file, "ndlfs_left_out", "")
                self.compare_dataset(f"{group}/data.nc", file, {name: array for name, array in own.items() if name not in left_out})
        except OSError as error:
            self.note(group, "data.nc", f"{type(error).__name__}: {error}")

    def compare_text(self, group):
        """Text of fixed length is characters in netCDF."""
        path = os.path.join(self.folder, group, "data.nc")
        texts = {name: array for name, array in self.arrays.items()
                 if array.stored.dtype.kind in "SU" and name.rpartition("/")[0] == group and objects_of(self.arrays).count(id(array)) == 1}
        if not texts or not os.path.exists(path):
            return
        with netCDF4.Dataset(path) as file:
            for name, array in texts.items():
                variable = file.variables.get(name.rpartition("/")[2] or self.store.split(".")[0])
                if variable is None:
                    self.note(name, "data.nc", "is not there")
                    continue
                variable.set_auto_chartostring(False)
                found = joined(np.asarray(unmasked(variable)), array.stored)
                if not same(found, array.stored):
                    self.note(name, "data.nc", f"{found} is not {array.stored}")

    def compare_zarr(self):
        """The whole store as a hierarchy of Zarr."""
        for name, array in self.known.items():
            path = os.path.join(self.folder, "data.zarr", name)
            if name and os.path.exists(path) and not same(read_zarr3(path), array.stored):
                self.note(name, "data.zarr of the store", f"{read_zarr3(path)} is not {array.stored}")

    def compare_hdf5(self):
        path = os.path.join(self.folder, "data.h5")
        if not os.path.exists(path):
            return
        try:
            with netCDF4.Dataset(path) as file:
                self.compare_dataset("data.h5", file, self.known)
        except OSError as error:
            self.note("", "data.h5", f"{type(error).__name__}: {error}")
        except (TypeError, RuntimeError):
            # netCDF4-python knows no structs with arrays of structs (complex numbers), nor with these and text.
            if not any(array.stored.dtype.names for array in self.arrays.values()):
                raise
        with h5py.File(path) as file:
            for name, array in self.arrays.items():
                if name not in file and objects_of(self.arrays).count(id(array)) > 1:
                    continue
                # A text of HDF5 ends with the first NUL: ndlfs leaves such an array out, and says so.
                if name not in file and "text with a NUL" in str(file.attrs.get("ndlfs_left_out", "")) and "\0" in "".join(map(str, array.stored.ravel())):
                    continue
                try:
                    dataset = file[name or self.store.split(".")[0]]
                    if h5py.check_ref_dtype(dataset.dtype):
                        continue
                    is_text = array.stored.dtype.kind == "O" and h5py.check_string_dtype(dataset.dtype)
                    found = dataset.asstr()[...] if is_text else joined(dataset[...], array.stored)
                    if array.is_json:
                        found = np.vectorize(json.loads, otypes="O")(found)
                    if not same(found, array.stored):
                        self.note(name, "data.h5", f"{found} is not {array.stored}")
                except (KeyError, OSError, ValueError, TypeError) as error:
                    self.note(name, "data.h5", f"h5py: {type(error).__name__}: {error}")

    def compare_table(self):
        path = os.path.join(self.folder, "values.csv")
        if not os.path.exists(path):
            return
        rows = list(csv.reader(io.StringIO(harness.read(path).decode(), newline="")))
        for column, name in enumerate(rows[0]):
            array = self.arrays.get(name) or self.arrays.get("")
            if array is None or not array.is_number() or array.stored.size != len(rows) - 1:
                continue
            numbers_of = {name: str(number) for number, name in array.names.items()}
            texts = [numbers_of.get(row[column], row[column]) for row in rows[1:]]
            if not Views("", array).text_values([text or ("nan" if not array.is_time() else "NaT") for text in texts]):
                self.note(name, "values.csv", f"{texts} is not {array.values()}")

    def compare_server(self):
        # DAP 2 has no signed bytes, no arrays without elements, and no integers of 64 bits; its names are letters and digits.
        known = {path: array for path, array in self.known.items()
                 if array.stored.dtype.str[1:] not in ("i8", "u8", "i1") and array.stored.size and path.replace("_", "a").isalnum() and path.isascii()}
        if not known and "" not in self.known:
            return
        try:
            with netCDF4.Dataset(self.server.url + self.store) as file:
                self.compare_dataset("DAP", file, known)
        except OSError as error:
            self.note("", "DAP", f"{type(error).__name__}: {error}")
        self.compare_dap4()

    def compare_dap4(self):
        """It has groups, and all types of numbers."""
        known = {path: array for path, array in self.known.items() if path and array.stored.size}
        if not known:
            return
        try:
            with silence(), netCDF4.Dataset(self.server.url + self.store + "#dap4") as file:
                self.compare_dataset("DAP 4", file, known)
        except OSError as error:
            self.note("", "DAP 4", f"{type(error).__name__}: {error}")
