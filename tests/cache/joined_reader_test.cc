// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cache/array_check.h"
#include "cache/array_reader.h"
#include "cache/array_scan.h"
#include "cache/load_counts.h"
#include "tests/support/chunk_source.h"

namespace ndlfs::cache {
namespace {

using backends::ArraySource;
using backends::ChunkGrid;
using backends::JoinedPart;
using model::Datatype;
using ::testing::HasSubstr;

// A join of arrays that a test has made; each part may be null.
class TestJoin final : public ArraySource, public backends::JoinedArray {
 public:
  TestJoin(std::vector<uint64_t> shape, size_t dim, std::vector<uint64_t> bounds)
      : dim_(dim), bounds_(std::move(bounds)) {
    spec_.dtype = Datatype::Integer(2, true);
    spec_.shape = shape;
    std::vector<uint64_t> chunk = shape;
    chunk[dim] = 1;
    spec_.grid = ChunkGrid::Regular(shape, chunk, ChunkGrid::Edge::kCropped).value();
  }
  const backends::ArraySpec& spec() const override { return spec_; }
  model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t>,
                                                backends::IndexCache&) const override {
    return model::Internal("asked for a chunk");
  }
  const JoinedArray* joined() const override { return this; }
  size_t dim() const override { return dim_; }
  const std::vector<uint64_t>& bounds() const override { return bounds_; }
  model::Result<JoinedPart> OpenPart(size_t i) const override {
    ++opened_;
    if (failing_ == i) return model::Corrupt("part {} is broken", i);
    return parts_.at(i);
  }
  bool is_plain() const override { return false; }

  backends::ArraySpec spec_;
  const size_t dim_;
  const std::vector<uint64_t> bounds_;
  std::vector<JoinedPart> parts_;
  std::optional<size_t> failing_;
  mutable size_t opened_ = 0;
};

// The number of each element of the join, along which the parts are cut.
std::string Numbers(const std::vector<uint64_t>& shape) {
  std::string all(test::Product(shape) * 2, '\0');
  for (size_t i = 0; i < all.size() / 2; ++i) {
    const auto number = static_cast<int16_t>(i * 7);
    std::memcpy(all.data() + 2 * i, &number, 2);
  }
  return all;
}

// A join of parts of the extents `extents` along `dim`. All are cut into chunks of their own.
std::shared_ptr<TestJoin> MakeJoin(const std::vector<uint64_t>& shape, size_t dim,
                                   const std::vector<uint64_t>& extents, bool is_new = false) {
  std::vector<uint64_t> bounds = {0};
  for (const uint64_t extent : extents) bounds.push_back(bounds.back() + extent);
  auto join = std::make_shared<TestJoin>(shape, dim, bounds);
  const std::string all = Numbers(shape);
  uint64_t outer = 1;
  uint64_t run = 2;
  for (size_t d = 0; d < dim; ++d) outer *= shape[d];
  for (size_t d = dim + 1; d < shape.size(); ++d) run *= shape[d];
  for (size_t i = 0; i < extents.size(); ++i) {
    std::string elements;
    for (uint64_t o = 0; o < outer; ++o) {
      elements += all.substr((o * shape[dim] + bounds[i]) * run, extents[i] * run);
    }
    std::vector<uint64_t> part_shape = shape;
    part_shape[dim] = extents[i];
    if (is_new) part_shape.erase(part_shape.begin() + static_cast<ptrdiff_t>(dim));
    std::vector<uint64_t> chunk;
    for (const uint64_t extent : part_shape)
      chunk.push_back(std::max<uint64_t>(1, (extent + i) / 2));
    auto part = std::make_shared<test::TestSource>(
        Datatype::Integer(2, true),
        ChunkGrid::Regular(part_shape, chunk, ChunkGrid::Edge::kFull).value());
    if (extents[i] != 0) test::PutChunks(*part, elements);
    join->parts_.push_back({part, nullptr, "part"});
  }
  return join;
}

std::string ReadAll(const ArrayReader& reader, size_t step) {
  std::string all(reader.byte_size(), '?');
  for (size_t at = 0; at < all.size(); at += step) {
    const auto span =
        std::as_writable_bytes(std::span(all)).subspan(at, std::min(step, all.size() - at));
    const auto read = reader.Read(at, span);
    if (!read) return read.error().message();
  }
  return all;
}

struct JoinCase {
  std::vector<uint64_t> shape;
  size_t dim;
  std::vector<uint64_t> extents;
  bool is_new;
};
class JoinedReaderTest : public ::testing::TestWithParam<JoinCase> {};

TEST_P(JoinedReaderTest, TheElementsOfThePartsAreInTheirPlaces) {
  const auto& [shape, dim, extents, is_new] = GetParam();
  ChunkCache cache(1 << 20);
  const ArrayReader reader(MakeJoin(shape, dim, extents, is_new), cache);
  for (const size_t step : {1, 3, 8, 17, 1000000}) {
    EXPECT_EQ(ReadAll(reader, step), Numbers(shape)) << step;
  }
}

TEST_P(JoinedReaderTest, AScanAndACheckMeetEachElementOnce) {
  const auto& [shape, dim, extents, is_new] = GetParam();
  ChunkCache cache(1 << 20);
  const auto join = MakeJoin(shape, dim, extents, is_new);
  const ArrayReader reader(join, cache);
  std::string all(reader.byte_size(), '?');
  ASSERT_TRUE(ScanArray(reader, 1, [&](const ElementRun& run) -> model::Result<void> {
    for (uint64_t i = 0; i < run.count; ++i) {
      std::memcpy(all.data() + 2 * (run.first + i), run[i].data(), 2);
    }
    return {};
  }));
  EXPECT_EQ(all, Numbers(shape));
  const ArrayCheck check(join, cache);
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < check.part_count(); ++i) bytes += check.Run(i).value().bytes;
  EXPECT_EQ(bytes, all.size());
}

