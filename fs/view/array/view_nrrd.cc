// SPDX-License-Identifier: MIT
//
// A detached NRRD header for data.raw: teem, 3D Slicer, ITK.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/packing.h"
#include "fs/view/array/views.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/raw_header.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/place/geometry.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr size_t kMostNrrdAxes = 16;  // NRRD_DIM_MAX

struct Nrrd {
  NumberArray numbers;
  Geometry geometry;
  size_t rank = 0;         // dimensions of places
  std::string first_size;  // of an axis before them: parts of an element
  std::string first_kind;
  std::string first_label;
  std::string raw_name;
  std::string name;
  std::string unit;
  backends::Packing packing;
};

// Programs take a vector for one pixel, whatever its length is.
std::string KindOfSamples(const Raster& raster) {
  if (!raster.is_colour) return "vector";
  if (raster.samples == 3) return "RGB-color";
  return raster.samples == 4 && raster.alpha != Alpha::kNone ? "RGBA-color" : "vector";
}

std::optional<Nrrd> FittingNrrd(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  if (!numbers || numbers->rank() == 0 || WordsFor(numbers->number).nrrd.empty())
    return std::nullopt;
  Nrrd nrrd;
  nrrd.numbers = *numbers;
  nrrd.rank = numbers->rank();
  nrrd.raw_name = RawFileName(input);
  nrrd.name = NameInHeader(input);
  nrrd.unit = PrintableAscii(TextOf(input.node->attributes(), "units"));
  nrrd.packing = backends::ReadPacking(*input.node).value_or(backends::Packing());
  const auto raster = AsRaster(input, *numbers);
  if (IsComplex(numbers->number)) {
    nrrd.first_size = "2";
    nrrd.first_kind = "complex";
  } else if (raster && raster->samples > 1) {
    nrrd.first_size = fmt::format("{}", raster->samples);
    nrrd.first_kind = KindOfSamples(*raster);
    nrrd.first_label = PlainName(DimensionName(input, *raster->sample_axis));
    --nrrd.rank;
  }
  if (nrrd.rank + (nrrd.first_size.empty() ? 0 : 1) > kMostNrrdAxes) return std::nullopt;
  return nrrd;
}

// A line with a word for each axis, the fastest first.
template <typename WordOf>
std::string Line(const Nrrd& nrrd, std::string_view field, std::string_view of_first,
                 const WordOf& word_of) {
  std::string line = fmt::format("{}:", field);
  if (!nrrd.first_size.empty()) line += fmt::format(" {}", of_first);
  for (size_t d = nrrd.rank; d-- > 0;) line += fmt::format(" {}", word_of(d));
  return line + '\n';
}

// Axes that lie in a space: where a header places them, or where coordinates descend, which no
// spacing of one axis can say.
struct NrrdSpace {
  struct Axis {
    size_t dimension = 0;
    std::vector<double> direction;
  };
  std::vector<Axis> axes;  // the fastest first
  std::vector<double> origin;
  bool is_oriented = false;  // to the right, the front and the top of a patient
  std::string unit;          // of all axes, if the header has one
};

struct NrrdPlace {
  AllSteps steps;
  std::optional<NrrdSpace> space;
};

bool IsInTime(const Axis& axis) {
  return axis.role == AxisRole::kTime || axis.name == "t" || axis.name == "time";
}

// Each axis whose coordinates are regular becomes an axis of the space. nullopt if all of them
// ascend.
std::optional<NrrdSpace> SpaceOfSteps(const Nrrd& nrrd, const AllSteps& steps) {
  std::vector<size_t> known;
  bool is_descending = false;
  for (size_t d = nrrd.rank; d-- > 0;) {
    if (!steps[d] || std::isnan(steps[d]->step) || IsInTime(nrrd.geometry.axes[d])) continue;
    known.push_back(d);
    is_descending = is_descending || steps[d]->step < 0;
  }
  if (!is_descending) return std::nullopt;
  NrrdSpace space;
  for (size_t i = 0; i < known.size(); ++i) {
    std::vector<double> direction(known.size(), 0);
    direction[i] = steps[known[i]]->step;
    space.axes.push_back({known[i], std::move(direction)});
    space.origin.push_back(steps[known[i]]->first);
  }
  return space;
}

