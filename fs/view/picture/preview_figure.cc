// SPDX-License-Identifier: MIT
#include "fs/view/picture/preview_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/number_array.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/picture/finite_values.h"
#include "fs/view/place/label_numbers.h"
#include "fs/view/place/ome_image.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using picture::CellMap;
using picture::Colour;
using picture::Figure;
using picture::kMapColours;
using picture::Tick;

constexpr size_t kMostCategories = 12;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Numbers that are names: of a bool, of an enum, of flags.
using Names = std::map<double, std::string>;

Names NamesOf(const ArrayInput& whole) {
  constexpr size_t kMostNames = 4096;
  Names names;
  if (whole.dtype.is_bool()) return {{0, "false"}, {1, "true"}};
  if (whole.dtype.kind() == model::Datatype::Kind::kEnum) {
    if (whole.dtype.constants().size() > kMostNames) return {};
    for (const auto& constant : whole.dtype.constants()) {
      names.emplace(static_cast<double>(constant.value), constant.name);
    }
    return names;
  }
  for (const auto& [number, name] : FlagNames(whole.node->attributes())) {
    names.emplace(static_cast<double>(number), name);
  }
  return names;
}

// The names of the values that there are; empty where some have none, or there are too many.
Names NamesIn(const Names& names, const std::vector<double>& values) {
  Names used;
  if (names.empty()) return used;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    const auto name = names.find(value);
    if (name == names.end()) return {};
    used.insert(*name);
    if (used.size() > kMostCategories) return {};
  }
  return used.empty() || names.size() <= kMostCategories ? names : used;
}

// The meaning of the numbers, and their name.
struct SampleMeaning {
  std::string name;   // of the array
  std::string title;  // a sentence about it, else the name
  std::string units;
  std::optional<model::TimeScale> time;
  Names names;  // of values
  // They are numbers of objects or classes, without an order. `names` are their numbers, if
  // they are few.
  bool is_labels = false;
};

// Labels that are few are called by their numbers.
Names NamesOfLabels(const Samples& samples) {
  Names names;
  for (const double value : samples.numbers) {
    if (std::isnan(value)) continue;
    const auto large = samples.large_labels.find(value);
    names.emplace(value, large != samples.large_labels.end() ? large->second
                                                             : picture::NumberText(value, 15));
    if (names.size() > kMostCategories) return {};
  }
  return names;
}

SampleMeaning MeaningOf(const SamplePlan& plan, const Samples& samples) {
  const ArrayInput& whole = plan.whole;
  const auto& attributes = whole.node->attributes();
  const ArrayInput values = AsValues(whole);
  SampleMeaning meaning;
  meaning.name = TellingName(whole);
  meaning.title = TextOf(attributes, "long_name");
  if (meaning.title.empty()) meaning.title = TextOf(attributes, "standard_name");
  if (meaning.title.find(' ') == std::string::npos) {
    std::ranges::replace(meaning.title, '_', ' ');
  }
  if (meaning.title.empty()) meaning.title = meaning.name;
  const std::string units = TextOf(attributes, "units");
  meaning.time = model::TimeScaleOf(values.dtype);
  if (!meaning.time)
    meaning.time = model::ParseTimeUnits(units, TextOf(attributes, "calendar"));
  if (!meaning.time && units != "1") meaning.units = picture::UnitText(units);
  meaning.names = NamesIn(NamesOf(whole), samples.numbers);
  if (meaning.names.empty() && !meaning.time && plan.y && AreLabels(whole)) {
    meaning.names = NamesOfLabels(samples);
    meaning.is_labels = true;
  }
  return meaning;
}

// The colour of each label, whatever other labels there are: the one that the image lists for
// it, else one by its number. 0 is where there is no object.
class LabelColours {
 public:
  explicit LabelColours(const ArrayInput& whole) {
    if (whole.group != nullptr) listed_ = ReadOmeLabelColors(whole.group->node());
  }

  Colour Of(double label) const {
    if (const auto found = listed_.find(label); found != listed_.end()) {
      const OmeLabelColor& listed = found->second;
      if (listed.is_clear) return picture::kBackgroundInk;
      return {static_cast<uint8_t>(listed.color >> 16), static_cast<uint8_t>(listed.color >> 8),
              static_cast<uint8_t>(listed.color)};
    }
    if (label == 0 || !std::isfinite(label)) return picture::kBackgroundInk;
    constexpr auto kCount = static_cast<double>(picture::kLabelColours);
    const double rest = std::fmod(label - 1, kCount);
    return picture::LabelColour(static_cast<size_t>(rest < 0 ? rest + kCount : rest));
  }

