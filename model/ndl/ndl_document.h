// SPDX-License-Identifier: MIT
//
// The groups of an NDL document and the names in them, before any of them is
// read: what references are resolved against.
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

// A dimension coordinate as others refer to it.
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
  const YamlNode* key = nullptr;   // of that entry; null in the flat form
  const YamlNode* node = nullptr;  // attributes, dimcoords and ndarrays
  NdlGroup* parent = nullptr;
  std::map<std::string_view, std::unique_ptr<NdlGroup>> groups;
  std::unordered_map<std::string_view, NdlDimCoord> dimcoords;
  std::unordered_map<std::string_view, const YamlNode*> ndarrays;  // their keys
  // What bare names were found to mean here.
  mutable std::unordered_map<std::string_view, const NdlDimCoord*> meanings;

  // The coordinate of this name in this group, or in the nearest around it.
  const NdlDimCoord* FindNearest(std::string_view name) const;
};

class NdlDocument {
 public:
  // Finds the groups of a document in either form; reports what is wrong with
  // its top level. What the groups hold is looked at, but not checked.
  NdlDocument(NdlContext& context, const YamlNode& root);

  const NdlGroup& root() const { return root_; }
  // The coordinate at a path name; null if there is none.
  const NdlDimCoord* FindPath(std::string_view path) const;
  // Whether a coordinate of this path name, which is not in the document, may be
  // in the store all the same: if it is not in a group that the document is of,
  // or the document is of a single array.
  bool IsElsewhere(std::string_view path) const;
  // Whether a group or ndarray has this path name.
  std::string_view KindAt(std::string_view path) const;

 private:
  void AddGroups(const YamlNode& root);
  NdlGroup* AddGroup(const YamlNode& key);
  void AddNames(NdlGroup& group);
  const NdlGroup* FindGroup(std::string_view path) const;
  // Takes account of what the document has of a group.
  void CountContents(const NdlGroup& group);

  NdlContext& context_;
  NdlGroup root_;
  size_t groups_ = 1;
  // The nearest group around all entries; nullopt before the first.
  std::optional<std::string> top_;
  bool is_of_one_array_ = true;  // and of nothing else
};

}  // namespace ndlfs::model
