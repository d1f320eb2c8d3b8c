// SPDX-License-Identifier: MIT
//
// A YAML document as a tree whose nodes know their lines and columns. Limits on
// size, depth, number of nodes and expansion of aliases bound the time and
// memory for hostile documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string_view>

#include "model/ndl/diagnostic.h"
#include "tl/expected.hpp"

namespace ndlfs::model {

// A node, which lives as long as its YamlTree. An alias is the same node as its
// anchor.
class YamlNode {
 public:
  enum class Kind : uint8_t { kNull, kScalar, kSequence, kMapping };
  enum class Tag : uint8_t {
    kPlain,   // a plain scalar, or a collection without a tag
    kQuoted,  // in quotes or a block, or tagged !!str
    kBinary,  // !!binary
    kOther,   // a plain scalar with !!int, !!float or !!bool
  };

  Kind kind() const { return kind_; }
  Tag tag() const { return tag_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_scalar() const { return kind_ == Kind::kScalar; }
  bool is_sequence() const { return kind_ == Kind::kSequence; }
  bool is_mapping() const { return kind_ == Kind::kMapping; }
  // Whether this scalar is text, even if it looks like a number.
  bool is_quoted() const { return is_scalar() && tag_ == Tag::kQuoted; }
  bool is_plain() const { return is_scalar() && (tag_ == Tag::kPlain || tag_ == Tag::kOther); }
  bool is_binary() const { return is_scalar() && tag_ == Tag::kBinary; }

  int line() const { return line_; }  // from 1
  int column() const { return column_; }

  // The text of a scalar.
  std::string_view text() const { return {static_cast<const char*>(data_), size_}; }
  // The items of a sequence.
  std::span<const YamlNode* const> items() const {
    return {static_cast<const YamlNode* const*>(data_), size_};
  }
  // The entries of a mapping, in the order of the document. Keys may be of any
  // kind.
  size_t size() const { return size_ / 2; }
  const YamlNode& key(size_t i) const { return *items()[2 * i]; }
  const YamlNode& value(size_t i) const { return *items()[2 * i + 1]; }

 private:
  friend class YamlTreeBuilder;

  const void* data_ = nullptr;  // characters, or pointers to children
  uint32_t size_ = 0;           // number of characters or children
  int32_t line_ = 1;
  int32_t column_ = 1;
  Kind kind_ = Kind::kNull;
  Tag tag_ = Tag::kPlain;
};

struct YamlLimits {
  size_t bytes = size_t{64} << 20;
  // Nodes, with those that aliases repeat. The scalars that aliases repeat may
  // have `bytes` bytes in addition to the document.
  size_t nodes = 8'000'000;
  size_t depth = 400;
  size_t lookahead = 1'000'000;  // indicators that the scanner may hold in its queue
};

class YamlTree {
 public:
  // Null for a document with nothing but comments.
  const YamlNode* root() const { return root_; }
  // Number of nodes, and bytes of scalars; both count what aliases repeat.
  size_t size() const { return size_; }
  size_t text_bytes() const { return text_bytes_; }

 private:
  friend class YamlTreeBuilder;
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_;
  const YamlNode* root_ = nullptr;
  size_t size_ = 0;
  size_t text_bytes_ = 0;
};

// Reads the one document in `text`, which must be UTF-8.
tl::expected<YamlTree, Diagnostic> ParseYaml(std::string_view text,
                                             const YamlLimits& limits = {});

}  // namespace ndlfs::model
