#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes files of HDF4 with libhdf4 itself (Debian: libhdf4-0-alt).

    hdf4_writer.py DIRECTORY

writes those of tests/data/hdf4.
"""
import ctypes
import os
import sys

import numpy as np

CREATE, WRITE, READ = 4, 2, 1
TYPES = {"|S1": 4, "<f4": 5, "<f8": 6, "|i1": 20, "|u1": 21, "<i2": 22, "<u2": 23, "<i4": 24, "<u4": 25}
LITTLE = 0x4000
RLE, NBIT, SKPHUFF, DEFLATE, SZIP, JPEG = 1, 2, 3, 4, 5, 7
CHUNKED, COMPRESSED, PACKED = 1, 3, 5
GROUP, DATA_GROUP, RASTER_IMAGE = 1965, 720, 302

try:
    DF = ctypes.CDLL("libdfalt.so.0", mode=ctypes.RTLD_GLOBAL)
    SD = ctypes.CDLL("libmfhdfalt.so.0")
except OSError:
    DF = SD = None  # the tests that need it are skipped


class ChunkDefinition(ctypes.Structure):
    """HDF_CHUNK_DEF: the extents, and how chunks are encoded."""
    _fields_ = [("extents", ctypes.c_int32 * 32), ("coding", ctypes.c_int32 * 40)]


class CodingInfo(ctypes.Structure):
    """comp_info."""
    _fields_ = [("words", ctypes.c_int32 * 20)]


if SD is not None:
    SD.SDsetchunk.argtypes = [ctypes.c_int32, ChunkDefinition, ctypes.c_int32]


def check(result):
    if result < 0:
        raise RuntimeError("libhdf4 refuses")
    return result


def numbers(*values):
    return (ctypes.c_int32 * max(len(values), 1))(*values)


def type_of(array, order=0):
    return TYPES[array.dtype.str] | order


def set_attribute(target, name, value, function=None):
    function = function or SD.SDsetattr
    if isinstance(value, str):
        text = value.encode()
        return check(function(target, name.encode(), 4, len(text), text))
    value = np.atleast_1d(value)
    return check(function(target, name.encode(), type_of(value), value.size, value.tobytes()))


def coding_words(coding, option):
    if coding == SKPHUFF:
        return (option,)
    if coding == DEFLATE:
        return (option,)
    if coding == SZIP:  # options: entropy coding; pixels in a block
        return (4, 8, 0, 0, 0)
    return ()


class File:
    """A file that is being written."""

    def __init__(self, path):
        self.path = path
        self.sd = check(SD.SDstart(path.encode(), CREATE))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        check(SD.SDend(self.sd))

    def attribute(self, name, value):
        set_attribute(self.sd, name, value)

    def dataset(self, name, array, dims=(), unlimited=False, chunk=None, coding=None, option=6, order=0, attributes=None,
                write=True, blocks=None, block_bytes=0):
        """Writes a data set; returns its reference. `blocks`: the slices to write, in their order, and no others."""
        shape = [0 if unlimited and d == 0 else extent for d, extent in enumerate(array.shape)]
        data = check(SD.SDcreate(self.sd, name.encode(), type_of(array, order), array.ndim, numbers(*shape)))
        for d, dim in enumerate(dims):
            check(SD.SDsetdimname(SD.SDgetdimid(data, d), dim.encode()))
        for key, value in (attributes or {}).items():
            set_attribute(data, key, value)
        self.set_coding(data, array, chunk, coding, option)
        if block_bytes:
            check(SD.SDsetblocksize(data, block_bytes))
        if write:
            for block in blocks or [tuple(slice(0, extent) for extent in array.shape)]:
                part = np.ascontiguousarray(array[block])
                start = [s.start for s in block]
                check(SD.SDwritedata(data, numbers(*start), None, numbers(*part.shape), part.tobytes()))
        reference = check(SD.SDidtoref(data))
        check(SD.SDendaccess(data))
        return reference

    @staticmethod
    def set_coding(data, array, chunk, coding, option):
        if chunk is not None:
            definition = ChunkDefinition()
            for d, extent in enumerate(chunk):
                definition.extents[d] = extent
            flags = CHUNKED
            if coding == NBIT:  # start bit, bits, sign extended, filled with ones; the model comes first
                flags = PACKED
                for d, word in enumerate((option - 1, option, 1, 0)):
                    definition.coding[d] = word
            elif coding is not None:
                flags = COMPRESSED
                definition.coding[0] = coding
                for d, word in enumerate(coding_words(coding, option)):
                    definition.coding[2 + d] = word
            check(SD.SDsetchunk(data, definition, flags))
        elif coding == NBIT:
            check(SD.SDsetnbitdataset(data, option - 1, option, 1, 0))
        elif coding is not None:
            info = CodingInfo()
            for d, word in enumerate(coding_words(coding, option)):
                info.words[d] = word
            check(SD.SDsetcompress(data, coding, ctypes.byref(info)))

    def scale(self, name, array, of):
        """The coordinates of dimension 0 of the data set called `of`."""
        data = check(SD.SDselect(self.sd, check(SD.SDnametoindex(self.sd, of.encode()))))
        for d in range(8):
            dim = SD.SDgetdimid(data, d)
            text = ctypes.create_string_buffer(300)
            check(SD.SDdiminfo(dim, text, numbers(0), numbers(0), numbers(0)))
            if text.value == name.encode():
                check(SD.SDsetdimscale(dim, array.size, type_of(array), array.tobytes()))
                break
        check(SD.SDendaccess(data))


class Groups:
    """Vgroups, tables and images of a file that is closed."""

    def __init__(self, path):
        self.file = check(DF.Hopen(path.encode(), 3, 0))
        check(DF.Vinitialize(self.file))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        check(DF.Vfinish(self.file))
        check(DF.Hclose(self.file))

    def group(self, name, class_name="", members=(), attributes=None):
        """`members`: pairs of tag and reference. Returns a pair of its own."""
        group = check(DF.Vattach(self.file, -1, b"w"))
        check(DF.Vsetname(group, name.encode()))
        if class_name:
            check(DF.Vsetclass(group, class_name.encode()))
        for tag, reference in members:
            check(DF.Vaddtagref(group, tag, reference))
        for key, value in (attributes or {}).items():
            set_attribute(group, key, value, DF.Vsetattr)
        reference = check(DF.VQueryref(group))
        check(DF.Vdetach(group))
        return GROUP, reference

    def table(self, name, values):
        table = check(DF.VSattach(self.file, -1, b"w"))
        check(DF.VSsetname(table, name.encode()))
        check(DF.VSfdefine(table, b"value", 24, 1))
        check(DF.VSsetfields(table, b"value"))
        values = np.asarray(values, "<i4")
        check(DF.VSwrite(table, values.tobytes(), values.size, 0))
        check(DF.VSdetach(table))

    def image(self, name, array, attributes=None, compress=False, write=True):
        """`array`: rows, columns, components. `compress`: False, True or "jpeg"."""
        images = check(DF.GRstart(self.file))
        rows, columns, components = array.shape
        image = check(DF.GRcreate(images, name.encode(), components, type_of(array), 0, numbers(columns, rows)))
        if compress:
            info = CodingInfo()
            info.words[0], info.words[1] = (80, 1) if compress == "jpeg" else (6, 0)  # quality, baseline; level
            check(DF.GRsetcompress(image, JPEG if compress == "jpeg" else DEFLATE, ctypes.byref(info)))
        if write:
            check(DF.GRwriteimage(image, numbers(0, 0), None, numbers(columns, rows), array.tobytes()))
        for key, value in (attributes or {}).items():
            set_attribute(image, key, value, DF.GRsetattr)
        check(DF.GRendaccess(image))
        check(DF.GRend(images))


    def read_image(self, index, shape):
        """The bytes that the library decodes, with the components of a pixel together."""
        images = check(DF.GRstart(self.file))
        image = check(DF.GRselect(images, index))
        pixels = np.zeros(shape, "|u1")
        check(DF.GRreqimageil(image, 0))
        check(DF.GRreadimage(image, numbers(0, 0), None, numbers(shape[1], shape[0]), pixels.ctypes.data_as(ctypes.c_void_p)))
        check(DF.GRendaccess(image))
        check(DF.GRend(images))
        return pixels

    def link_image(self, size):
        """Puts the one image of so many bytes into linked blocks."""
        reference = next(number for number in range(1, 100) if DF.Hlength(self.file, RASTER_IMAGE, number) == size)
        access = check(DF.Hstartaccess(self.file, RASTER_IMAGE, reference, 2))
        check(DF.HLconvert(access, 4, 2))
        check(DF.Hendaccess(access))


def struct_metadata(grid, columns, rows, upper_left, lower_right, projection, parameters=(), more=()):
    """The text by which HDF-EOS2 says where a grid lies."""
    lines = ["GROUP=SwathStructure", "END_GROUP=SwathStructure", "GROUP=GridStructure", "\tGROUP=GRID_1",
             f'\t\tGridName="{grid}"', f"\t\tXDim={columns}", f"\t\tYDim={rows}",
             "\t\tUpperLeftPointMtrs=(%f,%f)" % upper_left, "\t\tLowerRightMtrs=(%f,%f)" % lower_right,
             f"\t\tProjection={projection}"]
    if parameters:
        lines.append("\t\tProjParams=(" + ",".join("%f" % p for p in parameters) + ")")
    lines += ["\t\t" + line for line in more]
    lines += ["\t\tGROUP=DataField", "\t\t\tOBJECT=DataField_1", '\t\t\t\tDataFieldName="b01"',
              "\t\t\tEND_OBJECT=DataField_1", "\t\tEND_GROUP=DataField", "\tEND_GROUP=GRID_1", "END_GROUP=GridStructure",
              "END"]
    return "\n".join(lines) + "\n"


SINUSOIDAL = (6371007.181,) + (0,) * 12


def counted(shape, dtype, step=1):
    return (np.arange(int(np.prod(shape))) * step).astype(dtype).reshape(shape)


def write_types(path):
    """Each number type, with attributes, in both byte orders; names and scales of dimensions."""
    with File(path) as file:
        file.attribute("title", "types\0")
        file.attribute("levels", np.array([1, 2, 3], "<i2"))
        for dtype in TYPES:
            if dtype == "|S1":
                continue
            name = np.dtype(dtype).name
            file.dataset(name, counted((2, 3), dtype, 40), ("y", "x"), attributes={"units": "K"})
        file.dataset("little", counted((2, 3), "<i4", 1000), order=LITTLE)
        file.dataset("letters", np.frombuffer(b"abcdef", "|S1").reshape(2, 3))
        file.dataset("a/b", counted((2,), "<i2"))
        file.dataset("int8", counted((2,), "|i1"))  # for the second time
        file.dataset("empty", counted((4,), "<i2"), attributes={"_FillValue": np.array([-9], "<i2")}, write=False)
        file.scale("x", np.array([0.5, 1.5, 2.5]), "float32")
        file.dataset("packed", counted((4,), "<i2"),
                     attributes={"scale_factor": np.array([0.5]), "add_offset": np.array([-10.0])})


def write_chunks(path):
    """Chunks, codings, and a data set that has grown in several pieces."""
    grid = counted((5, 7), "<i4", 3)
    some = [(slice(0, 2), slice(0, 3)), (slice(4, 5), slice(6, 7))]
    with File(path) as file:
        file.dataset("plain", grid, chunk=(2, 3))
        file.dataset("deflate", grid, chunk=(2, 3), coding=DEFLATE)
        file.dataset("sparse", grid, chunk=(2, 3), coding=DEFLATE, blocks=some,
                     attributes={"_FillValue": np.array([-1], "<i4")})
        file.dataset("rle", grid, chunk=(2, 3), coding=RLE)
        file.dataset("skphuff", grid, chunk=(2, 3), coding=SKPHUFF, option=4)
        file.dataset("whole_deflate", grid, coding=DEFLATE)
        file.dataset("whole_rle", grid, coding=RLE)
        file.dataset("whole_nbit", grid, coding=NBIT, option=12)
        file.dataset("grows", grid, unlimited=True, blocks=[(slice(0, 2), slice(0, 7))],
                     block_bytes=60)
        file.dataset("after", grid)
        data = SD.SDselect(file.sd, SD.SDnametoindex(file.sd, b"grows"))
        rest = np.ascontiguousarray(grid[2:])
        check(SD.SDwritedata(data, numbers(2, 0), None, numbers(3, 7), rest.tobytes()))
        check(SD.SDendaccess(data))


def noise_of_rewritten():
    return np.random.default_rng(1).integers(-30000, 30000, (4, 200)).astype("<i2")


def write_rewritten(path):
    """Chunks that were written again, and take more room then: their bytes are in several pieces."""
    noise = noise_of_rewritten()
    with File(path) as file:
        file.dataset("deflate", np.zeros_like(noise), chunk=(2, 200), coding=DEFLATE)
        file.dataset("other", counted((4, 200), "<i2"), chunk=(2, 200), coding=DEFLATE)
    for row in range(4):
        sd = check(SD.SDstart(path.encode(), WRITE))
        data = check(SD.SDselect(sd, 0))
        check(SD.SDwritedata(data, numbers(row, 0), None, numbers(1, 200), noise[row].tobytes()))
        check(SD.SDendaccess(data))
        check(SD.SDend(sd))


def write_grid(path):
    """A grid of HDF-EOS2 as MODIS has it, with a table and a group of no interest."""
    with File(path) as file:
        file.attribute("StructMetadata.0", struct_metadata(
            "MOD_Grid", 6, 4, (-1000.0, 2000.0), (200.0, 1200.0), "GCTP_SNSOID", SINUSOIDAL, ("SphereCode=-1",)))
        band = file.dataset("b01", counted((4, 6), "<i2"), ("YDim:MOD_Grid", "XDim:MOD_Grid"), chunk=(2, 6),
                            coding=DEFLATE, attributes={"_FillValue": np.array([-28672], "<i2")})
        plain = file.dataset("num", counted((4, 6), "|i1"))
        file.dataset("outside", counted((3,), "<i2"))
    with Groups(path) as groups:
        fields = groups.group("Data Fields", "GRID Vgroup", [(DATA_GROUP, band), (DATA_GROUP, plain)])
        more = groups.group("Grid Attributes", "GRID Vgroup")
        groups.group("MOD_Grid", "GRID", [fields, more], {"version": "1"})
        groups.group("again", "", [(DATA_GROUP, band)])
        groups.table("a table", [1, 2, 3])


def write_images(path):
    with File(path):
        pass
    with Groups(path) as groups:
        groups.image("grey", counted((3, 4, 1), "|u1"), {"long_name": "grey"})
        groups.image("colours", counted((3, 4, 3), "<u2"))
        groups.image("deflated", counted((3, 4, 3), "|u1"), compress=True)


def write_unwritten(path):
    """Data sets and an image of which nothing was written."""
    grid = counted((5, 7), "<i4")
    fill = {"_FillValue": np.array([-9], "<i4")}
    with File(path) as file:
        file.dataset("plain", grid, write=False, attributes=fill)
        file.dataset("deflate", grid, coding=DEFLATE, write=False, attributes=fill)
        file.dataset("chunks", grid, chunk=(2, 3), write=False, attributes=fill)
        file.dataset("deflated_chunks", grid, chunk=(2, 3), coding=DEFLATE, write=False, attributes=fill)
    with Groups(path) as groups:
        groups.image("image", counted((3, 4, 1), "|u1"), write=False)
        groups.image("filled", counted((3, 4, 1), "|u1"), {"FillValue": np.array([7], "|u1")}, write=False)
        groups.image("deflated_image", counted((3, 4, 2), "<i2"), {"FillValue": np.array([7, 7], "<i2")}, compress=True,
                     write=False)
        groups.image("several", counted((3, 4, 2), "|u1"), {"FillValue": np.array([7, 8], "|u1")}, compress=True, write=False)


def write_linked(path):
    """An image in linked blocks."""
    with File(path):
        pass
    with Groups(path) as groups:
        groups.image("linked", counted((3, 4, 1), "|u1"))
        groups.link_image(12)


def write_blocks(path):
    """Sets that grew in turn, so that each lies in more blocks than a table has."""
    with File(path) as file:
        sets = []
        for name in ("first", "second"):
            data = check(SD.SDcreate(file.sd, name.encode(), 24, 2, numbers(0, 10)))
            check(SD.SDsetblocksize(data, 40))
            sets.append(data)
        for part in range(40):
            for data in sets:
                rows = counted((4, 10), "<i4") + part * 40
                check(SD.SDwritedata(data, numbers(part * 4, 0), None, numbers(4, 10), rows.astype("<i4").tobytes()))
        for data in sets:
            check(SD.SDendaccess(data))


def write_old_sets(path):
    """Sets of DFSD, with everything that programs before HDF 3.3 wrote of them, and which is no netCDF."""
    if os.path.exists(path):
        os.remove(path)
    DF.DFSDsetcal.argtypes = [ctypes.c_double] * 4 + [ctypes.c_int32]
    name = path.encode()
    check(DF.DFSDclear())
    check(DF.DFSDsetNT(22))
    check(DF.DFSDsetdims(2, numbers(2, 3)))
    check(DF.DFSDsetdatastrs(b"height", b"m", b"I4", b"polar"))
    check(DF.DFSDsetdimstrs(1, b"rows", b"km", b""))
    check(DF.DFSDsetdimscale(1, 2, np.array([10, 20], "<i2").tobytes()))
    check(DF.DFSDsetdimscale(2, 3, np.array([-1, -2, -3], "<i2").tobytes()))
    check(DF.DFSDsetrange(np.array([90], "<i2").tobytes(), np.array([-90], "<i2").tobytes()))
    check(DF.DFSDsetcal(0.5, 0, 4, 0, 22))
    check(DF.DFSDadddata(name, 2, numbers(2, 3), counted((2, 3), "<i2", 7).tobytes()))
    check(DF.DFSDclear())
    check(DF.DFSDsetNT(5))
    check(DF.DFSDsetdims(1, numbers(4)))
    check(DF.DFSDadddata(name, 1, numbers(4), counted((4,), "<f4").tobytes()))
    reference = DF.DFSDlastref()
    check(DF.DFANputlabel(name, DATA_GROUP, reference, b"a label"))
    check(DF.DFANputdesc(name, DATA_GROUP, reference, b"some remark", 11))


def write_old_images(path):
    """Images before GR: of one byte with each compression, and of three in each interlace."""
    if os.path.exists(path):
        os.remove(path)
    name = path.encode()
    rows, columns = np.indices((8, 16))
    flat = np.where((rows + columns // 3) % 2, 240, 16 * (columns // 4)).astype("|u1")
    check(DF.DFR8setpalette(np.repeat(np.arange(256, dtype="|u1"), 3).tobytes()))
    for compress in (0, 11, 12):
        check(DF.DFR8addimage(name, flat.tobytes(), 16, 8, compress))
    pixels = counted((3, 4, 3), "|u1")
    for interlace, order in enumerate(((0, 1, 2), (0, 2, 1), (2, 0, 1))):
        check(DF.DF24setil(interlace))
        check(DF.DF24addimage(name, np.ascontiguousarray(pixels.transpose(order)).tobytes(), 4, 3))


GOLDENS = {"types.hdf": write_types, "chunks.hdf": write_chunks, "grid.hdf": write_grid, "images.hdf": write_images,
           "rewritten.hdf": write_rewritten, "unwritten.hdf": write_unwritten,
           "linked.hdf": write_linked, "blocks.hdf": write_blocks, "old_sets.hdf": write_old_sets,
           "old_images.hdf": write_old_images}

if __name__ == "__main__":
    for golden, write in GOLDENS.items():
        write(os.path.join(sys.argv[1], golden))
