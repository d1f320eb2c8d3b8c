# SPDX-License-Identifier: MIT
"""Writes the DMR++ document of an HDF5 file, as Hyrax' build_dmrpp does: from what h5py tells of its chunks."""

import base64
import zlib
from xml.sax.saxutils import escape, quoteattr

import h5py
import numpy as np

TYPES = {"i1": "Int8", "u1": "UInt8", "i2": "Int16", "u2": "UInt16", "i4": "Int32", "u4": "UInt32", "i8": "Int64",
         "u8": "UInt64", "f4": "Float32", "f8": "Float64"}
FILTERS = {1: "deflate", 2: "shuffle", 3: "fletcher32"}
HIDDEN = ("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties",
          "_nc3_strict")
NAMESPACES = ('xmlns="http://xml.opendap.org/ns/DAP/4.0#" '
              'xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#"')


def type_of(dtype):
    if dtype.kind in "SO":
        return "String"
    return TYPES[dtype.str[1:]]


def number(value, dtype):
    """As attributes have it: with all digits."""
    if dtype.kind == "f":
        return f"%.{9 if dtype.itemsize == 4 else 17}g" % value
    return str(value)


def attributes(item):
    lines = []
    for name, value in item.attrs.items():
        if name in HIDDEN:
            continue
        values = np.atleast_1d(value)
        if values.dtype.kind in "SUO":
            texts = [v.decode() if isinstance(v, bytes) else str(v) for v in values]
            kind = "String"
        else:
            texts = [number(v, values.dtype) for v in values]
            kind = type_of(values.dtype)
        inside = "".join(f"<Value>{escape(text)}</Value>" for text in texts)
        lines.append(f"<Attribute name={quoteattr(name)} type=\"{kind}\">{inside}</Attribute>")
    return lines


def is_scale(item):
    return isinstance(item, h5py.Dataset) and item.ndim == 1 and h5py.h5ds.is_scale(item.id)


def dimensions_of(dataset):
    if is_scale(dataset):
        return [f"<Dim name={quoteattr(dataset.name)}/>"]
    lines = []
    for axis, size in enumerate(dataset.shape):
        scales = dataset.dims[axis].values() if len(dataset.dims[axis]) else []
        named = f"name={quoteattr(scales[0].name)}" if scales else f"size=\"{size}\""
        lines.append(f"<Dim {named}/>")
    return lines


def fill_of(dataset):
    value = dataset.fillvalue
    if dataset.dtype.kind == "f":
        return "%g" % value
    return value.decode() if isinstance(value, bytes) else str(value)


def runs(texts):
    counted = []
    for text in texts:
        if counted and counted[-1][0] == text:
            counted[-1][1] += 1
        else:
            counted.append([text, 1])
    return counted


def value_element(text, count):
    counted = f' c="{count}"' if count > 1 else ""
    if len(text) <= 300:
        return f"<v{counted}>{escape(text.decode())}</v>"
    packed = base64.b64encode(zlib.compress(text)).decode()
    return f'<v{counted} s="{len(text)}">{packed}</v>'


def variable_texts(dataset):
    texts = np.atleast_1d(dataset[()]).ravel()
    texts = [text if isinstance(text, bytes) else text.encode() for text in texts]
    if dataset.shape == ():
        return [f"<dmrpp:compact>{base64.b64encode(texts[0]).decode()}</dmrpp:compact>"]
    return ["<dmrpp:vlsa>" + "".join(value_element(*run) for run in runs(texts)) + "</dmrpp:vlsa>"]


def chunk_elements(dataset):
    """Each chunk: its offset in the file, its bytes, its filter mask, its first element."""
    lines = []
    for i in range(dataset.id.get_num_chunks()):
        info = dataset.id.get_chunk_info(i)
        mask = f' fm="{info.filter_mask}"' if info.filter_mask else ""
        position = ",".join(map(str, info.chunk_offset))
        lines.append(f'<dmrpp:chunk offset="{info.byte_offset}" nBytes="{info.size}"{mask} '
                     f'chunkPositionInArray="[{position}]"/>')
    return lines