TEST_P(JoinedReaderTest, ChunksThatAreLoadedAheadAreThoseOfTheParts) {
  const auto& [shape, dim, extents, is_new] = GetParam();
  ChunkCache cache(1 << 20);
  const ArrayReader reader(MakeJoin(shape, dim, extents, is_new), cache);
  for (uint64_t chunk = 0; chunk < reader.chunk_count(); ++chunk) reader.Prefetch(chunk);
  const uint64_t misses = cache.stats().misses;
  EXPECT_GT(misses, 0u);
  EXPECT_EQ(ReadAll(reader, 4), Numbers(shape));
  EXPECT_EQ(cache.stats().misses, misses);
  for (uint64_t chunk = 0; chunk < reader.chunk_count(); ++chunk) reader.Retire(chunk);
  EXPECT_EQ(ReadAll(reader, 4), Numbers(shape));
}

INSTANTIATE_TEST_SUITE_P(All, JoinedReaderTest,
                         ::testing::Values(JoinCase{{6, 4}, 0, {1, 3, 2}, false},
                                           JoinCase{{4, 7}, 1, {2, 0, 4, 1}, false},
                                           JoinCase{{3, 5, 4}, 1, {2, 3}, false},
                                           JoinCase{{3, 5, 4}, 2, {1, 3}, false},
                                           JoinCase{{3, 5, 4}, 0, {1, 1, 1}, true},
                                           JoinCase{{3, 2, 4}, 1, {1, 1}, true},
                                           JoinCase{{4}, 0, {1, 1, 1, 1}, true}));

TEST(JoinedReaderTest, ReadingOnePartOpensNoOther) {
  ChunkCache cache(1 << 20);
  const auto join = MakeJoin({600, 4}, 0, std::vector<uint64_t>(300, 2));
  const ArrayReader reader(join, cache);
  std::byte out[16];
  ASSERT_TRUE(reader.Read(1600, out));
  EXPECT_EQ(join->opened_, 1u);
  ASSERT_TRUE(reader.Read(1600, out));
  EXPECT_EQ(join->opened_, 1u);
}

