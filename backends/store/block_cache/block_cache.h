// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/base/unique_fd.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends {

struct BlockCacheOptions {
  std::string directory;
  uint64_t capacity = uint64_t{10} << 30;  // bytes
  // Called with one line when the directory cannot be written to. May be empty.
  std::function<void(std::string_view line)> warn = nullptr;
};

struct BlockCacheStats {
  uint64_t hits = 0;    // blocks that were found
  uint64_t misses = 0;  // blocks that were looked for and not found
  uint64_t hit_bytes = 0;
  uint64_t stored = 0;  // blocks that were written
  uint64_t stored_bytes = 0;
  uint64_t damaged = 0;  // blocks that were found, but not as they were written
};

// Keeps blocks of bytes in files of a directory, found by texts as keys. Several processes of
// one user may share the directory, and a block survives all of them.
//
// Keeps whole files in the same way, and within the same capacity. Such a file has its bytes
// and nothing else; the caller has to know what they should be, and may keep that in a block.
// No file has the key of a block.
//
// A block is complete or not there, because it is written under a temporary name and then
// renamed. Each file has its whole key and a checksum. A file that does not fit them counts as
// absent, and is removed. So do entries that are no files, such as a FIFO, and folders that are
// links: nothing outside of the directory is read or written. If the blocks need more than the
// capacity, those that were used longest ago are removed. Each process notices only now and
// then what others have written, so the files may take a quarter more for each process, half of
// it for files that are not complete yet, and what its other threads write while one of them
// counts.
//
// A directory that is full or cannot be written to is no error: the blocks are lost, the cache
// says so once, and tries again after a minute. Thread-safe.
class BlockCache {
 public:
  // Makes the directory, for this user alone, if there is none; does not make the directories
  // around it. kBadInput if the directory belongs to another user, if other users may enter it,
  // or if it cannot be made. A directory that can only be read is no error.
  static model::Result<std::shared_ptr<BlockCache>> Open(BlockCacheOptions options);

  // Whether there seems to be a block of this size, for a reader that has no memory for it yet.
  // It may be damaged, or gone when it is read. Counts as a miss if there is none.
  bool Has(std::string_view key, uint64_t size);

  // Fills `out` with the block, and returns whether there is one of exactly this size. If not,
  // `out` may have been changed.
  bool Get(std::string_view key, ByteSpan out);
  // The block, if it has at most `limit` bytes.
  std::optional<Bytes> Get(std::string_view key, size_t limit);

  // Keeps the block, if that is possible, and returns whether it did. Replaces another block of
  // the same key.
  bool Put(std::string_view key, ConstByteSpan block);

  // A file without a name in the directory, for as many bytes as the caller is going to write.
  // It must not outlive the cache.
  class NewFile;
  // A file for `size` bytes. Nothing is left of it unless it is kept. None if there cannot be
  // such a file, or it would take more than half of the capacity.
  std::optional<NewFile> MakeFile(uint64_t size);
  // Takes room for the first `bytes` bytes that are written to `file`, for all processes, until
  // the object goes. Call it before writing them. Nobody knows yet whether the file will be
  // complete. So no kept file is removed for it before all files that this process is writing
  // have an eighth of the capacity. Returns false if other files that are being written need
  // the room. May wait while files are counted.
  bool TakeRoom(NewFile& file, uint64_t bytes) EXCLUDES(mutex_);
  // Makes room for a complete file of MakeFile(), and keeps it once its bytes are on the disk:
  // it is complete or not there, even if the machine stops. Nobody may write to it from now on.
  // Returns whether it did. Replaces another file of the same key. May take as long as the disk
  // needs.
  bool KeepFile(std::string_view key, NewFile& file) EXCLUDES(mutex_);
  // The kept file, for reading; none if there is no file that this user has made. Its time of
  // use is that of its last change: the caller sets it.
  UniqueFd FindFile(std::string_view key);
  void RemoveFile(std::string_view key);
  // Writing to a file of MakeFile() has failed: nothing is kept for a while.
  void NoteFailure(const model::Error& error) EXCLUDES(mutex_);

