// SPDX-License-Identifier: MIT
#include "fs/tree/store/store_attributes.h"

#include <sys/stat.h>

#include <algorithm>

namespace ndlfs::fs {
namespace {

using backends::FileStatus;
using backends::Permissions;

Attributes AttributesWith(const Permissions& permissions, mode_t type, int64_t mtime_ns) {
  return {.mode = type | permissions.mode,
          .size = {},
          .uid = permissions.uid,
          .gid = permissions.gid,
          .mtime_ns = mtime_ns,
          .ctime_ns = mtime_ns};
}

}  // namespace

Permissions PermissionsOf(const FileStatus& status) {
  return {status.uid, status.gid, status.mode & 0777};
}

Permissions PermissionsOf(const Attributes& attributes) {
  return {attributes.uid, attributes.gid, attributes.mode & 0777};
}

Attributes FileAttributes(const MountedStore& store) {
  const FileStatus status = store.status();
  Permissions permissions = PermissionsOf(status);
  permissions.mode &= 0444;
  return AttributesWith(permissions, S_IFREG, status.mtime_ns);
}

Attributes FileAttributes(const MountedStore& store, const Entity& entity) {
  Permissions permissions = entity.facts().permissions;
  permissions.mode &= 0444;
  return AttributesWith(
      permissions, S_IFREG,
      entity.facts().mtime_ns != 0 ? entity.facts().mtime_ns : store.status().mtime_ns);
}

Attributes FileAttributes(const MountedStore& store, const Entity& entity,
                          const EntityView& view) {
  const Attributes attributes = FileAttributes(store, entity);
  Permissions permissions = view.objects.CommonPermissionsWith(PermissionsOf(attributes));
  permissions.mode &= 0444;
  return AttributesWith(permissions, S_IFREG,
                        std::max(attributes.mtime_ns, view.objects.mtime_ns()));
}

Attributes FolderAttributes(const FileStatus& status, int64_t mtime_ns) {
  Permissions permissions = PermissionsOf(status);
  permissions.mode &= status.is_directory() ? 0555 : 0444;
  if (!status.is_directory()) permissions.mode |= permissions.mode >> 2;
  return AttributesWith(permissions, S_IFDIR, mtime_ns != 0 ? mtime_ns : status.mtime_ns);
}

}  // namespace ndlfs::fs
