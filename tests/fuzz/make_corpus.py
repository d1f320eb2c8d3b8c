# SPDX-License-Identifier: MIT
"""Writes inputs to begin with for each fuzz target: make_corpus.py FOLDER makes FOLDER/TARGET/*."""
import base64
import bz2
import gzip
import io
import json
import os
import re
import struct
import sys
import tempfile
import zlib

import h5py
import netCDF4
import numcodecs
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mount"))

import dmrpp_writer  # noqa: E402 - its folder is known only now, as those of the next ones
from crc32c import crc32c  # noqa: E402
import grib_messages  # noqa: E402
import icechunk_writer  # noqa: E402
import parquet  # noqa: E402
import hdf4_writer  # noqa: E402
import tiff_files  # noqa: E402
import zarr2 as zarr  # noqa: E402

VALUES = np.arange(48, dtype="<i4").reshape(6, 8)


def put(top, target, name, content):
    os.makedirs(f"{top}/{target}", exist_ok=True)
    with open(f"{top}/{target}/{name}", "wb") as file:
        file.write(content)


def keys_of(folder):
    """Every file below `folder`: its key and bytes."""
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                yield os.path.relpath(path, folder), file.read()


def pack(keys):
    """As store_fuzz.cc reads it."""
    return b"".join(key.encode() + b"\0" + struct.pack("<H", len(value)) + value for key, value in keys
                    if len(value) < 65536)


def v2_stores(folder):
    group = zarr.open_group(f"{folder}/v2", mode="w")
    group.attrs["title"] = "x"
    compressors = {"zlib": numcodecs.Zlib(1), "gzip": numcodecs.GZip(1), "bz2": numcodecs.BZ2(1), "lz4": numcodecs.LZ4(),
                   "zstd": numcodecs.Zstd(1), "lzma": numcodecs.LZMA(), "plain": None,
                   **{f"blosc-{name}": numcodecs.Blosc(name, shuffle=shuffle)
                      for name, shuffle in (("lz4", 1), ("zstd", 2), ("zlib", 0), ("blosclz", 1))}}
    for name, compressor in compressors.items():
        group.create_dataset(name, data=VALUES, chunks=(3, 8), compressor=compressor)
    yield f"{folder}/v2", "v2"
    group = zarr.open_group(f"{folder}/filters", mode="w")
    for number, (kind, chain) in enumerate([
            ("<i4", [numcodecs.Delta("<i4")]), ("<i4", [numcodecs.Shuffle(4)]), ("<i4", [numcodecs.CRC32()]),
            ("<f8", [numcodecs.FixedScaleOffset(0, 1, "<f8", "<i2")]), ("<f8", [numcodecs.Quantize(2, "<f8")]),
            ("<i4", [numcodecs.AsType("<i2", "<i4")]), ("?", [numcodecs.PackBits()]), ("<f4", [numcodecs.BitRound(5)]),
            ("<i4", [numcodecs.Adler32()])]):
        group.create_dataset(f"f{number}", data=VALUES.astype(kind), chunks=(3, 8), filters=chain, compressor=None)
    for name, data, codec in (("text", [f"text {n}" for n in range(8)], numcodecs.VLenUTF8()),
                              ("bytes", [b"x" * n for n in range(8)], numcodecs.VLenBytes()),
                              ("json", ["a", "b"], numcodecs.JSON())):
        group.create_dataset(name, data=np.array(data, object), chunks=3, object_codec=codec)
    yield f"{folder}/filters", "filters"
    zarr.consolidate_metadata(f"{folder}/v2")
    yield f"{folder}/v2", "consolidated"
    n5 = zarr.group(zarr.N5Store(f"{folder}/n5"), overwrite=True)
    n5.create_dataset("gzip", data=VALUES, chunks=(3, 8), compressor=numcodecs.GZip(1))
    n5.create_dataset("raw", data=VALUES, chunks=(4, 5), compressor=None)
    yield f"{folder}/n5", "n5"


def v3_keys(codecs, chunk, shape=(6, 8)):
    document = {"zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": "int32", "fill_value": 0,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shape)}},
                "chunk_key_encoding": {"name": "default"}, "codecs": codecs, "dimension_names": ["y", "x"]}
    return [("zarr.json", b'{"zarr_format": 3, "node_type": "group"}'), ("a/zarr.json", json.dumps(document).encode()),
            ("a/c/0/0", chunk)]


def nczarr_keys():
    """By hand, in the form of netCDF-C 4.9.2: not every build of the library writes it."""
    array = {"zarr_format": 2, "shape": [6, 8], "chunks": [3, 8], "dtype": "<i4", "compressor": None, "filters": None,
             "fill_value": 0, "order": "C", "_nczarr_array": {"dimrefs": ["/y", "/x"], "storage": "chunked"}}
    group = {"zarr_format": 2, "_nczarr_group": {"dims": {"y": 6, "x": {"size": 8, "unlimited": 1}}, "vars": ["a"],
                                                 "groups": []}}
    attributes = {"units": "K", "_ARRAY_DIMENSIONS": ["y", "x"], "_nczarr_attr": {"types": {"units": ">S1"}}}
    return [(".zgroup", json.dumps(group).encode()), ("a/.zarray", json.dumps(array).encode()),
            ("a/.zattrs", json.dumps(attributes).encode()), ("a/0.0", VALUES[:3].tobytes()),
            ("a/1.0", VALUES[3:].tobytes())]