// nullopt where what is shown lacks an axis of the image.
std::optional<NrrdSpace> SpaceOfHeader(const Nrrd& nrrd, const NiftiPlace& header) {
  const ImageSpace& image = *nrrd.geometry.image;
  const Placement placement = PlacementIn(image, header);
  NrrdSpace space;
  space.is_oriented = header.code() > 0;
  space.unit = header.length_unit();
  space.origin.assign(placement.origin.begin(), placement.origin.end());
  for (size_t n = 0; n < 3; ++n) {
    const auto& column = placement.columns[n];
    const auto dimension = image.axes[n].dimension;
    if (!dimension || *dimension >= nrrd.rank) return std::nullopt;
    space.axes.push_back({*dimension, {column.begin(), column.end()}});
  }
  std::ranges::sort(space.axes, std::greater(), &NrrdSpace::Axis::dimension);
  return space;
}

Result<NrrdPlace> ReadNrrdPlace(const Nrrd& nrrd) {
  NrrdPlace place;
  NDLFS_TRY(place.steps, ReadAllSteps(nrrd.geometry));
  if (nrrd.geometry.image) {
    NDLFS_TRY(const auto header, nrrd.geometry.image->Read());
    if (header && header->code() > 0) place.space = SpaceOfHeader(nrrd, *header);
  }
  if (!place.space) place.space = SpaceOfSteps(nrrd, place.steps);
  return place;
}

std::string VectorText(const std::vector<double>& numbers, const NumberText& text) {
  std::string out = "(";
  for (const double number : numbers) out += (out.size() == 1 ? "" : ",") + text(number);
  return out + ")";
}

// Fields of a space; the space has no name where nobody says how it lies.
std::string RenderSpace(const Nrrd& nrrd, const NrrdSpace& space, const NumberText& text) {
  std::string out = space.is_oriented
                        ? "space: right-anterior-superior\n"
                        : fmt::format("space dimension: {}\n", space.origin.size());
  out += Line(nrrd, "space directions", "none", [&](size_t d) {
    const auto found = std::ranges::find(space.axes, d, &NrrdSpace::Axis::dimension);
    return found == space.axes.end() ? std::string("none") : VectorText(found->direction, text);
  });
  out += fmt::format("space origin: {}\n", VectorText(space.origin, text));
  const auto unit_of = [&](size_t d) {
    if (!space.unit.empty()) return space.unit;
    return PlainName(PrintableAscii(nrrd.geometry.axes[d].units));
  };
  if (unit_of(space.axes.front().dimension).empty()) return out;
  out += "space units:";
  for (size_t i = 0; i < space.origin.size(); ++i) {
    const size_t d = space.axes[std::min(i, space.axes.size() - 1)].dimension;
    out += fmt::format(" \"{}\"", unit_of(d));
  }
  return out + '\n';
}

