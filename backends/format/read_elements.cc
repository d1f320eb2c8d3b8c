// SPDX-License-Identifier: MIT
#include "backends/format/read_elements.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/byte_swap.h"

namespace ndlfs::backends {
namespace {

using model::Result;

// Keeps the indexes of one array while it is read.
class OneArrayIndexes final : public IndexCache {
 public:
  Result<std::shared_ptr<const Bytes>> GetOrLoad(
      uint64_t id, uint64_t slot, const std::function<Result<Bytes>()>& load) override {
    auto& kept = kept_[{id, slot}];
    if (!kept) {
      NDLFS_TRY(auto bytes, load());
      kept = std::make_shared<const Bytes>(std::move(bytes));
    }
    return kept;
  }

 private:
  std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<const Bytes>> kept_;
};

Result<void> ReadContiguous(const ContiguousRange& range, ByteSpan out) {
  NDLFS_TRY(const auto count, range.store->ReadInto(range.key, range.offset, out));
  if (count.value_or(0) != out.size()) {
    return model::Corrupt("ends before byte {}", range.offset + out.size());
  }
  NDLFS_TRY(const auto runs, model::PlanByteSwap(range.stored, model::ByteOrder::kLittle));
  if (!runs.empty()) SwapElements(runs, range.stored.size(), out, out);
  return {};
}

class Reading {
 public:
  // Reads the elements from the first one to those of `extents`, of whole chunks, into `out`.
  Reading(const ArraySource& source, std::vector<uint64_t> extents, ByteSpan out)
      : source_(source),
        spec_(source.spec()),
        item_(spec_.dtype.size()),
        extents_(std::move(extents)),
        out_(out) {}

  Result<void> Run() {
    std::vector<uint64_t> index(spec_.shape.size());
    for (;;) {
      NDLFS_RETURN_IF_ERROR(ReadChunk(index));
      size_t d = index.size();
      while (d > 0 && IsLast(d - 1, index[d - 1])) index[--d] = 0;
      if (d == 0) return {};
      ++index[d - 1];
    }
  }

 private:
  // Whether chunk `index` along dimension `d` is the last one that is asked for.
  bool IsLast(size_t d, uint64_t index) const {
    return spec_.grid.Begin(d, index) + spec_.grid.Extent(d, index) >= extents_[d];
  }

  Result<void> ReadChunk(const std::vector<uint64_t>& index) {
    const std::vector<uint64_t> shape = spec_.grid.ChunkShape(index);
    const auto size = CheckedProduct(shape, item_);
    if (!size || *size > spec_.max_chunk_bytes) return model::Limit("a chunk is too large");
    NDLFS_TRY(const ChunkLocation location, source_.Locate(index, indexes_));
    NDLFS_TRY(const Bytes chunk, Decoded(location, shape, *size));
    Copy(index, shape, chunk.span());
    return {};
  }

  Result<Bytes> Decoded(const ChunkLocation& location, const std::vector<uint64_t>& shape,
                        uint64_t size) {
    if (location.generate) {
      NDLFS_TRY(Bytes chunk, location.generate(spec_.max_chunk_bytes));
      if (chunk.size() != size)
        return model::Corrupt("{} bytes instead of {}", chunk.size(), size);
      return chunk;
    }
    NDLFS_TRY(const auto encoded, Encoded(location, spec_.codecs.MaxEncodedSize(shape)));
    Bytes chunk(size);
    if (!encoded) {
      for (size_t at = 0; at < size; ++at) {
        chunk.data()[at] =
            spec_.fill.empty() ? std::byte{0} : spec_.fill[at % spec_.fill.size()];
      }
      return chunk;
    }
    NDLFS_RETURN_IF_ERROR(spec_.codecs.Decode(encoded->span(), shape, chunk.span(), scratch_,
                                              location.skip_codecs));
    return chunk;
  }

  // nullopt: the chunk is absent.
  static Result<std::optional<Bytes>> Encoded(const ChunkLocation& location, uint64_t limit) {
    if (location.inline_bytes) return Bytes::Copy(location.inline_bytes->span());
    if (!location.store || location.pieces.empty()) return std::nullopt;
    std::vector<std::byte> all;
    std::optional<Generation> version = location.if_match;
    for (const ByteRange& piece : location.pieces) {
      const ReadOptions options{.range = piece, .from_end = false, .if_match = version};
      NDLFS_TRY(const auto value,
                location.store->Get(location.key, limit - std::min<uint64_t>(limit, all.size()),
                                    options));
      if (!value) return std::nullopt;
      version = value->info.generation;
      all.insert(all.end(), value->bytes.span().begin(), value->bytes.span().end());
    }
    return Bytes::Copy(all);
  }

