// SPDX-License-Identifier: MIT
#include "backends/store/request_scope.h"

namespace ndlfs::backends {
namespace {

thread_local RequestScope* current = nullptr;

}  // namespace

RequestScope::RequestScope() : outer_(current) { current = this; }

RequestScope::~RequestScope() { current = outer_; }

RequestScope* RequestScope::Current() { return current; }

void RequestScope::ForgetAll() {
  if (current == nullptr) return;
  current->kept_.clear();
  current->anew_since_ = std::chrono::steady_clock::now();
}

void RequestScope::Keep(uint64_t owner, std::string_view key,
                        std::shared_ptr<const void> found) {
  if (kept_.size() >= kMost) kept_.clear();
  kept_[{owner, std::string(key)}] = std::move(found);
}

}  // namespace ndlfs::backends
