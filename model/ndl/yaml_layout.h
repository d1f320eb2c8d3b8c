// SPDX-License-Identifier: MIT
//
// A small YAML tree and its one canonical layout: what fits on a line is in
// flow style, long lists of scalars are wrapped, everything else is in blocks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ndlfs::model {

struct YamlItem {
  enum class Kind { kVerbatim, kText, kJson, kSequence, kMapping };

  // A scalar that is valid YAML as it stands: a number, "null", !!binary.
  static YamlItem Verbatim(std::string text) { return {Kind::kVerbatim, std::move(text)}; }
  // Text, quoted where it must be.
  static YamlItem Text(std::string_view text) { return {Kind::kText, std::string(text)}; }
  // Text that is JSON: in single quotes, so that its own can be read.
  static YamlItem Json(std::string_view text) { return {Kind::kJson, std::string(text)}; }
  static YamlItem Sequence() { return {Kind::kSequence}; }
  static YamlItem Mapping() { return {Kind::kMapping}; }

  YamlItem& Add(YamlItem item);
  YamlItem& Add(std::string_view key, YamlItem value);

  bool is_collection() const { return kind == Kind::kSequence || kind == Kind::kMapping; }

  Kind kind = Kind::kVerbatim;
  std::string text = {};
  std::vector<std::string> keys = {};  // kMapping: of `items`
  std::vector<YamlItem> items = {};
};

// On one line, as it stands inside a flow collection.
std::string FlowText(const YamlItem& item);

// Appends entries of block mappings to a document.
class YamlWriter {
 public:
  explicit YamlWriter(std::string& out) : out_(out) {}

  // Begins a block mapping as the value of `key`: its entries follow, two
  // blanks deeper, up to Close().
  void Open(std::string_view key);
  void Close() { indent_ -= 2; }
  // "key: value" in its canonical layout.
  void Entry(std::string_view key, const YamlItem& value);

 private:
  // Whether a value has the line to itself, or begins behind a "-".
  enum class After { kKey, kDash };

  void Indent(size_t indent) { out_.append(indent, ' '); }
  // `key:` and no more; `indent` is where it begins.
  void Key(std::string_view key, size_t indent);
  // The value after a key or dash; lines below it are indented by `indent`.
  void Value(const YamlItem& value, size_t indent, After after);
  bool OneLine(const YamlItem& value);
  void WrappedSequence(const YamlItem& value, size_t indent);
  void BlockCollection(const YamlItem& value, size_t indent, After after);

  std::string& out_;
  size_t indent_ = 0;
};

}  // namespace ndlfs::model