def place(dataset):
    """The elements that say where the elements of a dataset are."""
    if dataset.dtype.kind == "O":
        return variable_texts(dataset)
    lines = []
    creation = dataset.id.get_create_plist()
    layout = creation.get_layout()
    if dataset.dtype.kind == "S" and dataset.shape != ():
        padding = {h5py.h5t.STR_NULLTERM: "null_term", h5py.h5t.STR_NULLPAD: "null_pad",
                   h5py.h5t.STR_SPACEPAD: "space_pad"}[dataset.id.get_type().get_strpad()]
        lines.append(f'<dmrpp:FixedLengthStringArray string_length="{dataset.dtype.itemsize}" pad="{padding}"/>')
    if layout == h5py.h5d.COMPACT:
        native = dataset.dtype.newbyteorder("=")
        packed = base64.b64encode(np.asarray(dataset[()], native).tobytes()).decode()
        return lines + [f"<dmrpp:compact>{packed}</dmrpp:compact>"]
    filters = [creation.get_filter(i) for i in range(creation.get_nfilters())]
    head = f" fillValue={quoteattr(fill_of(dataset))}"
    if filters:
        head += f' compressionType="{" ".join(FILTERS[f[0]] for f in filters)}"'
        levels = [str(f[2][0]) for f in filters if f[0] == 1]
        head += f' deflateLevel="{" ".join(levels)}"' if levels else ""
    if dataset.dtype.kind in "iuf" and dataset.dtype.itemsize > 1:
        head += ' byteOrder="BE"' if dataset.dtype.str[0] == ">" else ' byteOrder="LE"'
    lines.append(f"<dmrpp:chunks{head}>")
    if layout == h5py.h5d.CHUNKED:
        extents = " ".join(map(str, dataset.chunks))
        lines.append(f"<dmrpp:chunkDimensionSizes>{extents}</dmrpp:chunkDimensionSizes>")
        lines += chunk_elements(dataset)
    elif dataset.id.get_offset() is not None:
        lines.append(f'<dmrpp:chunk offset="{dataset.id.get_offset()}" nBytes="{dataset.id.get_storage_size()}"/>')
    return lines + ["</dmrpp:chunks>"]


def variable(dataset, name, place=place):
    kind = type_of(dataset.dtype)
    return [f"<{kind} name={quoteattr(name)}>", *dimensions_of(dataset), *attributes(dataset), *place(dataset),
            f"</{kind}>"]


def group(item):
    lines = []
    for name, child in item.items():
        if is_scale(child):
            lines.append(f'<Dimension name={quoteattr(name)} size="{child.shape[0]}"/>')
    for name, child in item.items():
        if isinstance(child, h5py.Group):
            lines += [f"<Group name={quoteattr(name)}>", *group(child), "</Group>"]
        elif not child.attrs.get("NAME", b"").startswith(b"This is a netCDF dimension but not"):
            lines += variable(child, name)
    return lines + attributes(item)


def document(lines, href="OPeNDAP_DMRpp_DATA_ACCESS_URL", version="3.21.1"):
    stated = f' dmrpp:version="{version}"' if version else ""
    return "\n".join(['<?xml version="1.0" encoding="ISO-8859-1"?>',
                      f'<Dataset {NAMESPACES} dapVersion="4.0" dmrVersion="1.0" name="data" '
                      f'dmrpp:href={quoteattr(href)}{stated}>', *lines, "</Dataset>", ""])


def describe(path, **options):
    """The text of the document of the HDF5 file at `path`."""
    with h5py.File(path, "r") as file:
        return document(group(file), **options)


def write(path, target=None, **options):
    with open(target or f"{path}.dmrpp", "w", encoding="latin-1", errors="xmlcharrefreplace") as out:
        out.write(describe(path, **options))
