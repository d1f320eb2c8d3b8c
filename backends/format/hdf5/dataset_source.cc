// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/dataset_source.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "backends/codec/gather.h"
#include "backends/codec/registry.h"
#include "backends/format/block_shape.h"
#include "backends/format/chunk_encoding.h"
#include "backends/format/hdf5/external_store.h"
#include "backends/format/hdf5/padded_source.h"
#include "backends/format/hdf5/partial_chunk.h"
#include "backends/format/hdf5/virtual_source.h"
#include "backends/format/read_elements.h"
#include "backends/format/source_notes.h"
#include "backends/format/text_codec.h"
#include "backends/format/text_rule.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

// Places of chunks are asked for so many at a time, and kept together.
constexpr uint64_t kRecordsPerBlock = 256;
// So many chunks are asked whether they went through filters that are unknown.
constexpr uint64_t kAskedChunks = 4096;
// The assumed size of an element of variable size, to choose blocks.
constexpr uint64_t kVariableBytes = 64;

class DatasetSource : public ArraySource {
 public:
  explicit DatasetSource(ArraySpec spec) : spec_(std::move(spec)) {}
  const ArraySpec& spec() const override { return spec_; }

 protected:
  const ArraySpec spec_;
};

// Elements one after the other, in the file or in external ones.
class ContiguousSource final : public DatasetSource {
 public:
  ContiguousSource(ArraySpec spec, std::shared_ptr<const Store> store, uint64_t offset,
                   const DatasetInfo& info)
      : DatasetSource(std::move(spec)),
        store_(std::move(store)),
        offset_(offset),
        stored_(info.stored),
        in_place_(info.text.empty()) {}

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    ChunkLocation location;
    location.store = store_;
    const uint64_t first =
        FirstElement(spec_.shape, spec_.grid.max_chunk_shape(), index) * stored_.size();
    const uint64_t bytes = *CheckedProduct(spec_.grid.ChunkShape(index), stored_.size());
    location.pieces = {{offset_ + first, bytes}};
    return location;
  }

  std::optional<ContiguousRange> contiguous() const override {
    if (!in_place_) return std::nullopt;
    return ContiguousRange{store_, "", offset_, stored_, std::nullopt};
  }

 private:
  const std::shared_ptr<const Store> store_;
  const uint64_t offset_;
  const model::Datatype stored_;
  const bool in_place_;
};

// A dataset that nothing is stored of.
class AbsentSource final : public DatasetSource {
 public:
  using DatasetSource::DatasetSource;
  Result<ChunkLocation> Locate(std::span<const uint64_t>, IndexCache&) const override {
    return ChunkLocation::Absent();
  }
};

// Where the chunks of a dataset lie.
class ChunkRecords {
 public:
  explicit ChunkRecords(std::shared_ptr<const ChunkIndex> chunks)
      : chunks_(std::move(chunks)) {}

  Result<ChunkRecord> Find(const ArraySource& source, std::span<const uint64_t> index,
                           IndexCache& indexes) const {
    uint64_t linear = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      linear = linear * source.spec().grid.counts()[d] + index[d];
    }
    const uint64_t first = linear / kRecordsPerBlock * kRecordsPerBlock;
    const auto load = [&]() -> Result<Bytes> {
      NDLFS_TRY(const auto records, chunks_->Locate(first, kRecordsPerBlock));
      return Bytes::Copy(std::as_bytes(std::span(records)));
    };
    NDLFS_TRY(const auto block,
              indexes.GetOrLoad(source.id(), linear / kRecordsPerBlock, load));
    ChunkRecord record;
    const size_t offset = (linear - first) * sizeof(record);
    if (offset + sizeof(record) > block->size()) return model::Internal("no such chunk");
    std::memcpy(&record, block->data() + offset, sizeof(record));
    return record;
  }

 private:
  const std::shared_ptr<const ChunkIndex> chunks_;
};

// The codecs of the elements of a dataset.
struct DatasetCodecs {
  std::vector<std::shared_ptr<const ArrayToArrayCodec>> text;
  std::shared_ptr<const ArrayToBytesCodec> bytes;
  std::vector<std::shared_ptr<const BytesToBytesCodec>> filters;

  Result<CodecChain> MakeChain(const ChunkForm& form) const {
    return CodecChain::Make(form, text, bytes, filters);
  }
};

