// SPDX-License-Identifier: MIT
//
// The list of codecs. CONTRIBUTING.md tells how to add one.
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

// The vocabulary of a codec's name and configuration.
enum class CodecDialect {
  kZarr3,      // {"name": ..., "configuration": {...}}; also "numcodecs.*" names
  kNumcodecs,  // Zarr v2: {"id": ..., ...}
  kHdf5,       // the name is the filter number in decimal; {"cd_values": [...]}
};

// The arguments of a factory.
struct CodecConfig {
  CodecDialect dialect = CodecDialect::kZarr3;
  std::string_view name;
  const Json* configuration = nullptr;  // an object, possibly empty; never null
  // The elements that the codec encodes. For bytes to bytes codecs: the elements
  // that the bytes are made of, whose size shuffles need.
  const ChunkForm* form = nullptr;
  // Bits of integers with less than 8 (Zarr v3 "int4"); 0 for all other types.
  unsigned bits = 0;
};

using AnyCodec = std::variant<std::shared_ptr<const ArrayToArrayCodec>,
                              std::shared_ptr<const ArrayToBytesCodec>,
                              std::shared_ptr<const BytesToBytesCodec>>;

// Makes a codec. Fails with kUnsupported: "unknown codec ..." if the name is not in the list,
// "... is not built in" if this build leaves the codec out. Unknown keys in a configuration are
// errors if the specification of the codec says so.
model::Result<AnyCodec> MakeCodec(const CodecConfig& config);
// The codec from bytes to bytes that numcodecs calls `name`, for formats that have one without
// a configuration.
model::Result<std::shared_ptr<const BytesToBytesCodec>> MakeBytesCodec(std::string_view name);

// Makes the chain of a Zarr v3 `codecs` member. `decoded` is the form of a chunk;
// `bits` is as in CodecConfig.
model::Result<CodecChain> MakeZarr3Chain(const Json& codecs, const ChunkForm& decoded,
                                         unsigned bits = 0);

// Makes the chain of a Zarr v2 array: order F, then filters, then the compressor.
// `filters` and `compressor` may be JSON null. `stored` is the dtype with the byte
// order of the store.
model::Result<CodecChain> MakeZarr2Chain(const Json& filters, const Json& compressor,
                                         bool fortran_order, const model::Datatype& stored,
                                         const std::vector<uint64_t>& chunk_shape);

// How the elements of an array lie in a file without metadata of its own.
struct FlatEncoding {
  model::Datatype stored;  // with the byte order of the file
  bool fortran_order = false;
  // If not 0, the file has records of so many bytes, with Fortran's markers of 4 bytes before
  // and behind each.
  uint64_t record_bytes = 0;
  model::ByteOrder marker_order = model::ByteOrder::kLittle;
  enum class Bits : uint8_t { kNone, kLowestFirst, kHighestFirst };
  // Eight bools in a byte. Needs elements of bool.
  Bits bits = Bits::kNone;
};
model::Result<CodecChain> MakeFlatChain(const FlatEncoding& encoding,
                                        const std::vector<uint64_t>& chunk_shape);

// The array to bytes codec of formats that have no name for it: elements of the
// type `stored` one after the other.
model::Result<std::shared_ptr<const ArrayToBytesCodec>> MakeStoredBytes(
    const model::Datatype& stored);

// Names of all codecs of this build, for --version and messages.
std::vector<std::string_view> CodecNames();

}  // namespace ndlfs::backends
