// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ndlfs::fs {

// Many small objects, each with a number. Blocks of 64 objects lie together, apart from other
// memory: a block without objects goes back to the heap, which can then give whole pages back
// to the system. A block holds nothing but objects, because jemalloc has blocks of just the
// size of 64 objects of 40 or 56 bytes; with one word more it would round up by a fifth or a
// seventh. `T` is default-constructible; numbers that are not in use hold a T{}. Not
// thread-safe.
template <typename T>
class Slab {
 public:
  using Index = uint32_t;

  // Keeps `object`, and returns a number that was not in use.
  Index Add(T object) {
    if (roomy_.empty()) {
      // So that Remove() needs no memory.
      if (roomy_.capacity() <= blocks_.size()) roomy_.reserve(2 * blocks_.size() + 1);
      blocks_.emplace_back();
      roomy_.push_back(static_cast<Index>(blocks_.size() - 1));
    }
    const Index number = roomy_.back();
    Block& block = blocks_[number];
    if (block.objects == nullptr) block.objects = std::make_unique<Objects>();
    const auto place = static_cast<Index>(std::countr_one(block.used));
    (*block.objects)[place] = std::move(object);
    block.used |= uint64_t{1} << place;
    if (block.used == kFull) roomy_.pop_back();
    ++size_;
    return number * kPlaces + place;
  }

  // The object with a number that is in use; null for another number. Valid until it is
  // removed.
  T* Find(Index index) {
    const size_t number = index / kPlaces;
    if (number >= blocks_.size()) return nullptr;
    const bool is_used = (blocks_[number].used >> (index % kPlaces) & 1) != 0;
    return is_used ? &(*this)[index] : nullptr;
  }
  const T* Find(Index index) const { return const_cast<Slab*>(this)->Find(index); }

  // The number must be in use.
  T& operator[](Index index) { return (*blocks_[index / kPlaces].objects)[index % kPlaces]; }
  const T& operator[](Index index) const { return const_cast<Slab&>(*this)[index]; }

  // The number must be in use. Needs no memory.
  void Remove(Index index) {
    const Index number = index / kPlaces;
    Block& block = blocks_[number];
    (*block.objects)[index % kPlaces] = T{};
    if (block.used == kFull) roomy_.push_back(number);
    block.used &= ~(uint64_t{1} << (index % kPlaces));
    if (block.used == 0) block.objects = nullptr;
    --size_;
  }

  // All numbers in use are smaller.
  Index limit() const { return static_cast<Index>(blocks_.size() * kPlaces); }
  size_t size() const { return size_; }

 private:
  static constexpr Index kPlaces = 64;
  static constexpr uint64_t kFull = ~uint64_t{0};
  using Objects = std::array<T, kPlaces>;
  struct Block {
    uint64_t used = 0;                 // a bit for each object
    std::unique_ptr<Objects> objects;  // null: none is in use
  };

  std::vector<Block> blocks_;
  std::vector<Index> roomy_;  // numbers of blocks that are not full
  size_t size_ = 0;
};

}  // namespace ndlfs::fs
