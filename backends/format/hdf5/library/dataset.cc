// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/dataset.h"

#include <algorithm>
#include <array>
#include <set>

#include "backends/base/checked.h"
#include "backends/format/block_shape.h"
#include "backends/format/hdf5/library/attributes.h"
#include "backends/format/hdf5/library/block_reader.h"
#include "backends/format/hdf5/library/driver.h"
#include "backends/format/hdf5/library/element_type.h"
#include "backends/format/text_rule.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

constexpr size_t kMaxFilterParameters = 4096;
constexpr size_t kMaxStorageParts = 100'000;  // external files, or sources
// Region references of small datasets are looked at, to tell blocks from
// elements; these are what NDL documents show the values of.
constexpr uint64_t kMaxInspectedRegions = 1000;
// Text is looked at, too: as many elements, with these limits in bytes.
constexpr uint64_t kMaxInspectedText = uint64_t{64} << 10;
constexpr uint64_t kMaxInspectedChunk = uint64_t{1} << 20;
constexpr uint64_t kMaxInspectedMemory = uint64_t{16} << 20;

Result<void> ReadFilters(hid_t properties, DatasetInfo& info) {
  const int count = H5Pget_nfilters(properties);
  NDLFS_RETURN_IF_ERROR(CheckStatus(count, "cannot read the filters"));
  for (int i = 0; i < count; ++i) {
    std::array<char, 256> name = {};
    std::vector<unsigned> parameters(64);
    const auto read = [&](size_t& parameter_count) {
      unsigned flags;
      unsigned configuration;
      return H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &parameter_count,
                            parameters.data(), name.size() - 1, name.data(), &configuration);
    };
    size_t parameter_count = parameters.size();
    H5Z_filter_t id = read(parameter_count);
    if (id >= 0 && parameter_count > parameters.size()) {
      if (parameter_count > kMaxFilterParameters) {
        return model::Limit("a filter with {} parameters", parameter_count);
      }
      parameters.resize(parameter_count);
      id = read(parameter_count);
    }
    NDLFS_RETURN_IF_ERROR(CheckStatus(id, "cannot read a filter"));
    parameters.resize(parameter_count);
    info.filters.push_back(
        {static_cast<uint32_t>(id), name.data(), {parameters.begin(), parameters.end()}});
  }
  return {};
}

Result<void> ReadChunkLayout(hid_t properties, DatasetInfo& info) {
  std::array<hsize_t, H5S_MAX_RANK> dims;
  const int rank = H5Pget_chunk(properties, H5S_MAX_RANK, dims.data());
  NDLFS_RETURN_IF_ERROR(CheckStatus(rank, "cannot read the shape of the chunks"));
  info.chunk.assign(dims.begin(), dims.begin() + std::min<int>(rank, H5S_MAX_RANK));
  if (info.chunk.size() != info.shape.size()) {
    return model::Corrupt("chunks of {} dimensions in a dataset of {}", info.chunk.size(),
                          info.shape.size());
  }
  if (std::count(info.chunk.begin(), info.chunk.end(), 0) != 0) {
    return model::Corrupt("chunks of extent 0");
  }
  unsigned options = 0;
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Pget_chunk_opts(properties, &options), "cannot read the chunk options"));
  info.has_plain_edges = options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
  return ReadFilters(properties, info);
}

Result<void> ReadExternalParts(hid_t properties, DatasetInfo& info) {
  const int count = H5Pget_external_count(properties);
  NDLFS_RETURN_IF_ERROR(CheckStatus(count, "cannot read the external files"));
  if (static_cast<size_t>(count) > kMaxStorageParts)
    return model::Limit("{} external files", count);
  for (int i = 0; i < count; ++i) {
    std::array<char, 4096> name = {};
    off_t offset = 0;
    hsize_t bytes = 0;
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Pget_external(properties, static_cast<unsigned>(i), name.size() - 1,
                                    name.data(), &offset, &bytes),
                    "cannot read an external file"));
    if (offset < 0) return model::Corrupt("an external file with a negative offset");
    static_assert(H5F_UNLIMITED == ExternalPart::kUnlimited);
    info.external.push_back({name.data(), static_cast<uint64_t>(offset), bytes});
  }
  return {};
}

