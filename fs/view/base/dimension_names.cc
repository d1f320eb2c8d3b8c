// SPDX-License-Identifier: MIT
#include "fs/view/base/dimension_names.h"

#include <algorithm>
#include <array>

#include "fs/view/base/array_part.h"

namespace ndlfs::fs {
namespace {

template <size_t n>
bool IsNamed(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::ranges::find(names, name) != names.end();
}

bool IsNameOfRows(std::string_view plain) {
  static constexpr std::array<std::string_view, 18> kNames = {
      "y",    "lat",      "latitude",  "rlat",        "northing", "row",
      "rows", "line",     "lines",     "along_track", "atrack",   "ny",
      "nrow", "scanline", "scanlines", "nlines",      "j",        "downtrack"};
  return IsNamed(plain, kNames);
}

bool IsNameOfColumns(std::string_view plain) {
  static constexpr std::array<std::string_view, 20> kNames = {
      "x",    "lon",  "longitude",  "rlon",         "easting",     "column",      "columns",
      "col",  "cols", "width",      "pixel",        "pixels",      "xtrack",      "nx",
      "ncol", "i",    "crosstrack", "across_track", "cross_track", "ground_pixel"};
  return IsNamed(plain, kNames);
}

bool IsNameOfVertical(std::string_view plain) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "level", "lev",      "levels",   "plev",          "pressure",
      "depth", "altitude", "isobaric", "isobaricinhpa", "bottom_top"};
  return IsNamed(plain, kNames);
}

bool IsNameOfAnyBands(std::string_view plain) {
  static constexpr std::array<std::string_view, 15> kNames = {
      "band",       "bands",      "channel",   "channels",    "chan",
      "ch",         "c",          "component", "rgb",         "rgba",
      "components", "wavelength", "spectral",  "wavelengths", "spectral_channel"};
  return IsNamed(plain, kNames);
}

bool IsNameOfOther(std::string_view plain) {
  static constexpr std::array<std::string_view, 16> kNames = {
      "date",   "step",    "frame", "page",  "layer", "member", "ensemble", "realization",
      "number", "station", "site",  "trial", "epoch", "batch",  "version",  "spectrum"};
  return IsNamed(plain, kNames);
}

bool MayNameSamples(std::string_view plain) {
  return IsNamed<3>(plain, {"sample", "samples", "s"});
}

// By the name alone.
DimensionKind KindOfName(std::string_view plain) {
  if (IsNameOfRows(plain)) return DimensionKind::kRows;
  if (IsNameOfColumns(plain)) return DimensionKind::kColumns;
  if (plain == "z") return DimensionKind::kDepth;
  if (IsNameOfVertical(plain)) return DimensionKind::kVertical;
  if (plain == "t" || plain.find("time") != plain.npos) return DimensionKind::kTime;
  if (IsNameOfAnyBands(plain)) return DimensionKind::kBands;
  return IsNameOfOther(plain) ? DimensionKind::kNoPlace : DimensionKind::kUnknown;
}

}  // namespace

std::string PlainDimension(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  if (end != name.npos && end > 0 && end + 1 < name.size() && name[end] == '_') {
    name = name.substr(0, end);
  }
  std::string plain(name);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return plain;
}

std::vector<DimensionKind> KindsOf(const std::vector<std::string>& names) {
  std::vector<std::string> plain;
  std::vector<DimensionKind> kinds;
  for (const std::string& name : names) {
    plain.push_back(PlainDimension(name));
    kinds.push_back(KindOfName(plain.back()));
  }
  const auto has = [&](DimensionKind kind) {
    return std::ranges::find(kinds, kind) != kinds.end();
  };
  const bool has_columns = has(DimensionKind::kColumns);
  for (size_t d = 0; d < kinds.size(); ++d) {
    if (plain[d] != "height") continue;
    const bool is_rows = d + 1 < kinds.size() && kinds[d + 1] == DimensionKind::kColumns;
    kinds[d] = is_rows ? DimensionKind::kRows : DimensionKind::kVertical;
  }
  const bool has_rows = has(DimensionKind::kRows);
  for (size_t d = 0; d < kinds.size(); ++d) {
    if (!MayNameSamples(plain[d])) continue;
    const bool is_columns = has_rows && !has_columns && plain[d] != "s";
    kinds[d] = is_columns ? DimensionKind::kColumns : DimensionKind::kBands;
  }
  return kinds;
}

std::vector<DimensionKind> KindsOf(const ArrayInput& array) {
  std::vector<std::string> names;
  for (size_t d = 0; d < array.shape.size(); ++d) names.push_back(DimensionName(array, d));
  return KindsOf(names);
}

bool IsNoRowOrColumn(DimensionKind kind) {
  return kind != DimensionKind::kUnknown && kind != DimensionKind::kRows &&
         kind != DimensionKind::kColumns;
}

bool IsNameOfBands(std::string_view name) {
  const std::string plain = PlainDimension(name);
  return plain == "band" || plain == "bands";
}

bool IsNameOfOmeChannels(std::string_view name) { return PlainDimension(name) == "c"; }

}  // namespace ndlfs::fs
