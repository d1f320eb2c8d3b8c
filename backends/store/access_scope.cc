// SPDX-License-Identifier: MIT
#include "backends/store/access_scope.h"

#include <cerrno>

namespace ndlfs::backends {
namespace {

thread_local AccessScope* innermost = nullptr;

}  // namespace

AccessScope::AccessScope(std::optional<Access> readers) : readers_(readers), outer_(innermost) {
  innermost = this;
}

AccessScope::~AccessScope() { innermost = outer_; }

model::Result<void> AccessScope::Note(const PathAccess& access) {
  if (innermost == nullptr) return {};
  AccessScope& scope = *innermost;
  if (scope.readers_ && !CoversReaders(*scope.readers_, access.whole)) {
    return model::IoError(EACCES, "closed to some of those who may read the metadata");
  }
  scope.seen_ = scope.seen_ ? PathAccess{Both(scope.seen_->own, access.own),
                                         Both(scope.seen_->whole, access.whole)}
                            : access;
  return {};
}

}  // namespace ndlfs::backends
