// SPDX-License-Identifier: MIT
#include "fs/fuse/passthrough.h"

#include <sys/ioctl.h>

#include <cerrno>

#include "backends/base/capabilities.h"
#include "backends/store/local/file_clock.h"

namespace ndlfs::fs {
namespace {

// As in linux/fuse.h of Linux 6.9, which the headers of the system may not have.
struct BackingMap {
  int32_t fd;
  uint32_t flags;
  uint64_t padding;
};
constexpr unsigned long kBackingOpen = _IOW(229, 1, BackingMap);
constexpr unsigned long kBackingClose = _IOW(229, 2, uint32_t);

}  // namespace

Passthrough::Way Passthrough::Enter(uint64_t nodeid, int descriptor) {
  if (device_ < 0) return {};
  const model::MutexLock lock(mutex_);
  Node& node = nodes_[nodeid];
  if (node.opens++ == 0 && descriptor >= 0) node.backing_id = OpenBacking(descriptor);
  return {this, nodeid, node.backing_id};
}

void Passthrough::Leave(uint64_t nodeid) {
  const model::MutexLock lock(mutex_);
  const auto node = nodes_.find(nodeid);
  if (--node->second.opens != 0) return;
  if (node->second.backing_id != 0) CloseBacking(node->second.backing_id);
  nodes_.erase(node);
}

int32_t Passthrough::OpenBacking(int descriptor) {
  // A file of a network or of another FUSE mount may not answer; a program that waits for the
  // kernel then waits without the limits that this process has for requests.
  if (is_refused_ || !backends::HasTimesOfThisMachine(descriptor)) return 0;
  const backends::RaisedCapabilities raised(backends::kAdministrate);
  BackingMap map = {.fd = descriptor, .flags = 0, .padding = 0};
  const int backing_id = ::ioctl(device_, kBackingOpen, &map);
  if (backing_id > 0) return backing_id;
  // Refused to this process, or not known to the kernel: it will not change its mind. Any other
  // reason concerns this file.
  if (errno == EPERM || errno == ENOTTY || errno == ENOSYS) is_refused_ = true;
  return 0;
}

void Passthrough::CloseBacking(int32_t backing_id) {
  const backends::RaisedCapabilities raised(backends::kAdministrate);
  auto id = static_cast<uint32_t>(backing_id);
  (void)::ioctl(device_, kBackingClose, &id);
}

}  // namespace ndlfs::fs
