// SPDX-License-Identifier: MIT
//
// A virtual file driver for files that libhdf5 writes into memory. Such a file begins with
// metadata. Then comes room for elements, which are not written, and then the metadata that had
// no room in front.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hdf5/library/handle.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// The file. For one thread.
class MemoryFile {
 public:
  // `front` bytes are for metadata, and `room` bytes at most for elements.
  MemoryFile(uint64_t front, uint64_t room) : front_size_(front), room_(room) {}

  // Whether the elements of datasets that are created from now on only get room. Otherwise the
  // library writes them, among the metadata.
  void LeaveRoom(bool leave) { leaves_room_ = leave; }

  uint64_t size() const;
  const std::vector<std::byte>& front() const { return front_; }
  const std::vector<std::byte>& tail() const { return tail_; }
  uint64_t tail_offset() const { return front_size_ + room_; }
  // Whether there was no memory, or no room, for what the library asked for.
  bool is_full() const { return is_full_; }

 private:
  friend struct MemoryDriver;
  std::optional<uint64_t> Allocate(bool is_raw, uint64_t size);
  // The `size` bytes at `offset`, if they are metadata.
  std::byte* Find(uint64_t offset, uint64_t size);

  const uint64_t front_size_;
  const uint64_t room_;
  bool leaves_room_ = false;
  bool is_full_ = false;
  std::vector<std::byte> front_;
  std::vector<std::byte> tail_;
  uint64_t room_used_ = 0;
};

// File access properties with this driver for `file`, which must outlive everything that is
// opened with them. Needs library_mutex.
model::Result<Handle> MakeMemoryAccess(MemoryFile& file);

}  // namespace ndlfs::backends::hdf5
