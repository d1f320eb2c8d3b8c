// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <string_view>

#include "backends/codec/codec.h"

namespace ndlfs::backends {

// Returns the bytes unchanged. For filters that have nothing to do when decoding, or that had
// nothing to do when encoding.
class StoredCodec final : public BytesToBytesCodec {
 public:
  // `name` must outlive the codec, as a literal does.
  explicit StoredCodec(std::string_view name) : name_(name) {}

  std::string_view name() const override { return name_; }
  SizeBound EncodedSize(uint64_t decoded_size) const override { return {decoded_size, true}; }
  bool DecodesToPart() const override { return true; }
  model::Result<ConstByteSpan> DecodePart(ConstByteSpan encoded) const override {
    return encoded;
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.size() > decoded.size()) return model::Corrupt("decodes to more than expected");
    if (!encoded.empty()) std::memcpy(decoded.data(), encoded.data(), encoded.size());
    return encoded.size();
  }

 private:
  const std::string_view name_;
};

}  // namespace ndlfs::backends
