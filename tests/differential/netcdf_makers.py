# SPDX-License-Identifier: MIT
"""Files of netCDF-C."""
import netCDF4
import numpy as np

from arrays import NUMBERS, TEXTS, Array, draw_arrays, draw_chunks, draw_numbers
from hdf5_makers import COLOURS, enumeration

KINDS = ("numbers", "numbers", "numbers", "numbers", "enumeration", "texts", "characters", "struct", "structs in structs", "lists")
INNER = np.dtype([("k", "i1"), ("u", "<u2")], align=True)
STRUCTS = {"struct": np.dtype([("a", "<i4"), ("b", "<f8", (2, 2)), ("c", "S1", (3,))], align=True),
           "structs in structs": np.dtype([("first", INNER), ("f", "<f4", (3,)), ("n", "<i8"), ("in", [("z", INNER), ("y", "<u8")])], align=True)}


def groups_of(file, path):
    for name in path.split("/")[:-1]:
        file = file.groups.get(name) or file.createGroup(name)
    return file


def draw_sizes(d, arrays, is_4):
    """Dimensions of groups that have the names of those around them, and records of which there are none yet."""
    if d.chance("no records", .05):
        for array in arrays.values():
            if "t" in array.dims:
                array.stored = array.stored[:0]
    if not is_4 or not d.chance("own dimension", .3):
        return
    for path, array in list(arrays.items()):
        if path.startswith("g/") and "x" in array.dims:
            size = d.whole("own size", 1, 6)
            array.stored = np.resize(array.stored, (*array.stored.shape[:-1], size)) if array.stored.size else np.zeros((*array.stored.shape[:-1], size), array.stored.dtype)
            arrays["g/x"] = Array(np.arange(size) * 2.5, ["x"], {"units": "m"})


def make_netcdf(form, types=NUMBERS):
    is_4 = form == "NETCDF4"

    def make(d, path):
        arrays, draws = draw_arrays(d, names=True, groups=("", "g", "g/h") if is_4 else ("",), types=types)
        draw_sizes(d, arrays, is_4)
        sizes = {}
        for name, array in arrays.items():
            for dim, size in zip(array.dims, array.stored.shape):
                sizes[("g" if name.startswith("g/") and dim == "x" and "g/x" in arrays else "", dim)] = size
        with netCDF4.Dataset(path, "w", format=form) as file:
            for (group, dim), size in sorted(sizes.items()):
                place = groups_of(file, f"{group}/") if group else file
                # Without records, nothing tells how long other dimensions have grown.
                can_grow = dim == "t" or (is_4 and all(array.stored.size for array in arrays.values()))
                grows = can_grow and (size == 0 or d.chance(f"{group} {dim} grows".strip(), .5 if dim == "t" else .2))
                place.createDimension(dim, None if grows else size)
            for name, array in arrays.items():
                make_netcdf_variable(draws.get(name) or d.part("x of the group"), groups_of(file, name), name.split("/")[-1], array, is_4, types)
        return arrays
    return make


def draw_attributes(d, array, is_4, types):
    for name in [f"a{number}" for number in range(d.whole("attributes", 0, 3))]:
        kind = d.pick(f"type of {name}", "text", *types, *["texts"] * is_4)
        if kind == "text":
            array.attributes[name] = d.pick(name, *TEXTS[1:])
        elif kind == "texts":
            array.attributes[name] = list(np.array(TEXTS[1:], object)[d.random(name).integers(0, len(TEXTS) - 1, d.whole(f"size of {name}", 2, 3))])
        else:
            numbers = draw_numbers(d.part(name), kind, (d.whole(f"size of {name}", 1, 4),))
            array.attributes[name] = numbers if numbers.size > 1 else numbers[0]


def layout_of(d, array, dtype):
    """Chunks, and what is done to them."""
    shape = array.stored.shape
    if not array.dims or dtype is str or isinstance(dtype, netCDF4.VLType):
        return {}
    more = {"shuffle": d.chance("shuffle", .5), "fletcher32": d.chance("fletcher32", .3)}
    if not array.names and array.is_number():
        more["endian"] = d.pick("endian", "native", "little", "big")
    if d.chance("own chunks", .5):
        more["chunksizes"] = draw_chunks(d, tuple(max(n, 1) for n in shape))
    # The plugins of the other filters need not be installed; hdf5_makers.py has szip.
    if d.chance("zlib", .4):
        more["compression"] = "zlib"
    if more.get("compression") and array.stored.dtype.kind == "f" and d.chance("quantized", .2):
        more |= {"significant_digits": d.whole("digits", 1, 5), "quantize_mode": d.pick("quantized by", "BitGroom", "BitRound", "GranularBitRound")}
    return more


def define(group, dtype, name):
    """A struct as a type of a group, after those inside."""
    for part in dtype.names:
        if dtype[part].names:
            define(group, dtype[part], f"{name}_{part}")
    return group.createCompoundType(dtype, name)


def make_netcdf_variable(d, group, name, array, is_4, types):
    shape, kind = array.stored.shape, d.pick("kind", *KINDS) if is_4 and name[0] not in "xy" else "numbers"
    dtype, number, word = array.stored.dtype, name[-1], "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    place = group.parent if group.parent and d.chance("type of the group above", .5) else group
    if kind in ("texts", "characters", "lists", *STRUCTS):
        array.attributes.clear()
    if kind == "enumeration":
        base = d.pick("base", "u1", "i2", "i8")
        enumeration(d, array, base)
        dtype = place.createEnumType(base, f"colour_of_{word}_{number}", COLOURS)
        if d.chance("has fill", .5):
            array.attributes["_FillValue"] = array.stored.dtype.type(5)
    elif kind == "texts":
        array.stored, dtype = draw_numbers(d, "O", shape), str
    elif kind == "characters":
        array.stored = draw_numbers(d, "S1", shape)
        dtype = array.stored.dtype
    elif kind in STRUCTS:
        dtype = define(place, STRUCTS[kind], f"struct_of_{word}_{number}")
        array.stored = draw_numbers(d, dtype.dtype, shape)
    elif kind == "lists" and shape:
        base = d.pick("base", "i4", "u1", "f8", "i8")
        dtype, array.stored = place.createVLType(base, f"list_of_{word}_{number}"), np.empty(shape, object)
        for index in np.ndindex(*shape):
            array.stored[index] = draw_numbers(d.part(f"list {index}"), base, (int(d.random(f"size {index}").integers(0, 4)),))
    if kind in ("numbers", "enumeration"):
        draw_attributes(d, array, is_4, types)
    attributes = dict(array.attributes)
    fill, more = attributes.pop("_FillValue", None), layout_of(d, array, dtype) if is_4 else {}
    variable = group.createVariable(name, dtype, array.dims, fill_value=fill, **more)
    variable.set_auto_maskandscale(False)
    variable.set_auto_chartostring(False)
    variable.setncatts(attributes)
    if kind == "lists" and shape:
        for index in np.ndindex(*shape):
            variable[index] = array.stored[index]
    elif dtype is str and not array.dims:
        variable[0] = array.stored.item()
    elif fill is not None and array.stored.size and array.dims and d.chance("partly", .4):
        # A corner, and the last element, which says how far it goes.
        whole = np.full_like(array.stored, fill)
        for box in (tuple(slice(0, d.whole(f"written {axis}", 1, n)) for axis, n in enumerate(shape)), tuple(slice(n - 1, n) for n in shape)):
            variable[box] = whole[box] = array.stored[box]
        array.stored = whole
    else:
        variable[...] = array.stored
    if "significant_digits" in more:
        array.stored = np.asarray(variable[...])
