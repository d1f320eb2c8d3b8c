// SPDX-License-Identifier: MIT
//
// The metadata of an array of Zarr v2 (.zarray) or v3 (zarr.json), understood.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/base/json.h"
#include "backends/codec/shard_layout.h"
#include "backends/format/array_source.h"
#include "backends/format/zarr/chunk_key.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

// Where the chunks of an array are, and how they are decoded.
struct ArrayLayout {
  // What readers see: its grid is that of the innermost chunks.
  ArraySpec spec;
  // The chunks that have a key of their own; the shards where there are any.
  ChunkGrid objects;
  ChunkKeyEncoding keys = ChunkKeyEncoding::V2('.');
  // How shards are divided, the outermost first; empty without sharding.
  std::vector<ShardLayout> shards;
  // Set where an encoded chunk is its elements in C order: their type as
  // stored.
  std::optional<model::Datatype> plain;
};

struct ArrayMetadata {
  // Type, shape, dimension names and storage; without name and attributes.
  model::Ndarray array;
  // Null where `error` says why the data cannot be read.
  std::shared_ptr<const ArrayLayout> layout;
  std::optional<model::Error> error;
  std::vector<std::string> notes = {};  // as of a Node
};

// Errors are for metadata that do not even describe an array. Where only the
// data are out of reach (an unknown data type or codec, a chunk too large),
// the result has an `error`, and describes what it can; an unknown type is an
// opaque one of size 0, tagged with its JSON text.
// Text of bytes ("|S4") has the charset `bytes_charset`.
model::Result<ArrayMetadata> ParseArrayV2(
    const Json& zarray, uint64_t max_chunk_size,
    model::Charset bytes_charset = model::Charset::kAscii);
model::Result<ArrayMetadata> ParseArrayV3(const Json& zarr_json, uint64_t max_chunk_size);

// Refuses a zarr_format other than `version`.
model::Result<void> CheckZarrFormat(const Json& document, int version);

// kUnsupported where a v3 document has a member besides `known` that readers
// must understand.
model::Result<void> CheckUnknownMembers(const Json& document,
                                        std::initializer_list<std::string_view> known);

// For both versions.

// Names of dimensions: a list of strings, or null for none, as long as the
// shape. nullopt if `json` is anything else.
std::optional<std::vector<std::string>> ParseDimensionNames(const Json& json, size_t rank);

// An array of `shape`, each dimension of a fixed size.
model::Shape MakeShape(const std::vector<uint64_t>& shape);

// What storage directives say of a type's byte order and charset.
void DescribeType(const model::Datatype& stored, model::Storage& storage);

// Refuses chunks, shard indexes and arrays that are too large, and notes how
// large chunks may be whose size is not known yet.
model::Result<void> LimitSizes(ArrayLayout& layout, uint64_t max_chunk_size);

}  // namespace ndlfs::backends::zarr
