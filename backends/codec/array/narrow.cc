// SPDX-License-Identifier: MIT
//
// Integers of less than 8 bits (Zarr v3 "int4", "uint2", ...), stored in a byte each.
// The upper bits of the byte have no meaning; decoding extends the sign or zeros.
#include <cstdint>

#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

class NarrowCodec final : public ArrayToArrayCodec {
 public:
  NarrowCodec(unsigned bits, bool is_signed) : bits_(bits), is_signed_(is_signed) {}

  std::string_view name() const override { return "narrow integers"; }
  model::Result<ChunkForm> EncodedForm(const ChunkForm& decoded) const override {
    return decoded;
  }
  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm&,
                             ByteSpan decoded) const override {
    const unsigned unused = 8 - bits_;
    for (size_t i = 0; i < encoded.size(); ++i) {
      const auto shifted =
          static_cast<uint8_t>(std::to_integer<unsigned>(encoded[i]) << unused);
      decoded[i] = is_signed_ ? static_cast<std::byte>(static_cast<int8_t>(shifted) >> unused)
                              : static_cast<std::byte>(shifted >> unused);
    }
    return {};
  }

 private:
  const unsigned bits_;
  const bool is_signed_;
};

}  // namespace

std::shared_ptr<const ArrayToArrayCodec> MakeNarrow(unsigned bits, bool is_signed) {
  return std::make_shared<const NarrowCodec>(bits, is_signed);
}

}  // namespace ndlfs::backends