// The compressor of Blosc, by its number in the parameters of the filter.
std::string_view BloscName(uint32_t number) {
  static constexpr std::array<std::string_view, 6> kNames = {"blosclz", "lz4",  "lz4hc",
                                                             "snappy",  "zlib", "zstd"};
  return kNames[std::min<size_t>(number, kNames.size() - 1)];
}

// A filter as numcodecs has it; nullopt if it does not have it.
std::optional<Json> InNumcodecs(const FilterInfo& filter, size_t element_bytes) {
  const std::vector<uint32_t>& parameters = filter.parameters;
  const auto parameter = [&](size_t i, uint32_t otherwise) {
    return i < parameters.size() ? parameters[i] : otherwise;
  };
  switch (filter.id) {
    case 1:
      return Json{{"id", "zlib"}, {"level", std::min(parameter(0, 6), 9u)}};
    case 2:
      if (parameter(0, 0) != element_bytes) return std::nullopt;
      return Json{{"id", "shuffle"}, {"elementsize", element_bytes}};
    case 307:
      return Json{{"id", "bz2"}, {"level", std::clamp(parameter(0, 9), 1u, 9u)}};
    case 32001:
      return Json{{"id", "blosc"},
                  {"cname", BloscName(parameter(6, 0))},
                  {"clevel", std::min(parameter(4, 5), 9u)},
                  {"shuffle", std::min(parameter(5, 1), 2u)},
                  {"blocksize", 0}};
    case 32015:
      return Json{{"id", "zstd"}, {"level", std::min(parameter(0, 3), 22u)}};
    default:
      return std::nullopt;
  }
}

// The words for the filters of a dataset. A Fletcher32 behind zlib, which has a checksum of its
// own, is left out with the bytes that it has added, because few programs know it.
std::optional<ChunkEncoding> DescribeFilters(const DatasetInfo& info) {
  constexpr uint32_t kFletcher32 = 3;
  constexpr size_t kChecksumBytes = 4;
  if (info.filters.empty() || !info.text.empty()) return std::nullopt;
  size_t count = info.filters.size();
  const bool is_summed =
      count > 1 && info.filters.back().id == kFletcher32 && info.filters[count - 2].id == 1;
  if (is_summed) --count;
  Json codecs = Json::array();
  for (size_t i = 0; i < count; ++i) {
    auto codec = InNumcodecs(info.filters[i], info.stored.size());
    if (!codec) return std::nullopt;
    codecs.push_back(*std::move(codec));
  }
  auto encoding = DescribeEncoding(info.stored, std::move(codecs));
  if (!encoding) return std::nullopt;
  encoding->has_others = true;  // each chunk says which filters it went through
  if (is_summed) encoding->tail = kChecksumBytes;
  return encoding;
}

class ChunkedSource final : public DatasetSource, public EncodedChunks {
 public:
  ChunkedSource(ArraySpec spec, const OpenedFile& opened, const DatasetInfo& info,
                DatasetCodecs codecs)
      : DatasetSource(std::move(spec)),
        store_(opened.store),
        records_(info.chunks),
        has_plain_edges_(info.has_plain_edges),
        may_end_early_(MayEndEarly(spec_, codecs)),
        stored_bytes_(info.stored.size()),
        codecs_(std::move(codecs)),
        encoding_(DescribeFilters(info)) {}

  const ChunkEncoding* encoding() const override { return encoding_ ? &*encoding_ : nullptr; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                               IndexCache& indexes) const override {
    NDLFS_TRY(const ChunkRecord record, records_.Find(*this, index, indexes));
    if (record.bytes == 0) return ChunkLocation::Absent();
    ChunkLocation location;
    location.store = store_;
    location.pieces = {{record.offset, record.bytes}};
    location.skip_codecs = static_cast<uint32_t>(record.filter_mask);
    if (!IsPartial(index)) return location;
    if (has_plain_edges_) {
      location.skip_codecs = ~uint32_t{0};
    } else if (may_end_early_) {
      location.generate = ReadToLastElement(index, location);
    }
    return location;
  }

 private:
  // Not where large chunks are better decoded in parts, nor where there is no
  // room for one more codec.
  static bool MayEndEarly(const ArraySpec& spec, const DatasetCodecs& codecs) {
    constexpr uint64_t kLargeChunk = uint64_t{1} << 20;
    constexpr size_t kMostFilters = 31;
    const auto bytes = CheckedProduct(spec.grid.max_chunk_shape(), spec.dtype.size());
    const bool is_large = !bytes || *bytes >= kLargeChunk;
    return !codecs.filters.empty() && codecs.filters.size() <= kMostFilters &&
           !(is_large && spec.codecs.DecodesRanges());
  }

