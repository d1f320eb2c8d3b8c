// SPDX-License-Identifier: MIT
#include "cache/array_sweep.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cache/chunk_cache.h"
#include "cache/chunk_spill.h"
#include "tests/support/chunk_source.h"
#include "tests/support/memory_hierarchy.h"

namespace ndlfs::cache {
namespace {

using backends::ChunkGrid;
using model::Datatype;

// 6 by 8 bytes in chunks of 2 by 4: three bands of two chunks of 8 bytes.
std::shared_ptr<test::TestSource> ThreeBands() {
  auto source = std::make_shared<test::TestSource>(
      Datatype::Integer(1, false),
      ChunkGrid::Regular({6, 8}, {2, 4}, ChunkGrid::Edge::kFull).value());
  test::PutChunks(*source, std::string(48, 'x'));
  return source;
}

class ArraySweepTest : public ::testing::Test {
 protected:
  void Open(uint64_t budget, std::shared_ptr<const backends::ArraySource> source) {
    // Each uses the one before it.
    sweep_.reset();
    reader_.reset();
    cache_ = std::make_unique<ChunkCache>(budget);
    reader_ = std::make_unique<ArrayReader>(std::move(source), *cache_);
    sweep_ = std::make_unique<ArraySweep>(*reader_);
  }
  std::vector<uint64_t> Cached() const {
    std::vector<uint64_t> found;
    for (uint64_t chunk = 0; chunk < reader_->chunk_count(); ++chunk) {
      if (cache_->Contains({reader_->source().id(), chunk})) found.push_back(chunk);
    }
    return found;
  }
  void Load(uint64_t chunk) { ASSERT_TRUE(reader_->Load(chunk).has_value()); }

  using Chunks = std::vector<uint64_t>;

  std::unique_ptr<ChunkCache> cache_;
  std::unique_ptr<ArrayReader> reader_;
  std::unique_ptr<ArraySweep> sweep_;
};

TEST_F(ArraySweepTest, DecodesTheBandsThatARangeIsInAndNoOther) {
  Open(1 << 20, ThreeBands());
  sweep_->Prepare(0, 8);
  EXPECT_EQ(Cached(), (Chunks{0, 1}));
  sweep_->Prepare(8, 16);
  EXPECT_EQ(Cached(), (Chunks{0, 1}));
  sweep_->Prepare(12, 17);
  EXPECT_EQ(Cached(), (Chunks{0, 1, 2, 3}));
  sweep_->Prepare(40, 48);
  EXPECT_EQ(Cached(), (Chunks{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(cache_->stats().misses, 6u);
}

TEST_F(ArraySweepTest, DecodesNoMoreOfABandThanAQuarterOfTheCacheHolds) {
  Open(40, ThreeBands());
  sweep_->Prepare(0, 8);
  EXPECT_EQ(Cached(), (Chunks{0}));
  sweep_->Prepare(16, 24);
  EXPECT_EQ(Cached(), (Chunks{0, 1, 2}));
  sweep_->Prepare(40, 48);
  EXPECT_EQ(cache_->stats().misses, 5u);
}

TEST_F(ArraySweepTest, DecodesOneWhereNotEvenThatHasRoom) {
  Open(8, ThreeBands());
  sweep_->Prepare(0, 16);
  EXPECT_EQ(Cached(), (Chunks{0}));
  EXPECT_EQ(cache_->stats().misses, 1u);
}

TEST_F(ArraySweepTest, DecodesNothingWhereNothingIsDecodedAhead) {
  const auto plain = ThreeBands();
  plain->store_->Put("file", std::string(48, 'x'));
  plain->contiguous_ = {plain->store_, "file", 0, Datatype::Integer(1, false), {}};
  const auto texts = std::make_shared<test::MemoryArray>(
      Datatype::String(), std::vector<uint64_t>{2},
      test::ElementStream({test::Counted("a"), test::Counted("bc")}));
  const auto none = std::make_shared<test::TestSource>(
      Datatype::Integer(1, false),
      ChunkGrid::Regular({0}, {1}, ChunkGrid::Edge::kFull).value());
  for (const std::shared_ptr<const backends::ArraySource>& source :
       {std::shared_ptr<const backends::ArraySource>(plain),
        std::shared_ptr<const backends::ArraySource>(texts),
        std::shared_ptr<const backends::ArraySource>(none)}) {
    Open(1 << 20, source);
    sweep_->Prepare(0, 1);
    sweep_->Finish(0, 1);
    EXPECT_EQ(cache_->stats().misses, 0u);
  }
}

TEST_F(ArraySweepTest, WhatAllRangesHavePassedMakesRoomFirst) {
  Open(32, ThreeBands());
  for (const uint64_t chunk : {2, 3, 0, 1}) Load(chunk);
  sweep_->Finish(8, 15);  // the range before it is not finished
  Load(4);
  EXPECT_EQ(Cached(), (Chunks{0, 1, 3, 4}));
  sweep_->Finish(0, 8);  // the last byte of chunk 1 is byte 15
  Load(5);
  EXPECT_EQ(Cached(), (Chunks{1, 3, 4, 5}));
  Load(2);
  EXPECT_EQ(Cached(), (Chunks{1, 2, 4, 5}));
  sweep_->Finish(15, 16);
  Load(0);
  EXPECT_EQ(Cached(), (Chunks{0, 2, 4, 5}));
  sweep_->Finish(16, 48);
  Load(1);
  EXPECT_EQ(Cached().size(), 4u);
}

TEST(ArraySweepSpillTest, TellsTheSpillWhatRangesWillNeed) {
  SpillSpace space(std::filesystem::temp_directory_path(), uint64_t{1} << 30);
  ChunkCache cache(1 << 20, &space);
  const ArrayReader reader(ThreeBands(), cache);
  ChunkSpill* const spill = reader.spill();
  ASSERT_NE(spill, nullptr);
  {
    ArraySweep sweep(reader);
    EXPECT_TRUE(spill->Wants(0));
    EXPECT_TRUE(spill->Wants(5));
    sweep.Finish(0, 16);
    EXPECT_FALSE(spill->Wants(1));
    EXPECT_TRUE(spill->Wants(2));
  }
  EXPECT_FALSE(spill->Wants(5));
}

}  // namespace
}  // namespace ndlfs::cache
