// SPDX-License-Identifier: MIT
#include "cache/array_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cache/chunk_cache.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::cache {
namespace {

using model::Datatype;
using ::testing::HasSubstr;

// `rows` by `columns` bytes, each the low byte of its number, in chunks of 3x4.
std::shared_ptr<test::MemoryArray> Grid(uint64_t rows, uint64_t columns) {
  const uint64_t across = (columns + 3) / 4;
  std::map<uint64_t, std::string> chunks;
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t column = 0; column < columns; ++column) {
      chunks[row / 3 * across + column / 4] += static_cast<char>(row * columns + column);
    }
  }
  return std::make_shared<test::MemoryArray>(Datatype::Integer(1, false),
                                             std::vector<uint64_t>{rows, columns},
                                             std::vector<uint64_t>{3, 4}, std::move(chunks));
}

// The elements by their number, and that none came twice.
std::map<uint64_t, std::string> Collect(const ArrayReader& reader, unsigned threads) {
  std::mutex mutex;
  std::map<uint64_t, std::string> found;
  const auto visit = [&](const ElementRun& run) -> model::Result<void> {
    const std::lock_guard lock(mutex);
    for (uint64_t i = 0; i < run.count; ++i) {
      const bool is_new =
          found.emplace(run.first + i, std::string(backends::AsText(run[i]))).second;
      EXPECT_TRUE(is_new) << run.first + i;
    }
    return {};
  };
  EXPECT_THAT(ScanArray(reader, threads, visit), test::IsOk());
  return found;
}

TEST(ArrayScanTest, VisitsEachElementOnceByItsNumber) {
  for (const unsigned threads : {1u, 4u}) {
    ChunkCache cache(1 << 20);
    const ArrayReader reader(Grid(200, 203), cache);
    const auto found = Collect(reader, threads);
    ASSERT_EQ(found.size(), 200u * 203u);
    for (const auto& [number, bytes] : found) {
      ASSERT_EQ(bytes, std::string(1, static_cast<char>(number)));
    }
    EXPECT_EQ(cache.stats().misses, reader.chunk_count());
  }
}

TEST(ArrayScanTest, DecodesEachChunkOnceAlsoWhereARowOfThemDoesNotFit) {
  ChunkCache cache(64);  // a row of chunks takes 609
  const ArrayReader reader(Grid(200, 203), cache);
  EXPECT_EQ(Collect(reader, 2).size(), 200u * 203u);
  EXPECT_EQ(cache.stats().misses, reader.chunk_count());
}

TEST(ArrayScanTest, LeavesOnlyTheBeginningInTheCache) {
  ChunkCache cache(2000);
  const ArrayReader reader(Grid(200, 203), cache);
  Collect(reader, 1);
  EXPECT_TRUE(cache.Contains({reader.source().id(), 0}));
  EXPECT_LT(cache.stats().used_bytes, 1000u);
}

TEST(ArrayScanTest, OneElementAndNoneAreNothingSpecial) {
  ChunkCache cache(1 << 20);
  const auto scalar = std::make_shared<test::MemoryArray>(Datatype::Integer(1, false),
                                                          std::vector<uint64_t>{}, "x");
  EXPECT_THAT(Collect(ArrayReader(scalar, cache), 2),
              ::testing::ElementsAre(::testing::Pair(0u, "x")));
  const auto none = std::make_shared<test::MemoryArray>(
      Datatype::Integer(1, false), std::vector<uint64_t>{0, 3}, std::vector<uint64_t>{1, 3},
      std::map<uint64_t, std::string>());
  EXPECT_TRUE(Collect(ArrayReader(none, cache), 2).empty());
}

TEST(ArrayScanTest, EndsWithTheChunkThatIsBroken) {
  ChunkCache cache(1 << 20);
  const auto half = std::make_shared<test::MemoryArray>(
      Datatype::Integer(1, false), std::vector<uint64_t>{4}, std::vector<uint64_t>{2},
      std::map<uint64_t, std::string>{{0, "ab"}});
  const auto visit = [](const ElementRun&) -> model::Result<void> { return {}; };
  EXPECT_THAT(ScanArray(ArrayReader(half, cache), 1, visit),
              test::IsError(model::ErrorCode::kCorrupt, HasSubstr("chunk 1: ")));
}

TEST(ArrayScanTest, EndsWhenItsVisitorFailsOrThrows) {
  ChunkCache cache(1 << 20);
  const ArrayReader reader(Grid(200, 203), cache);
  std::atomic<int> calls{0};
  const auto refuse = [&](const ElementRun&) -> model::Result<void> {
    ++calls;
    return model::Limit("enough");
  };
  EXPECT_THAT(ScanArray(reader, 4, refuse),
              test::IsError(model::ErrorCode::kLimit, HasSubstr("enough")));
  EXPECT_LT(calls, 10);
  const auto fail = [](const ElementRun&) -> model::Result<void> { throw std::bad_alloc(); };
  EXPECT_THAT(ScanArray(reader, 4, fail), test::IsError(model::ErrorCode::kBusy, ::testing::_));
}

TEST(ArrayScanTest, ElementsOfVariableSizeKeepTheirNumbersAcrossChunks) {
  const auto text = [](uint64_t number) {
    return test::Counted(std::string(number, static_cast<char>('a' + number)));
  };
  std::map<uint64_t, std::string> chunks;
  const std::vector<std::vector<uint64_t>> numbers = {{0, 1, 3, 4}, {2, 5}, {6, 7}, {8}};
  for (size_t chunk = 0; chunk < numbers.size(); ++chunk) {
    std::vector<std::string> elements;
    for (const uint64_t number : numbers[chunk]) elements.push_back(text(number));
    chunks[chunk] = test::ElementStream(elements);
  }
  const auto texts = std::make_shared<test::MemoryArray>(
      Datatype::String(), std::vector<uint64_t>{3, 3}, std::vector<uint64_t>{2, 2}, chunks);
  ChunkCache cache(1 << 20);
  const auto found = Collect(ArrayReader(texts, cache), 1);
  ASSERT_EQ(found.size(), 9u);
  for (const auto& [number, bytes] : found) EXPECT_EQ(bytes, text(number)) << number;
}

}  // namespace
}  // namespace ndlfs::cache
