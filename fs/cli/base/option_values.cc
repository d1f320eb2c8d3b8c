// SPDX-License-Identifier: MIT
#include "fs/cli/base/option_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "fs/cli/base/nearest.h"
#include "fs/view/all_views.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

constexpr double kMaxSeconds = 1e9;
constexpr std::array<std::string_view, 7> kLogLevels = {"trace", "debug",    "info", "warn",
                                                        "error", "critical", "off"};

constexpr std::array<std::string_view, 2> kZarrChunks = {"raw", "stored"};
constexpr std::array<std::string_view, 2> kDetections = {"content", "name"};
constexpr std::array<std::string_view, 2> kFormats = {"text", "json"};

constexpr std::array<std::pair<std::string_view, int>, 5> kUnits = {
    {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}};

// A correction for a number of `digits` digits with an unknown unit.
std::string SizeProposal(std::string_view text, size_t digits) {
  std::string given(text.substr(digits));
  for (char& c : given) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [unit, shift] : kUnits) {
    if (digits == 0 || unit.empty()) continue;
    const std::string letter(1, static_cast<char>(std::tolower(unit[0])));
    for (const char* rest : {"", "b", "ib"}) {
      if (given != letter + rest) continue;
      return fmt::format(" (did you mean {}{}?)", text.substr(0, digits), unit);
    }
  }
  return ", such as 64KiB, 512MiB or 2GiB";
}

}  // namespace

Result<std::string> ParseDirectory(std::string_view text) {
  if (text.empty()) return model::BadInput("is not the name of a directory");
  return std::filesystem::absolute(text).lexically_normal().string();
}

Result<double> ParseSeconds(std::string_view value) {
  double seconds = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] =
      std::from_chars(value.data(), end, seconds, std::chars_format::fixed);
  if (error != std::errc() || stop != end || !(seconds >= 0 && seconds <= kMaxSeconds)) {
    return model::BadInput("{} is not a number of seconds, such as 1 or 0.5", Quote(value));
  }
  return seconds;
}

// The values of --as: the short names of the files that hold the data of a group.
static std::vector<std::string_view> GroupViewNames() {
  std::vector<std::string_view> names;
  for (const GroupViewKind* kind : GroupViewKinds()) {
    const auto path = ViewPath::Parse(kind->file_name);
    if (path && path->is_whole()) names.push_back(ShortName(kind->file_name));
  }
  return names;
}

std::vector<std::string_view> OptionChoices(std::string_view name) {
  const auto list = [](const auto& names) {
    return std::vector<std::string_view>(names.begin(), names.end());
  };
  if (name == "log-level") return list(kLogLevels);
  if (name == "detect") return list(kDetections);
  if (name == "zarr-chunks") return list(kZarrChunks);
  if (name == "format") return list(kFormats);
  if (name == "view") return ShortViewNames();
  if (name == "as") return GroupViewNames();
  if (name != "views") return {};
  auto views = ShortViewNames();
  views.emplace_back("all");
  return views;
}

Result<unsigned> ParseThreads(std::string_view text) {
  const auto threads = model::ParseNumber<unsigned>(text);
  if (threads && *threads <= kMaxThreads) return *threads;
  return model::BadInput("{} is not a number from 0 (one per core) to {}", Quote(text),
                         kMaxThreads);
}

Result<backends::Detection> ParseDetection(std::string_view text) {
  if (text == kDetections[0]) return backends::Detection::kContent;
  if (text == kDetections[1]) return backends::Detection::kName;
  return model::BadInput("{} is not one of {}{}", Quote(text), fmt::join(kDetections, ", "),
                         DidYouMean(text, kDetections));
}

Result<bool> ParseZarrChunks(std::string_view text) {
  if (text == kZarrChunks[0]) return false;
  if (text == kZarrChunks[1]) return true;
  return model::BadInput("{} is not one of {}{}", Quote(text), fmt::join(kZarrChunks, ", "),
                         DidYouMean(text, kZarrChunks));
}

Result<ListedViews> ParseViews(std::string_view text) {
  if (text == "all") return ListedViews::All();
  const std::vector<std::string_view> known = ShortViewNames();
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of(",:", begin), text.size());
    const std::string_view name = ShortName(text.substr(begin, end - begin));
    if (name == "all") return model::BadInput("\"all\" must be the only name");
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return model::BadInput("{} is not one of {}, all{}", Quote(name), fmt::join(known, ", "),
                             DidYouMean(name, known));
    }
    names.emplace_back(name);
    begin = end + 1;
  }
  return ListedViews(std::move(names));
}

Result<std::string> ParseAs(std::string_view text) {
  const auto known = GroupViewNames();
  if (std::find(known.begin(), known.end(), text) != known.end()) return std::string(text);
  return model::BadInput("{} is not one of {}{}", Quote(text), fmt::join(known, ", "),
                         DidYouMean(text, known));
}

Result<uint64_t> ParseSize(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = model::ParseNumber<uint64_t>(text.substr(0, digits));
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& u) {
    return u.first == text.substr(digits);
  });
  if (digits == 0 || unit == kUnits.end()) {
    return model::BadInput("{} is not a size{}", Quote(text), SizeProposal(text, digits));
  }
  const auto bytes =
      number ? backends::CheckedMultiply(*number, uint64_t{1} << unit->second) : std::nullopt;
  if (!bytes || *bytes > backends::kMaxViewSize) {
    return model::BadInput("{} is too large", Quote(text));
  }
  return *bytes;
}

}  // namespace ndlfs::fs