def shard(chunks, checksum, start):
    size = 16 * len(chunks) + 4 * checksum
    at, index = size * start, b""
    for chunk in chunks:
        index += struct.pack("<2Q", at, len(chunk)) if chunk else b"\xff" * 16
        at += len(chunk)
    index += crc32c(index) if checksum else b""
    return index + b"".join(chunks) if start else b"".join(chunks) + index


def shards():
    """As shard_fuzz.cc reads them: style, then the shard."""
    for style in range(16):
        checksum, start, sealed, nested = (bool(style & bit) for bit in (1, 2, 4, 8))
        def inner(count):
            data = np.arange(count, dtype="<i2").tobytes()
            return data + (crc32c(data) if sealed else b"")
        chunk = shard([inner(4), b"", inner(4), inner(4)], checksum, not start) if nested else inner(16)
        yield style, bytes([style]) + shard([chunk, chunk, b"", chunk], checksum, start)


def icechunk_files():
    bytes12 = {"bytes": list(range(12))}
    trees = [{"spec_version": 2, "tags": [], "branches": [{"name": "main", "snapshot_index": 0}], "deleted_tags": [],
              "snapshots": [{"id": bytes12, "parent_offset": -1, "message": ""}], "status": {"availability": 0}},
             {"id": bytes12, "nodes": [icechunk_writer.node("/", 1, icechunk_writer.GROUP)], "message": "",
              "metadata": [], "manifest_files": []},
             {"id": bytes12, "arrays": []}]
    for number, (kind, tree) in enumerate(zip(("repo", "snapshot", "manifest"), trees)):
        contents = icechunk_writer.payload(kind, tree)
        yield bytes([number]) + contents
        yield bytes([number + 3]) + icechunk_writer.file_of(kind, contents)


def kerchunk_documents():
    array = {"zarr_format": 2, "shape": [4, 8], "chunks": [2, 8], "dtype": "<i2", "compressor": None, "filters": None,
             "fill_value": 0, "order": "C"}
    references = {".zgroup": '{"zarr_format": 2}', "a/.zarray": json.dumps(array), "a/0.0": ["bytes.bin", 0, 32],
                  "a/1.0": "base64:" + base64.b64encode(bytes(32)).decode(), "b/.zarray": array, "b/0.0": ["bytes.bin"],
                  "b/1.0": ["{{u}}.bin", 100, 32]}
    yield {"version": 1, "templates": {"u": "bytes"}, "refs": references}
    yield references
    yield {"version": 1, "refs": {**references, "a/0.0": ["../secret", 0, 10], "a/1.0": ["file:///etc/passwd"],
                                  "b/0.0": ["s3://bucket/key", 0, 1]}}
    yield {"version": 1, "refs": references, "gen": [{"key": "a/{{i}}", "url": "x", "dimensions": {"i": [0, 1]}}]}
    rule = {"key": "c/{{i}}.{{j}}", "url": "{{ f(c='byt' ~ 'es') }}.bin", "offset": "{{(i - 1) // 2 * 32 % 4096}}",
            "length": "{{'%02d' | format(32)}}", "dimensions": {"i": {"start": 5, "stop": 1, "step": -2}, "j": [0, 1]}}
    whole = {"key": "b/{{'%d' % i}}.0", "url": "{{u}}.bin", "dimensions": {"i": {"stop": 1}}}
    yield {"version": 1, "templates": {"u": "bytes", "f": "{{c}}"}, "refs": references, "gen": [rule, whole]}
    escape = {"key": "{{u}}a", "url": "{{u}}secret", "offset": "0", "length": "9", "dimensions": {"u": {"stop": 3}}}
    yield {"version": 1, "templates": {"u": "../"}, "refs": {}, "gen": [escape, {**escape, "dimensions": {}}]}


def netcdf_files(folder):
    for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"):
        with netCDF4.Dataset(f"{folder}/a.nc", "w", format=kind) as file:
            file.title = "sound"
            file.createDimension("time", None)
            file.createDimension("x", 8)
            file.createVariable("t", "i4", ("time", "x"))[:] = VALUES
            file.createVariable("x", "f4", ("x",))[:] = np.arange(8)
        with open(f"{folder}/a.nc", "rb") as file:
            yield kind.lower(), file.read()


