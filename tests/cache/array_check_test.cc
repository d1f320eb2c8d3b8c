// SPDX-License-Identifier: MIT
#include "cache/array_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/format/computed_source.h"
#include "backends/store/value_checksums.h"
#include "tests/support/chunk_source.h"
#include "tests/support/result.h"

namespace ndlfs::cache {
namespace {

using backends::ChunkGrid;
using model::Datatype;
using model::Result;
using ::testing::HasSubstr;

// Knows the checksum of "file", as an archive does.
class SummingStore final : public backends::Store, public backends::ValueChecksums {
 public:
  explicit SummingStore(std::shared_ptr<test::MemoryStore> values)
      : values_(std::move(values)) {}

  Result<void> VerifyValue(std::string_view key) const override {
    compared_.emplace_back(key);
    if (is_damaged_) return model::Corrupt("its checksum differs");
    return {};
  }

  backends::StoreTraits traits() const override { return values_->traits(); }
  Result<std::optional<backends::ValueInfo>> Stat(std::string_view key) const override {
    return values_->Stat(key);
  }
  Result<std::vector<backends::StoreEntry>> List(std::string_view prefix) const override {
    return values_->List(prefix);
  }
  std::string Describe(std::string_view key) const override { return values_->Describe(key); }

  mutable std::vector<std::string> compared_;
  bool is_damaged_ = false;

 private:
  Result<std::optional<backends::ReadResult>> DoRead(
      std::string_view key, const backends::ReadOptions& options,
      const backends::Reserve& reserve) const override {
    return values_->Read(key, options, reserve);
  }

  const std::shared_ptr<test::MemoryStore> values_;
};

// `count` bytes in "file", as they are.
std::shared_ptr<test::TestSource> PlainFile(uint64_t count) {
  auto source = std::make_shared<test::TestSource>(
      Datatype::Integer(1, false),
      ChunkGrid::Regular({count}, {std::max<uint64_t>(count, 1)}, ChunkGrid::Edge::kCropped)
          .value());
  source->store_->Put("file", std::string(count, 'x'));
  source->contiguous_ = {source->store_, "file", 0, Datatype::Integer(1, false), {}};
  return source;
}

TEST(ArrayCheckTest, NothingIsStoredOfComputedElements) {
  ChunkCache cache(1000);
  const auto source = backends::MakeComputedSource(
      {uint64_t{1} << 48}, backends::ElementAt([](uint64_t i) { return 0.5 * i; }));
  EXPECT_EQ(ArrayCheck(source.value(), cache).part_count(), 0u);
}

TEST(ArrayCheckTest, ChunksAreItsPartsAndMayBeAbsent) {
  auto source = std::make_shared<test::TestSource>(
      Datatype::Integer(1, false),
      ChunkGrid::Regular({5}, {2}, ChunkGrid::Edge::kCropped).value());
  test::PutChunks(*source, "abcde", {"c1"});
  ChunkCache cache(1000);
  const ArrayCheck check(source, cache);
  EXPECT_TRUE(check.in_chunks());
  ASSERT_EQ(check.part_count(), 3u);
  EXPECT_EQ(check.Run(0).value().bytes, 2u);
  EXPECT_FALSE(check.Run(0).value().absent);
  EXPECT_TRUE(check.Run(1).value().absent);
  EXPECT_EQ(check.Run(2).value().bytes, 1u);
  source->store_->Put("c2", "xyz");
  ChunkCache later(1000);
  EXPECT_THAT(ArrayCheck(source, later).Run(2),
              test::IsError(model::ErrorCode::kCorrupt, HasSubstr("chunk 2: memory/c2: ")));
}

TEST(ArrayCheckTest, PiecesOfAFileAreItsPartsAndNoneOfThemIsEmpty) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  for (const uint64_t size : {uint64_t{1}, kMiB, 16 * kMiB, 16 * kMiB + 5}) {
    ChunkCache cache(1000);
    const auto source = PlainFile(size);
    const ArrayCheck check(source, cache);
    EXPECT_FALSE(check.in_chunks());
    uint64_t bytes = 0;
    for (uint64_t part = 0; part < check.part_count(); ++part) {
      const auto done = check.Run(part);
      ASSERT_THAT(done, test::IsOk());
      EXPECT_GT(done->bytes, 0u);
      bytes += done->bytes;
    }
    EXPECT_EQ(bytes, size);
    EXPECT_EQ(source->store_->bytes_read(), size);
    EXPECT_GE(check.part_cost() * check.part_count(), size - check.part_count());
  }
}

TEST(ArrayCheckTest, NothingIsNoPartAndCostsSomething) {
  ChunkCache cache(1000);
  EXPECT_EQ(ArrayCheck(PlainFile(0), cache).part_count(), 0u);
  EXPECT_GT(ArrayCheck(PlainFile(0), cache).part_cost(), 0u);
}

TEST(ArrayCheckTest, OfAFileThatHasAChecksumTheLastPartComparesIt) {
  for (const uint64_t size : {1u, 100u}) {
    ChunkCache cache(1000);
    const auto source = PlainFile(size);
    const auto store = std::make_shared<SummingStore>(source->store_);
    source->contiguous_->store = store;
    const ArrayCheck check(source, cache);
    ASSERT_EQ(check.part_count(), 2u);
    EXPECT_EQ(check.Run(0).value().bytes, size);
    EXPECT_TRUE(store->compared_.empty());
    EXPECT_EQ(check.Run(1).value().bytes, 0u);
    EXPECT_THAT(store->compared_, testing::ElementsAre("file"));
    store->is_damaged_ = true;
    EXPECT_THAT(check.Run(1), test::IsError(model::ErrorCode::kCorrupt,
                                            HasSubstr("memory/file: its checksum differs")));
  }
}

TEST(ArrayCheckTest, NoChecksumIsComparedOfNothingOrOfChunks) {
  ChunkCache cache(1000);
  const auto none = PlainFile(0);
  none->contiguous_->store = std::make_shared<SummingStore>(none->store_);
  EXPECT_EQ(ArrayCheck(none, cache).part_count(), 0u);
  auto chunks = std::make_shared<test::TestSource>(
      Datatype::Integer(1, false),
      ChunkGrid::Regular({4}, {2}, ChunkGrid::Edge::kFull).value());
  EXPECT_EQ(ArrayCheck(chunks, cache).part_count(), 2u);
}

}  // namespace
}  // namespace ndlfs::cache
