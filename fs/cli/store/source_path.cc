// SPDX-License-Identifier: MIT
#include "fs/cli/store/source_path.h"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "fs/serve/mount_info.h"
#include "fs/tree/xattr.h"
#include "model/reserved_names.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using std::filesystem::path;

constexpr auto kFuseMagic = static_cast<decltype(statfs::f_type)>(0x65735546);  // statfs(2)

std::optional<struct ::stat> LinkStatus(const path& file) {
  struct ::stat status;
  if (::lstat(file.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool IsBelow(const path& inner, const path& outer) {
  const path relative = inner.lexically_relative(outer);
  return !relative.empty() && *relative.begin() != "..";
}

// The error for a mount that has died: the nearest mount of ndlfs above the path. If links lead
// into it, there is none above.
model::Failure DeadMount(const std::string& given) {
  const path whole = std::filesystem::absolute(given).lexically_normal();
  std::string command = "fusermount3 -u";
  size_t longest = 0;
  for (const MountEntry& entry : CurrentMounts()) {
    const bool above = entry.mountpoint == whole || IsBelow(whole, entry.mountpoint);
    if (entry.type != kFilesystemType || !above) continue;
    if (entry.mountpoint.size() < longest) continue;
    longest = entry.mountpoint.size();
    command = "fusermount3 -u " + entry.mountpoint;
  }
  return model::BadInput("{}: the mount there has died; remove it with: {}", given, command);
}

// The mount point of the ndlfs mount that the directory is in, if it is in one.
std::optional<path> FindMountPoint(const path& directory) {
  const auto status = LinkStatus(directory);
  if (!status) return std::nullopt;
  path top = directory;
  for (path parent = top.parent_path(); parent != top; parent = parent.parent_path()) {
    const auto above = LinkStatus(parent);
    if (!above || above->st_dev != status->st_dev) break;
    top = parent;
  }
  if (!LinkStatus(top / ".ndlfs/config.yaml")) return std::nullopt;
  return top;
}

// The source of a mount as a directory that can be read: the one that the mount
// shows or, where a version before 0.2 serves it, the one that it was given.
std::optional<path> SourceOf(const path& mountpoint) {
  std::error_code error;
  const path shown = mountpoint / ".ndlfs/source";
  if (std::filesystem::is_directory(shown, error)) return shown;
  for (const MountEntry& entry : CurrentMounts()) {
    if (entry.mountpoint == mountpoint) return std::filesystem::canonical(entry.source, error);
  }
  return std::nullopt;
}

SourcePath Below(const path& root, const path& inner) {
  const path relative = inner.lexically_relative(root);
  return {root, relative == "." ? "" : relative.string(), {}, true};
}

SourcePath InParent(const path& real) { return {real.parent_path(), real.filename(), {}}; }

// The folders of stores have a `.source`, and say what is in the store or why
// that cannot be told. Nothing else in a mount has these together.
bool IsStoreFolder(const path& folder) {
  return LinkStatus(folder / model::kSourceLinkName) &&
         (LinkStatus(folder / model::kDocumentFileName) ||
          LinkStatus(folder / model::kErrorFileName));
}

// The version of its store that a folder shows; "" if the store has none, or shows its own.
std::string RefOf(const path& folder) {
  std::array<char, 4096> value;
  const ssize_t size = ::getxattr(folder.c_str(), std::string(kRefAttributeName).c_str(),
                                  value.data(), value.size());
  return size > 0 ? std::string(value.data(), static_cast<size_t>(size)) : std::string();
}

// Follows `.source` in the folder of a store.
Result<SourcePath> FollowSource(const path& folder, const path& mountpoint,
                                const path& source) {
  const SourcePath same = Below(source, source / folder.lexically_relative(mountpoint));
  const auto status = LinkStatus(folder / model::kSourceLinkName);
  if (!status || !S_ISLNK(status->st_mode)) return same;
  std::error_code error;
  const path real = std::filesystem::canonical(folder / model::kSourceLinkName, error);
  if (error) return model::IoError(error.value(), (folder / model::kSourceLinkName).string());
  // A link that leads elsewhere is one of the source, and none of the mount's.
  return IsBelow(real, source) ? Below(source, real) : same;
}

// Finds a directory in a mount.
Result<SourcePath> FindInMount(const path& real, const path& mountpoint, const path& source) {
  std::vector<std::string> folders;
  for (path folder = real;; folder = folder.parent_path()) {
    if (IsStoreFolder(folder)) {
      NDLFS_TRY(SourcePath found, FollowSource(folder, mountpoint, source));
      found.folders.assign(folders.rbegin(), folders.rend());
      found.ref = RefOf(folder);
      return found;
    }
    if (folder == mountpoint) break;
    folders.push_back(folder.filename());
  }
  return Below(source, source / real.lexically_relative(mountpoint));
}

}  // namespace

Result<SourcePath> FindSourcePath(const std::string& given) {
  std::error_code error;
  const path real = std::filesystem::canonical(given, error);
  if (error.value() == ENOTCONN) return DeadMount(given);
  if (error) return model::IoError(error.value(), given);
  // Where the kernel still knows attributes, this is the first to ask the mount.
  struct ::statfs filesystem;
  if (::statfs(real.c_str(), &filesystem) != 0) {
    return errno == ENOTCONN ? DeadMount(given) : model::IoError(errno, given);
  }
  if (filesystem.f_type != kFuseMagic) return InParent(real);
  if (!std::filesystem::is_directory(real, error)) return InParent(real);
  const auto mountpoint = FindMountPoint(real);
  if (!mountpoint || IsBelow(real, *mountpoint / ".ndlfs")) return InParent(real);
  const auto source = SourceOf(*mountpoint);
  if (!source) return InParent(real);
  return FindInMount(real, *mountpoint, *source);
}

SourcePath WidenForDescription(SourcePath place) {
  if (place.is_mounted) return place;
  const path whole = path(place.root) / place.path;
  return {whole.root_path(), whole.relative_path(), std::move(place.folders)};
}

}  // namespace ndlfs::fs
