// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/format/array_source.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Edge = ChunkGrid::Edge;

TEST(ChunkGridTest, RegularChunksAtTheEdgeAreFull) {
  const auto grid = ChunkGrid::Regular({10, 7}, {4, 7}, Edge::kFull).value();
  EXPECT_THAT(grid.counts(), ElementsAre(3, 1));
  EXPECT_THAT(grid.max_chunk_shape(), ElementsAre(4, 7));
  EXPECT_TRUE(grid.is_regular());
  EXPECT_EQ(grid.ChunkOf(0, 0), 0u);
  EXPECT_EQ(grid.ChunkOf(0, 3), 0u);
  EXPECT_EQ(grid.ChunkOf(0, 4), 1u);
  EXPECT_EQ(grid.ChunkOf(0, 9), 2u);
  EXPECT_EQ(grid.Begin(0, 2), 8u);
  EXPECT_EQ(grid.Extent(0, 2), 4u);
  EXPECT_THAT(grid.ChunkShape(std::vector<uint64_t>{2, 0}), ElementsAre(4, 7));
}

TEST(ChunkGridTest, CroppedChunksEndWithTheArray) {
  const auto grid = ChunkGrid::Regular({10, 7}, {4, 100}, Edge::kCropped).value();
  EXPECT_THAT(grid.counts(), ElementsAre(3, 1));
  EXPECT_THAT(grid.max_chunk_shape(), ElementsAre(4, 7));
  EXPECT_THAT(grid.ChunkShape(std::vector<uint64_t>{1, 0}), ElementsAre(4, 7));
  EXPECT_THAT(grid.ChunkShape(std::vector<uint64_t>{2, 0}), ElementsAre(2, 7));
}

TEST(ChunkGridTest, AScalarIsOneChunk) {
  const auto grid = ChunkGrid::Regular({}, {}, Edge::kFull).value();
  EXPECT_EQ(grid.rank(), 0u);
  EXPECT_THAT(grid.counts(), IsEmpty());
  EXPECT_THAT(grid.ChunkShape({}), IsEmpty());
}

TEST(ChunkGridTest, AnArrayWithoutExtentHasNoChunks) {
  EXPECT_THAT(ChunkGrid::Regular({0, 5}, {3, 2}, Edge::kFull)->counts(), ElementsAre(0, 3));
  EXPECT_THAT(ChunkGrid::Regular({0, 5}, {3, 2}, Edge::kCropped)->counts(), ElementsAre(0, 3));
  EXPECT_THAT(ChunkGrid::Rectilinear({0}, {{}})->counts(), ElementsAre(0));
  EXPECT_THAT(ChunkGrid::Rectilinear({0}, {{3}})->counts(), ElementsAre(0));
}

TEST(ChunkGridTest, RefusesWhatIsNoGrid) {
  const auto code = model::ErrorCode::kBadInput;
  EXPECT_THAT(ChunkGrid::Regular({10}, {4, 4}, Edge::kFull),
              test::IsError(code, "chunks of 2 dimensions in an array of 1"));
  EXPECT_THAT(ChunkGrid::Regular({10, 10}, {4, 0}, Edge::kFull),
              test::IsError(code, "chunks of extent 0"));
  EXPECT_THAT(ChunkGrid::Rectilinear({10}, {}),
              test::IsError(code, "chunks of 0 dimensions in an array of 1"));
  EXPECT_THAT(ChunkGrid::Rectilinear({10}, {{4, 0, 6}}),
              test::IsError(code, "dimension 0: a chunk of extent 0"));
  EXPECT_THAT(ChunkGrid::Rectilinear({5, 10}, {{5}, {4, 5}}),
              test::IsError(code, "dimension 1: the chunks end at 9, the array at 10"));
}

TEST(ChunkGridTest, RefusesMoreChunksThanCanBeCounted) {
  constexpr uint64_t kHuge = uint64_t{1} << 40;
  EXPECT_THAT(ChunkGrid::Regular({kHuge, kHuge}, {1, 1}, Edge::kFull),
              test::IsError(model::ErrorCode::kLimit, HasSubstr("2^64 chunks")));
  EXPECT_THAT(ChunkGrid::Regular({kHuge, kHuge}, {kHuge, 1}, Edge::kFull), test::IsOk());
  EXPECT_THAT(ChunkGrid::Rectilinear({UINT64_MAX}, {{UINT64_MAX - 1, UINT64_MAX - 1}}),
              test::IsError(model::ErrorCode::kLimit, HasSubstr("add up to more than 2^64")));
}

TEST(ChunkGridTest, ExtremeExtentsDoNotOverflow) {
  constexpr uint64_t kMax = (uint64_t{1} << 63) - 1;
  const auto grid = ChunkGrid::Regular({kMax}, {kMax - 1}, Edge::kFull).value();
  EXPECT_THAT(grid.counts(), ElementsAre(2));
  EXPECT_EQ(grid.ChunkOf(0, kMax - 1), 1u);
  EXPECT_EQ(grid.Begin(0, 1), kMax - 1);
  EXPECT_EQ(grid.Extent(0, 1), kMax - 1);
}

TEST(ChunkGridTest, RectilinearChunksHaveExtentsOfTheirOwn) {
  const auto grid = ChunkGrid::Rectilinear({10, 6}, {{2, 5, 3}, {4, 4}}).value();
  EXPECT_FALSE(grid.is_regular());
  EXPECT_THAT(grid.counts(), ElementsAre(3, 2));
  EXPECT_THAT(grid.max_chunk_shape(), ElementsAre(5, 4));
  const std::vector<uint64_t> owners = {0, 0, 1, 1, 1, 1, 1, 2, 2, 2};
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(grid.ChunkOf(0, i), owners[i]) << i;
  EXPECT_EQ(grid.Begin(0, 0), 0u);
  EXPECT_EQ(grid.Begin(0, 1), 2u);
  EXPECT_EQ(grid.Begin(0, 2), 7u);
  EXPECT_THAT(grid.ChunkShape(std::vector<uint64_t>{1, 1}), ElementsAre(5, 4));
  EXPECT_THAT(grid.ChunkShape(std::vector<uint64_t>{2, 0}), ElementsAre(3, 4));
}

TEST(ChunkGridTest, RectilinearChunksBeyondTheArrayDoNotCount) {
  const auto grid = ChunkGrid::Rectilinear({6}, {{4, 4, 100, 100}}).value();
  EXPECT_THAT(grid.counts(), ElementsAre(2));
  EXPECT_THAT(grid.max_chunk_shape(), ElementsAre(4));
  EXPECT_EQ(grid.ChunkOf(0, 5), 1u);
  EXPECT_EQ(grid.Extent(0, 1), 4u);
}

TEST(ArraySourceTest, IdsAreUnique) {
  class Source final : public ArraySource {
   public:
    const ArraySpec& spec() const override { return spec_; }
    model::Result<ChunkLocation> Locate(std::span<const uint64_t>, IndexCache&) const override {
      return ChunkLocation::Absent();
    }

   private:
    ArraySpec spec_;
  };
  const Source a, b;
  EXPECT_NE(a.id(), b.id());
}

}  // namespace
}  // namespace ndlfs::backends
