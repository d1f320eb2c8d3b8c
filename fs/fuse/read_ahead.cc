// SPDX-License-Identifier: MIT
#include "fs/fuse/read_ahead.h"

#include <fstream>

#include "fs/serve/mount_info.h"

namespace ndlfs::fs {
namespace {

// As much as one request can ask for. By default it is 128 KiB, and the way to
// the daemon and back then takes as long as the copying.
constexpr unsigned kReadAheadKib = 1024;

}  // namespace

void RaiseReadAhead(const std::string& mountpoint) {
  std::string device;
  for (const MountEntry& entry : CurrentMounts()) {
    if (entry.mountpoint == mountpoint) device = entry.device;  // the latest one is on top
  }
  if (device.empty()) return;
  const std::string path = "/sys/class/bdi/" + device + "/read_ahead_kb";
  unsigned now = 0;
  if (!(std::ifstream(path) >> now) || now >= kReadAheadKib) return;
  std::ofstream(path) << kReadAheadKib;
}

}  // namespace ndlfs::fs
