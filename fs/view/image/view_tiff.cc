// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/view/base/attributes.h"
#include "fs/view/base/html_text.h"
#include "fs/view/base/number_array.h"
#include "fs/view/base/raw_header.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/image/tiff_file.h"
#include "fs/view/image/views.h"
#include "fs/view/place/geometry.h"
#include "fs/view/place/page_names.h"
#include "fs/view/place/physical_unit.h"

namespace ndlfs::fs {
namespace {

struct Picture {
  NumberArray numbers;
  Raster raster;
};

std::optional<Picture> FittingTiff(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  if (!numbers) return std::nullopt;
  const auto raster = AsRaster(input, *numbers);
  if (!raster || !FitsTiff(*raster)) return std::nullopt;
  return Picture{*numbers, *raster};
}

// ImageJ's names of the dimensions of a stack; it wants them in this order, the fastest first.
enum StackAxis : uint8_t { kChannels, kSlices, kFrames, kNoStackAxis };
constexpr size_t kStackAxes = 3;

StackAxis StackAxisOf(const Axis& axis) {
  std::string name = axis.name;
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, name) != words.end();
  };
  if (is_one_of({"c", "ch", "channel", "channels"})) return kChannels;
  if (is_one_of({"z", "plane", "planes", "slice", "slices", "depth"})) return kSlices;
  if (is_one_of({"t", "time", "frame", "frames"})) return kFrames;
  return axis.role == AxisRole::kTime ? kFrames : kNoStackAxis;
}

// The pages of an array as channels, slices and frames.
struct Stack {
  std::array<uint64_t, kStackAxes> counts = {1, 1, 1};
  // Pages of the array from one to the next of each.
  std::array<uint64_t, kStackAxes> strides = {0, 0, 0};

  bool IsInOrder() const {
    uint64_t stride = 1;
    for (size_t i = 0; i < kStackAxes; ++i) {
      if (counts[i] > 1 && strides[i] != stride) return false;
      stride *= counts[i];
    }
    return true;
  }
};

// Dimensions without such a name are slices, then frames, then channels, as far as these are
// free: so that of four dimensions two are sliders.
Stack StackOf(const Picture& picture, const Geometry& geometry) {
  Stack stack;
  const size_t dimensions = picture.raster.y_axis.value_or(0);
  std::vector<StackAxis> roles;
  for (size_t d = 0; d < dimensions; ++d) roles.push_back(StackAxisOf(geometry.axes[d]));
  uint64_t stride = 1;
  for (size_t d = dimensions; d-- > 0;) {
    const uint64_t count = picture.numbers.shape[d];
    if (count > 1) {
      for (const StackAxis free : {kSlices, kFrames, kChannels}) {
        const bool is_free = std::ranges::find(roles, free) == roles.end();
        if (roles[d] == kNoStackAxis && is_free) roles[d] = free;
      }
      const StackAxis role = roles[d];
      if (role == kNoStackAxis || stack.counts[role] > 1) {
        Stack slices;
        slices.counts[kSlices] = picture.raster.pages;
        slices.strides[kSlices] = 1;
        return slices;
      }
      stack.counts[role] = count;
      stack.strides[role] = stride;
    }
    stride *= count;
  }
  return stack;
}

// The unit of lengths in ImageJ's words; empty where it is none.
std::string_view UnitInImageJ(std::string_view units) {
  struct Word {
    std::string_view name;
    std::string_view unit;
  };
  static constexpr std::array<Word, 18> kWords = {{
#include "fs/view/image/length_words.inc"
  }};
  const auto found = std::ranges::find(kWords, units, &Word::name);
  return found == kWords.end() ? std::string_view() : found->unit;
}

// The axes of pixels, where they have a size in a unit.
struct PixelAxes {
  std::string_view unit;  // empty where nobody knows
  Axis x, y;
  std::optional<Axis> z;  // in the same unit
  std::optional<Axis> t;  // of frames, in a unit of time
};