// Axes in a space have vectors; other axes have spacing and mins. An axis with spacing needs a
// first coordinate too, or ITK would begin the image at NaN.
std::string Render(const Nrrd& nrrd, const NrrdPlace& place, const NumberText& text) {
  const AllSteps& steps = place.steps;
  const auto axis = [&](size_t d) { return nrrd.geometry.axes[d]; };
  const auto is_in_space = [&](size_t d) {
    return place.space &&
           std::ranges::find(place.space->axes, d, &NrrdSpace::Axis::dimension) !=
               place.space->axes.end();
  };
  const auto is_known = [&](size_t d) {
    return !is_in_space(d) && (axis(d).spacing || (steps[d] && !std::isnan(steps[d]->step)));
  };
  const auto spacing = [&](size_t d) {
    return is_known(d) ? text(SpacingOf(axis(d), steps[d])) : "nan";
  };
  const auto origin = [&](size_t d) { return is_known(d) ? text(OriginOf(steps[d])) : "nan"; };
  std::string out = fmt::format(
      "NRRD0004\ncontent: {}\ntype: {}\ndimension: {}\n",
      nrrd.geometry.title.empty() ? nrrd.name : PrintableAscii(nrrd.geometry.title),
      WordsFor(nrrd.numbers.number).nrrd, nrrd.rank + (nrrd.first_size.empty() ? 0 : 1));
  if (nrrd.unit.find_first_not_of(' ') != nrrd.unit.npos)
    out += fmt::format("sample units: {}\n", nrrd.unit);
  // Numbers without a sign count the equal parts of a range.
  const Number number = nrrd.numbers.number;
  if (nrrd.packing.is_scaled() && IsUnsigned(number) && number != Number::kUInt64) {
    const double factor = nrrd.packing.factor();
    const double low = nrrd.packing.shift() - factor / 2;
    out += fmt::format("old min: {}\nold max: {}\n", low,
                       low + factor * std::exp2(8 * SizeOf(number)));
  }
  if (place.space) out += RenderSpace(nrrd, *place.space, text);
  out += Line(nrrd, "sizes", nrrd.first_size, [&](size_t d) { return nrrd.numbers.shape[d]; });
  out += Line(nrrd, "spacings", "nan", spacing);
  out += Line(nrrd, "axis mins", "nan", origin);
  out += Line(nrrd, "centers", "none", [](size_t) { return "node"; });
  if (!nrrd.first_kind.empty()) {
    out += Line(nrrd, "kinds", nrrd.first_kind, [](size_t) { return "domain"; });
  }
  out += Line(nrrd, "labels", fmt::format("\"{}\"", nrrd.first_label),
              [&](size_t d) { return fmt::format("\"{}\"", PlainName(axis(d).name)); });
  out += Line(nrrd, "units", "\"\"", [&](size_t d) {
    std::string unit = is_in_space(d) ? std::string() : PrintableAscii(axis(d).units);
    std::ranges::replace_if(
        unit, [](char c) { return c == '"' || c == '\\'; }, '_');
    return fmt::format("\"{}\"", unit);
  });
  out += "endian: little\nencoding: raw\n";
  // An empty line ends the header: what fills up the file is behind it.
  return out + fmt::format("data file: ./{}\n\n", nrrd.raw_name);
}

// The size of the longest header, whether its axes lie in a space or not.
uint64_t LongestHeader(const Nrrd& nrrd) {
  NrrdPlace place{LongestSteps(nrrd.geometry), std::nullopt};
  uint64_t longest = Render(nrrd, place, NumberText::Widest()).size();
  AllSteps descending = place.steps;
  for (auto& steps : descending) {
    if (steps) steps->step = -1;
  }
  place.space = SpaceOfSteps(nrrd, descending);
  if (place.space)
    longest = std::max(longest, Render(nrrd, place, NumberText::Widest()).size());
  if (!nrrd.geometry.image) return longest;
  NiftiPlace header;
  header.sform = 1;
  header.units = 2;
  place.space = SpaceOfHeader(nrrd, header);
  if (place.space)
    longest = std::max(longest, Render(nrrd, place, NumberText::Widest()).size());
  return longest;
}

Result<ViewNode> MakeNrrd(const ArrayInput& input) {
  auto nrrd = FittingNrrd(input);
  if (!nrrd) return model::Unsupported("no NRRD header for {}", input.dtype.keyword());
  NDLFS_TRY(nrrd->geometry, DescribeGeometry(input, nrrd->numbers));
  const uint64_t size = LongestHeader(*nrrd);
  const auto make = [nrrd = *nrrd, size]() -> Result<std::string> {
    NDLFS_TRY(const NrrdPlace place, ReadNrrdPlace(nrrd));
    return FillUp(Render(nrrd, place, NumberText::Exact()), size);
  };
  return MakeSegmentedView({MakeDeferredBytes(size, make)});
}

}  // namespace

const ArrayViewKind kNrrdView = {
    .file_name = "data.nhdr",
    .description = "NRRD header, for {}",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return FittingNrrd(input).has_value(); },
    .is_listed = &IsListedHeader,
    .make = &MakeNrrd,
};

}  // namespace ndlfs::fs