def codec_inputs():
    """As codec_fuzz.cc reads them: 255, a byte for the limit, the codecs of Zarr v3, NUL, and a chunk."""
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    plain = VALUES.tobytes()
    encoders = {"gzip": ({"level": 1}, numcodecs.GZip(1)), "zstd": ({"level": 1, "checksum": False}, numcodecs.Zstd(1)),
                "blosc": ({"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0},
                          numcodecs.Blosc("lz4", shuffle=1))}
    for name, (configuration, encoder) in encoders.items():
        codecs = [little, {"name": name, "configuration": configuration}]
        yield name, b"\xff\xff" + json.dumps(codecs).encode() + b"\0" + bytes(encoder.encode(plain))
    yield "crc32c", b"\xff\xff" + json.dumps([little, {"name": "crc32c"}]).encode() + b"\0" + plain + crc32c(plain)
    for first in range(80):  # whatever these choose
        for encoder in (numcodecs.Zlib(1), numcodecs.BZ2(1), numcodecs.LZMA(), numcodecs.LZ4(),
                        numcodecs.Blosc("zstd", blocksize=128)):
            yield f"{first}-{encoder.codec_id}", bytes([first, 255]) + bytes(encoder.encode(plain))


def goldens(prefix):
    """Chunks of the tests of codecs whose names begin so."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "backends", "codec", "goldens.h")
    with open(path, encoding="utf-8") as file:
        for name, encoded in re.findall(r'\{"(\w+)", CodecDialect.*\n.*\n +"([0-9a-f]*)"', file.read()):
            if name.startswith(prefix):
                yield name, bytes.fromhex(encoded)


def pictures():
    """Those of the tests of pictures, by name: what picture_fuzz.cc reads, the type in TIFF's words, the samples, and
    the picture alone."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "backends", "codec", "picture_goldens.h")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    columns, rows = map(int, re.search(r"kPictureWidth = (\d+), kPictureHeight = (\d+)", text).groups())
    kinds = ["imagecodecs_jpeg", "imagecodecs_jpeg2k", "imagecodecs_jpegxl", "imagecodecs_lerc", "imagecodecs_png",
             "imagecodecs_webp"]
    types = ["uint8", "uint16", "int16", "float16", "float32", "float64"]
    for name, codec, kind, samples, encoded in re.findall(
            r'\{"(\w+)", "(\w+)", "(\w+)", (\d+),\n((?: +"[^"]*"\n?)*)', text):
        picture = base64.b64decode("".join(re.findall('"([^"]*)"', encoded)))
        # Samples of pixels, with masks.
        choice = bytes([kinds.index(codec), types.index(kind), 4 | 1 << 3, rows, columns, int(samples)])
        yield name, choice + picture, picture


def tables():
    columns = {"path": ("text", [f"f{i // 4}" if i % 3 else None for i in range(20)]), "offset": ("i8", list(range(20))),
               "size": ("i4", [-i for i in range(20)]), "raw": ("bool", [i % 2 == 0 for i in range(20)])}
    for codec in ("none", "zstd", "snappy", "gzip"):
        for version in (1, 2):
            for encoding in ("plain", "delta", "dictionary", "runs"):
                if encoding == "dictionary":
                    columns["raw"] = ("f8", [0.5] * 20)
                yield f"{codec}-{encoding}-{version}", parquet.table(columns, codec, encoding, version, page_rows=9)


def foreign_headers():
    """Numbers of formats in foreign_fuzz.cc, with headers and data."""
    raw = VALUES.tobytes()
    size = f"{VALUES.shape[1]} {VALUES.shape[0]}"
    nrrd = f"NRRD0004\ntype: int\ndimension: 2\nsizes: {size}\nendian: little\n"
    for extra in ("encoding: raw\n", "encoding: raw\nspacings: 1 2\ndata file: a.raw\n",
                  "encoding: raw\ndata file: LIST 2\na.raw\n", "encoding: raw\ndata file: %d 1 2 1\n"):
        yield 0, nrrd + extra + ("" if "file" in extra else "\n"), raw
    yield 0, nrrd + "encoding: gzip\nbyte skip: 0\n\n", gzip.compress(raw)
    yield 0, nrrd + "encoding: bzip2\n\n", bz2.compress(raw)
    meta = f"ObjectType = Image\nNDims = 2\nDimSize = {size}\nElementSpacing = 1 1\nElementType = MET_INT\n"
    for extra in ("LOCAL\n", "a.raw\n", "LIST\na.raw\nb.raw\n", "%d 1 2 1\n"):
        yield 1, meta + "ElementDataFile = " + extra, raw
    yield 1, meta + "CompressedData = True\nElementDataFile = LOCAL\n", zlib.compress(raw)
    yield 2, (f"ENVI\nsamples = {VALUES.shape[1]}\nlines = 2\nbands = 3\ndata type = 3\ninterleave = bil\nbyte order = 0\n"
              "wavelength = { 1, 2, 3 }\nmap info = {UTM, 1, 1, 0, 0, 1, 1, 33, North, units=Meters}\n"), raw
    yield 3, ("DSET ^a.raw\nUNDEF -9\nOPTIONS template yrev\nXDEF 4 LINEAR 0 1\nYDEF 2 LEVELS 1 2\nZDEF 1 LEVELS 1\n"
              "TDEF 3 LINEAR 00Z01JAN2000 1MO\nVARS 2\nv 1 99 x\nw 0 -1,40,2 y\nENDVARS\n"), raw
    yield 4, "DATA_FILE: a.raw\nDATA_SIZE: 4 4 3\nDATA_FORMAT: INT\nVARIABLE: v\nBRICK_SIZE: 1 1 1\n", raw
    cards = ["SIMPLE  = T", "BITPIX  = 16", "NAXIS   = 1", "NAXIS1  = 9", "BZERO   = 32768", "CRVAL1  = 1.0", "CDELT1  = 2.0", "END"]
    table = ["XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 8", "NAXIS2  = 2", "PCOUNT  = 0", "GCOUNT  = 1",
             "TFIELDS = 2", "TFORM1  = '2I'", "TZERO1  = 32768", "TFORM2  = '4A'", "END"]
    # Without data, as longer inputs are cut.
    empty = ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 0", "END"]
    blocks = ["".join(card.ljust(80) for card in unit).ljust(2880) for unit in (cards, table, empty)]
    yield 5, blocks[0], raw[:18]
    yield 5, blocks[2] + blocks[1], raw[:16]
    for compression, tile in (("GZIP_1", gzip.compress(raw[:8], mtime=0)), ("GZIP_2", gzip.compress(raw[:8], mtime=0)),
                              ("RICE_1", bytes(range(12))), ("PLIO_1", struct.pack(">6H", 0, 0, 5, 0x4002, 0x6001, 0x0001))):
        cards = ["XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 8", "NAXIS2  = 2", f"PCOUNT  = {len(tile)}",
                 "GCOUNT  = 1", "TFIELDS = 1", "TTYPE1  = 'COMPRESSED_DATA'", "TFORM1  = '1PB'", "ZIMAGE  = T",
                 f"ZCMPTYPE= '{compression}'", "ZBITPIX = 16", "ZNAXIS  = 1", "ZNAXIS1 = 8", "ZTILE1  = 4", "END"]
        rows = struct.pack(">4I", len(tile), 0, len(tile), 0)
        yield 5, blocks[2] + "".join(card.ljust(80) for card in cards).ljust(2880), rows + tile
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 2, 4, 3, 1, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 8, 32)
    struct.pack_into("<9f", header, 76, *[1] * 8, 352)
    for kind, magic in ((6, b"n+1\0"), (7, b"ni1\0")):
        header[344:348] = magic
        yield kind, header.decode("latin-1"), raw
    yield 8, (" nDims = [ 2 ];\n dimList = [ 4, 1, 4, 3, 1, 3 ];\n dataprec = [ 'float32' ];\n nrecords = [ 2 ];\n"
              " nFlds = [ 2 ];\n fldList = { 'U' 'V' };\n"), raw


