// SPDX-License-Identifier: MIT
//
// The files with data that lie next to a header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/codec/codec.h"
#include "backends/format/array_source.h"
#include "backends/format/foreign/contents.h"
#include "backends/format/hierarchy.h"
#include "backends/store/source.h"
#include "backends/store/store.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// Arrays whose elements lie in several flat files, or in one with gaps between them, or need
// more decoding than others. MakeFlatSource() reads all other flat files.

// Some indexes of the first dimension, in one file.
struct Part {
  std::string key;         // in PartsLayout::store
  uint64_t first_row = 0;  // index of the first dimension
  uint64_t rows = 0;
};
using Parts = std::vector<Part>;

struct PartsLayout {
  std::shared_ptr<const Store> store;
  // In the order of the first dimension, whose extent is the sum of their rows. A scalar has
  // one part.
  std::shared_ptr<const Parts> parts;
  uint64_t offset = 0;     // of the first element in each part, in bytes
  model::Datatype stored;  // with the byte order of the file
  std::vector<uint64_t> shape;
  // The number of bytes from an element of a part to the next along each dimension; a later
  // dimension never has a larger one. Empty: C order without gaps.
  std::vector<uint64_t> strides = {};
  // The elements of parts whose file is absent, as decoded; empty: zeros.
  std::vector<std::byte> fill = {};
  // Decodes stored elements to those of `dtype`; null: only their byte order differs.
  std::shared_ptr<const ArrayToBytesCodec> codec = nullptr;
  std::optional<model::Datatype> dtype = std::nullopt;
};

// A list of one part: a file with all of an array of this shape.
std::shared_ptr<const Parts> OnePart(const std::vector<uint64_t>& shape);

// The bytes that a file must have to hold a part of `rows` indexes; nullopt if these are more
// than any file has.
std::optional<uint64_t> EndOfPart(const PartsLayout& layout, uint64_t rows);

// Makes the source of such an array. Does not look at the files. kLimit for arrays that no file
// holds.
model::Result<std::shared_ptr<const ArraySource>> MakePartsSource(PartsLayout layout);

// The same for elements that are compressed as a whole, in one file: `compressor` is the name
// of a codec of numcodecs. Every read of any part decodes all elements, so more than
// `max_bytes` are kLimit.
model::Result<std::shared_ptr<const ArraySource>> MakeCompressedSource(
    PartsLayout layout, std::string_view compressor, uint64_t max_bytes);

// A header that is being read.
struct HeaderFile {
  std::shared_ptr<const Source> source;
  std::string path;
  std::shared_ptr<const Store> store;  // the file, as the value ""; keeps to one version
  OpenOptions options;
};

// The most files that one array is made of.
inline constexpr uint64_t kMaxParts = 100'000;

struct DataFile {
  std::shared_ptr<const Store> store;  // the file, as the value ""; keeps to one version
  std::string path;                    // in the source
  uint64_t size = 0;                   // bytes
};

// Opens the file that `header` calls `name`. Watches it, whether it exists or not. kCorrupt if
// it does not exist, kBadInput if it is outside of the source.
model::Result<DataFile> OpenDataFile(const HeaderFile& header, std::string_view name,
                                     Contents& contents);
// The header itself, for data that follow it.
model::Result<DataFile> DataInHeader(const HeaderFile& header);

// The data of `array` in a part of one file. The elements begin at `offset` and have no gaps.
// kCorrupt if the file is too short.
model::Result<std::shared_ptr<const ArraySource>> MakeFileSource(const DescribedArray& array,
                                                                 const DataFile& file,
                                                                 uint64_t offset);

// The same for elements with gaps or with more decoding. `layout` says everything except the
// file.
model::Result<std::shared_ptr<const ArraySource>> MakeFileSource(PartsLayout layout,
                                                                 const DataFile& file);

// The same in a file, or a part of one, that is compressed as gzip or zlib. `offset` is in the
// inflated bytes.
model::Result<std::shared_ptr<const ArraySource>> MakeInflatedSource(
    const DescribedArray& array, const DataFile& file, uint64_t compressed_offset,
    uint64_t compressed_length, uint64_t offset);

// Files that hold one array or several; each file has a part of each of these arrays.
struct FileList {
  std::vector<std::string> names;  // as the header calls them
  std::vector<uint64_t> rows;      // indexes of the first dimension in each
  bool allows_absent = false;      // absent ones have the fill value; otherwise reads fail
};
struct OpenedList {
  std::shared_ptr<const Store> store;
  std::shared_ptr<const Parts> parts;
  std::vector<uint64_t>
      sizes;  // sizes of the first files; the largest uint64_t for absent ones
};
// Looks at the first files only, and watches them. kCorrupt if one of them is absent and must
// not be.
model::Result<OpenedList> OpenFileList(const HeaderFile& header, const FileList& files,
                                       Contents& contents);
// The source of an array in such files. kCorrupt if one of the first files is too short. If
// another one is too short, reads of it fail.
model::Result<std::shared_ptr<const ArraySource>> MakeListSource(const OpenedList& files,
                                                                 PartsLayout layout);

// Where `array` lies in its file.
PartsLayout LayoutOf(const DescribedArray& array);

// `path` without the extension of its last part.
std::string_view StemOf(std::string_view path);
// Name of the array in the store at `path`: that of the file, without `extension`.
std::string ArrayNameOf(std::string_view path);

}  // namespace ndlfs::backends::foreign
