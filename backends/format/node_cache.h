// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backends/format/hierarchy.h"
#include "model/mutex.h"
#include "model/recently_used.h"
#include "model/string_hash.h"
#include "model/weak_map.h"

namespace ndlfs::backends {

// Keeps loaded nodes, by path and version. While anybody holds a node, the cache finds the same
// one again (its ArraySource is the key of cached chunks). It also keeps the nodes that were
// loaded last, within a number of bytes that all caches of the process share. Thread-safe.
class NodeCache {
 public:
  NodeCache() = default;
  ~NodeCache();

  // Null if that version of the node is not there.
  std::shared_ptr<const Node> Find(std::string_view path, uint64_t version);
  // Keeps and returns `node`; if another thread was faster, returns the node of that thread.
  // Does not keep a node that is partial or has an error of the system, because a later look
  // may find more.
  std::shared_ptr<const Node> Insert(std::string_view path, uint64_t version,
                                     std::shared_ptr<const Node> node);

 private:
  static model::RecentlyUsed<const Node>& Recent();

  model::Mutex mutex_;
  // By path, with versions.
  model::WeakMap<std::string, const Node, uint64_t, model::StringHash> entries_
      GUARDED_BY(mutex_){1024};
};

}  // namespace ndlfs::backends
