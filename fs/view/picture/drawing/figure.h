// SPDX-License-Identifier: MIT
//
// A figure: a line or a map of colours, axes, titles, and a colour bar.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fs/view/picture/drawing/canvas.h"
#include "fs/view/picture/drawing/colour_map.h"
#include "fs/view/picture/drawing/ticks.h"

namespace ndlfs::fs::picture {

// A bar of a round length in a picture, which tells how large things are.
struct ScaleBar {
  double part = 0;    // of the width of the picture: 0.1 to 0.25
  std::string label;  // "20 µm"
};

// The longest bar of 1, 2 or 5 times a power of ten that is at most a quarter of the width of
// the picture, in the unit in which its number is 1 to 500, or in nanometres. nullopt if the
// width is no length, or so small or large that there is no usual unit for it.
std::optional<ScaleBar> ChooseScaleBar(double width_in_metres);

constexpr int kFigureWidth = 1200;
constexpr int kFigureHeight = 800;
constexpr int kThumbnailWidth = 320;

// The colours of the page, and of elements that are missing, of no category, or cannot be read.
// No other colour of a figure may become one of these.
inline constexpr Colour kMissingGrey = {0xC4, 0xC4, 0xC4};
inline constexpr Colour kBackgroundInk = {0x2A, 0x2C, 0x30};
inline constexpr Colour kStripes = {0xB0, 0x30, 0x30};
inline constexpr std::array kFigureColours = {kWhite, kMissingGrey, kBackgroundInk, kStripes};

// Places along an axis go from 0 to 1, from left to right and from the bottom to the top.
struct FigureAxis {
  std::string label;
  std::vector<Tick> ticks;
};

// Points from left to right. A line ends where a coordinate is NaN.
struct LinePlot {
  std::vector<Point> points;  // y up
  // Ranges in which nothing could be read.
  std::vector<std::pair<double, double>> broken;
  // Whether to mark the points, because there are few of them.
  bool has_markers = false;
};

// Rectangles of one colour each.
struct CellMap {
  static constexpr uint8_t kBackground = 253;  // none of the categories
  static constexpr uint8_t kMissing = 254;
  static constexpr uint8_t kBroken = 255;

  // Where columns and rows begin and end: one more than there are, ascending from 0 to 1.
  std::vector<float> x_edges;
  std::vector<float> y_edges;
  // Row after row from the bottom: the number of a colour, kBackground, kMissing or kBroken.
  std::vector<uint8_t> cells;
  ColourMap colours = ColourMap::kSequential;
  // The colours of the numbers, if they are those of no map: categories, labels.
  std::vector<Colour> palette = {};
};

// Pixels in their own colours.
struct Photo {
  uint32_t columns = 0;
  uint32_t rows = 0;
  std::vector<Colour> pixels;  // row after row from the top
  std::vector<bool> broken;    // one for each pixel
};

// One number in the middle.
struct OneNumber {
  std::string text;
};

struct ColourBar {
  std::string label;
  std::vector<Tick> ticks;
  // Whether there are values below and above the range.
  bool goes_below = false;
  bool goes_above = false;
  // Alternatively, a colour for each name, from the bottom.
  std::vector<std::string> categories;
  std::vector<Colour> category_colours = {};  // as many
};

struct Figure {
  std::string title;
  std::string subtitle;
  std::string note;  // in a line at the bottom
  FigureAxis x;
  FigureAxis y;
  // Width by height of the frame; 0 fills the available room.
  double aspect = 0;
  bool has_missing = false;  // the legend explains missing elements
  bool has_broken = false;
  std::optional<ColourBar> bar;
  std::optional<ScaleBar> scale = {};  // at the lower right of the content
  std::variant<OneNumber, LinePlot, CellMap, Photo> content;
};

// On a canvas of kFigureWidth and kFigureHeight. It has at most 256 colours, except for a
// Photo. Cells of a map and pixels of a photo become squares of `block` pixels: fewer details,
// and a smaller file.
Canvas PaintFigure(Figure figure, int block = 1);

// The content alone, without titles and axes, `width` pixels wide, and as high as it must be.
Canvas PaintAlone(const Figure& figure, int width, int block = 1);

// About how many columns and rows a figure can show.
constexpr int kMostColumns = 900;
constexpr int kMostRows = 600;

}  // namespace ndlfs::fs::picture
