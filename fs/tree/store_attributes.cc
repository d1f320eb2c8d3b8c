// SPDX-License-Identifier: MIT
#include "fs/tree/store_attributes.h"

#include <sys/stat.h>

#include <algorithm>

namespace ndlfs::fs {
namespace {

using backends::Access;
using backends::FileStatus;

Attributes AttributesWith(const Access& access, mode_t type, int64_t mtime_ns) {
  return {.mode = type | access.mode,
          .size = 0,
          .uid = access.uid,
          .gid = access.gid,
          .mtime_ns = mtime_ns,
          .ctime_ns = mtime_ns};
}

}  // namespace

Access AccessBy(const FileStatus& status) {
  return {status.uid, status.gid, status.mode & 0777};
}

Access AccessBy(const Attributes& attributes) {
  return {attributes.uid, attributes.gid, attributes.mode & 0777};
}

Attributes FileAttributes(const MountedStore& store) {
  const FileStatus status = store.status();
  Access access = AccessBy(status);
  access.mode &= 0444;
  return AttributesWith(access, S_IFREG, status.mtime_ns);
}

Attributes FileAttributes(const MountedStore& store, const Entity& entity) {
  Access access = entity.access;
  access.mode &= 0444;
  return AttributesWith(access, S_IFREG,
                        entity.mtime_ns != 0 ? entity.mtime_ns : store.status().mtime_ns);
}

Attributes FileAttributes(const MountedStore& store, const Entity& entity,
                          const EntityView& view) {
  const Attributes attributes = FileAttributes(store, entity);
  return AttributesWith(view.objects.CommonAccess(AccessBy(attributes)), S_IFREG,
                        std::max(attributes.mtime_ns, view.objects.mtime_ns()));
}

Attributes FolderAttributes(const FileStatus& status, int64_t mtime_ns) {
  Access access = AccessBy(status);
  access.mode &= status.is_directory() ? 0555 : 0444;
  if (!status.is_directory()) access.mode |= access.mode >> 2;
  return AttributesWith(access, S_IFDIR, mtime_ns != 0 ? mtime_ns : status.mtime_ns);
}

}  // namespace ndlfs::fs
