// SPDX-License-Identifier: MIT
//
// A picture in memory, to paint on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ndlfs::fs::picture {

struct Colour {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
  bool operator==(const Colour&) const = default;
};

constexpr Colour kWhite = {255, 255, 255};

// A place on the canvas, in pixels: x to the right, y down. The pixel (0, 0) reaches from 0
// to 1.
struct Point {
  double x = 0;
  double y = 0;
};

// Pixels left <= x < right, top <= y < bottom.
struct Box {
  int left = 0;
  int top = 0;
  int right = 0;
  int bottom = 0;
  int width() const { return right - left; }
  int height() const { return bottom - top; }
};

// White to begin with. Nothing is painted outside of it.
class Canvas {
 public:
  // Both must be at least 1.
  Canvas(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }
  // Three bytes a pixel, row after row: red, green, blue.
  std::span<const uint8_t> bytes() const { return bytes_; }
  // kWhite outside.
  Colour At(int x, int y) const;

  void Set(int x, int y, Colour colour);
  void Fill(const Box& box, Colour colour);
  // Stripes from lower left to upper right.
  void Hatch(const Box& box, Colour background, Colour stripes);
  // The edge of `box`, `thickness` pixels wide, outside of it.
  void Frame(const Box& box, int thickness, Colour colour);
  // Lines of joined points with round ends, smooth at their edges, inside `clip` only. One
  // point is a dot. Where the lines cross each other they are no darker.
  void Stroke(std::span<const std::vector<Point>> lines, double thickness, Colour colour,
              const Box& clip);

  // The same picture, smaller: each pixel is the average of `factor` by `factor`. The rest at
  // the right and at the bottom is cut off; neither side may be below `factor`.
  Canvas Shrunk(int factor) const;

  Box All() const { return {0, 0, width_, height_}; }

 private:
  Box Inside(const Box& box) const;
  void CoverLine(Point a, Point b, double thickness, const Box& clip);
  // Returns a box around the pixels that may be covered.
  Box Cover(std::span<const Point> points, double thickness, const Box& clip);
  // Mixes `colour` into the pixels covered inside `touched`, and clears the cover.
  void Mix(const Box& touched, Colour colour);

  int width_;
  int height_;
  std::vector<uint8_t> bytes_;
  // How much of each pixel the stroke that is being painted covers, 0 to 15: lines that cross
  // themselves are no darker there, and a picture has few colours.
  std::vector<uint8_t> cover_;
};

}  // namespace ndlfs::fs::picture
