// SPDX-License-Identifier: MIT
#include "backends/format/foreign/data_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/base/checked.h"
#include "backends/format/flat_source.h"
#include "backends/store/file_name.h"
#include "backends/store/forwarding_store.h"
#include "backends/store/keys.h"
#include "backends/store/zip/inflated_store.h"

namespace ndlfs::backends::foreign {
namespace {

using model::Result;

// Files of a list that are looked at when it is opened.
constexpr size_t kLookedAt = 16;

Result<std::string> PathOf(const HeaderFile& header, std::string_view name) {
  const auto path = header.source->Resolve(header.path, name);
  const bool is_sound = path && !path->empty() && CheckKey(*path);
  if (is_sound) return *path;
  if (!path) {
    return model::Unsupported("the data file {} is outside of the source", model::Quote(name));
  }
  return model::BadInput("the data file {} is no path of a file", model::Quote(name));
}

model::Failure NotThere(const Store& store, std::string_view key) {
  return model::Corrupt("there is no data file {}", model::Quote(store.Describe(key)));
}

Result<void> CheckSize(const PartsLayout& layout, const Part& part, uint64_t size) {
  const auto end = EndOfPart(layout, part.rows);
  if (end && *end <= size) return {};
  const std::string where = model::OneLine(layout.store->Describe(part.key));
  if (!end) return model::Limit("{}: more data than any file has", where);
  return model::Corrupt("{}: {} bytes, the header needs {}", where, size, *end);
}

// Files that must be there: an absent one is an error, not the fill value.
class RequiredFiles final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

 private:
  Result<void> CheckFound(std::string_view, bool is_there) const override {
    if (is_there) return {};
    return model::Corrupt("the data file is not there");
  }
};

// An array without gaps in one file.
FlatLayout FlatLayoutOf(const PartsLayout& parts, FlatAccess access) {
  FlatLayout layout;
  layout.store = parts.store;
  layout.key = parts.parts->front().key;
  layout.offset = parts.offset;
  layout.stored = parts.stored;
  layout.shape = parts.shape;
  layout.access = access;
  return layout;
}

}  // namespace

PartsLayout LayoutOf(const DescribedArray& array) {
  PartsLayout layout;
  layout.stored = array.stored;
  layout.shape = array.shape();
  layout.dtype = array.dtype;
  layout.codec = array.codec;
  layout.parts = OnePart(layout.shape);
  return layout;
}

Result<DataFile> OpenDataFile(const HeaderFile& header, std::string_view name,
                              Contents& contents) {
  DataFile file;
  NDLFS_TRY(file.path, PathOf(header, name));
  file.store = header.source->OpenFile(file.path, Follow::kYes);
  contents.Watch(file.store, "");
  NDLFS_TRY(const auto size, file.store->Size(""), file.store->Describe(""));
  if (!size) return NotThere(*file.store, "");
  file.size = *size;
  return file;
}

Result<DataFile> DataInHeader(const HeaderFile& header) {
  NDLFS_TRY(const auto size, header.store->Size(""));
  if (!size) return model::NotFound("the file is gone");
  return DataFile{header.store, header.path, *size};
}

Result<std::shared_ptr<const ArraySource>> MakeFileSource(const DescribedArray& array,
                                                          const DataFile& file,
                                                          uint64_t offset) {
  PartsLayout layout = LayoutOf(array);
  layout.store = file.store;
  layout.offset = offset;
  NDLFS_RETURN_IF_ERROR(CheckSize(layout, layout.parts->front(), file.size));
  if (layout.codec) return MakePartsSource(std::move(layout));
  return MakeFlatSource(FlatLayoutOf(layout, FlatAccess::kRandom), kMaxViewSize);
}

Result<std::shared_ptr<const ArraySource>> MakeFileSource(PartsLayout layout,
                                                          const DataFile& file) {
  layout.store = file.store;
  NDLFS_RETURN_IF_ERROR(CheckSize(layout, layout.parts->front(), file.size));
  return MakePartsSource(std::move(layout));
}

Result<std::shared_ptr<const ArraySource>> MakeInflatedSource(const DescribedArray& array,
                                                              const DataFile& file,
                                                              uint64_t compressed_offset,
                                                              uint64_t compressed_length,
                                                              uint64_t offset) {
  PartsLayout layout = LayoutOf(array);
  layout.offset = offset;
  const auto end = EndOfPart(layout, layout.parts->front().rows);
  if (!end || *end > kMaxViewSize) return model::Limit("too many elements");
  NDLFS_TRY(layout.store,
            MakeInflatedStore(file.store, {compressed_offset, compressed_length}, *end),
            file.store->Describe(""));
  return MakeFlatSource(FlatLayoutOf(layout, FlatAccess::kSequential), kMaxViewSize);
}

Result<OpenedList> OpenFileList(const HeaderFile& header, const FileList& files,
                                Contents& contents) {
  if (files.names.size() > kMaxParts) return model::Limit("{} data files", files.names.size());
  const auto all = header.source->OpenStore("");
  OpenedList opened;
  opened.store = files.allows_absent ? all : std::make_shared<RequiredFiles>(all);
  Parts parts;
  uint64_t row = 0;
  for (size_t i = 0; i < files.names.size(); ++i) {
    NDLFS_TRY(std::string path, PathOf(header, files.names[i]));
    parts.push_back({std::move(path), row, files.rows[i]});
    row += files.rows[i];
  }
  for (size_t i = 0; i < std::min(kLookedAt, parts.size()); ++i) {
    contents.Watch(opened.store, parts[i].key);
    NDLFS_TRY(const auto info, opened.store->Stat(parts[i].key));
    if (!info && !files.allows_absent) return NotThere(*opened.store, parts[i].key);
    opened.sizes.push_back(info ? info->size : UINT64_MAX);
  }
  opened.parts = std::make_shared<const Parts>(std::move(parts));
  return opened;
}

Result<std::shared_ptr<const ArraySource>> MakeListSource(const OpenedList& files,
                                                          PartsLayout layout) {
  layout.store = files.store;
  layout.parts = files.parts;
  for (size_t i = 0; i < files.sizes.size(); ++i) {
    NDLFS_RETURN_IF_ERROR(CheckSize(layout, (*files.parts)[i], files.sizes[i]));
  }
  return MakePartsSource(std::move(layout));
}

std::string_view StemOf(std::string_view path) {
  const size_t name = path.rfind('/') + 1;  // npos + 1 is 0
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos || dot <= name ? path : path.substr(0, dot);
}

std::string ArrayNameOf(std::string_view path) {
  std::string_view stem = path;
  if (HasExtension(stem, ".gz")) stem = StemOf(stem);
  return std::string(FileNameOf(StemOf(stem)));
}

}  // namespace ndlfs::backends::foreign