 private:
  std::map<double, OmeLabelColor> listed_;
};

// The label next to values: their unit, else what they are.
std::string ValueLabel(const SampleMeaning& meaning, const std::string& factor) {
  if (meaning.time || !meaning.names.empty()) return factor;
  if (factor.empty()) return meaning.units;
  return meaning.units.empty() ? factor : factor + " " + meaning.units;
}

picture::Ticks ValueTicks(const SampleMeaning& meaning, double low, double high,
                          bool is_logarithmic) {
  constexpr int kMost = 8;
  if (meaning.time) return TimeTicks(*meaning.time, low, high, kMost);
  if (is_logarithmic) return picture::LogTicks(low, high, kMost);
  return picture::LinearTicks(low, high, kMost);
}

// The logarithm of `high / low`, which itself may be more than a double can be.
double PowersBetween(double low, double high) { return std::log(high) - std::log(low); }

// Where a value is between two others.
double PartOfRange(double value, double low, double high, bool is_logarithmic) {
  if (is_logarithmic) {
    return value <= 0 ? 0 : PowersBetween(low, value) / PowersBetween(low, high);
  }
  // The difference of two doubles may be no double.
  const long double span = static_cast<long double>(high) - low;
  return static_cast<double>((static_cast<long double>(value) - low) / span);
}

uint8_t CellOf(const ColourRange& range, double value) {
  if (std::isnan(value)) return CellMap::kMissing;
  const double part = PartOfRange(value, range.low, range.high, range.is_logarithmic);
  if (std::isnan(part)) return kMapColours / 2;  // a range of one value
  const double colour = std::clamp(part * kMapColours, 0.0, kMapColours - 1.0);
  return static_cast<uint8_t>(colour);
}

uint8_t CellOf(const Names& names, double value) {
  const auto found = std::isnan(value) ? names.end() : names.find(value);
  if (found == names.end()) return CellMap::kMissing;
  return static_cast<uint8_t>(std::distance(names.begin(), found));
}

// Sample of a cell along an axis.
size_t SampleOf(const Placed& placed, size_t cell, size_t count) {
  return placed.is_reversed ? count - 1 - cell : cell;
}

bool IsBroken(const Samples& samples, size_t i) {
  return !samples.is_broken.empty() && samples.is_broken[i];
}

// Width by height of what lies on the earth, or has squares for elements; 0 for others.
double AspectOf(const Placed& x, const Placed& y, const PreviewDimension& of_x,
                const PreviewDimension& of_y) {
  constexpr double kMost = 6;
  const auto both = [&](AxisRole a, AxisRole b) { return x.role == a && y.role == b; };
  const bool is_map = both(AxisRole::kLongitude, AxisRole::kLatitude) ||
                      both(AxisRole::kEasting, AxisRole::kNorthing);
  const bool has_none = !x.has_coordinates && !y.has_coordinates;
  const bool is_alike = x.has_coordinates && y.has_coordinates && !of_x.axis.units.empty() &&
                        of_x.axis.units == of_y.axis.units && !of_x.time && !of_y.time;
  if (!is_map && !has_none && !is_alike) return 0;
  const bool has_lengths = has_none && x.length && y.length;
  const double aspect = has_lengths ? *x.length / *y.length : x.span / y.span;
  return aspect >= 1 / kMost && aspect <= kMost ? aspect : 0;
}

bool HasMissing(const Samples& samples) {
  for (size_t i = 0; i < samples.numbers.size(); ++i) {
    if (std::isnan(samples.numbers[i]) && !IsBroken(samples, i)) return true;
  }
  return false;
}

bool HasFinite(const Samples& samples) {
  return std::ranges::any_of(samples.numbers, [](double v) { return std::isfinite(v); });
}

void AddBar(const SampleMeaning& meaning, const LabelColours& colours, const ColourRange& range,
            Figure& figure) {
  picture::ColourBar bar;
  if (!meaning.names.empty()) {
    for (const auto& [value, name] : meaning.names) {
      bar.category_colours.push_back(meaning.is_labels
                                         ? colours.Of(value)
                                         : picture::CategoryColour(bar.categories.size()));
      bar.categories.push_back(name);
    }
  } else {
    auto ticks = ValueTicks(meaning, range.low, range.high, range.is_logarithmic);
    bar.label = ValueLabel(meaning, ticks.factor);
    bar.ticks = std::move(ticks.ticks);
    bar.goes_below = range.goes_below;
    bar.goes_above = range.goes_above;
  }
  figure.bar = std::move(bar);
}

