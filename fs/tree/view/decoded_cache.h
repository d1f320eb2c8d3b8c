// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "backends/store/block_cache/block_cache.h"
#include "backends/store/caller.h"
#include "backends/store/read_set.h"
#include "backends/store/source.h"
#include "cache/chunk_ledger.h"
#include "fs/tree/store/freshness.h"
#include "fs/tree/tree_node.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// Keeps the bytes of whole views in files, so that later opens, also those of other mounts,
// read them without decoding. A kept file has the bytes of the view and nothing else, so the
// kernel can read it in place of the view.
//
// Each kept file has a *seal*, a block in the same directory. The seal has the inode, the size
// and the times of the file after its bytes were brought to the disk, and checksums of its
// bytes. It also has the versions of all files of the source that were read for it. A kept file
// is used only while two things hold:
//
// First, its inode and times are those of the seal. Otherwise somebody may have written to the
// file. The cache then reads it in the background, and either writes a new seal, if the
// checksums are right, or removes the file. Damage below the file system is not noticed, as in
// any other file of the disk.
//
// Second, the files of the source have the versions of the seal. The cache looks at them again
// when the last look is older than --revalidate.
//
// Files that were written shortly before they were read, and versions that the source cannot
// tell apart, are not kept: they might change without getting another version. Thread-safe.
class DecodedCache {
 public:
  struct Options {
    std::string directory;
    uint64_t capacity = uint64_t{10} << 30;
    std::function<void(std::string_view line)> warn = nullptr;  // as in BlockCacheOptions
  };
  // `source` is the one that views are made of. Errors of BlockCache::Open().
  static model::Result<std::shared_ptr<DecodedCache>> Open(
      Options options, std::shared_ptr<const backends::Source> source, Freshness freshness);
  // Waits until views that have been read to their end are kept.
  ~DecodedCache();
  DecodedCache(const DecodedCache&) = delete;
  DecodedCache& operator=(const DecodedCache&) = delete;

  // Views of fewer bytes are not worth a file.
  static constexpr uint64_t kLeastSize = uint64_t{64} << 10;

  // The kept file of a view of `size` bytes, open for reading; null if there is none that can
  // be used. `key` tells what the view is, and the versions of everything but its chunks. Looks
  // at the source as the current caller. `ledger` belongs to the array that the view shows, or
  // to one in its group. It notes the files of the source, so that a change of these counts as
  // a change of the array. No other version of the view has had the number `version` in this
  // process.
  std::shared_ptr<const FileHandle> Find(const std::string& key, uint64_t version,
                                         uint64_t size, cache::ChunkLedger& ledger);

  // Whether there is such a file; kKeptSoon if a writer has all of its bytes. Of kKeptName.
  std::string_view StateOf(const std::string& key, uint64_t version, uint64_t size,
                           cache::ChunkLedger& ledger) EXCLUDES(mutex_);

  // All reads of the source that a view was made of.
  struct AllReads {
    std::vector<backends::ReadSet::Read> reads;
    int64_t began_ns = 0;     // when the first one may have begun, by the clock of this machine
    int64_t metadata_ns = 0;  // when the metadata were modified, by the clock of the source
  };
  // Finds them when the view has been read to its end; nullopt if they are not known, or do not
  // belong together. Called on another thread.
  using FindReads = std::function<std::optional<AllReads>()>;

  // Collects the bytes of one view as programs read them. Thread-safe.
  class Writer;
  // The writer that all open files of one version of a view share; null if the view cannot be
  // kept. `version` is as for Find().
  std::shared_ptr<Writer> Write(const std::string& key, uint64_t version, uint64_t size,
                                FindReads reads) EXCLUDES(mutex_);

  struct Stats {
    uint64_t hits = 0;
    uint64_t kept = 0;
    uint64_t kept_bytes = 0;
    uint64_t damaged = 0;  // kept files that were not as they had been written
  };
  Stats stats() const { return {hits_, kept_, kept_bytes_, damaged_}; }

 private:
  struct Seal;
  using SealPtr = std::shared_ptr<const Seal>;
  // Files of the source, by path, and their versions; "" if there was no such file.
  using Reads = std::vector<std::pair<std::string, std::string>>;
  // The last look at the files of the source.
  struct Known {
    int64_t ctime_ns = 0;  // of the kept file
    uint64_t version = 0;  // of the view: a new one tells of a change
    Freshness::Time looked_at;
  };

