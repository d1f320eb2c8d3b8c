# SPDX-License-Identifier: MIT
"""Arrays of made-up stores: what is stored, and what it stands for."""
import dataclasses

import cftime
import numpy as np

INTEGERS = ["i4", "i1", "u1", "i2", "u2", "u4", "i8", "u8"]
FLOATS = ["f8", "f4"]
NUMBERS = [*INTEGERS, *FLOATS]
CALENDARS = ["standard", "proleptic_gregorian", "noleap", "360_day", "julian", "all_leap"]
UNITS = ["days", "hours", "minutes", "seconds"]
TEXTS = ["", "a", "two words", "\u00e4\u65e5", "quote\"d", "back\\slash", "a,b", "tab\tor\nline"]
NAMES = ["b c", "\u00e4", "x.y", "a-b", "_u", "B", "7up"]
# What has no short name in NumPy.
TYPES = {"struct": np.dtype([("a", "<i4"), ("b", ">f8"), ("s", "S3"), ("in", [("k", "i1"), ("u", "<u2"), ("t", "<M8[s]")])]),
         "arrays": np.dtype([("u", "<U2"), ("k", "<i2", (2, 2)), ("in", [("z", "<c8"), ("b", "?")], (3,)), ("raw", "V3")])}
MOST = 6  # the longest side of an array


@dataclasses.dataclass
class Array:
    """What a store has at one path."""
    stored: np.ndarray
    dims: list = dataclasses.field(default_factory=list)
    attributes: dict = dataclasses.field(default_factory=dict)
    names: dict = dataclasses.field(default_factory=dict)  # of the values of an enumeration
    is_json: bool = False  # each element is a document
    is_optional: bool = False  # ndlfs may not have it, or have it for rows or columns alone
    is_computed: bool = False  # with factors and offsets, by other software

    def is_number(self):
        return self.stored.dtype.kind in "iuf" and self.stored.dtype.str[1:] != "f2"

    def missing(self):
        """Where there is no value."""
        found = np.zeros(self.stored.shape, bool)
        for name in ("_FillValue", "missing_value"):
            if name in self.attributes:
                fill = self.attributes[name]
                found |= np.isnan(self.stored) if fill != fill else self.stored == fill
        if "valid_range" in self.attributes:
            least, most = self.attributes["valid_range"]
            found |= (self.stored < least) | (self.stored > most)
        return found

    def is_time(self):
        return "since" in str(self.attributes.get("units", ""))

    def values(self):
        """What the numbers stand for by the CF conventions, as float64 with NaN; times as text, or None."""
        missing = self.missing()
        if self.is_time():
            moments = cftime.num2date(np.where(missing, 0, self.stored).astype("f8").ravel(), self.attributes["units"], self.attributes["calendar"])
            texts = [None if lacks else moment.isoformat() for moment, lacks in zip(moments, missing.ravel())]
            return np.array(texts, object).reshape(self.stored.shape)
        values = self.stored.astype("f8")
        values = values * float(self.attributes.get("scale_factor", 1)) + float(self.attributes.get("add_offset", 0))
        return np.where(missing, np.nan, values)


def draw_shape(d, least=0, most=3):
    return tuple(d.whole(f"side {axis}", 1, MOST) for axis in range(d.whole("rank", least, most)))


