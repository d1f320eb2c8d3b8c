// SPDX-License-Identifier: MIT
#include "backends/format/foreign/known_fields.h"

#include <algorithm>
#include <array>
#include <string>

namespace ndlfs::backends::foreign {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Both in lower case and without blanks.
bool MatchesName(std::string_view pattern, std::string_view name) {
  while (!pattern.empty()) {
    if (pattern == "*") return true;
    if (name.empty()) return false;
    if (pattern.front() == '#') {
      if (!IsDigit(name.front())) return false;
      while (!name.empty() && IsDigit(name.front())) name.remove_prefix(1);
    } else {
      if (pattern.front() != name.front()) return false;
      name.remove_prefix(1);
    }
    pattern.remove_prefix(1);
  }
  return name.empty();
}

// `list` has bars between the names.
bool HasName(std::string_view list, std::string_view name) {
  const std::string key = HeaderFields::KeyOf(name);
  while (!list.empty()) {
    const size_t bar = std::min(list.find('|'), list.size());
    if (MatchesName(HeaderFields::KeyOf(list.substr(0, bar)), key)) return true;
    list.remove_prefix(std::min(bar + 1, list.size()));
  }
  return false;
}

// "", "0", "{0, 0}", "none": a field that changes nothing.
bool SaysNothing(std::string_view value) {
  if (value.find_first_not_of("{}(), 0.\t") == std::string_view::npos) return true;
  return std::ranges::any_of(
      std::array<std::string_view, 4>{"none", "no", "false", "null"},
      [&](std::string_view word) { return EqualsIgnoringCase(value, word); });
}

}  // namespace

bool KnownFields::Heeds(std::string_view name) const { return HasName(heeded, name); }

bool KnownFields::Knows(std::string_view name) const {
  return HasName(heeded, name) || HasName(descriptive, name);
}

model::Result<void> CheckField(const KnownFields& known, std::string_view name,
                               std::string_view value) {
  if (known.may_matter != nullptr && !known.may_matter(name)) return {};
  if (SaysNothing(value) || known.Knows(name)) return {};
  return model::Unsupported(
      "the field {} is not known, and may say where or what the elements are",
      model::Quote(name));
}

model::Result<void> AddField(const KnownFields& known, std::string_view name,
                             std::string_view value, HeaderFields& fields) {
  NDLFS_RETURN_IF_ERROR(CheckField(known, name, value));
  if (fields.Add(name, value) || fields[name] == value || !known.Heeds(name)) return {};
  return model::BadInput("two fields {}: {} and {}", model::Quote(name),
                         model::Quote(fields[name]), model::Quote(value));
}

bool SpeaksOfElements(std::string_view name) {
  constexpr std::array<std::string_view, 22> kWords = {
      "frameoffset", "byteoffset",  "dataoffset", "fileoffset", "lineoffset", "rowoffset",
      "bandoffset",  "pixeloffset", "headersize", "skip",       "stride",     "interleav",
      "byteorder",   "endian",      "encoding",   "padding",    "bytesper",   "rowbytes",
      "bandbytes",   "bandgap",     "rowgap",     "datafile"};
  std::string key = HeaderFields::KeyOf(name);
  std::erase(key, '_');
  // "file compression", "compressed", but not how well somebody compresses.
  if (key.find("compress") != std::string::npos) return key.find("level") == std::string::npos;
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return key.find(word) != std::string::npos; });
}

}  // namespace ndlfs::backends::foreign
