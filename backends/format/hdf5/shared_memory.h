// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/base/unique_fd.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// Memory of this process that another one can read, but neither write nor
// resize: the other one maps it by the descriptor. Move-only.
class SharedMemory {
 public:
  // The most bytes that one reply to a helper can hold.
  static constexpr size_t kBytes = size_t{1} << 20;

  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~SharedMemory();

  static model::Result<SharedMemory> Create();

  ByteSpan bytes() const { return memory_; }
  int fd() const { return fd_.get(); }

  // In the other process: the memory behind `fd`, for as long as that process
  // lives. Empty if it cannot be mapped.
  static ConstByteSpan Map(int fd);

 private:
  ByteSpan memory_;
  UniqueFd fd_;
};

}  // namespace ndlfs::backends::hdf5