def draw_numbers(d, dtype, shape):
    """Small numbers, or any that the type has; bool, complex and text, too."""
    dtype = np.dtype(dtype)
    r = d.random("numbers")
    if dtype.names:
        found = np.zeros(shape, dtype)
        for name in dtype.names:
            part = dtype[name]
            found[name] = draw_numbers(d.part(name), part.base, tuple(shape) + part.shape)
        return found
    if dtype.kind in "mM":
        # In data.nc and data.h5 units of 10 microseconds are microseconds, for which there must be room.
        return (draw_numbers(d, "i8", shape) // np.datetime_data(dtype)[1]).view(dtype)
    if dtype.kind == "b":
        return r.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "V":
        return np.frombuffer(r.bytes(int(np.prod(shape, dtype=int)) * dtype.itemsize), dtype).reshape(shape).copy()
    if dtype.kind in "SUO":
        texts = np.array(TEXTS, object)[r.integers(0, d.pick("texts", 2, len(TEXTS)), shape)]
        flat = [text.encode("ascii", "replace")[:dtype.itemsize] if dtype.kind == "S" else text for text in np.asarray(texts, object).ravel()]
        return np.array(flat, dtype).reshape(shape)
    if dtype.kind == "c":
        return (draw_numbers(d.part("real"), f"f{dtype.itemsize // 2}", shape) +
                1j * r.integers(-50, 50, shape)).astype(dtype)
    if dtype.kind == "f":
        found = np.asarray({"whole": r.integers(-50, 50, shape), "normal": r.normal(size=shape),
                            "special": np.array([np.nan, np.inf, -np.inf, -0.0, 5e-320, 1.5])[r.integers(0, 6, shape)]}[
            d.pick("numbers", "whole", "normal", "normal", "special")])
        with np.errstate(all="ignore"):
            return found.astype(dtype)
    if d.pick("numbers", "small", "any") == "small":
        return np.asarray(r.integers(0, 100, shape)).astype(dtype)
    limits = np.iinfo(dtype)
    return np.asarray(r.integers(limits.min, limits.max, shape, dtype.newbyteorder("="), endpoint=True)).astype(dtype)


def draw_meaning(d, stored):
    """Attributes: the numbers may be packed, or be times, or lack values. Some of them then are the fill value."""
    dtype, attributes, r = stored.dtype, {}, d.random("missing")
    if dtype.kind in "iu" and dtype.itemsize <= 2 and d.chance("packed", .4):
        number = {"f8": np.float64, "f4": np.float32}[d.pick("factor type", "f8", "f4")]
        attributes["scale_factor"] = number(d.pick("factor", 2.0, 0.5, 0.1, 0.01))
        if d.chance("has offset", .6):
            attributes["add_offset"] = number(d.pick("offset", 0.5, -10.0, 273.15))
        if d.chance("has range", .3):
            attributes["valid_range"] = np.sort(draw_numbers(d.part("range"), dtype, (2,)))
    elif dtype.kind in "if" and dtype.itemsize >= 4 and d.chance("time", .25):
        since = d.pick("since", "2000-01-01", "1999-12-30 12:00:00", "1850-02-28")
        attributes["units"] = f"{d.pick('unit', *UNITS)} since {since}"
        attributes["calendar"] = d.pick("calendar", *CALENDARS)
        stored = np.asarray(d.random("times").integers(0, 5000, stored.shape)).astype(dtype)
    elif d.chance("has units", .7):
        attributes["units"] = d.pick("units", "K", "m s-1", "1")
    if d.chance("has missing", .4):
        fill = dtype.type(d.pick("fill", 0, 99, 127) if dtype.kind == "u" else d.pick("fill", 0, -99, 127))
        if dtype.kind == "f" and d.chance("fill is NaN", .2):
            fill = dtype.type(np.nan)
        attributes[d.pick("fill name", "_FillValue", "_FillValue", "missing_value")] = fill
        stored[r.random(stored.shape) < .2] = fill
    return stored, attributes


def draw_array(d, dims, shape, types=NUMBERS):
    kind = d.pick("type", *types)
    dtype = np.dtype(TYPES.get(kind, kind))
    stored = np.asarray(draw_numbers(d, dtype, shape))
    attributes = {}
    if dtype.kind in "iuf" and dtype != np.float16:
        stored, attributes = draw_meaning(d, stored)
    if d.chance("more attributes", .2):
        attributes["note"] = d.pick("note", *TEXTS[1:])
        attributes["numbers"] = draw_numbers(d.part("attribute"), d.pick("attribute type", *[kind for kind in ("i4", "u1", "i2", "f4", "f8") if kind in types]), (3,))
    return Array(stored, list(dims), attributes)


def draw_path(d, number, names=True, groups=("",)):
    """Where an array is."""
    name = d.pick("name", f"v{number}", *[f"{name}{number}" for name in NAMES]) if names and d.chance("odd name", .2) else f"v{number}"
    group = d.pick("group", *groups) if len(groups) > 1 and d.chance("in a group", .4) else ""
    return f"{group}/{name}".strip("/")


def draw_arrays(d, count=3, names=False, groups=("",), types=NUMBERS):
    """Arrays over common dimensions, with a coordinate or two: {path: array}, and the Draw of each path."""
    sizes = {name: d.whole(f"size of {name}", 1, MOST) for name in ("t", "y", "x")}
    found, draws = {}, {}
    for name in ("y", "x"):
        if d.chance(f"coordinate {name}", .7):
            step = float(d.pick(f"step of {name}", 1, 0.25, -2))
            found[name] = Array(10 + step * np.arange(sizes[name], dtype="f8"), [name], {"units": "m"})
            draws[name] = d.part(name)
    for key, part in d.parts("v", 1, count).items():
        number = key[1:]
        rank = part.whole("rank", 0, 3)
        dims = list(sizes)[3 - rank:]
        path = draw_path(part, number, names, groups)
        found[path] = draw_array(part, dims, tuple(sizes[dim] for dim in dims), types)
        draws[path] = part
    return found, draws


def draw_chunks(d, shape):
    return tuple(d.whole(f"chunk {axis}", 1, n) for axis, n in enumerate(shape))
