// SPDX-License-Identifier: MIT
//
// Parses the metadata of an array of Zarr v2 (.zarray) or v3 (zarr.json).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/json.h"
#include "backends/codec/stream/shard_layout.h"
#include "backends/format/array_source.h"
#include "backends/format/chunk_encoding.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

// Makes the key of a chunk, relative to its array, from the index of the chunk.
class ChunkKeyEncoding {
 public:
  // "c/0/1"; "c" for rank 0.
  static ChunkKeyEncoding Default(char separator) { return {"c", separator}; }
  // "0.1"; "0" for rank 0. The encoding of Zarr v2.
  static ChunkKeyEncoding V2(char separator) { return {"", separator}; }
  // "1/0" for the index (0, 1). The encoding of N5, which lists axes in reverse.
  static ChunkKeyEncoding N5() { return {"", '/', true}; }
  // Reads the `chunk_key_encoding` of Zarr v3.
  static model::Result<ChunkKeyEncoding> Parse(const Json& json);

  std::string Key(std::span<const uint64_t> index) const;
  // The index of a key of as many numbers as the array has dimensions; nullopt for a text that
  // Key() does not make.
  std::optional<std::vector<uint64_t>> Index(std::string_view key, size_t rank) const;

  std::string_view prefix() const { return prefix_; }
  char separator() const { return separator_; }
  bool is_reversed() const { return last_axis_first_; }

 private:
  ChunkKeyEncoding(std::string_view prefix, char separator, bool last_axis_first = false)
      : prefix_(prefix), separator_(separator), last_axis_first_(last_axis_first) {}
  std::string_view prefix_;  // a literal
  char separator_;
  bool last_axis_first_;
};

// Reads a separator: "." or "/".
model::Result<char> ParseSeparator(const Json& json);

// The positions of the chunks of an array, and their codecs.
struct ArrayLayout {
  // The array as readers see it. Its grid is that of the innermost chunks.
  ArraySpec spec;
  // The grid of the objects in the store: the shards, or else the chunks.
  ChunkGrid objects;
  ChunkKeyEncoding keys = ChunkKeyEncoding::V2('.');
  // The layouts of nested shards, the outermost first; empty without sharding.
  std::vector<ShardLayout> shards;
  // The stored type of the elements, if an encoded chunk is just its elements in C
  // order.
  std::optional<model::Datatype> plain;
  // That of the innermost chunks; nullopt if other programs have no words for it.
  std::optional<ChunkEncoding> encoding;
};

struct ArrayMetadata {
  // Type, shape, dimension names and storage; without name and attributes.
  model::Ndarray array;
  // Null if the data cannot be read; `error` says why.
  std::shared_ptr<const ArrayLayout> layout;
  std::optional<model::Error> error;
  std::vector<std::string> notes = {};  // as in Node
};

// Fail only for metadata that do not describe an array at all. If only the data cannot be read,
// the result has an `error`, and describes the rest of the array. The reason may be an unknown
// data type or codec, or chunks that are too large. An unknown type becomes an opaque one of
// size 0, with its JSON text as the tag. Text of type "|S4" has the charset `bytes_charset`.
model::Result<ArrayMetadata> ParseArrayV2(
    const Json& zarray, uint64_t max_chunk_size,
    model::Charset bytes_charset = model::Charset::kAscii);
model::Result<ArrayMetadata> ParseArrayV3(const Json& zarr_json, uint64_t max_chunk_size);

// Fails if zarr_format is not `version`.
model::Result<void> CheckZarrFormat(const Json& document, int version);

// Fails with kUnsupported if a v3 document has a member that is not in `known`,
// but that readers must understand.
model::Result<void> CheckUnknownMembers(const Json& document,
                                        std::initializer_list<std::string_view> known);

// The following functions are for both versions.

// Reads the names of dimensions: a list of `rank` items, each a string, or null for
// a dimension without a name. nullopt if `json` is anything else.
std::optional<std::vector<std::string>> ParseDimensionNames(const Json& json, size_t rank);

// The NDL shape for `shape`, with fixed sizes and without coordinates.
model::Shape MakeShape(const std::vector<uint64_t>& shape);

// Sets the storage directives for the byte order and the charset of a type.
void DescribeType(const model::Datatype& stored, model::Storage& storage);

// Fails with kLimit for chunks, shard indexes or arrays that are too large. Sets the
// limit for chunks whose size is not known before they are decoded.
model::Result<void> LimitSizes(ArrayLayout& layout, uint64_t max_chunk_size);

}  // namespace ndlfs::backends::zarr
