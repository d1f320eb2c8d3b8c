// SPDX-License-Identifier: MIT
#include "model/ndl/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>

#include "model/base64.h"

namespace ndlfs::model {
namespace {

constexpr WideInt kLargest = static_cast<WideInt>(1) << 100;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool TakeSign(std::string_view& text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  return negative;
}

std::optional<WideInt> ParseDigits(std::string_view text, int base) {
  if (text.empty()) return std::nullopt;
  WideInt value = 0;
  for (const char c : text) {
    const char lower = static_cast<char>(c | 0x20);
    const int digit = IsDigit(c)                     ? c - '0'
                      : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                                     : base;
    if (digit >= base || value > kLargest) return std::nullopt;
    value = value * base + digit;
  }
  return value;
}

// Removes the digits at the beginning of `text`, and returns their number.
size_t SkipDigits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), IsDigit);
  const auto count = static_cast<size_t>(end - text.begin());
  text.remove_prefix(count);
  return count;
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool IsDecimal(std::string_view text) {
  TakeSign(text);
  size_t digits = SkipDigits(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    digits += SkipDigits(text);
  }
  if (digits == 0) return false;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    TakeSign(text);
    if (SkipDigits(text) == 0) return false;
  }
  return text.empty();
}

// Whether a decimal outside the range of `double` is too small, not too large.
bool IsTiny(std::string_view decimal) {
  const size_t exponent = decimal.find_first_of("eE");
  const std::string_view digits = decimal.substr(0, exponent);
  const size_t first = digits.find_first_of("123456789");
  if (first == std::string_view::npos) return true;
  // The power of ten of the first digit that is not 0. An exponent that does not
  // fit its type outweighs any number of digits in a text.
  const size_t point = std::min(digits.find('.'), digits.size());
  int64_t power = static_cast<int64_t>(point) - static_cast<int64_t>(first);
  if (exponent != std::string_view::npos) {
    std::string_view rest = decimal.substr(exponent + 1);
    const bool negative = TakeSign(rest);
    int64_t written = 0;
    const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), written);
    if (result.ec != std::errc() || written > (int64_t{1} << 40)) return negative;
    power += negative ? -written : written;
  }
  return power < 0;
}

}  // namespace

std::optional<WideInt> ParseYamlInteger(std::string_view text) {
  if (text.starts_with("0x")) return ParseDigits(text.substr(2), 16);
  if (text.starts_with("0o")) return ParseDigits(text.substr(2), 8);
  const bool negative = TakeSign(text);
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  const std::optional<WideInt> value = ParseDigits(text, 10);
  if (!value) return std::nullopt;
  return negative ? -*value : *value;
}

bool LooksLikeYamlNumber(std::string_view text) {
  return IsDecimal(text) || ParseYamlInteger(text).has_value();
}

template <typename T>
std::optional<T> ParseYamlFloat(std::string_view text) {
  const std::string_view whole = text;
  const bool negative = TakeSign(text);
  const T sign = negative ? T{-1} : T{1};
  if (text == ".inf" || text == ".Inf" || text == ".INF") {
    return sign * std::numeric_limits<T>::infinity();
  }
  if (whole == ".nan" || whole == ".NaN" || whole == ".NAN") {
    return std::numeric_limits<T>::quiet_NaN();
  }
  if (!IsDecimal(whole)) return std::nullopt;
  T value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc::result_out_of_range) {
    if (!IsTiny(text)) return std::nullopt;
    value = 0;
  }
  return sign * value;
}

template std::optional<float> ParseYamlFloat<float>(std::string_view text);
template std::optional<double> ParseYamlFloat<double>(std::string_view text);

std::optional<bool> ParseYamlBool(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

std::optional<Blob> ParseYamlBinary(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c != ' ' && c != '\t' && c != '\n' && c != '\r'; });
  if (digits.size() % 4 != 0) return std::nullopt;
  return DecodeBase64(digits);
}

}  // namespace ndlfs::model