  // Whether the chunk reaches beyond the end of the dataset.
  bool IsPartial(std::span<const uint64_t> index) const {
    for (size_t d = 0; d < index.size(); ++d) {
      const uint64_t left = spec_.shape[d] - spec_.grid.Begin(d, index[d]);
      if (left < spec_.grid.max_chunk_shape()[d]) return true;
    }
    return false;
  }

  // Some writers end a chunk at the edge with the last element of the dataset.
  // To libhdf5 the rest is whatever its memory holds, which it shows to nobody.
  // Where elements of the dataset are missing, too, it does show that, and here
  // it is an error.
  std::function<Result<Bytes>(uint64_t)> ReadToLastElement(std::span<const uint64_t> index,
                                                           ChunkLocation location) const {
    const ChunkForm form{spec_.dtype, spec_.grid.ChunkShape(index)};
    DatasetCodecs codecs = codecs_;
    codecs.filters.insert(codecs.filters.begin(),
                          MakeShortChunkCodec(BytesToLastElement(index)));
    location.skip_codecs <<= 1;  // all but the new one
    location.must_exist = true;
    return [form, codecs = std::move(codecs),
            location = std::move(location)](uint64_t limit) -> Result<Bytes> {
      NDLFS_TRY(const CodecChain chain, codecs.MakeChain(form));
      return ReadChunk(chain, location, form.shape, limit);
    };
  }

  // Bytes of a chunk as far as the dataset reaches in it, before filters.
  uint64_t BytesToLastElement(std::span<const uint64_t> index) const {
    uint64_t last = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      const uint64_t extent = spec_.grid.max_chunk_shape()[d];
      const uint64_t left = spec_.shape[d] - spec_.grid.Begin(d, index[d]);
      last = last * extent + std::min(left, extent) - 1;
    }
    return (last + 1) * stored_bytes_;
  }

  const std::shared_ptr<const Store> store_;
  const ChunkRecords records_;
  const bool has_plain_edges_;
  const bool may_end_early_;
  const uint64_t stored_bytes_;  // of an element
  const DatasetCodecs codecs_;
  const std::optional<ChunkEncoding> encoding_;
};

// Whether region references of the type are told element by element.
bool HasElementRegions(const model::Datatype& type) {
  switch (type.kind()) {
    case model::Datatype::Kind::kRegionRef:
      return type.selection() == model::Datatype::Selection::kElement;
    case model::Datatype::Kind::kVlen:
    case model::Datatype::Kind::kArray:
      return HasElementRegions(type.base());
    case model::Datatype::Kind::kCompound:
      return std::any_of(type.members().begin(), type.members().end(),
                         [](const auto& member) { return HasElementRegions(member.type); });
    default:
      return false;
  }
}

// Elements in the header of the dataset.
class CompactSource final : public DatasetSource {
 public:
  CompactSource(ArraySpec spec, std::shared_ptr<const Bytes> elements, size_t item)
      : DatasetSource(std::move(spec)), elements_(std::move(elements)), item_(item) {}

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    const uint64_t first =
        FirstElement(spec_.shape, spec_.grid.max_chunk_shape(), index) * item_;
    const uint64_t bytes = *CheckedProduct(spec_.grid.ChunkShape(index), item_);
    ChunkLocation location;
    location.inline_bytes = elements_;
    if (first != 0 || bytes != elements_->size()) {
      location.inline_bytes =
          std::make_shared<const Bytes>(Bytes::Copy(elements_->span().subspan(first, bytes)));
    }
    return location;
  }

 private:
  const std::shared_ptr<const Bytes> elements_;
  const size_t item_;
};

