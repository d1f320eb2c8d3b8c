// SPDX-License-Identifier: MIT
#include "backends/format/foreign/data_files.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "backends/base/checked.h"
#include "backends/codec/registry.h"
#include "backends/format/block_shape.h"
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

// Limits for a chunk that is put together from pieces of a file.
constexpr uint64_t kMaxPieces = 256;
constexpr uint64_t kGatheredBytes = uint64_t{64} << 10;

std::vector<uint64_t> PackedStrides(const std::vector<uint64_t>& shape, uint64_t element) {
  std::vector<uint64_t> strides(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = element;
    element *= std::max<uint64_t>(shape[d], 1);
  }
  return strides;
}

// The first dimension from which on elements lie without gaps.
size_t FirstPacked(const PartsLayout& layout) {
  size_t d = layout.shape.size();
  uint64_t bytes = layout.stored.size();
  while (d > 0 && (layout.strides[d - 1] == bytes || layout.shape[d - 1] == 1)) {
    bytes *= layout.shape[--d];
  }
  return d;
}

// Makes the first extent of a block one that no part ends within.
void KeepWithinParts(const Parts& parts, std::vector<uint64_t>& block) {
  if (parts.size() < 2) return;
  uint64_t rows = 0;
  for (const Part& part : parts) rows = std::gcd(rows, part.rows);
  while (rows % block[0] != 0) --block[0];
}

std::vector<uint64_t> ChooseBlock(const PartsLayout& layout, size_t packed) {
  std::vector<uint64_t> block(packed, 1);
  const auto inner = std::span(layout.shape).subspan(packed);
  const auto whole = ContiguousBlockShape(inner, layout.stored.size(), kBlockBytes);
  block.insert(block.end(), whole.begin(), whole.end());
  if (packed > 0 && std::equal(inner.begin(), inner.end(), whole.begin())) {
    const uint64_t piece = *CheckedProduct(inner, layout.stored.size());
    uint64_t room = std::min(kMaxPieces, kGatheredBytes / std::max<uint64_t>(piece, 1));
    for (size_t d = packed; d-- > 0 && room > 1; room /= block[d]) {
      block[d] = std::clamp<uint64_t>(room, 1, std::max<uint64_t>(layout.shape[d], 1));
      if (block[d] < layout.shape[d]) break;
    }
  }
  if (!block.empty()) KeepWithinParts(*layout.parts, block);
  return block;
}

class PartsSource final : public ArraySource {
 public:
  PartsSource(ArraySpec spec, PartsLayout layout, size_t packed)
      : spec_(std::move(spec)), layout_(std::move(layout)), packed_(packed) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    const uint64_t row = index.empty() ? 0 : spec_.grid.Begin(0, index[0]);
    const Part& part =
        *std::prev(std::ranges::upper_bound(*layout_.parts, row, {}, &Part::first_row));
    ChunkLocation location;
    location.store = layout_.store;
    location.key = part.key;
    const auto shape = spec_.grid.ChunkShape(index);
    const uint64_t piece =
        *CheckedProduct(std::span(shape).subspan(packed_), layout_.stored.size());
    // Where the first row of all would be. Wraps around, as does what is computed with it.
    const uint64_t skipped = index.empty() ? 0 : part.first_row * layout_.strides[0];
    AddPieces(index, shape, 0, layout_.offset - skipped, piece, location.pieces);
    return location;
  }

  std::optional<ContiguousRange> contiguous() const override {
    if (layout_.parts->size() != 1 || packed_ != 0 || layout_.codec) return std::nullopt;
    return ContiguousRange{layout_.store, layout_.parts->front().key, layout_.offset,
                           layout_.stored, std::nullopt};
  }

 private:
  void AddPieces(std::span<const uint64_t> index, const std::vector<uint64_t>& shape, size_t d,
                 uint64_t offset, uint64_t piece, std::vector<ByteRange>& pieces) const {
    if (d == index.size()) {
      pieces.push_back({offset, piece});
      return;
    }
    offset += spec_.grid.Begin(d, index[d]) * layout_.strides[d];
    const uint64_t count = d < packed_ ? shape[d] : 1;
    for (uint64_t i = 0; i < count; ++i) {
      AddPieces(index, shape, d + 1, offset + i * layout_.strides[d], piece, pieces);
    }
  }

  const ArraySpec spec_;
  const PartsLayout layout_;
  const size_t packed_;
};

