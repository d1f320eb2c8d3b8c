// SPDX-License-Identifier: MIT
#include "backends/format/node_cache.h"

#include <utility>

#include "model/memory_budget.h"

namespace ndlfs::backends {

std::shared_ptr<const Node> NodeCache::Find(std::string_view path, uint64_t version) {
  const model::MutexLock lock(mutex_);
  const auto* found = entries_.Find(path);
  return found != nullptr && found->note == version ? found->object.lock() : nullptr;
}

std::shared_ptr<const Node> NodeCache::Insert(std::string_view path, uint64_t version,
                                              std::shared_ptr<const Node> node) {
  // The system may grant later what it has refused now.
  if (node->is_partial || (node->error && node->error->is_transient())) return node;
  std::shared_ptr<const Node> replaced;
  {
    const model::MutexLock lock(mutex_);
    if (const auto* entry = entries_.Find(path)) {
      replaced = entry->object.lock();
      if (replaced && entry->note == version) return replaced;
    }
    entries_.Put(std::string(path), node, version);
  }
  // Only this cache finds the kept nodes, so none is kept for longer than the cache exists.
  if (replaced) Recent().Drop(replaced.get());
  // The least weight of a node: its source and its place here take some memory.
  constexpr uint64_t kLeast = uint64_t{4} << 10;
  Recent().Touch(node, kLeast + node->held_bytes());
  return node;
}

// Nodes keep what their store is read by.
NodeCache::~NodeCache() {
  const model::MutexLock lock(mutex_);
  entries_.ForEach([](const std::shared_ptr<const Node>& node) { Recent().Drop(node.get()); });
}

model::RecentlyUsed<const Node>& NodeCache::Recent() {
  static model::RecentlyUsed<const Node> recent(model::MemoryBudget::Pool::kNodes);
  return recent;
}

}  // namespace ndlfs::backends
