// SPDX-License-Identifier: MIT
#include "backends/format/read_elements.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "backends/codec/byte_swap.h"
#include "backends/format/chunk_pieces.h"

namespace ndlfs::backends {
namespace {

using model::Result;

// Keeps the indexes of one array while it is read.
class OneArrayIndexes final : public IndexCache {
 public:
  Result<std::shared_ptr<const void>> GetOrLoadWeighed(
      uint64_t id, uint64_t slot, const std::function<Result<Weighed>()>& load) override {
    auto& kept = kept_[{id, slot}];
    if (!kept) {
      NDLFS_TRY(Weighed loaded, load());
      kept = std::move(loaded.object);
    }
    return kept;
  }

 private:
  std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<const void>> kept_;
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

// Calls `read` for the chunks of a grid that has some, until it fails.
template <typename Read>
Result<void> ForEachChunk(const ChunkGrid& grid, const Read& read) {
  std::vector<uint64_t> index(grid.rank());
  for (;;) {
    NDLFS_RETURN_IF_ERROR(read(index));
    size_t d = index.size();
    while (d > 0 && index[d - 1] + 1 == grid.counts()[d - 1]) index[--d] = 0;
    if (d == 0) return {};
    ++index[d - 1];
  }
}

// Calls `copy(from, to, count)` for each run of elements that the chunk at `index` has in the
// array: the numbers of the first elements in the chunk and in the array, and how many follow.
template <typename Copy>
void ForEachRun(const ArraySpec& spec, const std::vector<uint64_t>& index,
                const std::vector<uint64_t>& chunk_shape, const Copy& copy) {
  const size_t rank = chunk_shape.size();
  std::vector<uint64_t> count(rank);
  for (size_t d = 0; d < rank; ++d) {
    count[d] = std::min(chunk_shape[d], spec.shape[d] - spec.grid.Begin(d, index[d]));
  }
  std::vector<uint64_t> at(rank);
  for (;;) {
    uint64_t from = 0;
    uint64_t to = 0;
    for (size_t d = 0; d < rank; ++d) {
      from = from * chunk_shape[d] + at[d];
      to = to * spec.shape[d] + spec.grid.Begin(d, index[d]) + at[d];
    }
    copy(from, to, rank == 0 ? 1 : count.back());
    size_t d = rank == 0 ? 0 : rank - 1;
    while (d > 0 && at[d - 1] + 1 == count[d - 1]) at[--d] = 0;
    if (d == 0) return;
    ++at[d - 1];
  }
}

// The encoded bytes of a chunk, at most `most`; nullopt if it is absent.
Result<std::optional<Bytes>> Fetch(const ChunkLocation& location, uint64_t most) {
  if (location.inline_bytes) return Bytes::Copy(location.inline_bytes->span());
  if (!location.store || location.pieces.empty()) return std::nullopt;
  Bytes encoded;
  const auto reserve = [&](uint64_t available) -> Result<ByteSpan> {
    NDLFS_TRY(const uint64_t size, SizeOfPieces(location.pieces, available));
    NDLFS_RETURN_IF_ERROR(CheckEncodedSize(size, most));
    encoded = Bytes(size);
    return encoded.span();
  };
  NDLFS_TRY(const bool is_stored,
            ReadPieces(location, {.version = location.if_match, .reserve = reserve}));
  return is_stored ? std::optional(std::move(encoded)) : std::nullopt;
}

class Reading {
 public:
  Reading(const ArraySource& source, ByteSpan out)
      : source_(source), spec_(source.spec()), item_(spec_.dtype.size()), out_(out) {}

  Result<void> Run() {
    return ForEachChunk(spec_.grid, [this](const auto& index) { return ReadChunk(index); });
  }

  Result<Bytes> DecodeChunk(const std::vector<uint64_t>& index, uint64_t max_bytes) {
    const std::vector<uint64_t> shape = spec_.grid.ChunkShape(index);
    const auto size = CheckedProduct(shape, item_);
    if (!size || *size > max_bytes) return model::Limit("a chunk is too large");
    NDLFS_TRY(const ChunkLocation location, source_.Locate(index, indexes_));
    NDLFS_TRY(Bytes chunk,
              backends::ReadChunk(spec_.codecs, location, shape, spec_.max_chunk_bytes));
    if (chunk.empty() && !location.generate) return Filled(*size);
    if (chunk.size() == *size) return chunk;
    return model::Corrupt("{} bytes instead of {}", chunk.size(), *size);
  }

 private:
  Bytes Filled(uint64_t size) const {
    Bytes chunk(size);
    for (size_t at = 0; at < size; ++at) {
      chunk.data()[at] = spec_.fill.empty() ? std::byte{0} : spec_.fill[at % spec_.fill.size()];
    }
    return chunk;
  }

  Result<void> ReadChunk(const std::vector<uint64_t>& index) {
    NDLFS_TRY(const Bytes chunk, DecodeChunk(index, spec_.max_chunk_bytes));
    const std::vector<uint64_t> shape = spec_.grid.ChunkShape(index);
    ForEachRun(spec_, index, shape, [&](uint64_t from, uint64_t to, uint64_t count) {
      std::memcpy(out_.data() + to * item_, chunk.data() + from * item_, count * item_);
    });
    return {};
  }