// Elements that are made of those of another form, which `stored` has as opaque ones.
class ConvertedSource final : public DatasetSource, public SourceNotes {
 public:
  ConvertedSource(ArraySpec spec, std::shared_ptr<const ArraySource> stored,
                  std::shared_ptr<const File> file, const DatasetInfo& info)
      : DatasetSource(std::move(spec)),
        stored_(std::move(stored)),
        file_(std::move(file)),
        info_(std::make_shared<const DatasetInfo>(info)),
        as_elements_(HasElementRegions(spec_.dtype)) {}

  Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                               IndexCache& indexes) const override {
    NDLFS_TRY(ChunkLocation location, stored_->Locate(index, indexes));
    if (location.absent() && !as_elements_) return location;
    ChunkLocation converted;
    converted.store = location.store;
    converted.key = location.key;
    converted.generate = [stored = stored_, file = file_, info = info_,
                          as_elements = as_elements_, location = std::move(location),
                          whole = stored_->spec().grid.ChunkShape(index),
                          shape = spec_.grid.ChunkShape(index),
                          has_dangling = has_dangling_](uint64_t limit) -> Result<Bytes> {
      // A file of some MiB can claim any number of long elements: all of them may be the same
      // one.
      constexpr uint64_t kMostVariableBytes = uint64_t{256} << 20;
      NDLFS_TRY(Bytes bytes, ReadChunk(stored->spec().codecs, location, whole, limit));
      const size_t item = stored->spec().dtype.size();
      if (bytes.empty()) bytes = Filled(stored->spec(), *CheckedProduct(whole, item));
      if (shape != whole) bytes = Crop(bytes, whole, shape, item);
      NDLFS_TRY(auto elements, file->Convert(*info, bytes.span(), *CheckedProduct(shape),
                                             as_elements, std::min(limit, kMostVariableBytes)));
      if (elements.has_dangling) *has_dangling = true;
      return std::move(elements.bytes);
    };
    return converted;
  }

  std::vector<std::string> notes() const override {
    if (!*has_dangling_) return {};
    return {std::string(kDanglingNote)};
  }

 private:
  static Bytes Filled(const ArraySpec& stored, uint64_t size) {
    Bytes bytes(size);
    for (uint64_t i = 0; i < size; ++i) {
      bytes.data()[i] =
          stored.fill.empty() ? std::byte{0} : stored.fill[i % stored.fill.size()];
    }
    return bytes;
  }

  // The first `shape` elements along each dimension.
  static Bytes Crop(const Bytes& whole, const std::vector<uint64_t>& whole_shape,
                    const std::vector<uint64_t>& shape, size_t item) {
    std::vector<uint64_t> strides(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * whole_shape[d];
    Bytes cropped(*CheckedProduct(shape, item));
    GatherStrided(whole.data(), strides, shape, item, cropped.data());
    return cropped;
  }

  const std::shared_ptr<const ArraySource> stored_;
  const std::shared_ptr<const File> file_;
  const std::shared_ptr<const DatasetInfo> info_;
  const bool as_elements_;  // whether region references are told element by element
  // Whether dangling references have been read.
  const std::shared_ptr<std::atomic<bool>> has_dangling_ =
      std::make_shared<std::atomic<bool>>(false);
};

std::string NameOfFilter(const FilterInfo& filter) {
  if (filter.name.empty()) return fmt::format("filter {}", filter.id);
  return fmt::format("filter {} ({})", filter.id, model::Quote(filter.name));
}

