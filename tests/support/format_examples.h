// SPDX-License-Identifier: MIT
//
// One small store of each format, in memory: what all of them show is the group
// "/" with an array "a" of the elements of ExampleElements(), or that array
// alone at "/"; where a format has groups, "/g/b" is one more.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/grib_builder.h"
#include "tests/support/icechunk_files.h"
#include "tests/support/memory_source.h"
#include "tests/support/mrc_builder.h"
#include "tests/support/reference_tables.h"
#include "tests/support/tiff_builder.h"
#include "tests/support/zip_builder.h"

namespace ndlfs::test {

// The array has two chunks, each much larger than any metadata.
inline constexpr uint32_t kExampleExtent = 131'072;
inline constexpr uint32_t kExampleChunk = kExampleExtent / 2;
inline constexpr uint64_t kExampleChunkBytes = uint64_t{kExampleChunk} * 4;

inline uint32_t ExampleElement(uint32_t i) { return i * 2'654'435'761u; }

inline std::string BigEndian(uint64_t value, int bytes) {
  std::string text = LittleEndian(value, bytes);
  return {text.rbegin(), text.rend()};
}

// `count` elements (int32) from number `begin` on.
inline std::string ExampleElements(uint32_t begin, uint32_t count, bool is_big = false) {
  std::string bytes;
  bytes.reserve(size_t{count} * 4);
  for (uint32_t i = begin; i < begin + count; ++i) {
    bytes += is_big ? BigEndian(ExampleElement(i), 4) : LittleEndian(ExampleElement(i), 4);
  }
  return bytes;
}
inline std::string ExampleElements() { return ExampleElements(0, kExampleExtent); }
inline std::string ExampleChunk(int chunk, bool is_big = false) {
  return ExampleElements(static_cast<uint32_t>(chunk) * kExampleChunk, kExampleChunk, is_big);
}

struct FormatExample {
  std::string format;  // Format::name()
  std::string path;    // of the store
  // Puts the store into a source. The metadata of "/" are in the file
  // `metadata` of it.
  void (*put)(MemorySource& source);
  std::string metadata;
  bool has_group = true;       // otherwise the array is at "/"
  bool has_subgroup = true;    // "/g/b" is there
  bool has_large_data = true;  // otherwise the array has the first 4 elements
  // Of the elements, whose bytes are those of int32.
  std::string type = "int32";
  std::vector<std::string> coordinates = {};  // arrays beside "a", sorted
  // Where the format has names of its own: the group of the array, and its name.
  std::string folder = "/";
  std::string array = "a";
  // Metadata that are written again as they were are another version.
  bool touch_is_change = true;
};

inline void PrintTo(const FormatExample& example, std::ostream* out) {
  *out << example.format << " in " << example.path;
}

inline void PutZarr2Array(const std::string& path, MemorySource& source) {
  source.Put(path + "/.zarray",
             R"({"zarr_format": 2, "shape": [131072], "chunks": [65536], "dtype": "<i4",)"
             R"( "order": "C", "compressor": null, "filters": null, "fill_value": 0})");
  source.Put(path + "/0", ExampleChunk(0));
  source.Put(path + "/1", ExampleChunk(1));
}

inline void PutZarr2(MemorySource& source) {
  source.Put("v2.zarr/.zgroup", R"({"zarr_format": 2})");
  PutZarr2Array("v2.zarr/a", source);
  source.Put("v2.zarr/g/.zgroup", R"({"zarr_format": 2})");
  PutZarr2Array("v2.zarr/g/b", source);
}

inline void PutZarr3Array(const std::string& path, MemorySource& source) {
  source.Put(path + "/zarr.json",
             R"({"zarr_format": 3, "node_type": "array", "shape": [131072],)"
             R"( "data_type": "int32", "fill_value": 0, "chunk_grid": {"name": "regular",)"
             R"( "configuration": {"chunk_shape": [65536]}}, "chunk_key_encoding":)"
             R"( {"name": "default"}, "codecs": [{"name": "bytes",)"
             R"( "configuration": {"endian": "little"}}]})");
  source.Put(path + "/c/0", ExampleChunk(0));
  source.Put(path + "/c/1", ExampleChunk(1));
}

inline void PutZarr3(MemorySource& source) {
  const std::string group = R"({"zarr_format": 3, "node_type": "group"})";
  source.Put("v3.zarr/zarr.json", group);
  PutZarr3Array("v3.zarr/a", source);
  source.Put("v3.zarr/g/zarr.json", group);
  PutZarr3Array("v3.zarr/g/b", source);
}

inline void PutIcechunk(MemorySource& source) {
  const std::string array = IcechunkArrayJson("[131072]", "[65536]");
  const auto chunks = [](uint8_t first) -> std::vector<IcechunkChunk> {
    return {{.index = {0}, .chunk_id = first, .length = kExampleChunkBytes},
            {.index = {1},
             .chunk_id = static_cast<uint8_t>(first + 1),
             .offset = 10,
             .length = kExampleChunkBytes}};
  };
  const IcechunkManifestRef manifest{20, {{0, 2}}};
  source.Put("a.icechunk/repo",
             IcechunkFile(IcechunkKind::kRepo, IcechunkRepoPayload({.snapshots = {{1}}})));
  source.Put("a.icechunk/snapshots/" + IcechunkIdText(1),
             IcechunkFile(IcechunkKind::kSnapshot,
                          IcechunkSnapshot(1,
                                           {{"/", kIcechunkGroup, 1},
                                            {"/a", array, 2, true, {manifest}},
                                            {"/g", kIcechunkGroup, 3},
                                            {"/g/b", array, 4, true, {manifest}}},
                                           {}, 1'700'000'000'000'000)));
  source.Put("a.icechunk/manifests/" + IcechunkIdText(20),
             IcechunkFile(IcechunkKind::kManifest,
                          IcechunkManifest(20, {{2, chunks(30)}, {4, chunks(32)}})));
  for (const int chunk : {0, 1, 2, 3}) {
    source.Put("a.icechunk/chunks/" + IcechunkIdText(static_cast<uint8_t>(30 + chunk)),
               std::string(chunk % 2 == 0 ? 0 : 10, '?') + ExampleChunk(chunk % 2));
  }
}

inline void PutN5Array(const std::string& path, MemorySource& source) {
  source.Put(path + "/attributes.json",
             R"({"dimensions": [131072], "blockSize": [65536], "dataType": "int32",)"
             R"( "compression": {"type": "raw"}})");
  const std::string header = BigEndian(0, 2) + BigEndian(1, 2) + BigEndian(kExampleChunk, 4);
  for (const int i : {0, 1}) {
    source.Put(path + "/" + std::to_string(i), header + ExampleChunk(i, /*is_big=*/true));
  }
}

inline void PutN5(MemorySource& source) {
  source.Put("a.n5/attributes.json", R"({"n5": "2.5.1"})");
  PutN5Array("a.n5/a", source);
  PutN5Array("a.n5/g/b", source);
}

inline std::string NpyText() {
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (131072,), }";
  header.resize(118 - 1, ' ');
  header += '\n';
  return std::string("\x93NUMPY\1\0", 8) + LittleEndian(header.size(), 2) + header +
         ExampleElements();
}
inline void PutNpy(MemorySource& source) { source.Put("a.npy", NpyText()); }

inline void PutNpz(MemorySource& source) {
  ZipBuilder builder;
  builder.Add({.name = "a.npy", .data = NpyText()});
  builder.Add({.name = "g/b.npy", .data = NpyText()});
  source.Put("a.npz", builder.Build());
}

inline void PutZarrZip(MemorySource& source) {
  MemorySource unpacked;
  PutZarr2(unpacked);
  ZipBuilder builder;
  for (const auto& [path, text] : unpacked.files()) {
    builder.Add({.name = path.substr(path.find('/') + 1), .data = text});
  }
  source.Put("a.zarr.zip", builder.Build());
}

// int a(x) of a CDF-1 file: the bytes of the header, and behind it the elements.
inline void PutNetCdf3(MemorySource& source) {
  const std::string no_list(8, '\0');
  const auto name = [](char c) { return BigEndian(1, 4) + c + std::string(3, '\0'); };
  std::string header = std::string("CDF\1", 4) + BigEndian(0, 4);
  header += BigEndian(10, 4) + BigEndian(1, 4) + name('x') + BigEndian(kExampleExtent, 4);
  header += no_list;  // global attributes
  header += BigEndian(11, 4) + BigEndian(1, 4) + name('a');
  header += BigEndian(1, 4) + BigEndian(0, 4) + no_list + BigEndian(4, 4);
  header += BigEndian(uint64_t{kExampleExtent} * 4, 4);
  header += BigEndian(header.size() + 4, 4);
  source.Put("a.nc", header + ExampleElements(0, kExampleExtent, /*is_big=*/true));
}

// Of the chunks, one is the whole of a file, the other a part of one.
inline void PutKerchunk(MemorySource& source) {
  MemorySource zarr;
  PutZarr2(zarr);
  std::string refs;
  for (const auto& [path, text] : zarr.files()) {
    const std::string key = path.substr(path.find('/') + 1);
    const std::string_view last = std::string_view(key).substr(key.rfind('/') + 1);
    refs += (refs.empty() ? "\"" : ", \"") + key + "\": ";
    refs += last == "0"   ? R"(["data/first.bin"])"
            : last == "1" ? R"(["../other.bin", 1000, 262144])"
                          : text;
  }
  source.Put("refs/a.json", R"({"version": 1, "refs": {)" + refs + "}}");
  source.Put("refs/data/first.bin", ExampleChunk(0));
  source.Put("other.bin", std::string(1000, '?') + ExampleChunk(1) + "beyond");
}

// The same in tables of Parquet. Their paths are relative to their folders.
inline void PutKerchunkTables(MemorySource& source) {
  MemorySource zarr;
  PutZarr2(zarr);
  std::string documents;
  for (const auto& [path, text] : zarr.files()) {
    const std::string key = path.substr(path.find('/') + 1);
    if (key.find(".z") == key.npos) continue;
    documents += (documents.empty() ? "\"" : ", \"") + key + "\": " + text;
  }
  source.Put("refs/a.parq/.zmetadata",
             R"({"metadata": {)" + documents + R"(}, "record_size": 100})");
  for (const std::string array : {"refs/a.parq/a/", "refs/a.parq/g/b/"}) {
    source.Put(array + "refs.0.parq", test::TableFile(test::kTableWholeAndPart));
    source.Put(array + "first.bin", ExampleChunk(0));
  }
  source.Put("refs/second.bin", std::string(1000, '?') + ExampleChunk(1) + "beyond");
  source.Put("refs/a.parq/second.bin", source.files().at("refs/second.bin"));
}

inline void PutNdl(MemorySource& source) {
  std::string values;
  for (uint32_t i = 0; i < 4; ++i) {
    values += (i == 0 ? "" : ", ") + std::to_string(static_cast<int32_t>(ExampleElement(i)));
  }
  const auto array = [&](const std::string& name) {
    return "    " + name + ": {shape: [4], type: int32, value: [" + values + "]}\n";
  };
  source.Put("values.ndl.yaml",
             "/:\n  ndarrays:\n" + array("a") + "/g:\n  ndarrays:\n" + array("b"));
}

inline void PutNcml(MemorySource& source) {
  std::string values;
  for (uint32_t i = 0; i < 4; ++i) {
    values += " " + std::to_string(static_cast<int32_t>(ExampleElement(i)));
  }
  source.Put(
      "a.ncml",
      "<netcdf xmlns=\"http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2\"><variable "
      "name=\"a\" shape=\"x\" type=\"int\"><values>" +
          values + "</values></variable></netcdf>");
}

inline void PutDmrpp(MemorySource& source) {
  const std::string variable =
      R"(<Dim size="131072"/><dmrpp:chunks byteOrder="BE">)"
      R"(<dmrpp:chunkDimensionSizes>65536</dmrpp:chunkDimensionSizes>)"
      R"(<dmrpp:chunk offset="8" nBytes="262144" chunkPositionInArray="[0]"/>)"
      R"(<dmrpp:chunk offset="262155" nBytes="262144" chunkPositionInArray="[65536]"/>)"
      R"(</dmrpp:chunks></Int32>)";
  source.Put("granule.bin", std::string("\x89HDF\r\n\x1a\n", 8) +
                                ExampleChunk(0, /*is_big=*/true) + "???" +
                                ExampleChunk(1, /*is_big=*/true));
  source.Put("a.dmrpp", R"(<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" )"
                        R"(xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" name="a" )"
                        R"(dmrpp:href="granule.bin" dmrpp:version="3.21.1"><Int32 name="a">)" +
                            variable + R"(<Group name="g"><Int32 name="b">)" + variable +
                            "</Group></Dataset>");
}

// A header of text beside a file of elements, or before them.
inline void PutNrrd(MemorySource& source) {
  source.Put("a.nrrd",
             "NRRD0004\ntype: int\ndimension: 1\nsizes: 131072\nendian: little\n"
             "encoding: raw\n\n" +
                 ExampleElements());
}
inline void PutMetaImage(MemorySource& source) {
  source.Put("a.mhd",
             "ObjectType = Image\nNDims = 1\nBinaryData = True\nBinaryDataByteOrderMSB = True\n"
             "DimSize = 131072\nElementType = MET_INT\nElementDataFile = pixels.raw\n");
  source.Put("pixels.raw", ExampleElements(0, kExampleExtent, /*is_big=*/true));
}
inline void PutEnvi(MemorySource& source) {
  source.Put("a.hdr",
             "ENVI\nsamples = 512\nlines = 256\nbands = 1\nheader offset = 100\n"
             "data type = 3\ninterleave = bsq\nbyte order = 0\n");
  source.Put("a.img", std::string(100, '?') + ExampleElements());
}
inline void PutBov(MemorySource& source) {
  source.Put("a.bov",
             "DATA_FILE: pixels.raw\nDATA_SIZE: 64 64 32\nDATA_FORMAT: INT\nVARIABLE: a\n"
             "DATA_ENDIAN: LITTLE\n");
  source.Put("pixels.raw", ExampleElements());
}
inline void PutMitgcm(MemorySource& source) {
  source.Put("a.0000000001.meta",
             " nDims = [   2 ];\n dimList = [\n 512, 1, 512,\n 256, 1, 256\n ];\n"
             " dataprec = [ 'float32' ];\n nrecords = [     1 ];\n");
  source.Put("a.0000000001.data", ExampleElements(0, kExampleExtent, /*is_big=*/true));
}

// Cards of 80 characters, filled up to a block of 2880 bytes.
inline std::string FitsHeader(const std::vector<std::string>& cards) {
  std::string header;
  for (std::string card : cards) {
    card.resize(80, ' ');
    header += card;
  }
  header += "END";
  header.resize((header.size() + 2879) / 2880 * 2880, ' ');
  return header;
}
inline void PutFits(MemorySource& source) {
  const std::string header =
      FitsHeader({"SIMPLE  =                    T", "BITPIX  =                   32",
                  "NAXIS   =                    1", "NAXIS1  =               131072"});
  source.Put("a.fits", header + ExampleElements(0, kExampleExtent, /*is_big=*/true));
}

// A header of NIfTI-2 for int32 of one dimension.
inline std::string Nifti2Header(uint64_t length) {
  std::string header(544, '\0');
  header.replace(0, 4, LittleEndian(540, 4));
  header.replace(4, 8, std::string("n+2\0\r\n\032\n", 8));
  header.replace(12, 4, LittleEndian(8, 2) + LittleEndian(32, 2));
  header.replace(16, 16, LittleEndian(1, 8) + LittleEndian(length, 8));
  header.replace(168, 8, LittleEndian(544, 8));
  return header;
}
inline void PutNifti(MemorySource& source) {
  source.Put("a.nii", Nifti2Header(kExampleExtent) + ExampleElements());
}

inline void PutGrads(MemorySource& source) {
  source.Put("a.ctl",
             "DSET ^grids.dat\nUNDEF -1\nOPTIONS big_endian\nXDEF 512 LINEAR 0 0.5\n"
             "YDEF 2 LEVELS 1 3\nZDEF 1 LEVELS 1000\nTDEF 128 LINEAR 00Z01JAN2000 6HR\nVARS 1\n"
             "a 0 -1,40,4 numbers\nENDVARS\n");
  source.Put("grids.dat", ExampleElements(0, kExampleExtent, /*is_big=*/true));
}

// Two messages, whose levels are a dimension.
inline void PutGrib(MemorySource& source) {
  std::string file;
  for (const uint32_t level : {0, 1}) {
    file += GribMessageOf({.level = level == 0 ? 100000u : 50000u,
                           .ni = 512,
                           .nj = kExampleChunk / 512,
                           .elements = ExampleChunk(static_cast<int>(level), true)});
  }
  source.Put("a.grib2", file);
}

// Two tiles, the second of which is first in the file.
inline void PutTiff(MemorySource& source) {
  TiffBuilder file;
  const uint64_t second = file.Data(ExampleChunk(1));
  const uint64_t first = file.Data(ExampleChunk(0));
  TiffBuilder::Fields fields = TiffBuilder::Image(512, 256, 32, 0);
  fields[339] = {3, {2}};
  file.Directory(TiffBuilder::Tiled(fields, 512, 128, {first, second},
                                    {kExampleChunkBytes, kExampleChunkBytes}));
  source.Put("a.tif", file.file());
}

inline void PutMrc(MemorySource& source) {
  source.Put("a.mrc",
             MrcHeader({{1, kExampleExtent / 2}, {2, 1}, {3, 2}, {4, 2}}) + ExampleElements());
}

inline void PutPrecomputed(MemorySource& source) {
  source.Put(
      "a.precomputed/info",
      R"({"@type": "neuroglancer_multiscale_volume", "data_type": "int32", )"
      R"("num_channels": 1, "type": "image", "scales": [{"key": "a", "size": [512, 256, 1], )"
      R"("chunk_sizes": [[512, 128, 1]], "resolution": [1, 1, 1], "encoding": "raw"}]})");
  source.Put("a.precomputed/a/0-512_0-128_0-1", ExampleChunk(0));
  source.Put("a.precomputed/a/0-512_128-256_0-1", ExampleChunk(1));
}

inline FormatExample HeaderExample(const char* format, const char* path,
                                   void (*put)(MemorySource&)) {
  FormatExample example{format, path, put, path};
  example.has_subgroup = false;
  return example;
}

// One of each format but HDF4 and HDF5, whose files their own libraries make.
inline std::vector<FormatExample> FormatExamples() {
  FormatExample mitgcm = HeaderExample("MITgcm", "a.0000000001.meta", &PutMitgcm);
  mitgcm.type = "float32";
  FormatExample grads = HeaderExample("GrADS", "a.ctl", &PutGrads);
  FormatExample icechunk{"Icechunk", "a.icechunk", &PutIcechunk, "a.icechunk/repo"};
  icechunk.touch_is_change = false;
  grads.coordinates = {"lat", "lon", "time"};
  FormatExample grib = HeaderExample("GRIB", "a.grib2", &PutGrib);
  grib.type = "float32";
  grib.coordinates = {"isobaricInhPa", "latitude", "longitude", "step", "time", "valid_time"};
  grib.folder = "/isobaricInhPa/instant";
  grib.array = "t";
  FormatExample tiff = HeaderExample("TIFF", "a.tif", &PutTiff);
  tiff.array = "image";
  FormatExample mrc = HeaderExample("MRC", "a.mrc", &PutMrc);
  mrc.type = "float32";
  FormatExample precomputed{"Precomputed", "a.precomputed", &PutPrecomputed,
                            "a.precomputed/info"};
  precomputed.has_subgroup = false;
  precomputed.coordinates = {"x", "y", "z"};
  return {
      {"Zarr", "v2.zarr", &PutZarr2, "v2.zarr/.zgroup"},
      {"Zarr", "v3.zarr", &PutZarr3, "v3.zarr/zarr.json"},
      {"N5", "a.n5", &PutN5, "a.n5/attributes.json"},
      {"NPY", "a.npy", &PutNpy, "a.npy", /*has_group=*/false, /*has_subgroup=*/false},
      {"NPZ", "a.npz", &PutNpz, "a.npz"},
      {"Zarr in ZIP", "a.zarr.zip", &PutZarrZip, "a.zarr.zip"},
      {"netCDF classic", "a.nc", &PutNetCdf3, "a.nc", /*has_group=*/true,
       /*has_subgroup=*/false},
      {"kerchunk", "refs/a.json", &PutKerchunk, "refs/a.json"},
      {"kerchunk", "refs/a.parq", &PutKerchunkTables, "refs/a.parq/.zmetadata"},
      icechunk,
      {"NDL", "values.ndl.yaml", &PutNdl, "values.ndl.yaml", /*has_group=*/true,
       /*has_subgroup=*/true,
       /*has_large_data=*/false},
      {"NcML", "a.ncml", &PutNcml, "a.ncml", /*has_group=*/true, /*has_subgroup=*/false,
       /*has_large_data=*/false},
      {"DMR++", "a.dmrpp", &PutDmrpp, "a.dmrpp"},
      HeaderExample("NRRD", "a.nrrd", &PutNrrd),
      HeaderExample("MetaImage", "a.mhd", &PutMetaImage),
      HeaderExample("ENVI", "a.hdr", &PutEnvi),
      HeaderExample("BOV", "a.bov", &PutBov),
      grads,
      grib,
      tiff,
      mrc,
      precomputed,
      mitgcm,
      HeaderExample("FITS", "a.fits", &PutFits),
      HeaderExample("NIfTI", "a.nii", &PutNifti),
  };
}

}  // namespace ndlfs::test