CellMap MakeMap(const SamplePlan& plan, const SampleMeaning& meaning, const Placed& x,
                const Placed& y, const ColourRange& range, const Samples& samples) {
  CellMap map;
  map.x_edges = x.edges;
  map.y_edges = y.edges;
  map.colours = range.colours;
  for (size_t i = 0; i < meaning.names.size(); ++i) {
    map.palette.push_back(picture::CategoryColour(i));
  }
  const size_t columns = plan.columns();
  const size_t rows = plan.rows();
  map.cells.reserve(rows * columns);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      const size_t i = SampleOf(y, row, rows) * columns + SampleOf(x, column, columns);
      const double value = samples.numbers[i];
      uint8_t cell =
          meaning.names.empty() ? CellOf(range, value) : CellOf(meaning.names, value);
      if (IsBroken(samples, i)) cell = CellMap::kBroken;
      map.cells.push_back(cell);
    }
  }
  return map;
}

// A photo of samples whose colours `colour_of` tells.
template <typename ColourOf>
picture::Photo MakePhoto(const SamplePlan& plan, const Placed& x, const Placed& y,
                         const Samples& samples, const ColourOf& colour_of) {
  picture::Photo photo;
  photo.columns = static_cast<uint32_t>(plan.columns());
  photo.rows = static_cast<uint32_t>(plan.rows());
  const size_t columns = photo.columns;
  for (size_t row = photo.rows; row-- > 0;) {
    for (size_t column = 0; column < columns; ++column) {
      const size_t i = SampleOf(y, row, photo.rows) * columns + SampleOf(x, column, columns);
      photo.broken.push_back(IsBroken(samples, i));
      photo.pixels.push_back(photo.broken.back() ? picture::kWhite : colour_of(i));
    }
  }
  return photo;
}

uint8_t OverWhite(double number, double alpha, bool is_multiplied) {
  if (is_multiplied) return static_cast<uint8_t>(std::min(255.0, number + 255 - alpha));
  return static_cast<uint8_t>(std::lround(255 + (number - 255) * alpha / 255));
}

// Pixels that the array has in their colours.
picture::Photo MakeColourPhoto(const SamplePlan& plan, const Placed& x, const Placed& y,
                               const Samples& samples) {
  return MakePhoto(plan, x, y, samples, [&](size_t i) -> Colour {
    const double* at = &samples.numbers[i * plan.channels];
    const double alpha = plan.alpha != Alpha::kNone ? at[3] : 255;
    const bool is_multiplied = plan.alpha == Alpha::kMultiplied;
    return {OverWhite(at[0], alpha, is_multiplied), OverWhite(at[1], alpha, is_multiplied),
            OverWhite(at[2], alpha, is_multiplied)};
  });
}

// Labels as a map with a palette; as a photo, if they have too many colours for one.
void AddLabels(const SamplePlan& plan, const LabelColours& colours, const Placed& x,
               const Placed& y, const Samples& samples, Figure& figure) {
  constexpr size_t kMostColours = 240;
  CellMap map;
  map.x_edges = x.edges;
  map.y_edges = y.edges;
  std::map<std::array<uint8_t, 3>, uint8_t> numbers;  // of colours in the palette
  std::unordered_map<double, uint8_t> cells;          // of labels
  const auto cell_of = [&](double label) -> std::optional<uint8_t> {
    if (std::isnan(label)) return CellMap::kMissing;
    if (const auto found = cells.find(label); found != cells.end()) return found->second;
    const Colour colour = colours.Of(label);
    if (colour == picture::kBackgroundInk) return CellMap::kBackground;
    const auto number = static_cast<uint8_t>(map.palette.size());
    const auto [entry, is_new] =
        numbers.try_emplace({colour.red, colour.green, colour.blue}, number);
    if (is_new && map.palette.size() == kMostColours) return std::nullopt;
    if (is_new) map.palette.push_back(colour);
    cells.emplace(label, entry->second);
    return entry->second;
  };
  for (size_t row = 0; row < plan.rows(); ++row) {
    for (size_t column = 0; column < plan.columns(); ++column) {
      const size_t i =
          SampleOf(y, row, plan.rows()) * plan.columns() + SampleOf(x, column, plan.columns());
      const auto cell = cell_of(samples.numbers[i]);
      if (!cell) {
        figure.content = MakePhoto(plan, x, y, samples, [&](size_t k) {
          return std::isnan(samples.numbers[k]) ? picture::kMissingGrey
                                                : colours.Of(samples.numbers[k]);
        });
        return;
      }
      map.cells.push_back(IsBroken(samples, i) ? CellMap::kBroken : *cell);
    }
  }
  figure.content = std::move(map);
}

