// SPDX-License-Identifier: MIT
#include "fs/view/place/page_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "fs/view/base/attributes.h"
#include "model/cf_time.h"

namespace ndlfs::fs {
namespace {

using model::Result;

// Dimensions before those of a page, and that of bands in a pixel; the slowest first.
std::vector<size_t> DimensionsOfBands(const Raster& raster) {
  std::vector<size_t> dimensions(raster.y_axis ? *raster.y_axis : raster.x_axis);
  std::iota(dimensions.begin(), dimensions.end(), size_t{0});
  if (raster.sample_axis) dimensions.push_back(*raster.sample_axis);
  return dimensions;
}

std::string WithoutMarkup(std::string_view text) {
  std::string plain = PrintableAscii(text);
  std::ranges::replace_if(
      plain, [](char c) { return c == '<' || c == '>' || c == '&' || c == '"'; }, '_');
  return plain;
}

// Without the seconds or the time of the day where they are zero.
std::string ShortTime(const model::TimeScale& scale, double number) {
  constexpr int64_t kSecond = 1'000'000'000;
  const auto time = scale.OfReal(number);
  if (!time) return {};
  std::string text = FormatTime(scale.calendar, *time, *time % kSecond == 0 ? 0 : 3);
  if (text.ends_with("T00:00:00")) text.resize(text.size() - 9);
  return text;
}

std::vector<std::string> NamesAlong(const Axis& axis, const std::vector<double>& coordinates) {
  std::vector<std::string> names;
  const auto scale = axis.role == AxisRole::kTime
                         ? model::ParseTimeUnits(axis.units, axis.calendar)
                         : std::nullopt;
  const std::string name = WithoutMarkup(axis.name);
  const bool has_unit = !axis.units.empty() && axis.units != "1" && !scale;
  const std::string unit = has_unit ? " " + WithoutMarkup(axis.units) : std::string();
  for (const double number : coordinates) {
    const std::string time = scale ? ShortTime(*scale, number) : std::string();
    const std::string equals = name.empty() ? std::string() : name + "=";
    names.push_back(time.empty() ? fmt::format("{}{}{}", equals, number, unit) : time);
  }
  return names;
}

}  // namespace

bool PageNames::MayHave(const Geometry& geometry, const Raster& raster) {
  if (raster.pages > kMostPages / raster.samples) return false;
  if (!geometry.title.empty()) return true;
  return std::ranges::any_of(DimensionsOfBands(raster), [&](size_t d) {
    return geometry.axes[d].coordinates != nullptr || !geometry.axes[d].names.empty();
  });
}

Result<PageNames> PageNames::Read(const Geometry& geometry, const Raster& raster) {
  PageNames names;
  if (!MayHave(geometry, raster)) return names;
  names.title_ = WithoutMarkup(geometry.title);
  for (const size_t d : DimensionsOfBands(raster)) {
    const Axis& axis = geometry.axes[d];
    if (!axis.names.empty()) {
      auto& named = names.dimensions_.emplace_back(Dimension{axis.count});
      for (const std::string& name : axis.names) named.names.push_back(WithoutMarkup(name));
      continue;
    }
    NDLFS_TRY(const auto coordinates, ReadCoordinates(axis));
    names.dimensions_.push_back({axis.count, NamesAlong(axis, coordinates)});
  }
  return names;
}

std::string PageNames::Of(uint64_t page) const {
  std::string text;
  for (size_t d = dimensions_.size(); d-- > 0;) {
    const Dimension& dimension = dimensions_[d];
    const uint64_t index = page % dimension.count;
    page /= dimension.count;
    if (index >= dimension.names.size()) continue;
    text = dimension.names[index] + (text.empty() ? "" : ", ") + text;
  }
  return (text.empty() ? title_ : text).substr(0, kMostBytes);
}

}  // namespace ndlfs::fs
