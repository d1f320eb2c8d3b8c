// SPDX-License-Identifier: MIT
#include "fs/view/base/attributes.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "backends/format/meaning_notes.h"
#include "model/path_name.h"

namespace ndlfs::fs {

model::Result<std::optional<NamedObject>> FindNamed(std::shared_ptr<const GroupInput> group,
                                                    std::string_view name) {
  if (group == nullptr) return std::nullopt;
  for (const std::string& path : backends::PathsOfNamed(group->path(), name)) {
    while (group != nullptr && !model::IsBelow(path, group->path())) group = group->Outer();
    if (group == nullptr) return std::nullopt;
    NamedObject found{path, {.group = group}};
    const size_t above = model::SplitPath(group->path()).size();
    const std::vector<std::string_view> parts = model::SplitPath(path);
    for (const std::string_view part : std::span(parts).subspan(above)) {
      if (found.child.group == nullptr) return std::nullopt;
      auto child = found.child.group->Load(part);
      if (!child && child.error().is_transient() &&
          child.error().code() != model::ErrorCode::kDenied) {
        return model::Propagate(std::move(child).error(), name);
      }
      found.child = child ? *std::move(child) : GroupChild();
    }
    if (found.child.node != nullptr) return found;
  }
  return std::nullopt;
}

std::string CfTimeUnits(const model::TimeUnit& unit) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kWords = {
      {{"D", "days"},
       {"h", "hours"},
       {"m", "minutes"},
       {"s", "seconds"},
       {"ms", "milliseconds"},
       {"us", "microseconds"},
       {"ns", "nanoseconds"},
       {"ps", "picoseconds"},
       {"fs", "femtoseconds"},
       {"as", "attoseconds"}}};
  if (unit.scale != 1) return {};
  // UDUNITS has months and years of a fixed length, which suit differences alone.
  if (unit.is_delta && unit.unit == "M") return "months";
  if (unit.is_delta && unit.unit == "Y") return "years";
  for (const auto& [symbol, word] : kWords) {
    if (symbol == unit.unit)
      return std::string(word) + (unit.is_delta ? "" : " since 1970-01-01");
  }
  return {};
}

std::string EncodingOfText(const model::Datatype& type) {
  if (type.kind() != model::Datatype::Kind::kString || !type.is_fixed_size()) return {};
  if (type.charset() == model::Charset::kAscii) return {};
  return type.charset() == model::Charset::kLatin1 ? "ISO-8859-1" : "UTF-8";
}

std::string PrintableAscii(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view letter = text.substr(i, 2);
    const bool is_micro = letter == "\u00b5" || letter == "\u03bc";
    i += is_micro ? 1 : 0;
    out += is_micro ? 'u' : text[i] < ' ' || text[i] > '~' ? '?' : text[i];
  }
  return out;
}

namespace {

// "degrees_east", "degree_E", "degreesE" ...
bool IsDegrees(std::string_view units, std::string_view side, std::string_view letter) {
  if (!units.starts_with("degree")) return false;
  units.remove_prefix(units.starts_with("degrees") ? 7 : 6);
  if (units == letter) return true;
  return units.starts_with('_') && (units.substr(1) == side || units.substr(1) == letter);
}

}  // namespace

bool IsDegreesEast(std::string_view units) { return IsDegrees(units, "east", "E"); }
bool IsDegreesNorth(std::string_view units) { return IsDegrees(units, "north", "N"); }

std::vector<std::string> WordsOf(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(kBlanks), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string LowerCase(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace ndlfs::fs
