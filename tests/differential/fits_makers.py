# SPDX-License-Identifier: MIT
"""FITS, by astropy: images, tiles, binary tables with a heap, ASCII tables, one unit after the other."""
import warnings

import astropy.io.fits as fits
import numpy as np

from arrays import Array, draw_numbers, draw_shape

IMAGE_TYPES = ("u1", "i2", "u2", "i4", "u4", "i8", "f4", "f8")
# What is read of a column by its letter, and what ranges it takes.
COLUMNS = {"J": "i4", "I": "i2", "B": "u1", "K": "i8", "E": "f4", "D": "f8", "C": "c8", "M": "c16"}
UNSIGNED = {"B": ("i1", -128), "I": ("u2", 2**15), "J": ("u4", 2**31), "K": ("u8", 2**63)}


def make_fits(d, path):
    """The cards that say what numbers stand for are put in at the end: astropy would change the numbers."""
    units, arrays, cards = [], {}, []
    for name, part in d.parts("v", 1, 3).items():
        kind = part.pick("kind", "image", "image", "tiles", "table", "text table")
        make = {"image": make_image, "tiles": make_tiles, "table": make_table, "text table": make_text_table}[kind]
        unit, arrays[name], put = make(part, not units)
        if not units and kind != "image":
            units.append(fits.PrimaryHDU())
            cards.append({})
        unit.header["EXTNAME"] = name
        units.append(unit)
        cards.append(put)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits.HDUList(units).writeto(path)
    put_cards(path, cards)
    for name, array in arrays.items():
        if array.is_computed:  # what astropy itself reads
            with fits.open(path) as file:
                data = file[name].data
                array.stored = rows_of(data) if data.dtype.names else np.array(data, data.dtype.newbyteorder("="))
            array.is_computed = not array.stored.dtype.names
    return arrays if len(arrays) > 1 or d.chance("named", .5) else {"": array for array in arrays.values()}


def rows_of(table):
    columns = {name: np.asarray(table[name]) for name in table.dtype.names}
    columns = {name: np.char.encode(column, "ascii") if column.dtype.kind == "U" else column for name, column in columns.items()}
    found = np.zeros(len(table), [(name, column.dtype.newbyteorder("=")) for name, column in columns.items()])
    for name, column in columns.items():
        found[name] = column
    return found


def make_image(d, is_first):
    """Integers without a sign are signed ones with an offset."""
    stored = draw_numbers(d, d.pick("type", *IMAGE_TYPES), draw_shape(d, 1, 4))
    array, cards = Array(stored), {}
    if stored.dtype.str[1:] in ("u1", "i2", "i4"):
        if d.chance("scaled", .3):
            cards["BSCALE"], cards["BZERO"] = d.pick("factor", 2.0, 0.5), d.pick("offset", 0.0, 10.0)
            array.attributes |= {"scale_factor": cards["BSCALE"]} | ({"add_offset": cards["BZERO"]} if cards["BZERO"] else {})
        if d.chance("blank", .3):
            cards["BLANK"] = d.pick("blank", 7, 0, 99)
            array.attributes["_FillValue"] = stored.dtype.type(cards["BLANK"])
    return (fits.PrimaryHDU if is_first else fits.ImageHDU)(stored), array, cards


