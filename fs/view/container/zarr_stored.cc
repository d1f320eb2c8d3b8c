// SPDX-License-Identifier: MIT
#include "fs/view/container/zarr_stored.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "cache/chunk_loader.h"

namespace ndlfs::fs::zarr {
namespace {

using backends::ByteSpan;
using backends::ChunkEncoding;
using cache::StoredBytes;
using model::Result;
using ArrayPtr = std::shared_ptr<const StoredArray>;
using ReaderPtr = std::shared_ptr<const cache::ArrayReader>;

const ChunkEncoding* EncodingOf(const cache::ArrayReader& reader) {
  const auto* encoded = dynamic_cast<const backends::EncodedChunks*>(&reader.source());
  return encoded ? encoded->encoding() : nullptr;
}

// Whether the documents can say how the chunks are encoded.
bool HasWords(const ChunkEncoding& encoding, const ArrayInput& input, const ElementForm& form,
              Version version) {
  const bool is_known =
      version == Version::kV3 ? encoding.zarr3.has_value() : encoding.zarr2.has_value();
  const bool is_plain = encoding.bytes_codecs && encoding.bytes_codecs->empty();
  const bool is_same = encoding.stored.is_fixed_size() == form.type.is_fixed_size() &&
                       encoding.stored.size() == input.dtype.size();
  return is_known && is_same && !is_plain && form.packing.converter == nullptr;
}

Result<void> InArray(const StoredArray& array, Result<void> result) {
  if (result || array.name.empty()) return result;
  return model::Propagate(std::move(result).error(), array.name);
}

// The stored bytes of a chunk, without its head and tail.
class StoredChunk final : public View {
 public:
  StoredChunk(ArrayPtr array, ReaderPtr reader, uint64_t number, StoredBytes stored,
              size_t head, size_t tail)
      : array_(std::move(array)),
        reader_(std::move(reader)),
        number_(number),
        stored_(std::move(stored)),
        head_(head),
        size_(stored_.size - head - tail) {}

  std::optional<uint64_t> size() const override { return size_; }
  Result<std::optional<ReadCost>> FindCost() const override {
    return ReadCost{.chunks = 1, .fetched_bytes = stored_.size};
  }
  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    if (offset >= size_) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
    NDLFS_RETURN_IF_ERROR(
        InArray(*array_, reader_->ReadStored(number_, stored_, head_ + offset, out)));
    return out.size();
  }

 private:
  const ArrayPtr array_;
  const ReaderPtr reader_;
  const uint64_t number_;  // in the source
  const StoredBytes stored_;
  const size_t head_;
  const uint64_t size_;
};

// A chunk that is decoded, and shown in the form of the others.
class FramedChunk final : public View {
 public:
  FramedChunk(ArrayPtr array, ReaderPtr reader, uint64_t number)
      : array_(std::move(array)), reader_(std::move(reader)), number_(number) {
    const size_t size = reader_->spec().dtype.size();
    while (fill_.size() < size)
      fill_.insert(fill_.end(), array_->fill.begin(), array_->fill.end());
  }

  std::optional<uint64_t> size() const override { return array_->source.frame->size(); }
  Result<std::optional<ReadCost>> FindCost() const override {
    NDLFS_TRY(const auto cost, reader_->CostOf(number_));
    return ReadCost{.chunks = 1,
                    .kept = cost.is_kept ? uint64_t{1} : 0,
                    .fetched_bytes = cost.fetched_bytes,
                    .decoded_bytes = cost.decoded_bytes};
  }
  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    const backends::PlainFrame& frame = *array_->source.frame;
    if (offset >= frame.size()) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), frame.size() - offset));
    const auto chunk = reader_->Load(number_);
    if (!chunk) NDLFS_RETURN_IF_ERROR(InArray(*array_, model::Propagate(chunk.error())));
    frame.Read((*chunk)->empty() ? std::span(fill_) : (*chunk)->span(), offset, out);
    return out.size();
  }

 private:
  const ArrayPtr array_;
  const ReaderPtr reader_;
  const uint64_t number_;
  std::vector<std::byte> fill_;  // an element of the source
};

