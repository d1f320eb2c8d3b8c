// SPDX-License-Identifier: MIT
//
// The files with data that lie next to a header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/foreign/contents.h"
#include "backends/format/foreign/parts_source.h"
#include "backends/format/hierarchy.h"
#include "backends/store/source.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

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
