// SPDX-License-Identifier: MIT
#include "backends/format/foreign/moved_zero.h"

#include <utility>

#include "backends/codec/registry.h"

namespace ndlfs::backends::foreign {
namespace {

// To move by half of the range is to flip the highest bit.
class MovedZero final : public ArrayToBytesCodec {
 public:
  MovedZero(std::shared_ptr<const ArrayToBytesCodec> stored, std::vector<size_t> highest_bytes)
      : stored_(std::move(stored)), highest_bytes_(std::move(highest_bytes)) {}

  std::string_view name() const override { return "moved zero"; }
  std::optional<uint64_t> EncodedSize(const ChunkForm& form) const override {
    return stored_->EncodedSize(form);
  }
  bool DecodesInPlace(const ChunkForm& form) const override {
    return stored_->DecodesInPlace(form);
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    NDLFS_RETURN_IF_ERROR(stored_->Decode(encoded, form, decoded));
    const size_t size = form.dtype.size();
    for (size_t element = 0; element < decoded.size(); element += size) {
      for (const size_t place : highest_bytes_) decoded[element + place] ^= std::byte{0x80};
    }
    return {};
  }

 private:
  const std::shared_ptr<const ArrayToBytesCodec> stored_;
  const std::vector<size_t> highest_bytes_;
};

}  // namespace

model::Result<std::shared_ptr<const ArrayToBytesCodec>> MakeMovedZero(
    const model::Datatype& stored, std::vector<size_t> highest_bytes) {
  NDLFS_TRY(auto codec, MakeStoredBytes(stored));
  return std::make_shared<const MovedZero>(std::move(codec), std::move(highest_bytes));
}

}  // namespace ndlfs::backends::foreign
