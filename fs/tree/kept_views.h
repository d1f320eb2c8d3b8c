// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/hierarchy.h"
#include "backends/store/permissions.h"
#include "fs/tree/freshness.h"
#include "fs/view/elements/view_node.h"
#include "model/mutex.h"

namespace ndlfs::fs {

class Entity;
class LaterElements;

// A part of a view: another entity that it was made of.
struct EntityPart {
  std::string path;
  bool is_group = false;
  uint64_t generation = 0;
  uint64_t version = 0;
  std::weak_ptr<const backends::Hierarchy> loaded_from;
  backends::Permissions permissions;
  int64_t mtime_ns = 0;
  // Null for a part whose own views may be made of this entity, because the two would keep each
  // other in memory forever.
  std::shared_ptr<const Entity> held;
  // Set for an array that the view holds only once it has been read; from then on this has its
  // entity.
  std::shared_ptr<const LaterElements> later;
};

// One version of a file, or of a small tree of files, of an entity. Immutable, except for facts
// that reads of the view find out, such as its size.
struct EntityView {
  std::string name;  // its true name, not an alias
  ViewNode node;
  // Files of the same name and generation have the same bytes.
  uint64_t generation = 0;
  // The other entities that were loaded for the file; the names in each group that was listed
  // for it, as a hash by path name; and the path names where nothing was found. When one of
  // these changes, so does the file.
  std::vector<EntityPart> parts;
  std::map<std::string, uint64_t> listings;
  std::set<std::string> absent;
  // Bytes that all parts hold once they have been read; and how many of these belong to parts
  // that are held only from then on.
  uint64_t most_parts_bytes = 0;
  uint64_t later_bytes = 0;
  std::shared_ptr<const std::atomic<uint64_t>> held_later_bytes;
  // When the parts that the view does not hold were last compared.
  mutable std::atomic<Freshness::Time> looked_at{Freshness::Time()};
  // A read has found that something has changed.
  mutable std::atomic<bool> is_outdated{false};

  // Set if it has turned out that there is no such file.
  std::optional<model::Error> refusal() const {
    const ViewPtr file = FileOf(node);
    return file ? file->refusal() : std::nullopt;
  }
  uint64_t parts_bytes() const {
    return most_parts_bytes - later_bytes + (held_later_bytes ? held_later_bytes->load() : 0);
  }
};
using EntityViewPtr = std::shared_ptr<const EntityView>;

// Keeps the views of one entity that were looked up last: at most 32. All but the latest hold
// at most 8 MiB. Thread-safe.
class KeptViews {
 public:
  // The kept view called `name`, which is now the latest; null if there is
  // none.
  EntityViewPtr Find(std::string_view name) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    const auto known = Place(name);
    if (known == views_.end()) return nullptr;
    std::rotate(views_.begin(), known, known + 1);
    return views_.front();
  }

  // Keeps `view`, and drops another generation of it or, if there are too many views, those
  // that were used longest ago. Returns the view to use: if another thread has kept the same
  // generation already, the view of that thread.
  EntityViewPtr Keep(EntityViewPtr view) EXCLUDES(mutex_) {
    std::vector<EntityViewPtr> dropped;  // destroyed without the lock
    const model::MutexLock lock(mutex_);
    const auto known = Place(view->name);
    if (known != views_.end()) {
      if ((*known)->generation == view->generation) return *known;
      dropped.push_back(std::exchange(*known, view));
      return view;
    }
    views_.insert(views_.begin(), view);
    DropOld(dropped);
    return view;
  }

  // Memory that the kept views hold, in bytes.
  uint64_t held_bytes() const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    uint64_t bytes = 0;
    for (const EntityViewPtr& kept : views_) {
      bytes += HeldBytes(kept->node) + kept->parts_bytes();
    }
    return bytes;
  }

 private:
  static constexpr size_t kMost = 32;
  static constexpr uint64_t kMostBytes = uint64_t{8} << 20;

  std::vector<EntityViewPtr>::iterator Place(std::string_view name) REQUIRES(mutex_) {
    return std::find_if(views_.begin(), views_.end(),
                        [&](const EntityViewPtr& view) { return view->name == name; });
  }

  void DropOld(std::vector<EntityViewPtr>& dropped) REQUIRES(mutex_) {
    size_t kept = 0;
    uint64_t bytes = 0;
    for (; kept < views_.size() && kept < kMost; ++kept) {
      if (kept != 0) bytes += HeldBytes(views_[kept]->node);
      if (bytes > kMostBytes) break;
    }
    while (views_.size() > kept) {
      dropped.push_back(std::move(views_.back()));
      views_.pop_back();
    }
  }

  mutable model::Mutex mutex_;
  std::vector<EntityViewPtr> views_ GUARDED_BY(mutex_);  // the latest first
};

}  // namespace ndlfs::fs
