// SPDX-License-Identifier: MIT
#include "fs/view/picture/preview_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/number_array.h"
#include "fs/view/place/ome_image.h"
#include "fs/view/place/physical_unit.h"

namespace ndlfs::fs {
namespace {

using model::Calendar;
using model::Date;
using model::Nanoseconds;
using model::Result;
using picture::Tick;
using picture::Ticks;

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kAxisDay = 86400 * kSecond;

constexpr std::array<int64_t, 24> kSteps = {  // in seconds
    1,     2,     5,         10,        15,        30,        60,         120,
    300,   600,   900,       1800,      3600,      7200,      10800,      21600,
    43200, 86400, 2 * 86400, 3 * 86400, 5 * 86400, 7 * 86400, 10 * 86400, 14 * 86400};

Nanoseconds RoundedDown(Nanoseconds time, Nanoseconds step) {
  const Nanoseconds rest = time % step;
  return time - (rest < 0 ? rest + step : rest);
}

std::string DateText(Calendar calendar, Nanoseconds time) {
  const std::string text = FormatTime(calendar, time, 0);
  return text.substr(0, text.find('T', 1));
}

std::string ClockText(Calendar calendar, Nanoseconds time, bool has_seconds) {
  const std::string text = FormatTime(calendar, time, 0);
  return text.substr(text.find('T', 1) + 1, has_seconds ? 8 : 5);
}

class TimeMarks {
 public:
  TimeMarks(Calendar calendar, Nanoseconds low, Nanoseconds high, int most)
      : calendar_(calendar), low_(low), high_(high), most_(most) {}

  Ticks Make() const {
    for (const int64_t step : kSteps) {
      if ((high_ - low_) / (step * kSecond) <= most_ - 1) return EverySeconds(step);
    }
    for (const int months : {1, 2, 3, 6}) {
      if ((high_ - low_) / (kAxisDay * 30 * months) <= most_ - 1) return EveryMonths(months);
    }
    const double years = static_cast<double>((high_ - low_) / kAxisDay) / 365.25;
    return EveryMonths(12 * static_cast<int64_t>(std::max(
                                1.0, std::ceil(picture::RoundStep(years / (most_ - 1))))));
  }

 private:
  Tick At(Nanoseconds time, std::string label) const {
    return {static_cast<double>(time - low_) / static_cast<double>(high_ - low_),
            std::move(label)};
  }

  Ticks EverySeconds(int64_t seconds) const {
    const Nanoseconds step = seconds * kSecond;
    const bool is_one_day =
        step < kAxisDay && RoundedDown(low_, kAxisDay) == RoundedDown(high_, kAxisDay);
    Ticks marks;
    if (is_one_day) marks.factor = DateText(calendar_, low_);
    for (Nanoseconds time = RoundedDown(low_ + step - 1, step); time <= high_; time += step) {
      std::string label;
      if (step >= kAxisDay || !is_one_day) label = DateText(calendar_, time);
      if (step < kAxisDay) {
        if (!label.empty()) label = label.substr(label.size() - 5) + ' ';  // without the year
        label += ClockText(calendar_, time, seconds < 60);
      }
      marks.ticks.push_back(At(time, std::move(label)));
    }
    return marks;
  }

  Ticks EveryMonths(int64_t step) const {
    Ticks marks;
    Date date = DateOf(calendar_, static_cast<int64_t>(RoundedDown(low_, kAxisDay) / kAxisDay));
    int64_t month = date.year * 12;
    month -= ((month % step) + step) % step;
    for (; marks.ticks.size() < 64; month += step) {
      const int64_t year = (month - (((month % 12) + 12) % 12)) / 12;
      date = {year, static_cast<unsigned>(month - year * 12 + 1), 1};
      const Nanoseconds time = DaysOf(calendar_, date) * kAxisDay;
      if (time > high_) break;
      if (time < low_) continue;
      const std::string text = DateText(calendar_, time);
      marks.ticks.push_back(At(time, text.substr(0, text.size() - (step % 12 == 0 ? 6 : 3))));
    }
    return marks;
  }

