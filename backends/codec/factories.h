// SPDX-License-Identifier: MIT
//
// The factories of the codecs, which only registry.cc calls, and the functions
// with which they read configurations.
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
CodecResult MakeBlosc2(const CodecConfig& config);
CodecResult MakeBytes(const CodecConfig& config);
CodecResult MakeByteRuns(const CodecConfig& config);
CodecResult MakeBz2(const CodecConfig& config);
CodecResult MakeCastValue(const CodecConfig& config);
CodecResult MakeCategorize(const CodecConfig& config);
CodecResult MakeChunky(const CodecConfig& config);
CodecResult MakeConditional(const CodecConfig& config);
CodecResult MakeCrc32(const CodecConfig& config);
CodecResult MakeCrc32c(const CodecConfig& config);
CodecResult MakeDelta(const CodecConfig& config);
CodecResult MakeFixedScaleOffset(const CodecConfig& config);
CodecResult MakeFletcher32(const CodecConfig& config);
CodecResult MakeGranularBitRound(const CodecConfig& config);
CodecResult MakeGrib(const CodecConfig& config);
CodecResult MakeGribberish(const CodecConfig& config);
CodecResult MakeGzip(const CodecConfig& config);
CodecResult MakeHdf5Lz4(const CodecConfig& config);
CodecResult MakeHdf5ScaleOffset(const CodecConfig& config);
CodecResult MakeHorizontalDelta(const CodecConfig& config);
CodecResult MakeImagecodecsDeflate(const CodecConfig& config);
CodecResult MakeImagecodecsDelta(const CodecConfig& config);
CodecResult MakeImagecodecsFloatpred(const CodecConfig& config);
CodecResult MakeImagecodecsJpeg(const CodecConfig& config);
CodecResult MakeImagecodecsJpeg2k(const CodecConfig& config);
CodecResult MakeImagecodecsJpegXl(const CodecConfig& config);
CodecResult MakeImagecodecsLerc(const CodecConfig& config);
CodecResult MakeImagecodecsBitorder(const CodecConfig& config);
CodecResult MakeImagecodecsLz4(const CodecConfig& config);
CodecResult MakeImagecodecsPng(const CodecConfig& config);
CodecResult MakeImagecodecsWebp(const CodecConfig& config);
CodecResult MakeJenkinsLookup3(const CodecConfig& config);
CodecResult MakeJson2(const CodecConfig& config);
CodecResult MakeLz4(const CodecConfig& config);
CodecResult MakeLzf(const CodecConfig& config);
CodecResult MakeLzma(const CodecConfig& config);
CodecResult MakeLzo(const CodecConfig& config);
CodecResult MakeLzw(const CodecConfig& config);
CodecResult MakeMsgpack2(const CodecConfig& config);
CodecResult MakeN5Default(const CodecConfig& config);
CodecResult MakeNBit(const CodecConfig& config);
CodecResult MakePackBits(const CodecConfig& config);
CodecResult MakePcodec(const CodecConfig& config);
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

// Makes the codec of one item of `codecs` of Zarr v3, for codecs that have codecs.
CodecResult MakeZarr3Codec(const Json& json, const ChunkForm& form, unsigned bits);

// Decodes elements stored in Fortran order.
std::shared_ptr<const ArrayToArrayCodec> MakeFortranOrder(size_t rank);

// Decodes integers in the low `bits` bits of a byte each. Ignores the other bits.
std::shared_ptr<const ArrayToArrayCodec> MakeNarrow(unsigned bits, bool is_signed);

// Takes the markers off the records of a Fortran file, and checks them. A chunk is either whole
// records of `record_bytes` bytes, or a part of one record, including the markers of that
// record.
std::shared_ptr<const BytesToBytesCodec> MakeFortranRecords(uint64_t record_bytes,
                                                            model::ByteOrder order);

// Reverses the bits of each byte.
std::shared_ptr<const BytesToBytesCodec> MakeReverseBits();

// Whether imagecodecs has this name for pictures that are the elements of a Zarr v3 chunk, with
// no codec before them.
bool IsImagecodecsPicture(std::string_view name);

// Whether the registry has this name, even if this build leaves the codec out.
bool IsKnownCodec(CodecDialect dialect, std::string_view name);

// Makes a Codec and returns it as AnyCodec.
template <typename Codec, typename... Args>
AnyCodec NewCodec(Args&&... args) {
  using Kind =
      std::conditional_t<std::is_base_of_v<ArrayToArrayCodec, Codec>, ArrayToArrayCodec,
                         std::conditional_t<std::is_base_of_v<ArrayToBytesCodec, Codec>,
                                            ArrayToBytesCodec, BytesToBytesCodec>>;
  return std::shared_ptr<const Kind>(
      std::make_shared<const Codec>(std::forward<Args>(args)...));
}

// Return a member of a configuration; null or nullopt if it is absent or null.
// Errors (a wrong type) name the member.
const Json* FindMember(const CodecConfig& config, const char* key);
model::Result<std::optional<uint64_t>> SizeMember(const CodecConfig& config, const char* key);
model::Result<std::optional<std::string_view>> TextMember(const CodecConfig& config,
                                                          const char* key);

// Fails if there is a member that is not in `known`. For codecs whose specification
// forbids other members.
model::Result<void> RefuseOtherMembers(const CodecConfig& config,
                                       std::initializer_list<std::string_view> known);

}  // namespace ndlfs::backends
