// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backends/hierarchy.h"
#include "model/mutex.h"

namespace ndlfs::backends {

// Nodes that have been loaded, by path and version. As long as anybody holds a
// node, the same one is found again (its ArraySource is what chunks are cached
// under); besides, the last few are kept. Thread-safe.
class NodeCache {
 public:
  explicit NodeCache(size_t kept = 256) : recent_(kept) {}

  // Null if that version of the node is not there.
  std::shared_ptr<const Node> Find(std::string_view path, uint64_t version);
  // Keeps `node`, or, if another thread was faster, gives that one's. A node
  // with an error of the system (kIo) is not kept: it may pass.
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
  void Keep(std::shared_ptr<const Node> node) REQUIRES(mutex_);
  void DropExpired() REQUIRES(mutex_);

  model::Mutex mutex_;
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries_ GUARDED_BY(mutex_);
  // A ring of the nodes that were used last.
  std::vector<std::shared_ptr<const Node>> recent_ GUARDED_BY(mutex_);
  size_t next_ GUARDED_BY(mutex_) = 0;
  size_t drop_at_ GUARDED_BY(mutex_) = 1024;  // entries
};

}  // namespace ndlfs::backends
