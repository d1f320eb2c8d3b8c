// SPDX-License-Identifier: MIT
#include "model/ndl/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>

#include "model/base64.h"
#include "model/spelling.h"
#include "model/utf8.h"

namespace ndlfs::model {
namespace {

bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) { return c == ' ' || c == '\t'; }
bool Contains(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

// --- What plain scalars resolve to (yaml.org/type, and the YAML 1.2 core schema)

// Removes the longest prefix of characters in `set`; false if there is none.
bool Skip(std::string_view& text, std::string_view set) {
  const size_t end = std::min(text.find_first_not_of(set), text.size());
  text.remove_prefix(end);
  return end > 0;
}

bool IsWord(std::string_view text) {
  // The last ones are those of R's reader.
  static constexpr std::array<std::string_view, 17> kWords = {
      "",    "~",  "null", "true", "false",       "yes",      "no",           "y", "n", "on",
      "off", "<<", "=",    ".na",  ".na.integer", ".na.real", ".na.character"};
  return std::find(kWords.begin(), kWords.end(), LowerCase(text)) != kWords.end();
}

// Whether `text`, after the sign, is a number of base 60: "1:30:00.5". Some
// readers allow underscores or commas among the digits.
bool IsSexagesimal(std::string_view text) {
  bool groups = false;
  if (!Skip(text, "0123456789_,")) return false;
  while (text.starts_with(':')) {
    text.remove_prefix(1);
    if (!Skip(text, "0123456789")) return false;
    groups = true;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    Skip(text, "0123456789_");
  }
  return groups && text.empty();
}

// Whether `text`, after the sign, is a decimal number with or without an
// exponent. YAML 1.1 allows dots and underscores among the digits, some readers
// allow commas.
bool LooksDecimal(std::string_view text) {
  if (text.empty() || (!IsAsciiDigit(text[0]) && text[0] != '.')) return false;
  Skip(text, "0123456789_.,");
  if (text.empty()) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return Skip(text, "0123456789_") && text.empty();
}

// Whether `text` is a hexadecimal, octal or binary integer.
bool IsPrefixedInteger(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return false;
  const char base = static_cast<char>(text[1] | 0x20);
  const std::string_view digits = base == 'x'   ? "0123456789abcdefABCDEF_,"
                                  : base == 'o' ? "01234567_,"
                                  : base == 'b' ? "01_,"
                                                : "";
  text.remove_prefix(2);
  return Skip(text, digits) && text.empty();
}

bool IsNumber(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) {
    text.remove_prefix(1);
    // To ruamel.yaml, which reads 1.1 and 1.2, "-_1" is a number.
    if (!text.empty() && text.find_first_not_of("0123456789_") == text.npos) return true;
  }
  const std::string lower = LowerCase(text);
  return lower == ".inf" || lower == ".nan" || LooksDecimal(text) || IsPrefixedInteger(text) ||
         IsSexagesimal(text);
}

// Whether `text` is a date like "2008-12-31", alone or before a time of day.
// Ruby's reader also takes years before 0.
bool IsTimestamp(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const auto digits = [&](size_t least, size_t most) {
    size_t n = 0;
    while (n < text.size() && n < most && IsAsciiDigit(text[n])) ++n;
    text.remove_prefix(n);
    return n >= least;
  };
  const auto dash = [&] {
    const bool found = text.starts_with('-');
    if (found) text.remove_prefix(1);
    return found;
  };
  if (!digits(4, 4) || !dash() || !digits(1, 2) || !dash() || !digits(1, 2)) return false;
  if (text.empty()) return true;
  return Contains("Tt \t", text[0]) &&
         text.find_first_not_of("0123456789:.Tt+-Zz \t") == std::string_view::npos;
}

// --- Characters of plain scalars

// Whether plain scalars and literal blocks may have the character of `length`
// bytes at the front of `text`: it is printable, and no reader takes it as a
// line break.
bool IsPlainCharacter(std::string_view text, size_t length) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1) return byte(0) >= 0x20 && byte(0) != 0x7F;
  if (length == 2) return byte(0) != 0xC2 || byte(1) >= 0xA0;  // no C1 controls
  if (length == 3) {
    const std::string_view character = text.substr(0, 3);
    return character != "\u2028" && character != "\u2029" && character != "\uFEFF" &&
           character != "\uFFFE" && character != "\uFFFF";
  }
  return length == 4;
}

