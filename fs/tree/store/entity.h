// SPDX-License-Identifier: MIT
//
// An *entity* is one version of an object of a store (group, ndarray, dimension coordinate). If
// the metadata of an array change, or a chunk that was read, a new entity replaces the old one.
// It has a new source, reader and ledger. Open files keep the old entity. So no entry of the
// chunk cache, and no inode, ever has bytes of two versions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backends/format/hierarchy.h"
#include "backends/store/permissions.h"
#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "cache/chunk_ledger.h"
#include "fs/tree/store/kept_views.h"
#include "fs/tree/view/read_failures.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// Immutable, except for results of reads: views, failures, the digest. Thread-safe.
class Entity {
 public:
  // What was found when the object was loaded.
  struct Facts {
    std::string path;         // NDL path name
    uint64_t generation = 0;  // no other entity in this process has it
    uint64_t version = 0;     // of the metadata; 0: they have none
    std::weak_ptr<const backends::Hierarchy> loaded_from;
    uint64_t opening = 0;  // MountedStore::Opening() of `loaded_from`
    // Null if the object cannot be loaded; `problems` then has the reason.
    std::shared_ptr<const backends::Node> node;
    std::string problems;       // the known problems, one a line; empty if there are none
    bool is_transient = false;  // the system refused something; a later look may get it
    bool is_denied = false;     // on a mount for others: the caller may not read the metadata
    // Modification times, in nanoseconds since 1970: the newest of the metadata and of the
    // chunks that were found changed, and the newest of these chunks alone.
    int64_t mtime_ns = 0;
    int64_t data_mtime_ns = 0;
    // Its weight in StoreServices::entities in bytes, without its views.
    uint64_t held_bytes = 0;
    // The permissions that its files show: those of the files of the source that have its
    // metadata.
    backends::Permissions permissions;
  };
  // How an array is read. Null except for arrays that have data.
  struct Data {
    std::shared_ptr<cache::ChunkLedger> ledger;
    std::shared_ptr<const cache::ArrayReader> reader;
  };

  Entity(cache::ChunkCache& cache, Facts facts, Data data, NotedFailures failures);
  ~Entity();
  Entity(const Entity&) = delete;
  Entity& operator=(const Entity&) = delete;

  bool is_group() const { return node() != nullptr && node()->is_group(); }
  bool is_array() const { return node() != nullptr && !node()->is_group(); }

  const Facts& facts() const { return facts_; }
  const std::string& path() const { return facts_.path; }
  uint64_t generation() const { return facts_.generation; }
  uint64_t version() const { return facts_.version; }
  const std::shared_ptr<const backends::Node>& node() const { return facts_.node; }

  const std::shared_ptr<cache::ChunkLedger>& ledger() const { return data_.ledger; }
  const std::shared_ptr<const cache::ArrayReader>& reader() const { return data_.reader; }
  KeptViews& views() const { return *views_; }

  // The text of `error.txt`; empty if there is none.
  std::string ErrorText() const { return facts_.problems + failures_.failures->Text(); }
  // Why the object cannot be loaded, in one line.
  std::string ProblemLine() const;
  // Notes, for `error.txt`, that a read of the file `name` has failed. Ignores momentary
  // failures, which have nothing to do with the array.
  void NoteFailure(const std::string& name, const model::Error& error) const;

  // The text of the digest of the elements, if it was computed before.
  std::optional<std::string> KnownDigest() const EXCLUDES(digest_mutex_);
  void KeepDigest(std::string digest) const EXCLUDES(digest_mutex_);

 private:
  cache::ChunkCache& cache_;
  const Facts facts_;
  const Data data_;
  const NotedFailures failures_;
  const std::unique_ptr<KeptViews> views_ = std::make_unique<KeptViews>();
  mutable model::Mutex digest_mutex_;
  mutable std::optional<std::string> digest_ GUARDED_BY(digest_mutex_);
};
using EntityPtr = std::shared_ptr<const Entity>;

}  // namespace ndlfs::fs
