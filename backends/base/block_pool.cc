// SPDX-License-Identifier: MIT
#include "backends/base/block_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>
#include <utility>
#include <vector>

#include "model/mutex.h"
#include "model/sanitizers.h"

namespace ndlfs::backends {
namespace {

// malloc keeps smaller blocks itself.
constexpr size_t kLargeBytes = size_t{128} << 10;

// Keeping blocks would hide uses after free from the address sanitizer.
constexpr bool kKeep = !model::kHasAddressSanitizer;

// Rounds sizes up by less than a sixteenth, so that requests of similar sizes
// can share blocks. Bytes beyond the requested size are never touched, and so take
// no physical memory.
size_t Rounded(size_t size) {
  const size_t step = std::max<size_t>(std::bit_floor(size) / 16, 1);
  return (size + step - 1) / step * step;
}

// Large blocks ask for huge pages, because clearing the same memory in small
// pages takes several times as long.
constexpr size_t kHugePage = size_t{2} << 20;

std::byte* NewBlock(size_t size) {
  if (size < kHugePage) return static_cast<std::byte*>(::operator new(size));
  auto* const block =
      static_cast<std::byte*>(::operator new (size, std::align_val_t{kHugePage}));
  ::madvise(block, size / kHugePage * kHugePage, MADV_HUGEPAGE);  // may fail
  return block;
}

void DeleteBlock(std::byte* block, size_t size) {
  if (size < kHugePage) {
    ::operator delete(block);
  } else {
    ::operator delete (block, std::align_val_t{kHugePage});
  }
}

class Pool {
 public:
  std::byte* Take(size_t size) {
    model::MutexLock lock(mutex_);
    const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                    [&](const Block& block) { return block.size == size; });
    if (found == blocks_.rend()) return nullptr;
    std::byte* const data = found->data;
    blocks_.erase(std::next(found).base());
    bytes_ -= size;
    return data;
  }

  void Put(std::byte* data, size_t size) {
    std::vector<Block> dropped;  // freed after the lock is released
    {
      model::MutexLock lock(mutex_);
      blocks_.push_back({data, size});
      bytes_ += size;
      size_t count = 0;
      for (; bytes_ > BlockPool::kMaxBytes; ++count) bytes_ -= blocks_[count].size;
      const auto end = blocks_.begin() + static_cast<ptrdiff_t>(count);
      dropped.assign(blocks_.begin(), end);
      blocks_.erase(blocks_.begin(), end);
    }
    for (const Block& block : dropped) DeleteBlock(block.data, block.size);
  }

  size_t bytes() const {
    model::MutexLock lock(mutex_);
    return bytes_;
  }

 private:
  struct Block {
    std::byte* data;
    size_t size;
  };
  mutable model::Mutex mutex_;
  std::vector<Block> blocks_ GUARDED_BY(mutex_);  // oldest first
  size_t bytes_ GUARDED_BY(mutex_) = 0;
};

// Never destroyed, because static objects may free blocks at exit.
Pool& GlobalPool() {
  static Pool& pool = *new Pool;
  return pool;
}

}  // namespace

std::byte* BlockPool::Allocate(size_t size) {
  if (!kKeep || size < kLargeBytes || size > kMaxBytes) {
    return static_cast<std::byte*>(::operator new(size));
  }
  const size_t rounded = Rounded(size);
  if (std::byte* const block = GlobalPool().Take(rounded)) return block;
  return NewBlock(rounded);
}

void BlockPool::Free(std::byte* block, size_t size) {
  if (!kKeep || size < kLargeBytes || size > kMaxBytes) {
    ::operator delete(block);
  } else {
    GlobalPool().Put(block, Rounded(size));
  }
}

size_t BlockPool::kept_bytes() { return GlobalPool().bytes(); }

}  // namespace ndlfs::backends