// A filter that cannot be undone, in a dataset where some chunks say that it was left out.
// Those chunks are readable, as with libhdf5, whether the filter is optional or not. The filter
// may have parameters that make no sense, such as "shuffle" for elements of variable size: then
// the writer of the dataset could not apply it either, and chunks that do not say that it was
// left out are corrupt.
class ImpossibleFilter final : public BytesToBytesCodec {
 public:
  explicit ImpossibleFilter(model::Error reason) : reason_(std::move(reason)) {}
  std::string_view name() const override { return "filter"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  Result<size_t> Decode(ConstByteSpan, ByteSpan) const override {
    return model::Propagate(reason_);
  }

 private:
  const model::Error reason_;
};

// `may_be_left_out`: whether there are chunks that this filter was not applied
// to.
Result<std::shared_ptr<const BytesToBytesCodec>> MakeFilter(const FilterInfo& filter,
                                                            const ChunkForm& form,
                                                            bool may_be_left_out) {
  const std::string id = std::to_string(filter.id);
  const Json configuration = {{"cd_values", filter.parameters}};
  auto codec = MakeCodec({CodecDialect::kHdf5, id, &configuration, &form});
  if (!codec && codec.error().code() == model::ErrorCode::kBadInput) {
    return std::make_shared<const ImpossibleFilter>(
        model::Error(model::ErrorCode::kCorrupt, codec.error().message()));
  }
  if (!codec && may_be_left_out && codec.error().code() == model::ErrorCode::kUnsupported) {
    return std::make_shared<const ImpossibleFilter>(
        std::move(codec).error().In(NameOfFilter(filter)));
  }
  if (!codec) return model::Propagate(std::move(codec).error());
  auto* bytes_to_bytes = std::get_if<std::shared_ptr<const BytesToBytesCodec>>(&*codec);
  if (!bytes_to_bytes) return model::Internal("not a codec of bytes");
  return std::move(*bytes_to_bytes);
}

// Elements as they are in the file: filters, byte order, ends of text. A bit of
// `left_out` is set for a filter that some chunks are written without.
Result<DatasetCodecs> MakeCodecs(const DatasetInfo& info, const std::vector<uint64_t>& chunk,
                                 uint32_t left_out) {
  const ChunkForm form{info.stored, chunk};
  DatasetCodecs codecs;
  const bool is_chunked = info.layout == Layout::kChunked;
  for (const FilterInfo& filter : is_chunked ? info.filters : std::vector<FilterInfo>()) {
    const bool may_be_left_out = left_out >> codecs.filters.size() & 1;
    NDLFS_TRY(auto codec, MakeFilter(filter, form, may_be_left_out), NameOfFilter(filter));
    codecs.filters.push_back(std::move(codec));
  }
  if (!info.text.empty()) codecs.text.push_back(MakeTextCodec(info.text));
  NDLFS_TRY(codecs.bytes, MakeStoredBytes(info.stored));
  return codecs;
}

Result<void> CheckSizes(const DatasetInfo& info, const std::vector<uint64_t>& chunk,
                        uint64_t max_chunk_bytes) {
  // An element of variable size counts with its entry in the table of offsets.
  const uint64_t item = info.type.is_fixed_size() ? info.type.size() : sizeof(uint64_t);
  if (item == 0) return model::BadInput("elements of 0 bytes");
  if (CheckedProduct(info.shape, item).value_or(kMaxViewSize) >= kMaxViewSize) {
    return model::Limit("the dataset has more than 2^62 bytes");
  }
  const auto bytes = CheckedProduct(chunk, std::max<uint64_t>(item, info.stored.size()));
  if (bytes && *bytes <= max_chunk_bytes) return {};
  return model::Limit("chunks of more than {} bytes (--max-chunk-size)", max_chunk_bytes);
}

class SourceMaker {
 public:
  SourceMaker(const OpenedFile& opened, const DatasetInfo& info, uint64_t max_chunk_bytes)
      : opened_(opened), info_(info), max_chunk_bytes_(max_chunk_bytes) {}

  Result<std::shared_ptr<const ArraySource>> Make() {
    if (info_.layout == Layout::kVirtual) return MakeVirtual();
    if (!info_.is_plain) return MakeConvertedSource();
    if (info_.layout == Layout::kCompact) return MakeCompactSource();
    if (info_.layout == Layout::kChunked) return MakeChunkedSource();
    return MakeContiguousSource();
  }

 private:
  Result<ArraySpec> MakeSpec(const std::vector<uint64_t>& chunk, ChunkGrid::Edge edge) {
    ArraySpec spec;
    spec.dtype = info_.type;
    spec.shape = info_.shape;
    spec.max_chunk_bytes = max_chunk_bytes_;
    if (info_.fill) spec.fill = *info_.fill;
    NDLFS_TRY(spec.grid, ChunkGrid::Regular(info_.shape, chunk, edge));
    NDLFS_RETURN_IF_ERROR(CheckSizes(info_, spec.grid.max_chunk_shape(), max_chunk_bytes_));
    return spec;
  }

  Result<std::shared_ptr<const ArraySource>> MakeVirtual() {
    const uint64_t item = info_.type.is_fixed_size() ? info_.type.size() : kVariableBytes;
    NDLFS_TRY(auto spec, MakeSpec(ContiguousBlockShape(info_.shape, item, kBlockBytes),
                                  ChunkGrid::Edge::kCropped));
    return MakeVirtualSource(std::move(spec), opened_, info_);
  }

  // Only the elements within the array are converted: what is stored beyond its end may be
  // anything.
  Result<std::shared_ptr<const ArraySource>> MakeConvertedSource() {
    DatasetInfo stored = info_;
    stored.type = stored.stored = model::Datatype::Opaque(info_.form.size);
    stored.is_plain = true;
    stored.text.clear();
    stored.fill = info_.stored_fill;
    NDLFS_TRY(auto source, SourceMaker(opened_, stored, max_chunk_bytes_).Make());
    NDLFS_TRY(auto spec,
              MakeSpec(source->spec().grid.max_chunk_shape(), ChunkGrid::Edge::kCropped));
    if (spec.fill.empty() && !spec.dtype.is_fixed_size()) spec.fill = ZeroElement(spec.dtype);
    return std::make_shared<ConvertedSource>(std::move(spec), std::move(source), opened_.file,
                                             info_);
  }

