// SPDX-License-Identifier: MIT
//
// A small YAML tree for writing, in one canonical layout: a value that fits on a
// line is in flow style, a long list of scalars is wrapped, and everything else
// is in blocks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ndlfs::model {

struct YamlItem {
  enum class Kind { kVerbatim, kText, kJson, kSequence, kMapping };

  // A scalar that is valid YAML already: a number, "null", !!binary.
  static YamlItem Verbatim(std::string text) { return {Kind::kVerbatim, std::move(text)}; }
  // Text, which is quoted if necessary.
  static YamlItem Text(std::string_view text) { return {Kind::kText, std::string(text)}; }
  // Text that is JSON. It is put in single quotes, which leave its own double
  // quotes readable.
  static YamlItem Json(std::string_view text) { return {Kind::kJson, std::string(text)}; }
  static YamlItem Sequence() { return {Kind::kSequence}; }
  static YamlItem Mapping() { return {Kind::kMapping}; }

  YamlItem& Add(YamlItem item);
  YamlItem& Add(std::string_view key, YamlItem value);

  bool is_collection() const { return kind == Kind::kSequence || kind == Kind::kMapping; }

  Kind kind = Kind::kVerbatim;
  std::string text = {};
  std::vector<std::string> keys = {};  // kMapping: one for each of `items`
  std::vector<YamlItem> items = {};
};

// `item` on one line, in the form that it has inside a flow collection.
std::string FlowText(const YamlItem& item);

// Appends entries of block mappings to a document.
class YamlWriter {
 public:
  explicit YamlWriter(std::string& out) : out_(out) {}

  // Begins a block mapping as the value of `key`. The entries up to Close() are
  // indented by two more spaces.
  void Open(std::string_view key);
  void Close() { indent_ -= 2; }
  // Appends "key: value" in canonical layout.
  void Entry(std::string_view key, const YamlItem& value);

 private:
  // Whether the value follows a key or the "-" of a list item.
  enum class After { kKey, kDash };

  void Indent(size_t indent) { out_.append(indent, ' '); }
  // Appends `key:`, indented by `indent`.
  void Key(std::string_view key, size_t indent);
  // Appends the value after a key or dash; its further lines are indented by
  // `indent`.
  void Value(const YamlItem& value, size_t indent, After after);
  bool OneLine(const YamlItem& value);
  void WrappedSequence(const YamlItem& value, size_t indent);
  void BlockCollection(const YamlItem& value, size_t indent, After after);

  std::string& out_;
  size_t indent_ = 0;
};

}  // namespace ndlfs::model