def remote_answers():
    """As remote_fuzz.cc reads it."""
    listed = ("<Contents><Key>d/a%20b</Key><Size>5</Size><ETag>&quot;e&quot;</ETag>"
              "<LastModified>2015-10-21T07:28:00.000Z</LastModified></Contents>"
              "<CommonPrefixes><Prefix>d/c/</Prefix></CommonPrefixes>")
    yield "json", 'j[{"name":"a","type":"file","mtime":"Wed","size":1},{"name":"b","type":"directory"}]'
    yield "html", 'h<html><head><title>Index of /d/</title></head><a href="../">..</a><a href="a%20b">a</a><a href="c/">c</a>'
    yield "apache", 'h<h1>Index of /d</h1><a href="?C=N;O=D">Name</a><a href="x&amp;y.nc">x</a>'
    yield "list", "l<ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'><EncodingType>url</EncodingType>" \
        f"<IsTruncated>false</IsTruncated>{listed}</ListBucketResult>"
    yield "page", "l<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>" \
        f"{listed}<Contents><Key>d/c</Key><Size>1</Size></Contents></ListBucketResult>"
    yield "error", "d<Error><Code>RequestTimeTooSkewed</Code><Message>m</Message><Region>eu-west-1</Region>" \
        "<ServerTime>2013-05-24T01:00:00Z</ServerTime></Error>"
    yield "role", "d<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>a" \
        "</AccessKeyId><SecretAccessKey>b</SecretAccessKey><SessionToken>c</SessionToken><Expiration>2013-05-24T01:00:00Z" \
        "</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
    yield "blobs", 'a<?xml version="1.0"?><EnumerationResults><Blobs><Blob><Name Encoded="true">d%01</Name><Properties>' \
        "<Last-Modified>Wed, 21 Oct 2015 07:28:00 GMT</Last-Modified><Etag>0x8D</Etag><Content-Length>5</Content-Length>" \
        "<ResourceType>directory</ResourceType></Properties></Blob><BlobPrefix><Name>e/</Name></BlobPrefix></Blobs>" \
        "<NextMarker>m</NextMarker></EnumerationResults>"
    yield "token", 'k{"access_token": "a", "expires_in": "3600", "token_type": "Bearer"}'
    yield "sas", "ksv=2023-11-03&se=2024-05-01T10%3A20Z&sr=c&sp=rl&sig=a%2Bb%3D"
    for number, place in enumerate(("az://data/a%20/b", "abfs://data@acct.dfs.core.windows.net/a b",
                                    "https://acct.blob.core.windows.net/data/a%20b?sv=1&sig=x")):
        yield f"place{number}", "k" + place
    yield "rules", "ys3://bucket/:\n  endpoint: https://host\n  region: eu-1\ngs://bucket/a:\n  anonymous: true\n  token-file: ~/t\n"
    for number, url in enumerate(("https://user:p%40ss@Example.org:8443/a/../b%20c?x=1#f", "http://[::1]:80/", "s3://bucket/a",
                                  "http://%2568ost/", "../other?x=1", "//host/path")):
        yield f"url{number}", "u" + url
    for number, header in enumerate(("bytes 0-99/1234", "bytes */5", "Wed, 21 Oct 2015 07:28:00 GMT", "2013-05-24T10:20:30.000Z")):
        yield f"header{number}", "t" + header
    yield "signature", "s/data/a%20b?list-type=2&prefix=x\nAWS4-HMAC-SHA256 Credential=key/20130524/r/s3/aws4_request, " \
        "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=00"