  BlockCacheStats stats() const;
  const BlockCacheOptions& options() const { return options_; }

 private:
  struct Found;

  BlockCache(BlockCacheOptions options, UniqueFd directory);

  Found OpenBlock(std::string_view key);
  bool Check(std::string_view key, const Found& found, ConstByteSpan head, ConstByteSpan block);
  model::Result<void> Write(std::string_view key, ConstByteSpan block);
  bool MayWrite() const;
  std::string NewName(std::string_view kind);
  // Gives a new name in `folder` to a file of MakeFile(), and then `name`.
  model::Result<void> Name(int folder, int file, const std::string& name);
  // An empty file with the name `name`, whose size all processes count.
  model::Result<UniqueFd> Claim(const std::string& name);
  // Takes as much of `bytes` as is left of the room for files that are not complete.
  uint64_t TakeUnclaimed(uint64_t bytes);
  // Claims `bytes` more for `file`, and makes room for them.
  bool ClaimMore(NewFile& file, uint64_t bytes) EXCLUDES(mutex_);
  enum class Room : uint8_t { kForBlock, kClaimed };
  // Counts the files, if that is due, and removes some if there are too many. Returns whether
  // `size` bytes fit, which files count already if they are claimed. Waits for others that
  // count only then.
  bool MakeRoom(uint64_t size, Room room) EXCLUDES(mutex_);
  // The files of the directory, after some were removed if they and `more` bytes do not fit;
  // returns how many bytes they have.
  uint64_t CountAndRemove(uint64_t more);
  bool IsCountDue() const REQUIRES(mutex_);

  const BlockCacheOptions options_;
  const UniqueFd directory_;
  const uint64_t id_;  // no other cache that this process, or another one, opens has it
  std::atomic<uint64_t> next_name_ = 0;
  std::atomic<uint64_t> unclaimed_ = 0;          // bytes of files that are not complete
  std::atomic<int64_t> no_writes_until_ns_ = 0;  // of the steady clock
  std::atomic<uint64_t> hits_ = 0, misses_ = 0, hit_bytes_ = 0;
  std::atomic<uint64_t> stored_ = 0, stored_bytes_ = 0, damaged_ = 0;

  model::Mutex mutex_;
  model::CondVar counted_;
  bool is_counted_ GUARDED_BY(mutex_) = false;
  bool is_counting_ GUARDED_BY(mutex_) = false;
  uint64_t counts_ GUARDED_BY(mutex_) = 0;         // how many have begun
  uint64_t counted_bytes_ GUARDED_BY(mutex_) = 0;  // in all files at the last count
  uint64_t since_count_ GUARDED_BY(mutex_) = 0;    // bytes written by this process
  bool has_warned_ GUARDED_BY(mutex_) = false;
};

class BlockCache::NewFile {
 public:
  NewFile(NewFile&& other) noexcept = default;
  NewFile& operator=(NewFile&& other) noexcept {
    std::swap(cache_, other.cache_);
    std::swap(size_, other.size_);
    std::swap(file_, other.file_);
    std::swap(claim_, other.claim_);
    std::swap(name_, other.name_);
    std::swap(unclaimed_, other.unclaimed_);
    std::swap(claimed_, other.claimed_);
    return *this;
  }
  ~NewFile();
  int get() const { return file_.get(); }

 private:
  friend class BlockCache;
  NewFile(BlockCache& cache, uint64_t size, UniqueFd claim, std::string name)
      : cache_(&cache), size_(size), claim_(std::move(claim)), name_(std::move(name)) {}
  uint64_t room() const { return unclaimed_ + claimed_; }
  void GiveBackUnclaimed();

  BlockCache* cache_;
  uint64_t size_;
  UniqueFd file_ = {};
  UniqueFd claim_;  // its lock tells that this process lives
  std::string name_;
  uint64_t unclaimed_ = 0;  // of BlockCache::unclaimed_
  uint64_t claimed_ = 0;    // the size of the claim
};

}  // namespace ndlfs::backends
