// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/png_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <utility>

#include "fs/view/picture/drawing/colour_map.h"
#include "fs/view/picture/drawing/figure_file.h"
#include "tests/fs/view/picture/drawing/read_png.h"
#include "tests/support/result.h"

namespace ndlfs::fs::picture {
namespace {

using ndlfs::test::IsError;
using ndlfs::test::IsOk;

std::string Whole(const PngFile& file) {
  return file.head + std::string(file.zeros, '\0') + file.tail;
}

TEST(PngFileTest, ReadsBackInTheSizeAskedFor) {
  Canvas canvas(50, 30);
  canvas.Fill({10, 5, 20, 15}, {200, 100, 50});
  for (const size_t colours : {size_t{2}, size_t{256}, kAllColours}) {
    const auto png = EncodePng(canvas, colours);
    ASSERT_THAT(png, IsOk());
    for (const uint64_t size : {png->size() + kFillBytes, uint64_t{1000}, uint64_t{70000}}) {
      const auto file = FillUp(*png, size);
      ASSERT_THAT(file, IsOk());
      EXPECT_EQ(file->size(), size);
      const test::Pixels pixels = test::ReadPng(Whole(*file));
      EXPECT_EQ(pixels.width, 50);
      EXPECT_EQ(pixels.height, 30);
      EXPECT_TRUE(std::ranges::equal(pixels.bytes, canvas.bytes()));
    }
  }
}

TEST(PngFileTest, FailsWherePixelsDoNotFit) {
  const auto png = EncodePng(Canvas(50, 30), kAllColours);
  ASSERT_THAT(png, IsOk());
  for (const uint64_t size : {uint64_t{0}, uint64_t{12}, png->size() + kFillBytes - 1}) {
    EXPECT_THAT(FillUp(*png, size),
                IsError(model::ErrorCode::kInternal, ::testing::HasSubstr("picture")));
  }
}

// 1, 2, 4 and 8 bits for a pixel, and widths that fill no byte.
TEST(PngFileTest, EveryDepthReadsBack) {
  for (const size_t colours : {size_t{2}, size_t{4}, size_t{16}, size_t{256}}) {
    Canvas canvas(61, 17);
    for (int i = 0; i < 61 * 17; ++i) {
      canvas.Set(i % 61, i / 61,
                 MapColour(ColourMap::kSequential,
                           static_cast<size_t>(i * 7) % colours % kMapColours));
    }
    const auto png = EncodePng(canvas, colours);
    ASSERT_THAT(png, IsOk());
    EXPECT_TRUE(std::ranges::equal(test::ReadPng(*png).bytes, canvas.bytes())) << colours;
  }
}

TEST(PngFileTest, MoreColoursThanAPaletteHasBecomeSimilarOnes) {
  Canvas canvas(100, 100);
  for (int y = 0; y < 100; ++y) {
    for (int x = 0; x < 100; ++x) {
      canvas.Set(x, y, {static_cast<uint8_t>(2 * x), static_cast<uint8_t>(2 * y), 0});
    }
  }
  const auto few = EncodePng(canvas, 256);
  ASSERT_THAT(few, IsOk());
  const test::Pixels pixels = test::ReadPng(*few);
  for (const auto& [x, y] : {std::pair(0, 0), std::pair(99, 1), std::pair(50, 70)}) {
    EXPECT_NEAR(pixels.At(x, y).red, 2 * x, 30);
    EXPECT_NEAR(pixels.At(x, y).green, 2 * y, 30);
  }
  const auto all = EncodePng(canvas, kAllColours);
  ASSERT_THAT(all, IsOk());
  EXPECT_TRUE(std::ranges::equal(test::ReadPng(*all).bytes, canvas.bytes()));
}

TEST(PngFileTest, FewColoursLeaveOutTheRareOnes) {
  Canvas canvas(100, 100);
  canvas.Fill({0, 0, 100, 50}, {10, 20, 30});
  canvas.Set(3, 3, {12, 20, 30});
  const auto png = EncodePng(canvas, 2);
  ASSERT_THAT(png, IsOk());
  const test::Pixels pixels = test::ReadPng(*png);
  EXPECT_EQ(pixels.At(3, 3), (Colour{10, 20, 30}));
  EXPECT_EQ(pixels.At(3, 90), kWhite);
}

// Many colours near the one that stands for something, which is rare.
TEST(PngFileTest, ColoursThatAreKeptAreNoOthers) {
  const Colour kept = {100, 100, 0};
  Canvas canvas(100, 100);
  for (int y = 0; y < 100; ++y) {
    for (int x = 0; x < 100; ++x) {
      canvas.Set(x, y, {static_cast<uint8_t>(50 + x), static_cast<uint8_t>(50 + y), 0});
    }
  }
  canvas.Set(3, 4, kept);
  for (const size_t colours : {16, 4}) {
    const auto png = EncodePng(canvas, colours, std::span(&kept, 1));
    ASSERT_THAT(png, IsOk());
    const test::Pixels pixels = test::ReadPng(*png);
    for (int y = 0; y < 100; ++y) {
      for (int x = 0; x < 100; ++x) {
        const bool is_kept = (x == 3 && y == 4) || (x == 50 && y == 50);
        EXPECT_EQ(pixels.At(x, y) == kept, is_kept) << x << " " << y;
      }
    }
  }
}

class FigureFileTest : public ::testing::Test {
 protected:
  static constexpr int kColumns = 1100;
  static constexpr int kRows = 800;

