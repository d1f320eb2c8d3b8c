// SPDX-License-Identifier: MIT
#include "backends/format/foreign/header_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "model/number_text.h"

namespace ndlfs::backends::foreign {
namespace {

using model::Result;

constexpr std::string_view kBlanks = " \t\r\v\f";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

template <typename Number>
std::optional<Number> Parse(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.front() == '+') return std::nullopt;
  return model::ParseNumber<Number>(text);
}

template <typename Number, typename ParseOne>
std::optional<std::vector<Number>> ParseAll(std::string_view text, const ParseOne& parse) {
  std::vector<Number> numbers;
  for (const std::string_view word : SplitWords(text)) {
    const std::optional<Number> number = parse(word);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// A pattern in parts: what is before and behind the number, and its least width.
struct Pattern {
  std::string before, after;
  int width = 0;
  bool has_zeros = false;
};

Result<Pattern> ParsePattern(std::string_view pattern) {
  const auto refuse = [&] {
    return model::BadInput("{} is no pattern with one number", model::Quote(pattern));
  };
  const size_t percent = pattern.find('%');
  if (percent == std::string_view::npos) return refuse();
  Pattern made;
  made.before = pattern.substr(0, percent);
  std::string_view rest = pattern.substr(percent + 1);
  made.has_zeros = rest.starts_with('0');
  while (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest.front()))) {
    constexpr int kMostWidth = 64;
    made.width = made.width * 10 + (rest.front() - '0');
    if (made.width > kMostWidth) return refuse();
    rest.remove_prefix(1);
  }
  if (!rest.starts_with('d') && !rest.starts_with('i') && !rest.starts_with('u'))
    return refuse();
  made.after = rest.substr(1);
  if (made.after.find('%') != std::string::npos) return refuse();
  return made;
}

}  // namespace

Result<std::string> ReadBeginning(const Store& file, uint64_t limit) {
  NDLFS_TRY(const auto bytes, file.Read("", limit, {0, limit}));
  if (!bytes) return model::NotFound("the file is gone");
  return std::string(AsText(bytes->span()));
}

Result<std::string> ReadBeginning(const Store& file, uint64_t limit,
                                  const std::function<bool(std::string_view)>& is_enough) {
  constexpr uint64_t kFirst = uint64_t{16} << 10;
  for (uint64_t size = kFirst; size < limit; size *= 8) {
    NDLFS_TRY(std::string text, ReadBeginning(file, size));
    if (text.size() < size || is_enough(text)) return text;
  }
  return ReadBeginning(file, limit);
}

Result<std::string> ReadHeaderText(const Store& file) {
  NDLFS_TRY(std::string text, ReadBeginning(file, kMaxHeaderBytes + 1));
  if (text.size() <= kMaxHeaderBytes) return text;
  return model::Limit("a header of more than {} bytes", kMaxHeaderBytes);
}

std::optional<std::string_view> TakeLine(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view TakeWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  return word;
}

std::vector<std::string_view> SplitWords(std::string_view text) {
  std::vector<std::string_view> words;
  for (auto word = TakeWord(text); !word.empty(); word = TakeWord(text)) words.push_back(word);
  return words;
}

std::string_view Trim(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);  // npos + 1 is 0
}

std::string Lowercase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), Lower);
  return lower;
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return Lower(x) == Lower(y); });
}

bool StartsIgnoringCase(std::string_view text, std::string_view beginning) {
  return EqualsIgnoringCase(text.substr(0, beginning.size()), beginning);
}

std::optional<uint64_t> ParseCount(std::string_view text) { return Parse<uint64_t>(text); }
std::optional<int64_t> ParseInteger(std::string_view text) { return Parse<int64_t>(text); }

std::optional<double> ParseReal(std::string_view text) {
  if (text.find_first_of("dD") == std::string_view::npos) return Parse<double>(text);
  std::string with_e(text);
  std::ranges::replace(with_e, 'D', 'E');
  std::ranges::replace(with_e, 'd', 'e');
  return Parse<double>(with_e);
}

std::optional<std::vector<uint64_t>> ParseCounts(std::string_view text) {
  return ParseAll<uint64_t>(text, ParseCount);
}
std::optional<std::vector<double>> ParseReals(std::string_view text) {
  return ParseAll<double>(text, ParseReal);
}

std::string HeaderFields::KeyOf(std::string_view name) {
  std::string key = Lowercase(name);
  std::erase(key, ' ');
  return key;
}

bool HeaderFields::Add(std::string_view name, std::string_view value) {
  return fields_.emplace(KeyOf(name), value).second;
}

std::string_view HeaderFields::operator[](std::string_view name) const {
  const auto found = fields_.find(KeyOf(name));
  return found == fields_.end() ? std::string_view() : std::string_view(found->second);
}

Result<std::vector<std::string>> ExpandPattern(std::string_view pattern, int64_t first,
                                               int64_t last, int64_t step, uint64_t limit) {
  NDLFS_TRY(const Pattern parts, ParsePattern(pattern));
  constexpr int64_t kMost = int64_t{1} << 40;
  const bool is_sound = first >= 0 && last >= 0 && first < kMost && last < kMost &&
                        step > -kMost && step < kMost && step != 0;
  if (!is_sound || (last - first) / step < 0) {
    return model::BadInput("no numbers from {} to {} in steps of {}", first, last, step);
  }
  const auto count = static_cast<uint64_t>((last - first) / step) + 1;
  if (count > limit) return model::Limit("{} files, more than {}", count, limit);
  std::vector<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t number = first + static_cast<int64_t>(i) * step;
    const std::string digits = parts.has_zeros ? fmt::format("{:0{}}", number, parts.width)
                                               : fmt::format("{:{}}", number, parts.width);
    names.push_back(parts.before + digits + parts.after);
  }
  return names;
}

}  // namespace ndlfs::backends::foreign
