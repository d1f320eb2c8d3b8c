// SPDX-License-Identifier: MIT
//
// The chunk cache beside a reference that is too simple to be wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "cache/chunk_cache.h"

namespace ndlfs::cache {
namespace {

using backends::Bytes;

// Few enough that entries without a block cost nothing.
constexpr uint64_t kArrays = 4;
constexpr uint64_t kBlocks = 12;
constexpr uint64_t kSlots = 4;

std::vector<BlockKey> AllKeys() {
  std::vector<BlockKey> keys;
  for (uint64_t array = 0; array < kArrays; ++array) {
    for (uint64_t block = 0; block < kBlocks; ++block) keys.push_back({array, block});
    for (uint64_t slot = 0; slot < kSlots; ++slot) keys.push_back({array, slot, true});
  }
  return keys;
}

// What load number `generation` makes.
Bytes MakeBytes(uint64_t size, uint64_t generation) {
  Bytes bytes(size);
  if (size != 0) std::memset(bytes.data(), static_cast<int>(generation * 37 % 256), size);
  return bytes;
}

bool Holds(const Bytes& bytes, uint64_t size, uint64_t generation) {
  const Bytes expected = MakeBytes(size, generation);
  return bytes.size() == size &&
         (size == 0 || std::memcmp(bytes.data(), expected.data(), size) == 0);
}

struct Block {
  BlockKey key;
  uint64_t size = 0;
  uint64_t generation = 0;
};
using BlockPtr = std::shared_ptr<const Block>;

bool IsWanted(const BlockKey& key) { return key.block % 3 == 0; }

// A queue of blocks and a heap of pins. What is charged is counted anew each
// time it is asked for.
class Model {
 public:
  explicit Model(uint64_t budget) : budget_(budget) {}

  std::deque<BlockPtr> lru;    // oldest first, but retired ones before all
  std::set<BlockPtr> retired;  // of these
  std::vector<BlockPtr> pins;
  uint64_t in_flight = 0;
  std::optional<uint64_t> overflow_of;  // an array
  std::vector<uint64_t> taken;          // blocks that went there
  uint64_t hits = 0, misses = 0, evictions = 0, failures = 0;

  uint64_t Used() const {
    std::set<BlockPtr> held(lru.begin(), lru.end());
    held.insert(pins.begin(), pins.end());
    return Sum(held) + in_flight;
  }

  // Whether a load of so many bytes would have to wait for a pin.
  bool WouldWait(uint64_t bytes) const {
    const uint64_t pinned = Sum(std::set<BlockPtr>(pins.begin(), pins.end()));
    return pinned > 0 && pinned + bytes > budget_;
  }

  BlockPtr Find(const BlockKey& key) const {
    const auto found = std::ranges::find(lru, key, &Block::key);
    return found == lru.end() ? nullptr : *found;
  }

  void Touch(const BlockPtr& block) {
    std::erase(lru, block);
    lru.push_back(block);
    retired.erase(block);
    ++hits;
  }

  void Retire(const BlockPtr& block) {
    std::erase(lru, block);
    lru.push_front(block);
    retired.insert(block);
  }

  void Begin(uint64_t reserved, uint64_t block_bytes) {
    while (!lru.empty() && retired.contains(lru.front()) && lru.front()->size <= block_bytes) {
      block_bytes -= EvictOldest();
    }
    if (Used() != 0) {
      while (!lru.empty() && Used() + reserved > budget_) EvictOldest();
    }
    in_flight += reserved;
  }

  // `loaded` is null if that failed.
  void End(uint64_t reserved, const BlockPtr& loaded) {
    in_flight -= reserved;
    if (loaded == nullptr) {
      ++failures;
      return;
    }
    lru.push_back(loaded);
    // Counted as if nobody had a pin: those who have one cannot be waited for.
    const uint64_t used = Used();
    uint64_t leaving = 0;
    while (!lru.empty() && used - leaving > budget_) leaving += EvictOldest();
  }

  void Forget(uint64_t array) {
    const auto belongs = [&](const BlockPtr& block) { return block->key.array == array; };
    std::erase_if(lru, belongs);
    std::erase_if(retired, belongs);
  }

 private:
  static uint64_t Sum(const std::set<BlockPtr>& blocks) {
    uint64_t sum = 0;
    for (const BlockPtr& block : blocks) sum += block->size;
    return sum;
  }

