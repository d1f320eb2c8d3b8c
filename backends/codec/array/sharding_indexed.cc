// SPDX-License-Identifier: MIT
//
// Zarr v3 `sharding_indexed` as a codec that decodes a whole shard. It is for shards
// inside of other codecs. The Zarr backend reads inner chunks of all other shards
// one by one.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "backends/codec/factories.h"
#include "backends/codec/stream/shard_layout.h"

namespace ndlfs::backends {
namespace {

using Index = std::vector<uint64_t>;

// Advances `index` in C order within `counts`; false after the last one.
bool Next(Index& index, const Index& counts) {
  for (size_t dim = index.size(); dim-- > 0;) {
    if (++index[dim] < counts[dim]) return true;
    index[dim] = 0;
  }
  return false;
}

uint64_t Product(const Index& counts) { return *CheckedProduct(counts); }

// Walks through the rows of one inner chunk, and gives their positions in the shard.
class RowWalker {
 public:
  RowWalker(const Index& shard_shape, const Index& inner_shape, const Index& chunk)
      : rank_(shard_shape.size()), row_(rank_ == 0 ? 0 : rank_ - 1, 0) {
    length_ = rank_ == 0 ? 1 : inner_shape.back();
    inner_rows_.assign(inner_shape.begin(), inner_shape.begin() + row_.size());
    strides_.assign(rank_, 1);
    for (size_t dim = rank_; dim-- > 1;) strides_[dim - 1] = strides_[dim] * shard_shape[dim];
    for (size_t dim = 0; dim < rank_; ++dim) {
      base_ += chunk[dim] * inner_shape[dim] * strides_[dim];
    }
  }

  // The elements in a row.
  uint64_t length() const { return length_; }
  // The index in the shard of the first element of the current row.
  uint64_t position() const {
    uint64_t position = base_;
    for (size_t dim = 0; dim < row_.size(); ++dim) position += row_[dim] * strides_[dim];
    return position;
  }
  bool Advance() { return Next(row_, inner_rows_); }

 private:
  size_t rank_;
  Index row_;
  Index inner_rows_;
  Index strides_;
  uint64_t length_ = 1;
  uint64_t base_ = 0;
};

void FillElements(std::span<const std::byte> element, ByteSpan out) {
  if (element.empty()) {
    std::memset(out.data(), 0, out.size());
    return;
  }
  for (size_t at = 0; at < out.size(); at += element.size()) {
    std::copy(element.begin(), element.end(), out.begin() + at);
  }
}

// Joins elements into one stream.
model::Result<Bytes> JoinElements(const std::vector<ConstByteSpan>& elements, uint64_t limit) {
  uint64_t size = (elements.size() + 1) * sizeof(uint64_t);
  for (const ConstByteSpan element : elements) size += element.size();
  if (size > limit) return model::Limit("a chunk of {} bytes, more than {}", size, limit);
  Bytes stream(size);
  const uint64_t table = (elements.size() + 1) * sizeof(uint64_t);
  uint64_t offset = 0;
  for (size_t i = 0; i <= elements.size(); ++i) {
    std::memcpy(stream.data() + i * sizeof(offset), &offset, sizeof(offset));
    if (i == elements.size()) break;
    std::copy(elements[i].begin(), elements[i].end(), stream.data() + table + offset);
    offset += elements[i].size();
  }
  return stream;
}

class ShardingCodec final : public ArrayToBytesCodec {
 public:
  ShardingCodec(ShardLayout layout, CodecChain inner, std::vector<std::byte> fill)
      : layout_(std::move(layout)), inner_(std::move(inner)), fill_(std::move(fill)) {}

  std::string_view name() const override { return "sharding_indexed"; }

  // Inner chunks may be compressed or absent, and have gaps between them.
  std::optional<uint64_t> EncodedSize(const ChunkForm&) const override { return std::nullopt; }

  // The specification allows gaps of any size. This allows as many bytes of gaps as
  // of chunks.
  uint64_t MaxEncodedSize(const ChunkForm& form) const override {
    const auto counts = layout_.Counts(form.shape);
    if (!counts) return 0;
    const auto chunks = CheckedProduct(*counts, inner_.MaxEncodedSize(layout_.inner_shape()))
                            .value_or(kMaxViewSize);
    const auto total = CheckedAdd(chunks, layout_.EncodedIndexSize(*counts));
    const auto doubled = CheckedMultiply(total.value_or(kMaxViewSize), 2);
    return std::min(kMaxViewSize, doubled.value_or(kMaxViewSize));
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    Bytes chunk(Product(layout_.inner_shape()) * form.dtype.size());
    Scratch scratch;
    const auto visit = [&](const Index& at,
                           std::optional<ConstByteSpan> stored) -> model::Result<void> {
      if (stored) {
        NDLFS_RETURN_IF_ERROR(
            inner_.Decode(*stored, layout_.inner_shape(), chunk.span(), scratch));
      } else {
        FillElements(fill_, chunk.span());
      }
      CopyIntoShard(at, form, chunk.span(), decoded);
      return {};
    };
    return VisitChunks(encoded, form, visit);
  }