TEST(JoinedReaderTest, ChunksOfAllPartsAreCounted) {
  ChunkCache cache(1 << 20);
  const ArrayReader reader(MakeJoin({6, 4}, 0, {2, 2, 2}), cache);
  ReadAll(reader, 1000);
  EXPECT_EQ(reader.counts().decoded, cache.stats().misses);
  EXPECT_GE(reader.counts().decoded, 3u);
  EXPECT_EQ(reader.counts().decoded_bytes, cache.stats().loaded_bytes);
}

TEST(JoinedReaderTest, ABrokenPartIsAnErrorForItsElementsOnly) {
  ChunkCache cache(1 << 20);
  const auto join = MakeJoin({6, 4}, 0, {2, 2, 2});
  join->failing_ = 1;
  const ArrayReader reader(join, cache);
  std::byte out[16];
  EXPECT_TRUE(reader.Read(0, out));
  EXPECT_THAT(reader.Read(16, out).error().message(), HasSubstr("part 1 is broken"));
  EXPECT_TRUE(reader.Read(32, out));
}

TEST(JoinedReaderTest, APartThatIsMissingIsFillValues) {
  ChunkCache cache(1 << 20);
  const auto join = MakeJoin({3, 2}, 0, {1, 1, 1});
  join->parts_[1].source = nullptr;
  join->spec_.fill = {std::byte{0xaa}, std::byte{0xbb}};
  const ArrayReader reader(join, cache);
  EXPECT_EQ(ReadAll(reader, 3),
            Numbers({3, 2}).substr(0, 4) + "\xaa\xbb\xaa\xbb" + Numbers({3, 2}).substr(8));
}

TEST(JoinedReaderTest, APartOfAnotherSizeIsNotRead) {
  ChunkCache cache(1 << 20);
  const auto join = MakeJoin({4, 2}, 0, {2, 2});
  join->parts_[1] = MakeJoin({3, 2}, 0, {3})->parts_[0];
  const ArrayReader reader(join, cache);
  EXPECT_THAT(ReadAll(reader, 100), HasSubstr("a part with 6 elements of 2 bytes, expected 4"));
}

TEST(JoinedReaderTest, ChunksOfPartsAreForgottenWithTheReader) {
  ChunkCache cache(1 << 20);
  const auto join = MakeJoin({6, 4}, 0, {2, 2, 2});
  {
    const ArrayReader reader(join, cache);
    EXPECT_EQ(ReadAll(reader, 100), Numbers({6, 4}));
    EXPECT_GT(cache.stats().blocks, 0u);
  }
  EXPECT_EQ(cache.stats().blocks, 0u);
}

// Makes int16 of int8.
class Widen final : public backends::ElementConverter {
 public:
  Widen() : ElementConverter(1, 2) {}
  model::Result<void> Convert(backends::ConstByteSpan from,
                              backends::ByteSpan to) const override {
    for (size_t i = 0; i < from.size(); ++i) {
      const auto number = static_cast<int16_t>(100 * std::to_integer<int>(from[i]));
      std::memcpy(to.data() + 2 * i, &number, 2);
    }
    return {};
  }
};

TEST(JoinedReaderTest, ElementsOfAPartAreConverted) {
  ChunkCache cache(1 << 20);
  const auto join = MakeJoin({2, 3}, 0, {1, 1});
  auto part = std::make_shared<test::TestSource>(
      Datatype::Integer(1, true),
      ChunkGrid::Regular({1, 3}, {1, 2}, ChunkGrid::Edge::kFull).value());
  test::PutChunks(*part, "\1\2\3");
  join->parts_[1] = {part, std::make_shared<Widen>(), "wide"};
  const ArrayReader reader(join, cache);
  std::string expected = Numbers({2, 3}).substr(0, 6);
  for (const int16_t number : {100, 200, 300}) {
    expected.append(reinterpret_cast<const char*>(&number), 2);
  }
  for (const size_t step : {1, 3, 5, 100}) EXPECT_EQ(ReadAll(reader, step), expected);
}