  uint64_t EvictOldest() {
    const BlockPtr block = lru.front();
    lru.pop_front();
    retired.erase(block);
    ++evictions;
    const bool chunk = !block->key.is_index && block->size > 0;
    if (chunk && overflow_of == block->key.array && IsWanted(block->key)) {
      taken.push_back(block->key.block);
    }
    return block->size;
  }

  const uint64_t budget_;
};

class RecordingOverflow final : public ChunkCache::Overflow {
 public:
  bool Wants(uint64_t block) override { return IsWanted({0, block}); }
  void Take(uint64_t block, const Bytes& /*bytes*/) override {
    const std::lock_guard lock(mutex_);
    taken_.push_back(block);
  }
  std::vector<uint64_t> taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<uint64_t> taken_;
};

class ChunkCacheModelTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  static constexpr uint64_t kBudget = 1500;

  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  uint64_t AnySize() {
    if (OneIn(8)) return 0;  // an absent chunk
    return OneIn(30) ? kBudget + 500 : 1 + Below(400);
  }

  // A step of the cache and of the model, which must come to the same.
  void Step() {
    const uint64_t what = Below(100);
    if (what < 60) return GetChunk();
    if (what < 70) return GetIndex();
    if (what < 90) return Unpin();
    if (what < 92) return ForgetAnArray();
    if (what < 98) return RetireAChunk();
    SwitchOverflow();
  }

  void GetChunk() {
    const BlockKey key{Below(kArrays), Below(kBlocks)};
    if (const BlockPtr known = model_.Find(key)) return ExpectHit(key, known);
    const BlockPtr fresh = NewBlock(key);
    const uint64_t expected = OneIn(3) ? Below(400) : fresh->size;
    const uint64_t transient = Below(200);
    const uint64_t reserved = expected + transient;
    while (model_.WouldWait(reserved)) Unpin();
    ++model_.misses;
    model_.Begin(reserved, expected);
    const bool fails = OneIn(8);
    const auto got = cache_.GetOrLoad(key, expected, transient, [&] {
      if (OneIn(3)) GetIndex();  // as is done to find out where a chunk lies
      EXPECT_EQ(cache_.stats().used_bytes, model_.Used()) << "while it is loaded";
      return MakeOrFail(*fresh, fails);
    });
    Finish(got, fresh, fails, reserved);
  }

  void GetIndex() {
    const BlockKey key{Below(kArrays), Below(kSlots), true};
    const BlockPtr known = model_.Find(key);
    const BlockPtr fresh = NewBlock(key);
    const bool fails = OneIn(8);
    if (known != nullptr) {
      model_.Touch(known);
    } else {
      ++model_.misses;
    }
    const auto got =
        cache_.GetOrLoad(key.array, key.block, [&] { return MakeOrFail(*fresh, fails); });
    if (known == nullptr) return Finish(got, fresh, fails, 0);
    ASSERT_TRUE(got);
    EXPECT_TRUE(Holds(**got, known->size, known->generation));
  }

  void ExpectHit(const BlockKey& key, const BlockPtr& known) {
    model_.Touch(known);
    const auto got = cache_.GetOrLoad(key, 0, 0, [] {
      ADD_FAILURE() << "loaded what is there";
      return model::Result<Bytes>(Bytes(1));
    });
    ASSERT_TRUE(got);
    EXPECT_TRUE(Holds(**got, known->size, known->generation));
    MaybePin(*got, known);
  }

  BlockPtr NewBlock(const BlockKey& key) {
    return std::make_shared<Block>(Block{key, AnySize(), ++generation_});
  }

  model::Result<Bytes> MakeOrFail(const Block& block, bool fails) {
    if (fails && OneIn(3)) throw std::runtime_error("thrown");
    if (fails) return model::Corrupt("by chance");
    return MakeBytes(block.size, block.generation);
  }

  void Finish(const model::Result<ChunkCache::Handle>& got, const BlockPtr& fresh, bool fails,
              uint64_t reserved) {
    ASSERT_EQ(got.has_value(), !fails);
    model_.End(reserved, fails ? nullptr : fresh);
    if (fails) return;
    EXPECT_TRUE(Holds(**got, fresh->size, fresh->generation));
    MaybePin(*got, fresh);
  }

