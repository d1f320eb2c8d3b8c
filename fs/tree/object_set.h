// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/hierarchy.h"
#include "backends/store/permissions.h"
#include "fs/tree/store/freshness.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::cache {
class ChunkLedger;
}

namespace ndlfs::fs {

class Entity;
class LaterElements;
class MountedStore;

// The objects of a store that a file was made of. While they are unchanged, ndlfs would make
// the same file again. Thread-safe. Immutable, except for the time of the last look.
class ObjectSet {
 public:
  enum class Kind : uint8_t {
    kMetadata,  // of an object
    kNames,     // in a group
    kData,      // of an array: the generation of its entity, or the ledger of what was read
    kAbsent,    // there is no object
  };

  // Whether all these objects are as they were. Asks the arrays that the set holds at each
  // call, because a read may have found that their chunks have changed. For everything else
  // uses the last look while it is fresh. An error if this cannot be found out at the moment.
  model::Result<bool> IsUnchanged(MountedStore& store) const;
  // Looks anew whether the metadata of any of these objects have changed. The objects were
  // loaded from `loaded_from`.
  bool HasOtherMetadata(MountedStore& store,
                        const std::weak_ptr<const backends::Hierarchy>& loaded_from) const;

  // `seed` with all versions. Sets of the same objects have the same hash.
  uint64_t Hash(uint64_t seed) const;
  // The versions of the metadata of all objects, in a text that is the same in all processes;
  // nullopt if one of them has no version.
  std::optional<std::string> VersionsText() const;
  // The arrays of the set whose elements may have been read; nullopt if another array has taken
  // the place of one of them in the store.
  std::optional<std::vector<std::shared_ptr<const Entity>>> ArraysNow(
      MountedStore& store) const;
  size_t size() const { return parts_.size() + arrays_.size(); }
  Freshness::Time looked_at() const { return looked_at_; }

  // The newest modification time of the objects that were noted as entities, in nanoseconds
  // since 1970; 0 if there are none.
  int64_t mtime_ns() const { return mtime_ns_; }
  // The permissions that the noted objects and `permissions` have in common.
  backends::Permissions CommonPermissionsWith(backends::Permissions permissions) const;

  // Bytes of the set itself.
  uint64_t list_bytes() const;
  // Bytes of the entities that it holds, and of those that it will hold once all have been
  // read.
  uint64_t held_bytes() const;
  uint64_t most_held_bytes() const { return most_held_bytes_; }

 private:
  friend class ObjectNotes;
  struct Part {
    std::string path;
    Kind kind;
    uint64_t version;  // 0: absent, or there was no version
    // Of kData: tells whether the data have changed, also after the entity was dropped and
    // loaded again. If null, the generation tells.
    std::shared_ptr<cache::ChunkLedger> ledger;
  };
  // An array that is held, so that it keeps its generation.
  struct Array {
    std::shared_ptr<const Entity> entity;        // null if `later` holds it
    std::shared_ptr<const LaterElements> later;  // null if it is held from the beginning
    uint64_t generation;
  };

  std::vector<Part> parts_;
  std::vector<Array> arrays_;
  std::vector<backends::Permissions> permissions_;  // each once
  int64_t mtime_ns_ = 0;
  uint64_t own_held_bytes_ = 0;
  uint64_t most_held_bytes_ = 0;
  std::shared_ptr<const std::atomic<uint64_t>> later_held_bytes_;  // may be null
  uint64_t opening_ = 0;
  mutable std::atomic<Freshness::Time> looked_at_{Freshness::Time()};
};

// Notes what a file is made of while it is made. Thread-safe.
class ObjectNotes {
 public:
  using EntityPtr = std::shared_ptr<const Entity>;

  // If a thing is noted with several versions, the first one counts.
  void Note(ObjectSet::Kind kind, std::string_view path, uint64_t version) EXCLUDES(mutex_);
  // Notes the data of `entity`, an array, which is not held. Its metadata are noted elsewhere.
  void NoteData(const Entity& entity) EXCLUDES(mutex_);
  // Notes an object with its metadata and data.
  void Note(EntityPtr entity) EXCLUDES(mutex_);
  // Notes `entity`, an array of `store`, for its elements of `size` bytes alone. There may be
  // very many, so it is held only once they are read.
  std::shared_ptr<const LaterElements> NoteForElements(
      const std::shared_ptr<MountedStore>& store, const EntityPtr& entity, uint64_t size)
      EXCLUDES(mutex_);

  // The result of an earlier look at `path`, because a file must be made of one look at each
  // object. nullopt if there was no such look.
  std::optional<model::Result<EntityPtr>> Known(const std::string& path) const EXCLUDES(mutex_);
  // Whether an earlier look at the path of `entity` has found another entity.
  bool Contradicts(const Entity& entity) const EXCLUDES(mutex_);

  // Forgets all notes: nothing was made of these objects.
  void Forget() EXCLUDES(mutex_);
  // Moves all notes to `set`, the objects that a file of the entity `owner` (may be null) was
  // made of. They come from a look at the time `looked_at`. Ignores all later notes: the file
  // may hold these notes, which must not make it hold more entities.
  // All of them were loaded after the store had the number `opening` (MountedStore::Opening()).
  void MoveTo(ObjectSet& set, const Entity* owner, Freshness::Time looked_at, uint64_t opening)
      EXCLUDES(mutex_);

 private:
  struct Later {
    std::shared_ptr<const LaterElements> elements;
    uint64_t generation;
  };
  // Notes the facts that count for any object, whether or not it is held.
  void NoteFacts(const Entity& entity) REQUIRES(mutex_);

  const std::shared_ptr<std::atomic<uint64_t>> later_held_bytes_ =
      std::make_shared<std::atomic<uint64_t>>(0);
  mutable model::Mutex mutex_;
  bool is_moved_ GUARDED_BY(mutex_) = false;
  struct Noted {
    uint64_t version;
    std::shared_ptr<cache::ChunkLedger> ledger = nullptr;
  };
  void AddData(const Entity& entity) REQUIRES(mutex_);

  std::map<std::pair<std::string, ObjectSet::Kind>, Noted> parts_ GUARDED_BY(mutex_);
  std::map<std::string, EntityPtr> entities_ GUARDED_BY(mutex_);
  std::map<std::string, Later> later_ GUARDED_BY(mutex_);
  std::vector<backends::Permissions> permissions_ GUARDED_BY(mutex_);
  int64_t mtime_ns_ GUARDED_BY(mutex_) = 0;
  uint64_t later_bytes_ GUARDED_BY(mutex_) = 0;  // of the entities in later_
};

}  // namespace ndlfs::fs