  const ArraySource& source_;
  const ArraySpec& spec_;
  const size_t item_;
  const ByteSpan out_;
  OneArrayIndexes indexes_;
};

Result<void> ReadInto(const ArraySource& source, ByteSpan out);

// Only along the first dimension: that of coordinates.
Result<void> ReadJoined(const ArraySource& source, const JoinedArray& joined, ByteSpan out) {
  if (joined.dim() != 0) {
    return model::Unsupported("an array that is joined along {}", joined.dim());
  }
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
  return Reading(source, out).Run();
}

// Texts of variable size, which only libraries and documents have: these make the chunks.
Result<void> ReadVariableTexts(const ArraySource& source, std::vector<std::string>& texts) {
  const ArraySpec& spec = source.spec();
  OneArrayIndexes indexes;
  return ForEachChunk(spec.grid, [&](const std::vector<uint64_t>& index) -> Result<void> {
    NDLFS_TRY(const ChunkLocation location, source.Locate(index, indexes));
    if (location.absent()) return {};  // empty texts
    if (!location.generate) return model::Unsupported("encoded texts are not supported");
    NDLFS_TRY(const Bytes chunk, location.generate(spec.max_chunk_bytes));
    const auto shape = spec.grid.ChunkShape(index);
    NDLFS_TRY(const auto table,
              ElementTable::Make(chunk.span(), CheckedProduct(shape).value_or(UINT64_MAX)));
    Result<void> done;
    ForEachRun(spec, index, shape, [&](uint64_t from, uint64_t to, uint64_t count) {
      for (uint64_t i = 0; i < count && done; ++i) {
        ConstByteSpan element = table[from + i];
        const auto text = TakeText(element);
        if (text) texts[to + i] = TextAsUtf8(spec.dtype, *text);
        if (!text) done = model::Propagate(text.error());
      }
    });
    return done;
  });
}

}  // namespace

Result<Bytes> ReadChunk(const CodecChain& codecs, const ChunkLocation& location,
                        const std::vector<uint64_t>& shape, uint64_t limit) {
  if (location.generate) return location.generate(limit);
  const auto size = CheckedProduct(shape, codecs.dtype().size());
  if (!size) return model::Internal("a chunk of more than 2^64 bytes");
  NDLFS_TRY(const auto encoded, Fetch(location, codecs.MaxEncodedSize(shape)));
  if (!encoded) return Bytes();
  Bytes decoded(*size);
  Scratch scratch;
  NDLFS_RETURN_IF_ERROR(
      codecs.Decode(encoded->span(), shape, decoded.span(), scratch, location.skip_codecs));
  return decoded;
}

Result<std::vector<std::string>> ReadTexts(const ArraySource& source, uint64_t max_count) {
  const ArraySpec& spec = source.spec();
  if (spec.dtype.kind() != model::Datatype::Kind::kString) {
    return model::Unsupported("expected texts, found {}", spec.dtype.keyword());
  }
  const auto count = CheckedProduct(spec.shape);
  if (!count || *count > max_count) return model::Limit("more than {} texts", max_count);
  std::vector<std::string> texts(*count);
  if (texts.empty()) return texts;
  if (!spec.dtype.is_fixed_size()) {
    NDLFS_RETURN_IF_ERROR(ReadVariableTexts(source, texts));
    return texts;
  }
  NDLFS_TRY(const Bytes bytes, ReadElements(source, spec.max_chunk_bytes));
  const size_t size = spec.dtype.size();
  for (size_t i = 0; i < texts.size(); ++i) {
    NDLFS_TRY(const auto value,
              model::DecodeElement(spec.dtype, bytes.span().subspan(i * size, size)));
    if (const std::string* text = value.text()) texts[i] = *text;
  }
  return texts;
}

Result<Bytes> ReadElements(const ArraySource& source, uint64_t max_bytes) {
  const ArraySpec& spec = source.spec();
  if (!spec.dtype.is_fixed_size()) {
    return model::Unsupported("elements of variable size are not supported");
  }
  const auto size = CheckedProduct(spec.shape, spec.dtype.size());
  if (!size || *size > max_bytes) return model::Limit("more than {} bytes", max_bytes);
  Bytes bytes(*size);
  NDLFS_RETURN_IF_ERROR(ReadInto(source, bytes.span()));
  return bytes;
}

Result<Bytes> ReadFirstElements(const ArraySource& source, uint64_t max_bytes) {
  const ArraySpec& spec = source.spec();
  const size_t item = spec.dtype.is_fixed_size() ? spec.dtype.size() : 0;
  if (item == 0) return model::Unsupported("elements of variable size are not supported");
  if (CheckedProduct(spec.shape) == uint64_t{0}) return Bytes();
  if (const auto range = source.contiguous()) {
    const uint64_t size = CheckedProduct(spec.shape, item).value_or(UINT64_MAX);
    Bytes bytes(std::min(size, max_bytes / item * item));
    NDLFS_RETURN_IF_ERROR(ReadContiguous(*range, bytes.span()));
    return bytes;
  }
  const std::vector<uint64_t> first(spec.shape.size());
  NDLFS_TRY(const Bytes chunk, Reading(source, {}).DecodeChunk(first, max_bytes));
  std::vector<std::byte> elements;
  ForEachRun(spec, first, spec.grid.ChunkShape(first),
             [&](uint64_t from, uint64_t /*to*/, uint64_t count) {
               const auto run = chunk.span().subspan(from * item, count * item);
               elements.insert(elements.end(), run.begin(), run.end());
             });
  return Bytes::Copy(elements);
}

}  // namespace ndlfs::backends
