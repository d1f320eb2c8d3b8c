// SPDX-License-Identifier: MIT
//
// The marks along an axis of numbers, at round numbers.
#pragma once

#include <string>
#include <vector>

namespace ndlfs::fs::picture {

struct Tick {
  double at = 0;      // from 0, the begin of the axis, to 1, its end
  std::string label;  // UTF-8
};

struct Ticks {
  std::vector<Tick> ticks;
  // How to get the number from a label, for the title of the axis: "×10⁶", "+ 1600000".
  std::string factor;
};

// Ticks from `low` to `high`, about `most` of them and no more, at multiples of 1, 2, 2.5 or 5
// and a power of ten. Both are finite; if `high` is below `low`, the axis descends. If they are
// equal, there is one tick.
Ticks LinearTicks(double low, double high, int most);

// The same on a logarithmic scale, at powers of ten, and between them if there are few. Both
// are above 0, and `low` is below `high`.
Ticks LogTicks(double low, double high, int most);

// The nearest round step that is not below `step`.
double RoundStep(double step);

// A number as a person writes it: with as many digits as needed, "−1.5×10⁻⁷" if it is tiny or
// huge.
std::string NumberText(double number, int digits = 6);

// "m s-1" as "m s⁻¹", "m^2" and "m**2" as "m²".
std::string UnitText(const std::string& units);

}  // namespace ndlfs::fs::picture