  DecodedCache(std::shared_ptr<backends::BlockCache> blocks,
               std::shared_ptr<const backends::Source> source, Freshness freshness);

  // Find() without counting.
  std::shared_ptr<const FileHandle> Look(const std::string& key, uint64_t version,
                                         uint64_t size, cache::ChunkLedger& ledger);
  SealPtr FindSeal(const std::string& key);
  void PutSeal(const std::string& key, const Seal& seal);
  void Remove(const std::string& key);
  // Whether the source still has the versions of the seal.
  bool IsCurrent(const std::string& key, uint64_t version, const Seal& seal) EXCLUDES(mutex_);
  // False if a change is noticed, or the files cannot be noted.
  bool NoteIn(const Seal& seal, cache::ChunkLedger& ledger) const;
  // Reads a file whose times are not those of its seal.
  void CheckLater(const std::string& key, SealPtr seal) EXCLUDES(mutex_);
  void Check(const std::string& key, const Seal& seal);
  void FinishLater(const std::shared_ptr<Writer>& writer) EXCLUDES(mutex_);
  void Finish(Writer& writer);
  // The path of what was read in the source; nullopt if the description does not tell it.
  std::optional<std::string> PathOf(const backends::ReadSet::Read& read) const;
  // The reads for a seal. nullopt if one of them cannot be looked at again, or if a file was so
  // young that it may have changed meanwhile without getting another version.
  std::optional<Reads> NoteReads(const AllReads& all) const;
  bool IsOldEnough(const backends::ValueInfo& info, int64_t began_ns) const;

  // Runs `job` on the thread of the cache, which the first job starts.
  void RunLater(std::function<void()> job) EXCLUDES(mutex_);
  void RunJobs() EXCLUDES(mutex_);

  const std::shared_ptr<backends::BlockCache> blocks_;
  const std::shared_ptr<const backends::Source> source_;
  const std::shared_ptr<const backends::Store> root_;  // all files of the source
  const Freshness freshness_;
  std::atomic<uint64_t> hits_ = 0, kept_ = 0, kept_bytes_ = 0, damaged_ = 0;

  model::Mutex mutex_;
  model::CondVar changed_;
  std::unordered_map<std::string, Known> known_ GUARDED_BY(mutex_);
  std::map<std::pair<std::string, uint64_t>, std::weak_ptr<Writer>> writers_
      GUARDED_BY(mutex_);  // by key and version
  std::deque<std::function<void()>> jobs_ GUARDED_BY(mutex_);
  std::set<std::string> finishing_ GUARDED_BY(mutex_);  // keys of views that are complete
  std::set<std::string> checking_ GUARDED_BY(mutex_);   // keys of files that are being read
  bool ends_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // guarded by mutex_ until the destructor
};

class DecodedCache::Writer : public std::enable_shared_from_this<DecodedCache::Writer> {
 public:
  // Adds bytes of the view that a program has read, wherever they lie.
  void Add(uint64_t offset, backends::ConstByteSpan bytes) EXCLUDES(mutex_);

  Writer(DecodedCache& cache, std::string key, uint64_t size, FindReads reads);

 private:
  friend class DecodedCache;

  // The file, if these bytes are to be written to it.
  int FileFor(uint64_t begin, uint64_t end) EXCLUDES(mutex_);
  void NoteWritten(uint64_t begin, uint64_t end) REQUIRES(mutex_);

  DecodedCache& cache_;
  const std::string key_;
  const uint64_t size_;
  const FindReads reads_;
  const backends::CallerPtr caller_;
  model::Mutex mutex_;
  bool is_over_ GUARDED_BY(mutex_) = false;  // complete, or failed
  int writing_ GUARDED_BY(mutex_) = 0;       // calls that use the file
  std::optional<backends::BlockCache::NewFile> file_ GUARDED_BY(mutex_);
  uint64_t room_ GUARDED_BY(mutex_) = 0;  // bytes of the file that room was taken for
  std::map<uint64_t, uint64_t> written_ GUARDED_BY(mutex_);  // begins and ends of what is there
  // The checksum of each block; 0 if it is not known yet.
  std::vector<uint64_t> checksums_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