bool MayHaveSize(const Axis& axis) { return axis.coordinates || axis.known || axis.spacing; }

PixelAxes PixelAxesOf(const Picture& picture, const Geometry& geometry) {
  PixelAxes axes;
  if (!picture.raster.y_axis) return axes;
  for (size_t d = 0; d < *picture.raster.y_axis; ++d) {
    const Axis& axis = geometry.axes[d];
    const bool is_time = StackAxisOf(axis) == kFrames && TimeUnitOf(axis.units);
    if (is_time && MayHaveSize(axis)) axes.t = axis;
  }
  axes.x = geometry.axes[picture.raster.x_axis];
  axes.y = geometry.axes[*picture.raster.y_axis];
  if (!MayHaveSize(axes.x) || !MayHaveSize(axes.y) || axes.x.units != axes.y.units) return axes;
  axes.unit = UnitInImageJ(axes.x.units);
  for (size_t d = 0; d < *picture.raster.y_axis; ++d) {
    const Axis& axis = geometry.axes[d];
    if (StackAxisOf(axis) != kSlices || !MayHaveSize(axis)) continue;
    if (axis.units == axes.x.units) axes.z = axis;
  }
  return axes;
}

model::Result<double> ReadSizeOf(const Axis& axis) {
  NDLFS_TRY(const auto steps, ReadSteps(axis));
  const bool is_known = (steps && !std::isnan(steps->step)) || axis.spacing;
  return is_known ? SpacingOf(axis, steps) : 0;
}

model::Result<TiffPixels> ReadPixels(const PixelAxes& axes) {
  TiffPixels pixels;
  if (axes.t) {
    NDLFS_TRY(pixels.seconds, ReadSizeOf(*axes.t));
    pixels.seconds *= TimeUnitOf(axes.t->units)->size;
  }
  if (axes.unit.empty()) return pixels;
  NDLFS_TRY(pixels.width, ReadSizeOf(axes.x));
  NDLFS_TRY(pixels.height, ReadSizeOf(axes.y));
  if (axes.z) {
    NDLFS_TRY(pixels.depth, ReadSizeOf(*axes.z));
  }
  return pixels;
}

// The text has a fixed size: blanks stand for digits that a number does not have.
std::string DescribePixels(const PixelAxes& axes, const TiffPixels& pixels) {
  const auto line = [](std::string_view name, double number) {
    constexpr int kWidth = 24;
    return number > 0 ? fmt::format("{}={:>{}}\n", name, number, kWidth)
                      : std::string(name.size() + 1 + kWidth, ' ') + '\n';
  };
  std::string text;
  if (!axes.unit.empty()) text += fmt::format("unit={}\n", axes.unit);
  if (!axes.unit.empty() && axes.z) text += line("spacing", pixels.depth);
  if (axes.t) text += line("finterval", pixels.seconds);
  return text;
}

// ImageJ reads the first directory only, and finds the other pages behind that one's by this
// text.
std::string DescribeStack(const Picture& picture, const Stack& stack, const PixelAxes& axes,
                          const TiffPixels& pixels) {
  const uint64_t pages = picture.raster.pages;
  if (pages < 2 && axes.unit.empty()) return {};
  std::string text = fmt::format("ImageJ=1.53t\nimages={}\n", pages);
  const auto& counts = stack.counts;
  if (counts[kChannels] > 1) text += fmt::format("channels={}\n", counts[kChannels]);
  if (counts[kSlices] > 1) text += fmt::format("slices={}\n", counts[kSlices]);
  if (counts[kFrames] > 1) text += fmt::format("frames={}\n", counts[kFrames]);
  const auto sliders = std::ranges::count_if(counts, [](uint64_t count) { return count > 1; });
  if (sliders > 1 || counts[kChannels] > 1) text += "hyperstack=true\n";
  if (counts[kChannels] > 1) text += "mode=grayscale\n";
  text += DescribePixels(axes, pixels);
  return text + "loop=false\n";
}

