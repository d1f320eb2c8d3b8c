// SPDX-License-Identifier: MIT
#include "backends/store/request_scope.h"

namespace ndlfs::backends {
namespace {

thread_local RequestScope* current_scope = nullptr;

}  // namespace

RequestScope::RequestScope() : outer_(current_scope) { current_scope = this; }

RequestScope::~RequestScope() { current_scope = outer_; }

RequestScope* RequestScope::Current() { return current_scope; }

void RequestScope::ForgetAll() {
  if (current_scope == nullptr) return;
  current_scope->kept_.clear();
  current_scope->anew_since_ = std::chrono::steady_clock::now();
}

void RequestScope::Keep(uint64_t owner, std::string_view key,
                        std::shared_ptr<const void> found) {
  if (kept_.size() >= kMost) kept_.clear();
  kept_[{owner, std::string(key)}] = std::move(found);
}

}  // namespace ndlfs::backends
