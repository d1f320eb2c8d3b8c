// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/base/json.h"
#include "backends/base/new_id.h"
#include "backends/format/zarr/consolidated.h"
#include "backends/format/zarr/shared_document.h"
#include "backends/store/request_scope.h"
#include "backends/store/store.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/secret_hash.h"
#include "model/string_hash.h"

namespace ndlfs::backends::zarr {

// The files that describe a node, with their versions.
struct NodeFiles {
  enum class Kind : uint8_t { kNone, kV2Array, kV2Group, kV3 };
  Kind kind = Kind::kNone;
  std::string document;  // key of .zarray, .zgroup or zarr.json
  // The group has no document, but there are nodes below it. Writers may leave out the
  // documents of groups between the root and an array.
  bool is_implicit = false;
  // Set if the document is not a file, but a copy in consolidated metadata.
  std::shared_ptr<const ConsolidatedMetadata> consolidated;
  // The facts about `document`, or about the consolidated metadata; and those about .zattrs.
  std::optional<ValueInfo> stamp;
  std::optional<ValueInfo> attributes_stamp;

  int64_t mtime_ns() const;
};

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

// Names that nodes of v3 cannot have (core specification, "Node names").
bool IsReservedName(std::string_view name);

// Reads metadata from the keys of a store that begin with a prefix. Paths are NDL path names.
// Thread-safe.
//
// The files of a node count for more than consolidated metadata, which may be older. A copy
// counts only for a node without a file of its own, if the directory of its chunks exists, or
// if a hierarchy of v2 has no other metadata. When a group is listed, the copy saves a look at
// each child. Invalid consolidated metadata are ignored.
//
// A directory without metadata is a group if there is a node below it. The search for one
// visits a bounded number of directories, both for one directory and for all that a group
// lists, and never the directories of an array. A directory that cannot be read does not end
// the search. The document that was found is remembered, and looked at first the next time. A
// search that found nothing is remembered as long as `search_holds`.
class MetadataReader {
 public:
  // `search_holds` is as in OpenOptions.
  MetadataReader(std::shared_ptr<const Store> store, std::string prefix,
                 std::chrono::nanoseconds search_holds = {})
      : store_(std::move(store)),
        prefix_(std::move(prefix)),
        search_holds_(search_holds),
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

  // The result of a look at the metadata files of one folder: the facts about each, by name.
  class Look;
  std::shared_ptr<const Look> LookInto(const std::string& prefix, bool is_v3) const;
  std::shared_ptr<const Look> LookAtFiles(const std::string& prefix, bool is_v3) const;
  // The look that an earlier request has kept under `key`; null if it is too old.
  std::shared_ptr<const Look> KnownLook(std::string_view key) const EXCLUDES(mutex_);
  void KeepLook(const std::string& key, std::shared_ptr<const Look> look,
                std::chrono::steady_clock::time_point looked_at) const EXCLUDES(mutex_);
  std::shared_ptr<const Look> LookForCopies(const std::string& prefix) const;
  void LookTogether(const Root& root, std::string_view path,
                    std::span<const StoreEntry> entries) const;
  model::Result<NodeFiles> FindFiles(const Root& root, std::string_view path) const;
  // The rest of a bounded search for nodes.
  struct Search {
    int directories;
    size_t entries;
    std::optional<model::Error> error;  // the first one of the search
  };
  model::Result<bool> IsImplicitGroup(const Root& root, std::string_view path) const;
  // Whether the directory at `prefix` holds nodes, if this is known; nullopt if it has to be
  // searched.
  std::optional<bool> KnownToHoldNodes(const std::string& prefix) const;
  model::Result<bool> HoldsNodes(const Root& root, const std::string& prefix,
                                 Search& search) const;
  std::optional<std::string> FindNodeBelow(const Root& root, const std::string& prefix,
                                           Search& search) const;
  model::Result<std::optional<std::string>> FindDocument(const Root& root,
                                                         const std::string& prefix) const;
  // The same, without a look at the other files of the node.
  model::Result<std::optional<std::string>> FindDocumentAlone(const Root& root,
                                                              const std::string& prefix) const;
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
  bool IsListed(const Root& root, std::string_view path, bool keeps_looks, Search& rest) const;
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
  model::Result<std::shared_ptr<const SharedDocument>> ParseDocument(
      const std::string& text) const EXCLUDES(mutex_);
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
  struct KeptLook {
    std::shared_ptr<const Look> look;
    std::chrono::steady_clock::time_point looked_at;
  };
  // Enough for the requests that a program makes when it finds a folder and goes into it.
  static constexpr uint64_t kMostKeptLooks = 64;
  mutable model::BoundedMap<std::string, KeptLook, model::StringHash> looks_ GUARDED_BY(mutex_){
      kMostKeptLooks};
  // Looks that are older than this do not hold.
  mutable std::chrono::steady_clock::time_point looks_hold_from_ GUARDED_BY(mutex_);

  // Documents by their texts, up to this sum of their lengths in bytes.
  static constexpr uint64_t kMostSharedText = uint64_t{64} << 10;
  static constexpr uint64_t kLongestSharedText = kMostSharedText / 4;
  mutable model::BoundedMap<std::string, std::shared_ptr<const SharedDocument>,
                            model::StringHash>
      documents_ GUARDED_BY(mutex_){kMostSharedText};

  // The document of a file that was read before, if it is still among those above. A program
  // that walks through a store loads each node more than once, and most nodes share a document
  // with many others.
  std::shared_ptr<const SharedDocument> KnownDocument(const NodeFiles& files) const
      EXCLUDES(mutex_);
  void NoteDocument(const NodeFiles& files,
                    const std::shared_ptr<const SharedDocument>& document) const
      REQUIRES(mutex_);
  // A hash of the file, with a seed that nobody knows. Documents are found by it.
  uint64_t HashOf(const NodeFiles& files) const;
  const uint64_t seed_ = model::SecretHash("metadata");
  static constexpr size_t kMostKnownDocuments = size_t{1} << 17;
  mutable std::unordered_map<uint64_t, std::weak_ptr<const SharedDocument>> known_documents_
      GUARDED_BY(mutex_);

  // The results of searches, by the prefix of a directory.
  struct Witness {
    std::string document;  // the document that makes it a group; "": there is none
    std::chrono::steady_clock::time_point found_at;
  };
  const std::chrono::nanoseconds search_holds_;
  // Whether a consolidated copy counts although nobody checks that its objects still exist,
  // because each look is a request.
  const bool trusts_copies_;
  mutable model::Mutex witnesses_mutex_;
  mutable model::BoundedMap<std::string, Witness, model::StringHash> witnesses_
      GUARDED_BY(witnesses_mutex_){4096};
};

}  // namespace ndlfs::backends::zarr
