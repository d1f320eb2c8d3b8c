// SPDX-License-Identifier: MIT
//
// A GrADS descriptor of data.raw.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/view/array/grads_time.h"
#include "fs/view/array/views.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/raw_header.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/place/geometry.h"

namespace ndlfs::fs {
namespace {

using model::Result;

// GradsCoordinates along each axis; empty where they are not known.
using GradsCoordinates = std::vector<std::vector<double>>;

constexpr size_t kMostGradsAxes = 4;
// GradsCoordinates of an axis that is not regular are listed, up to so many.
constexpr size_t kMostListedLevels = 4096;

bool IsNameOfTime(std::string_view name) {
  return name == "time" || name == "Time" || name == "t" || name == "valid_time";
}

struct Grads {
  NumberArray numbers;
  Geometry geometry;
  std::string raw_name;
  std::string name;
  std::string missing;
  std::vector<model::Attribute> attributes;
};

// Fifteen letters and digits, the first a letter.
std::string NameOfVariable(const ArrayInput& input) {
  constexpr size_t kMost = 15;
  std::string name;
  for (char c : NameInHeader(input)) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool is_letter = c >= 'a' && c <= 'z';
    if (is_letter || (!name.empty() && c >= '0' && c <= '9')) name += c;
  }
  return name.empty() ? "data" : name.substr(0, kMost);
}

std::optional<Grads> FittingGrads(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  if (!numbers || WordsFor(numbers->number).grads.empty()) return std::nullopt;
  if (numbers->rank() == 0 || numbers->rank() > kMostGradsAxes) return std::nullopt;
  for (const uint64_t length : numbers->shape) {
    if (length > std::numeric_limits<int32_t>::max()) return std::nullopt;
  }
  // GrADS has no bands in pixels.
  if (AsRaster(input, *numbers)->sample_axis) return std::nullopt;
  // The order of its dimensions is fixed: time, level, latitude, longitude.
  for (size_t d = 0; d < numbers->rank(); ++d) {
    const bool may_be_time = d == 0 && numbers->rank() > 2;
    if (!may_be_time && IsNameOfTime(DimensionName(input, d))) return std::nullopt;
  }
  return Grads{*numbers,           {},
               RawFileName(input), NameOfVariable(input),
               MissingText(input), input.node->attributes()};
}

// Which dimensions these are.
struct Roles {
  std::optional<size_t> t, z, y, x;
};

Roles RolesOf(const Grads& grads) {
  Roles roles;
  size_t rank = grads.numbers.rank();
  roles.x = --rank;
  if (rank > 0) roles.y = --rank;
  if (rank == 2) roles.z = --rank;
  if (rank == 0) return roles;
  const Axis& first = grads.geometry.axes[0];
  const bool is_time = roles.z || first.role == AxisRole::kTime || IsNameOfTime(first.name);
  (is_time ? roles.t : roles.z) = 0;
  return roles;
}

bool Ascends(const std::vector<double>& numbers) {
  return std::ranges::adjacent_find(numbers, std::greater_equal<>()) == numbers.end();
}
bool Descends(const std::vector<double>& numbers) {
  return std::ranges::adjacent_find(numbers, std::less_equal<>()) == numbers.end();
}

// Records have at most 255 characters.
std::string Levels(std::string_view axis, const std::vector<double>& numbers,
                   const NumberText& text) {
  constexpr size_t kInLine = 8;
  std::string out = fmt::format("{} {} LEVELS", axis, numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    out += i % kInLine == 0 ? "\n " : " ";
    out += text(numbers[i]);
  }
  return out + '\n';
}

bool AscendsInList(const std::vector<double>& numbers) {
  return numbers.size() > 2 && numbers.size() <= kMostListedLevels && Ascends(numbers);
}

// Whether XDEF, YDEF or ZDEF can say where the elements are; they want coordinates that ascend.
bool IsSaid(const Axis& axis, const std::vector<double>& numbers) {
  const auto steps = FindSteps(axis, numbers);
  return numbers.empty() || (steps && !(steps->step < 0)) || AscendsInList(numbers);
}

// Without coordinates, elements are counted.
std::string Define(std::string_view name, const Axis& axis, const std::vector<double>& numbers,
                   const NumberText& text) {
  const auto steps = FindSteps(axis, numbers);
  if (steps && !(steps->step < 0)) {
    const double step = std::isnan(steps->step) ? 1 : steps->step;
    return fmt::format("{} {} LINEAR {} {}\n", name, axis.count, text(steps->first),
                       text(step));
  }
  if (AscendsInList(numbers)) return Levels(name, numbers, text);
  return fmt::format("{} {} LINEAR 1 1\n", name, axis.count);
}

// Levels may descend, as pressure does.
std::string DefineLevels(const Axis& axis, const std::vector<double>& numbers,
                         const NumberText& text) {
  const bool is_known = numbers.size() > 1 && numbers.size() <= kMostListedLevels;
  if (is_known && (Ascends(numbers) || Descends(numbers))) return Levels("ZDEF", numbers, text);
  return Define("ZDEF", axis, numbers, text);
}

// Time has to have dates. Where the source has none, days of the year 1 count the steps.
std::string DefineTime(const Axis& axis, const std::vector<double>& numbers) {
  constexpr std::string_view kCounted = "00:00Z01jan0001 1dy";
  constexpr size_t kWidth = 32;
  const auto time = GradsTime(numbers, axis.units, axis.calendar);
  return fmt::format("TDEF {} LINEAR {:<{}}\n", axis.count, time ? *time : kCounted, kWidth);
}

Axis OneStep() {
  Axis axis;
  axis.count = 1;
  return axis;
}

std::string Render(const Grads& grads, const GradsCoordinates& coordinates,
                   const NumberText& text) {
  const auto& axes = grads.geometry.axes;
  const Roles roles = RolesOf(grads);
  std::vector<double> y = roles.y ? coordinates[*roles.y] : std::vector<double>();
  const bool is_reversed = y.size() > 1 && Descends(y);
  if (is_reversed) std::ranges::reverse(y);
  const GradsCalendar calendar =
      roles.t ? GradsCalendarOf(axes[*roles.t].calendar) : GradsCalendar();
  std::string out = fmt::format("DSET ^{}\nTITLE {}\n", grads.raw_name, grads.name);
  out += fmt::format("UNDEF {}\n{}", grads.missing, calendar.comment);
  out += fmt::format("OPTIONS little_endian {}{}{:4}\n", calendar.option,
                     calendar.option.empty() ? "" : " ", is_reversed ? "yrev" : "");
  out += Define("XDEF", axes[*roles.x], coordinates[*roles.x], text);
  out += roles.y ? Define("YDEF", axes[*roles.y], y, text) : "YDEF 1 LINEAR 1 1\n";
  out += roles.z ? DefineLevels(axes[*roles.z], coordinates[*roles.z], text)
                 : "ZDEF 1 LINEAR 1 1\n";
  out +=
      roles.t ? DefineTime(axes[*roles.t], coordinates[*roles.t]) : DefineTime(OneStep(), {});
  const uint64_t levels = roles.z ? axes[*roles.z].count : 0;
  for (const model::Attribute& attribute : grads.attributes) {
    const std::string* value = attribute.value.text();
    constexpr size_t kMostValue = 150;
    if (value == nullptr || value->empty() || value->size() > kMostValue) continue;
    out += fmt::format("@ {} String {} {}\n", grads.name,
                       PlainName(attribute.name).substr(0, 60), PrintableAscii(*value));
  }
  return out + fmt::format("VARS 1\n{} {} {} {}\nENDVARS\n", grads.name, levels,
                           WordsFor(grads.numbers.number).grads, grads.name);
}

// GradsCoordinates whose text is the longest: not regular, so that they are listed.
GradsCoordinates Longest(const Geometry& geometry) {
  GradsCoordinates all;
  for (const Axis& axis : geometry.axes) {
    auto& numbers = all.emplace_back();
    if (!axis.coordinates) continue;
    const bool is_listed = axis.count > 2 && axis.count <= kMostListedLevels;
    for (uint64_t i = 0; i < (is_listed ? axis.count : 2); ++i) {
      numbers.push_back(static_cast<double>(i * i) * 1e-9);  // a latitude may be as large
    }
  }
  return all;
}

// GrADS has no word for columns that do not go east, and rows and levels that go neither way.
Result<GradsCoordinates> ReadAll(const Grads& grads) {
  const Roles roles = RolesOf(grads);
  GradsCoordinates all;
  for (size_t d = 0; d < grads.geometry.axes.size(); ++d) {
    const Axis& axis = grads.geometry.axes[d];
    NDLFS_TRY(auto numbers, ReadCoordinates(axis));
    auto ascending = numbers;
    if (d != roles.x && Descends(numbers)) std::ranges::reverse(ascending);
    if (d != roles.t && !IsSaid(axis, ascending)) {
      return model::Unsupported("no GrADS descriptor: the coordinates along {} do not ascend",
                                model::Quote(axis.name));
    }
    all.push_back(std::move(numbers));
  }
  return all;
}

// GrADS has no word for times that are not equally far from each other.
Result<void> CheckTimes(const Grads& grads) {
  const Roles roles = RolesOf(grads);
  for (const auto& d : {roles.x, roles.y, roles.z}) {
    if (d && grads.geometry.axes[*d].role == AxisRole::kTime) {
      return model::NotFound("no GrADS descriptor: time is before levels and rows there");
    }
  }
  const Axis axis = roles.t ? grads.geometry.axes[*roles.t] : OneStep();
  if (axis.role != AxisRole::kTime) return {};
  NDLFS_TRY(const std::vector<double> times, ReadCoordinates(axis));
  if (GradsTime(times, axis.units, axis.calendar)) return {};
  return model::NotFound(
      "no GrADS descriptor: the times are not equally far from each other, "
      "or no dates of GrADS");
}

Result<ViewNode> MakeGrads(const ArrayInput& input) {
  auto grads = FittingGrads(input);
  if (!grads) return model::Unsupported("no GrADS descriptor for {}", input.dtype.keyword());
  NDLFS_TRY(grads->geometry, DescribeGeometry(input, grads->numbers));
  // No element has this value, where none is said to be missing. GrADS knows no NaN there.
  if (grads->missing.empty() || grads->missing.find("nan") != std::string::npos ||
      grads->missing.find("inf") != std::string::npos) {
    grads->missing = "-9.99e+33";
  }
  NDLFS_RETURN_IF_ERROR(CheckTimes(*grads));
  const GradsCoordinates longest = Longest(grads->geometry);
  const auto read = [grads = *grads] { return ReadAll(grads); };
  const auto render = [grads = *grads](const GradsCoordinates& coordinates,
                                       const NumberText& text) {
    return Render(grads, coordinates, text);
  };
  return MakeSegmentedView({MakeTextHeader<GradsCoordinates>(longest, read, render)});
}

}  // namespace

const ArrayViewKind kGradsView = {
    .file_name = "data.ctl",
    .description = "GrADS header, for {}",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return FittingGrads(input).has_value(); },
    // Only reading the coordinates tells whether there is one.
    .is_listed = [](const ArrayInput&) { return false; },
    .make = &MakeGrads,
};

}  // namespace ndlfs::fs