Result<void> ReadContiguousLayout(hid_t dataset, hid_t properties, DatasetInfo& info) {
  NDLFS_RETURN_IF_ERROR(ReadExternalParts(properties, info));
  if (!info.external.empty()) return {};
  // If nothing is allocated and the file has a user block, the library returns an offset that
  // means nothing.
  if (H5Dget_storage_size(dataset) == 0) return {};
  const haddr_t offset = H5Dget_offset(dataset);
  if (offset != HADDR_UNDEF) info.offset = offset;
  return {};
}

Result<void> ReadVirtualLayout(hid_t properties, DatasetInfo& info) {
  size_t count = 0;
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Pget_virtual_count(properties, &count), "cannot read the sources"));
  if (count > kMaxStorageParts) return model::Limit("{} sources", count);
  std::set<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    std::array<char, 4096> name = {};
    const ssize_t size = H5Pget_virtual_filename(properties, i, name.data(), name.size() - 1);
    if (size < 0) return LibraryError("cannot read the name of a source");
    names.emplace(name.data());
  }
  info.sources.assign(names.begin(), names.end());
  return {};
}

Result<void> ReadLayout(hid_t dataset, hid_t properties, DatasetInfo& info) {
  switch (H5Pget_layout(properties)) {
    case H5D_COMPACT:
      info.layout = Layout::kCompact;
      return {};
    case H5D_CONTIGUOUS:
      info.layout = Layout::kContiguous;
      return ReadContiguousLayout(dataset, properties, info);
    case H5D_CHUNKED:
      info.layout = Layout::kChunked;
      return ReadChunkLayout(properties, info);
    case H5D_VIRTUAL:
      info.layout = Layout::kVirtual;
      return ReadVirtualLayout(properties, info);
    default:
      return LibraryError("unknown layout");
  }
}

// As the library reads it: where values are never filled in, there is none.
Result<void> ReadFill(hid_t file, hid_t properties, const ElementType& type, ObjectIndex& index,
                      DatasetInfo& info) {
  H5D_fill_value_t status;
  H5D_fill_time_t time;
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Pfill_value_defined(properties, &status), "cannot read the fill value"));
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Pget_fill_time(properties, &time), "cannot read the fill value"));
  if (status != H5D_FILL_VALUE_USER_DEFINED) return {};
  std::vector<std::byte> memory(type.form.size);
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Pget_fill_value(properties, type.memory.get(), memory.data()),
                  "cannot read the fill value"));
  ReverseNumbers(type.form, memory.data(), 1);
  References references(file, index, false);
  info.netcdf_fill.emplace();
  const auto appended =
      AppendElements(type.form, memory.data(), 1, kMaxViewSize, references, *info.netcdf_fill);
  if (!type.type.is_fixed_size()) {
    const Handle scalar(H5Screate(H5S_SCALAR));
    H5Dvlen_reclaim(type.memory.get(), scalar.get(), H5P_DEFAULT, memory.data());
  }
  if (!appended) return model::Propagate(appended.error());
  if (time != H5D_FILL_TIME_NEVER) info.fill = info.netcdf_fill;
  return {};
}

Result<void> InspectRegions(hid_t file, hid_t dataset, const ElementType& type,
                            ObjectIndex& index, DatasetInfo& info) {
  if (!HasRegions(info.type) || !info.external.empty()) return {};
  if (info.layout == Layout::kVirtual) return {};
  const auto count = CheckedProduct(info.shape);
  if (!count || *count == 0 || *count > kMaxInspectedRegions || info.is_null) return {};
  References references(file, index, false);
  const Block all{std::vector<uint64_t>(info.shape.size(), 0), info.shape, false};
  NDLFS_RETURN_IF_ERROR(ReadElements(dataset, type, all, kMaxViewSize, references));
  if (!references.met_elements()) return {};
  info.type = WithElementRegions(info.type);
  return {};
}

