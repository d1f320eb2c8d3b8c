// SPDX-License-Identifier: MIT
#include "model/ndl/ndl_document.h"

#include <algorithm>
#include <array>

#include "model/error.h"
#include "model/ndl/yaml_text.h"
#include "model/path_name.h"

namespace ndlfs::model {
namespace {

constexpr size_t kMaxGroups = 1'000'000;
constexpr size_t kMaxGroupDepth = 256;
constexpr size_t kMaxPathLength = 65'536;

constexpr std::array<std::string_view, 3> kContents = {"attributes", "dimcoords", "ndarrays"};

bool IsContents(std::string_view key) {
  return std::find(kContents.begin(), kContents.end(), key) != kContents.end();
}

std::string_view KeyText(const YamlNode& mapping, size_t i) {
  return mapping.key(i).is_scalar() ? mapping.key(i).text() : std::string_view();
}

// The value of `key`; null if it is absent. Reports nothing.
const YamlNode* Find(const YamlNode& node, std::string_view key) {
  if (!node.is_mapping()) return nullptr;
  for (size_t i = 0; i < node.size(); ++i) {
    if (node.key(i).is_scalar() && node.key(i).text() == key) return &node.value(i);
  }
  return nullptr;
}

NdlDimCoord MakeDimCoord(const NdlGroup& group, std::string_view name, const YamlNode& node) {
  const YamlNode* size = Find(node, "size");
  if (size && size->is_null()) return {&group, name, std::nullopt, true};
  const auto number = size && size->is_plain() ? ParseYamlInteger(size->text()) : std::nullopt;
  if (!number || *number < 0 || *number > INT64_MAX) {
    return {&group, name, std::nullopt, false};
  }
  return {&group, name, static_cast<uint64_t>(*number), true};
}

}  // namespace

std::string NdlDimCoord::path() const { return JoinPath(group->path, name); }

const NdlDimCoord* NdlGroup::FindNearest(std::string_view name) const {
  const auto known = meanings.find(name);
  if (known != meanings.end()) return known->second;
  const NdlDimCoord* found = nullptr;
  for (const NdlGroup* group = this; group && !found; group = group->parent) {
    const auto here = group->dimcoords.find(name);
    if (here != group->dimcoords.end()) found = &here->second;
  }
  meanings.emplace(name, found);
  return found;
}

NdlDocument::NdlDocument(NdlContext& context, const YamlNode& root) : context_(context) {
  root_.path = "/";
  if (!root.is_mapping()) {
    context_.Error(root, "{}, expected a mapping of groups, or of {}",
                   root.is_null() ? "the document is empty" : "found " + DescribeNode(root),
                   Alternatives(kContents));
    return;
  }
  const YamlNode* group = nullptr;
  const YamlNode* contents = nullptr;
  for (size_t i = 0; i < root.size(); ++i) {
    if (!group && KeyText(root, i).starts_with('/')) group = &root.key(i);
    if (!contents && IsContents(KeyText(root, i))) contents = &root.key(i);
  }
  if (group && contents) {
    context_.Error(*contents,
                   "{} next to the group {} (line {}), expected either groups only, or only "
                   "the contents of the root group",
                   Quote(contents->text()), Quote(group->text()), group->line());
  } else if (contents) {
    root_.node = &root;
    AddNames(root_);
    CountContents(root_);
  } else {
    AddGroups(root);
  }
}

void NdlDocument::AddGroups(const YamlNode& root) {
  if (!CheckMapping(context_, root)) return;
  for (size_t i = 0; i < root.size() && !context_.gave_up(); ++i) {
    const std::string_view key = KeyText(root, i);
    if (!root.key(i).is_scalar() || key.starts_with("x-")) continue;
    if (!key.starts_with('/')) {
      context_.Error(root.key(i),
                     "unknown key {}{}, expected the path name of a group, which "
                     "begins with \"/\", or {}",
                     Quote(key), Suggestion(key, kContents), Alternatives(kContents));
      continue;
    }
    NdlGroup* group = AddGroup(root.key(i));
    if (!group) continue;
    group->path = key;
    group->key = &root.key(i);
    group->node = &root.value(i);
    AddNames(*group);
    CountContents(*group);
  }
}

void NdlDocument::CountContents(const NdlGroup& group) {
  const YamlNode& node = *group.node;
  const bool has_one_key = node.is_mapping() && node.size() == 1;
  is_of_one_array_ = is_of_one_array_ && !top_ && has_one_key &&
                     group.dimcoords.size() + group.ndarrays.size() == 1;
  if (!top_) {
    top_ = group.path;
    return;
  }
  while (!IsBelow(group.path, *top_)) top_ = std::string(ParentPath(*top_));
}

bool NdlDocument::IsElsewhere(std::string_view path) const {
  return is_of_one_array_ || !top_ || !IsBelow(path, *top_);
}

// Adds the group at the path name `key`, and the groups around it.
NdlGroup* NdlDocument::AddGroup(const YamlNode& key) {
  const std::string_view path = key.text();
  if (path.size() > kMaxPathLength) {
    context_.Error(key, "a path name of more than {} bytes", kMaxPathLength);
    return nullptr;
  }
  if (path.size() > 1 && path.ends_with('/')) {
    context_.Error(key, "the path name {} ends in \"/\", expected {}", Quote(path),
                   Quote(path.substr(0, path.find_last_not_of('/') + 1)));
    return nullptr;
  }
  if (path.find("//") != std::string_view::npos) {
    context_.Error(key, "the path name {} has an empty name in it", Quote(path));
    return nullptr;
  }
  const std::vector<std::string_view> names = SplitPath(path);
  if (names.size() > kMaxGroupDepth) {
    context_.Error(key, "groups nested more than {} deep", kMaxGroupDepth);
    return nullptr;
  }
  NdlGroup* group = &root_;
  for (const std::string_view name : names) {
    if (groups_ > kMaxGroups) return nullptr;
    std::unique_ptr<NdlGroup>& child = group->groups[name];
    if (!child) {
      child = std::make_unique<NdlGroup>();
      child->parent = group;
      if (++groups_ > kMaxGroups) context_.Error(key, "more than {} groups", kMaxGroups);
    }
    group = child.get();
  }
  return group;
}

void NdlDocument::AddNames(NdlGroup& group) {
  if (const YamlNode* dimcoords = Find(*group.node, "dimcoords");
      dimcoords && dimcoords->is_mapping()) {
    for (size_t i = 0; i < dimcoords->size(); ++i) {
      const std::string_view name = KeyText(*dimcoords, i);
      group.dimcoords.emplace(name, MakeDimCoord(group, name, dimcoords->value(i)));
    }
  }
  if (const YamlNode* ndarrays = Find(*group.node, "ndarrays");
      ndarrays && ndarrays->is_mapping()) {
    for (size_t i = 0; i < ndarrays->size(); ++i) {
      group.ndarrays.emplace(KeyText(*ndarrays, i), &ndarrays->key(i));
    }
  }
}

const NdlGroup* NdlDocument::FindGroup(std::string_view path) const {
  const NdlGroup* group = &root_;
  for (const std::string_view name : SplitPath(path)) {
    const auto child = group->groups.find(name);
    if (child == group->groups.end()) return nullptr;
    group = child->second.get();
  }
  return group;
}

const NdlDimCoord* NdlDocument::FindPath(std::string_view path) const {
  const NdlGroup* group = FindGroup(ParentPath(path));
  if (!group) return nullptr;
  const auto found = group->dimcoords.find(BaseName(path));
  return found == group->dimcoords.end() ? nullptr : &found->second;
}

std::string_view NdlDocument::KindAt(std::string_view path) const {
  if (FindGroup(path)) return "a group";
  const NdlGroup* group = FindGroup(ParentPath(path));
  return group && group->ndarrays.contains(BaseName(path)) ? "an ndarray" : "";
}

}  // namespace ndlfs::model
