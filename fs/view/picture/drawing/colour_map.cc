// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/colour_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace ndlfs::fs::picture {
namespace {

// A colour in Oklab, in which distances are those that people see.
struct Oklch {
  double lightness;  // 0 to 1
  double chroma;
  double hue;  // degrees
};

struct Linear {
  double red;
  double green;
  double blue;
  bool is_inside() const {
    const auto fits = [](double v) { return v >= -1e-4 && v <= 1 + 1e-4; };
    return fits(red) && fits(green) && fits(blue);
  }
};

// https://bottosson.github.io/posts/oklab/
Linear ToLinear(const Oklch& colour) {
  const double angle = colour.hue * std::numbers::pi / 180;
  const double a = colour.chroma * std::cos(angle);
  const double b = colour.chroma * std::sin(angle);
  const double l = std::pow(colour.lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(colour.lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(colour.lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
}

uint8_t ToByte(double linear) {
  const double v = std::clamp(linear, 0.0, 1.0);
  const double encoded = v <= 0.0031308 ? 12.92 * v : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
  return static_cast<uint8_t>(std::lround(encoded * 255));
}

// With as much chroma as a screen can show.
Colour ToColour(Oklch colour) {
  Linear linear = ToLinear(colour);
  while (!linear.is_inside() && colour.chroma > 0) {
    colour.chroma = std::max(0.0, colour.chroma - 0.002);
    linear = ToLinear(colour);
  }
  return {ToByte(linear.red), ToByte(linear.green), ToByte(linear.blue)};
}

double Between(double from, double to, double part) { return from + (to - from) * part; }

// From violet over blue and green to yellow, each as much lighter than the one before. Screens
// show little chroma in the middle, so that more would make an edge there.
Oklch Sequential(double part) {
  const double from_middle = 2 * part - 1;
  const double chroma = from_middle < 0 ? Between(0.092, 0.115, from_middle * from_middle)
                                        : Between(0.092, 0.165, std::pow(from_middle, 1.3));
  return {Between(0.25, 0.93, part), chroma, Between(312, 101, part)};
}

Oklch Diverging(double part) {
  const double from_middle = std::abs(2 * part - 1);
  return {Between(0.97, 0.42, from_middle), Between(0.005, 0.13, std::pow(from_middle, 0.8)),
          part < 0.5 ? 255.0 : 29.0};
}

std::array<Colour, kMapColours> MakeTable(Oklch (*colour_at)(double)) {
  std::array<Colour, kMapColours> table;
  for (size_t i = 0; i < kMapColours; ++i) {
    table[i] = ToColour(colour_at(static_cast<double>(i) / (kMapColours - 1)));
  }
  return table;
}

}  // namespace

Colour MapColour(ColourMap map, size_t i) {
  static const std::array<Colour, kMapColours> sequential = MakeTable(&Sequential);
  static const std::array<Colour, kMapColours> diverging = MakeTable(&Diverging);
  const auto& table = map == ColourMap::kSequential ? sequential : diverging;
  return table[std::min(i, kMapColours - 1)];
}

Colour CategoryColour(size_t i) {
  constexpr size_t kCount = 12;
  static const std::array<Colour, kCount> table = [] {
    std::array<Colour, kCount> made;
    for (size_t k = 0; k < kCount; ++k) {
      // Neighbours differ in hue and in lightness, so that they differ in print, too.
      made[k] = ToColour({k % 2 == 0 ? 0.56 : 0.80, k % 2 == 0 ? 0.12 : 0.10,
                          255.0 + 150.0 * static_cast<double>(k)});
    }
    return made;
  }();
  return table[i % kCount];
}

Colour LabelColour(size_t i) {
  constexpr size_t kCategories = 12;
  static const std::array<Colour, kLabelColours> table = [] {
    constexpr double kGoldenAngle = 137.50776405;
    constexpr std::array<double, 3> kLightness = {0.78, 0.52, 0.66};
    std::array<Colour, kLabelColours> made;
    for (size_t k = 0; k < kLabelColours; ++k) {
      made[k] = k < kCategories
                    ? CategoryColour(k)
                    : ToColour({kLightness[k % kLightness.size()], k % 2 == 0 ? 0.13 : 0.09,
                                kGoldenAngle * static_cast<double>(k)});
    }
    return made;
  }();
  return table[i % kLabelColours];
}

}  // namespace ndlfs::fs::picture
