// SPDX-License-Identifier: MIT
//
// The state that the readers of an NDL document share: the current place in the
// document, and the errors so far.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/ndl/diagnostic.h"
#include "model/ndl/yaml_tree.h"

namespace ndlfs::model {

class NdlContext {
 public:
  // Reports an error at `node`, in the current entity and place.
  template <typename... Args>
  void Error(const YamlNode& node, fmt::format_string<Args...> format, Args&&... args) {
    Report(node, fmt::format(format, std::forward<Args>(args)...));
  }

  // Whether there are so many errors that reading on is of no use.
  bool gave_up() const { return errors_.size() >= kMaxErrors; }
  bool ok() const { return errors_.empty(); }
  // The errors by line, without duplicates.
  std::vector<Diagnostic> TakeErrors();

  // Sets the current entity: the entity `name` of the group at the path name
  // `group`, or the group itself if `name` is empty. Keeps views of both texts.
  void set_entity(std::string_view group, std::string_view name) {
    group_ = group;
    name_ = name;
  }

  // Enters a place inside the entity, such as `storage`, `attribute "units"` or
  // `value[3]`, and leaves it when destroyed. Keeps views of its texts.
  class Place {
   public:
    Place(NdlContext& context, std::string_view word) : Place(context, {word, {}, kNoIndex}) {}
    Place(NdlContext& context, std::string_view word, std::string_view name)
        : Place(context, {word, name, kNoIndex}) {}
    Place(NdlContext& context, size_t index) : Place(context, {{}, {}, index}) {}
    ~Place() { context_.places_.pop_back(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    friend class NdlContext;
    static constexpr size_t kNoIndex = static_cast<size_t>(-1);
    struct Part {
      std::string_view word;
      std::string_view name;
      size_t index;
    };
    Place(NdlContext& context, const Part& part) : context_(context) {
      context_.places_.push_back(part);
    }
    NdlContext& context_;
  };

 private:
  static constexpr size_t kMaxErrors = 100;

  void Report(const YamlNode& node, std::string message);
  std::string PathText() const;
  std::string PlaceText() const;

  std::string_view group_;
  std::string_view name_;
  std::vector<Place::Part> places_;
  std::vector<Diagnostic> errors_;
};

// Describes a node for messages: `the text "x"`, `a list`, `null`.
std::string DescribeNode(const YamlNode& node);

// A mapping whose keys the language defines. The constructor reports a node
// that is not a mapping, and keys that are not text, occur twice, or are neither
// in `known` nor extensions ("x-...").
class NdlFields {
 public:
  NdlFields(NdlContext& context, const YamlNode& node,
            std::initializer_list<std::string_view> known);

  // Whether the node is a mapping.
  bool valid() const { return valid_; }
  // The value of the key; null if it is absent.
  const YamlNode* Find(std::string_view key) const;
  // The same, but reports an absent key.
  const YamlNode* Require(std::string_view key) const;

 private:
  NdlContext& context_;
  const YamlNode& node_;
  bool valid_ = false;
};

// Calls `visit(name, key node, value node)` for each entry of a mapping whose
// keys are names. Reports the same errors as NdlFields, except unknown keys.
template <typename Visit>
void ForEachName(NdlContext& context, const YamlNode& node, Visit visit);

// Whether `node` is a mapping. Reports a node that is not, and keys that are
// not text or occur twice.
bool CheckMapping(NdlContext& context, const YamlNode& node);

template <typename Visit>
void ForEachName(NdlContext& context, const YamlNode& node, Visit visit) {
  if (!CheckMapping(context, node)) return;
  for (size_t i = 0; i < node.size() && !context.gave_up(); ++i) {
    if (node.key(i).is_scalar()) visit(node.key(i).text(), node.key(i), node.value(i));
  }
}

// " (did you mean x?)" if `word` looks like a misspelling of candidate x, or is
// the word of another language for it; else empty.
std::string Suggestion(std::string_view word, std::span<const std::string_view> candidates);

// "a, b or c".
std::string Alternatives(std::span<const std::string_view> words);

}  // namespace ndlfs::model
