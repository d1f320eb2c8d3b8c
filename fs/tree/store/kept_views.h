// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/tree/object_set.h"
#include "fs/view/elements/view_node.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// One version of a file, or of a small tree of files, of an entity. Immutable, except for facts
// that reads of the view find out, such as its size.
struct EntityView {
  std::string name;  // its true name, not an alias
  ViewNode node;
  // Files of the same name and generation have the same bytes.
  uint64_t generation = 0;
  // What it was made of in addition to its entity.
  ObjectSet objects;
  // A read has found that something has changed.
  mutable std::atomic<bool> is_outdated{false};

  // Set if it has turned out that there is no such file.
  std::optional<model::Error> refusal() const {
    const ViewPtr file = FileOf(node);
    return file ? file->refusal() : std::nullopt;
  }
};
using EntityViewPtr = std::shared_ptr<const EntityView>;

// Keeps the views of one entity that were looked up last: at most 32. All but one hold at most
// 8 MiB. Thread-safe.
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
      dropped.push_back(std::move(*known));
      views_.erase(known);
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
      bytes += HeldBytes(kept->node) + kept->objects.held_bytes();
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
