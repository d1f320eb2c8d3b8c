// SPDX-License-Identifier: MIT
#include "fs/fuse/private_mount.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "fs/fuse/preflight.h"
#include "fs/serve/mount_info.h"

namespace ndlfs::fs {
namespace {

using backends::UniqueFd;
using model::BadInput;
using Status = model::Result<void>;

Status WriteProc(const char* path, const std::string& text) {
  const UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file) return BadInput("{}: {}", path, std::strerror(errno));
  if (::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return {};
  }
  return BadInput("{}: {}", path, std::strerror(errno));
}

// The number in a file of /proc/sys, or -1.
int Setting(const char* path) {
  int value = -1;
  return std::ifstream(path) >> value ? value : -1;
}

// The reason why user namespaces are forbidden. The kernel uses the same few error numbers for
// many reasons; its settings tell more.
std::string WhyNoNamespaces(int error) {
  if (Setting("/proc/sys/kernel/unprivileged_userns_clone") == 0) {
    return "the setting kernel.unprivileged_userns_clone is 0";
  }
  if (Setting("/proc/sys/user/max_user_namespaces") == 0) {
    return "the setting user.max_user_namespaces is 0";
  }
  if (Setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1) {
    return "the setting kernel.apparmor_restrict_unprivileged_userns is 1";
  }
  if (error == EPERM) return "forbidden in a chroot directory and by rules of containers";
  return std::strerror(error);
}

// The user keeps its number, so that files show their owners and commands see the
// user that they expect.
Status MapUser(uid_t user, gid_t group) {
  NDLFS_RETURN_IF_ERROR(WriteProc("/proc/self/setgroups", "deny"), "user namespace");
  NDLFS_RETURN_IF_ERROR(WriteProc("/proc/self/uid_map", fmt::format("{0} {0} 1", user)),
                        "user namespace");
  NDLFS_RETURN_IF_ERROR(WriteProc("/proc/self/gid_map", fmt::format("{0} {0} 1", group)),
                        "user namespace");
  return {};
}

}  // namespace

model::Result<Namespaces> EnterNamespaces() {
  Namespaces entered;
  if (::unshare(CLONE_NEWNS) != 0) {
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
      return BadInput("the kernel gives no user namespace ({}); `ndlfs mount` does without one",
                      WhyNoNamespaces(errno));
    }
    NDLFS_RETURN_IF_ERROR(MapUser(user, group));
    entered.user = true;
  }
  // Mounts that others make still appear here.
  entered.is_private = ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0;
  return entered;
}

model::Result<UniqueFd> OpenFuseDevice() {
  UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (device) return device;
  return BadInput("{}", WhyNoDevice(errno));
}

Status MountDevice(const UniqueFd& device, const std::string& source,
                   const std::string& mountpoint, bool allow_other) {
  const std::string data =
      fmt::format("fd={},rootmode=40000,user_id={},group_id={},default_permissions{}",
                  device.get(), ::geteuid(), ::getegid(), allow_other ? ",allow_other" : "");
  if (::mount(source.c_str(), mountpoint.c_str(), kFilesystemType,
              MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOATIME, data.c_str()) == 0) {
    return {};
  }
  const int error = errno;
  std::string_view hint;
  if (error == EPERM || error == EACCES) hint = " (ordinary users need Linux 4.18 or newer)";
  if (error == ENODEV) hint = " (this system has no FUSE; load it with: modprobe fuse)";
  return BadInput("cannot mount in a namespace: {}{}", std::strerror(error), hint);
}

}  // namespace ndlfs::fs
