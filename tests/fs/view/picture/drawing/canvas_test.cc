// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/canvas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "fs/view/picture/drawing/stroke_font.h"
#include "model/utf8.h"

namespace ndlfs::fs::picture {
namespace {

using Lines = std::vector<std::vector<Point>>;

constexpr Colour kBlack = {0, 0, 0};
constexpr Colour kRed = {255, 0, 0};

size_t CountPainted(const Canvas& canvas) {
  size_t count = 0;
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) count += canvas.At(x, y) == kWhite ? 0 : 1;
  }
  return count;
}

TEST(CanvasTest, IsWhiteAtFirst) {
  const Canvas canvas(3, 2);
  EXPECT_EQ(canvas.bytes().size(), 18U);
  EXPECT_EQ(CountPainted(canvas), 0U);
}

TEST(CanvasTest, FillsABoxAndNothingElse) {
  Canvas canvas(10, 10);
  canvas.Fill({2, 3, 5, 7}, kRed);
  EXPECT_EQ(CountPainted(canvas), 12U);
  EXPECT_EQ(canvas.At(2, 3), kRed);
  EXPECT_EQ(canvas.At(4, 6), kRed);
  EXPECT_EQ(canvas.At(5, 6), kWhite);
  EXPECT_EQ(canvas.At(4, 7), kWhite);
}

TEST(CanvasTest, PaintsNothingOutside) {
  Canvas canvas(4, 4);
  canvas.Set(-1, 0, kRed);
  canvas.Set(4, 0, kRed);
  canvas.Fill({-10, -10, 100, 1}, kRed);
  EXPECT_EQ(CountPainted(canvas), 4U);
  EXPECT_EQ(canvas.At(-1, -1), kWhite);
  canvas.Fill({3, 3, 1, 1}, kRed);  // nothing
  EXPECT_EQ(CountPainted(canvas), 4U);
}

TEST(CanvasTest, FramesABoxFromOutside) {
  Canvas canvas(10, 10);
  canvas.Frame({3, 3, 6, 6}, 1, kRed);
  EXPECT_EQ(CountPainted(canvas), 16U);
  EXPECT_EQ(canvas.At(2, 2), kRed);
  EXPECT_EQ(canvas.At(6, 6), kRed);
  EXPECT_EQ(canvas.At(3, 3), kWhite);
}

TEST(CanvasTest, HatchesWithBothColours) {
  Canvas canvas(40, 40);
  canvas.Hatch({0, 0, 40, 40}, kBlack, kRed);
  std::set<int> reds;
  for (int x = 0; x < 40; ++x) reds.insert(canvas.At(x, 20).red);
  EXPECT_THAT(reds, ::testing::ElementsAre(0, 255));
  EXPECT_EQ(canvas.At(10, 10), canvas.At(11, 9)) << "from lower left to upper right";
}

TEST(CanvasTest, LinesAreSmoothAtTheirEdges) {
  Canvas canvas(40, 40);
  canvas.Stroke(Lines{{{2, 5}, {38, 30}}}, 3, kBlack, canvas.All());
  std::set<int> greys;
  for (int y = 0; y < 40; ++y) greys.insert(canvas.At(20, y).red);
  EXPECT_TRUE(greys.contains(0)) << "its middle";
  EXPECT_GE(greys.size(), 3U) << "white, black, and something between";
}

TEST(CanvasTest, LinesThatCrossAreNoDarker) {
  Canvas once(30, 30);
  Canvas twice(30, 30);
  const std::vector<Point> line = {{3, 4}, {27, 22}};
  once.Stroke(Lines{line}, 2, kBlack, once.All());
  twice.Stroke(Lines{line, line}, 2, kBlack, twice.All());
  EXPECT_TRUE(std::ranges::equal(once.bytes(), twice.bytes()));
}

TEST(CanvasTest, OnePointIsADot) {
  Canvas canvas(20, 20);
  canvas.Stroke(Lines{{{10, 10}}}, 6, kBlack, canvas.All());
  EXPECT_EQ(canvas.At(10, 10), kBlack);
  EXPECT_EQ(canvas.At(4, 4), kWhite);
}

TEST(CanvasTest, LinesStayInsideTheirBox) {
  Canvas canvas(20, 20);
  canvas.Stroke(Lines{{{-100, 10}, {100, 10}}}, 4, kBlack, {5, 0, 8, 20});
  EXPECT_EQ(canvas.At(4, 10), kWhite);
  EXPECT_EQ(canvas.At(5, 10), kBlack);
  EXPECT_EQ(canvas.At(8, 10), kWhite);
}

TEST(CanvasTest, PointsThatAreNoPlacesAreLeftOut) {
  Canvas canvas(20, 20);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double huge = std::numeric_limits<double>::max();
  canvas.Stroke(Lines{{{nan, 3}, {5, 5}}, {{-huge, 3}, {huge, 3}}, {}}, 2, kBlack,
                canvas.All());
  EXPECT_EQ(canvas.At(10, 3), kWhite);
}

TEST(StrokeFontTest, EveryCharacterOfAsciiLeavesInk) {
  for (char c = '!'; c <= '~'; ++c) {
    Canvas canvas(60, 60);
    PaintText(canvas, {20, 40}, Align::kLeft, std::string(1, c), {});
    EXPECT_GT(CountPainted(canvas), 2U) << c;
  }
}

