// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/partial_chunk.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "backends/codec/element_stream_writer.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

class ShortChunkCodec final : public BytesToBytesCodec {
 public:
  explicit ShortChunkCodec(uint64_t least_bytes) : least_bytes_(least_bytes) {}

  std::string_view name() const override { return "last chunk"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override { return {decoded_size, false}; }
  Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.size() > decoded.size()) return model::Corrupt("decodes to more than expected");
    if (encoded.size() < least_bytes_) {
      return model::Corrupt("{} bytes, but the last element of the dataset ends at {}",
                            encoded.size(), least_bytes_);
    }
    if (!encoded.empty()) std::memcpy(decoded.data(), encoded.data(), encoded.size());
    const ByteSpan missing = decoded.subspan(encoded.size());
    if (!missing.empty()) std::memset(missing.data(), 0, missing.size());
    return decoded.size();
  }

 private:
  const uint64_t least_bytes_;
};

// Copies of `element` one after the other; empty: zeros.
void Fill(ConstByteSpan element, ByteSpan out) {
  if (out.empty()) return;
  if (element.empty()) {
    std::memset(out.data(), 0, out.size());
    return;
  }
  std::memcpy(out.data(), element.data(), std::min(element.size(), out.size()));
  for (size_t done = element.size(); done < out.size(); done *= 2) {
    std::memcpy(out.data() + done, out.data(), std::min(done, out.size() - done));
  }
}

// One row of a chunk: elements that differ in the last index only.
struct Row {
  uint64_t first = 0;   // its first element in the complete chunk
  uint64_t stored = 0;  // the same in the stored one
  uint64_t count = 0;   // so many elements of it are in the stored one
};

// Calls `visit` for all rows of the complete chunk in C order, until it fails.
Result<void> ForEachRow(const StoredPart& part, const std::vector<uint64_t>& shape,
                        const std::function<Result<void>(const Row&)>& visit) {
  if (CheckedProduct(shape) == 0) return {};
  const size_t last = shape.size() - 1;
  std::vector<uint64_t> at(last);
  for (uint64_t first = 0;; first += shape[last]) {
    Row row{first, 0, part.extents[last]};
    for (size_t d = 0; d < last; ++d) {
      row.stored = row.stored * part.shape[d] + at[d];
      if (at[d] >= part.extents[d]) row.count = 0;
    }
    row.stored *= part.shape[last];
    NDLFS_RETURN_IF_ERROR(visit(row));
    size_t d = last;
    while (d-- > 0 && ++at[d] == shape[d]) at[d] = 0;
    if (d == static_cast<size_t>(-1)) return {};
  }
}

Result<Bytes> CompleteFixed(const model::Datatype& type, const StoredPart& part,
                            const std::vector<uint64_t>& shape,
                            const std::vector<std::byte>& fill, Bytes stored) {
  const size_t item = type.size();
  const bool is_absent = stored.empty();
  // Most often only what lies beyond has to be written over.
  const bool in_place = !is_absent && part.shape == shape;
  Bytes complete = in_place ? std::move(stored) : Bytes(*CheckedProduct(shape, item));
  const auto visit = [&](const Row& row) -> Result<void> {
    const ByteSpan out = complete.span().subspan(row.first * item, shape.back() * item);
    const ByteSpan inside = out.first(row.count * item);
    if (is_absent) {
      Fill(part.fill, inside);
    } else if (!in_place && !inside.empty()) {
      std::memcpy(inside.data(), stored.data() + row.stored * item, inside.size());
    }
    Fill(fill, out.subspan(inside.size()));
    return {};
  };
  NDLFS_RETURN_IF_ERROR(ForEachRow(part, shape, visit));
  return complete;
}

std::vector<std::byte> OneElement(const model::Datatype& type,
                                  const std::vector<std::byte>& fill) {
  return fill.empty() ? ZeroElement(type) : fill;
}

Result<Bytes> CompleteVariable(const model::Datatype& type, const StoredPart& part,
                               const std::vector<uint64_t>& shape,
                               const std::vector<std::byte>& fill, const Bytes& stored,
                               uint64_t limit) {
  const auto count = CheckedProduct(shape);
  const auto stored_count = CheckedProduct(part.shape);
  if (!count || !stored_count) return model::Internal("a chunk of more than 2^64 elements");
  std::optional<ElementTable> table;
  if (!stored.empty()) {
    NDLFS_TRY(table, ElementTable::Make(stored.span(), *stored_count));
  }
  const auto absent = OneElement(type, part.fill);
  const auto beyond = OneElement(type, fill);
  NDLFS_TRY(auto writer, ElementStreamWriter::Make(*count, limit));
  const auto visit = [&](const Row& row) -> Result<void> {
    for (uint64_t i = 0; i < shape.back(); ++i) {
      ConstByteSpan element = beyond;
      if (i < row.count) element = table ? (*table)[row.stored + i] : ConstByteSpan(absent);
      writer.parts().append(AsText(element));
      NDLFS_RETURN_IF_ERROR(writer.EndElement());
    }
    return {};
  };
  NDLFS_RETURN_IF_ERROR(ForEachRow(part, shape, visit));
  return std::move(writer).Finish();
}

}  // namespace

model::Result<Bytes> CompleteChunk(const model::Datatype& type, const StoredPart& part,
                                   const std::vector<uint64_t>& shape,
                                   const std::vector<std::byte>& fill, Bytes stored,
                                   uint64_t limit) {
  const size_t rank = shape.size();
  if (rank == 0 || part.shape.size() != rank || part.extents.size() != rank) {
    return model::Internal("a part of a chunk of another rank");
  }
  for (size_t d = 0; d < rank; ++d) {
    if (part.extents[d] > std::min(shape[d], part.shape[d])) {
      return model::Internal("a part that is larger than its chunk");
    }
  }
  if (!type.is_fixed_size()) return CompleteVariable(type, part, shape, fill, stored, limit);
  const auto stored_bytes = CheckedProduct(part.shape, type.size());
  if (!stored.empty() && stored.size() != stored_bytes) {
    return model::Corrupt("{} bytes, expected {}", stored.size(), stored_bytes.value_or(0));
  }
  return CompleteFixed(type, part, shape, fill, std::move(stored));
}

std::shared_ptr<const BytesToBytesCodec> MakeShortChunkCodec(uint64_t least_bytes) {
  return std::make_shared<const ShortChunkCodec>(least_bytes);
}

}  // namespace ndlfs::backends::hdf5
