// SPDX-License-Identifier: MIT
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "fs/mount.h"
#include "fs/preflight.h"

namespace ndlfs::fs {
namespace {

using model::BadInput;
using model::Quote;

// Like realpath(), but without asking the mount itself, whose process may be
// gone: only the directory that it is in is resolved.
std::string ResolveParent(const std::string& path) {
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) trimmed.pop_back();
  const size_t slash = trimmed.rfind('/');
  const std::string parent = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : trimmed.substr(0, slash);
  const std::string name = trimmed.substr(slash + 1);  // npos + 1 is 0
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(parent.c_str(), nullptr),
                                                         &std::free);
  if (!real) return trimmed;
  const std::string resolved = real.get();
  return resolved == "/" ? "/" + name : resolved + "/" + name;
}

std::optional<MountEntry> FindMount(const std::string& path) {
  std::optional<MountEntry> found;
  for (const MountEntry& entry : CurrentMounts()) {
    if (entry.mountpoint == path) found = entry;  // the latest one is on top
  }
  return found;
}

// Another way to say where the mount is: a symbolic link, "." and "..".
std::optional<MountEntry> FindMountOrLink(const std::string& path) {
  if (auto found = FindMount(ResolveParent(path))) return found;
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? FindMount(real.get()) : std::nullopt;
}

// Ordinary users may unmount what is theirs through this program only.
model::Result<void> RunFusermount(const std::string& mountpoint) {
  std::string program = "fusermount3", option = "-u", end = "--", target = mountpoint;
  char* const arguments[] = {program.data(), option.data(), end.data(), target.data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, program.c_str(), nullptr, nullptr, arguments, environ);
  if (error != 0) return model::IoError(error, program);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return BadInput("cannot unmount {}: {} refused", Quote(mountpoint), program);
}

}  // namespace

model::Result<void> RunUnmount(const std::string& path) {
  const auto mount = FindMountOrLink(path);
  if (!mount) return BadInput("{}: nothing is mounted there", Quote(path));
  if (mount->type != kFilesystemType) {
    return BadInput("{}: not a mount of ndlfs, but of type {}", Quote(path), mount->type);
  }
  if (::geteuid() != 0) return RunFusermount(mount->mountpoint);
  if (::umount2(mount->mountpoint.c_str(), UMOUNT_NOFOLLOW) == 0) return {};
  return BadInput("cannot unmount {}: {}", Quote(mount->mountpoint), std::strerror(errno));
}

}  // namespace ndlfs::fs
