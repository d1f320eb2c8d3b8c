// SPDX-License-Identifier: MIT
#include "backends/node_cache.h"

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
  if (node->error && node->error->code() == model::ErrorCode::kIo) return node;
  const model::MutexLock lock(mutex_);
  Entry& entry = entries_[std::string(path)];
  if (entry.version == version) {
    if (auto earlier = entry.node.lock()) return earlier;
  }
  entry = {version, node};
  Keep(node);
  if (entries_.size() >= drop_at_) DropExpired();
  return node;
}

void NodeCache::Keep(std::shared_ptr<const Node> node) {
  if (recent_.empty()) return;
  recent_[next_] = std::move(node);
  next_ = (next_ + 1) % recent_.size();
}

void NodeCache::DropExpired() {
  std::erase_if(entries_, [](const auto& item) { return item.second.node.expired(); });
  drop_at_ = std::max<size_t>(1024, 2 * entries_.size());
}

}  // namespace ndlfs::backends
