// SPDX-License-Identifier: MIT
//
// Zarr v3 and numcodecs "bitround", HDF5 filters 32022 (BitGroom) and 32023
// (granular bit rounding). Decoding cannot restore the bits that encoding rounded
// away, so that it changes nothing.
#include <cstring>

#include "backends/codec/factories.h"
#include "backends/codec/stored.h"

namespace ndlfs::backends {
namespace {

class BitRoundOfArrays final : public ArrayToArrayCodec {
 public:
  std::string_view name() const override { return "bitround"; }
  model::Result<ChunkForm> EncodedForm(const ChunkForm& decoded) const override {
    if (decoded.dtype.is_fixed_size()) return decoded;
    return model::BadInput("does not apply to elements of {}", decoded.dtype.keyword());
  }
  bool IsIdentity(const ChunkForm&) const override { return true; }
  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm&,
                             ByteSpan decoded) const override {
    if (!encoded.empty()) std::memcpy(decoded.data(), encoded.data(), encoded.size());
    return {};
  }
};

}  // namespace

static CodecResult MakeBitRound(const CodecConfig& config) {
  if (config.dialect == CodecDialect::kNumcodecs) return NewCodec<StoredCodec>("bitround");
  return NewCodec<BitRoundOfArrays>();
}

static CodecResult MakeBitGroom(const CodecConfig&) {
  return NewCodec<StoredCodec>("bitgroom");
}

static CodecResult MakeGranularBitRound(const CodecConfig&) {
  return NewCodec<StoredCodec>("granular_bitround");
}

const CodecEntry kBitGroomEntry = {"", "", "32022", MakeBitGroom, "bitgroom"};
const CodecEntry kBitRoundEntry = {"bitround", "bitround", "", MakeBitRound};
const CodecEntry kGranularBitRoundEntry = {"", "", "32023", MakeGranularBitRound,
                                           "granular_bitround"};

}  // namespace ndlfs::backends
