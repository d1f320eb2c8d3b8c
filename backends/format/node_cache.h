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

// Nodes that have been loaded, by path and version. As long as anybody holds a
// node, the same one is found again (its ArraySource is what chunks are cached
// under); besides, those are kept that were loaded last, within a number of
// bytes that all caches of the process share. Thread-safe.
class NodeCache {
 public:
  NodeCache() = default;
  ~NodeCache();

  // Null if that version of the node is not there.
  std::shared_ptr<const Node> Find(std::string_view path, uint64_t version);
  // Keeps `node`, or, if another thread was faster, gives that one's. A node
  // with an error of the system, or that is partial, is not kept: it may pass.
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
