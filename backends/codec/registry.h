// SPDX-License-Identifier: MIT
//
// The one list of codecs. A new codec is one source file with a factory, one
// line in registry.cc, and one test.
#pragma once

#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/base/json.h"
#include "backends/codec/codec.h"
#include "backends/codec/codec_chain.h"
#include "model/error.h"

namespace ndlfs::backends {

// Whose vocabulary a codec's name and configuration come from.
enum class CodecDialect {
  kZarr3,      // {"name": ..., "configuration": {...}}; also "numcodecs.*" names
  kNumcodecs,  // Zarr v2: {"id": ..., ...}
  kHdf5,       // name is the filter number in decimal; {"cd_values": [...]}
};

// What a factory gets.
struct CodecConfig {
  CodecDialect dialect = CodecDialect::kZarr3;
  std::string_view name;
  const Json* configuration = nullptr;  // an object, possibly empty; never null
  // The elements the codec sees when encoding; for bytes to bytes codecs, the
  // array whose bytes they are (element size for shuffles).
  const ChunkForm* form = nullptr;
  // Bits of integers that do not fill their byte (Zarr v3 "int4"); 0: all.
  unsigned bits = 0;
};

using AnyCodec = std::variant<std::shared_ptr<const ArrayToArrayCodec>,
                              std::shared_ptr<const ArrayToBytesCodec>,
                              std::shared_ptr<const BytesToBytesCodec>>;

// kUnsupported with "unknown codec ..." for a name that is not in the list,
// or "... is not built in" for one that the build left out. Unknown keys of a
// configuration are refused where the codec's specification says so.
model::Result<AnyCodec> MakeCodec(const CodecConfig& config);

// The chain of a Zarr v3 `codecs` member; `decoded` is the form of a chunk.
// `bits` are those of integers that do not fill their byte; 0: all.
model::Result<CodecChain> MakeZarr3Chain(const Json& codecs, const ChunkForm& decoded,
                                         unsigned bits = 0);

// The chain of a Zarr v2 array: order F, then filters, then the compressor
// (either may be null). `stored` is the dtype with the byte order of the store.
model::Result<CodecChain> MakeZarr2Chain(const Json& filters, const Json& compressor,
                                         bool fortran_order, const model::Datatype& stored,
                                         const std::vector<uint64_t>& chunk_shape);

// The array to bytes codec of formats that have no word for it: elements lie
// one after the other as `stored` says.
model::Result<std::shared_ptr<const ArrayToBytesCodec>> MakeStoredBytes(
    const model::Datatype& stored);

// Names of all codecs of this build, for --version and messages.
std::vector<std::string_view> CodecNames();

}  // namespace ndlfs::backends
