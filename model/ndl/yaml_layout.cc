// SPDX-License-Identifier: MIT
#include "model/ndl/yaml_layout.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "model/ndl/yaml_text.h"

namespace ndlfs::model {
namespace {

constexpr size_t kLineWidth = 80;
// A key on the same line as its value may have 1024 characters (YAML 1.2,
// 7.4.2). Longer ones are written as "? key".
constexpr size_t kMaxSimpleKey = 1000;
constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

void AppendAtom(std::string& out, const YamlItem& item, YamlPlace place) {
  if (item.kind == YamlItem::Kind::kVerbatim) {
    out += item.text;
  } else if (item.kind == YamlItem::Kind::kJson) {
    AppendJson(out, item.text);
  } else {
    AppendScalar(out, item.text, place);
  }
}

// Appends "key:" or "? key :". The caller appends a space and the value.
void AppendFlowKey(std::string& out, std::string_view key) {
  const size_t begin = out.size();
  AppendScalar(out, key, YamlPlace::kFlow);
  if (out.size() - begin > kMaxSimpleKey) {
    out.insert(begin, "? ");
    out += ' ';
  }
  out += ':';
}

// Appends `item` in flow style. Stops and returns false when `out` gets longer
// than `limit`.
bool AppendFlow(std::string& out, const YamlItem& item, size_t limit) {
  if (!item.is_collection()) {
    AppendAtom(out, item, YamlPlace::kFlow);
    return out.size() <= limit;
  }
  const bool is_mapping = item.kind == YamlItem::Kind::kMapping;
  out += is_mapping ? '{' : '[';
  for (size_t i = 0; i < item.items.size(); ++i) {
    if (i > 0) out += ", ";
    if (is_mapping) {
      AppendFlowKey(out, item.keys[i]);
      out += ' ';
    }
    if (!AppendFlow(out, item.items[i], limit)) return false;
  }
  out += is_mapping ? '}' : ']';
  return out.size() <= limit;
}

}  // namespace

YamlItem& YamlItem::Add(YamlItem item) {
  items.push_back(std::move(item));
  return *this;
}

YamlItem& YamlItem::Add(std::string_view key, YamlItem value) {
  keys.emplace_back(key);
  items.push_back(std::move(value));
  return *this;
}

std::string FlowText(const YamlItem& item) {
  std::string out;
  AppendFlow(out, item, kNoLimit);
  return out;
}

void YamlWriter::Open(std::string_view key) {
  Indent(indent_);
  Key(key, indent_);
  out_ += '\n';
  indent_ += 2;
}

void YamlWriter::Entry(std::string_view key, const YamlItem& value) {
  Indent(indent_);
  Key(key, indent_);
  Value(value, indent_ + 2, After::kKey);
}

void YamlWriter::Key(std::string_view key, size_t indent) {
  const size_t begin = out_.size();
  AppendScalar(out_, key, YamlPlace::kBlock);
  if (out_.size() - begin > kMaxSimpleKey) {
    out_.insert(begin, "? ");
    out_ += '\n';
    Indent(indent);
  }
  out_ += ':';
}

void YamlWriter::Value(const YamlItem& value, size_t indent, After after) {
  if (value.kind == YamlItem::Kind::kText && CanBeLiteralBlock(value.text)) {
    out_ += ' ';
    AppendLiteralBlock(out_, value.text, indent);
  } else if (after == After::kDash && value.kind == YamlItem::Kind::kMapping &&
             value.items.size() == 1) {
    BlockCollection(value, indent, after);  // "- x: float32", not "- {x: float32}"
  } else if (OneLine(value)) {
    out_ += '\n';
  } else if (value.kind == YamlItem::Kind::kSequence &&
             std::none_of(value.items.begin(), value.items.end(),
                          [](const YamlItem& item) { return item.is_collection(); })) {
    WrappedSequence(value, after == After::kDash ? indent + 1 : indent);
  } else {
    BlockCollection(value, indent, after);
  }
}

// Appends the value if it fits on the rest of the line. Scalars and empty
// collections always go there.
bool YamlWriter::OneLine(const YamlItem& value) {
  const size_t begin = out_.size();
  out_ += ' ';
  if (!value.is_collection()) {
    AppendAtom(out_, value, YamlPlace::kBlock);
    return true;
  }
  const size_t newline = out_.rfind('\n');
  const size_t line = newline == std::string::npos ? 0 : newline + 1;
  if (AppendFlow(out_, value, line + kLineWidth) || value.items.empty()) return true;
  out_.resize(begin);
  return false;
}

// Appends a flow sequence of scalars, with line breaks before the margin.
void YamlWriter::WrappedSequence(const YamlItem& value, size_t indent) {
  const size_t newline = out_.rfind('\n');
  size_t line = newline == std::string::npos ? 0 : newline + 1;
  out_ += " [";
  for (size_t i = 0; i < value.items.size(); ++i) {
    const size_t begin = out_.size();
    if (i > 0) out_ += ' ';
    AppendAtom(out_, value.items[i], YamlPlace::kFlow);
    out_ += i + 1 < value.items.size() ? ',' : ']';
    if (i > 0 && out_.size() - line > kLineWidth) {
      out_.replace(begin, 1, "\n" + std::string(indent, ' '));
      line = begin + 1;
    }
  }
  out_ += '\n';
}

// Appends the entries of a block sequence or mapping, each on lines of its own.
// After a dash the first entry stays on the same line.
void YamlWriter::BlockCollection(const YamlItem& value, size_t indent, After after) {
  out_ += after == After::kKey ? '\n' : ' ';
  for (size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0 || after == After::kKey) Indent(indent);
    if (value.kind == YamlItem::Kind::kMapping) {
      Key(value.keys[i], indent);
      Value(value.items[i], indent + 2, After::kKey);
    } else {
      out_ += '-';
      Value(value.items[i], indent + 2, After::kDash);
    }
  }
}

}  // namespace ndlfs::model
