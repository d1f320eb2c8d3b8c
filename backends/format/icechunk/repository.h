// SPDX-License-Identifier: MIT
//
// The files of an Icechunk repository but for its chunks: which versions there are, and their
// snapshots and manifests.
//
//   repo                           version 2: all branches, tags and snapshots; the one file
//   that changes refs/branch.NAME/ref.json      version 1: {"snapshot": "ID"}; tags are
//   refs/tag.NAME/ref.json snapshots/ID, manifests/ID, chunks/ID    written once
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/icechunk/object_id.h"
#include "backends/format/icechunk/ref.h"
#include "backends/store/source.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::icechunk {

// Where virtual chunks may be: URL prefixes by the names that vcc:// URLs have.
using Containers = std::map<std::string, std::string, std::less<>>;

// What a Ref leads to at the moment.
struct Pinned {
  ObjectId snapshot{};
  Containers containers;
  // The file that says so, and its version.
  std::string entry;
  Generation version;
};

// One snapshot, without what is in it.
struct SnapshotInfo {
  ObjectId id{};
  uint64_t written_us = 0;  // since 1970
  std::string message;
};

struct NamedRef {
  std::string name;
  ObjectId snapshot{};
};

struct RefNames {
  std::vector<NamedRef> branches;  // sorted by name
  std::vector<NamedRef> tags;      // sorted by name, without those that were deleted
};

// Immutable. Every answer is that of the store at the moment. Thread-safe.
class Repository {
 public:
  Repository(const Source& source, const std::string& path) : store_(source.OpenStore(path)) {}

  const std::shared_ptr<const Store>& store() const { return store_; }

  // kNotFound if there is no such branch, tag or snapshot; the message says what became of it.
  model::Result<Pinned> Resolve(const Ref& ref) const;

  // The payloads of these files, of `limit` bytes at most.
  model::Result<Bytes> ReadSnapshot(const ObjectId& id) const;
  model::Result<Bytes> ReadManifest(const ObjectId& id, uint64_t limit) const;

  // kLimit if there are more than a hundred thousand.
  model::Result<RefNames> ListRefs() const;
  // Whether there was a tag of this name, which can never be used again.
  model::Result<bool> WasDeleted(const std::string& tag) const;

  // Calls `visit` for the snapshots from that of `ref` back to the first, until it returns
  // false. In version 1, each snapshot takes a read of its file. kCorrupt if a snapshot is its
  // own ancestor.
  using Visit = std::function<bool(const SnapshotInfo&)>;
  model::Result<void> ForEachAncestor(const Ref& ref, const Visit& visit) const;
  // The same for `ref`, and then for each branch and each tag. A history of these ends where it
  // cannot be read. Reads `repo` once.
  model::Result<void> ForEachSnapshot(const Ref& ref, const Visit& visit) const;

  static std::string SnapshotKey(const ObjectId& id) { return "snapshots/" + IdText(id); }
  static std::string ManifestKey(const ObjectId& id) { return "manifests/" + IdText(id); }
  static std::string ChunkKey(const ObjectId& id) { return "chunks/" + IdText(id); }

 private:
  struct RepoFile;
  // nullopt in version 1, which has no such file.
  model::Result<std::optional<RepoFile>> ReadRepoFile() const;
  static model::Result<Pinned> ResolveIn(const RepoFile& repo, const Ref& ref);
  static model::Result<size_t> IndexOf(const RepoFile& repo, const Ref& ref);
  static bool IsDeletedIn(const RepoFile& repo, std::string_view tag);
  static model::Result<void> WalkIn(const RepoFile& repo, size_t index, const Visit& visit);

  model::Result<Pinned> ResolveV1(const Ref& ref) const;
  model::Result<Pinned> ReadRefV1(const Ref& ref) const;
  model::Result<std::vector<NamedRef>> ListRefsV1(Ref::Kind kind) const;
  model::Result<void> WalkV1(const ObjectId& first, const Visit& visit) const;

  model::Result<Bytes> ReadFixed(const std::string& key, uint64_t limit,
                                 std::string_view what) const;

  const std::shared_ptr<const Store> store_;
};

}  // namespace ndlfs::backends::icechunk
