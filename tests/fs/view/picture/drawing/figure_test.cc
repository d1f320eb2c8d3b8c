// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace ndlfs::fs::picture {
namespace {

size_t Count(const Canvas& canvas, Colour colour) {
  size_t count = 0;
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) count += canvas.At(x, y) == colour ? 1 : 0;
  }
  return count;
}

size_t CountColours(const Canvas& canvas) {
  std::set<uint32_t> colours;
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < canvas.width(); ++x) {
      const Colour c = canvas.At(x, y);
      colours.insert(uint32_t{c.red} << 16 | uint32_t{c.green} << 8 | c.blue);
    }
  }
  return colours.size();
}

double Lightness(Colour c) { return 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue; }

TEST(ColourMapTest, GoesFromDarkToLightStepByStep) {
  for (size_t i = 1; i < kMapColours; ++i) {
    const Colour a = MapColour(ColourMap::kSequential, i - 1);
    const Colour b = MapColour(ColourMap::kSequential, i);
    EXPECT_GT(Lightness(b), Lightness(a)) << i;
    EXPECT_LT(std::abs(a.red - b.red) + std::abs(a.green - b.green) + std::abs(a.blue - b.blue),
              40)
        << i;
  }
  EXPECT_EQ(MapColour(ColourMap::kSequential, 1000),
            MapColour(ColourMap::kSequential, kMapColours - 1));
}

TEST(ColourMapTest, DivergesFromLightToBlueAndRed) {
  const Colour low = MapColour(ColourMap::kDiverging, 0);
  const Colour high = MapColour(ColourMap::kDiverging, kMapColours - 1);
  EXPECT_GT(low.blue, low.red);
  EXPECT_GT(high.red, high.blue);
  EXPECT_GT(Lightness(MapColour(ColourMap::kDiverging, kMapColours / 2)), 230);
}

TEST(ColourMapTest, CategoriesDiffer) {
  std::set<uint32_t> colours;
  for (size_t i = 0; i < 12; ++i) {
    const Colour c = CategoryColour(i);
    colours.insert(uint32_t{c.red} << 16 | uint32_t{c.green} << 8 | c.blue);
  }
  EXPECT_EQ(colours.size(), 12U);
  EXPECT_EQ(CategoryColour(12), CategoryColour(0));
}

TEST(ColourMapTest, LabelsDiffer) {
  std::set<uint32_t> colours;
  for (size_t i = 0; i < kLabelColours; ++i) {
    const Colour c = LabelColour(i);
    colours.insert(uint32_t{c.red} << 16 | uint32_t{c.green} << 8 | c.blue);
    for (const Colour kept : kFigureColours) EXPECT_NE(c, kept) << i;
  }
  EXPECT_EQ(colours.size(), kLabelColours);
  EXPECT_EQ(LabelColour(3), CategoryColour(3));
  EXPECT_EQ(LabelColour(kLabelColours + 20), LabelColour(20));
}

TEST(ScaleBarTest, HasARoundLength) {
  const auto label = [](double width) {
    const auto bar = ChooseScaleBar(width);
    return bar ? bar->label : "none";
  };
  EXPECT_EQ(label(200e-6), "50 \u00b5m");
  EXPECT_EQ(label(199e-6), "20 \u00b5m");
  EXPECT_EQ(label(400e-6), "100 \u00b5m");
  EXPECT_EQ(label(4e-3), "1 mm");
  EXPECT_EQ(label(3.9e-3), "500 \u00b5m");
  EXPECT_EQ(label(1e-7), "20 nm");
  EXPECT_EQ(label(2e-10), "0.05 nm");
  EXPECT_EQ(label(0.4), "100 mm");
  EXPECT_EQ(label(50), "10 m");
  EXPECT_EQ(label(9e5), "200 km");
}

