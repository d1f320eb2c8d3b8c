// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace ndlfs::backends::hdf5 {
namespace {

// The C library of Debian 12 has the name in a header that clashes with fcntl.h.
constexpr int kSealFutureWrite = 0x0010;

ByteSpan MapBytes(int fd, int protection) {
  void* const memory = ::mmap(nullptr, SharedMemory::kBytes, protection, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return {};
  return {static_cast<std::byte*>(memory), SharedMemory::kBytes};
}

}  // namespace

SharedMemory::~SharedMemory() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

model::Result<SharedMemory> SharedMemory::Create() {
  SharedMemory shared;
  shared.fd_ = UniqueFd(::memfd_create("ndlfs-hdf5", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!shared.fd_ || ::ftruncate(shared.fd(), kBytes) != 0) {
    return model::IoError(errno, "memfd");
  }
  shared.memory_ = MapBytes(shared.fd(), PROT_READ | PROT_WRITE);
  if (shared.memory_.empty()) return model::IoError(errno, "mmap");
  // The mapping that is there stays writable.
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | kSealFutureWrite | F_SEAL_SEAL;
  if (::fcntl(shared.fd(), F_ADD_SEALS, seals) != 0) return model::IoError(errno, "memfd");
  return shared;
}

ConstByteSpan SharedMemory::Map(int fd) { return MapBytes(fd, PROT_READ); }

}  // namespace ndlfs::backends::hdf5