  // Of elements that lie in one piece, without filters.
  Result<ArraySpec> MakeBlocksSpec() {
    const auto blocks = ContiguousBlockShape(info_.shape, info_.type.size(), kBlockBytes);
    NDLFS_TRY(auto spec, MakeSpec(blocks, ChunkGrid::Edge::kCropped));
    const std::vector<uint64_t>& shape = spec.grid.max_chunk_shape();
    NDLFS_TRY(const auto codecs, MakeCodecs(info_, shape, 0));
    NDLFS_TRY(spec.codecs, codecs.MakeChain({info_.type, shape}));
    return spec;
  }

  Result<std::shared_ptr<const ArraySource>> MakeCompactSource() {
    NDLFS_TRY(auto spec, MakeBlocksSpec());
    const uint64_t bytes =
        CheckedProduct(info_.shape, info_.stored.size()).value_or(UINT64_MAX);
    if (bytes > info_.compact->size()) {
      return model::Corrupt("{} bytes in a compact dataset of {}", info_.compact->size(),
                            bytes);
    }
    return std::make_shared<CompactSource>(std::move(spec), info_.compact, info_.stored.size());
  }

  // A bit for each filter that is not known here and that some chunk was written
  // without; only the first chunks are asked. Where they all went through it,
  // the dataset is of no use, and it is better to say so at once.
  Result<uint32_t> FindFiltersLeftOut() const {
    const uint32_t unknown = UnknownFilters();
    uint32_t left_out = 0;
    bool is_empty = true;
    for (uint64_t first = 0; unknown & ~left_out && first < kAskedChunks;
         first += kRecordsPerBlock) {
      NDLFS_TRY(const auto records, info_.chunks->Locate(first, kRecordsPerBlock));
      for (const ChunkRecord& record : records) {
        if (record.bytes == 0) continue;
        is_empty = false;
        left_out |= static_cast<uint32_t>(record.filter_mask) & unknown;
      }
      if (records.size() < kRecordsPerBlock) return is_empty ? unknown : left_out;
    }
    return left_out;
  }

  uint32_t UnknownFilters() const {
    const ChunkForm form{info_.stored, info_.chunk};
    uint32_t unknown = 0;
    for (size_t i = 0; i < info_.filters.size() && i < 32; ++i) {
      const auto codec = MakeFilter(info_.filters[i], form, false);
      const bool is_unknown = !codec && codec.error().code() == model::ErrorCode::kUnsupported;
      if (is_unknown) unknown |= uint32_t{1} << i;
    }
    return unknown;
  }

  Result<std::shared_ptr<const ArraySource>> MakeChunkedSource() {
    NDLFS_TRY(auto spec, MakeSpec(info_.chunk, ChunkGrid::Edge::kFull));
    NDLFS_TRY(const uint32_t left_out, FindFiltersLeftOut());
    NDLFS_TRY(auto codecs, MakeCodecs(info_, info_.chunk, left_out));
    NDLFS_TRY(spec.codecs, codecs.MakeChain({info_.type, info_.chunk}));
    return std::make_shared<ChunkedSource>(std::move(spec), opened_, info_, std::move(codecs));
  }

  Result<std::shared_ptr<const ArraySource>> MakeContiguousSource() {
    NDLFS_TRY(auto spec, MakeBlocksSpec());
    if (!info_.external.empty()) {
      NDLFS_TRY(auto store, MakeExternalStore(*opened_.source, opened_.path, info_.external));
      return std::make_shared<ContiguousSource>(std::move(spec), std::move(store), 0, info_);
    }
    if (!info_.offset) return std::make_shared<AbsentSource>(std::move(spec));
    const auto bytes = CheckedProduct(info_.shape, info_.stored.size());
    if (!bytes || CheckedAdd(*info_.offset, *bytes).value_or(kMaxViewSize) >= kMaxViewSize) {
      return model::Limit("the dataset ends beyond any file");
    }
    return std::make_shared<ContiguousSource>(std::move(spec), opened_.store, *info_.offset,
                                              info_);
  }

