// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/json.h"
#include "backends/base/new_id.h"
#include "backends/format/zarr/consolidated.h"
#include "backends/format/zarr/document_memory.h"
#include "backends/format/zarr/folder_looks.h"
#include "backends/format/zarr/node_files.h"
#include "backends/store/store.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::zarr {

// The metadata of a node, as parsed JSON.
struct NodeDocuments {
  std::shared_ptr<const SharedDocument> document;  // never null
  // In v2: the object in .zattrs; null if there is none. In v3: the attributes, if the document
  // was read without them; null if they are in the document.
  Json attributes;
  std::optional<model::Error> attributes_error;
  // The objects of netCDF-C 4.8.0, which have files of their own; see nczarr_keys.h.
  Json separate;
};

// Reads metadata from the keys of a store that begin with a prefix. Paths are NDL path names.
// Thread-safe.
//
// The files of a node count for more than consolidated metadata, because that copy may be
// older. The copy of a node counts only if the node has no file of its own. In addition, the
// directory of its chunks must exist, or the hierarchy must be one of v2 without any other
// metadata. When a group is listed, the copy saves a look at each child. Invalid consolidated
// metadata are ignored.
//
// A directory without metadata is a group if there is a node below it (GroupSearch).
class MetadataReader {
 public:
  // `search_holds` is as in OpenOptions.
  MetadataReader(std::shared_ptr<const Store> store, std::string prefix,
                 std::chrono::nanoseconds search_holds = {})
      : store_(std::move(store)),
        prefix_(std::move(prefix)),
        looks_(store_, prefix_, search_holds),
        groups_(store_, looks_, search_holds),
        trusts_copies_(store_->looks_are_requests()) {}

  // Finds out whether netCDF-C 4.8.0 has written metadata in addition to those of Zarr. Call it
  // once, before all other functions.
  model::Result<void> LookForNczarrObjects();

  const std::shared_ptr<const Store>& store() const { return store_; }
  // As in Hierarchy.
  uint64_t held_bytes() const { return store_->held_bytes() + consolidated_bytes_; }

  // The version of Zarr of a hierarchy at one moment: that of the metadata at its root, and v3
  // if both exist.
  struct Root {
    std::optional<ValueInfo> v3;  // about zarr.json
    bool is_v3() const { return v3.has_value(); }
  };
  model::Result<Root> LookAtRoot() const;
  // Makes the next look at each folder a new one. Otherwise requests use the results of the
  // last looks for as long as `search_holds`: the root, and the documents that existed.
  void ForgetKeptLooks() const;
  // Looks anew even at files that the same request has looked at before.
  void ForgetLooks() const;

  // Finds the files of the node at `path`; kNone if there is no node.
  model::Result<NodeFiles> Find(const Root& root, std::string_view path) const;
  model::Result<NodeDocuments> Read(const NodeFiles& files, std::string_view path) const;
  // The keys of the values that hold the documents; for a group without a document, the key of
  // its directory.
  std::vector<std::string> Files(const NodeFiles& files) const;
  // The name of the document, for messages.
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
    std::optional<model::Error> error;                     // why it is not
  };

  void LookTogether(const Root& root, std::string_view path,
                    std::span<const StoreEntry> entries) const;
  model::Result<NodeFiles> FindFiles(const Root& root, std::string_view path) const;
  model::Result<bool> IsImplicitGroup(const Root& root, std::string_view path) const;
  model::Result<bool> IsBelowArray(const Root& root, std::string_view path) const;
  model::Result<NodeFiles> FindConsolidated(const Root& root, std::string_view path) const;
  model::Result<Consolidated> LoadConsolidated(const Root& root) const;
  std::optional<Consolidated> KnownConsolidated(const std::optional<ValueInfo>& stamp) const;
  model::Result<ConsolidatedMetadata> ParseConsolidated(const Root& root,
                                                        const ValueInfo& info) const;
  model::Result<bool> IsThere(std::string_view path) const;
  bool IsInCopy(const Root& root, const ConsolidatedMetadata& copy, std::string_view path,
                bool copies_only) const;
  model::Result<bool> IsImplicitInCopy(const ConsolidatedMetadata& copy, std::string_view path,
                                       bool copies_only) const;
  // `keeps_looks`: the same request may soon ask for the node.
  bool IsListed(const Root& root, std::string_view path, bool keeps_looks,
                GroupSearch::Rest& rest) const;
  void LookAhead(const NodeFiles& root) const;
  model::Result<std::string> ReadText(const NodeFiles& files, std::string_view key) const;
  // Refuses a text that is too long to be parsed.
  model::Result<std::string> ReadDocumentText(const NodeFiles& files,
                                              std::string_view key) const;
  // The bytes of the document at `key`, as far as they are known.
  static uint64_t SizeOf(const NodeFiles& files, std::string_view key);
  // Reads an object of attributes. Leaves out attributes that would take too much memory;
  // `left_out` then says which.
  model::Result<Json> ReadAttributes(const NodeFiles& files, std::string_view key,
                                     std::optional<model::Error>& left_out) const;
  model::Result<void> ReadDocument(const NodeFiles& files, NodeDocuments& documents) const;
  model::Result<bool> HasCopiesOnly(const Root& root) const;
  Json ReadSeparate(const NodeFiles& files, std::string_view path) const;
  std::string ConsolidatedKey(bool is_v3) const;

  const std::shared_ptr<const Store> store_;
  const std::string prefix_;
  bool has_nczarr_objects_ = false;
  const uint64_t owner_ = NewId();
  mutable std::atomic<uint64_t> consolidated_bytes_{0};
  mutable model::Mutex parse_mutex_;  // taken before mutex_
  mutable model::Mutex mutex_;
  mutable Consolidated consolidated_ GUARDED_BY(mutex_);  // as of its last use
  const FolderLooks looks_;
  const GroupSearch groups_;
  const DocumentMemory documents_;
  // Whether a consolidated copy counts although nobody checks that its objects still exist,
  // because each look is a request.
  const bool trusts_copies_;
};

}  // namespace ndlfs::backends::zarr
