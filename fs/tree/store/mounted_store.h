// SPDX-License-Identifier: MIT
//
// One store of the source, as the mount shows it. The store is opened when a program looks
// inside. When the last look is no longer fresh, ndlfs looks at it again, and opens it again if
// it has changed.
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
#include "backends/format/versioned.h"
#include "backends/store/answer_age.h"
#include "backends/store/caller.h"
#include "backends/store/permissions.h"
#include "backends/store/source.h"
#include "cache/chunk_cache.h"
#include "fs/tree/problem_log.h"
#include "fs/tree/store/entity.h"
#include "fs/tree/store/freshness.h"
#include "fs/tree/tree_node.h"
#include "fs/tree/view/read_failures.h"
#include "fs/view/all_views.h"
#include "model/error.h"
#include "model/memory_budget.h"
#include "model/mutex.h"
#include "model/recently_used.h"
#include "model/string_hash.h"
#include "model/weak_map.h"

namespace ndlfs::fs {

using HierarchyPtr = std::shared_ptr<const backends::Hierarchy>;

// The version of the store that a MountedStore shows. If `ref` is empty: the one of
// StoreServices::open_options.
struct StoreVersion {
  std::string ref = {};     // as OpenOptions::ref
  std::string folder = {};  // its place in the folder of the store: ".versions/tags/v1"
  bool is_fixed = false;    // always leads to the same contents
};

class MountedStore;

// The state that all stores of a mount share. Must outlive them.
struct StoreServices {
  std::shared_ptr<const backends::Source> source;
  Freshness freshness;
  cache::ChunkCache& cache;
  ProblemLog& problems;
  backends::OpenOptions open_options;

  // Looks for a store at a path of the source; tests have formats of their own.
  std::function<backends::FileLook(const std::string& path, bool is_directory)> detect;
  // The detection that `detect` uses.
  backends::Detection detection = backends::Detection::kContent;

  // Opened stores and entities that stay in memory although nobody uses them. When an entity is
  // dropped, the page cache of its files is lost. The limits are in bytes and not in numbers:
  // there may be a hundred stores with a million arrays each, or a thousand arrays with
  // attributes of 40 MiB.
  model::RecentlyUsed<MountedStore> opened{model::MemoryBudget::Pool::kStores};
  model::RecentlyUsed<const Entity> entities{model::MemoryBudget::Pool::kEntities};
  // The listings that open directories read from.
  using Listing = std::vector<DirectoryEntry>;
  model::RecentlyUsed<const Listing> listings{model::MemoryBudget::Pool::kListings};
  std::atomic<uint64_t> last_generation{0};
  KeptFailures failures{};
  // Set before the mount is used.
  ScanLimits scan{};
  // ArrayInput::passes_stored_chunks.
  bool passes_stored_chunks = false;
  ListedViews listed_views{};
  // The absolute path of the mount point; and the store of the source, if the mount shows only
  // that one.
  std::string mount_point = {};
  std::string only_store = {};
  // Tests have views of their own.
  const ArrayViewProvider* array_views = &ArrayViews();
  const GroupViewProvider* group_views = &GroupViews();
};

// The `detect` of a real mount.
std::function<backends::FileLook(const std::string&, bool)> DetectIn(
    std::shared_ptr<const backends::Source> source, backends::Detection detection);

// Thread-safe. While it reads from the source, it holds no lock that a reader of another store,
// or of an open file, needs.
//
// On a mount for other users, this is the store as one caller sees it
// (backends/store/caller.h). It reads everything as that caller, and shows it to no other
// caller.
class MountedStore : public std::enable_shared_from_this<MountedStore> {
 public:
  // `status` is that of the file or directory at `path`; its format has just
  // been detected. Opens nothing.
  MountedStore(StoreServices& services, std::string path, const backends::FileStatus& status,
               StoreVersion version = {});

  const StoreServices& services() const { return services_; }
  // The path in the source; "" is the source itself.
  const std::string& path() const { return path_; }
  bool is_directory() const { return is_directory_; }
  const StoreVersion& version() const { return version_; }
  // Whether users other than the one who mounts read the store.
  bool is_shared() const { return services_.open_options.shared; }
  // The id of the caller whose store this is; 0 if all callers share it.
  uint64_t caller_id() const { return caller_ ? caller_->id : 0; }
  // The name of the store in messages, with the folder of its version.
  std::string Describe() const;
  // The place where people find it.
  std::shared_ptr<const StorePlace> place() const { return place_; }