  const Calendar calendar_;
  const Nanoseconds low_;
  const Nanoseconds high_;
  const int most_;
};

// The samples of all dimensions as an array.
ArrayInput SampledPart(const SamplePlan& plan) {
  return AsValues(MakePart(plan.whole, plan.selection));
}

bool IsPressure(const std::string& units) {
  return units == "Pa" || units == "hPa" || units == "mb" || units == "mbar" ||
         units == "millibar" || units == "millibars";
}

// Adds the names that DescribeGeometry() does not tell.
Result<void> AddNames(const ArrayInput& part, size_t d, PreviewDimension& dimension) {
  auto coordinate = FindCoordinate(part, d);
  if (!coordinate && coordinate.error().is_of_system()) {
    return model::Propagate(std::move(coordinate).error());
  }
  if (!coordinate || !*coordinate) return {};
  const auto& attributes = (*coordinate)->node->attributes();
  dimension.long_name = TextOf(attributes, "long_name");
  dimension.goes_down =
      TextOf(attributes, "positive") == "down" || IsPressure(dimension.axis.units);
  return {};
}

// Rows of an image of a microscope: viewers show the first one at the top. With larger units it
// may be a plane of an experiment, and with angstroms it is a map of molecules: y goes up
// there.
bool IsRows(const Axis& axis) {
  const auto unit = LengthUnitOf(axis.units);
  const bool is_y = axis.name == "y" || axis.name.starts_with("y_");  // of a smaller level
  return is_y && axis.role == AxisRole::kOther && unit &&
         (unit->symbol == "\u00b5m" || unit->symbol == "nm");
}

std::string NameOf(const PreviewDimension& dimension) {
  if (dimension.axis.role == AxisRole::kLongitude) return "longitude";
  if (dimension.axis.role == AxisRole::kLatitude) return "latitude";
  if (!dimension.long_name.empty()) return dimension.long_name;
  return dimension.axis.name;
}

// Reads coordinates. Errors of the data count as no coordinates; other errors are transient.
Result<std::vector<double>> ReadUsable(const Axis& axis) {
  auto coordinates = ReadCoordinates(axis);
  if (!coordinates && !coordinates.error().is_transient()) return std::vector<double>();
  return coordinates;
}

bool IsMonotonic(const std::vector<double>& numbers) {
  if (numbers.size() < 2) return false;
  const bool ascends = numbers.back() > numbers.front();
  for (size_t i = 1; i < numbers.size(); ++i) {
    if (ascends ? numbers[i] <= numbers[i - 1] : numbers[i] >= numbers[i - 1]) return false;
  }
  return true;
}

// The middle of the elements of the array that each sample stands for.
std::vector<double> Indices(const IndexRange& range, double scale) {
  std::vector<double> numbers;
  for (uint64_t i = 0; i < range.count; ++i) {
    numbers.push_back((static_cast<double>(range.At(i)) + 0.5) * scale - 0.5);
  }
  return numbers;
}

// Halfway between neighbours, and as far outside at the ends.
std::vector<double> EdgesOf(const std::vector<double>& centres, double single_width) {
  std::vector<double> edges;
  const size_t n = centres.size();
  const double first = n > 1 ? centres[1] - centres[0] : single_width;
  const double last = n > 1 ? centres[n - 1] - centres[n - 2] : single_width;
  edges.push_back(centres[0] - first / 2);
  for (size_t i = 1; i < n; ++i) edges.push_back((centres[i - 1] + centres[i]) / 2);
  edges.push_back(centres[n - 1] + last / 2);
  return edges;
}

// "30° N" for 30, "10° W" for -10 and 350.
std::string DegreeLabel(double degrees, AxisRole role) {
  if (role == AxisRole::kLongitude) {
    degrees = std::remainder(degrees, 360);
    if (degrees == -180) degrees = 180;
  }
  const std::string number = picture::NumberText(std::abs(degrees)) + "\u00b0";
  const bool is_side = degrees != 0 && !(role == AxisRole::kLongitude && degrees == 180);
  if (!is_side) return number;
  if (role == AxisRole::kLongitude) return number + (degrees > 0 ? "E" : "W");
  return number + (degrees > 0 ? "N" : "S");
}

// At multiples of 15, 30 ... where there are enough of them.
Ticks DegreeTicks(double low, double high, AxisRole role) {
  const double from = std::min(low, high);
  const double span = std::abs(high - low);
  Ticks ticks;
  double step = picture::RoundStep(span / 6);
  for (const double wide : {60.0, 45.0, 30.0, 15.0}) {
    if (span / wide >= 3 && span / wide <= 9) step = wide;
  }
  for (double i = std::ceil(from / step - 1e-9); i * step <= from + span * (1 + 1e-9); ++i) {
    if (ticks.ticks.size() > 32) break;
    ticks.ticks.push_back(
        {(i * step - low) / (high - low), DegreeLabel(std::round(i * step * 1e9) / 1e9, role)});
  }
  return ticks;
}

// From one power of ten to another, which may be the lower one.
Ticks PowerTicks(double low, double high, int most) {
  if (low <= high) return picture::LogTicks(std::pow(10, low), std::pow(10, high), most);
  Ticks turned = PowerTicks(high, low, most);
  for (Tick& tick : turned.ticks) tick.at = 1 - tick.at;
  return turned;
}

// Pressure falls by the same part for the same height: an axis over a power of ten or more is
// one of heights.
bool IsOfHeights(const PreviewDimension& dimension, const std::vector<double>& numbers) {
  if (!IsPressure(dimension.axis.units) || numbers.empty()) return false;
  const auto [least, greatest] = std::ranges::minmax(numbers);
  return least > 0 && std::isfinite(greatest) && greatest / least >= 10;
}

// At each whole number.
Ticks WholeTicks(double low, double high) {
  Ticks ticks;
  const double end = std::max(low, high);
  for (double i = std::ceil(std::min(low, high)); i <= end; ++i) {
    ticks.ticks.push_back({(i - low) / (high - low), picture::NumberText(i)});
  }
  return ticks;
}

Ticks TicksOf(const PreviewDimension& dimension, bool has_coordinates, double low, double high,
              PlaceOn place) {
  const int most = place == PlaceOn::kYOfMap ? 8 : 9;
  const AxisRole role = dimension.axis.role;
  if (!has_coordinates) {
    // There is nothing between two elements.
    if (std::abs(high - low) < most) return WholeTicks(low, high);
    return picture::LinearTicks(low, high, most);
  }
  if (dimension.time) return TimeTicks(*dimension.time, low, high, most - 2);
  if (role == AxisRole::kLongitude || role == AxisRole::kLatitude) {
    return DegreeTicks(low, high, role);
  }
  return picture::LinearTicks(low, high, most);
}

std::string LabelOf(const PreviewDimension& dimension, bool has_coordinates,
                    const std::string& factor) {
  std::string label = NameOf(dimension);
  std::string unit;
  const bool is_degrees =
      dimension.axis.role == AxisRole::kLongitude || dimension.axis.role == AxisRole::kLatitude;
  if (!has_coordinates) {
    if (label.empty()) return factor;
    return label + (factor.empty() ? " (index)" : " (index, " + factor + ")");
  }
  if (dimension.time) {
    unit = factor;
    if (dimension.time->calendar != Calendar::kStandard &&
        dimension.time->calendar != Calendar::kProlepticGregorian) {
      unit += (unit.empty() ? "" : ", ") + dimension.axis.calendar;
    }
  } else if (!is_degrees) {
    unit = factor;
    const std::string own = picture::UnitText(dimension.axis.units);
    if (!own.empty() && own != "1") unit += (unit.empty() ? "" : " ") + own;
  }
  return unit.empty() ? label : label + " (" + unit + ")";
}

// The coordinates at both ends, from left to right or from the bottom to the top.
std::pair<double, double> EndsOf(const PreviewDimension& dimension,
                                 const std::vector<double>& edges, bool has_coordinates,
                                 PlaceOn place) {
  double low = std::min(edges.front(), edges.back());
  double high = std::max(edges.front(), edges.back());
  if (dimension.axis.role == AxisRole::kLatitude && has_coordinates) {
    if (low < -90 && low > -91) low = -90;  // cells do not reach beyond the poles
    if (high > 90 && high < 91) high = 90;
  }
  // The first row of a picture is at the top, except for those of FITS.
  const bool has_rows =
      has_coordinates ? dimension.is_rows && edges.back() > edges.front() : !dimension.goes_up;
  const bool is_turned = place == PlaceOn::kYOfMap && (has_rows || dimension.goes_down);
  return is_turned ? std::pair(high, low) : std::pair(low, high);
}

// Levels of an OME image often have no names of dimensions; the image has names of the axes and
// of the channels.
void AddOmeNames(const SamplePlan& plan, std::vector<PreviewDimension>& dimensions) {
  if (plan.whole.group != nullptr) {
    const auto image = FindOmeImage(plan.whole.group->node());
    const auto names =
        image ? ReadOmeAxisNames(*image, dimensions.size()) : std::vector<std::string>();
    for (size_t d = 0; d < names.size(); ++d) {
      if (dimensions[d].axis.name.empty()) dimensions[d].axis.name = names[d];
    }
  }
  const OmeChannels found = FindOmeChannels(plan.whole);
  if (!found.dimension || found.channels.empty()) return;
  PreviewDimension& dimension = dimensions[*found.dimension];
  if (dimension.indices.count == 1) {
    dimension.element = found.channels[dimension.indices.begin].label;
  }
}

// The distance between elements of a dimension in metres. Only of images: maps have axes.
std::optional<double> SizeOf(const PreviewDimension& dimension) {
  const auto unit = LengthUnitOf(dimension.axis.units);
  if (!unit || !dimension.axis.known || dimension.axis.coordinates) return std::nullopt;
  const double step = std::abs(dimension.axis.known->step);
  const double size = step * dimension.index_scale * unit->size;
  return std::isfinite(size) && size > 0 ? std::optional(size) : std::nullopt;
}

}  // namespace

Ticks TimeTicks(const model::TimeScale& scale, double low, double high, int most) {
  if (high < low) {
    Ticks turned = TimeTicks(scale, high, low, most);
    for (Tick& tick : turned.ticks) tick.at = 1 - tick.at;
    return turned;
  }
  const auto begin = scale.OfReal(low);
  const auto end = scale.OfReal(high);
  if (!begin || !end || *end - *begin < 2 * kSecond)
    return picture::LinearTicks(low, high, most);
  return TimeMarks(scale.calendar, *begin, *end, std::max(3, most)).Make();
}

std::string TimeLabel(const model::TimeScale& scale, double number) {
  const auto time = scale.OfReal(number);
  if (!time) return picture::NumberText(number);
  std::string text = FormatTime(scale.calendar, *time, *time % kSecond == 0 ? 0 : 3);
  const size_t t = text.find('T', 1);
  text[t] = ' ';
  if (text.ends_with(" 00:00:00")) return text.substr(0, t);
  if (text.size() == t + 9 && text.ends_with(":00")) text.resize(text.size() - 3);
  return text;
}

Result<std::vector<PreviewDimension>> DescribeDimensions(const SamplePlan& plan) {
  const ArrayInput part = SampledPart(plan);
  const auto& attributes = plan.whole.node->attributes();
  std::vector<PreviewDimension> dimensions(plan.selection.size());
  const auto numbers = AsNumbers(part);
  if (!numbers) return dimensions;
  // A coordinate has none of its own.
  const bool is_coordinate = std::holds_alternative<model::DimCoord>(plan.whole.node->entity);
  Geometry geometry;
  if (!is_coordinate) {
    NDLFS_TRY(geometry, DescribeGeometry(part, *numbers));
  }
  for (size_t d = 0; d < dimensions.size(); ++d) {
    PreviewDimension& dimension = dimensions[d];
    if (d < geometry.axes.size()) dimension.axis = geometry.axes[d];
    if (d < plan.full_names.size()) dimension.axis.name = plan.full_names[d];
    if (dimension.axis.name.empty()) dimension.axis.name = DimensionName(plan.whole, d);
    dimension.indices = plan.selection[d];
    dimension.extent = plan.full_shape[d];
    dimension.index_scale =
        static_cast<double>(plan.full_shape[d]) / static_cast<double>(plan.whole.shape[d]);
    // FITS 4.0 (section 3.3.2) and its viewers have the first pixel at the lower left.
    dimension.goes_up = model::FindAttribute(attributes, "SIMPLE") != nullptr ||
                        model::FindAttribute(attributes, "XTENSION") != nullptr;
    if (!dimension.axis.coordinates) continue;
    dimension.is_rows = IsRows(dimension.axis);
    NDLFS_RETURN_IF_ERROR(AddNames(part, d, dimension));
    if (dimension.axis.role == AxisRole::kTime) {
      dimension.time = model::ParseTimeUnits(dimension.axis.units, dimension.axis.calendar);
    }
  }
  AddOmeNames(plan, dimensions);
  return dimensions;
}

namespace {

// "#17", or "#34 to #35" of an element of a smaller level, which stands for several.
std::string IndexText(const PreviewDimension& dimension) {
  const auto index = static_cast<double>(dimension.indices.begin);
  const double first = std::floor(index * dimension.index_scale);
  const double last = std::ceil((index + 1) * dimension.index_scale) - 1;
  return first < last ? fmt::format("#{} to #{}", first, last) : fmt::format("#{}", first);
}

}  // namespace

Result<bool> GoesNorth(const SamplePlan& plan) {
  const ArrayInput& whole = plan.whole;
  const uint64_t rows = whole.shape[*plan.y], columns = whole.shape[*plan.x];
  for (const std::string& name : WordsOf(TextOf(whole.node->attributes(), "coordinates"))) {
    NDLFS_TRY(const auto found, FindNamed(whole.group, name));
    if (!found || !found->child.array || rows < 2) continue;
    const ArrayInput& array = *found->child.array;
    const auto& attributes = array.node->attributes();
    const bool are_latitudes = TextOf(attributes, "standard_name") == "latitude" ||
                               IsDegreesNorth(TextOf(attributes, "units"));
    const auto numbers = are_latitudes ? AsNumbers(array) : std::nullopt;
    if (!numbers || numbers->shape != std::vector{rows, columns}) continue;
    double ends[2];
    for (const size_t i : {0, 1}) {
      std::vector<std::byte> element(SizeOf(numbers->number));
      const uint64_t at = (i == 0 ? 0 : rows - 1) * columns + columns / 2;
      const auto read = numbers->elements->Read(
          at * element.size(), element, model::ByteOrder::kLittle, cache::ReadHint::kOnward);
      if (!read && read.error().is_transient()) return model::Propagate(read.error());
      if (!read) return false;
      ends[i] = AsDoubles(numbers->number, element)[0];
    }
    return ends[0] < ends[1];
  }
  return false;
}

Result<std::string> DescribeIndex(const PreviewDimension& dimension, size_t d) {
  NDLFS_TRY(const std::vector<double> coordinates, ReadUsable(dimension.axis));
  const std::string& name = dimension.axis.name;
  const std::string begin = (name.empty() ? fmt::format("dimension {}", d) : name) + " = ";
  if (!dimension.element.empty()) return begin + dimension.element;
  if (coordinates.size() != 1) return begin + IndexText(dimension);
  if (dimension.time) return begin + TimeLabel(*dimension.time, coordinates[0]);
  const AxisRole role = dimension.axis.role;
  if (role == AxisRole::kLongitude || role == AxisRole::kLatitude) {
    return begin + DegreeLabel(coordinates[0], role);
  }
  const std::string unit = picture::UnitText(dimension.axis.units);
  return begin + picture::NumberText(coordinates[0]) +
         (unit.empty() || unit == "1" ? "" : " " + unit);
}

namespace {

// The length of an axis in metres, if it is one of an image; see Placed::length.
std::optional<double> LengthOf(const PreviewDimension& dimension, const Placed& placed) {
  if (const auto size = SizeOf(dimension)) {
    return *size * static_cast<double>(dimension.indices.count);
  }
  const auto unit = LengthUnitOf(dimension.axis.units);
  const bool is_small = unit && unit->size < 1;
  if (!placed.has_coordinates || !is_small || dimension.axis.role != AxisRole::kOther) {
    return std::nullopt;
  }
  return placed.span * unit->size;
}

}  // namespace

Result<Placed> PlaceSamples(const PreviewDimension& dimension, PlaceOn place) {
  NDLFS_TRY(std::vector<double> numbers, ReadUsable(dimension.axis));
  Placed placed;
  placed.has_coordinates = numbers.size() == dimension.indices.count && IsMonotonic(numbers);
  if (!placed.has_coordinates) numbers = Indices(dimension.indices, dimension.index_scale);
  const double step = placed.has_coordinates
                          ? 1
                          : static_cast<double>(dimension.indices.step) * dimension.index_scale;
  const bool is_logarithmic = placed.has_coordinates && IsOfHeights(dimension, numbers);
  if (is_logarithmic) {
    for (double& number : numbers) number = std::log10(number);
  }
  const std::vector<double> edges = EdgesOf(numbers, step);
  auto [low, high] = EndsOf(dimension, edges, placed.has_coordinates, place);
  if (place == PlaceOn::kXOfLine) {
    low = std::min(numbers.front(), numbers.back());
    high = std::max(numbers.front(), numbers.back());
    const double margin = numbers.size() > 1 ? (high - low) * 0.015 : 0.5;
    low -= margin;
    high += margin;
  }
  const auto fraction = [low = low, high = high](double v) { return (v - low) / (high - low); };
  for (const double number : numbers) placed.centres.push_back(fraction(number));
  for (const double edge : edges) {
    placed.edges.push_back(static_cast<float>(std::clamp(fraction(edge), 0.0, 1.0)));
  }
  placed.is_reversed = fraction(edges.back()) < fraction(edges.front());
  if (placed.is_reversed) std::ranges::reverse(placed.edges);
  placed.span = std::abs(high - low);
  placed.length = LengthOf(dimension, placed);
  placed.role = placed.has_coordinates ? dimension.axis.role : AxisRole::kOther;
  const Ticks ticks = is_logarithmic
                          ? PowerTicks(low, high, 8)
                          : TicksOf(dimension, placed.has_coordinates, low, high, place);
  placed.axis = {LabelOf(dimension, placed.has_coordinates, ticks.factor), ticks.ticks};
  return placed;
}

}  // namespace ndlfs::fs
