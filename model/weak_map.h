// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

namespace ndlfs::model {

// Finds objects again by a key while some owner keeps them alive, and keeps a note with each.
// Entries of objects that are gone stay for a while: there are at most `least` entries, or two
// for each object that was alive at the last sweep. Not thread-safe: a mutex of its owner
// guards it.
//
// Find() and Put() may leave the caller with the last pointer to an object. If the destructor
// of the object takes long or takes locks, release the mutex before that pointer.
template <typename Key, typename Object, typename Note, typename Hash = std::hash<Key>>
class WeakMap {
 public:
  struct Entry {
    std::weak_ptr<Object> object;
    Note note;
  };

  explicit WeakMap(size_t least) : least_(least), sweep_at_(least) {}

  // The entry of `key`, until the next Put(); null if there is none. Its object may be gone.
  template <typename AnyKey>
  Entry* Find(const AnyKey& key) {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
  }
  template <typename AnyKey>
  const Entry* Find(const AnyKey& key) const {
    return const_cast<WeakMap*>(this)->Find(key);
  }

  // Makes the entry of `key`, or replaces it.
  void Put(Key key, const std::shared_ptr<Object>& object, Note note) {
    entries_.insert_or_assign(std::move(key), Entry{object, std::move(note)});
    if (entries_.size() < sweep_at_) return;
    std::erase_if(entries_, [](const auto& item) { return item.second.object.expired(); });
    sweep_at_ = std::max(least_, 2 * entries_.size());
  }

  // Calls `visit` with each object that lives.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [key, entry] : entries_) {
      if (auto object = entry.object.lock()) visit(std::move(object));
    }
  }

  // The number of entries, including those of objects that are gone.
  size_t size() const { return entries_.size(); }

 private:
  const size_t least_;
  size_t sweep_at_;  // entries
  std::unordered_map<Key, Entry, Hash, std::equal_to<>> entries_;
};

}  // namespace ndlfs::model
