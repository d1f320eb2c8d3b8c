// SPDX-License-Identifier: MIT
//
// The bytes of a file that the metadata are read from: in blocks, of which the last used pages
// are kept.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/store/store.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::hdf5 {

// Reads numbers and bytes one after the other. Beyond the end there are zeros, and ok() is
// false from then on: check it before what was read is used, and in each loop whose count was
// read.
class Cursor {
 public:
  explicit Cursor(ConstByteSpan bytes) : bytes_(bytes), size_(bytes.size()) {}

  // Little-endian, of 1 to 8 bytes; of a larger width all bytes beyond the eighth must be 0.
  uint64_t Number(uint64_t width);
  // The same; all bits set is kNowhere.
  uint64_t Address(uint64_t width);
  ConstByteSpan Take(uint64_t count);
  // Up to a NUL, which is taken as well.
  std::string_view Text();
  void Skip(uint64_t count) { Take(count); }
  // Goes on at a multiple of `alignment`, counted from the beginning.
  void Align(uint64_t alignment) { Skip((alignment - position() % alignment) % alignment); }

  size_t position() const { return size_ - bytes_.size(); }
  size_t left() const { return bytes_.size(); }
  bool ok() const { return ok_; }
  // kCorrupt: "{what} ends early".
  model::Result<void> Check(std::string_view what) const;

 private:
  ConstByteSpan bytes_;
  size_t size_;
  bool ok_ = true;
};

// An address that leads nowhere, and a count without limit: all bits set.
inline constexpr uint64_t kNowhere = UINT64_MAX;

// Notes reads of this thread that fail while the object lives: not for what is in a file, but
// because it cannot be read. Then nothing that was found out meanwhile is to be believed. An
// inner object hides the outer one, and tells it at its end.
class ReadFailures {
 public:
  ReadFailures();
  ~ReadFailures();
  ReadFailures(const ReadFailures&) = delete;
  ReadFailures& operator=(const ReadFailures&) = delete;

  // The first failure.
  model::Result<void> Check() const;
  static void Note(const model::Error& error);

 private:
  ReadFailures* const outer_;
  std::optional<model::Error> first_;
};

// One version of one file. Thread-safe.
class Input {
 public:
  // The value "" of `store`, which is at `path` in its source. ENOENT if it does not exist.
  static model::Result<std::shared_ptr<const Input>> Open(std::shared_ptr<const Store> store,
                                                          const std::string& path);
  Input(std::shared_ptr<const Store> store, std::string path, ValueInfo info);

  uint64_t size() const { return info_.size; }
  const ValueInfo& info() const { return info_; }
  const std::string& path() const { return path_; }
  bool is_remote() const { return store_->traits().is_remote; }

  // Fills `out` with the bytes from `offset` on. kCorrupt if they do not lie within the file;
  // kStale once it has changed. Small pieces come from pages that were read before.
  model::Result<void> Read(uint64_t offset, ByteSpan out) const;
  // A hint: `bytes` bytes from each of the offsets will be read soon. Behind a server they are
  // asked for together. `is_dense`: the file keeps its metadata together.
  void Prefetch(std::vector<uint64_t> offsets, uint64_t bytes, bool is_dense) const;
  // kStale if the file has changed since it was opened: pages that are kept do not tell.
  model::Result<void> CheckUnchanged() const { return ReadStore(0, {}); }

 private:
  model::Result<void> ReadStore(uint64_t offset, ByteSpan out) const;
  model::Result<void> TryReadStore(uint64_t offset, ByteSpan out) const;
  // Reads the page with a block around it, and copies `out` from it.
  model::Result<void> Load(uint64_t page, size_t inside, ByteSpan out) const EXCLUDES(mutex_);
  // Keeps these bytes of the file, which begin with a page.
  void KeepPages(uint64_t first, ConstByteSpan block) const;
  // How many pages to read from `page` on: the more, the more were read near it lately.
  uint64_t BlockAt(uint64_t page) const EXCLUDES(mutex_);

  const std::shared_ptr<const Store> store_;
  const std::string path_;
  const ValueInfo info_;
  const uint64_t id_;
  mutable model::Mutex mutex_;
  mutable uint64_t block_ GUARDED_BY(mutex_) = 0;  // pages of the last block that was read
  mutable uint64_t block_end_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::backends::hdf5