  // The worst that data can be.
  static Figure NoisyMap() {
    std::mt19937 random(1);
    CellMap map;
    for (int i = 0; i <= kColumns; ++i) map.x_edges.push_back(static_cast<float>(i) / kColumns);
    for (int i = 0; i <= kRows; ++i) map.y_edges.push_back(static_cast<float>(i) / kRows);
    for (int i = 0; i < kColumns * kRows; ++i) {
      map.cells.push_back(static_cast<uint8_t>(random() % kMapColours));
    }
    return Titled(std::move(map));
  }
  static Figure NoisyPhoto() {
    std::mt19937 random(1);
    Photo photo{kColumns, kRows, {}, std::vector<bool>(kColumns * kRows)};
    for (int i = 0; i < kColumns * kRows; ++i) {
      const auto bits = random();
      photo.pixels.push_back({static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8),
                              static_cast<uint8_t>(bits >> 16)});
    }
    return Titled(std::move(photo));
  }
  static Figure NoisyLine() {
    std::mt19937 random(1);
    LinePlot plot;
    for (int i = 0; i < 65'536; ++i) {
      plot.points.push_back({i / 65'536.0, static_cast<double>(random() % 1000) / 1000});
    }
    return Titled(std::move(plot));
  }

 private:
  template <typename Content>
  static Figure Titled(Content content) {
    Figure figure;
    figure.title = figure.subtitle = figure.note = std::string(300, '%');
    figure.content = std::move(content);
    return figure;
  }
};

model::Result<void> GoOn() { return {}; }

// Noise takes many tries, of which each is asked for.
TEST_F(FigureFileTest, NothingIsPaintedForNobody) {
  static int asked = 0;
  const MayGoOn twice = []() -> model::Result<void> {
    if (++asked <= 2) return {};
    return model::IoError(ECANCELED, "nobody waits");
  };
  for (const auto encode : {&EncodeFigure, &EncodeThumbnail}) {
    asked = 0;
    const auto file = encode(NoisyMap(), kLeastFileBytes, twice);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code(), model::ErrorCode::kCancelled);
    EXPECT_EQ(asked, 3);
  }
}

// Each by itself, as it takes long.
class NoisyFigureTest : public FigureFileTest,
                        public ::testing::WithParamInterface<std::tuple<int, uint64_t>> {};

TEST_P(NoisyFigureTest, FitsInEveryFile) {
  const auto [kind, size] = GetParam();
  const Figure figure = kind == 0 ? NoisyMap() : kind == 1 ? NoisyPhoto() : NoisyLine();
  const auto file = EncodeFigure(figure, size, &GoOn);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->size(), size);
  test::ReadPng(Whole(*file));
  const uint64_t most = std::min(size, kMostThumbnailBytes);
  const auto thumbnail = EncodeThumbnail(figure, most, &GoOn);
  ASSERT_THAT(thumbnail, IsOk());
  EXPECT_EQ(thumbnail->size(), most);
  EXPECT_EQ(test::ReadPng(Whole(*thumbnail)).width, kThumbnailWidth);
}
INSTANTIATE_TEST_SUITE_P(All, NoisyFigureTest,
                         ::testing::Combine(::testing::Values(0, 1, 2),
                                            ::testing::Values(kLeastFileBytes,
                                                              3 * kLeastFileBytes,
                                                              kMostFileBytes)));

TEST_F(FigureFileTest, AFileIsAboutAsLargeAsTheArray) {
  EXPECT_EQ(FigureFileSize(1), 6144U);
  EXPECT_EQ(FigureFileSize(4096), 6144U);
  EXPECT_EQ(FigureFileSize(4097), 8192U);
  EXPECT_EQ(FigureFileSize(60'000), 61'440U);
  EXPECT_EQ(FigureFileSize(uint64_t{1} << 62), 65'536U);
  EXPECT_EQ(ThumbnailFileSize(100), 6144U);
  EXPECT_EQ(ThumbnailFileSize(uint64_t{1} << 62), 16'384U);
}

TEST_F(FigureFileTest, ThumbnailsKeepTheAspect) {
  Figure figure = NoisyMap();
  figure.aspect = 2;
  const auto file = EncodeThumbnail(figure, kMostThumbnailBytes, &GoOn);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(test::ReadPng(Whole(*file)).height, kThumbnailWidth / 2);
}

}  // namespace
}  // namespace ndlfs::fs::picture
