# SPDX-License-Identifier: MIT
"""Files of libhdf5."""
import ctypes
import os

import h5py
import numpy as np

from arrays import Array, draw_array, draw_chunks, draw_numbers, draw_path, draw_shape

STRUCT = np.dtype([("a", "<i4"), ("b", "<f8"), ("s", "S3"), ("k", "<i2", (2,))])
COLOURS = {"RED": 0, "GREEN": 1, "BLUE": 5}


def enumeration(d, array, base):
    """Numbers that have names."""
    array.names = {number: name for name, number in COLOURS.items()}
    array.stored = np.array(list(COLOURS.values()), base)[d.random("colours").integers(0, 3, array.stored.shape)]
    array.attributes.clear()


# What a data set may be, besides numbers.
HDF5_KINDS = ("numbers", "numbers", "numbers", "bool", "half", "complex", "text", "texts", "struct", "opaque", "enumeration", "bitfield",
              "some bits", "named", "arrays", "lists", "references")


def low_level(file, name, kind, stored, memory, properties=None):
    """A data set of a type that NumPy has not."""
    space = h5py.h5s.create_simple(stored.shape) if stored.shape else h5py.h5s.create(h5py.h5s.SCALAR)
    dataset = h5py.h5d.create(file.id, name.encode(), kind, space, properties, lcpl=created_groups())
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(stored), mtype=memory)
    return h5py.Dataset(dataset)


def created_groups():
    found = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    found.set_create_intermediate_group(True)
    return found


# The least and the highest version of what a file has.
LIBRARIES = {"earliest": (h5py.h5f.LIBVER_EARLIEST, h5py.h5f.LIBVER_LATEST), "latest": (h5py.h5f.LIBVER_LATEST,) * 2,
             "1.8": (h5py.h5f.LIBVER_V18,) * 2, "1.10": (h5py.h5f.LIBVER_V110,) * 2}


def create_file(d, path):
    """A file of any version, with what only its creation can choose."""
    access, creation = h5py.h5p.create(h5py.h5p.FILE_ACCESS), h5py.h5p.create(h5py.h5p.FILE_CREATE)
    library = d.pick("library", *LIBRARIES)
    access.set_libver_bounds(*LIBRARIES[library])
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    if d.chance("keeps order", .3):
        order = h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED
        creation.set_link_creation_order(order)
        creation.set_attr_creation_order(order)
    form = d.pick("form", "plain", "plain", "user block", *["pages"] * (library != "1.8"), "shared messages")
    if form == "user block":
        creation.set_userblock(d.pick("user block", 512, 2048))
    elif form == "pages":
        creation.set_file_space_strategy(h5py.h5f.FSPACE_STRATEGY_PAGE, d.chance("keeps free space", .5), 1)
        creation.set_file_space_page_size(d.pick("page", 512, 4096, 65536))
    elif form == "shared messages":
        with open("/proc/self/maps", encoding="utf-8") as maps:
            functions = ctypes.CDLL(next(line.split()[-1] for line in maps if "/libhdf5_serial.so" in line))
        everything, least = 0x1f, d.pick("least shared", 0, 20)
        functions.H5Pset_shared_mesg_nindexes(ctypes.c_int64(creation.id), 1)
        functions.H5Pset_shared_mesg_index(ctypes.c_int64(creation.id), 0, everything, least)
    return h5py.File(h5py.h5f.create(os.fsencode(path), h5py.h5f.ACC_TRUNC, creation, access))


def make_hdf5(d, path):
    arrays = {}
    with create_file(d, path) as file:
        for key, part in d.parts("v", 1, 3).items():
            name = draw_path(part, key[1:], True, ("", "g", "g/h"))
            kind = part.pick("kind", *HDF5_KINDS)
            arrays[name] = array = make_hdf5_array(part, file, name, kind, path)
            if part.chance("many attributes", .2):
                array.attributes |= {f"n{i}": np.int32(i) for i in range(part.whole("attributes", 9, 40))}
            file[name].attrs.update(array.attributes)
        if d.chance("links", .2):
            first = next(iter(arrays))
            file["soft"] = h5py.SoftLink("/" + first)
            file["hard"] = file[first]
            arrays["soft"] = arrays["hard"] = arrays[first]
    return arrays