def ncml_documents():
    """What is between <netcdf and </netcdf>: aggregations of the files that ncml_fuzz.cc has."""
    files = '<netcdf location="p.ndl.yaml" {}/><netcdf location="d/q.ndl.yaml" {}/>'
    yield '><aggregation type="joinExisting" dimName="t">' + files.format('ncoords="2"', 'ncoords="2"') + "</aggregation>"
    yield ('><aggregation type="joinExisting" dimName="t" timeUnitsChange="true"><scan location="." suffix=".ndl.yaml"/>'
           "</aggregation>")
    yield ('><aggregation type="joinNew" dimName="r"><variableAgg name="v"/>'
           + files.format('coordValue="1"', 'coordValue="b"') + "</aggregation>")
    yield '><aggregation type="union">' + files.format("", "") + "</aggregation>"
    yield (' location="p.ndl.yaml"><attribute name="a" type="float" value="1 2"/><dimension name="x" length="2"/>'
           '<variable name="x" shape="x" type="short"><values start="1" increment="2"/></variable>'
           '<variable name="v" type="short"><attribute name="b" value="c d" separator=" "/></variable>')


def hdf5_files():
    """Small files of both generations, with every index of chunks, a dense group, and all kinds of elements."""
    for version in ("earliest", "latest"):
        buffer = io.BytesIO()
        with h5py.File(buffer, "w", libver=version) as file:
            for number, (shape, most) in enumerate((((6,), None), ((6, 4), (None, 4)), ((6, 4), (None, None)))):
                file.create_dataset(f"d{number}", shape, "<i2", chunks=(2,) * len(shape), maxshape=most, compression="gzip")[...] = 1
            file["text"] = "hello"
            file.create_dataset("struct", (2,), [("a", "<i4"), ("s", h5py.string_dtype()), ("r", h5py.ref_dtype)])
            for number in range(10):
                file[f"g/n{number}"] = number
                file.attrs[f"a{number}"] = number
        yield version, buffer.getvalue()


def dmrpp_documents():
    """Documents of DMR++, and the data files that they are about, but for the signature."""
    def variable(kind, inside, dims='<Dim name="/x"/>'):
        return f'<{kind} name="v">{dims}{inside}</{kind.split()[0]}>'

    def chunks(inside, attributes=""):
        return f'<dmrpp:chunks fillValue="-1" byteOrder="BE"{attributes}>{inside}</dmrpp:chunks>'

    chunk = '<dmrpp:chunk offset="{}" nBytes="{}" chunkPositionInArray="[{}]" fm="{}"/>'.format
    extents = "<dmrpp:chunkDimensionSizes>4</dmrpp:chunkDimensionSizes>"
    values = np.arange(4, dtype=">i2").tobytes()
    packed = zlib.compress(values)
    for kind, inside, data in (
            ("Int16", chunks(chunk(8, 8, 0, 0).replace(' chunkPositionInArray="[0]"', "")), values),
            ("Int16", chunks(extents + chunk(8, len(packed), 0, 0), ' compressionType="deflate"'), packed),
            ("Int16", chunks(extents + chunk(8, 8, 0, 3), ' compressionType="shuffle deflate"'), values),
            ("Int16", chunks('<dmrpp:block offset="8" nBytes="4"/><dmrpp:block offset="16" nBytes="4" href="b.bin"/>'), values),
            ("Int16", "<dmrpp:compact>AAABAAIAAwA=</dmrpp:compact>", b""),
            ("Int16", f"<dmrpp:missingdata>{base64.b64encode(packed).decode()}</dmrpp:missingdata>", b""),
            ("String", '<dmrpp:vlsa><v>a</v><v c="2">b</v><v s="8">'
                       + base64.b64encode(zlib.compress(b"cccccccc")).decode() + "</v></dmrpp:vlsa>", b""),
            ("String", '<dmrpp:FixedLengthStringArray string_length="2" pad="space_pad"/>'
                       + '<dmrpp:chunk offset="8" nBytes="8"/>', b"ab c d  "),
            ("Structure", '<Byte name="b"/><Enum name="a" enum="/e"><Dim size="1"/></Enum>'
                          + chunks(chunk(8, 16, 0, 0).replace(' chunkPositionInArray="[0]"', ""), ' structOffset="2 4"'), b"a" * 16),
            ('Enum enum="/e"', chunks(extents + chunk(8, 8, 0, 0)), values),
            ("Float32", '<dmrpp:chunks fillValue="9.96921e+36"/>', b"")):
        text = dmrpp_writer.document(
            ['<Dimension name="x" size="4"/>', '<Enumeration name="e" basetype="Int16"><EnumConst name="a" value="-1"/></Enumeration>',
             '<Attribute name="a" type="Float32"><Value>1.5</Value><Value>2</Value></Attribute>',
             '<Group name="g">' + variable(kind, inside) + '<Attribute name="c" type="Container"/></Group>',
             variable(kind, inside)])
        yield text.encode() + b"\xfe" + data


