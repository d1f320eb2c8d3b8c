// SPDX-License-Identifier: MIT
#include "backends/store/access.h"

namespace ndlfs::backends {
namespace {

constexpr mode_t kOther = 07;

}  // namespace

Access AccessTo(const struct ::stat& status) {
  return {status.st_uid, status.st_gid, status.st_mode & 0777};
}

Access Both(const Access& a, const Access& b) {
  const mode_t other = b.mode & kOther;
  const mode_t owner = a.uid == b.uid ? b.mode & (kOther << 6) : other << 6;
  const mode_t group = a.gid == b.gid ? b.mode & (kOther << 3) : other << 3;
  return {a.uid, a.gid, a.mode & (owner | group | other)};
}

bool CoversReaders(const Access& a, const Access& b) {
  return (Both(a, b).mode & 0444) == (a.mode & 0444);
}

}  // namespace ndlfs::backends