  // The part of the chunk that is asked for.
  void Copy(const std::vector<uint64_t>& index, const std::vector<uint64_t>& shape,
            ConstByteSpan chunk) {
    const size_t rank = shape.size();
    std::vector<uint64_t> count(rank);
    for (size_t d = 0; d < rank; ++d) {
      count[d] = std::min(shape[d], extents_[d] - spec_.grid.Begin(d, index[d]));
    }
    std::vector<uint64_t> at(rank);
    const uint64_t run = (rank == 0 ? 1 : count.back()) * item_;
    for (;;) {
      uint64_t from = 0;
      uint64_t to = 0;
      for (size_t d = 0; d < rank; ++d) {
        from = from * shape[d] + at[d];
        to = to * extents_[d] + spec_.grid.Begin(d, index[d]) + at[d];
      }
      std::memcpy(out_.data() + to * item_, chunk.data() + from * item_, run);
      size_t d = rank == 0 ? 0 : rank - 1;
      while (d > 0 && at[d - 1] + 1 == count[d - 1]) at[--d] = 0;
      if (d == 0) return;
      ++at[d - 1];
    }
  }

  const ArraySource& source_;
  const ArraySpec& spec_;
  const size_t item_;
  const std::vector<uint64_t> extents_;
  const ByteSpan out_;
  OneArrayIndexes indexes_;
  Scratch scratch_;
};

Result<void> ReadInto(const ArraySource& source, ByteSpan out);

// Only along the first dimension: that of coordinates.
Result<void> ReadJoined(const ArraySource& source, const JoinedArray& joined, ByteSpan out) {
  if (joined.dim() != 0)
    return model::Unsupported("an array that is joined along {}", joined.dim());
  const uint64_t row = out.size() / joined.bounds().back();
  for (size_t i = 0; i + 1 < joined.bounds().size(); ++i) {
    const uint64_t count = joined.bounds()[i + 1] - joined.bounds()[i];
    const ByteSpan into = out.subspan(joined.bounds()[i] * row, count * row);
    if (into.empty()) continue;
    NDLFS_TRY(const JoinedPart part, joined.OpenPart(i));
    const std::vector<std::byte>& fill = source.spec().fill;
    for (size_t at = 0; !part.source && at < into.size(); ++at) {
      into[at] = fill.empty() ? std::byte{0} : fill[at % fill.size()];
    }
    if (!part.source) continue;
    const size_t item = source.spec().dtype.size();
    const size_t from_item = part.converter ? part.converter->from_size() : item;
    NDLFS_TRY(const Bytes elements, ReadElements(*part.source, into.size() / item * from_item));
    if (elements.size() != into.size() / item * from_item) {
      return model::Internal("a part with {} bytes", elements.size());
    }
    if (part.converter) {
      NDLFS_RETURN_IF_ERROR(part.converter->Convert(elements.span(), into));
    } else {
      std::memcpy(into.data(), elements.data(), into.size());
    }
  }
  return {};
}

Result<void> ReadInto(const ArraySource& source, ByteSpan out) {
  if (out.empty()) return {};
  if (const auto* joined = source.joined()) return ReadJoined(source, *joined, out);
  if (const auto range = source.contiguous(); range && !range->exact_size) {
    return ReadContiguous(*range, out);
  }
  return Reading(source, source.spec().shape, out).Run();
}

}  // namespace

Result<Bytes> ReadElements(const ArraySource& source, uint64_t max_bytes) {
  const ArraySpec& spec = source.spec();
  if (!spec.dtype.is_fixed_size()) return model::Unsupported("elements of variable size");
  const auto size = CheckedProduct(spec.shape, spec.dtype.size());
  if (!size || *size > max_bytes) return model::Limit("more than {} bytes", max_bytes);
  Bytes bytes(*size);
  NDLFS_RETURN_IF_ERROR(ReadInto(source, bytes.span()));
  return bytes;
}

Result<Bytes> ReadFirstElements(const ArraySource& source, uint64_t max_bytes) {
  const ArraySpec& spec = source.spec();
  const size_t item = spec.dtype.is_fixed_size() ? spec.dtype.size() : 0;
  if (item == 0) return model::Unsupported("elements of variable size");
  if (CheckedProduct(spec.shape) == uint64_t{0}) return Bytes();
  std::vector<uint64_t> extents =
      spec.grid.ChunkShape(std::vector<uint64_t>(spec.shape.size()));
  const auto chunk_size = CheckedProduct(extents, item);
  for (size_t d = 0; d < extents.size(); ++d) extents[d] = std::min(extents[d], spec.shape[d]);
  if (const auto range = source.contiguous()) {
    const uint64_t size = CheckedProduct(extents, item).value_or(UINT64_MAX);
    Bytes bytes(std::min(size, max_bytes / item * item));
    NDLFS_RETURN_IF_ERROR(ReadContiguous(*range, bytes.span()));
    return bytes;
  }
  if (!chunk_size || *chunk_size > max_bytes) {
    return model::Limit("a chunk of more than {} bytes", max_bytes);
  }
  Bytes bytes(*CheckedProduct(extents, item));
  NDLFS_RETURN_IF_ERROR(Reading(source, std::move(extents), bytes.span()).Run());
  return bytes;
}

}  // namespace ndlfs::backends
