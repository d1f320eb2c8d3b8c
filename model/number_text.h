// SPDX-License-Identifier: MIT
//
// Numbers in texts of files and command lines, as std::from_chars reads them: without blanks,
// without a plus sign, a minus sign only where the type has one, never in the words of a
// locale. A number that does not fit its type is none.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace ndlfs::model {

// Takes the number that `text` begins with off its front. `base` is for integers. nullopt, and
// `text` stays, if there is none.
template <typename Number>
std::optional<Number> TakeNumber(std::string_view& text, int base = 10) {
  Number number{};
  const char* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<Number>) {
    read = std::from_chars(text.data(), end, number);
  } else {
    read = std::from_chars(text.data(), end, number, base);
  }
  if (read.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  return number;
}

// The number that all of `text` is.
template <typename Number>
std::optional<Number> ParseNumber(std::string_view text, int base = 10) {
  const auto number = TakeNumber<Number>(text, base);
  return text.empty() ? number : std::nullopt;
}

}  // namespace ndlfs::model