// The same for all characters of `text`, which is UTF-8, except `allowed` ones.
bool HasOnlyPlainCharacters(std::string_view text, std::string_view allowed = {}) {
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    if (!IsPlainCharacter(text, length) && !Contains(allowed, text.front())) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool BeginsPlain(std::string_view text, YamlPlace place) {
  const char first = text[0];
  if (Contains(",[]{}#&*!|>'\"%@`", first)) return false;
  if (!Contains("-?:", first)) return true;
  if (place == YamlPlace::kFlow && first != '-') return false;
  return text.size() > 1 && !IsBlank(text[1]);
}

// Whether characters inside `text` would end the plain scalar.
bool HasIndicators(std::string_view text, YamlPlace place) {
  if (text.back() == ':' || text.find(": ") != std::string_view::npos ||
      text.find(" #") != std::string_view::npos) {
    return true;
  }
  return place == YamlPlace::kFlow && text.find_first_of(",[]{}?") != std::string_view::npos;
}

bool IsDocumentMarker(std::string_view text) {
  return (text.starts_with("---") || text.starts_with("...")) &&
         (text.size() == 3 || IsBlank(text[3]));
}

bool CanBePlain(std::string_view text, YamlPlace place) {
  return !text.empty() && text.front() != ' ' && text.back() != ' ' &&
         HasOnlyPlainCharacters(text) && BeginsPlain(text, place) &&
         !HasIndicators(text, place) && !IsDocumentMarker(text) && !ResolvesToOther(text);
}

// --- Double quotes

uint32_t CodePoint(std::string_view character) {
  static constexpr uint32_t kLeadBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  uint32_t code_point = static_cast<unsigned char>(character[0]) & kLeadBits[character.size()];
  for (const char c : character.substr(1)) {
    code_point = code_point << 6 | (static_cast<unsigned char>(c) & 0x3F);
  }
  return code_point;
}

void AppendEscape(std::string& out, uint32_t code_point) {
  const auto to = std::back_inserter(out);
  switch (code_point) {
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\0':
      out += "\\0";
      break;
    default:
      if (code_point <= 0xFF) {
        fmt::format_to(to, "\\x{:02x}", code_point);
      } else {
        fmt::format_to(to, "\\u{:04x}", code_point);
      }
  }
}

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    const std::string_view character = text.substr(0, length);
    if (!IsPlainCharacter(text, length)) {
      AppendEscape(out, CodePoint(character));
    } else {
      if (character == "\"" || character == "\\") out += '\\';
      out += character;
    }
    text.remove_prefix(length);
  }
  out += '"';
}

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

bool ResolvesToOther(std::string_view text) {
  return text.starts_with(':') /* Ruby's symbols */ || IsWord(text) || IsNumber(text) ||
         IsTimestamp(text);
}

void AppendScalar(std::string& out, std::string_view text, YamlPlace place) {
  if (!IsUtf8(text)) return AppendScalar(out, Latin1ToUtf8(text), place);
  if (CanBePlain(text, place)) {
    out += text;
  } else {
    AppendQuoted(out, text);
  }
}

void AppendJson(std::string& out, std::string_view text) {
  if (!IsUtf8(text) || !HasOnlyPlainCharacters(text)) {
    return AppendScalar(out, text, YamlPlace::kFlow);
  }
  out += '\'';
  for (const char c : text) out.append(c == '\'' ? 2 : 1, c);
  out += '\'';
}

bool CanBeLiteralBlock(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || !IsUtf8(text)) return false;
  // Readers infer the indentation from the first line.
  if (IsBlank(text[0]) || text[0] == '\n') return false;
  if (!HasOnlyPlainCharacters(text, "\n\t")) return false;
  // Some readers drop lines of nothing but spaces.
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (!line.empty() && std::all_of(line.begin(), line.end(), IsBlank)) return false;
    begin = end + 1;
  }
  return true;
}

void AppendLiteralBlock(std::string& out, std::string_view text, size_t indent) {
  const bool ends_line = text.ends_with('\n');
  out += !ends_line ? "|-\n" : text.ends_with("\n\n") ? "|+\n" : "|\n";
  if (ends_line) text.remove_suffix(1);
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) out.append(indent, ' ');
    out.append(text, begin, end - begin);
    out += '\n';
    begin = end + 1;
  }
}

void AppendBinary(std::string& out, std::span<const std::byte> bytes) {
  out += "!!binary ";
  out += bytes.empty() ? "\"\"" : EncodeBase64(bytes);
}

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