def aggregations():
    """Attributes of an aggregation variable, of the files that cfa_fuzz.cc has."""
    yield "location: n file: f address: v"
    yield "map: /n uris: s identifiers: v"
    parts = [{"index": [i], "location": [[2 * i, 2 * i + 1]], "subarray": {"file": "p.ndl.yaml", "ncvar": "t", "shape": [2]}}
             for i in range(2)]
    yield "j" + json.dumps({"base": "", "pmshape": [2], "pmdimensions": ["x"], "Partitions": parts})


def grib_files():
    values = np.arange(6).reshape(2, 3)
    one = grib_messages.message(values)
    yield "one", one
    yield "levels", one + grib_messages.message(values, level=100000) + one
    yield "interval", grib_messages.message(values, category=1, number=8, surface=1, hours=6, length=6)
    yield "packed", grib_messages.message(values, bits=4)
    size = len(one)
    yield "sidecar", one + grib_messages.message(values, level=100000) + grib_messages.message(values, hours=6) + (
        b"\xfe1:0:d=2025010100:TMP:500 mb:anl:\n2:%d:d=2025010100:TMP:1000 mb:anl:\n"
        b"3:%d:d=2025010100:TMP:500 mb:6 hour fcst:\n" % (size, 2 * size))
    lines = (b'{"date": "20250101", "time": "0000", "step": "%d", "param": "t", "_offset": %d, "_length": %d}\n' %
             (step, step // 6 * size, size) for step in (0, 6))
    yield "index", one + grib_messages.message(values, hours=6) + b"\xfe" + b"".join(lines)
    yield "submessages", grib_messages.whole(
        grib_messages.IDENTIFICATION + grib_messages.grid(3, 2) + grib_messages.field(values, category=2, number=2) +
        grib_messages.field(values, category=2, number=3)) + b"\xfe1:0:d=2025010100:TMP:\n2:100:d=\n"


def tiff_seeds():
    pixels = np.arange(60, dtype="u1").reshape(6, 10)
    yield "plain", tiff_files.image(pixels, 4)
    yield "deflate", tiff_files.image(pixels.astype("<u2"), 4, zlib.compress, t259=(3, [8]), t317=(3, [2]))
    yield "floats", tiff_files.image(pixels.astype("<f4"), 6, zlib.compress, t259=(3, [8]), t317=(3, [3]))
    # A code of 9 bits that clears, one byte, and the end.
    yield "lzw", tiff_files.image(pixels[:1, :1], 1, lambda strip: bytes([0x80, 0, 0x60, 0x20]), t259=(3, [5]))
    yield "packbits", tiff_files.image(pixels, 6, lambda strip: b"\x3b" + strip, t259=(3, [32773]))
    yield "bits", tiff_files.image(pixels, 6, t258=(3, [4]))
    yield "place", tiff_files.image(pixels, 6, **tiff_files.PLACE, t42113=(2, b"-1\0"), t42112=(
        2, b'<GDALMetadata><Item name="SCALE" sample="0" role="scale">0.5</Item></GDALMetadata>\0'))
    yield "imagej", tiff_files.image(pixels[:2], 2, t270=(2, b"ImageJ=1\nimages=3\nslices=3\n\0"), t257=(4, [1]))
    ome = (b'<OME UUID="u"><Image Name="n"><Pixels DimensionOrder="XYZCT" SizeX="10" SizeY="6" SizeZ="1" SizeC="1" SizeT="2" '
           b'PhysicalSizeX="2"><Channel Name="c"/><TiffData IFD="0" PlaneCount="1"><UUID>u</UUID></TiffData></Pixels></Image></OME>\0')
    yield "ome", tiff_files.image(pixels, 6, t270=(2, ome), t306=(2, b"2020:01:03 10:11:12\0"))
    writer = tiff_files.Writer()
    at = writer.data(pixels.tobytes())
    small = writer.directory(tiff_files.fields_of(pixels[:3, :5], [at], [15], 3), linked=False)
    for kind in 0, 1, 4:
        writer.directory(tiff_files.fields_of(pixels, [at], [60], 6, t254=(4, [kind]), t330=(13, [small])))
    yield "pages", bytes(writer.content)


def mrc_seeds():
    header = bytearray(1024)
    struct.pack_into("<10i", header, 0, 3, 2, 4, 2, 1, 2, 3, 3, 2, 4)
    struct.pack_into("<3f", header, 40, 6, 4, 8)
    struct.pack_into("<3i", header, 64, 1, 2, 3)
    struct.pack_into("<2i", header, 88, 1, 8)
    header[208:216] = b"MAP DD\0\0"
    yield "volume", bytes(header) + bytes(8) + bytes(range(96))
    struct.pack_into("<i", header, 88, 401)
    struct.pack_into("<i", header, 36, 2)
    yield "stack", bytes(header) + bytes(8) + bytes(range(96))


def precomputed_seeds():
    def info(size, kind="uint8", **more):
        scale = {"key": "k", "size": size, "chunk_sizes": [[4, 4, 4]], "resolution": [1, 1, 1], "encoding": "raw", **more}
        return json.dumps({"data_type": kind, "num_channels": 1, "scales": [scale]}).encode() + b"\xff"

    sharding = {"@type": "neuroglancer_uint64_sharded_v1", "hash": "identity", "preshift_bits": 0, "minishard_bits": 0,
                "shard_bits": 0}
    yield "raw", info([4, 4, 4]) + bytes(range(64))
    yield "gzip", info([8, 4, 4]) + gzip.compress(bytes(range(64)))
    index = struct.pack("<6Q", 0, 1, 0, 0, 64, 64)
    shard = struct.pack("<QQ", 128, 128 + len(index)) + bytes(range(128)) + index
    yield "shard", info([8, 4, 4], sharding=sharding) + shard
    packed = gzip.compress(index)
    shard = struct.pack("<QQ", 128, 128 + len(packed)) + bytes(range(128)) + packed
    yield "gzip-shard", info([8, 4, 4], sharding={**sharding, "minishard_index_encoding": "gzip"}) + shard
    block = {"encoding": "compressed_segmentation", "compressed_segmentation_block_size": [4, 4, 4]}
    yield "labels", info([4, 4, 4], "uint32", **block) + struct.pack("<7I", 1, 4 | 1 << 24, 2, 0x55555555, 0xAAAAAAAA, 7, 9)


def hdf4_seeds():
    for projection in "GCTP_GEO", "GCTP_SNSOID", "GCTP_PS", "GCTP_UTM":
        text = hdf4_writer.struct_metadata("g", 6, 4, (-1000.0, 2000.0), (200.0, 1200.0), projection,
                                           hdf4_writer.SINUSOIDAL, ("ZoneCode=33", "GridOrigin=HDFE_GD_LL"))
        yield projection, text.encode()
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "hdf4")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            yield name, file.read()
    # Elements that are compressed: the coding, its parameters, and bytes.
    for coding, parameters in enumerate((b"", b"", struct.pack(">IHHII", 24, 1, 0, 11, 12), struct.pack(">II", 4, 0), b"",
                                         struct.pack(">IIIBB", 64, 16, 0x10014, 32, 8))):
        yield f"coding-{coding}", bytes([coding]) + parameters.ljust(19, b"\0") + bytes(range(200))


def make_all(top):
    for name, content in hdf4_seeds():
        put(top, "hdf4_fuzz", name, content)
    for name, content in precomputed_seeds():
        put(top, "precomputed_fuzz", name, content)
    for name, content in mrc_seeds():
        put(top, "mrc_fuzz", name, content)
    strips = {7: "JpegGrey", 34712: "Jpeg2000", 34887: "LercBytes", 50002: "JpegXl"}
    for name, content, picture in pictures():
        put(top, "picture_fuzz", name, content)
        for compression in (number for number, golden in strips.items() if golden == name):
            put(top, "tiff_fuzz", name, tiff_files.image(
                np.zeros((11, 17), "u1"), 11, lambda strip, picture=picture: picture, t259=(3, [compression])))
    for name, content in tiff_seeds():
        put(top, "tiff_fuzz", name, content)
    for name, content in grib_files():
        put(top, "grib_store_fuzz", name, content)
    for number, (kind, header, data) in enumerate(foreign_headers()):
        in_one_file = kind in (5, 6) or "\n\n" in header or "LOCAL" in header
        middle = b"" if in_one_file else b"\xff"
        put(top, "foreign_fuzz", str(number), bytes([kind]) + header.encode("latin-1") + middle + data)
    with tempfile.TemporaryDirectory() as folder:
        for path, name in v2_stores(folder):
            keys = list(keys_of(path))
            put(top, "store_fuzz", name, pack(keys))
            for array in sorted({os.path.dirname(key) for key, _ in keys if key.endswith((".zarray", "butes.json"))}):
                alone = [(key, value) for key, value in keys if os.path.dirname(key) in ("", array)]
                put(top, "store_fuzz", f"{name}-{array}", pack(alone))
        for name, content in netcdf_files(folder):
            put(top, "netcdf3_fuzz", name, content)
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    put(top, "store_fuzz", "v3", pack(v3_keys([little, {"name": "crc32c"}], VALUES.tobytes() + crc32c(VALUES.tobytes()))))
    put(top, "store_fuzz", "v3-transposed", pack(v3_keys(
        [{"name": "transpose", "configuration": {"order": [1, 0]}}, little,
         {"name": "gzip", "configuration": {"level": 1}}], numcodecs.GZip(1).encode(VALUES.T.tobytes()))))
    put(top, "store_fuzz", "nczarr", pack(nczarr_keys()))
    for style, content in shards():
        put(top, "shard_fuzz", str(style), content)
    for name, content in codec_inputs():
        put(top, "codec_fuzz", name, content)
    for name, frame in goldens("Hdf5Blosc2"):
        put(top, "blosc2_fuzz", name, b"\xff" + frame)
    for name, content in tables():
        put(top, "parquet_fuzz", name, content)
    for name, answer in remote_answers():
        put(top, "remote_fuzz", name, answer.encode())
    for number, document in enumerate(kerchunk_documents()):
        put(top, "kerchunk_fuzz", str(number), json.dumps(document).encode())
    for number, contents in enumerate(icechunk_files()):
        put(top, "icechunk_fuzz", str(number), contents)
    for number, text in enumerate(("tag=v1", "branch=a/b", "snapshot=1CECHNKREP0F1RSTCMT0", "at=2026-05-01",
                                   "at=2026-05-01T12:30Z", "at=2026-05-01 12:30:15.25,tag=v1")):
        put(top, "icechunk_ref_fuzz", str(number), text.encode())
    for number, text in enumerate(aggregations()):
        put(top, "cfa_fuzz", str(number), (text if text.startswith("j") else "t" + text).encode())
    for number, contents in enumerate(ncml_documents()):
        document = f'<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2"{contents}</netcdf>'
        put(top, "ncml_fuzz", str(number), document.encode())
    for number, document in enumerate(dmrpp_documents()):
        put(top, "dmrpp_fuzz", str(number), document)
    for name, content in hdf5_files():
        put(top, "hdf5_fuzz", name, content)
    for name, array in {"plain": VALUES, "struct": np.zeros(3, [("a", "<i4"), ("b", "S3", (2,))])}.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        put(top, "npy_fuzz", name, buffer.getvalue())
    for name, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
        buffer = io.BytesIO()
        save(buffer, a=VALUES, b=np.arange(3))
        put(top, "zip_fuzz", name, buffer.getvalue())
    array = {"zarr_format": 2, "shape": [6, 8], "chunks": [3, 8], "dtype": "<i4", "compressor": {"id": "zlib", "level": 1},
             "filters": None, "fill_value": 0, "order": "C"}
    put(top, "zarr_metadata_fuzz", "v2", b"2" + json.dumps(array).encode() + b"\0" + zlib.compress(VALUES[:3].tobytes()))
    put(top, "zarr_metadata_fuzz", "v3", b"3" + dict(v3_keys([little], b""))["a/zarr.json"] + b"\0" + VALUES.tobytes())
    for name, lines in {"ranges": ("/a%20b/data%5B0%5D.npy?x=1&token=0123456789", "bytes=0-9,20-,-5", '"a", W/"b"', "[::1]:80",
                                   "Basic YTowMTIzNDU2Nzg5"),
                        "cookie": ("http://example.org/data/", "bytes=-", "Sun, 06 Nov 1994 08:49:37 GMT", "localhost",
                                   "a=b; ndlfs-token=0123456789")}.items():
        put(top, "http_request_fuzz", name, "\n".join(lines).encode())
    for number, text in enumerate(("t2m[0:2:10][3],time", "t2m.lat[0:4],a%20b", "x[18446744073709551615]",
                                   "/g/t2m[0:2:10][3][];/a\\;b[2:]")):
        put(top, "dap_fuzz", str(number), text.encode())
    put(top, "ndl_fuzz", "group", b"%YAML 1.2\n---\nname: a\ngroups:\n- name: b\n  ndarrays:\n  - name: c\n    type: int32\n"
                                  b"    shape: [3]\n    value: [1, 2, 3]\n")


if __name__ == "__main__":
    make_all(sys.argv[1])
