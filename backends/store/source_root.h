// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>

#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// An open file descriptor that closes itself. Move-only.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// The directory that ndlfs shows. Everything is opened beneath it: ".." and
// symbolic links that lead out of it fail with EXDEV (openat2 RESOLVE_BENEATH),
// and so does whatever is not a regular file or directory (ENXIO), before a
// FIFO could block. Paths are relative; "" is the directory itself.
// Thread-safe.
class SourceRoot {
 public:
  static model::Result<std::shared_ptr<const SourceRoot>> Open(const std::string& path);

  // The path it was opened by, made absolute: only for messages.
  const std::string& path() const { return path_; }

  // Opens for reading; `flags` adds O_DIRECTORY, O_PATH, O_NOFOLLOW.
  // The error's sys_errno() tells ENOENT from the rest.
  model::Result<UniqueFd> OpenBeneath(std::string_view path, int flags = 0) const;
  // lstat when `follow` is false.
  model::Result<struct ::stat> Stat(std::string_view path, bool follow = true) const;

 private:
  SourceRoot(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
};

FileStamp StampOf(const struct ::stat& status);

// pread until `out` is full or the file ends; returns the bytes read.
model::Result<size_t> ReadFully(int fd, uint64_t offset, ByteSpan out);

// The store of a directory, and of one file, beneath `root`.
std::shared_ptr<const Store> MakeDirectoryStore(std::shared_ptr<const SourceRoot> root,
                                                std::string path);
std::shared_ptr<const Store> MakeFileStore(std::shared_ptr<const SourceRoot> root,
                                           std::string path);

}  // namespace ndlfs::backends
