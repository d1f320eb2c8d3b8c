// SPDX-License-Identifier: MIT
#include "backends/format/tiff/pixel_codec.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/byte_swap.h"
#include "backends/codec/little_endian.h"
#include "backends/codec/predictor.h"
#include "backends/codec/stream/high_bit_reader.h"

namespace ndlfs::backends::tiff {
namespace {

using model::Result;

class PixelCodec final : public ArrayToBytesCodec {
 public:
  PixelCodec(const PixelForm& form, const model::Datatype& dtype)
      : form_(form), numbers_(dtype.is_complex() || !dtype.members().empty() ? 2 : 1) {}

  std::string_view name() const override { return "tiff"; }
  std::optional<uint64_t> EncodedSize(const ChunkForm& form) const override {
    const auto rows = Rows(form);
    return rows ? CheckedMultiply(*rows, RowBytes(form)) : std::nullopt;
  }
  bool IsIdentity(const ChunkForm& form) const override {
    return DecodesInPlace(form) && form_.predictor == 1 &&
           (form_.bits == 8 || form_.order == model::ByteOrder::kLittle);
  }
  // Numbers that a processor has are stored in as many bytes.
  bool DecodesInPlace(const ChunkForm&) const override {
    return std::has_single_bit(form_.bits) && form_.bits >= 8;
  }

  Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                      ByteSpan decoded) const override {
    const auto size = EncodedSize(form);
    if (size != encoded.size()) return model::Corrupt("{} bytes of pixels", encoded.size());
    if (decoded.empty()) return {};
    const auto rows = Rows(form);
    const uint64_t row_bytes = RowBytes(form);
    if (!DecodesInPlace(form)) {
      const uint64_t row_size = decoded.size() / *rows;
      for (uint64_t r = 0; r < *rows; ++r) {
        UnpackRow(encoded.subspan(r * row_bytes, row_bytes), form,
                  decoded.subspan(r * row_size, row_size));
      }
      return {};
    }
    DecodeWhole(encoded, *rows, row_bytes, decoded);
    return {};
  }

 private:
  // Numbers in a row of a chunk.
  uint64_t RowNumbers(const ChunkForm& form) const {
    uint64_t numbers = numbers_;
    const size_t rank = form.shape.size();
    if (form_.is_interleaved) numbers *= form.shape[rank - 1];
    return numbers * form.shape[rank - (form_.is_interleaved ? 2 : 1)];
  }
  uint64_t RowBytes(const ChunkForm& form) const {
    return (RowNumbers(form) * form_.bits + 7) / 8;
  }
  std::optional<uint64_t> Rows(const ChunkForm& form) const {
    const size_t rank = form.shape.size() - (form_.is_interleaved ? 2 : 1);
    return CheckedProduct(std::span(form.shape).first(rank));
  }

  void UnpackRow(ConstByteSpan row, const ChunkForm& form, ByteSpan elements) const {
    const size_t size = form.dtype.size();
    const size_t count = elements.size() / size;
    if (form_.bits == 1) {
      for (size_t i = 0; i < count; ++i) elements[i] = row[i / 8] >> (7 - i % 8) & std::byte{1};
      return;
    }
    HighBitReader bits(row);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t value = bits.Take(form_.bits);
      std::memcpy(elements.data() + i * size, &value, size);
    }
  }

  void DecodeWhole(ConstByteSpan encoded, uint64_t rows, uint64_t row_bytes,
                   ByteSpan decoded) const {
    const size_t size = form_.bits / 8;
    if (form_.predictor == 3) {
      std::vector<std::byte> row(row_bytes);
      for (uint64_t r = 0; r < rows; ++r) {
        std::memcpy(row.data(), encoded.data() + r * row_bytes, row_bytes);
        UndoFloatPredictor(size, form_.samples, row, decoded.subspan(r * row_bytes, row_bytes));
      }
      return;
    }
    const size_t swapped = form_.order == model::ByteOrder::kBig ? size : 1;
    if (form_.predictor != 2) {
      SwapNumbers(swapped, encoded, decoded);
      return;
    }
    // Row by row, so that a row is summed while the processor still has it.
    for (uint64_t r = 0; r < rows; ++r) {
      const ByteSpan row = decoded.subspan(r * row_bytes, row_bytes);
      SwapNumbers(swapped, encoded.subspan(r * row_bytes, row_bytes), row);
      UndoDifferences(size, form_.samples, row);
    }
  }

  const PixelForm form_;
  const size_t numbers_;  // of an element
};

}  // namespace

std::shared_ptr<const ArrayToBytesCodec> MakePixelCodec(const PixelForm& form,
                                                        const model::Datatype& dtype) {
  return std::make_shared<const PixelCodec>(form, dtype);
}

}  // namespace ndlfs::backends::tiff