  // The status of the file or directory at the last look.
  backends::FileStatus status() const;
  // When ndlfs last looked whether the store has changed. The result of Hierarchy() holds from
  // then on.
  Freshness::Time looked_at() const EXCLUDES(mutex_);
  // The same for the object at `path`, which may rely on an earlier look; zero if it is not
  // known.
  Freshness::Time LookedAt(std::string_view path) const EXCLUDES(mutex_);
  void NoteStatus(const backends::FileStatus& status);
  // Notes the format that was just detected for this version of the path. If
  // the store is opened soon, it need not be detected again.
  void NoteFormat(const backends::Format* format, const backends::Generation& version);

  // The opened store, not older than Freshness allows. kStale if there is no longer a store
  // here; the path then has to be looked up again. Any other error tells why the store cannot
  // be opened; `error.txt` shows it.
  model::Result<HierarchyPtr> Hierarchy();
  // "Zarr v3", or "" while the store is not open.
  std::string format() const;
  // Whether the store is open, and will not be looked at again: see StoreVersion::is_fixed.
  bool IsSettled() const EXCLUDES(mutex_);
  // Whether the store is open, and its metadata are still those of the source. Looks at them,
  // unless they were looked at just now.
  bool IsStillThere() EXCLUDES(mutex_);

  // The names of all versions, not older than Freshness allows. kNotFound if the store has no
  // versions; otherwise fails as Hierarchy() does.
  model::Result<std::shared_ptr<const backends::VersionNames>> Versions();
  // The same names, if they are known and fresh; otherwise null.
  std::shared_ptr<const backends::VersionNames> KnownVersions() const EXCLUDES(mutex_);

  // The entity at an NDL path; kNotFound if there is none. An object that
  // cannot be loaded is an entity with problems. Other errors are those of
  // Hierarchy().
  model::Result<EntityPtr> Get(std::string_view path);

  // The facts that the folder of the object at `path` shows about its metadata files.
  struct FolderLook {
    int64_t mtime_ns = 0;  // as in Entity
    backends::Permissions permissions;
  };
  // The same facts as Get() finds, but loads nothing if the format finds the files without
  // reading them. Fails as Get() does.
  model::Result<FolderLook> LookAtFolder(std::string_view path);

  // Of a store that is one file: another number for each version in which it was opened. What
  // was loaded from an earlier version has the contents of that, even if the file had the
  // present version when a look at it was made. 0 if `hierarchy` is no longer that of the
  // store; always 0 of a directory.
  uint64_t Opening(const backends::Hierarchy& hierarchy) const EXCLUDES(mutex_);

  // Marks `entity` as the one used last, and updates its weight.
  void Touch(const EntityPtr& entity) const;

  // The version of the metadata of an object. When it changes, everything that was made from
  // the metadata is outdated. 0 if there is no version.
  static uint64_t VersionOf(const backends::Hierarchy& hierarchy, std::string_view path);

  // Looks anew at the object at `path`, which was loaded from `hierarchy`. Returns whether its
  // metadata have another version than `version`, or it is gone. False if this cannot be found
  // out.
  bool HasOtherMetadata(const std::weak_ptr<const backends::Hierarchy>& hierarchy,
                        std::string_view path, uint64_t version);
  // The same, with the error of the system if this cannot be found out.
  model::Result<bool> FindWhetherChanged(
      const std::weak_ptr<const backends::Hierarchy>& hierarchy, std::string_view path,
      uint64_t version);
  // Whether the store still has this very object. Comparing versions does not suffice: the
  // version of a virtual dataset changes when it is loaded, because only then the files that it
  // depends on are known.
  bool StillHas(const Entity& entity);

  // Releases the memory of the opened store. The store is opened again when it is needed.
  void Close();
  // Its weight in StoreServices::opened, in bytes.
  uint64_t held_bytes() const;

 private:
  // The format of the store, which has `status`; null if there is none.
  model::Result<const backends::Format*> FindFormat(const backends::FileStatus& status);
  struct Seen {
    EntityPtr entity;
    bool fresh = false;
    Freshness::Time looked_at = {};
  };