// Channels of an image in one picture, and their names in their colours.
void AddMix(const SamplePlan& plan, const Placed& x, const Placed& y, const Samples& samples,
            Figure& figure) {
  const std::vector<Colour> colours = MixColours(plan.mix, samples.layers);
  const bool is_missing = std::ranges::all_of(samples.layers, [](const auto& layer) {
    return std::ranges::all_of(layer, [](double v) { return std::isnan(v); });
  });
  figure.has_missing = is_missing;
  figure.content = MakePhoto(plan, x, y, samples, [&](size_t i) { return colours[i]; });
  picture::ColourBar bar;
  for (size_t k = plan.mix.channels.size(); k-- > 0;) {  // the first one on top
    bar.categories.push_back(plan.mix.channels[k].label);
    bar.category_colours.push_back(plan.mix.channels[k].colour);
  }
  figure.bar = std::move(bar);
}

// The range of one channel is its window, if the image has one.
ColourRange RangeOf(const SamplePlan& plan, const Samples& samples) {
  ColourRange range = ChooseRange(samples.numbers);
  const std::optional<OmeWindow> window =
      plan.mix.channels.empty() ? std::nullopt : plan.mix.channels.front().window;
  if (!window || !HasFinite(samples)) return range;
  range = {.low = window->start, .high = window->end};
  for (const double value : samples.numbers) {
    if (!std::isfinite(value)) continue;
    range.goes_below = range.goes_below || value < range.low;
    range.goes_above = range.goes_above || value > range.high;
  }
  return range;
}

Result<void> AddMap(const SamplePlan& plan, const std::vector<PreviewDimension>& dimensions,
                    const SampleMeaning& meaning, const Samples& samples, Figure& figure) {
  const PreviewDimension& of_x = dimensions[*plan.x];
  PreviewDimension of_y = dimensions[*plan.y];
  if (!of_y.goes_up && !of_y.axis.coordinates) {
    NDLFS_TRY(of_y.goes_up, GoesNorth(plan));
  }
  NDLFS_TRY(const Placed x, PlaceSamples(of_x, PlaceOn::kXOfMap));
  NDLFS_TRY(const Placed y, PlaceSamples(of_y, PlaceOn::kYOfMap));
  figure.x = x.axis;
  figure.y = y.axis;
  figure.aspect = AspectOf(x, y, of_x, of_y);
  if (x.length) figure.scale = picture::ChooseScaleBar(*x.length);
  if (plan.mix.is_mixed()) {
    AddMix(plan, x, y, samples, figure);
    return {};
  }
  if (plan.channels > 1) {
    figure.content = MakeColourPhoto(plan, x, y, samples);
    return {};
  }
  figure.has_missing = HasMissing(samples);
  const LabelColours colours(plan.whole);
  const ColourRange range = RangeOf(plan, samples);
  if (meaning.is_labels) {
    AddLabels(plan, colours, x, y, samples, figure);
  } else {
    figure.content = MakeMap(plan, meaning, x, y, range, samples);
  }
  const bool has_bar = !meaning.is_labels || !meaning.names.empty();
  if (HasFinite(samples) && has_bar) AddBar(meaning, colours, range, figure);
  return {};
}

// Names are one above the other, in the order of their numbers.
double HeightOf(const Names& names, double value) {
  const auto found = std::isnan(value) ? names.end() : names.find(value);
  return found == names.end() ? kNone
                              : static_cast<double>(std::distance(names.begin(), found));
}

// The values as they are drawn, and the ticks next to them.
struct LineScale {
  double low = 0;
  double high = 1;
  bool is_logarithmic = false;
};

