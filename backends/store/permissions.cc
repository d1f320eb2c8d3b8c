// SPDX-License-Identifier: MIT
#include "backends/store/permissions.h"

#include <cstddef>
#include <cstdint>

namespace ndlfs::backends {
namespace {

constexpr mode_t kOther = 07;

// As in <linux/posix_acl_xattr.h>: a version, and entries of a tag, permissions, and the user
// or group that they are about, all little-endian.
constexpr uint32_t kAclVersion = 2;
constexpr size_t kAclEntrySize = 8;
enum AclTag : uint16_t {
  kAclNamedUser = 0x02,
  kAclOwningGroup = 0x04,
  kAclNamedGroup = 0x08,
  kAclMask = 0x10,
};

template <typename T>
T TakeLittleEndian(std::span<const std::byte>& bytes) {
  T number = 0;
  for (size_t i = sizeof(T); i-- > 0;) {
    number = static_cast<T>(number << 8 | static_cast<uint8_t>(bytes[i]));
  }
  bytes = bytes.subspan(sizeof(T));
  return number;
}

}  // namespace

Permissions PermissionsOf(const struct ::stat& status) {
  return {status.st_uid, status.st_gid, status.st_mode & 0777};
}

mode_t WithoutDenied(mode_t mode, std::span<const std::byte> acl) {
  const mode_t owner_only = mode & ~mode_t{077};
  if (acl.size() % kAclEntrySize != sizeof(kAclVersion)) return owner_only;
  if (TakeLittleEndian<uint32_t>(acl) != kAclVersion) return owner_only;
  mode_t mask = kOther;
  mode_t group = 0;
  mode_t users = kOther;  // what each of those has that are named
  mode_t groups = kOther;
  bool any_named = false;
  while (!acl.empty()) {
    const auto tag = TakeLittleEndian<uint16_t>(acl);
    const mode_t granted = TakeLittleEndian<uint16_t>(acl) & kOther;
    acl = acl.subspan(sizeof(uint32_t));
    if (tag == kAclMask) mask = granted;
    if (tag == kAclOwningGroup) group = granted;
    if (tag == kAclNamedUser) users &= granted;
    if (tag == kAclNamedGroup) groups &= granted;
    any_named = any_named || tag == kAclNamedUser || tag == kAclNamedGroup;
  }
  // A named user may be in the group, or else be one of the others.
  group &= mask & users;
  const mode_t other = any_named ? mask & users & groups : kOther;
  return mode & (~mode_t{077} | group << 3 | other);
}

Permissions CommonPermissions(const Permissions& a, const Permissions& b) {
  if (a.uid != b.uid || a.gid != b.gid) return a;
  return {a.uid, a.gid, a.mode & b.mode};
}

}  // namespace ndlfs::backends
