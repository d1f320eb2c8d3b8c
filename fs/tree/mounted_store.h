// SPDX-License-Identifier: MIT
//
// One store of the source as the mount shows it, through all that happens to
// it: opened when somebody looks inside, looked at again when what was seen is
// no longer fresh, opened anew when it has changed.
//
// An *entity* is one object of it (group, ndarray, dimension coordinate) in
// one version. When the metadata of an array change, or a chunk that has been
// read, a new entity takes its place, with a new source, reader and ledger;
// who has the old one open keeps it. So bytes of two versions never meet in
// one chunk cache entry, nor under one inode.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/detection.h"
#include "backends/format/hierarchy.h"
#include "backends/store/access.h"
#include "backends/store/caller.h"
#include "backends/store/source.h"
#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "cache/chunk_ledger.h"
#include "fs/tree/freshness.h"
#include "fs/tree/kept_views.h"
#include "fs/tree/problem_log.h"
#include "fs/tree/read_failures.h"
#include "fs/tree/tree_node.h"
#include "fs/view/view_provider.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/recently_used.h"
#include "model/string_hash.h"
#include "model/weak_map.h"

namespace ndlfs::fs {

using HierarchyPtr = std::shared_ptr<const backends::Hierarchy>;

// Immutable, but for what reading it finds out.
class Entity {
 public:
  explicit Entity(cache::ChunkCache& cache) : cache_(cache) {}
  ~Entity();
  Entity(const Entity&) = delete;
  Entity& operator=(const Entity&) = delete;

  bool is_group() const { return node != nullptr && node->is_group(); }
  bool is_array() const { return node != nullptr && !node->is_group(); }
  // The text of `error.txt`; empty if there is none.
  std::string ErrorText() const { return problems + failures->Text(); }
  // Notes that reading the file `name` of it has failed, unless the failure is
  // one of the moment that has nothing to do with the array.
  void NoteFailure(const std::string& name, const model::Error& error) const;

  std::string path;         // NDL path name
  uint64_t generation = 0;  // no other entity in this process has it
  uint64_t version = 0;     // of the metadata
  std::weak_ptr<const backends::Hierarchy> loaded_from;
  // Null where the object cannot be loaded; `problems` says why then.
  std::shared_ptr<const backends::Node> node;
  std::string problems;    // what is known to be wrong, in lines; empty if nothing is
  bool may_pass = false;   // what is wrong is a failure of the system
  bool is_denied = false;  // on a mount for others: the caller may not read the metadata
  // Arrays that have data.
  std::shared_ptr<cache::ChunkLedger> ledger;
  std::shared_ptr<const cache::ArrayReader> reader;
  const std::unique_ptr<KeptViews> views = std::make_unique<KeptViews>();
  // What has failed when it was read. Kept under `kept_name` when the entity leaves memory.
  std::shared_ptr<ReadFailures> failures = std::make_shared<ReadFailures>();
  KeptFailures* kept_failures = nullptr;  // null: not kept
  std::string kept_name;
  // Newest of the metadata, and of the chunks that were found changed.
  int64_t mtime_ns = 0;
  int64_t data_mtime_ns = 0;
  // Its weight among those that are kept, without what its views have grown by.
  uint64_t held_bytes = 0;
  // The permissions that it shows: what its metadata have in the source.
  backends::Access access;

 private:
  cache::ChunkCache& cache_;
};
using EntityPtr = std::shared_ptr<const Entity>;

class MountedStore;

// What all stores of a mount share. Outlives them.
struct StoreServices {
  std::shared_ptr<const backends::Source> source;
  Freshness freshness;
  cache::ChunkCache& cache;
  ProblemLog& problems;
  backends::OpenOptions open_options;

  // Looks for a store at a path of the source; the tests have formats of their
  // own.
  std::function<backends::FileLook(const std::string& path, bool is_directory)> detect;
  // How `detect` goes about it.
  backends::Detection detection = backends::Detection::kContent;

  // What is kept although nobody uses it at the moment: opened stores, and
  // entities, whose page cache would be lost with them.
  // Both by weight in bytes: there may be a hundred stores with the metadata of
  // a million arrays each, or a thousand arrays with attributes of 40 MiB.
  static constexpr uint64_t kOpenedBytes = uint64_t{32} << 20;
  static constexpr uint64_t kEntityBytes = uint64_t{16} << 20;
  model::RecentlyUsed<MountedStore> opened{kOpenedBytes};
  model::RecentlyUsed<const Entity> entities{kEntityBytes};
  // What open directories go through.
  using Listing = std::vector<DirectoryEntry>;
  model::RecentlyUsed<const Listing> listings{uint64_t{16} << 20};
  std::atomic<uint64_t> last_generation{0};
  KeptFailures failures{};
  // Set before the mount is used.
  ScanLimits scan{};
  ListedViews listed_views{};
  // The tests have views of their own.
  const ArrayViewProvider* array_views = &ArrayViews();
  const GroupViewProvider* group_views = &GroupViews();
};

// The `detect` of a real mount.
std::function<backends::FileLook(const std::string&, bool)> DetectIn(
    std::shared_ptr<const backends::Source> source, backends::Detection detection);

// Thread-safe; nothing is read from the source under a lock that a reader of
// another store, or of an open file, needs.
//
// On a mount for others, this is the store as one caller sees it
// (backends/store/caller.h): all that it keeps was read as that caller, and nobody else
// is told of it.
class MountedStore : public std::enable_shared_from_this<MountedStore> {
 public:
  // `status` is that of the file or directory at `path`; its format has just
  // been detected. Opens nothing.
  MountedStore(StoreServices& services, std::string path, const backends::FileStatus& status);