LineScale ScaleOf(const std::vector<double>& heights, bool may_be_logarithmic) {
  constexpr double kManyPowers = 1e4;
  constexpr double kMargin = 0.05;
  LineScale scale{std::numeric_limits<double>::infinity(),
                  -std::numeric_limits<double>::infinity()};
  for (const double value : heights) {
    if (!std::isfinite(value)) continue;
    scale.low = std::min(scale.low, value);
    scale.high = std::max(scale.high, value);
  }
  if (scale.low > scale.high) return {};
  if (may_be_logarithmic && scale.low > 0 && scale.high / scale.low > kManyPowers) {
    using Limits = std::numeric_limits<double>;
    const double margin = std::exp(PowersBetween(scale.low, scale.high) * kMargin);
    return {std::max(scale.low / margin, Limits::denorm_min()),
            std::min(scale.high * margin, Limits::max()), true};
  }
  const double span = scale.high - scale.low;
  if (!std::isfinite(span)) return scale;
  const double margin = span > 0 ? span * kMargin : std::max(0.5, std::abs(scale.low) * 0.01);
  return {scale.low - margin, scale.high + margin, false};
}

void AddBrokenRanges(const Placed& x, const Samples& samples, picture::LinePlot& plot) {
  const size_t count = samples.numbers.size();
  for (size_t cell = 0; cell < count; ++cell) {
    if (!IsBroken(samples, SampleOf(x, cell, count))) continue;
    const double begin = static_cast<double>(x.edges[cell]);
    const double end = static_cast<double>(x.edges[cell + 1]);
    if (!plot.broken.empty() && plot.broken.back().second >= begin) {
      plot.broken.back().second = end;
    } else {
      plot.broken.emplace_back(begin, end);
    }
  }
}

Result<void> AddLine(const SamplePlan& plan, const std::vector<PreviewDimension>& dimensions,
                     const SampleMeaning& meaning, const Samples& samples, Figure& figure) {
  constexpr size_t kMostMarkers = 60;
  NDLFS_TRY(const Placed x, PlaceSamples(dimensions[*plan.x], PlaceOn::kXOfLine));
  std::vector<double> heights = samples.numbers;
  if (!meaning.names.empty()) {
    for (double& value : heights) value = HeightOf(meaning.names, value);
  }
  const LineScale scale = ScaleOf(heights, !meaning.time && meaning.names.empty());
  picture::LinePlot plot;
  const size_t count = heights.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t sample = SampleOf(x, i, count);
    const double value = heights[sample];
    const double y = std::isfinite(value)
                         ? PartOfRange(value, scale.low, scale.high, scale.is_logarithmic)
                         : kNone;
    plot.points.push_back({x.centres[sample], y});
  }
  AddBrokenRanges(x, samples, plot);
  plot.has_markers = count <= kMostMarkers;
  figure.x = x.axis;
  if (!meaning.names.empty()) {
    for (const auto& [value, name] : meaning.names) {
      const double at =
          PartOfRange(HeightOf(meaning.names, value), scale.low, scale.high, false);
      if (at >= 0 && at <= 1) figure.y.ticks.push_back({at, name});
    }
  } else if (HasFinite(samples)) {
    auto ticks = ValueTicks(meaning, scale.low, scale.high, scale.is_logarithmic);
    figure.y.label = ValueLabel(meaning, ticks.factor);
    figure.y.ticks = std::move(ticks.ticks);
  }
  figure.content = std::move(plot);
  return {};
}

std::string OneNumberText(const SampleMeaning& meaning, double value) {
  if (std::isnan(value)) return "missing";
  if (const auto name = meaning.names.find(value); name != meaning.names.end()) {
    return name->second;
  }
  if (meaning.time) return TimeLabel(*meaning.time, value);
  return picture::NumberText(value, 8) + (meaning.units.empty() ? "" : " " + meaning.units);
}

// "[10:20, ::4]"
std::string RangesText(const SamplePlan& plan) {
  std::string text;
  for (const auto& d : {plan.y, plan.x}) {
    if (!d) continue;
    const IndexRange& range = plan.selection[*d];
    text += text.empty() ? "" : ", ";
    text += fmt::format("{}:{}:{}", range.begin, range.At(range.count - 1) + 1, range.step);
  }
  return "[" + text + "]";
}

// "from the level of 20 × 512 × 512": its extents along what is shown, or is smaller.
std::string LevelText(const SamplePlan& plan) {
  std::vector<std::string> extents;
  for (size_t d = 0; d < plan.full_shape.size(); ++d) {
    const uint64_t extent = plan.whole.shape[d];
    if (d != plan.x && d != plan.y && extent == plan.full_shape[d]) continue;
    extents.push_back(fmt::format("{}", extent));
  }
  return fmt::format("from the level of {}", fmt::join(extents, " \u00d7 "));
}