void AddStack(const Picture& picture, const Geometry& geometry, TiffContent& content) {
  Stack stack = StackOf(picture, geometry);
  if (!stack.IsInOrder() && picture.raster.pages > kMostOrderedPages) {
    stack = {.counts = {1, picture.raster.pages, 1}, .strides = {0, 1, 0}};
  }
  if (!stack.IsInOrder()) {
    content.order = [stack](uint64_t page) {
      uint64_t place = 0;
      for (size_t i = 0; i < kStackAxes; ++i) {
        place += page % stack.counts[i] * stack.strides[i];
        page /= stack.counts[i];
      }
      return place;
    };
  }
  PixelAxes axes = PixelAxesOf(picture, geometry);
  if (content.place && content.place->is_earth) axes.unit = {};
  if (!axes.unit.empty() || axes.t) content.read_pixels = [axes] { return ReadPixels(axes); };
  content.describe = [picture, stack, axes](const TiffPixels& pixels) {
    return DescribeStack(picture, stack, axes, pixels);
  };
}

// The factors and the unit. There may be very many bands. Of several pages, no band is that of
// a factor.
auto OfBands(const ArrayInput& input, const Raster& raster, bool is_one_page) {
  constexpr uint64_t kMostBands = 4096;
  decltype(TiffContent::of_bands) found;
  if (raster.pages > kMostBands || raster.samples > kMostBands) return found;
  const std::string unit = PrintableAscii(TextOf(input.node->attributes(), "units"));
  std::vector<Factors> factors = FactorsOfBands(input, raster);
  if (!is_one_page && factors.size() > 1) factors = {Factors()};
  const bool is_scaled = factors != std::vector(factors.size(), Factors());
  if (!is_scaled && unit.empty()) return found;
  for (const Factors& of_band : factors) {
    auto& items = found.emplace_back();
    if (is_scaled) {
      items.emplace_back("offset", fmt::format("{}", of_band.offset));
      items.emplace_back("scale", fmt::format("{}", of_band.scale));
    }
    if (!unit.empty()) items.emplace_back("unittype", HtmlText(unit));
  }
  return found;
}

model::Result<ViewNode> MakeTiff(const ArrayInput& input) {
  const auto picture = FittingTiff(input);
  if (!picture) return model::Unsupported("no TIFF of {}", input.dtype.keyword());
  NDLFS_TRY(const Geometry geometry, DescribeGeometry(input, picture->numbers));
  const Raster& raster = picture->raster;
  TiffContent content;
  content.levels.push_back({raster, picture->numbers.elements});
  content.nodata = MissingText(input);
  content.place = FindMapPlace(geometry, raster);
  if (content.place) {
    content.place->is_point = TextOf(input.node->attributes(), "AREA_OR_POINT") == "Point";
  }
  // GIS programs see only the first page of a file, and ImageJ no bands.
  const bool is_earth = content.place && content.place->is_earth;
  content.has_bands = (is_earth || raster.has_band_pages) && raster.samples == 1 &&
                      raster.pages <= kMostTiffBands;
  if (!content.has_bands) AddStack(*picture, geometry, content);
  const bool is_one_page = content.has_bands || raster.pages == 1;
  content.of_bands = OfBands(input, raster, is_one_page);
  if (is_one_page && PageNames::MayHave(geometry, raster)) content.names = geometry;
  return MakeTiff(std::move(content));
}

}  // namespace

const ArrayViewKind kTiffView = {
    .file_name = "data.tif",
    .description = "TIFF",
    .applies_to = [](const ArrayInput& input) { return FittingTiff(input).has_value(); },
    .is_listed = [](const ArrayInput&) { return false; },
    .make = &MakeTiff,
};

}  // namespace ndlfs::fs