  const StoreServices& services() const { return services_; }
  // In the source; "" is the source itself.
  const std::string& path() const { return path_; }
  bool is_directory() const { return is_directory_; }
  // Others than who mounted it read what is in it.
  bool is_shared() const { return services_.open_options.shared; }
  // The caller whose store this is; 0 where it is everybody's.
  uint64_t caller_id() const { return caller_ ? caller_->id : 0; }
  // How messages call it.
  std::string Describe() const;

  // Mode, owner and times of the file or directory, when last looked at.
  backends::FileStatus status() const;
  void NoteStatus(const backends::FileStatus& status);
  // The format that a look at this version of the path has just found: the next
  // opening of the store need not look, if it is soon.
  void NoteFormat(const backends::Format* format, const backends::Generation& version);

  // The opened store, not older than freshness allows. The error is why it
  // cannot be opened (shown as `error.txt`), or kStale: there is no longer a
  // store here, and the path has to be looked up again.
  model::Result<HierarchyPtr> Hierarchy();
  // "Zarr v3", or "" while the store is not open.
  std::string format() const;

  // The object at an NDL path; kNotFound where there is none. One that cannot
  // be loaded is an entity with problems. Errors are those of Hierarchy().
  model::Result<EntityPtr> Get(std::string_view path);

  // Notes that `entity` is in use, and what it weighs by now.
  void Touch(const EntityPtr& entity) const;

  // The version of the metadata of an object, for who keeps what was made of
  // them; 0 where there is none.
  static uint64_t VersionOf(const backends::Hierarchy& hierarchy, std::string_view path);

  // Gives back what the opened store holds; it is opened again when needed.
  void Close();
  // Its weight among those that are kept open.
  uint64_t held_bytes() const;

 private:
  // The format of the store, which has `status`; null if there is none.
  model::Result<const backends::Format*> FindFormat(const backends::FileStatus& status);
  struct Seen {
    EntityPtr entity;
    bool fresh = false;
  };

  // The state of the last look, if that is fresh.
  std::optional<model::Result<HierarchyPtr>> Fresh() const EXCLUDES(mutex_);
  // Of what is at its path, noted. kStale if that is no longer such a store.
  model::Result<backends::FileStatus> CurrentStatus() EXCLUDES(mutex_);
  // The open hierarchy, if it is still that of the source; nullopt if it may not be.
  std::optional<model::Result<HierarchyPtr>> LookWhetherUnchanged() EXCLUDES(mutex_);
  model::Result<HierarchyPtr> LookAgain() REQUIRES(open_mutex_) EXCLUDES(mutex_);
  model::Result<HierarchyPtr> Open(const backends::FileStatus& status) REQUIRES(open_mutex_)
      EXCLUDES(mutex_);
  // Another opening than `outdated`.
  model::Result<HierarchyPtr> Reopen(const HierarchyPtr& outdated)
      EXCLUDES(open_mutex_, mutex_);
  bool IsUnchanged(const backends::Hierarchy* hierarchy,
                   const backends::FileStatus& status) const EXCLUDES(mutex_);

  Seen Find(std::string_view path) EXCLUDES(mutex_);
  void Confirm(std::string_view path) EXCLUDES(mutex_);
  model::Result<EntityPtr> Load(const HierarchyPtr& hierarchy, std::string_view path,
                                const Entity* before) EXCLUDES(mutex_);
  EntityPtr Keep(EntityPtr entity, const Entity* before) EXCLUDES(mutex_);
  // What is shown of the permissions of the store's file or, of a directory, of these files in
  // it; none of what cannot be looked at.
  backends::Access AccessTo(const std::vector<std::string>& files) const;
  void AddProblem(Entity& entity, const model::Error& error) const;
  // `before`: see Load().
  void AddData(Entity& entity, const Entity* before) const;
  // Has the failures of an array kept, and takes those that are with the ledger of the files
  // that were read, so that a repaired file is noticed.
  void AddLedger(Entity& entity, const Entity* before) const;

  StoreServices& services_;
  const std::string path_;
  const bool is_directory_;
  // Kept, so that the caller finds this store again: no other one gets its id.
  const backends::CallerPtr caller_ = backends::CallerScope::Current();

  // Held while the store is opened or looked at; taken before mutex_.
  model::Mutex open_mutex_;

  mutable model::Mutex mutex_;
  backends::FileStatus status_ GUARDED_BY(mutex_);
  HierarchyPtr hierarchy_ GUARDED_BY(mutex_);
  std::optional<model::Error> open_error_ GUARDED_BY(mutex_);
  backends::Generation opened_generation_ GUARDED_BY(mutex_);
  struct Detected {
    const backends::Format* format = nullptr;
    backends::Generation version;
    Freshness::Time when;
  };
  Detected detected_ GUARDED_BY(mutex_);  // until the store is opened
  uint64_t opened_version_ GUARDED_BY(mutex_) = 0;
  Freshness::Time looked_at_ GUARDED_BY(mutex_);
  // By path, with the time when they were looked at.
  model::WeakMap<std::string, const Entity, Freshness::Time, model::StringHash> known_
      GUARDED_BY(mutex_){64};
};

}  // namespace ndlfs::fs
