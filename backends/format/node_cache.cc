// SPDX-License-Identifier: MIT
#include "backends/format/node_cache.h"

#include <algorithm>
#include <utility>

namespace ndlfs::backends {

std::shared_ptr<const Node> NodeCache::Find(std::string_view path, uint64_t version) {
  const model::MutexLock lock(mutex_);
  const auto found = entries_.find(path);
  if (found == entries_.end() || found->second.version != version) return nullptr;
  return found->second.node.lock();
}

std::shared_ptr<const Node> NodeCache::Insert(std::string_view path, uint64_t version,
                                              std::shared_ptr<const Node> node) {
  // What the system refused now it may grant the next time.
  if (node->is_partial || (node->error && node->error->is_transient())) return node;
  std::shared_ptr<const Node> replaced;
  {
    const model::MutexLock lock(mutex_);
    Entry& entry = entries_[std::string(path)];
    replaced = entry.node.lock();
    if (replaced && entry.version == version) return replaced;
    entry = {version, node};
    if (entries_.size() >= drop_at_) DropExpired();
  }
  // What is kept is found here: so nothing is kept for longer than this is there.
  if (replaced) Recent().Drop(replaced.get());
  // Whatever it is, its source and its place here take some.
  constexpr uint64_t kLeast = uint64_t{4} << 10;
  Recent().Touch(node, kLeast + node->held_bytes());
  return node;
}

// Nodes keep what their store is read by.
NodeCache::~NodeCache() {
  const model::MutexLock lock(mutex_);
  for (const auto& [path, entry] : entries_) {
    if (const auto node = entry.node.lock()) Recent().Drop(node.get());
  }
}

model::RecentlyUsed<const Node>& NodeCache::Recent() {
  static model::RecentlyUsed<const Node> recent(uint64_t{12} << 20);
  return recent;
}

void NodeCache::DropExpired() {
  std::erase_if(entries_, [](const auto& item) { return item.second.node.expired(); });
  drop_at_ = std::max<size_t>(1024, 2 * entries_.size());
}

}  // namespace ndlfs::backends
