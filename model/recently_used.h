// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/memory_budget.h"
#include "model/mutex.h"

namespace ndlfs::model {

// Keeps the most recently used objects alive, up to a sum of weights. It cannot
// be searched: callers hold a weak_ptr to find an object again. Thread-safe. Many threads that
// use few objects seldom wait for each other: a use of an object by the thread that has used it
// last counts once in `kUseHolds`.
template <typename T>
class RecentlyUsed {
 public:
  using Pointer = std::shared_ptr<T>;

  explicit RecentlyUsed(uint64_t capacity) : capacity_(capacity) {}
  explicit RecentlyUsed(MemoryBudget::Pool pool)
      : capacity_(MemoryBudget::Share(pool)), is_charged_(true) {}
  ~RecentlyUsed() { Charge(total_weight(), 0); }

  // Makes `object` the most recently used one and sets its weight. Returns the
  // objects that had to make room, for the caller to destroy. Always keeps
  // `object` itself, whatever it weighs.
  std::vector<Pointer> Touch(const Pointer& object, uint64_t weight = 1) {
    std::vector<Pointer> dropped;
    const auto now = Clock::now();
    LastUse& last = LastUseOfThread();
    if (last.list == id_ && last.object == object.get() && last.weight == weight &&
        last.removals == removals_.load(std::memory_order_acquire) &&
        now - last.time < kUseHolds) {
      return dropped;
    }
    uint64_t before = 0;
    uint64_t after = 0;
    {
      model::MutexLock lock(mutex_);
      before = total_;
      last = {id_, object.get(), weight, removals_.load(std::memory_order_relaxed), now};
      const auto it = index_.find(object.get());
      if (it != index_.end()) {
        order_.splice(order_.begin(), order_, it->second);
        total_ -= std::exchange(it->second->weight, weight);
      } else {
        order_.push_front({object, weight});
        index_.emplace(object.get(), order_.begin());
      }
      total_ += weight;
      while (total_ > capacity_ && order_.size() > 1) dropped.push_back(TakeOldest());
      last.removals = removals_.load(std::memory_order_relaxed);
      after = total_;
    }
    Charge(before, after);
    return dropped;
  }

  // Stops keeping `object` alive.
  void Drop(const T* object) {
    Pointer dropped;  // destroyed after the lock is released
    model::MutexLock lock(mutex_);
    const auto it = index_.find(object);
    if (it == index_.end()) return;
    dropped = std::move(it->second->object);
    Charge(it->second->weight, 0);
    total_ -= it->second->weight;
    order_.erase(it->second);
    index_.erase(it);
    removals_.fetch_add(1, std::memory_order_release);
  }

  size_t size() const {
    model::MutexLock lock(mutex_);
    return order_.size();
  }
  uint64_t total_weight() const {
    model::MutexLock lock(mutex_);
    return total_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kUseHolds{20};
  struct Slot {
    Pointer object;
    uint64_t weight;
  };
  // What a thread has touched last. It is still kept, with this weight, unless objects were
  // removed since.
  struct LastUse {
    uint64_t list = 0;  // id_
    const T* object = nullptr;
    uint64_t weight = 0;
    uint64_t removals = 0;
    Clock::time_point time;
  };
  static LastUse& LastUseOfThread() {
    thread_local LastUse last;
    return last;
  }
  static uint64_t NewId() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }

  Pointer TakeOldest() REQUIRES(mutex_) {
    Pointer oldest = std::move(order_.back().object);
    total_ -= order_.back().weight;
    index_.erase(oldest.get());
    order_.pop_back();
    removals_.fetch_add(1, std::memory_order_release);
    return oldest;
  }

  // More is charged without the lock.
  void Charge(uint64_t from, uint64_t to) const {
    if (is_charged_) MemoryBudget::Change(from, to);
  }

  const uint64_t capacity_;
  const bool is_charged_ = false;  // to the budget of the process
  const uint64_t id_ = NewId();    // no other list of this type has it
  std::atomic<uint64_t> removals_{0};
  mutable model::Mutex mutex_;
  std::list<Slot> order_ GUARDED_BY(mutex_);  // the most recently used first
  std::unordered_map<const T*, typename std::list<Slot>::iterator> index_ GUARDED_BY(mutex_);
  uint64_t total_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::model
