// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/base/json.h"
#include "backends/format/zarr/consolidated.h"
#include "backends/store/request_scope.h"
#include "backends/store/store.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::zarr {

// Which files describe a node, and which version of them.
struct NodeFiles {
  enum class Kind : uint8_t { kNone, kV2Array, kV2Group, kV3 };
  Kind kind = Kind::kNone;
  std::string document;  // key of .zarray, .zgroup or zarr.json
  // A group without a document: writers leave out those between the root and an
  // array, and the groups and arrays below it show that it is one.
  bool is_implicit = false;
  // Set where that is not a file, but copied in consolidated metadata.
  std::shared_ptr<const ConsolidatedMetadata> consolidated;
  // Of `document` or of the consolidated metadata, and of .zattrs.
  std::optional<ValueInfo> stamp;
  std::optional<ValueInfo> attributes_stamp;

  int64_t mtime_ns() const;
};

// A node's metadata, parsed but not understood.
struct NodeDocuments {
  Json document;
  // Of v2: the object in .zattrs; null if there is none.
  Json attributes;
  std::optional<model::Error> attributes_error;
  // Of netCDF-C 4.8.0: its objects beside these; see nczarr_keys.h.
  Json separate;
};

// Names that v3 has no nodes of (core specification, "Node names").
bool IsReservedName(std::string_view name);

// Reads metadata from the keys of a store that begin with a prefix. Paths are
// NDL path names. Thread-safe.
//
// The files of a node are the truth about it. Consolidated metadata, which
// may be older than what they describe, stand in for files that are not there
// (where the chunks are, or in a hierarchy of v2 without any other metadata),
// and spare a look at each child when a group is listed. Where they are not
// sound they are as good as absent.
//
// A directory without metadata is a group if there is a node below it. That is
// looked for in a bounded number of directories, for one and for all that a group
// lists, and never in those of an array; what cannot be read there hides no other;
// the document that was found is remembered and looked at first the next time.
class MetadataReader {
 public:
  MetadataReader(std::shared_ptr<const Store> store, std::string prefix)
      : store_(std::move(store)), prefix_(std::move(prefix)) {}

  // Finds out whether netCDF-C 4.8.0 has written metadata in addition to those of
  // Zarr. To be called once, before all others.
  model::Result<void> LookForNczarrObjects();

  const std::shared_ptr<const Store>& store() const { return store_; }
  // As of Hierarchy.
  uint64_t held_bytes() const { return store_->held_bytes() + consolidated_bytes_; }

  // The version of Zarr of a hierarchy, at a moment: that of the metadata at
  // its root, v3 where both are there.
  struct Root {
    std::optional<ValueInfo> v3;  // of zarr.json
    bool is_v3() const { return v3.has_value(); }
  };
  model::Result<Root> LookAtRoot() const;
  // Looks anew at what has been looked at before for the same request.
  void ForgetLooks() const;

  // kNone where there is no node.
  model::Result<NodeFiles> Find(const Root& root, std::string_view path) const;
  model::Result<NodeDocuments> Read(const NodeFiles& files, std::string_view path) const;
  // Keys of the values that the documents are in; for a group without one, that
  // of its directory.
  std::vector<std::string> Files(const NodeFiles& files) const;
  // The file, for messages.
  std::string Describe(const NodeFiles& files) const;
  // Names of the nodes in the group at `path`, sorted.
  model::Result<std::vector<std::string>> Children(const Root& root,
                                                   std::string_view path) const;

  // "temp/lat/.zarray" for "/lat", under the prefix "temp".
  std::string Key(std::string_view path, std::string_view name) const;

 private:
  struct Consolidated {
    std::optional<ValueInfo> stamp;
    std::shared_ptr<const ConsolidatedMetadata> metadata;  // null if not sound
    std::optional<model::Error> error;                     // why not
  };

  // What a look at the metadata files of one folder has found: by their names, what
  // is known of each.
  class Look;
  std::shared_ptr<const Look> LookInto(const std::string& prefix, bool is_v3) const;
  model::Result<NodeFiles> FindFiles(const Root& root, std::string_view path) const;
  // How far a node is still looked for.
  struct Search {
    int directories;
    size_t entries;
    std::optional<model::Error> error;  // the first one on the way
  };
  model::Result<bool> IsImplicitGroup(const Root& root, std::string_view path) const;
  bool HasWitness(const std::string& prefix) const;
  model::Result<bool> HoldsNodes(const Root& root, const std::string& prefix,
                                 Search& search) const;
  std::optional<std::string> FindNodeBelow(const Root& root, const std::string& prefix,
                                           Search& search) const;
  model::Result<std::optional<std::string>> FindDocument(const Root& root,
                                                         const std::string& prefix) const;
  model::Result<bool> IsBelowArray(const Root& root, std::string_view path) const;
  model::Result<NodeFiles> FindConsolidated(const Root& root, std::string_view path) const;
  model::Result<Consolidated> LoadConsolidated(const Root& root) const;
  model::Result<ConsolidatedMetadata> ParseConsolidated(const Root& root,
                                                        const ValueInfo& info) const;
  model::Result<bool> IsThere(std::string_view path) const;
  bool IsInCopy(const Root& root, const ConsolidatedMetadata& copy, std::string_view path,
                bool copies_only) const;
  model::Result<bool> IsImplicitInCopy(const ConsolidatedMetadata& copy, std::string_view path,
                                       bool copies_only) const;
  bool IsListed(const Root& root, std::string_view path, Search& rest) const;
  model::Result<std::string> ReadText(const NodeFiles& files, std::string_view key) const;
  model::Result<Json> ReadJson(const NodeFiles& files, std::string_view key) const;
  model::Result<bool> HasCopiesOnly(const Root& root) const;
  Json ReadSeparate(const NodeFiles& files, std::string_view path) const;
  std::string ConsolidatedKey(bool is_v3) const;

  const std::shared_ptr<const Store> store_;
  const std::string prefix_;
  bool has_nczarr_objects_ = false;
  const uint64_t owner_ = RequestScope::NewOwner();
  mutable std::atomic<uint64_t> consolidated_bytes_{0};
  mutable model::Mutex mutex_;
  mutable Consolidated consolidated_ GUARDED_BY(mutex_);  // as of its last use

  // By the prefix of an implicit group, the document that makes it one.
  mutable model::Mutex witnesses_mutex_;
  mutable std::unordered_map<std::string, std::string> witnesses_ GUARDED_BY(witnesses_mutex_);
};

}  // namespace ndlfs::backends::zarr