TEST(StrokeFontTest, CharactersDifferFromEachOther) {
  std::set<std::vector<uint8_t>> seen;
  const std::string extra[] = {"\u00b0", "\u00b2", "\u00b3", "\u00b5",
                               "\u2212", "\u00d7", "\u00b7"};
  std::vector<std::string> all(std::begin(extra), std::end(extra));
  for (char c = ' '; c <= '~'; ++c) all.emplace_back(1, c);
  for (const std::string& text : all) {
    Canvas canvas(60, 60);
    PaintText(canvas, {20, 40}, Align::kLeft, text, {.size = 20});
    EXPECT_TRUE(seen.emplace(canvas.bytes().begin(), canvas.bytes().end()).second) << text;
  }
}

TEST(StrokeFontTest, OtherCharactersAndBrokenTextAreBoxes) {
  const double box = TextWidth("\u6f22", {});
  EXPECT_GT(box, 0);
  EXPECT_EQ(TextWidth("\xff", {}), box);
  EXPECT_EQ(TextWidth("\xe2\x88", {}), 2 * box) << "cut off";
  EXPECT_EQ(TextWidth("a\nb", {}), TextWidth("a b", {}));
}

TEST(StrokeFontTest, LettersBeyondAsciiAreNoBoxes) {
  const auto painted = [](const std::string& text) {
    Canvas canvas(60, 60);
    PaintText(canvas, {20, 40}, Align::kLeft, text, {.size = 20});
    return std::vector<uint8_t>(canvas.bytes().begin(), canvas.bytes().end());
  };
  std::vector<uint32_t> codes;
  for (uint32_t c = 0xA1; c <= 0x17F; ++c) codes.push_back(c);   // Latin
  for (uint32_t c = 0x391; c <= 0x3C9; ++c) codes.push_back(c);  // Greek
  for (uint32_t c = 0x410; c <= 0x44F; ++c) codes.push_back(c);  // Cyrillic
  for (uint32_t c = 0x2080; c <= 0x2089; ++c) codes.push_back(c);
  const std::set<uint32_t> left_out = {0xA4,  0xA8,  0xAA,  0xAD,  0xB6,  0xB8,  0x126,
                                       0x127, 0x132, 0x133, 0x138, 0x13F, 0x140, 0x149,
                                       0x14A, 0x14B, 0x166, 0x167, 0x17F, 0x3A2};
  const auto box = painted("\u6f22");
  for (const uint32_t code : codes) {
    if (left_out.contains(code)) continue;
    std::string text;
    ASSERT_TRUE(model::AppendUtf8(text, code));
    EXPECT_NE(painted(text), box) << std::hex << code;
  }
}

TEST(StrokeFontTest, MarksStandAboveTheirLettersAndTakeNoRoom) {
  EXPECT_EQ(TextWidth("\u00e4", {}), TextWidth("a", {}));
  EXPECT_EQ(TextWidth("a\u0308", {}), TextWidth("a", {})) << "two characters";
  EXPECT_EQ(TextWidth("\u0308", {}), 0);
  Canvas plain(40, 60);
  Canvas marked(40, 60);
  PaintText(plain, {10, 40}, Align::kLeft, "a", {.size = 20});
  PaintText(marked, {10, 40}, Align::kLeft, "\u00e4", {.size = 20});
  EXPECT_GT(CountPainted(marked), CountPainted(plain));
  for (int y = 27; y < 60; ++y) {
    for (int x = 0; x < 40; ++x) EXPECT_EQ(plain.At(x, y), marked.At(x, y)) << x << ' ' << y;
  }
}

TEST(CanvasTest, ShrinkingTakesTheAverage) {
  Canvas canvas(7, 4);
  canvas.Fill({0, 0, 1, 2}, kBlack);
  const Canvas small = canvas.Shrunk(2);
  EXPECT_EQ(small.width(), 3);
  EXPECT_EQ(small.height(), 2);
  EXPECT_EQ(small.At(0, 0), (Colour{128, 128, 128}));
  EXPECT_EQ(small.At(1, 0), kWhite);
}

TEST(StrokeFontTest, TextIsWhereItShouldBe) {
  for (const Align align : {Align::kLeft, Align::kCentre, Align::kRight}) {
    Canvas canvas(200, 40);
    PaintText(canvas, {100, 30}, align, "HHHH", {});
    size_t left = 0;
    size_t right = 0;
    for (int x = 0; x < 200; ++x) {
      for (int y = 0; y < 40; ++y)
        (x < 100 ? left : right) += canvas.At(x, y) == kWhite ? 0 : 1;
    }
    EXPECT_EQ(left == 0, align == Align::kLeft);
    EXPECT_EQ(right == 0, align == Align::kRight);
  }
}

TEST(StrokeFontTest, LongTextEndsInAnEllipsis) {
  const std::string text(500, 'x');
  const std::string fitted = FitText(text, 200, {});
  EXPECT_TRUE(fitted.ends_with("\u2026"));
  EXPECT_LE(TextWidth(fitted, {}), 200);
  EXPECT_GT(TextWidth(fitted, {}), 170);
  EXPECT_EQ(FitText("short", 200, {}), "short");
}

}  // namespace
}  // namespace ndlfs::fs::picture
