// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <span>

namespace ndlfs::backends {

// What stat() shows of who may read something: an owner, a group, and the nine permission bits.
// Nothing is given to anybody because of it: see caller.h.
struct Access {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t mode = 0;
  bool operator==(const Access&) const = default;
};

// What a file or directory grants.
Access AccessTo(const struct ::stat& status);

// The permission bits of `mode` without what the access control list `acl` (a
// value of system.posix_acl_access) may keep from those that the bits are for:
// the bits of the group are the most that the list grants to anybody. Of a list
// that cannot be made out, the owner's bits alone.
mode_t WithoutDenied(mode_t mode, std::span<const std::byte> acl);

// What is shown of something that is made of `a` and `b`: no bit that `b` lacks, as long as the
// bits of both are about the same user and group. Otherwise those of `a`: to leave out more
// would keep users from what they may read in the source.
Access InCommon(const Access& a, const Access& b);

}  // namespace ndlfs::backends
