// SPDX-License-Identifier: MIT
#include "backends/store/request_scope.h"

#include <atomic>

namespace ndlfs::backends {
namespace {

thread_local RequestScope* current = nullptr;

}  // namespace

RequestScope::RequestScope() : outer_(current) { current = this; }

RequestScope::~RequestScope() { current = outer_; }

RequestScope* RequestScope::Current() { return current; }

uint64_t RequestScope::NewOwner() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void RequestScope::ForgetAll() {
  if (current != nullptr) current->kept_.clear();
}

void RequestScope::Keep(uint64_t owner, std::string_view key,
                        std::shared_ptr<const void> found) {
  if (kept_.size() >= kMost) kept_.clear();
  kept_[{owner, std::string(key)}] = std::move(found);
}

void RequestScope::Forget(uint64_t owner) {
  std::erase_if(kept_, [&](const auto& item) { return item.first.first == owner; });
}

}  // namespace ndlfs::backends