// All in one chunk.
class CompressedSource final : public ArraySource {
 public:
  CompressedSource(ArraySpec spec, PartsLayout layout)
      : spec_(std::move(spec)), layout_(std::move(layout)) {}
  const ArraySpec& spec() const override { return spec_; }
  Result<ChunkLocation> Locate(std::span<const uint64_t>, IndexCache&) const override {
    ChunkLocation location;
    location.store = layout_.store;
    location.key = layout_.parts->front().key;
    location.pieces = {{layout_.offset, ByteRange::kToEnd}};
    return location;
  }

 private:
  const ArraySpec spec_;
  const PartsLayout layout_;
};

Result<uint64_t> BytesOf(const PartsLayout& layout) {
  const auto bytes = CheckedProduct(layout.shape, layout.stored.size());
  if (!bytes || *bytes > kMaxViewSize) return model::Limit("too many elements");
  return *bytes;
}

Result<ArraySpec> MakeSpec(const PartsLayout& layout) {
  ArraySpec spec;
  spec.dtype = layout.dtype.value_or(layout.stored.WithOrder(model::ByteOrder::kLittle));
  spec.shape = layout.shape;
  spec.fill = layout.fill;
  return spec;
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

std::shared_ptr<const Parts> OnePart(const std::vector<uint64_t>& shape) {
  return std::make_shared<const Parts>(Parts{{"", 0, shape.empty() ? 1 : shape[0]}});
}

std::optional<uint64_t> EndOfPart(const PartsLayout& layout, uint64_t rows) {
  std::vector<uint64_t> shape = layout.shape;
  if (!shape.empty()) shape[0] = rows;
  if (CheckedProduct(shape) == uint64_t{0}) return layout.offset;
  if (layout.strides.empty()) {
    const auto bytes = CheckedProduct(shape, layout.stored.size());
    return bytes ? CheckedAdd(layout.offset, *bytes) : std::nullopt;
  }
  std::optional<uint64_t> end = CheckedAdd(layout.offset, layout.stored.size());
  for (size_t d = 0; d < shape.size() && end; ++d) {
    const auto last = CheckedMultiply(shape[d] - 1, layout.strides[d]);
    end = last ? CheckedAdd(*end, *last) : std::nullopt;
  }
  return end;
}

Result<std::shared_ptr<const ArraySource>> MakePartsSource(PartsLayout layout) {
  if (layout.stored.size() == 0) return model::Unsupported("elements of 0 bytes");
  NDLFS_RETURN_IF_ERROR(BytesOf(layout));
  // Any part is smaller than one of all rows.
  const auto end = EndOfPart(layout, layout.shape.empty() ? 1 : layout.shape[0]);
  if (!end || *end > kMaxViewSize) return model::Limit("too many elements");
  if (layout.strides.empty()) {
    layout.strides = PackedStrides(layout.shape, layout.stored.size());
  }
  const size_t packed = FirstPacked(layout);
  NDLFS_TRY(ArraySpec spec, MakeSpec(layout));
  const auto block = ChooseBlock(layout, packed);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, block, ChunkGrid::Edge::kCropped));
  auto codec = layout.codec;
  if (!codec) {
    NDLFS_TRY(codec, MakeStoredBytes(layout.stored));
  }
  NDLFS_TRY(spec.codecs, CodecChain::Make({spec.dtype, block}, {}, std::move(codec), {}));
  return std::make_shared<PartsSource>(std::move(spec), std::move(layout), packed);
}

Result<std::shared_ptr<const ArraySource>> MakeCompressedSource(PartsLayout layout,
                                                                std::string_view compressor,
                                                                uint64_t max_bytes) {
  NDLFS_TRY(const uint64_t bytes, BytesOf(layout));
  if (bytes > max_bytes) {
    return model::Limit("{} bytes that are compressed as one, more than the limit of {}", bytes,
                        max_bytes);
  }
  NDLFS_TRY(ArraySpec spec, MakeSpec(layout));
  std::vector<uint64_t> block = spec.shape;
  for (uint64_t& extent : block) extent = std::max<uint64_t>(extent, 1);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, block, ChunkGrid::Edge::kCropped));
  NDLFS_TRY(spec.codecs,
            MakeZarr2Chain(nullptr, {{"id", compressor}}, false, layout.stored, block));
  return std::make_shared<CompressedSource>(std::move(spec), std::move(layout));
}

}  // namespace ndlfs::backends::foreign