// A chunk of which only an error is known.
class LostChunk final : public View {
 public:
  explicit LostChunk(model::Error reason) : reason_(std::move(reason)) {}
  std::optional<uint64_t> size() const override { return 1; }  // so that it is read
  Result<size_t> Read(uint64_t, ByteSpan) const override { return model::Propagate(reason_); }

 private:
  const model::Error reason_;
};

// Whether the chunk begins with the head that all chunks have which are encoded so.
Result<bool> HasHead(const cache::ArrayReader& reader, uint64_t number,
                     const ChunkEncoding& encoding, const StoredBytes& stored) {
  if (stored.size < encoding.head.size() + encoding.tail) return false;
  std::vector<std::byte> head(encoding.head.size());
  if (head.empty()) return true;
  NDLFS_RETURN_IF_ERROR(reader.ReadStored(number, stored, 0, head));
  return head == encoding.head;
}

}  // namespace

const ChunkEncoding* UseStoredChunks(const ArrayInput& input, const ElementForm& form,
                                     StoredArray& array) {
  const bool may_pass = input.passes_stored_chunks && input.reader != nullptr &&
                        array.source.has_same_chunks && !input.part;
  const ChunkEncoding* encoding = may_pass ? EncodingOf(*input.reader) : nullptr;
  if (encoding == nullptr || !HasWords(*encoding, input, form, array.version)) return nullptr;
  const auto shape = std::span(array.chunk_shape).first(array.source.rank);
  const auto count = backends::CheckedProduct(shape, 1);
  auto frame =
      encoding->bytes_codecs && count
          ? backends::PlainFrame::Make(*encoding->bytes_codecs, encoding->stored, *count)
          : std::nullopt;
  const bool needs_frame = encoding->has_others || !array.source.may_be_absent;
  if (needs_frame && !frame) return nullptr;
  array.source.is_stored = true;
  array.source.frame = std::move(frame);
  return encoding;
}

Result<ViewPtr> MakeStoredChunk(const ArrayPtr& array, ReaderPtr reader,
                                std::span<const uint64_t> index) {
  const uint64_t number = SourceNumber(*array, index);
  const ChunkEncoding* encoding = reader ? EncodingOf(*reader) : nullptr;
  if (encoding == nullptr) return model::Stale("the codecs of the array have changed");
  auto found = reader->FindStored(number);
  // As in HasChunk().
  if (!found && !found.error().is_transient()) {
    return std::make_shared<const LostChunk>(std::move(found).error());
  }
  NDLFS_TRY(StoredBytes stored, std::move(found));
  if (stored.kind == StoredBytes::Kind::kAbsent && array->source.may_be_absent) {
    return model::NotFound("the chunk is absent");
  }
  bool is_encoded = stored.kind == StoredBytes::Kind::kEncoded;
  if (is_encoded) {
    NDLFS_TRY(is_encoded, HasHead(*reader, number, *encoding, stored));
  }
  if (is_encoded) {
    return std::make_shared<const StoredChunk>(array, std::move(reader), number,
                                               std::move(stored), encoding->head.size(),
                                               encoding->tail);
  }
  // A frame has the elements in C order. Those of an absent chunk are all equal.
  const bool fits = !encoding->is_fortran || stored.kind == StoredBytes::Kind::kAbsent;
  if (!array->source.frame || !fits) {
    return std::make_shared<const LostChunk>(
        model::Corrupt("chunk {}: it is stored as no chunk of the array can be",
                       reader->ChunkName(number))
            .value());
  }
  return std::make_shared<const FramedChunk>(array, std::move(reader), number);
}

}  // namespace ndlfs::fs::zarr
