// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fs/fuse/fuse.h"
#include "fs/fuse/inode_table.h"
#include "fs/fuse/operations.h"
#include "fs/fuse/pending_request.h"
#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

// The answer to one request of a listing: as many entries as it has room for.
class DirectoryReply {
 public:
  enum class Form {
    kNames,           // with numbers and types
    kWithAttributes,  // with room for the answer to a lookup of each entry
  };
  // With `finds_attributes`, fills that room where no decoding is needed. The kernel looks up
  // the entries without attributes when a program asks for them. All references must outlive
  // the object.
  DirectoryReply(const FilesystemOptions& options, InodeTable& table,
                 const InodeTable::Inode& directory, size_t size, Form form,
                 bool finds_attributes);
  ~DirectoryReply();
  DirectoryReply(const DirectoryReply&) = delete;
  DirectoryReply& operator=(const DirectoryReply&) = delete;

  // Returns false if it has not added `entry`: there is no room left, or the caller should not
  // wait longer for the entries before.
  bool Add(const DirectoryEntry& entry, uint64_t next);
  void Send(PendingRequest& request);

 private:
  using Clock = std::chrono::steady_clock;
  // The kernel offers as much room as for a read. Most folders need little of it; for the
  // others the kernel asks again.
  static constexpr size_t kMostBytes = 64 << 10;

  // Both return the bytes that the entry takes; 0 if it does not fit.
  size_t AddName(const DirectoryEntry& entry, uint64_t next);
  size_t AddWithAttributes(const DirectoryEntry& entry, uint64_t next);
  // Describes the entry. An entry without a nodeid is only a name for the kernel.
  fuse_entry_param Describe(const DirectoryEntry& entry);
  // The attributes of the entry; nullopt if only a lookup is to find them.
  std::optional<fuse_entry_param> Find(const DirectoryEntry& entry);
  std::optional<fuse_entry_param> FindNode(const DirectoryEntry& entry);

  const FilesystemOptions& options_;
  InodeTable& table_;
  const InodeTable::Inode& directory_;
  std::array<char, kMostBytes> buffer_;
  const size_t size_;
  const Form form_;
  const bool finds_attributes_;
  std::optional<mode_t> listed_type_;  // type of the entry before
  bool lists_type_ = false;  // whether attributes of entries of that type are to be found
  const Clock::time_point begin_ = Clock::now();
  size_t used_ = 0;
  std::vector<fuse_ino_t> counted_;  // the nodeids in the buffer
};

}  // namespace ndlfs::fs
