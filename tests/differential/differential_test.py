# SPDX-License-Identifier: MIT
"""Views against views: every file that a mount makes of an array, read by the program that it is for, says the same as the
software that wrote the store. The stores are made up by seeds (writers.py).

NDLFS_DIFFERENTIAL_STORES is how many of each format, NDLFS_DIFFERENTIAL_SEED the first one, and NDLFS_DIFFERENTIAL_FORMATS
names formats (all). tests/differential/run.sh makes others until a time is over."""
import csv
import io
import json
import os
import warnings

import astropy.io.fits
import h5py
import harness
import netCDF4
import nibabel
import numpy as np
import serve_test
import tifffile
import writers
import zarr2 as zarr

STORES = int(os.environ.get("NDLFS_DIFFERENTIAL_STORES", "4"))
SEED = int(os.environ.get("NDLFS_DIFFERENTIAL_SEED", "1"))
FORMATS = os.environ.get("NDLFS_DIFFERENTIAL_FORMATS", ",".join(writers.WRITERS)).split(",")


def same(found, wanted):
    """Equal values, NaN included, of the same shape."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    return found.shape == wanted.shape and np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f")


def close(found, wanted):
    """The same but for the order in which a factor and a summand are rounded, both perhaps in single precision."""
    found, wanted = np.asarray(found, "f8"), np.asarray(wanted, "f8")
    most = np.max(np.abs(wanted), where=np.isfinite(wanted), initial=0)
    return found.shape == wanted.shape and np.allclose(found, wanted, rtol=1e-6, atol=1e-9 + 5e-7 * most, equal_nan=True)


def flat(value):
    return [one for part in value for one in flat(part)] if isinstance(value, list) else [value]


def numbers(texts, dtype):
    return np.array([int(text) if dtype.kind in "iu" else float(text) for text in texts], dtype)


def tokens(path):
    lines = [line for line in harness.read(path).decode().splitlines() if not line.startswith("#")]
    return " ".join(lines).replace(",", " ").split()


def unmasked(variable):
    variable.set_auto_maskandscale(False)
    return variable[...]


class Views:
    """Reads each view of an array with the software that it is for, and yields what differs."""

    def __init__(self, folder, array):
        self.folder = folder
        self.array = array
        self.stored = array.stored
        self.path = lambda name: os.path.join(folder, name)

    def has(self, name):
        return os.path.exists(self.path(name))

    def differences(self):
        for name, agrees in self.checks().items():
            if not self.has(name):
                continue
            try:
                if not agrees(self.path(name)):
                    yield name, "differs"
            except Exception as error:  # whatever its reader says of the file
                yield name, f"{type(error).__name__}: {error}"

    def checks(self):
        stored, size = self.stored, self.stored.size
        return {
            "data.npy": lambda path: same(np.load(path), stored),
            "data.raw": lambda path: harness.read(path) == harness.little_endian(stored),
            "data.txt": lambda path: same(numbers(tokens(path), stored.dtype), stored.ravel()),
            "data.jsonl": lambda path: same(numbers(self.json(path), stored.dtype), stored.ravel()),
            "data.tif": lambda path: same(tifffile.imread(path).reshape(stored.shape), stored),
            "data.fits": self.fits_numbers,
            "data.nii": self.nifti_numbers,
            "data.zarr2": lambda path: same(zarr.open(path, mode="r")[...], stored),
            "values.zarr2": self.zarr_values,
            "values.npy": self.numpy_values,
            "values.txt": lambda path: self.text_values(tokens(path)) if size else True,
            "values.jsonl": lambda path: self.text_values(["nan" if item is None else item for item in self.json(path)]),
        }

    def fits_numbers(self, path):
        """As the header says; astropy itself takes BLANK = 0 for none, and fails at BLANK of signed bytes."""
        with astropy.io.fits.open(path, do_not_scale_image_data=True) as file:
            header, raw = file[0].header, file[0].data.reshape(self.stored.shape)
        zero = header.get("BZERO", 0)
        found = raw if raw.dtype.kind == "f" else np.asarray(raw.astype(object) + int(zero)).astype(self.stored.dtype)
        is_blank = raw == header["BLANK"] if "BLANK" in header else np.zeros(raw.shape, bool)
        return same(found, self.stored) and (raw.dtype.kind == "f" or not np.any(is_blank & ~self.array.missing()))

    def nifti_numbers(self, path):
        """Three bytes are a colour."""
        found = np.asanyarray(nibabel.load(path).dataobj).T
        if found.dtype.names:
            found = np.stack([found[name] for name in found.dtype.names], -1)
        return same(found.reshape(self.stored.shape), self.stored)

    def json(self, path):
        return [item for line in harness.read(path).decode().splitlines() for item in flat(json.loads(line))]

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


class DifferentialTest(harness.SourceTestCase):
    def note(self, store, path, view, what):
        with self.subTest(store=store, array=path, view=view):
            self.fail(what)

    def compare_array(self, store, path, array, folder):
        for view, what in Views(folder, array).differences():
            self.note(store, path, view, f"{what}; {array.stored.dtype} {array.stored.shape} {array.attributes}")

    def compare_dataset(self, store, name, file, arrays):
        """A file or server of many variables, as netCDF reads it: what is stored, and what it stands for."""
        for path, array in arrays.items():
            variable = file[path or os.path.splitext(store)[0]]
            try:
                unmasked(variable)
            except (OSError, RuntimeError, IndexError) as error:
                self.note(store, path, name, f"{error}; {array.stored.dtype} {array.stored.shape}")
                continue
            if not same(np.asarray(unmasked(variable)).reshape(array.stored.shape), array.stored):
                self.note(store, path, name, f"stored: {unmasked(variable)} is not {array.stored}")
            attributes = {key: getattr(variable, key, None) for key in array.attributes}
            if not all(same(attributes[key], value) for key, value in array.attributes.items()):
                self.note(store, path, name, f"attributes: {attributes} are not {array.attributes}")
            variable.set_auto_maskandscale(True)
            if array.is_time():
                continue
            values = np.ma.filled(np.ma.asarray(variable[...], dtype="f8"), np.nan).reshape(array.stored.shape)
            # netCDF4-python masks these without being told to, bytes in some files only.
            is_default = array.stored == netCDF4.default_fillvals[array.stored.dtype.str[1:]]
            if not close(np.where(is_default, 0, values), np.where(is_default, 0, array.values())):
                self.note(store, path, name, f"values: {values} is not {array.values()}, {array.attributes}")

    def compare_group(self, store, arrays, folder):
        for name in ("data.nc", "data.h5"):
            path = os.path.join(folder, name)
            if os.path.exists(path):
                try:
                    with netCDF4.Dataset(path) as file:
                        self.compare_dataset(store, name, file, arrays)
                except (OSError, RuntimeError, IndexError, KeyError) as error:
                    self.note(store, "", name, f"{type(error).__name__}: {error}")
        path = os.path.join(folder, "data.h5")
        if os.path.exists(path):
            with h5py.File(path) as file:
                for name, array in arrays.items():
                    found = file[name or os.path.splitext(store)[0]][...]
                    if not same(found, array.stored):
                        self.note(store, name, "data.h5", f"{found} is not {array.stored}")

    def compare_table(self, store, arrays, folder):
        path = os.path.join(folder, "values.csv")
        if not os.path.exists(path):
            return
        rows = list(csv.reader(io.StringIO(harness.read(path).decode())))
        for column, name in enumerate(rows[0]):
            texts = [row[column] for row in rows[1:]]
            array = arrays.get(name) or arrays[""]
            if not Views("", array).text_values([text or ("nan" if not array.is_time() else "NaT") for text in texts]):
                self.note(store, name, "values.csv", f"{texts} is not {array.values()}")

    def compare_server(self, server, store, arrays):
        with netCDF4.Dataset(server.url + store) as file:
            # DAP 2 has no signed bytes, and no integers of 64 bits.
            known = {path: array for path, array in arrays.items() if array.stored.dtype.str[1:] not in ("i8", "u8", "i1")}
            self.compare_dataset(store, "DAP", file, known)

    def test_every_view_says_the_same(self):
        os.environ["no_proxy"] = "*"
        stores = {}
        for kind in FORMATS:
            for seed in range(SEED, SEED + STORES):
                name, arrays = writers.write(kind, seed, self.source)
                stores[name] = arrays
        mounted = self.mount(self.source)
        server = self.enterContext(serve_test.Server(self.source))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for store, arrays in stores.items():
                folder = mounted.join(store)
                if "" in arrays and not os.path.exists(os.path.join(folder, "data.npy")):
                    # Its coordinates may stand beside it.
                    found = [entry.name for entry in os.scandir(folder) if entry.is_dir()]
                    names = [name for name in found if name in ("image", os.path.splitext(store)[0])] or found
                    self.assertEqual(len(names), 1, (store, found))
                    arrays = {names[0]: arrays[""]}
                for path, array in arrays.items():
                    self.compare_array(store, path, array, os.path.join(folder, path))
                self.compare_group(store, arrays, folder)
                self.compare_table(store, arrays, folder)
                self.compare_server(server, store, arrays)


if __name__ == "__main__":
    harness.main()