TEST(ScaleBarTest, IsATenthToAQuarterOfThePicture) {
  for (double width = 1.1e-10; width < 1e5; width *= 1.37) {
    const auto bar = ChooseScaleBar(width);
    ASSERT_TRUE(bar) << width;
    EXPECT_GE(bar->part, 0.0999) << width;
    EXPECT_LE(bar->part, 0.2501) << width;
  }
}

TEST(ScaleBarTest, WhatIsNoLengthHasNone) {
  using Limits = std::numeric_limits<double>;
  for (const double width : {0.0, -1.0, Limits::quiet_NaN(), Limits::infinity(),
                             -Limits::infinity(), Limits::max(), Limits::denorm_min()}) {
    EXPECT_FALSE(ChooseScaleBar(width)) << width;
  }
}

CellMap Map(std::vector<float> x_edges, std::vector<float> y_edges,
            std::vector<uint8_t> cells) {
  CellMap map;
  map.x_edges = std::move(x_edges);
  map.y_edges = std::move(y_edges);
  map.cells = std::move(cells);
  return map;
}

TEST(FigureTest, CellsAreAsLargeAsTheirEdgesSay) {
  Figure figure;
  figure.content = Map({0, 0.25F, 1}, {0, 1}, {0, 127});
  const Canvas canvas = PaintFigure(figure);
  const auto first = static_cast<double>(Count(canvas, MapColour(ColourMap::kSequential, 0)));
  const auto second =
      static_cast<double>(Count(canvas, MapColour(ColourMap::kSequential, 127)));
  EXPECT_GT(first, 100'000);
  EXPECT_NEAR(second / first, 3, 0.02);
}

TEST(FigureTest, TheFirstRowIsAtTheBottom) {
  Figure figure;
  figure.content = Map({0, 1}, {0, 0.5F, 1}, {0, 127});
  const Canvas canvas = PaintFigure(figure);
  EXPECT_EQ(canvas.At(600, 600), MapColour(ColourMap::kSequential, 0));
  EXPECT_EQ(canvas.At(600, 100), MapColour(ColourMap::kSequential, 127));
}

TEST(FigureTest, MissingCellsAreGreyAndBrokenOnesHatched) {
  Figure figure;
  figure.content = Map({0, 0.5F, 1}, {0, 1}, {CellMap::kMissing, CellMap::kBroken});
  const Canvas canvas = PaintFigure(figure);
  const Colour missing = canvas.At(300, 400);
  EXPECT_EQ(missing.red, missing.green);
  EXPECT_EQ(missing.red, missing.blue);
  EXPECT_NE(missing, kWhite);
  std::set<int> greens;
  for (int x = 800; x < 840; ++x) greens.insert(canvas.At(x, 400).green);
  EXPECT_EQ(greens.size(), 2U) << "stripes on white";
}

TEST(FigureTest, AScaleBarIsAsLongAsItsPart) {
  Figure figure;
  figure.aspect = 1.5;
  figure.content = Map({0, 1}, {0, 1}, {64});
  figure.scale = ScaleBar{0.2, "20 \u00b5m"};
  const Canvas canvas = PaintFigure(figure);
  const Colour colour = MapColour(ColourMap::kSequential, 64);
  int width = 0;
  for (int x = 0; x < canvas.width(); ++x) width += canvas.At(x, 430) == colour ? 1 : 0;
  int longest = 0;  // white pixels next to the box around the bar
  for (int y = 0; y < canvas.height(); ++y) {
    int run = 0;
    for (int x = 1; x < canvas.width(); ++x) {
      const bool begins = canvas.At(x - 1, y) == kBackgroundInk;
      const bool is_white = canvas.At(x, y) == kWhite;
      run = is_white && (begins || run > 0) ? run + 1 : 0;
      longest = std::max(longest, run);
    }
  }
  EXPECT_GT(Count(canvas, kBackgroundInk), 3000U) << "the box around it";
  EXPECT_NEAR(longest, 0.2 * width, 2);
  // Where there is no room for it, it is left out.
  figure.scale->label = std::string(400, 'm');
  EXPECT_EQ(Count(PaintFigure(figure), kBackgroundInk), 0U);
}

TEST(FigureTest, HasTheAspectAskedFor) {
  for (const double aspect : {0.25, 1.0, 2.0, 5.0}) {
    Figure figure;
    figure.aspect = aspect;
    figure.content = Map({0, 1}, {0, 1}, {64});
    const Canvas canvas = PaintFigure(figure);
    const Colour colour = MapColour(ColourMap::kSequential, 64);
    int width = 0;
    int height = 0;
    for (int x = 0; x < canvas.width(); ++x) width += canvas.At(x, 430) == colour ? 1 : 0;
    for (int y = 0; y < canvas.height(); ++y) height += canvas.At(600, y) == colour ? 1 : 0;
    EXPECT_NEAR(static_cast<double>(width) / height, aspect, 0.02 * aspect);
  }
}

TEST(FigureTest, ALineGoesFromLowerLeftToUpperRight) {
  Figure figure;
  LinePlot plot;
  for (int i = 0; i <= 100; ++i) plot.points.push_back({i / 100.0, i / 100.0});
  figure.content = std::move(plot);
  const Canvas canvas = PaintFigure(figure);
  const auto is_blue = [&](int x, int y) {
    return canvas.At(x, y).blue > canvas.At(x, y).red + 60;
  };
  std::vector<int> heights;
  for (const int x : {200, 600, 1000}) {
    for (int y = 0; y < canvas.height(); ++y) {
      if (!is_blue(x, y)) continue;
      heights.push_back(y);
      break;
    }
  }
  ASSERT_EQ(heights.size(), 3U);
  EXPECT_GT(heights[0], heights[1]);
  EXPECT_GT(heights[1], heights[2]);
}

TEST(FigureTest, ALineEndsWhereNothingIs) {
  Figure figure;
  LinePlot plot;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  plot.points = {{0, 0.5}, {0.4, 0.5}, {0.5, nan}, {0.6, 0.5}, {1, 0.5}};
  figure.content = std::move(plot);
  const Canvas canvas = PaintFigure(figure);
  const auto column_has_line = [&](int x) {
    for (int y = 300; y < 600; ++y) {
      if (canvas.At(x, y).blue > canvas.At(x, y).red + 60) return true;
    }
    return false;
  };
  EXPECT_TRUE(column_has_line(300));
  EXPECT_FALSE(column_has_line(600));
  EXPECT_TRUE(column_has_line(900));
}

TEST(FigureTest, ManyPointsCoverWhatAllOfThemCover) {
  Figure figure;
  LinePlot plot;
  for (int i = 0; i < 65'536; ++i)
    plot.points.push_back({i / 65'536.0, i % 2 == 0 ? 0.2 : 0.8});
  figure.content = std::move(plot);
  const Canvas canvas = PaintFigure(figure);
  EXPECT_GT(canvas.At(600, 400).blue, canvas.At(600, 400).red + 60) << "the middle of the band";
}

TEST(FigureTest, APhotoHasItsOwnColours) {
  Figure figure;
  figure.content = Photo{2, 1, {{250, 10, 20}, {10, 250, 30}}, {false, false}};
  const Canvas canvas = PaintFigure(figure);
  EXPECT_EQ(canvas.At(300, 400), (Colour{250, 10, 20}));
  EXPECT_EQ(canvas.At(900, 400), (Colour{10, 250, 30}));
}

TEST(FigureTest, HasFewColoursHoweverMuchIsWritten) {
  Figure figure;
  figure.title = "Title & more";
  figure.subtitle = "subtitle \u00b0\u00b2";
  figure.note = "a note";
  figure.has_missing = figure.has_broken = true;
  figure.x = {"x (km)", LinearTicks(-13, 170, 9).ticks};
  figure.y = {"y (km)", LinearTicks(0.1, 0.7, 9).ticks};
  CellMap map;
  for (int i = 0; i <= 128; ++i) map.x_edges.push_back(static_cast<float>(i) / 128);
  map.y_edges = {0, 1};
  for (int i = 0; i < 128; ++i) map.cells.push_back(static_cast<uint8_t>(i));
  figure.content = map;
  figure.bar = ColourBar{"K m\u207b\u00b9", LinearTicks(-1, 1, 9).ticks, true, true, {}};
  EXPECT_LE(CountColours(PaintFigure(figure)), 256U);
}

TEST(FigureTest, HostileTextsAndPlacesAreHarmless) {
  Figure figure;
  figure.title = std::string(100'000, 'W');
  figure.subtitle = "\xff\xfe\n\t";
  figure.x.label = figure.y.label = std::string(5'000, 'y');
  const double nan = std::numeric_limits<double>::quiet_NaN();
  figure.x.ticks = {{-50, "outside"}, {nan, "nowhere"}, {0.5, std::string(3000, '7')}};
  figure.y.ticks = {{50, "outside"}, {nan, "nowhere"}, {0.5, std::string(3000, '7')}};
  figure.bar = ColourBar{std::string(3000, 'b'), figure.y.ticks, true, true, {}};
  figure.content = Map({0, 1}, {0, 1}, {3});
  figure.aspect = 1e9;
  EXPECT_EQ(PaintFigure(figure).width(), kFigureWidth);
  figure.aspect = 1e-9;
  EXPECT_EQ(PaintFigure(figure).height(), kFigureHeight);
  figure.content = Map({}, {}, {});
  EXPECT_EQ(PaintFigure(figure).height(), kFigureHeight);
  figure.content = OneNumber{std::string(3000, '9')};
  EXPECT_EQ(PaintFigure(figure).height(), kFigureHeight);
}

TEST(FigureTest, TheLastLabelOfAnAxisIsNotCut) {
  Figure figure;
  figure.x.ticks = {{0, "2000-01-01"}, {1, "2000-12-31"}};
  LinePlot plot;
  plot.points = {{0, 0}, {1, 1}};
  figure.content = std::move(plot);
  const Canvas canvas = PaintFigure(figure);
  for (int y = 0; y < canvas.height(); ++y) {
    for (int x = 0; x < 4; ++x) {
      EXPECT_EQ(canvas.At(x, y), kWhite) << x << ' ' << y;
      EXPECT_EQ(canvas.At(canvas.width() - 1 - x, y), kWhite) << x << ' ' << y;
    }
  }
}

TEST(FigureTest, BlocksHaveOneColourEach) {
  Figure figure;
  CellMap map;
  constexpr int kCells = 600;
  for (int i = 0; i <= kCells; ++i) map.x_edges.push_back(static_cast<float>(i) / kCells);
  map.y_edges = {0, 1};
  for (int i = 0; i < kCells; ++i) map.cells.push_back(static_cast<uint8_t>(i % 128));
  figure.content = map;
  const Canvas whole = PaintAlone(figure, kCells);
  const Canvas coarse = PaintAlone(figure, kCells, 4);
  EXPECT_NE(whole.At(8, 5), whole.At(9, 5));
  for (int x = 9; x < 12; ++x) EXPECT_EQ(coarse.At(8, 5), coarse.At(x, 5));
  EXPECT_NE(coarse.At(8, 5), coarse.At(12, 5));
}

TEST(FigureTest, APictureAloneHasNoTitleAndFillsItsWidth) {
  Figure figure;
  figure.title = "title";
  figure.aspect = 2;
  figure.content = Map({0, 1}, {0, 1}, {64});
  const Canvas canvas = PaintAlone(figure, 320);
  EXPECT_EQ(canvas.width(), 320);
  EXPECT_EQ(canvas.height(), 160);
  EXPECT_EQ(Count(canvas, MapColour(ColourMap::kSequential, 64)), 320U * 160U);
}

}  // namespace
}  // namespace ndlfs::fs::picture
