// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <new>

#include "fs/tree/slab.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// Memory for many objects that live long, apart from other memory, as Slab keeps it: when most
// of them have gone, whole pages go back to the system. Must outlive all of them. Thread-safe.
class SlabMemory {
 public:
  // An object with the counts of its shared_ptr is no larger than this.
  static constexpr size_t kMostBytes = 176;

  void* Allocate() EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    const auto index = cells_.Add({});
    Cell& cell = cells_[index];
    cell.index = index;
    return cell.bytes.data();
  }
  // Needs no memory.
  void Free(void* bytes) noexcept EXCLUDES(mutex_) {
    const auto* cell =
        reinterpret_cast<const Cell*>(static_cast<std::byte*>(bytes) - offsetof(Cell, bytes));
    const model::MutexLock lock(mutex_);
    cells_.Remove(cell->index);
  }

 private:
  struct Cell {
    Slab<Cell>::Index index = 0;
    alignas(std::max_align_t) std::array<std::byte, kMostBytes> bytes;
  };

  model::Mutex mutex_;
  Slab<Cell> cells_ GUARDED_BY(mutex_);
};

// For std::allocate_shared().
template <typename T>
class SlabAllocator {
 public:
  using value_type = T;

  explicit SlabAllocator(SlabMemory& memory) : memory_(&memory) {}
  template <typename U>
  SlabAllocator(const SlabAllocator<U>& other) : memory_(other.memory_) {}  // NOLINT: converts

  T* allocate(size_t count) {
    static_assert(sizeof(T) <= SlabMemory::kMostBytes);
    static_assert(alignof(T) <= alignof(std::max_align_t));
    if (count != 1) throw std::bad_alloc();
    return static_cast<T*>(memory_->Allocate());
  }
  void deallocate(T* object, size_t) noexcept { memory_->Free(object); }

  template <typename U>
  bool operator==(const SlabAllocator<U>& other) const {
    return memory_ == other.memory_;
  }

 private:
  template <typename U>
  friend class SlabAllocator;

  SlabMemory* memory_;
};

}  // namespace ndlfs::fs
