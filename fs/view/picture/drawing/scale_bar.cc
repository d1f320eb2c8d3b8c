// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/scale_bar.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

#include "fs/view/picture/drawing/ticks.h"

namespace ndlfs::fs::picture {
namespace {

struct Unit {
  int exponent;  // of ten, in metres
  std::string_view symbol;
};

constexpr std::array<Unit, 5> kUnits = {
    {{3, "km"}, {0, "m"}, {-3, "mm"}, {-6, "\u00b5m"}, {-9, "nm"}}};
constexpr double kLeastLength = 1e-11;
constexpr double kMostLength = 1e6;

bool IsLength(double metres) { return metres >= kLeastLength && metres <= kMostLength; }

// The unit in which a length has a number of at least 1; parts of a nanometre have no other.
const Unit& UnitFor(double metres) {
  constexpr double kSlack = 1 + 1e-9;
  for (const Unit& unit : kUnits) {
    if (metres * kSlack >= std::pow(10, unit.exponent)) return unit;
  }
  return kUnits.back();
}

}  // namespace

std::optional<ScaleBar> ChooseScaleBar(double width_in_metres) {
  constexpr double kMostPart = 0.25;
  if (!IsLength(width_in_metres)) return std::nullopt;
  const double most = width_in_metres * kMostPart;
  const int exponent = static_cast<int>(std::floor(std::log10(most) + 1e-9));
  const double power = std::pow(10, exponent);
  const double of_most = most / power * (1 + 1e-9);
  const int digit = of_most >= 5 ? 5 : of_most >= 2 ? 2 : 1;
  const Unit& unit = UnitFor(digit * power);
  // The number by its exponent, so that it is exact.
  const double number = digit * std::pow(10, exponent - unit.exponent);
  return ScaleBar{digit * power / width_in_metres,
                  fmt::format("{} {}", NumberText(number), unit.symbol)};
}

}  // namespace ndlfs::fs::picture
