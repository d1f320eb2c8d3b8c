// SPDX-License-Identifier: MIT
#include "cache/spill_space.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "backends/base/interrupted.h"

namespace ndlfs::cache {
namespace {

// A file that has no name, or loses it at once; -1 where there can be none.
int OpenUnnamed(int directory) {
  const int fd = backends::Uninterrupted(
      [&] { return ::openat(directory, ".", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600); });
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  static std::atomic<unsigned> last_name{0};
  const std::string name =
      ".ndlfs-" + std::to_string(::getpid()) + "-" + std::to_string(++last_name);
  const int named = backends::Uninterrupted([&] {
    return ::openat(directory, name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  });
  if (named >= 0) ::unlinkat(directory, name.c_str(), 0);
  return named;
}

// pread() or pwrite() until all is done.
template <typename Operation>
bool Transfer(const Operation& operation, int fd, uint64_t offset, auto* data, size_t size) {
  while (size > 0) {
    const ssize_t count = operation(fd, data, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count;
    offset += static_cast<uint64_t>(count);
    size -= static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

SpillSpace::SpillSpace(const std::string& directory, uint64_t limit_bytes, Report report)
    : path_(directory),
      report_(std::move(report)),
      directory_(limit_bytes == 0 ? -1 : backends::Uninterrupted([&] {
        return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      })),
      limit_(limit_bytes) {}

SpillSpace::~SpillSpace() {
  if (directory_ >= 0) ::close(directory_);
}

std::shared_ptr<SpillSpace::File> SpillSpace::Open(uint64_t slot_bytes) {
  if (directory_ < 0 || slot_bytes == 0 || slot_bytes > limit_) return nullptr;
  if (files_ >= kMostFiles) return nullptr;
  const int fd = OpenUnnamed(directory_);
  if (fd < 0) {
    Refuse(errno);
    return nullptr;
  }
  return std::make_shared<File>(*this, fd, slot_bytes);
}

bool SpillSpace::Reserve(int fd, uint64_t bytes) {
  struct statvfs status = {};
  if (::fstatvfs(fd, &status) != 0) return Refuse(errno);
  const uint64_t free = uint64_t{status.f_bavail} * status.f_frsize;
  const uint64_t used = used_.fetch_add(bytes) + bytes;
  if (used <= limit_ && used <= free) return true;
  used_ -= bytes;
  return used <= limit_ ? Refuse(ENOSPC) : false;
}

bool SpillSpace::Refuse(int error) {
  error_ = error;
  return false;
}

void SpillSpace::CountRefused() {
  ++refused_;
  const int error = error_.exchange(0);
  if (error == 0 || !report_) return;
  report_(fmt::format("{}: {}: chunks that find no room in memory are decoded again", path_,
                      std::generic_category().message(error)));
}

SpillSpace::Stats SpillSpace::stats() const {
  return {.used_bytes = used_, .written = written_, .reads = reads_, .refused = refused_};
}

SpillSpace::File::File(SpillSpace& space, int fd, uint64_t slot_bytes)
    : space_(space), fd_(fd), slot_bytes_(slot_bytes) {
  ++space_.files_;
}

SpillSpace::File::~File() {
  ::close(fd_);
  --space_.files_;
  space_.used_ -= slots_ * slot_bytes_;
}

bool SpillSpace::File::Grow() {
  if (!space_.Reserve(fd_, slot_bytes_)) return false;
  ++slots_;
  return true;
}

bool SpillSpace::File::Write(uint64_t slot, uint64_t offset, backends::ConstByteSpan bytes) {
  if (!Transfer(::pwrite, fd_, slot * slot_bytes_ + offset, bytes.data(), bytes.size())) {
    return space_.Refuse(errno);
  }
  return true;
}

bool SpillSpace::File::Read(uint64_t slot, uint64_t offset, backends::ByteSpan out) const {
  ++space_.reads_;
  return Transfer(::pread, fd_, slot * slot_bytes_ + offset, out.data(), out.size());
}

model::Result<void> SpilledBytes::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kSlot - tail_.size() % kSlot);
    tail_ += part;
    bytes.remove_prefix(part.size());
    if (tail_.size() % kSlot != 0) continue;
    if (file_ == nullptr && space_ != nullptr) file_ = space_->Open(kSlot);
    const bool is_written = file_ != nullptr && tail_.size() == kSlot && file_->Grow() &&
                            file_->Write(spilled_ / kSlot, 0, backends::AsBytes(tail_));
    if (is_written) {
      spilled_ += kSlot;
      tail_.clear();
    } else if (tail_.size() >= kMostInMemory) {
      return model::IoError(ENOMEM, "more than 16 MiB, and --cache-dir has no room for more");
    }
  }
  return {};
}

model::Result<size_t> SpilledBytes::Read(uint64_t offset, backends::ByteSpan out) const {
  out = out.first(std::min<uint64_t>(out.size(), size() - std::min(offset, size())));
  for (size_t done = 0; done < out.size();) {
    const uint64_t at = offset + done;
    auto part = out.subspan(done);
    if (at >= spilled_) {
      std::memcpy(part.data(), tail_.data() + (at - spilled_), part.size());
    } else {
      part = part.first(std::min<uint64_t>(part.size(), kSlot - at % kSlot));
      if (!file_->Read(at / kSlot, at % kSlot, part)) return model::IoError(EIO, "--cache-dir");
    }
    done += part.size();
  }
  return out.size();
}

}  // namespace ndlfs::cache
