// SPDX-License-Identifier: MIT
#include "backends/format/dmrpp/fill_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "backends/format/foreign/header_text.h"
#include "backends/format/ncml/ncml_values.h"
#include "model/attributes.h"

namespace ndlfs::backends::dmrpp {
namespace {

using model::Datatype;
using model::Value;

constexpr size_t kDigitsOfHyrax = 6;
// NC_FILL_FLOAT and NC_FILL_DOUBLE of netCDF.
constexpr double kNetCdfFill = 9.9692099683868690e+36;

// How Hyrax writes a number: as "%g".
std::string Shortened(double value) { return fmt::format("{:g}", value); }

// Digits from the first one that is not 0 to the exponent.
size_t SignificantDigits(std::string_view number) {
  const std::string_view mantissa = number.substr(0, number.find_first_of("eE"));
  const auto begin = std::ranges::find_if(mantissa, [](char c) { return c > '0' && c <= '9'; });
  return static_cast<size_t>(
      std::count_if(begin, mantissa.end(), [](unsigned char c) { return std::isdigit(c); }));
}

// Whether only one number that somebody would choose is written like this.
bool IsExact(const Datatype& type, std::string_view text) {
  const bool is_whole = text.find_first_of(".eE") == text.npos;
  const size_t digits = SignificantDigits(text);
  const size_t all_digits = type.size() == sizeof(float)
                                ? std::numeric_limits<float>::max_digits10
                                : std::numeric_limits<double>::max_digits10;
  return digits < kDigitsOfHyrax || digits >= all_digits ||
         (is_whole && digits == kDigitsOfHyrax);
}

std::optional<double> ParseFloat(const Datatype& type, std::string_view text,
                                 const model::Attribute* attribute) {
  const bool is_single = type.size() == sizeof(float);
  if (attribute != nullptr && attribute->type == type) {
    const Value* only = model::OnlyItem(attribute->value);
    const double* value = only == nullptr ? nullptr : only->real();
    if (value != nullptr && Shortened(*value) == text) return *value;
  }
  const double standard =
      is_single ? static_cast<double>(static_cast<float>(kNetCdfFill)) : kNetCdfFill;
  if (Shortened(standard) == text) return standard;
  const auto value = foreign::ParseReal(text);
  if (!value) return std::nullopt;
  if (!std::isfinite(*value)) return text.starts_with('-') ? -std::fabs(*value) : *value;
  return IsExact(type, text) ? value : std::nullopt;
}

std::optional<std::vector<std::byte>> Encode(const Datatype& type, const Value& value) {
  std::vector<std::byte> element(type.size());
  if (!model::EncodeElement(type, value, element)) return std::nullopt;
  return element;
}

}  // namespace

std::optional<std::vector<std::byte>> ParseFill(const Datatype& type, std::string_view text,
                                                const model::Attribute* attribute) {
  if (type.kind() == Datatype::Kind::kString) {
    if (text.starts_with("unsupported-")) return std::nullopt;
    return Encode(type, Value(text));
  }
  if (type.kind() == Datatype::Kind::kFloat) {
    const auto value = ParseFloat(type, text, attribute);
    if (!value) return std::nullopt;
    const bool is_single = type.size() == sizeof(float);
    return Encode(type,
                  Value(is_single ? static_cast<double>(static_cast<float>(*value)) : *value));
  }
  const auto values = ncml::ParseValues(type, text, std::nullopt);
  if (!values || values->size() != 1) return std::nullopt;
  return Encode(type, values->front());
}

}  // namespace ndlfs::backends::dmrpp