def make_hdf5_array(d, file, name, kind, path):
    shape = draw_shape(d)
    types = {"bool": "?", "half": "f2", "complex": d.pick("complex", "c8", "c16"), "text": f"S{d.whole('width', 1, 6)}", "texts": "O",
             "struct": STRUCT, "opaque": "V4", "lists": "i4"}
    if kind == "numbers":
        return make_hdf5_numbers(d, file, name, draw_array(d, [], shape), path)
    if kind in types:
        array = Array(draw_numbers(d, types[kind], shape))
        if kind == "texts":
            is_plain = all(str(text).isascii() for text in array.stored.ravel())
            charset = d.pick("charset", "utf-8", *["ascii"] * is_plain)
            file.create_dataset(name, data=array.stored, dtype=h5py.string_dtype(charset), **layout_of(d, shape, is_fixed=False))
        elif kind == "lists":
            r = d.random("lists")
            array = Array(np.empty(shape, object))
            for index in np.ndindex(*shape):
                array.stored[index] = r.integers(-5, 100, int(r.integers(0, 4))).astype("i4")
            dataset = file.create_dataset(name, shape, h5py.vlen_dtype(np.int32))
            for index in np.ndindex(*shape):
                dataset[index] = array.stored[index]
        else:
            file.create_dataset(name, data=array.stored, **layout_of(d, shape))
        return array
    array = Array(draw_numbers(d, d.pick("type", "i4", "u1", "i2", "u2", "u4", "i8", "u8"), shape))
    if kind == "enumeration":
        enumeration(d, array, array.stored.dtype)
        file.create_dataset(name, data=array.stored, dtype=h5py.enum_dtype(COLOURS, array.stored.dtype), **layout_of(d, shape))
    elif kind == "bitfield":
        array.stored = array.stored.astype(f"u{array.stored.itemsize}")
        bits = {1: h5py.h5t.STD_B8LE, 2: h5py.h5t.STD_B16LE, 4: h5py.h5t.STD_B32LE, 8: h5py.h5t.STD_B64LE}[array.stored.itemsize]
        low_level(file, name, bits, array.stored, bits)
    elif kind == "some bits":
        most = 8 * array.stored.itemsize
        bits = d.whole("bits", 1, most)
        stored = h5py.h5t.py_create(array.stored.dtype).copy()
        stored.set_precision(bits)
        stored.set_offset(d.whole("offset", 0, most - bits))
        array.stored = (array.stored >> array.stored.dtype.type(most - bits)).astype(array.stored.dtype)
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if shape and d.chance("nbit", .6):
            properties.set_chunk(draw_chunks(d, shape))
            properties.set_filter(h5py.h5z.FILTER_NBIT)
        low_level(file, name, stored, array.stored, h5py.h5t.py_create(array.stored.dtype), properties)
    elif kind == "named":
        file[f"type of {name}".replace("/", " ")] = array.stored.dtype
        file.create_dataset(name, data=array.stored, dtype=file[f"type of {name}".replace("/", " ")])
    elif kind == "arrays":
        item = np.dtype((array.stored.dtype, (2, 3)))
        whole = draw_numbers(d.part("items"), array.stored.dtype, (*shape, 2, 3))
        low_level(file, name, h5py.h5t.py_create(item), _packed(whole, shape, item), h5py.h5t.py_create(item))
        array.stored = whole
    else:
        targets = [None, "/"]
        array = Array(np.empty(shape, object))
        array.stored[...] = np.array(targets, object)[d.random("targets").integers(0, 2, shape)]
        dataset = file.create_dataset(name, shape, h5py.ref_dtype)
        for index in np.ndindex(*shape):
            if array.stored[index]:
                dataset[index] = file["/"].ref
    return array


def _packed(whole, shape, item):
    """The arrays of elements as elements."""
    found = np.frombuffer(whole.tobytes(), f"V{item.itemsize}")
    return found.reshape(shape)


