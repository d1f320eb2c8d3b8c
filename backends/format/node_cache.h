// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backends/format/hierarchy.h"
#include "model/mutex.h"
#include "model/recently_used.h"

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
  // with an error of the system (kIo), or that is partial, is not kept: it may pass.
  std::shared_ptr<const Node> Insert(std::string_view path, uint64_t version,
                                     std::shared_ptr<const Node> node);

 private:
  struct Entry {
    uint64_t version;
    std::weak_ptr<const Node> node;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  static model::RecentlyUsed<const Node>& Recent();
  void DropExpired() REQUIRES(mutex_);

  model::Mutex mutex_;
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries_ GUARDED_BY(mutex_);
  size_t drop_at_ GUARDED_BY(mutex_) = 1024;  // entries
};

}  // namespace ndlfs::backends
