// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/icechunk/manifest.h"
#include "backends/format/icechunk/repository.h"
#include "backends/format/icechunk/snapshot.h"
#include "backends/store/chunk_table.h"
#include "backends/store/source.h"
#include "backends/store/store.h"
#include "backends/store/url_opener.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/string_hash.h"

namespace ndlfs::backends::icechunk {

// Finds the files that virtual chunks are in: below the top of the source, or behind URLs that
// the user has allowed (UrlOpener). Thread-safe.
class VirtualChunks {
 public:
  // `path` is that of the repository.
  VirtualChunks(std::shared_ptr<const Source> source, std::string path, Containers containers);

  // What the file has to be, as the repository has noted it.
  struct Checks {
    std::string_view etag;         // empty: not noted
    uint32_t last_modified_s = 0;  // since 1970; 0: not noted
  };
  // The file at `location`. kCorrupt if it is another version than the one that was noted; each
  // file is looked at once for that. An error for a URL that is not allowed names the prefix to
  // allow.
  model::Result<ValuePlace> Find(const std::string& location, const Checks& checks) const
      EXCLUDES(mutex_);

 private:
  model::Result<std::string> Expand(const std::string& location) const;
  model::Result<StoreKey> Open(const std::string& url) const;
  model::Result<StoreKey> OpenFile(std::string_view url) const;
  std::string PrefixToAllow(std::string_view url) const;

  const std::shared_ptr<const Source> source_;
  const std::string path_;
  const Containers containers_;
  const std::shared_ptr<const Store> files_;
  mutable model::Mutex mutex_;
  // Versions of files that were checked, by location and what was noted.
  mutable model::BoundedMap<std::string, Generation, model::StringHash> checked_
      GUARDED_BY(mutex_){10'000};
};

// One snapshot as a store of Zarr v3: "zarr.json", "a/b/zarr.json", "a/b/c/0/1". Metadata,
// listings and looks are answered from the snapshot. A chunk takes its manifest, which is read
// when the first of its chunks is looked for. Chunks are not listed.
class IcechunkStore final : public Store, public ChunkTable {
 public:
  IcechunkStore(std::shared_ptr<const Source> source, const std::string& path,
                std::shared_ptr<const Repository> repository, const Pinned& pinned,
                std::shared_ptr<const Snapshot> snapshot);

  const Snapshot& snapshot() const { return *snapshot_; }

  StoreTraits traits() const override { return repository_->store()->traits().WithKnownKeys(); }
  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override;
  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override;
  std::optional<int64_t> ClockNs() const override { return repository_->store()->ClockNs(); }
  uint64_t held_bytes() const override { return snapshot_->held_bytes(); }
  std::string Describe(std::string_view key) const override {
    return repository_->store()->Describe(key);
  }

  model::Result<std::optional<ValuePlace>> Resolve(std::string_view key,
                                                   IndexCache* indexes) const override;
  bool lists_keys() const override { return false; }

 private:
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override;
  // A zarr.json; of the first snapshot of a repository, which has no nodes, that of an empty
  // group. Valid as long as the store.
  struct Document {
    ConstByteSpan text;
    uint64_t version;
  };
  // The document at `key`; nullopt if there is none.
  std::optional<Document> FindDocument(std::string_view key) const;
  ValueInfo InfoOf(const Document& document) const;
  model::Result<std::shared_ptr<const Manifest>> LoadManifest(const ObjectId& id,
                                                              IndexCache* indexes) const;
  model::Result<std::optional<ValuePlace>> PlaceOf(const Manifest& manifest,
                                                   const fb::ChunkRef& chunk,
                                                   std::string_view key) const;
  model::Result<ValuePlace> VirtualPlace(const Manifest& manifest,
                                         const fb::ChunkRef& chunk) const;

  const std::shared_ptr<const Repository> repository_;
  const std::shared_ptr<const Snapshot> snapshot_;
  const VirtualChunks virtual_chunks_;
  const std::string identity_;  // of the repository, for the user who has opened it
};

}  // namespace ndlfs::backends::icechunk