def layout_of(d, shape, is_fixed=True):
    """Chunks and what is done to them. Texts of any length have no checksums."""
    if not shape or not d.chance("chunked", .6):
        return {}
    more = {"chunks": draw_chunks(d, shape), "shuffle": d.chance("shuffle", .4), "fletcher32": is_fixed and d.chance("fletcher32", .3)}
    compression = d.pick("compression", "none", "gzip", "lzf")
    if compression != "none":
        more["compression"] = compression
    if d.chance("grows", .4):
        grows = d.pick("how it grows", "first", "all", "last", "to an end")
        more["maxshape"] = {"first": (None, *shape[1:]), "all": (None,) * len(shape), "last": (*shape[:-1], None),
                            "to an end": tuple(n + 2 for n in shape)}[grows]
    return more


def make_hdf5_numbers(d, file, name, array, path):
    stored = array.stored.astype(array.stored.dtype.newbyteorder(d.pick("order", "<", ">")))
    layout = d.pick("layout", "usual", "usual", "compact", "external", "virtual", "scaleoffset", "szip", "partly", "early")
    shape, is_whole = stored.shape, stored.dtype.kind in "iu"
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if layout == "compact":
        properties.set_layout(h5py.h5d.COMPACT)
        low_level(file, name, h5py.h5t.py_create(stored.dtype), stored, h5py.h5t.py_create(stored.dtype), properties)
    elif layout == "external" and shape:
        outside, offset = f"{path}.{name.replace('/', '-')}.bin", d.whole("offset in the file", 0, 9)
        dataset = file.create_dataset(name, shape, stored.dtype, external=[(os.path.basename(outside), offset, stored.nbytes)])
        del dataset
        with open(outside, "wb") as other:
            other.write(b"x" * offset + stored.tobytes())
    elif layout == "virtual" and shape:
        make_virtual(d, file, name, stored)
    elif layout == "scaleoffset" and shape and is_whole:
        file.create_dataset(name, data=stored, chunks=draw_chunks(d, shape), scaleoffset=0)
    elif layout == "szip" and shape and h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP):
        # A chunk has a block at least.
        chunks = draw_chunks(d, shape)
        pixels = max([n for n in (2, 4, 8, 16, 32) if n <= np.prod(chunks)], default=0)
        more = {"compression": "szip", "compression_opts": (d.pick("method", "nn", "ec"), pixels)} if pixels else {}
        file.create_dataset(name, data=stored, chunks=chunks, **more)
    elif layout == "partly" and shape:
        # Elements that nobody wrote are the fill value, which h5py tells.
        fill = stored.dtype.type(d.whole("fill", 0, 7))
        dataset = file.create_dataset(name, shape, stored.dtype, fillvalue=fill, **{"chunks": draw_chunks(d, shape)})
        box = tuple(slice(0, d.whole(f"written {axis}", 1, n)) for axis, n in enumerate(shape))
        dataset[box] = stored[box]
        whole = np.full(shape, fill, array.stored.dtype)
        whole[box] = stored[box]
        array.stored = whole
    elif layout == "early" and shape:
        properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        properties.set_chunk(draw_chunks(d, shape))
        low_level(file, name, h5py.h5t.py_create(stored.dtype), stored, h5py.h5t.py_create(stored.dtype), properties)
    else:
        file.create_dataset(name, data=stored, **layout_of(d, shape))
    return array


def make_virtual(d, file, name, stored):
    """Rows of two other data sets of the file, by turns."""
    layout = h5py.VirtualLayout(stored.shape, stored.dtype)
    for begin in (0, 1):
        rows = stored[begin::2]
        if rows.size:
            source = f"{name} part {begin}"
            file.create_dataset(source, data=rows, **layout_of(d, rows.shape) if d.chance("usual parts", .3) else {})
            layout[begin::2] = h5py.VirtualSource(".", source, rows.shape, rows.dtype)
    file.create_virtual_dataset(name, layout, fillvalue=0)
