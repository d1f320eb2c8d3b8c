// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace ndlfs::fs::picture {
namespace {

constexpr std::string_view kMinus = "\u2212";
constexpr std::array<std::string_view, 10> kSuperscripts = {
    "\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
    "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};

std::string Superscript(std::string_view digits) {
  std::string text;
  for (const char c : digits) {
    if (c == '-') text += "\u207b";
    if (c >= '0' && c <= '9') text += kSuperscripts[static_cast<size_t>(c - '0')];
  }
  return text;
}

std::string PowerOfTen(int exponent) { return "10" + Superscript(fmt::format("{}", exponent)); }

std::string WithMinus(std::string text) {
  if (text.starts_with('-')) text.replace(0, 1, kMinus);
  return text;
}

// Decimals that tell multiples of `step` from each other.
int DecimalsOf(double step) {
  for (int decimals = 0; decimals < 12; ++decimals) {
    const double scaled = step * std::pow(10, decimals);
    if (std::abs(scaled - std::round(scaled)) < 1e-6 * scaled) return decimals;
  }
  return 12;
}

std::string Fixed(double number, int decimals) {
  std::string text = fmt::format("{:.{}f}", number, decimals);
  if (text.find_first_not_of("-0.") == std::string::npos && text.starts_with('-')) {
    text.erase(0, 1);  // no minus before zero
  }
  return WithMinus(std::move(text));
}

int ExponentOf(double number) {
  return number == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(number)) + 1e-9));
}

// Multiples of `step` between the two.
std::vector<double> Multiples(double low, double high, double step) {
  constexpr double kSlack = 1e-9;
  std::vector<double> numbers;
  for (double i = std::ceil(low / step - kSlack); i * step <= high + kSlack * step; ++i) {
    if (numbers.size() > 64) break;
    numbers.push_back(i * step);
  }
  return numbers;
}

}  // namespace

double RoundStep(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (step <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

Ticks LinearTicks(double low, double high, int most) {
  if (high < low) {
    Ticks turned = LinearTicks(high, low, most);
    for (Tick& tick : turned.ticks) tick.at = 1 - tick.at;
    return turned;
  }
  const double span = high - low;
  if (std::isinf(span)) {  // more than a number can be
    return {
        {{0, NumberText(low)}, {0.5, NumberText(low / 2 + high / 2)}, {1, NumberText(high)}},
        ""};
  }
  if (!(span > 0)) return {{{0.5, NumberText(low)}}, ""};
  Ticks result;
  const double step = RoundStep(span / std::max(1, most - 1));
  // Numbers that have many digits in common are shown without these.
  double base = 0;
  const double largest = std::max(std::abs(low), std::abs(high));
  if (step > 0 && largest / step > 2e5) {
    const double unit = std::pow(10, ExponentOf(step) + 2);
    base = std::floor(low / unit) * unit;
    result.factor =
        (base < 0 ? std::string(kMinus) + " " : "+ ") + NumberText(std::abs(base), 15);
  }
  const double shown = std::max(std::abs(low - base), std::abs(high - base));
  const int exponent = ExponentOf(shown);
  double scale = 1;
  if (exponent >= 6 || exponent < -3) {
    scale = std::pow(10, exponent);
    result.factor =
        "\u00d7" + PowerOfTen(exponent) + (result.factor.empty() ? "" : " ") + result.factor;
  }
  const int decimals = DecimalsOf(step / scale);
  for (const double number : Multiples(low - base, high - base, step)) {
    result.ticks.push_back({(number - (low - base)) / span, Fixed(number / scale, decimals)});
  }
  return result;
}

Ticks LogTicks(double low, double high, int most) {
  const double begin = std::log10(low);
  const double span = std::log10(high) - begin;
  Ticks result;
  if (!std::isfinite(span) || span <= 0) return LinearTicks(low, high, most);
  const int every = std::max(1, static_cast<int>(std::ceil(span / std::max(1, most))));
  const auto label = [](double factor, int exponent) {
    if (exponent >= -2 && exponent <= 3) return NumberText(factor * std::pow(10, exponent));
    return (factor == 1 ? "" : fmt::format("{}\u00d7", factor)) + PowerOfTen(exponent);
  };
  const bool has_room = span * 3 <= most;
  for (int e = static_cast<int>(std::floor(begin)); e <= std::floor(begin + span) + 1; ++e) {
    if (e % every != 0) continue;
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor != 1 && !has_room) continue;
      const double at = (e + std::log10(factor) - begin) / span;
      if (at < -1e-9 || at > 1 + 1e-9) continue;
      result.ticks.push_back({at, label(factor, e)});
    }
  }
  return result;
}

std::string NumberText(double number, int digits) {
  if (std::isnan(number)) return "NaN";
  if (number == 0) return "0";  // and not -0
  if (std::isinf(number)) return number < 0 ? std::string(kMinus) + "inf" : "inf";
  std::string text = fmt::format("{:.{}g}", number, digits);
  const size_t e = text.find('e');
  if (e == std::string::npos) return WithMinus(std::move(text));
  const std::string mantissa = text.substr(0, e);
  const int exponent = std::atoi(text.c_str() + e + 1);
  if (mantissa == "1") return PowerOfTen(exponent);
  return WithMinus(mantissa) + "\u00d7" + PowerOfTen(exponent);
}

std::string UnitText(const std::string& units) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string text;
  for (size_t i = 0; i < units.size();) {
    size_t digits = i;
    if (units[i] == '^') digits = i + 1;
    if (units.compare(i, 2, "**") == 0) digits = i + 2;
    size_t word = i;  // the letters before
    while (word > 0 && is_letter(units[word - 1])) --word;
    const bool is_number = word > 0 && (is_digit(units[word - 1]) || units[word - 1] == '.');
    const bool follows_letter = word < i && !is_number;  // the "e" of "1e-6" is no unit
    size_t end = digits;
    if (end < units.size() && units[end] == '-') ++end;
    const size_t first_digit = end;
    while (end < units.size() && is_digit(units[end])) ++end;
    const bool is_whole = end == units.size() ||
                          !(is_letter(units[end]) || units[end] == '-' || units[end] == '.');
    if (follows_letter && is_whole && end > first_digit && end - first_digit <= 2) {
      text += Superscript(std::string_view(units).substr(digits, end - digits));
      i = end;
    } else {
      text += units[i++];
    }
  }
  return text;
}

}  // namespace ndlfs::fs::picture