// Tells which part of the array is shown, if not all of it.
Result<std::string> Subtitle(const SamplePlan& plan,
                             const std::vector<PreviewDimension>& dimensions,
                             const SampleMeaning& meaning, const Samples& samples) {
  std::vector<std::string> parts;
  if (meaning.name != meaning.title && !meaning.name.empty()) parts.push_back(meaning.name);
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const bool is_colours = (plan.channels > 1 && d + 1 == dimensions.size()) ||
                            (plan.mix.is_mixed() && d == plan.mix.dimension);
    if (d == plan.x || d == plan.y || is_colours) continue;
    if (dimensions[d].extent == 1 && !dimensions[d].axis.coordinates) continue;
    NDLFS_TRY(std::string index, DescribeIndex(dimensions[d], d));
    parts.push_back(std::move(index));
  }
  if (plan.full_shape != plan.whole.shape) parts.push_back(LevelText(plan));
  if (plan.is_coarse || plan.is_window) {
    parts.push_back("only the elements " + RangesText(plan));
  }
  if (plan.mix.channels.size() < plan.mix.all && plan.mix.is_mixed()) {
    parts.push_back(fmt::format("{} of {} channels", plan.mix.channels.size(), plan.mix.all));
  }
  if (meaning.is_labels && meaning.names.empty()) {
    const std::set<double> labels(samples.numbers.begin(), samples.numbers.end());
    parts.push_back(fmt::format("{} labels are shown", labels.size() - labels.count(0)));
  }
  if (plan.x && plan.channels == 1 && !plan.mix.is_mixed() && !HasFinite(samples))
    parts.emplace_back("all values are missing");
  return fmt::format("{}", fmt::join(parts, "  \u00b7  "));
}

}  // namespace

ColourRange ChooseRange(const std::vector<double>& values) {
  constexpr size_t kFewValues = 100;
  constexpr double kOutside = 0.02;
  constexpr double kWorthwhile = 1.6;  // as much wider all values have to be
  constexpr double kManyPowers = 1e4;
  constexpr double kBalanced = 1.5;
  FiniteValues finite(values);
  if (finite.empty()) return {};
  const auto [least, greatest] = finite.MinMax();
  ColourRange range{least, greatest};
  const double low = finite.Quantile(kOutside);
  const double high = finite.Quantile(1 - kOutside);
  const bool has_outliers = finite.size() >= kFewValues && high > low &&
                            (greatest / 2 - least / 2) > (high / 2 - low / 2) * kWorthwhile;
  if (has_outliers) {
    range.low = low;
    range.high = high;
  }
  range.is_logarithmic = range.low > 0 && range.high / range.low > kManyPowers;
  if (range.low == range.high) {
    const double margin = std::max(0.5, std::abs(range.low) * 0.01);
    if (std::isfinite(range.low - margin) && std::isfinite(range.high + margin)) {
      range.low -= margin;
      range.high += margin;
    }
  }
  const double below = -range.low;
  if (below > 0 && range.high > 0 && below <= range.high * kBalanced &&
      range.high <= below * kBalanced) {
    range.colours = picture::ColourMap::kDiverging;
    range.high = std::max(below, range.high);
    range.low = -range.high;
  }
  range.goes_below = least < range.low;
  range.goes_above = greatest > range.high;
  return range;
}

Result<Figure> MakeFigure(const SamplePlan& plan,
                          const std::vector<PreviewDimension>& dimensions,
                          const Samples& samples) {
  const SampleMeaning meaning = MeaningOf(plan, samples);
  Figure figure;
  figure.title = meaning.title + (plan.whole.dtype.is_complex() ? " (magnitude)" : "");
  NDLFS_TRY(figure.subtitle, Subtitle(plan, dimensions, meaning, samples));
  figure.has_broken = samples.broken_chunks > 0;
  if (figure.has_broken) {
    figure.note = fmt::format("{} of {} chunks cannot be read: {}", samples.broken_chunks,
                              samples.chunks, samples.first_problem);
  }
  if (plan.y) {
    NDLFS_RETURN_IF_ERROR(AddMap(plan, dimensions, meaning, samples, figure));
  } else if (plan.x) {
    NDLFS_RETURN_IF_ERROR(AddLine(plan, dimensions, meaning, samples, figure));
  } else {
    figure.content = picture::OneNumber{OneNumberText(meaning, samples.numbers.front())};
  }
  return figure;
}

}  // namespace ndlfs::fs