  void MaybePin(const ChunkCache::Handle& handle, const BlockPtr& block) {
    if (!OneIn(4)) return;
    handles_.push_back(handle);
    model_.pins.push_back(block);
  }

  // Also shows that what has been pinned is what it was.
  void Unpin() {
    if (handles_.empty()) return;
    const auto at = static_cast<std::ptrdiff_t>(Below(handles_.size()));
    const Block& block = *model_.pins[static_cast<size_t>(at)];
    EXPECT_TRUE(Holds(*handles_[static_cast<size_t>(at)], block.size, block.generation));
    handles_.erase(handles_.begin() + at);
    model_.pins.erase(model_.pins.begin() + at);
  }

  void ForgetAnArray() {
    const uint64_t array = Below(kArrays);
    cache_.Forget(array);
    model_.Forget(array);
  }

  void RetireAChunk() {
    const BlockKey key{Below(kArrays), Below(kBlocks)};
    cache_.Retire(key);
    if (const BlockPtr known = model_.Find(key)) model_.Retire(known);
  }

  void SwitchOverflow() {
    if (model_.overflow_of) {
      cache_.RemoveOverflow(*model_.overflow_of, overflow_.get());
      model_.overflow_of.reset();
    } else {
      model_.overflow_of = Below(kArrays);
      cache_.AddOverflow(*model_.overflow_of, overflow_);
    }
  }

  void Compare() const {
    const ChunkCache::Stats stats = cache_.stats();
    ASSERT_EQ(stats.used_bytes, model_.Used());
    ASSERT_EQ(stats.blocks, model_.lru.size());
    ASSERT_EQ(stats.hits, model_.hits);
    ASSERT_EQ(stats.misses, model_.misses);
    ASSERT_EQ(stats.evictions, model_.evictions);
    ASSERT_EQ(stats.failures, model_.failures);
    ASSERT_EQ(overflow_->taken(), model_.taken);
    for (const BlockKey& key : AllKeys()) {
      ASSERT_EQ(cache_.Contains(key), model_.Find(key) != nullptr)
          << "array " << key.array << ", block " << key.block
          << (key.is_index ? " (index)" : "");
    }
  }

  std::mt19937_64 random_{GetParam()};
  const std::shared_ptr<RecordingOverflow> overflow_ = std::make_shared<RecordingOverflow>();
  ChunkCache cache_{kBudget};
  Model model_{kBudget};
  std::vector<ChunkCache::Handle> handles_;  // of model_.pins
  uint64_t generation_ = 0;
};

TEST_P(ChunkCacheModelTest, AgreesWithTheModelAfterRandomOperations) {
  for (int step = 0; step < 10'000; ++step) {
    Step();
    if (HasFatalFailure()) return;
    ASSERT_NO_FATAL_FAILURE(Compare()) << "after step " << step;
  }
  EXPECT_GT(model_.evictions, 1000u);
  EXPECT_GT(model_.failures, 100u);
  EXPECT_GT(model_.taken.size(), 10u);
  while (!handles_.empty()) Unpin();
  for (uint64_t array = 0; array < kArrays; ++array) cache_.Forget(array);
  EXPECT_EQ(cache_.stats().used_bytes, 0u) << "something was left behind";
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChunkCacheModelTest, ::testing::Range<uint64_t>(1, 9));

// Threads at once, in rounds. Within a round each does as it likes and holds
// no more than one block; between the rounds, when nothing moves, what is
// charged must be what there is.
class ChunkCacheThreadsTest : public ::testing::TestWithParam<unsigned> {
 protected:
  static constexpr uint64_t kBudget = 4000;
  static constexpr size_t kThreads = 6;
  static constexpr int kRounds = 20;
  static constexpr int kStepsPerRound = 200;

  // Always the same for a block, so that threads need not agree on anything.
  static uint64_t SizeOf(const BlockKey& key) {
    return 1 + (key.array * kBlocks + key.block) * 997 % 600;
  }
  static uint64_t MarkOf(const BlockKey& key) {
    return key.array * kBlocks + key.block + (key.is_index ? 100 : 0);
  }
  static std::atomic<int>& Of(const BlockKey& key, std::vector<std::atomic<int>>& counts) {
    return counts[(key.array * 2 + (key.is_index ? 1 : 0)) * kBlocks + key.block];
  }