def make_tiles(d, is_first):
    """Floats may be quantized: with a level of 0 they are not. PLIO is for masks: of noise, astropy 5 writes more than it has memory for."""
    method = d.pick("method", "GZIP_1", "GZIP_2", "RICE_1", "PLIO_1")
    types = {"RICE_1": ("u1", "i2", "u2", "i4", "u4", "f4", "f8"), "PLIO_1": ("i2", "u1", "i4")}.get(method, ("u1", "i2", "u2", "i4", "u4", "f4", "f8"))
    shape = draw_shape(d, 2, 3)
    if method == "PLIO_1" or d.chance("larger", .4):
        shape = (*shape[:-1], 37 * shape[-1])
    stored, level = draw_numbers(d, d.pick("type", *types), shape), 0
    if method == "PLIO_1":
        runs = d.random("masks").integers(0, d.pick("most", 1, 3, 100), (*shape[:-1], shape[-1] // 37), endpoint=True)
        stored = np.repeat(runs, 37, axis=-1).astype(stored.dtype)
    if stored.dtype.kind == "f" and (method == "RICE_1" or d.chance("quantized", .5)):
        stored = d.random("quantized").normal(100, 5, shape).astype(stored.dtype)
        level = 16.0
    sizes = tuple(n if method == "PLIO_1" and axis == len(shape) - 1 else d.whole(f"tile {axis}", 1, n) for axis, n in enumerate(shape))
    unit = fits.CompImageHDU(stored, compression_type=method, quantize_level=level, tile_size=sizes[::-1],
                             quantize_method=d.pick("dither", -1, 1, 2), dither_seed=d.whole("seed", 1, 10000))
    return unit, Array(stored, is_computed=level != 0), {}


def draw_column(d, rows, number):
    """A column for astropy, what is read of it, and cards."""
    letter, name = d.pick("letter", *COLUMNS, "L", "X", "A", "P", "Q"), f"c{number}"
    if letter in "PQ":
        return draw_variable(d, rows, letter, name)
    count = d.whole("count", 1, 4)
    if letter == "A":
        texts = np.array([bytes(c for c in text if 32 <= c < 127).rstrip() for text in draw_numbers(d, f"S{count}", (rows,))], f"S{count}")
        return fits.Column(name, f"{count}A", array=texts), texts, {}
    if letter == "X":
        bits = d.random("bits").integers(0, 2, (rows, 3 * count)).astype(bool)
        return fits.Column(name, f"{3 * count}X", array=bits), np.packbits(bits, axis=1).view(f"V{-(-3 * count // 8)}")[:, 0], {}
    shape, more = (count,) if count > 1 else (), {}
    if count == 4 and d.chance("shaped", .5):
        shape, more = (2, 2), {"dim": "(2,2)"}
    if letter == "L":
        truths = draw_numbers(d, "?", (rows, *shape))
        return fits.Column(name, f"{count}L", array=truths, **more), np.where(truths, b"T", b"F"), {}
    stored = draw_numbers(d, COLUMNS[letter], (rows, *shape))
    meaning = d.pick("meaning", "none", "none", "scaled", "null", "unsigned") if letter not in "CM" else "none"
    found, cards = stored, {}
    if meaning == "unsigned" and letter in UNSIGNED:
        dtype, zero = UNSIGNED[letter]
        cards["TZERO"] = zero
        found = (stored.astype(object) + zero).astype(dtype)
    elif meaning == "scaled":
        cards |= {"TSCAL": d.pick("factor", 2.0, 0.5), "TZERO": d.pick("offset", 0.0, 10.0)}
        found = stored.astype("f8") * cards["TSCAL"] + cards["TZERO"]
    if meaning in ("null", "scaled") and letter in "BIJ" and (meaning == "null" or d.chance("null, too", .5)):
        cards["TNULL"] = int(stored.flat[0]) if stored.size else 1
        found = np.where(stored == cards["TNULL"], np.nan, found.astype("f8"))
    return fits.Column(name, f"{count}{letter}", array=stored, **more), found, cards


def draw_variable(d, rows, letter, name):
    """Lists in the heap."""
    kind = d.pick("items", "J", "I", "B", "K", "E", "D", "A", "C", "M")
    found = np.empty(rows, object)
    for row, size in enumerate(d.random("sizes").integers(0, 6, rows)):
        found[row] = draw_numbers(d.part(f"row {row}"), COLUMNS.get(kind, "u1"), (int(size),))
        if kind == "A":
            found[row] = "".join(chr(97 + int(c) % 26) for c in found[row])
    return fits.Column(name, f"{letter}{kind}()", array=found), found, {}


def make_table(d, is_first):
    rows = d.whole("rows", 1, 9)
    columns = [draw_column(part, rows, int(key[6:])) for key, part in d.parts("column", 1, 5).items()]
    array = Array(np.zeros(rows, [(column.name, found.dtype.newbyteorder("="), found.shape[1:]) for column, found, _ in columns]))
    cards = {}
    for number, (column, found, put) in enumerate(columns, 1):
        array.stored[column.name] = found
        cards |= {f"{key}{number}": value for key, value in put.items()}
    return fits.BinTableHDU.from_columns([column for column, _, _ in columns]), array, cards


def make_text_table(d, is_first):
    """Numbers as text; astropy reads them back."""
    rows, columns = d.whole("rows", 1, 9), []
    for name, part in d.parts("column", 1, 4).items():
        form = part.pick("form", "I6", "A5", "F9.3", "E15.7", "D25.17", "I11")
        texts = {"A": [b"one", b"two", b"a b", b"x"], "I": [1, -20, 999, 0], "F": [1.5, -2.25, 0, 99.125]}
        choices = texts.get(form[0], [1e10, -2.5e-30, 0.1, 7])
        columns.append(fits.Column(name, form, array=np.array(choices)[part.random("values").integers(0, 4, rows)]))
    unit = fits.TableHDU.from_columns(columns)
    return unit, Array(np.zeros(0), is_computed=True), {}


def put_cards(path, cards):
    """Before the END of each unit."""
    with open(path, "rb") as file:
        content = file.read()
    with fits.open(path, disable_image_compression=True) as file:
        places = [unit.fileinfo() for unit in file]
    with open(path, "wb") as file:
        for place, more in zip(places, cards):
            header = content[place["hdrLoc"]:place["datLoc"]]
            end = next(at for at in range(0, len(header), 80) if header[at:at + 80] == b"END" + b" " * 77)
            texts = "".join(f"{key:8}= {value!r:>20}".ljust(80) for key, value in more.items())
            header = header[:end] + texts.encode() + b"END"
            file.write(header.ljust(-(-len(header) // 2880) * 2880) + content[place["datLoc"]:place["datLoc"] + place["datSpan"]])