  model::Result<Bytes> DecodeVariable(ConstByteSpan encoded, const ChunkForm& form,
                                      uint64_t limit) const override {
    if (Product(form.shape) > limit / sizeof(uint64_t)) {
      return model::Limit("a chunk of {} elements", Product(form.shape));
    }
    std::vector<Bytes> streams;  // the memory that the elements point to
    std::vector<ConstByteSpan> elements(Product(form.shape), ConstByteSpan(fill_));
    Scratch scratch;
    const auto visit = [&](const Index& at,
                           std::optional<ConstByteSpan> stored) -> model::Result<void> {
      if (!stored) return {};
      NDLFS_TRY(Bytes stream,
                inner_.DecodeVariable(*stored, layout_.inner_shape(), limit, scratch));
      NDLFS_TRY(const ElementTable table,
                ElementTable::Make(stream.span(), Product(layout_.inner_shape())));
      RowWalker rows(form.shape, layout_.inner_shape(), at);
      uint64_t next = 0;
      do {
        for (uint64_t i = 0; i < rows.length(); ++i) {
          elements[rows.position() + i] = table[next++];
        }
      } while (rows.Advance());
      streams.push_back(std::move(stream));  // moving does not move the memory
      return {};
    };
    NDLFS_RETURN_IF_ERROR(VisitChunks(encoded, form, visit));
    return JoinElements(elements, limit);
  }

 private:
  // Calls `visit` with the index and the bytes of every inner chunk; nullopt for
  // empty ones.
  template <typename Visit>
  model::Result<void> VisitChunks(ConstByteSpan encoded, const ChunkForm& form,
                                  const Visit& visit) const {
    NDLFS_TRY(const Index counts, layout_.Counts(form.shape));
    NDLFS_TRY(const ByteRange range, layout_.IndexRange(counts, encoded.size()));
    NDLFS_TRY(const Bytes index,
              layout_.DecodeIndex(encoded.subspan(range.offset, range.length), counts,
                                  encoded.size()));
    if (Product(counts) == 0) return {};
    Index at(counts.size(), 0);
    uint64_t slot = 0;
    do {
      NDLFS_TRY(const auto piece, ShardLayout::Find(index.span(), slot));
      std::optional<ConstByteSpan> stored;
      if (piece) stored = encoded.subspan(piece->offset, piece->length);
      NDLFS_RETURN_IF_ERROR(visit(at, stored), fmt::format("inner chunk {}", slot));
      ++slot;
    } while (Next(at, counts));
    return {};
  }

  void CopyIntoShard(const Index& at, const ChunkForm& form, ConstByteSpan chunk,
                     ByteSpan shard) const {
    const size_t item = form.dtype.size();
    RowWalker rows(form.shape, layout_.inner_shape(), at);
    const size_t bytes = rows.length() * item;
    if (bytes == 0) return;
    const std::byte* from = chunk.data();
    do {
      std::memcpy(shard.data() + rows.position() * item, from, bytes);
      from += bytes;
    } while (rows.Advance());
  }

  const ShardLayout layout_;
  const CodecChain inner_;
  const std::vector<std::byte> fill_;  // fill value of empty inner chunks; empty for zeros
};

}  // namespace

static CodecResult MakeShardingIndexed(const CodecConfig& config) {
  NDLFS_TRY(ShardLayout::Parsed parsed,
            ShardLayout::Parse(*config.configuration, *config.form));
  NDLFS_TRY(CodecChain inner,
            MakeZarr3Chain(*parsed.inner_codecs,
                           {config.form->dtype, parsed.layout.inner_shape(), config.form->fill},
                           config.bits),
            "codecs");
  return NewCodec<ShardingCodec>(std::move(parsed.layout), std::move(inner), config.form->fill);
}

const CodecEntry kShardingIndexedEntry = {"sharding_indexed", "", "", MakeShardingIndexed};

}  // namespace ndlfs::backends
