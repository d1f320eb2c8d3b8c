// SPDX-License-Identifier: MIT
//
// The entry that each codec has in the registry, and the functions with which factories read
// configurations.
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
#include "backends/codec/codec_list.h"
#include "backends/codec/registry.h"
#include "model/error.h"

namespace ndlfs::backends {

using CodecResult = model::Result<AnyCodec>;
using CodecFactory = CodecResult (*)(const CodecConfig& config);

// A codec, with its name in each vocabulary; "" if a vocabulary does not have it.
struct CodecEntry {
  std::string_view zarr3;
  std::string_view numcodecs;  // in Zarr v3 as "numcodecs.NAME"
  std::string_view hdf5;
  CodecFactory make;  // null if this build leaves the codec out
  // The name in lists, if it is not one of the names above; "" to leave the codec
  // out of lists.
  std::optional<std::string_view> title = {};
};

// CodecEntry::make of a codec of a library that a build may leave out.
constexpr CodecFactory IfBuilt(bool is_built, CodecFactory make) {
  return is_built ? make : nullptr;
}

// The entries of codec_list.h.
#define NDLFS_ENTRY(name) extern const CodecEntry k##name##Entry;
NDLFS_CODECS(NDLFS_ENTRY)
#undef NDLFS_ENTRY

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

// Decodes the beginning of data: fills `decoded` and returns its size, and sets `is_cut` if the
// data go on. Fewer bytes if there are no more. Bytes behind the data are ignored.
using DecodeBeginning = model::Result<size_t>(ConstByteSpan encoded, ByteSpan decoded,
                                              bool& is_cut);
DecodeBeginning DecodeLzw, DecodeByteRuns, DecodeZlibBeginning, DecodeZstdBeginning,
    DecodeLzmaBeginning;

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
