# SPDX-License-Identifier: MIT
"""As much of zarr-python 2 as tests use, made of NumPy and numcodecs: Zarr v2 in folders, archives and memory, and N5.

Selections are integers, slices of step 1, and `...`. A file is replaced as a whole, so that a reader sees an old chunk
or a new one.
"""
import base64
import collections.abc
import io
import itertools
import json
import os
import shutil
import struct
import uuid
import zipfile

import numcodecs
import numpy as np

MOST_IN_A_CHUNK = 1 << 20  # bytes, where the caller does not say
METADATA = (".zarray", ".zgroup", ".zattrs")


def to_json(value):
    return json.dumps(value, indent=4, sort_keys=True, ensure_ascii=True, separators=(",", ": ")).encode()


# Stores: keys to bytes ----------------------------------------------------------------------------------------------

class MemoryStore(dict):
    """Keys in memory."""

    def remove(self, prefix):
        """Removes all that begins with `prefix` and a slash; "" is all."""
        for key in [key for key in self if not prefix or key.startswith(prefix + "/")]:
            del self[key]


class DirectoryStore(collections.abc.MutableMapping):
    """Keys as files below `path`."""

    def __init__(self, path):
        self.path = path

    def _file(self, key):
        return os.path.join(self.path, key)

    def __getitem__(self, key):
        try:
            with io.open(self._file(key), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise KeyError(key) from None

    def __setitem__(self, key, content):
        os.makedirs(os.path.dirname(self._file(key)), exist_ok=True)
        partial = f"{self._file(key)}.{uuid.uuid4().hex}.partial"
        with io.open(partial, "wb") as file:
            file.write(content)
        os.replace(partial, self._file(key))

    def __delitem__(self, key):
        try:
            os.remove(self._file(key))
        except FileNotFoundError:
            raise KeyError(key) from None

    def __contains__(self, key):
        return os.path.isfile(self._file(key))

    def __iter__(self):
        for folder, names, files in os.walk(self.path):
            names.sort()
            yield from sorted(os.path.relpath(os.path.join(folder, name), self.path) for name in files)

    def __len__(self):
        return sum(1 for _ in self)

    def remove(self, prefix):
        shutil.rmtree(self._file(prefix), ignore_errors=True)


class N5Store(DirectoryStore):
    """The same, for groups and arrays of N5."""


class ZipStore(collections.abc.MutableMapping):
    """Keys as members, which are not compressed; what is written again is there twice."""

    def __init__(self, path, mode="a"):
        self.path = path
        self._file = zipfile.ZipFile(path, mode, zipfile.ZIP_STORED)

    def __getitem__(self, key):
        return self._file.read(key)

    def __setitem__(self, key, content):
        self._file.writestr(key, bytes(content))

    def __delitem__(self, key):
        raise NotImplementedError("an archive forgets nothing")

    def __contains__(self, key):
        return key in self._file.NameToInfo

    def __iter__(self):
        return iter(list(self._file.NameToInfo))

    def __len__(self):
        return len(self._file.NameToInfo)

    def remove(self, prefix):
        if any(key.startswith(prefix) for key in self):
            raise NotImplementedError("an archive forgets nothing")

    def close(self):
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class ConsolidatedStore(collections.abc.Mapping):
    """A store that has its metadata in .zmetadata alone."""

    def __init__(self, store):
        self._store = store
        self._metadata = json.loads(store[".zmetadata"])["metadata"]

    def __getitem__(self, key):
        return to_json(self._metadata[key]) if key in self._metadata else self._store[key]

    def __contains__(self, key):
        return key in self._metadata or key in self._store

    def __iter__(self):
        return iter({**self._metadata, **dict.fromkeys(self._store)})

    def __len__(self):
        return sum(1 for _ in self)


def as_store(store):
    if isinstance(store, (str, os.PathLike)):
        is_archive = os.path.isfile(store) and zipfile.is_zipfile(store)
        return ZipStore(store, "r") if is_archive else DirectoryStore(os.fspath(store))
    return store


# Metadata -----------------------------------------------------------------------------------------------------------

class Attributes(collections.abc.MutableMapping):
    """A document of a store, or that of N5 without what N5 itself has there."""

    OF_N5 = {"n5", "dimensions", "blockSize", "dataType", "compression"}

    def __init__(self, store, key):
        self._store, self._key = store, key
        self._own = self.OF_N5 if isinstance(store, N5Store) else set()

    def _read(self):
        return json.loads(self._store[self._key]) if self._key in self._store else {}

    def asdict(self):
        return {name: value for name, value in self._read().items() if name not in self._own}

    def __getitem__(self, name):
        return self.asdict()[name]

    def __setitem__(self, name, value):
        self.update({name: value})

    def __delitem__(self, name):
        found = self._read()
        del found[name]
        self._store[self._key] = to_json(found)

    def __iter__(self):
        return iter(self.asdict())

    def __len__(self):
        return len(self.asdict())

    def update(self, *arguments, **more):
        self._store[self._key] = to_json({**self._read(), **dict(*arguments, **more)})


def encode_dtype(dtype):
    if dtype.fields is None:
        return dtype.str
    parts = []
    for name in dtype.names:
        base, shape = dtype.fields[name][0], ()
        if base.subdtype:
            base, shape = base.subdtype
        parts.append([name, encode_dtype(base), *([list(shape)] if shape else [])])
    return parts


def decode_dtype(value):
    if isinstance(value, str):
        return np.dtype(value)
    return np.dtype([(name, decode_dtype(of), *map(tuple, shape)) for name, of, *shape in value])


def encode_number(value):
    value = float(value)
    return "NaN" if value != value else value if abs(value) != np.inf else "Infinity" if value > 0 else "-Infinity"


def encode_fill(value, dtype):
    if value is None or dtype.kind == "O":
        return value
    scalar = np.zeros((), dtype) if isinstance(value, int) and value == 0 else np.array(value, dtype)
    if dtype.kind in "SV":
        return base64.standard_b64encode(scalar.tobytes()).decode()
    if dtype.kind == "c":
        return [encode_number(scalar.real), encode_number(scalar.imag)]
    if dtype.kind in "mM":
        return int(scalar.view("i8"))
    return encode_number(scalar) if dtype.kind == "f" else scalar.item()


def decode_fill(value, dtype):
    if value is None or dtype.kind == "O":
        return value
    if dtype.kind in "SV" and isinstance(value, str):
        return np.frombuffer(base64.standard_b64decode(value), dtype)[0]
    if dtype.kind == "c":
        return dtype.type(complex(float(value[0]), float(value[1])))
    if dtype.kind in "mM":
        return np.array(value, "i8").view(dtype.newbyteorder("="))[()]
    return dtype.type(value)


def default_chunks(shape, dtype):
    """Halves of the longest side until a chunk is small."""
    chunks = [max(1, n) for n in shape]
    while np.prod(chunks, dtype=float) * dtype.itemsize > MOST_IN_A_CHUNK and max(chunks) > 1:
        longest = chunks.index(max(chunks))
        chunks[longest] = -(-chunks[longest] // 2)
    return tuple(chunks)


def as_tuple(value):
    return (int(value),) if isinstance(value, (int, np.integer)) else tuple(int(n) for n in value)


# Arrays -------------------------------------------------------------------------------------------------------------

class Array:
    """An array of Zarr v2."""

    def __init__(self, store, path):
        self.store, self.path = store, path
        self._load()
        self.attrs = Attributes(store, self._key(".zattrs"))

    def _key(self, name):
        return f"{self.path}/{name}" if self.path else name

    def _load(self):
        found = json.loads(self.store[self._key(".zarray")])
        self.shape, self.chunks = tuple(found["shape"]), tuple(found["chunks"])
        self.dtype, self.order = decode_dtype(found["dtype"]), found["order"]
        self.fill_value = decode_fill(found["fill_value"], self.dtype)
        self.filters = [numcodecs.get_codec(dict(config)) for config in found["filters"] or []]
        self.compressor = numcodecs.get_codec(dict(found["compressor"])) if found["compressor"] else None
        self._separator = found.get("dimension_separator", ".")
        self._metadata = found
        self.write_empty_chunks = True

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape))

    @property
    def nchunks(self):
        return int(np.prod([-(-n // c) for n, c in zip(self.shape, self.chunks)]))

    def __len__(self):
        return self.shape[0]

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self[...], dtype)

    def resize(self, *shape):
        """What lies outside of the new shape is removed, as far as whole chunks do."""
        before, self.shape = self.shape, as_tuple(shape[0] if len(shape) == 1 else shape)
        self._metadata["shape"] = list(self.shape)
        self.store[self._key(".zarray")] = to_json(self._metadata)
        kept = [-(-n // c) for n, c in zip(self.shape, self.chunks)]
        for index in itertools.product(*[range(-(-n // c)) for n, c in zip(before, self.chunks)]):
            if any(i >= n for i, n in zip(index, kept)):
                self.store.pop(self._chunk_key(index), None)

    def append(self, data):
        """Grows along the first axis."""
        begin = self.shape[0]
        self.resize(begin + len(data), *self.shape[1:])
        self[begin:] = data

    # One chunk

    def _chunk_key(self, index):
        return self._key(self._separator.join(map(str, index)) or "0")

    def _encode(self, chunk):
        for codec in self.filters:
            chunk = codec.encode(chunk)
        if self.compressor:
            chunk = self.compressor.encode(chunk)
        return numcodecs.compat.ensure_bytes(chunk)

    def _decode(self, content):
        if self.compressor:
            content = self.compressor.decode(content)
        for codec in reversed(self.filters):
            content = codec.decode(content)
        found = numcodecs.compat.ensure_ndarray(content)
        if found.dtype != self.dtype:
            found = np.frombuffer(found.tobytes(), self.dtype)
        return found.reshape(self.chunks, order=self.order)

    def _empty(self):
        if self.fill_value is not None:
            return np.full(self.chunks, self.fill_value, self.dtype, order=self.order)
        return np.zeros(self.chunks, self.dtype, order=self.order)

    def _read_chunk(self, index):
        content = self.store.get(self._chunk_key(index))
        return self._empty() if content is None else self._decode(content)

    def _write_chunk(self, index, chunk):
        if not self.write_empty_chunks and self.fill_value is not None and self._is_fill(chunk):
            self.store.pop(self._chunk_key(index), None)
        else:
            self.store[self._chunk_key(index)] = self._encode(np.asarray(chunk, self.dtype, order=self.order))

    def _is_fill(self, chunk):
        return np.array_equal(chunk, self._empty(), equal_nan=self.dtype.kind in "fcmM")

    # Selections

    def _ranges(self, selection):
        """First and behind the last of each axis, and the shape of what is selected."""
        parts = list(selection) if isinstance(selection, tuple) else [selection]
        missing = self.ndim - sum(part is not Ellipsis for part in parts)
        at = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
        parts[at:at + 1] = [slice(None)] * missing
        ranges, shape = [], []
        for part, length in zip(parts, self.shape, strict=True):
            if isinstance(part, slice):
                begin, end, step = part.indices(length)
                if step != 1:
                    raise NotImplementedError(f"step {step}")
                ranges.append((begin, max(begin, end)))
                shape.append(max(0, end - begin))
            else:
                place = int(part) + (length if part < 0 else 0)
                if not 0 <= place < length:
                    raise IndexError(part)
                ranges.append((place, place + 1))
        return ranges, tuple(shape)

    def _meetings(self, ranges):
        """Index, place in the chunk and place in the selection, for each chunk that is met."""
        axes = [[(i, slice(max(begin, i * c) - i * c, min(end, i * c + c) - i * c),
                  slice(max(begin, i * c) - begin, min(end, i * c + c) - begin))
                 for i in range(begin // c, -(-end // c))] for (begin, end), c in zip(ranges, self.chunks)]
        for meeting in itertools.product(*axes):
            yield tuple(tuple(part[i] for part in meeting) for i in range(3))

    def __getitem__(self, selection):
        ranges, shape = self._ranges(selection)
        found = np.empty([end - begin for begin, end in ranges], self.dtype)
        for index, inside, outside in self._meetings(ranges):
            found[outside] = self._read_chunk(index)[inside]
        found = found.reshape(shape)
        return found if shape or selection is Ellipsis else found[()]

    def __setitem__(self, selection, value):
        ranges, shape = self._ranges(selection)
        value = np.asarray(value, self.dtype if self.dtype.kind in "OV" else None)
        if value.shape not in ((), shape):
            raise ValueError(f"an array of shape {shape} is expected, this has {value.shape}")
        whole = np.broadcast_to(value, shape).reshape([end - begin for begin, end in ranges])
        for index, inside, outside in self._meetings(ranges):
            part = whole[outside]
            if part.shape == self.chunks:
                chunk = part.astype(self.dtype)
            else:
                chunk = self._read_chunk(index).copy(order="K")
                chunk[inside] = part
            self._write_chunk(index, chunk)


class N5Array(Array):
    """An array of N5: axes in the other order, big-endian blocks with a header, metadata in one document."""

    # Codecs of numcodecs: their names here, and that of the number which says how hard they try.
    NAMES = {"gzip": ("gzip", "level"), "bz2": ("bzip2", "blockSize"), "lzma": ("xz", "preset")}

    def __init__(self, store, path):
        super().__init__(store, path)
        self.attrs = Attributes(store, self._key("attributes.json"))

    @classmethod
    def metadata(cls, shape, chunks, dtype, compressor):
        config = dict(compressor.get_config()) if compressor else {"id": "raw"}
        compression = {"type": config.pop("id"), **config}
        if compression["type"] in cls.NAMES:
            name, effort = cls.NAMES[compression["type"]]
            compression = {"type": name, effort: config.get("level", config.get("preset"))}
        return {"dimensions": list(shape[::-1]), "blockSize": list(chunks[::-1]), "dataType": dtype.name,
                "compression": compression}

    def _load(self):
        found = json.loads(self.store[self._key("attributes.json")])
        self.shape, self.chunks = tuple(found["dimensions"][::-1]), tuple(found["blockSize"][::-1])
        self.dtype, self.order, self.fill_value, self.filters = np.dtype(found["dataType"]), "C", 0, []
        config = dict(found["compression"])
        name = config.pop("type")
        names = {there: here for here, (there, _) in self.NAMES.items()}
        self.compressor = None if name == "raw" else numcodecs.get_codec(
            {"id": names[name]} if name in names else {"id": name, **config})
        self.write_empty_chunks = True

    def _chunk_key(self, index):
        return self._key("/".join(map(str, index[::-1])))

    def _encode(self, chunk):
        header = struct.pack(f">HH{chunk.ndim}I", 0, chunk.ndim, *chunk.shape[::-1])
        return header + super()._encode(np.ascontiguousarray(chunk.astype(self.dtype.newbyteorder(">"))))

    def _decode(self, content):
        content = content[4 + 4 * self.ndim:]
        if self.compressor:
            content = self.compressor.decode(content)
        return np.frombuffer(content, self.dtype.newbyteorder(">")).reshape(self.chunks).astype(self.dtype)


def create_array(store, path, shape=None, chunks=None, dtype=None, compressor="default", filters=None, fill_value=0,
                 order="C", dimension_separator=None, object_codec=None, write_empty_chunks=True, data=None):
    """An array in the place of what is there."""
    if data is not None:
        data = np.asarray(data)
        shape, dtype = data.shape if shape is None else shape, data.dtype if dtype is None else dtype
    shape, dtype = as_tuple(shape), np.dtype("f8" if dtype is None else dtype)
    if dtype.kind == "O" and object_codec is None:
        raise ValueError("objects need an object_codec")
    chunks = default_chunks(shape, dtype) if chunks is None else as_tuple(chunks)
    if compressor == "default":
        compressor = numcodecs.Blosc()
    store.remove(path)
    if isinstance(store, N5Store):
        store[f"{path}/attributes.json"] = to_json(N5Array.metadata(shape, chunks, dtype, compressor))
        array = N5Array(store, path)
        array.compressor = compressor  # as hard as it shall try
    else:
        codecs = [*([object_codec] if object_codec else []), *(filters or [])]
        store[f"{path}/.zarray" if path else ".zarray"] = to_json({
            "zarr_format": 2, "shape": list(shape), "chunks": list(chunks), "dtype": encode_dtype(dtype),
            "compressor": compressor.get_config() if compressor else None, "fill_value": encode_fill(fill_value, dtype),
            "order": order, "filters": [codec.get_config() for codec in codecs] or None,
            **({"dimension_separator": dimension_separator} if dimension_separator else {})})
        array = Array(store, path)
    array.write_empty_chunks = write_empty_chunks
    if data is not None:
        array[...] = data
    return array


# Groups -------------------------------------------------------------------------------------------------------------

class Group:
    """A group of Zarr v2, or of N5."""

    def __init__(self, store, path=""):
        self.store, self.path = store, path
        self.attrs = Attributes(store, self._key("attributes.json" if isinstance(store, N5Store) else ".zattrs"))

    def _key(self, name):
        return f"{self.path}/{name}" if self.path else name

    def _create_parents(self, name):
        parts = self._key(name).split("/")
        for count in range(1, len(parts)):
            ensure_group(self.store, "/".join(parts[:count]))

    def create_dataset(self, name, **options):
        self._create_parents(name)
        return create_array(self.store, self._key(name), **options)

    def array(self, name, data, **options):
        return self.create_dataset(name, data=data, **options)

    def full(self, name, fill_value, **options):
        return self.create_dataset(name, fill_value=fill_value, **options)

    def create_group(self, name):
        self._create_parents(name + "/")
        return Group(self.store, self._key(name))

    def __contains__(self, name):
        return find(self.store, self._key(name)) is not None

    def __getitem__(self, name):
        found = find(self.store, self._key(name))
        if found is None:
            raise KeyError(name)
        return found

    def __setitem__(self, name, value):
        self.create_dataset(name, data=value)

    def __delitem__(self, name):
        self.store.remove(self._key(name))

    def visititems(self, visit):
        """Calls visit(name, item) for all that is below, in the order of the names."""
        start = len(self._key(""))
        names = {os.path.dirname(key) for key in self.store if os.path.basename(key) in METADATA}
        for name in sorted(name[start:] for name in names if name.startswith(self._key("")) and name[start:]):
            item = find(self.store, self._key(name))
            if item is not None:
                visit(name, item)


def find(store, path):
    """The array or group at `path`, or None."""
    prefix = path + "/" if path else ""
    if isinstance(store, N5Store):
        found = json.loads(store.get(prefix + "attributes.json", "null"))
        return None if found is None else N5Array(store, path) if "dimensions" in found else Group(store, path)
    if prefix + ".zarray" in store:
        return Array(store, path)
    return Group(store, path) if prefix + ".zgroup" in store else None


def ensure_group(store, path):
    prefix = path + "/" if path else ""
    if isinstance(store, N5Store):
        if prefix + "attributes.json" not in store:
            store[prefix + "attributes.json"] = to_json({} if path else {"n5": "2.0.0"})
    elif prefix + ".zgroup" not in store:
        store[prefix + ".zgroup"] = to_json({"zarr_format": 2})


# What zarr-python has at its top ------------------------------------------------------------------------------------

def group(store, overwrite=False, path=""):
    store = as_store(store)
    if overwrite:
        store.remove(path)
    ensure_group(store, "")
    if path:
        Group(store).create_group(path)
    return Group(store, path)


def open_group(store, mode="a"):
    store = as_store(store)
    if mode == "w":
        return group(store, overwrite=True)
    if mode == "a":
        return group(store)
    found = find(store, "")
    if not isinstance(found, Group):
        raise FileNotFoundError(f"no group in {store}")
    return found


def open_array(store, mode="a", **options):
    store = as_store(store)
    if mode == "w" or mode == "a" and options and find(store, "") is None:
        return create_array(store, "", **options)
    found = find(store, "")
    if not isinstance(found, Array):
        raise FileNotFoundError(f"no array in {store}")
    return found


def open(store, mode="a"):  # pylint: disable=redefined-builtin
    found = find(as_store(store), "")
    if found is None:
        raise FileNotFoundError(f"neither an array nor a group in {store}")
    return found


def save_array(store, array):
    create_array(as_store(store), "", data=array)


def consolidate_metadata(store):
    store = as_store(store)
    store[".zmetadata"] = to_json({"zarr_consolidated_format": 1, "metadata": {
        key: json.loads(store[key]) for key in store if os.path.basename(key) in METADATA}})
    return open_consolidated(store)


def open_consolidated(store, mode="r"):
    return Group(ConsolidatedStore(as_store(store)))