  const OpenedFile& opened_;
  const DatasetInfo& info_;
  const uint64_t max_chunk_bytes_;
};

// Region references of small datasets are looked at, to tell blocks from
// elements; these are what NDL documents show the values of.
constexpr uint64_t kMaxInspectedRegions = 1000;
// Text is looked at, too: as many elements, with these limits in bytes.
constexpr uint64_t kMaxInspectedText = uint64_t{64} << 10;
constexpr uint64_t kMaxInspectedChunk = uint64_t{1} << 20;
constexpr uint64_t kMaxInspectedMemory = uint64_t{16} << 20;

// The rows of a chunk as far as they are in the array: behind its end they may be anything.
template <typename Look>
void LookInside(const ArraySpec& spec, const std::vector<uint64_t>& index,
                const std::vector<uint64_t>& chunk, ConstByteSpan bytes, const Look& look) {
  const size_t rank = chunk.size();
  const uint64_t count = CheckedProduct(chunk).value_or(UINT64_MAX);
  if (rank == 0 || !spec.dtype.is_fixed_size()) return look(bytes, count);
  const auto left = [&](size_t d) { return spec.shape[d] - spec.grid.Begin(d, index[d]); };
  const uint64_t row_bytes = chunk.back() * spec.dtype.size();
  const uint64_t inside = std::min(chunk.back(), left(rank - 1));
  for (uint64_t row = 0; (row + 1) * row_bytes <= bytes.size(); ++row) {
    bool is_inside = true;
    uint64_t rest = row;
    for (size_t d = rank - 1; d-- > 0; rest /= chunk[d]) {
      is_inside = is_inside && rest % chunk[d] < left(d);
    }
    if (is_inside) {
      look(bytes.subspan(row * row_bytes, inside * spec.dtype.size()), inside);
    }
  }
}

// Calls `look` with the elements of the first chunks, as many as have `most` elements; the
// edges of chunks count as elements.
template <typename Look>
Result<void> LookAtFirst(const ArraySource& source, uint64_t most, const Look& look) {
  class NoIndexes final : public IndexCache {
    Result<std::shared_ptr<const void>> GetOrLoadWeighed(
        uint64_t, uint64_t, const std::function<Result<Weighed>()>& load) override {
      NDLFS_TRY(Weighed loaded, load());
      return std::move(loaded.object);
    }
  };
  const ArraySpec& spec = source.spec();
  NoIndexes indexes;
  std::vector<uint64_t> index(spec.shape.size());
  for (uint64_t seen = 0; seen < most;) {
    const std::vector<uint64_t> shape = spec.grid.ChunkShape(index);
    NDLFS_TRY(const ChunkLocation location, source.Locate(index, indexes));
    NDLFS_TRY(const Bytes chunk, ReadChunk(spec.codecs, location, shape, kMaxInspectedMemory));
    const uint64_t count = CheckedProduct(shape).value_or(UINT64_MAX);
    if (!chunk.empty()) LookInside(spec, index, shape, chunk.span(), look);
    seen = CheckedAdd(seen, count).value_or(UINT64_MAX);
    size_t d = index.size();
    while (d > 0 && index[d - 1] + 1 == spec.grid.counts()[d - 1]) index[--d] = 0;
    if (d == 0) return {};
    ++index[d - 1];
  }
  return {};
}

// What can never be read has no influence; a later look would tell something else.
template <typename T>
Result<void> IfTransient(const Result<T>& failed) {
  if (!failed.error().is_transient()) return {};
  return model::Propagate(failed.error());
}

bool IsInside(const TextRun& run, size_t element_bytes) {
  const auto bytes = CheckedMultiply(run.width, run.count);
  return bytes && *bytes <= element_bytes && run.offset <= element_bytes - *bytes;
}

Result<void> CheckPlainElements(const DatasetInfo& info) {
  if (!info.type.SameLayout(info.stored.WithOrder(model::ByteOrder::kLittle))) {
    return model::Internal("elements of two layouts");
  }
  for (const TextRun& run : info.text) {
    if (!IsInside(run, info.stored.size())) return model::Internal("text beyond its element");
  }
  return {};
}

}  // namespace