  static void ExpectRight(const BlockKey& key, const Bytes& bytes) {
    EXPECT_TRUE(Holds(bytes, SizeOf(key), MarkOf(key)));
  }

  model::Result<Bytes> Load(const BlockKey& key, std::mt19937& random) {
    EXPECT_EQ(Of(key, loading_).fetch_add(1), 0) << "loaded by two threads at once";
    if (!key.is_index && random() % 4 == 0) {
      const BlockKey index{key.array, random() % kSlots, true};
      const auto got =
          cache_.GetOrLoad(index.array, index.block, [&] { return Load(index, random); });
      if (got) ExpectRight(index, **got);
    }
    if (random() % 8 == 0) std::this_thread::yield();
    --Of(key, loading_);
    if (random() % 20 == 0) return model::Corrupt("by chance");
    return MakeBytes(SizeOf(key), MarkOf(key));
  }

  // A block that a thread has, or none.
  struct Pin {
    BlockKey key;
    ChunkCache::Handle handle;
    void Drop() {
      if (handle != nullptr) ExpectRight(key, *handle);
      handle.reset();
    }
  };

  void Round(Pin& pin, std::mt19937& random) {
    for (int step = 0; step < kStepsPerRound; ++step) {
      pin.Drop();
      if (random() % 100 == 0) cache_.Forget(random() % kArrays);
      if (random() % 10 == 0) cache_.Retire({random() % kArrays, random() % kBlocks});
      pin.key = {random() % kArrays, random() % kBlocks};
      const uint64_t size = SizeOf(pin.key);
      auto got =
          cache_.GetOrLoad(pin.key, size, size / 2, [&] { return Load(pin.key, random); });
      if (got) pin.handle = *std::move(got);
    }
    if (random() % 2 == 0) pin.Drop();
  }

  void CompareAtRest() {
    std::set<ChunkCache::Handle> held;
    for (const Pin& pin : pins_) {
      if (pin.handle != nullptr) held.insert(pin.handle);
    }
    const auto no_load = []() -> model::Result<Bytes> {
      ADD_FAILURE() << "loaded what is there";
      return Bytes();
    };
    for (const BlockKey& key : AllKeys()) {
      if (!cache_.Contains(key)) continue;
      const auto got = key.is_index ? cache_.GetOrLoad(key.array, key.block, no_load)
                                    : cache_.GetOrLoad(key, 0, 0, no_load);
      ASSERT_TRUE(got);
      ExpectRight(key, **got);
      held.insert(*got);
    }
    uint64_t sum = 0;
    for (const ChunkCache::Handle& handle : held) sum += handle->size();
    EXPECT_EQ(cache_.stats().used_bytes, sum);
    EXPECT_LE(sum, kBudget + kPinned);
  }

  // An index, which does not wait for the budget, can come on top of these.
  static constexpr uint64_t kPinned = kThreads * 600;

  ChunkCache cache_{kBudget};
  std::array<Pin, kThreads> pins_;
  std::vector<std::atomic<int>> loading_ = std::vector<std::atomic<int>>(kArrays * 2 * kBlocks);
};

TEST_P(ChunkCacheThreadsTest, WhatIsChargedIsWhatThereIsWhenNothingMoves) {
  cache_.AddOverflow(1, std::make_shared<RecordingOverflow>());
  std::barrier ready(kThreads + 1);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937 random(GetParam() * 100 + i);
      for (int round = 0; round < kRounds; ++round) {
        Round(pins_[i], random);
        ready.arrive_and_wait();  // all are done
        ready.arrive_and_wait();  // it has been compared
      }
    });
  }
  for (int round = 0; round < kRounds; ++round) {
    ready.arrive_and_wait();
    CompareAtRest();
    ready.arrive_and_wait();
  }
  for (std::thread& thread : threads) thread.join();
  for (Pin& pin : pins_) pin.Drop();
  for (uint64_t array = 0; array < kArrays; ++array) cache_.Forget(array);
  EXPECT_EQ(cache_.stats().used_bytes, 0u) << "something was left behind";
  EXPECT_EQ(cache_.stats().blocks, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChunkCacheThreadsTest, ::testing::Range(1u, 5u));

}  // namespace
}  // namespace ndlfs::cache
