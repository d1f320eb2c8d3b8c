// SPDX-License-Identifier: MIT
#include "backends/store/local/file_clock.h"

#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace ndlfs::backends {
namespace {

// The numbers of linux/magic.h, and of file systems that are not in it. Not those whose times
// are coarser than a tick (FAT), nor what passes requests on (FUSE, 9p, NFS, SMB, Ceph).
constexpr std::array<uint64_t, 10> kFileSystemsOfThisMachine = {
    0xef53,      // ext2, ext3, ext4
    0x58465342,  // xfs
    0x9123683e,  // btrfs
    0x01021994,  // tmpfs
    0x858458f6,  // ramfs
    0x794c7630,  // overlay
    0xf2f52010,  // f2fs
    0x2fc12fc1,  // zfs
    0xca451a4e,  // bcachefs
    0x52654973,  // reiserfs
};

}  // namespace

int64_t FileClockNs() {
  timespec time = {};
  ::syscall(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

bool HasTimesOfThisMachine(int fd) {
  struct ::statfs status;
  if (::fstatfs(fd, &status) != 0) return false;
  const auto type = static_cast<uint64_t>(status.f_type) & 0xffffffff;
  return std::ranges::find(kFileSystemsOfThisMachine, type) != kFileSystemsOfThisMachine.end();
}

std::optional<int64_t> ClockOfPath::NowNs(const SourceRoot& root, std::string_view path) const {
  Whose whose = whose_;
  if (whose == Whose::kNotKnownYet) {
    const auto is_ours = root.HasTimesOfThisMachine(path);
    if (!is_ours) return std::nullopt;
    whose_ = whose = *is_ours ? Whose::kOfThisMachine : Whose::kOfAnother;
  }
  if (whose == Whose::kOfAnother) return std::nullopt;
  return FileClockNs();
}

}  // namespace ndlfs::backends
