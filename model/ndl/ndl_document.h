// SPDX-License-Identifier: MIT
//
// An index of the groups of an NDL document and of the names in them. It is made
// before the contents are read, because references may point forward.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/ndl/ndl_context.h"
#include "model/ndl/yaml_tree.h"

namespace ndlfs::model {

struct NdlGroup;

// A dimension coordinate, as far as references to it need.
struct NdlDimCoord {
  const NdlGroup* group;
  std::string_view name;
  std::optional<uint64_t> size;  // nullopt: unlimited
  bool has_valid_size;

  std::string path() const;
};

// Views point into the YAML tree.
struct NdlGroup {
  std::string_view path;           // empty if the document has no entry for it
  const YamlNode* key = nullptr;   // the key of that entry; null in the flat form
  const YamlNode* node = nullptr;  // the mapping of attributes, dimcoords and ndarrays
  NdlGroup* parent = nullptr;
  std::map<std::string_view, std::unique_ptr<NdlGroup>> groups;
  std::unordered_map<std::string_view, NdlDimCoord> dimcoords;
  std::unordered_map<std::string_view, const YamlNode*> ndarrays;  // their keys
  // Results of FindNearest.
  mutable std::unordered_map<std::string_view, const NdlDimCoord*> meanings;

  // The coordinate with this name in this group, or else in the nearest group
  // around it that has one; null if there is none.
  const NdlDimCoord* FindNearest(std::string_view name) const;
};

class NdlDocument {
 public:
  // Finds the groups of a document in either form. Reports errors at the top
  // level, but does not check the contents of the groups.
  NdlDocument(NdlContext& context, const YamlNode& root);

  const NdlGroup& root() const { return root_; }
  // The coordinate at a path name; null if there is none.
  const NdlDimCoord* FindPath(std::string_view path) const;
  // Whether the store may have a coordinate at this path name although the
  // document does not: the document describes a single array, or groups that do
  // not contain the path name.
  bool IsElsewhere(std::string_view path) const;
  // "a group" or "an ndarray" if there is one at this path name, else empty.
  std::string_view KindAt(std::string_view path) const;

 private:
  void AddGroups(const YamlNode& root);
  NdlGroup* AddGroup(const YamlNode& key);
  void AddNames(NdlGroup& group);
  const NdlGroup* FindGroup(std::string_view path) const;
  // Updates `top_` and `is_of_one_array_` for the entry of a group.
  void CountContents(const NdlGroup& group);

  NdlContext& context_;
  NdlGroup root_;
  size_t groups_ = 1;
  // The nearest group around all entries; nullopt before the first.
  std::optional<std::string> top_;
  bool is_of_one_array_ = true;  // the document has a single array and nothing else
};

}  // namespace ndlfs::model
