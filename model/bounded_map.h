// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

namespace ndlfs::model {

// Keeps the most recently used values, found by a key, up to a sum of weights. Not thread-safe:
// a mutex of its owner guards it. Destroys dropped values at once, so values should be small.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class BoundedMap {
 public:
  explicit BoundedMap(uint64_t capacity) : capacity_(capacity) {}

  // The value of `key`, until the next Put() or Erase(); null if there is none. From now on it
  // is the most recently used one.
  template <typename AnyKey>
  Value* Find(const AnyKey& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return &found->second->value;
  }

  // Keeps `value` as the most recently used one, whatever it weighs, and replaces the old value
  // of `key`. Drops the values that were used longest ago if there is no room.
  void Put(const Key& key, Value value, uint64_t weight = 1) {
    Erase(key);
    order_.push_front({key, std::move(value), weight});
    index_.emplace(key, order_.begin());
    total_ += weight;
    while (total_ > capacity_ && order_.size() > 1) {
      const Key oldest = order_.back().key;
      Erase(oldest);
    }
  }

  template <typename AnyKey>
  void Erase(const AnyKey& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return;
    total_ -= found->second->weight;
    order_.erase(found->second);
    index_.erase(found);
  }

  size_t size() const { return order_.size(); }
  uint64_t total_weight() const { return total_; }

 private:
  struct Slot {
    Key key;
    Value value;
    uint64_t weight;
  };

  const uint64_t capacity_;
  uint64_t total_ = 0;
  std::list<Slot> order_;  // the most recently used first
  std::unordered_map<Key, typename std::list<Slot>::iterator, Hash, std::equal_to<>> index_;
};

}  // namespace ndlfs::model