TEST(JoinedReaderTest, LoadingAChunkAheadLoadsWhatItCoversAndNoMore) {
  ChunkCache cache(1 << 20);
  const auto join = MakeJoin({3, 5, 4}, 1, {2, 3});  // in chunks of 1 by 1 by 2
  const ArrayReader reader(join, cache);
  reader.Retire(0);
  EXPECT_EQ(join->opened_, 0u);
  reader.Prefetch(0);
  EXPECT_EQ(cache.stats().misses, 6u);
  reader.Prefetch(1);
  EXPECT_EQ(cache.stats().misses, 12u);
  EXPECT_EQ(join->opened_, 1u);
  reader.Prefetch(2);
  EXPECT_EQ(join->opened_, 2u);
}

TEST(JoinedReaderTest, AMissingPartHidesNoneOfThoseAfterItFromAChunk) {
  ChunkCache cache(1 << 20);
  const auto join = MakeJoin({4, 4}, 0, {1, 1, 2});
  join->spec_.grid = ChunkGrid::Regular({4, 4}, {2, 4}, ChunkGrid::Edge::kCropped).value();
  join->parts_[0].source = nullptr;
  join->spec_.fill = {std::byte{0xaa}, std::byte{0xbb}};
  const ArrayReader reader(join, cache);
  EXPECT_TRUE(reader.Prefetch(0));
  EXPECT_EQ(join->opened_, 2u);
  EXPECT_GT(cache.stats().misses, 0u);
}

TEST(JoinedReaderTest, TheCostOfAChunkIsThatOfItsParts) {
  ChunkCache cache(1 << 20);
  const auto join = MakeJoin({6, 4}, 0, {2, 2, 2});
  std::vector<uint64_t> whole = {6, 4};
  join->spec_.grid = ChunkGrid::Regular(whole, whole, ChunkGrid::Edge::kCropped).value();
  const ArrayReader reader(join, cache);
  const auto cost = reader.CostOf(0);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->fetched_bytes, 48u + 8u) << "the chunks of the last part are larger";
  EXPECT_FALSE(cost->is_kept);
  EXPECT_TRUE(*reader.IsStored(0));
  EXPECT_FALSE(reader.IsKept(0));
  EXPECT_TRUE(reader.Prefetch(0));
  EXPECT_TRUE(reader.CostOf(0)->is_kept) << "all are in memory";
}

TEST(JoinedReaderTest, PartsThatAreMissingCostNothingAndEmptyOnesAreLeftOut) {
  ChunkCache cache(1 << 20);
  const auto join = MakeJoin({4, 2}, 0, {2, 0, 2});
  std::vector<uint64_t> whole = {4, 2};
  join->spec_.grid = ChunkGrid::Regular(whole, whole, ChunkGrid::Edge::kCropped).value();
  join->failing_ = 2;
  const ArrayReader reader(join, cache);
  const auto cost = reader.CostOf(0);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->fetched_bytes, 8u);
}

TEST(JoinedReaderTest, ManyPartsAreOpenAtATime) {
  ChunkCache cache(1 << 20);
  const auto join = MakeJoin({600, 1}, 0, std::vector<uint64_t>(300, 2));
  const ArrayReader reader(join, cache);
  EXPECT_EQ(ReadAll(reader, 100), Numbers({600, 1}));
  EXPECT_EQ(join->opened_, 300u);
  std::byte out[4];
  ASSERT_TRUE(reader.Read(0, out));
  EXPECT_EQ(join->opened_, 301u) << "the first was closed";
}

}  // namespace
}  // namespace ndlfs::cache
