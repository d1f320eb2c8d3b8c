// SPDX-License-Identifier: MIT
//
// Bytes whose bits stand in the opposite order, for bit fields that begin in the highest bit.
#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

class ReverseBits final : public BytesToBytesCodec {
 public:
  std::string_view name() const override { return "reverse_bits"; }

  SizeBound EncodedSize(uint64_t decoded_size) const override { return {decoded_size, true}; }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.size() > decoded.size()) return model::Corrupt("decodes to more than expected");
    for (size_t i = 0; i < encoded.size(); ++i) {
      auto bits = std::to_integer<unsigned>(encoded[i]);
      bits = (bits >> 4 & 0x0f) | (bits << 4 & 0xf0);
      bits = (bits >> 2 & 0x33) | (bits << 2 & 0xcc);
      bits = (bits >> 1 & 0x55) | (bits << 1 & 0xaa);
      decoded[i] = static_cast<std::byte>(bits);
    }
    return encoded.size();
  }
};

}  // namespace

std::shared_ptr<const BytesToBytesCodec> MakeReverseBits() {
  return std::make_shared<ReverseBits>();
}

}  // namespace ndlfs::backends
