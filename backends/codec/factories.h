// SPDX-License-Identifier: MIT
//
// The factories of the codecs, for registry.cc alone, and what they share to
// read a configuration.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/base/json.h"
#include "backends/codec/registry.h"
#include "model/error.h"

namespace ndlfs::backends {

using CodecResult = model::Result<AnyCodec>;
using CodecFactory = CodecResult (*)(const CodecConfig& config);

CodecResult MakeAdler32(const CodecConfig& config);
CodecResult MakeAsType(const CodecConfig& config);
CodecResult MakeBase64(const CodecConfig& config);
CodecResult MakeBitGroom(const CodecConfig& config);
CodecResult MakeBitRound(const CodecConfig& config);
CodecResult MakeBitshuffle(const CodecConfig& config);
CodecResult MakeBlosc(const CodecConfig& config);
CodecResult MakeBytes(const CodecConfig& config);
CodecResult MakeBz2(const CodecConfig& config);
CodecResult MakeCastValue(const CodecConfig& config);
CodecResult MakeCategorize(const CodecConfig& config);
CodecResult MakeCrc32(const CodecConfig& config);
CodecResult MakeCrc32c(const CodecConfig& config);
CodecResult MakeDelta(const CodecConfig& config);
CodecResult MakeFixedScaleOffset(const CodecConfig& config);
CodecResult MakeFletcher32(const CodecConfig& config);
CodecResult MakeGranularBitRound(const CodecConfig& config);
CodecResult MakeGzip(const CodecConfig& config);
CodecResult MakeHdf5Lz4(const CodecConfig& config);
CodecResult MakeHdf5ScaleOffset(const CodecConfig& config);
CodecResult MakeJenkinsLookup3(const CodecConfig& config);
CodecResult MakeJson2(const CodecConfig& config);
CodecResult MakeLz4(const CodecConfig& config);
CodecResult MakeLzf(const CodecConfig& config);
CodecResult MakeLzma(const CodecConfig& config);
CodecResult MakeLzo(const CodecConfig& config);
CodecResult MakeMsgpack2(const CodecConfig& config);
CodecResult MakeN5Default(const CodecConfig& config);
CodecResult MakeNBit(const CodecConfig& config);
CodecResult MakePackBits(const CodecConfig& config);
CodecResult MakePickle(const CodecConfig& config);
CodecResult MakeQuantize(const CodecConfig& config);
CodecResult MakeReshape(const CodecConfig& config);
CodecResult MakeScaleOffset(const CodecConfig& config);
CodecResult MakeShardingIndexed(const CodecConfig& config);
CodecResult MakeShuffle(const CodecConfig& config);
CodecResult MakeSzip(const CodecConfig& config);
CodecResult MakeTranspose(const CodecConfig& config);
CodecResult MakeVbz(const CodecConfig& config);
CodecResult MakeVlenArray(const CodecConfig& config);
CodecResult MakeVlenBytes(const CodecConfig& config);
CodecResult MakeVlenUtf8(const CodecConfig& config);
CodecResult MakeZfp(const CodecConfig& config);
CodecResult MakeZlib(const CodecConfig& config);
CodecResult MakeZstd(const CodecConfig& config);

// Elements stored in Fortran order.
std::shared_ptr<const ArrayToArrayCodec> MakeFortranOrder(size_t rank);

// Bytes of which the low `bits` are the number.
std::shared_ptr<const ArrayToArrayCodec> MakeNarrow(unsigned bits, bool is_signed);

// Whether the registry has the name, be it built in or not.
bool IsKnownCodec(CodecDialect dialect, std::string_view name);

// A codec of one of the three kinds as the variant of all.
template <typename Codec, typename... Args>
AnyCodec NewCodec(Args&&... args) {
  using Kind =
      std::conditional_t<std::is_base_of_v<ArrayToArrayCodec, Codec>, ArrayToArrayCodec,
                         std::conditional_t<std::is_base_of_v<ArrayToBytesCodec, Codec>,
                                            ArrayToBytesCodec, BytesToBytesCodec>>;
  return std::shared_ptr<const Kind>(
      std::make_shared<const Codec>(std::forward<Args>(args)...));
}

// Members of a configuration. Absent and null members are nullopt; the errors
// of those that have the wrong type name the member.
const Json* FindMember(const CodecConfig& config, const char* key);
model::Result<std::optional<uint64_t>> SizeMember(const CodecConfig& config, const char* key);
model::Result<std::optional<std::string_view>> TextMember(const CodecConfig& config,
                                                          const char* key);

// For codecs whose specification makes other members an error.
model::Result<void> RefuseOtherMembers(const CodecConfig& config,
                                       std::initializer_list<std::string_view> known);

}  // namespace ndlfs::backends