  // The result of the last look, if that is fresh.
  std::optional<model::Result<HierarchyPtr>> Fresh() const EXCLUDES(mutex_);
  // Looks at the file or directory at its path, and notes and returns its status. kStale if
  // there is nothing of the same kind any more.
  model::Result<backends::FileStatus> CurrentStatus() EXCLUDES(mutex_);
  // The open hierarchy, if it is still that of the source; nullopt if it may not be.
  std::optional<model::Result<HierarchyPtr>> LookWhetherUnchanged() EXCLUDES(mutex_);
  model::Result<HierarchyPtr> LookAgain() REQUIRES(open_mutex_) EXCLUDES(mutex_);
  // `age`: of the look that has found `status`.
  model::Result<HierarchyPtr> Open(const backends::FileStatus& status,
                                   const backends::AnswerAge& age) REQUIRES(open_mutex_)
      EXCLUDES(mutex_);
  // Whether the file may have been read in an earlier version than that of `status`, which was
  // found before.
  bool MayBeOutdated(const backends::FileStatus& status) EXCLUDES(mutex_);
  // Opens the store again, unless another thread has replaced `outdated`
  // already.
  model::Result<HierarchyPtr> Reopen(const HierarchyPtr& outdated)
      EXCLUDES(open_mutex_, mutex_);
  bool IsUnchanged(const backends::Hierarchy* hierarchy,
                   const backends::FileStatus& status) const EXCLUDES(mutex_);

  Seen Find(std::string_view path) EXCLUDES(mutex_);
  // The time from which the look at `entity` holds that the caller has just made, and that
  // `age` is of.
  Freshness::Time TimeOfLook(const Entity& entity, const backends::AnswerAge& age) const;
  void Confirm(std::string_view path, const Entity& entity, const backends::AnswerAge& age)
      EXCLUDES(mutex_);
  model::Result<EntityPtr> Load(const HierarchyPtr& hierarchy, std::string_view path,
                                const Entity* before) EXCLUDES(mutex_);
  EntityPtr Keep(EntityPtr entity, const Entity* before, const backends::AnswerAge& age)
      EXCLUDES(mutex_);
  // The permissions to show: those of the store's file or, if the store is a directory, those
  // that it and `files` in it have in common. A file that cannot be looked at has none.
  backends::Permissions PermissionsOfFiles(const std::vector<std::string>& files) const;
  void AddProblem(Entity::Facts& facts, const model::Error& error) const;
  // The facts about an object that could not be loaded because of `error`; an error if it is
  // not shown.
  model::Result<void> AddFailedLoad(Entity::Facts& facts, const backends::Hierarchy& hierarchy,
                                    const model::Error& error) const;
  // How to read an array whose metadata were asked for at the time `asked_at`. Adds problems of
  // its views to `facts`. `failures` are those of its ledger.
  Entity::Data DataOf(Entity::Facts& facts, NotedFailures& failures, bool continues,
                      Freshness::Time asked_at);
  // Begins a ledger. If `continues`, and failures of the array were kept, takes them over
  // together with their ledger, so that a repaired file is noticed.
  std::shared_ptr<cache::ChunkLedger> BeginLedger(const Entity::Facts& facts,
                                                  NotedFailures& failures, bool continues,
                                                  Freshness::Time asked_at);

  StoreServices& services_;
  const std::string path_;
  const bool is_directory_;
  const StoreVersion version_;
  const std::shared_ptr<const StorePlace> place_;
  // Keeps the caller's id in use, so that the caller finds this store again, and no other
  // caller does.
  const backends::CallerPtr caller_ = backends::CallerScope::Current();

  // Held while the store is opened or looked at; taken before mutex_.
  model::Mutex open_mutex_;

  mutable model::Mutex mutex_;
  backends::FileStatus status_ GUARDED_BY(mutex_);
  HierarchyPtr hierarchy_ GUARDED_BY(mutex_);
  std::optional<model::Error> open_error_ GUARDED_BY(mutex_);
  backends::Generation opened_generation_ GUARDED_BY(mutex_);
  uint64_t opening_ GUARDED_BY(mutex_) = 0;  // of a file: Opening(hierarchy_)
  struct Detected {
    const backends::Format* format = nullptr;
    backends::Generation version;
    Freshness::Time when;
  };
  Detected detected_ GUARDED_BY(mutex_);  // until the store is opened
  uint64_t opened_version_ GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const backends::VersionNames> version_names_ GUARDED_BY(mutex_);
  Freshness::Time names_asked_at_ GUARDED_BY(mutex_);
  Freshness::Time looked_at_ GUARDED_BY(mutex_);
  // Entities by path, with the time of the last look at each.
  model::WeakMap<std::string, const Entity, Freshness::Time, model::StringHash> known_
      GUARDED_BY(mutex_){64};
};

}  // namespace ndlfs::fs
