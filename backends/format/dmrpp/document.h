// SPDX-License-Identifier: MIT
//
// What a DMR++ document says. Nothing of it has been compared with the data file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "backends/base/bytes.h"
#include "model/datatype.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::dmrpp {

// The most bytes of a document. A chunk takes some 80 of them.
inline constexpr uint64_t kMaxDocumentBytes = uint64_t{256} << 20;

// Bytes in a data file: a chunk, or a part of one.
struct StoredPart {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t filter_mask = 0;  // a set bit leaves out the filter of this number
  uint32_t file = 0;         // an index of Document::files
  uint32_t number = 0;       // LinkedBlockIndex: of the part in its chunk
};

// <dmrpp:chunks>, or a <dmrpp:chunk> without it.
struct ChunkList {
  std::vector<std::string> filters;  // see Document::has_filter_order
  std::optional<uint32_t> deflate_level;
  std::optional<std::string> fill;  // as text
  std::optional<model::ByteOrder> order;
  bool has_linked_parts = false;  // LBChunk: chunks consist of several parts
  // structOffset: where the next member of a Structure begins in the data file, for each member
  std::vector<uint64_t> member_ends;
  std::vector<uint64_t> extents;  // chunkDimensionSizes; empty: the array is one chunk
  std::vector<StoredPart> parts;
  // The first element of each part in the array, one number for each dimension; empty if no
  // part says it.
  std::vector<uint64_t> positions;
  std::vector<StoredPart> blocks;  // linked blocks, which together are the array
};

// Elements in the document itself, little-endian.
struct InlineElements {
  std::vector<std::byte> bytes;
  bool may_be_compressed = false;  // <dmrpp:missingdata>: by zlib, unless it is one element
};

// Texts of variable length. Each stands for `count` elements.
struct RepeatedText {
  std::string text;
  uint64_t count = 1;
};
using Texts = std::vector<RepeatedText>;

// <dmrpp:FixedLengthStringArray>
struct FixedTexts {
  uint64_t length = 0;  // bytes of an element
  enum class Padding : uint8_t { kNotSet, kNull, kNullTerminated, kSpace };
  Padding padding = Padding::kNotSet;
};

struct DimensionReference {
  std::string path;              // "/lat"; empty: a dimension without a name
  std::optional<uint64_t> size;  // of one without a name
};

struct Variable {
  std::string type;               // the name of its element: "Float32"
  std::string enumeration;        // of an Enum: the path of its <Enumeration>
  std::string name;               // of a member
  std::vector<Variable> members;  // of a Structure, in its order; without data
  std::vector<DimensionReference> dimensions;
  std::optional<FixedTexts> fixed_texts;
  std::variant<std::monostate, ChunkList, InlineElements, Texts> data;
  // The first thing that is not understood: then nothing can be said about the elements.
  std::optional<model::Error> error;
};

// <Enumeration>
struct Enumeration {
  // Made once for all variables, because there may be thousands of constants.
  model::Result<model::Datatype> type;
};

// A group, or a variable.
struct Object {
  std::vector<model::Attribute> attributes;
  std::vector<model::NamedDimension> dimensions;                 // of a group
  std::map<std::string, Enumeration, std::less<>> enumerations;  // of a group
  std::optional<model::Error> error;                             // why something is left out
  std::unique_ptr<const Variable> variable;                      // null: a group
  std::map<std::string, Object, std::less<>> children;
  uint64_t number = 0;  // objects have ascending numbers in the order of the document
};

struct Document {
  Object root;
  // The names of the data files, as the document has them. The first one is the file of the
  // whole document; an empty name if the document names none.
  std::vector<std::string> files;
  // Whether filters are in the order of encoding. Old documents (without dmrpp:version) have
  // them in any order, and mean shuffle, deflate, fletcher32.
  bool has_filter_order = false;
  uint64_t held_bytes = 0;  // about

  // Null if there is none.
  const Object* Find(std::string_view path) const;
  // The size of the dimension at `path`; nullopt if there is none.
  std::optional<uint64_t> SizeOf(std::string_view path) const;
  // The enumeration at `path`; null if there is none.
  const Enumeration* FindEnumeration(std::string_view path) const;
  // Whether the object at `path` has the coordinates of the dimension of this path.
  bool IsCoordinate(std::string_view path) const;
};

// The NDL type of a type of DAP4 with elements of fixed size, such as "Int16"; nullopt for
// others.
std::optional<model::Datatype> NumberType(std::string_view name);
// Whether `name` is a type of DAP4 whose values are texts.
bool IsTextType(std::string_view name);

// Reads a document. Fails with kBadInput if it is none, and with kLimit if it says more than
// any sound one. What is wrong with one object is an error of that object.
model::Result<Document> ReadDocument(std::string_view text);

}  // namespace ndlfs::backends::dmrpp
