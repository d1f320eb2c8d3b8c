// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <span>

namespace ndlfs::backends {

// The owner, the group and the nine permission bits that stat() shows. Views show them, but
// they grant nothing: files are opened as the caller (see caller.h).
struct Permissions {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t mode = 0;
  bool operator==(const Permissions&) const = default;
};

// The permissions of the file or directory with this status.
Permissions PermissionsOf(const struct ::stat& status);

// The permission bits of `mode`, without those that the access control list
// `acl` (a value of system.posix_acl_access) denies to some of the users that
// they stand for: with a list, the bits of the group are only the most that the
// list grants to anybody. If the list is not valid, the owner's bits alone.
mode_t WithoutDenied(mode_t mode, std::span<const std::byte> acl);

// The permissions to show for something that is made of `a` and `b`. If both have the same
// owner and group, the bits that both have. Otherwise those of `a`, because fewer could keep
// users from what they may read in the source.
Permissions CommonPermissions(const Permissions& a, const Permissions& b);

}  // namespace ndlfs::backends