model::Result<void> CheckDatasetInfo(const DatasetInfo& info) {
  const size_t rank = info.shape.size();
  if (info.max_shape.size() != rank) return model::Internal("two ranks");
  if (!info.netcdf_shape.empty() &&
      !std::equal(info.shape.begin(), info.shape.end(), info.netcdf_shape.begin(),
                  info.netcdf_shape.end(), std::less_equal<uint64_t>())) {
    return model::Internal("a shape smaller than what is stored");
  }
  if (!info.scales.empty() && info.scales.size() != rank) {
    return model::Internal("scales of another rank");
  }
  for (const auto& scales : info.scales) {
    for (const ScaleInfo& scale : scales) {
      if (scale.max_shape.size() != scale.shape.size()) return model::Internal("two ranks");
    }
  }
  for (const auto& fill : {info.fill, info.netcdf_fill}) {
    if (fill && info.type.is_fixed_size() && fill->size() != info.type.size()) {
      return model::Internal("a fill value of {} bytes", fill->size());
    }
  }
  return info.is_plain ? CheckPlainElements(info) : Result<void>();
}

const std::vector<uint64_t>& ShownShape(const DatasetInfo& info) {
  return info.netcdf_shape.empty() ? info.shape : info.netcdf_shape;
}

std::optional<std::vector<std::byte>> ShownFill(const DatasetInfo& info) {
  if (info.netcdf_shape.empty()) return info.fill;
  return info.netcdf_fill ? info.netcdf_fill : NetCdfFill(info.type);
}

model::Result<std::shared_ptr<const ArraySource>> MakeDatasetSource(const OpenedFile& opened,
                                                                    const DatasetInfo& info,
                                                                    uint64_t max_chunk_bytes) {
  if (!info.is_null) {
    NDLFS_TRY(auto source, SourceMaker(opened, info, max_chunk_bytes).Make());
    if (info.netcdf_shape.empty()) return source;
    return MakePaddedSource(std::move(source), info.netcdf_shape, *ShownFill(info));
  }
  // No elements: an array of extent 0, so nothing is ever located.
  ArraySpec spec;
  spec.dtype = info.type;
  spec.shape = {0};
  NDLFS_TRY(spec.grid, ChunkGrid::Regular({0}, {1}, ChunkGrid::Edge::kFull));
  return std::make_shared<AbsentSource>(std::move(spec));
}

model::Result<void> InspectElements(const OpenedFile& opened, DatasetInfo& info) {
  TextRule rule(info.type);
  const auto count = CheckedProduct(info.shape);
  const bool has_regions = HasRegions(info.type) && count && *count <= kMaxInspectedRegions;
  if ((!has_regions && !rule.applies()) || info.is_null || !count || *count == 0 ||
      !info.external.empty() || info.layout == Layout::kVirtual) {
    return {};
  }
  if (has_regions) {
    DatasetInfo stored = info;
    stored.type = stored.stored = model::Datatype::Opaque(info.form.size);
    stored.is_plain = true;
    stored.fill = info.stored_fill;
    NDLFS_TRY(const auto source, MakeDatasetSource(opened, stored, kMaxInspectedMemory));
    NDLFS_TRY(const Bytes elements, ReadElements(*source, kMaxInspectedMemory));
    NDLFS_TRY(const auto converted,
              opened.file->Convert(info, elements.span(), *count, false, kMaxViewSize));
    if (converted.has_parts) info.type = WithElementRegions(info.type);
    return {};
  }
  const uint64_t item = info.type.is_fixed_size() ? info.type.size() : kVariableBytes;
  DatasetInfo first = info;
  if (info.layout != Layout::kChunked) {
    // The beginning alone, which lies in front.
    first.shape = ContiguousBlockShape(
        info.shape, item, std::min(kMaxInspectedText, kMaxInspectedRegions * item));
    first.max_shape = first.shape;
  }
  const auto source = MakeDatasetSource(opened, first, kMaxInspectedChunk);
  if (!source) return IfTransient(source);
  const uint64_t most = std::min(kMaxInspectedText / item + 1, kMaxInspectedRegions);
  const auto looked = LookAtFirst(**source, most, [&](ConstByteSpan chunk, uint64_t elements) {
    if (!info.type.is_fixed_size()) {
      const uint64_t table = (elements + 1) * sizeof(uint64_t);
      chunk = chunk.subspan(std::min<uint64_t>(table, chunk.size()));
    }
    rule.Look(chunk);
  });
  if (!looked) NDLFS_RETURN_IF_ERROR(IfTransient(looked));
  info.type = rule.Apply(info.type);
  if (info.is_plain) info.stored = rule.Apply(info.stored);
  return {};
}

}  // namespace ndlfs::backends::hdf5