// The first elements, at most so many and of so many bytes, and of a chunk that
// is no larger than this, say how text is read. Nothing is asked of other
// files. nullopt where that is too much for a look.
std::optional<Block> BeginningOf(const DatasetInfo& info) {
  constexpr uint64_t kVariableBytes = 64;
  const bool is_chunked = info.layout == Layout::kChunked;
  const uint64_t item = info.type.is_fixed_size() ? info.type.size() : kVariableBytes;
  if (item == 0 || item > kMaxInspectedChunk || CheckedProduct(info.shape) == uint64_t{0}) {
    return std::nullopt;
  }
  Block block{std::vector<uint64_t>(info.shape.size(), 0), {}, false};
  block.count = ContiguousBlockShape(info.shape, item,
                                     std::min(kMaxInspectedText, kMaxInspectedRegions * item));
  if (!is_chunked) return block;
  const auto chunk_bytes =
      CheckedProduct(info.chunk, std::max<uint64_t>(item, info.stored.size()));
  if (!chunk_bytes || *chunk_bytes > kMaxInspectedChunk) return std::nullopt;
  uint64_t chunks = 1;
  for (size_t d = 0; d < info.shape.size(); ++d) {
    chunks =
        CheckedMultiply(chunks, (block.count[d] - 1) / info.chunk[d] + 1).value_or(UINT64_MAX);
  }
  if (CheckedMultiply(chunks, *chunk_bytes).value_or(UINT64_MAX) <= kMaxInspectedChunk)
    return block;
  for (size_t d = 0; d < info.shape.size(); ++d) {
    block.count[d] = std::min(block.count[d], info.chunk[d]);
  }
  return block;
}

// Reads the beginning of the dataset to decide how its text is read (see TextRule). Text that
// cannot be read has no influence.
void InspectText(hid_t file, hid_t dataset, const ElementType& type, ObjectIndex& index,
                 DatasetInfo& info) {
  TextRule rule(info.type);
  if (!rule.applies() || info.is_null || !info.external.empty()) return;
  if (info.layout == Layout::kVirtual) return;
  const auto block = BeginningOf(info);
  if (!block) return;
  References references(file, index, true);
  const auto elements = ReadElements(dataset, type, *block, kMaxInspectedMemory, references);
  H5Eclear2(H5E_DEFAULT);
  if (!elements) return;
  ConstByteSpan bytes = elements->span();
  if (!info.type.is_fixed_size()) {
    const uint64_t table = (*CheckedProduct(block->count) + 1) * sizeof(uint64_t);
    bytes = bytes.subspan(std::min<uint64_t>(table, bytes.size()));
  }
  rule.Look(bytes);
  info.type = rule.Apply(info.type);
  if (info.is_plain) info.stored = rule.Apply(info.stored);
}

Result<ElementType> TypeOf(hid_t dataset) {
  NDLFS_TRY(const auto type, Checked(H5Dget_type(dataset), "cannot read the type"));
  return ReadElementType(type.get());
}

// Chunks of a dataset, counted in C order.
class ChunkCounter {
 public:
  static Result<ChunkCounter> Make(hid_t dataset) {
    NDLFS_TRY(const auto space, Checked(H5Dget_space(dataset), "cannot read the shape"));
    NDLFS_TRY(const auto extent, ReadExtent(space.get()));
    NDLFS_TRY(const auto properties,
              Checked(H5Dget_create_plist(dataset), "cannot read the properties"));
    ChunkCounter counter;
    counter.info_.shape = extent.shape;
    NDLFS_RETURN_IF_ERROR(ReadChunkLayout(properties.get(), counter.info_));
    std::vector<uint64_t> counts;
    for (size_t d = 0; d < extent.shape.size(); ++d) {
      const uint64_t chunk = counter.info_.chunk[d];
      counts.push_back(extent.shape[d] / chunk + (extent.shape[d] % chunk != 0));
    }
    const auto total = CheckedProduct(counts);
    if (!total) return model::Limit("too many chunks");
    counter.counts_ = std::move(counts);
    counter.total_ = *total;
    return counter;
  }

  uint64_t total() const { return total_; }

