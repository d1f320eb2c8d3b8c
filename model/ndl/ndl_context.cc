// SPDX-License-Identifier: MIT
#include "model/ndl/ndl_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "model/error.h"
#include "model/ndl/ndl_vocabulary.h"
#include "model/path_name.h"
#include "model/spelling.h"

namespace ndlfs::model {

void NdlContext::Report(const YamlNode& node, std::string message) {
  if (gave_up()) return;
  const std::string place = PlaceText();
  if (!place.empty()) message = place + ": " + message;
  errors_.push_back({node.line(), node.column(), PathText(), std::move(message)});
}

std::string NdlContext::PathText() const {
  return name_.data() ? JoinPath(group_, name_) : std::string(group_);
}

std::string NdlContext::PlaceText() const {
  // Deep nesting is shown by its beginning and its end.
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < places_.size(); ++i) {
    const Place::Part& part = places_[i];
    if (i == kShown && places_.size() > 2 * kShown) {
      text += ": ...";
      i = places_.size() - kShown - 1;
      continue;
    }
    if (part.index != Place::kNoIndex) {
      fmt::format_to(std::back_inserter(text), "[{}]", part.index);
      continue;
    }
    if (!text.empty()) text += ": ";
    text += part.word;
    if (part.name.data() != nullptr) text += ' ' + Quote(part.name);
  }
  return text;
}

std::vector<Diagnostic> NdlContext::TakeErrors() {
  const bool is_cut = gave_up();
  const auto place = [](const Diagnostic& d) { return std::tie(d.line, d.column); };
  std::stable_sort(
      errors_.begin(), errors_.end(),
      [&](const Diagnostic& a, const Diagnostic& b) { return place(a) < place(b); });
  // A node with aliases is read once for each of them, and reports each time.
  errors_.erase(std::unique(errors_.begin(), errors_.end(),
                            [&](const Diagnostic& a, const Diagnostic& b) {
                              return place(a) == place(b) && a.message == b.message;
                            }),
                errors_.end());
  if (is_cut) {
    const Diagnostic& last = errors_.back();
    errors_.push_back(
        {last.line, last.column, {}, "too many errors; further ones are not shown"});
  }
  return std::move(errors_);
}

std::string DescribeNode(const YamlNode& node) {
  switch (node.kind()) {
    case YamlNode::Kind::kNull:
      return "null";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMapping:
      return "a mapping";
    case YamlNode::Kind::kScalar:
      break;
  }
  if (node.is_binary()) return "binary";
  if (node.is_quoted()) return "the text " + Quote(node.text());
  return Quote(node.text());
}

bool CheckMapping(NdlContext& context, const YamlNode& node) {
  if (!node.is_mapping()) {
    context.Error(node, "expected a mapping, found {}", DescribeNode(node));
    return false;
  }
  std::unordered_map<std::string_view, const YamlNode*> seen;
  for (size_t i = 0; i < node.size() && !context.gave_up(); ++i) {
    const YamlNode& key = node.key(i);
    if (!key.is_scalar()) {
      context.Error(key, "a key must be text, found {}{}", DescribeNode(key),
                    key.is_null() ? "; write it in quotes" : "");
      continue;
    }
    const auto [first, is_new] = seen.emplace(key.text(), &key);
    if (!is_new) {
      context.Error(key, "the key {} occurs twice, first on line {}", Quote(key.text()),
                    first->second->line());
    }
  }
  return true;
}

NdlFields::NdlFields(NdlContext& context, const YamlNode& node,
                     std::initializer_list<std::string_view> known)
    : context_(context), node_(node), valid_(CheckMapping(context, node)) {
  if (!valid_) return;
  for (size_t i = 0; i < node.size() && !context.gave_up(); ++i) {
    const YamlNode& key = node.key(i);
    if (!key.is_scalar() || key.text().starts_with("x-")) continue;
    if (std::find(known.begin(), known.end(), key.text()) == known.end()) {
      context.Error(key, "unknown key {}{}, expected {}", Quote(key.text()),
                    Suggestion(key.text(), known), Alternatives(known));
    }
  }
}

const YamlNode* NdlFields::Find(std::string_view key) const {
  if (!valid_) return nullptr;
  for (size_t i = 0; i < node_.size(); ++i) {
    if (node_.key(i).is_scalar() && node_.key(i).text() == key) return &node_.value(i);
  }
  return nullptr;
}

const YamlNode* NdlFields::Require(std::string_view key) const {
  const YamlNode* value = Find(key);
  if (valid_ && !value) context_.Error(node_, "the key \"{}\" is missing", key);
  return value;
}

std::string Suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view nearest = NearestSpelling(word, candidates);
  if (const std::string_view ours = NdlKeyFor(word); nearest.empty() && !ours.empty()) {
    const bool is_one =
        std::find(candidates.begin(), candidates.end(), ours) != candidates.end();
    if (is_one) nearest = ours;
  }
  return nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest);
}

std::string Alternatives(std::span<const std::string_view> words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace ndlfs::model
