// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/canvas.h"

#include <algorithm>
#include <cmath>

namespace ndlfs::fs::picture {
namespace {

constexpr int kFullCover = 15;

// The distance of `p` to the line from `a` to `b`.
double Distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double length2 = dx * dx + dy * dy;
  const double along = length2 == 0 ? 0 : ((p.x - a.x) * dx + (p.y - a.y) * dy) / length2;
  const double t = std::clamp(along, 0.0, 1.0);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

uint8_t Mixed(uint8_t under, uint8_t over, int cover) {
  return static_cast<uint8_t>((under * (kFullCover - cover) + over * cover + kFullCover / 2) /
                              kFullCover);
}

bool IsUsable(Point p) {
  constexpr double kFar = 1e6;
  return std::abs(p.x) < kFar && std::abs(p.y) < kFar;  // false for NaN
}

Box Around(const Box& a, const Box& b) {
  return {std::min(a.left, b.left), std::min(a.top, b.top), std::max(a.right, b.right),
          std::max(a.bottom, b.bottom)};
}

}  // namespace

Canvas::Canvas(int width, int height)
    : width_(width),
      height_(height),
      bytes_(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, 255),
      cover_(static_cast<size_t>(width) * static_cast<size_t>(height)) {}

Box Canvas::Inside(const Box& box) const {
  return {std::clamp(box.left, 0, width_), std::clamp(box.top, 0, height_),
          std::clamp(box.right, 0, width_), std::clamp(box.bottom, 0, height_)};
}

Colour Canvas::At(int x, int y) const {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return kWhite;
  const uint8_t* at =
      &bytes_[(static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)) *
              3];
  return {at[0], at[1], at[2]};
}

void Canvas::Set(int x, int y, Colour colour) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  uint8_t* at =
      &bytes_[(static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)) *
              3];
  at[0] = colour.red;
  at[1] = colour.green;
  at[2] = colour.blue;
}

void Canvas::Fill(const Box& box, Colour colour) {
  const Box inside = Inside(box);
  for (int y = inside.top; y < inside.bottom; ++y) {
    for (int x = inside.left; x < inside.right; ++x) Set(x, y, colour);
  }
}

void Canvas::Hatch(const Box& box, Colour background, Colour stripes) {
  constexpr int kPeriod = 12;
  constexpr int kStripe = 3;
  const Box inside = Inside(box);
  for (int y = inside.top; y < inside.bottom; ++y) {
    for (int x = inside.left; x < inside.right; ++x) {
      Set(x, y, (x + y) % kPeriod < kStripe ? stripes : background);
    }
  }
}

void Canvas::Frame(const Box& box, int thickness, Colour colour) {
  const int left = box.left - thickness;
  const int right = box.right + thickness;
  Fill({left, box.top - thickness, right, box.top}, colour);
  Fill({left, box.bottom, right, box.bottom + thickness}, colour);
  Fill({left, box.top, box.left, box.bottom}, colour);
  Fill({box.right, box.top, right, box.bottom}, colour);
}

void Canvas::CoverLine(Point a, Point b, double thickness, const Box& clip) {
  const double reach = thickness / 2 + 1;
  const Box box = {
      std::max(clip.left, static_cast<int>(std::floor(std::min(a.x, b.x) - reach))),
      std::max(clip.top, static_cast<int>(std::floor(std::min(a.y, b.y) - reach))),
      std::min(clip.right, static_cast<int>(std::ceil(std::max(a.x, b.x) + reach))),
      std::min(clip.bottom, static_cast<int>(std::ceil(std::max(a.y, b.y) + reach)))};
  for (int y = box.top; y < box.bottom; ++y) {
    for (int x = box.left; x < box.right; ++x) {
      const double outside = Distance({x + 0.5, y + 0.5}, a, b) - thickness / 2;
      const double part = std::clamp(0.5 - outside, 0.0, 1.0);
      auto& cover =
          cover_[static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)];
      cover = std::max(cover, static_cast<uint8_t>(std::lround(part * kFullCover)));
    }
  }
}

void Canvas::Mix(const Box& touched, Colour colour) {
  for (int y = touched.top; y < touched.bottom; ++y) {
    for (int x = touched.left; x < touched.right; ++x) {
      auto& cover =
          cover_[static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)];
      if (cover == 0) continue;
      const Colour under = At(x, y);
      Set(x, y,
          {Mixed(under.red, colour.red, cover), Mixed(under.green, colour.green, cover),
           Mixed(under.blue, colour.blue, cover)});
      cover = 0;
    }
  }
}

Box Canvas::Cover(std::span<const Point> points, double thickness, const Box& clip) {
  Box touched = {width_, height_, 0, 0};
  const double reach = thickness / 2 + 2;
  for (size_t i = 0; i < points.size(); ++i) {
    const Point a = points[i];
    const Point b = i + 1 < points.size() ? points[i + 1] : a;
    if (!IsUsable(a) || !IsUsable(b)) continue;
    CoverLine(a, b, thickness, clip);
    touched = Around(touched, {static_cast<int>(std::floor(std::min(a.x, b.x) - reach)),
                               static_cast<int>(std::floor(std::min(a.y, b.y) - reach)),
                               static_cast<int>(std::ceil(std::max(a.x, b.x) + reach)),
                               static_cast<int>(std::ceil(std::max(a.y, b.y) + reach))});
  }
  return touched;
}

void Canvas::Stroke(std::span<const std::vector<Point>> lines, double thickness, Colour colour,
                    const Box& clip) {
  const Box inside = Inside(clip);
  Box touched = {width_, height_, 0, 0};
  for (const std::vector<Point>& line : lines) {
    touched = Around(touched, Cover(line, thickness, inside));
  }
  Mix({std::max(touched.left, inside.left), std::max(touched.top, inside.top),
       std::min(touched.right, inside.right), std::min(touched.bottom, inside.bottom)},
      colour);
}

Canvas Canvas::Shrunk(int factor) const {
  Canvas small(width_ / factor, height_ / factor);
  const int count = factor * factor;
  for (int y = 0; y < small.height_; ++y) {
    for (int x = 0; x < small.width_; ++x) {
      int red = count / 2;
      int green = count / 2;
      int blue = count / 2;
      for (int i = 0; i < count; ++i) {
        const Colour c = At(x * factor + i % factor, y * factor + i / factor);
        red += c.red;
        green += c.green;
        blue += c.blue;
      }
      small.Set(x, y,
                {static_cast<uint8_t>(red / count), static_cast<uint8_t>(green / count),
                 static_cast<uint8_t>(blue / count)});
    }
  }
  return small;
}

}  // namespace ndlfs::fs::picture