  std::vector<hsize_t> Offset(uint64_t index) const {
    std::vector<hsize_t> offset(counts_.size());
    for (size_t d = counts_.size(); d-- > 0; index /= counts_[d]) {
      offset[d] = index % counts_[d] * info_.chunk[d];
    }
    return offset;
  }

 private:
  DatasetInfo info_;
  std::vector<uint64_t> counts_;
  uint64_t total_ = 0;
};

// 0 for a chunk that is absent.
Result<hsize_t> SizeOfChunk(hid_t dataset, const std::vector<hsize_t>& offset) {
  hsize_t bytes = 0;
  if (H5Dget_chunk_storage_size(dataset, offset.data(), &bytes) >= 0) return bytes;
  // Some versions of the library take a chunk among others that is absent for
  // an error of theirs.
  const std::string reason = TakeInnermostReason();
  if (reason == "chunk storage is not allocated") return hsize_t{0};
  return model::Corrupt("cannot find a chunk: {}", model::OneLine(reason));
}

// The library tells addresses of chunks only by walking over all of them, and tells wrong ones
// for files with a user block. But it reads one chunk by a lookup in its index. So we let it
// read the chunk, and listen to the addresses that it asks the driver for.
Result<ChunkRecord> LocateChunk(hid_t dataset, const std::vector<hsize_t>& offset,
                                Eavesdropper& listener) {
  NDLFS_TRY(const hsize_t bytes, SizeOfChunk(dataset, offset));
  if (bytes == 0) return ChunkRecord();
  uint32_t filter_mask = 0;
  std::byte unused;
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Dread_chunk(dataset, H5P_DEFAULT, offset.data(), &filter_mask, &unused),
                  "cannot find a chunk"));
  const auto read = listener.TakeRead();
  if (!read || read->bytes != bytes) return model::Internal("the library hid a chunk");
  return ChunkRecord{read->offset, read->bytes, filter_mask};
}

}  // namespace

model::Result<DatasetInfo> DescribeDataset(hid_t file, hid_t dataset, hid_t properties,
                                           ObjectIndex& index) {
  NDLFS_TRY(const auto type, TypeOf(dataset));
  NDLFS_TRY(const auto space, Checked(H5Dget_space(dataset), "cannot read the shape"));
  NDLFS_TRY(auto extent, ReadExtent(space.get()));
  DatasetInfo info;
  info.type = type.type;
  info.is_plain = type.is_plain;
  info.stored = type.stored;
  info.text = type.text;
  info.stored_order = type.stored_order;
  info.is_null = extent.is_null;
  info.shape = std::move(extent.shape);
  info.max_shape = std::move(extent.max_shape);
  NDLFS_RETURN_IF_ERROR(ReadLayout(dataset, properties, info));
  NDLFS_RETURN_IF_ERROR(ReadFill(file, properties, type, index, info));
  NDLFS_RETURN_IF_ERROR(InspectRegions(file, dataset, type, index, info));
  InspectText(file, dataset, type, index, info);
  return info;
}

model::Result<std::vector<ChunkRecord>> LocateDatasetChunks(hid_t dataset, uint64_t first,
                                                            uint64_t count) {
  NDLFS_TRY(const auto chunks, ChunkCounter::Make(dataset));
  std::vector<ChunkRecord> records;
  const uint64_t end =
      first + std::min(count, chunks.total() - std::min(first, chunks.total()));
  Eavesdropper listener;
  for (uint64_t i = first; i < end; ++i) {
    NDLFS_TRY(const auto record, LocateChunk(dataset, chunks.Offset(i), listener));
    records.push_back(record);
  }
  return records;
}

model::Result<Elements> ReadDataset(hid_t file, hid_t dataset, const Block& block,
                                    uint64_t limit, ObjectIndex& index) {
  NDLFS_TRY(const auto type, TypeOf(dataset));
  References references(file, index, block.regions_as_elements);
  NDLFS_TRY(auto bytes, ReadElements(dataset, type, block, limit, references));
  return Elements{std::move(bytes), references.met_dangling()};
}

}  // namespace ndlfs::backends::hdf5
