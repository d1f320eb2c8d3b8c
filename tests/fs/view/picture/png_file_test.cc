// SPDX-License-Identifier: MIT
#include "fs/view/picture/png_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "fs/view/picture/colour_map.h"
#include "fs/view/picture/figure.h"
#include "tests/fs/view/picture/read_png.h"
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
  for (const PngColours colours : {PngColours::kPalette, PngColours::kAll}) {
    for (const uint64_t size : {1000U, 1001U, 5000U, 70000U}) {
      const auto file = EncodePng(canvas, colours, size);
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
  const Canvas canvas(50, 30);
  for (const uint64_t size : {0U, 12U, 40U}) {
    EXPECT_THAT(EncodePng(canvas, PngColours::kAll, size),
                IsError(model::ErrorCode::kInternal, ::testing::HasSubstr("picture")));
  }
}

TEST(PngFileTest, MoreColoursThanAPaletteHasBecomeTheNearest) {
  Canvas canvas(100, 100);
  for (int y = 0; y < 100; ++y) {
    for (int x = 0; x < 100; ++x) {
      canvas.Set(x, y, {static_cast<uint8_t>(2 * x), static_cast<uint8_t>(2 * y), 0});
    }
  }
  const auto file = EncodePng(canvas, PngColours::kPalette, 200'000);
  ASSERT_THAT(file, IsOk());
  const test::Pixels pixels = test::ReadPng(Whole(*file));
  EXPECT_EQ(pixels.At(0, 0), (Colour{0, 0, 0}));
  EXPECT_EQ(pixels.At(99, 1), (Colour{198, 2, 0}));
  const auto all = EncodePng(canvas, PngColours::kAll, 200'000);
  ASSERT_THAT(all, IsOk());
  EXPECT_TRUE(std::ranges::equal(test::ReadPng(Whole(*all)).bytes, canvas.bytes()));
}

// The worst that data can be.
TEST(PngFileTest, NoiseFitsInTheFile) {
  std::mt19937 random(1);
  Figure figure;
  CellMap map;
  constexpr int kColumns = 1100;
  constexpr int kRows = 800;
  for (int i = 0; i <= kColumns; ++i) map.x_edges.push_back(static_cast<float>(i) / kColumns);
  for (int i = 0; i <= kRows; ++i) map.y_edges.push_back(static_cast<float>(i) / kRows);
  for (int i = 0; i < kColumns * kRows; ++i) {
    map.cells.push_back(static_cast<uint8_t>(random() % kMapColours));
  }
  figure.title = figure.subtitle = figure.note = std::string(300, '%');
  figure.content = std::move(map);
  EXPECT_THAT(EncodePng(PaintFigure(figure), PngColours::kPalette, kPaletteFileBytes), IsOk());

  Photo photo{kColumns, kRows, {}, std::vector<bool>(kColumns * kRows)};
  for (int i = 0; i < kColumns * kRows; ++i) {
    const auto bits = random();
    photo.pixels.push_back({static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8),
                            static_cast<uint8_t>(bits >> 16)});
  }
  figure.content = std::move(photo);
  EXPECT_THAT(EncodePng(PaintFigure(figure), PngColours::kAll, kColourFileBytes), IsOk());
}

}  // namespace
}  // namespace ndlfs::fs::picture
