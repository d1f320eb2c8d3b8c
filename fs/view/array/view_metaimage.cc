// SPDX-License-Identifier: MIT
//
// A MetaImage header for data.raw: ITK, VTK, 3D Slicer, elastix.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/packing.h"
#include "fs/view/array/views.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/raw_header.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/place/geometry.h"
#include "fs/view/place/physical_unit.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr size_t kMostMetaImageAxes = 10;

struct MetaImage {
  NumberArray numbers;
  Geometry geometry;
  size_t rank = 0;  // of the array without that of the numbers of a pixel
  // The lengths of the image, the fastest first: VTK refuses more than three. Dimensions before
  // them lie one behind the other along the last one.
  std::vector<uint64_t> lengths;
  uint64_t channels = 1;
  std::string raw_name;
  backends::Packing packing;

  size_t DimensionOf(size_t n) const { return rank - 1 - n; }
};

std::optional<MetaImage> FittingMetaImage(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  if (!numbers || numbers->rank() == 0 || WordsFor(numbers->number).metaimage.empty())
    return std::nullopt;
  const auto raster = AsRaster(input, *numbers);
  MetaImage image;
  image.numbers = *numbers;
  image.channels = raster->samples;
  image.rank = numbers->rank() - (raster->sample_axis ? 1 : 0);
  image.raw_name = RawFileName(input);
  image.packing = backends::ReadPacking(*input.node).value_or(backends::Packing());
  constexpr size_t kMostOfVtk = 3;
  for (size_t n = 0; n < image.rank; ++n) {
    const uint64_t length = numbers->shape[image.DimensionOf(n)];
    // No overflow: the product of all is the size of the array.
    if (n < kMostOfVtk) {
      image.lengths.push_back(length);
    } else {
      image.lengths.back() *= length;
    }
  }
  constexpr uint64_t kMostLength = std::numeric_limits<int32_t>::max();
  const bool is_short =
      std::ranges::all_of(image.lengths, [](uint64_t n) { return n <= kMostLength; });
  return image.rank <= kMostMetaImageAxes && is_short ? std::optional(image) : std::nullopt;
}

template <typename WordOf>
std::string Line(const MetaImage& image, std::string_view field, const WordOf& word_of) {
  std::string line = fmt::format("{} =", field);
  for (size_t n = 0; n < image.lengths.size(); ++n) line += fmt::format(" {}", word_of(n));
  return line + '\n';
}

// The unit of all axes, of which MetaIO has few, and what a number of each axis is in it.
struct MetaUnit {
  std::string_view word;  // empty where nobody knows, or an axis has no length
  std::vector<double> factors;
};

MetaUnit UnitOf(const MetaImage& image) {
  const size_t rank = image.lengths.size();
  MetaUnit made{"", std::vector<double>(rank, 1)};
  const auto& space = image.geometry.image;
  const std::string_view of_header = space && space->header ? space->header->length_unit() : "";
  std::vector<double> sizes;
  for (size_t n = 0; n < rank; ++n) {
    const std::string& of_axis = image.geometry.axes[image.DimensionOf(n)].units;
    const auto unit = LengthUnitOf(of_header.empty() ? of_axis : of_header);
    if (!unit) return made;
    sizes.push_back(unit->size);
  }
  const double first = sizes.empty() ? 0 : sizes.front();
  made.word = first == 1e-6 ? "um" : first == 1e-2 ? "cm" : "mm";
  const double size = first == 1e-6 || first == 1e-2 ? first : 1e-3;
  for (size_t n = 0; n < rank; ++n) made.factors[n] = sizes[n] / size;
  return made;
}

// Where the first element is, how far elements are from each other, and unit vectors along the
// axes of the image.
struct MetaPlace {
  std::vector<double> origin;
  std::vector<double> spacing;
  std::vector<std::vector<double>> directions;
  bool is_oriented = false;  // a patient lies in the space as ITK has it
};

MetaPlace PlaceOfSteps(const MetaImage& image, const AllSteps& steps) {
  MetaPlace place;
  const size_t rank = image.lengths.size();
  for (size_t n = 0; n < rank; ++n) {
    const size_t d = image.DimensionOf(n);
    place.origin.push_back(steps[d] ? steps[d]->first : 0);
    place.spacing.push_back(SpacingOf(image.geometry.axes[d], steps[d]));
    std::vector<double> direction(rank, 0);
    direction[n] = steps[d] && steps[d]->step < 0 ? -1 : 1;
    place.directions.push_back(std::move(direction));
  }
  return place;
}

// The space of a header points right, front and up; that of ITK left, back and up. nullopt if
// the shown elements have other axes than the image of the header.
std::optional<MetaPlace> PlaceOfHeader(const MetaImage& image, const NiftiPlace& header) {
  const Placement placement = PlacementIn(*image.geometry.image, header);
  if (image.lengths.size() != 3) return std::nullopt;
  constexpr std::array<double, 3> kSigns = {-1, -1, 1};
  MetaPlace place;
  place.is_oriented = true;
  for (size_t n = 0; n < 3; ++n) {
    if (image.geometry.image->axes[n].dimension != image.DimensionOf(n)) return std::nullopt;
    const auto& column = placement.columns[n];
    const double length = std::hypot(column[0], column[1], column[2]);
    if (!std::isfinite(length) || length == 0) return std::nullopt;
    place.origin.push_back(kSigns[n] * placement.origin[n] + 0.0);
    place.spacing.push_back(length);
    auto& direction = place.directions.emplace_back();
    for (size_t i = 0; i < 3; ++i) direction.push_back(kSigns[i] * column[i] / length + 0.0);
  }
  return place;
}

Result<MetaPlace> ReadMetaPlace(const MetaImage& image) {
  if (image.geometry.image) {
    NDLFS_TRY(const auto header, image.geometry.image->Read());
    auto place = header && header->code() > 0 ? PlaceOfHeader(image, *header) : std::nullopt;
    if (place) return *std::move(place);
  }
  NDLFS_TRY(const AllSteps steps, ReadAllSteps(image.geometry));
  return PlaceOfSteps(image, steps);
}

// ElementDataFile comes last: readers stop there, so nothing fills up the end. Numbers that are
// known only by coordinates are equally wide instead.
std::string Render(const MetaImage& image, const MetaPlace& place) {
  const MetaUnit unit = UnitOf(image);
  const NumberText text = NumberText::Exact();
  constexpr int kWidth = 24;
  const auto number = [&](size_t n, double value) {
    const bool is_read =
        image.geometry.axes[image.DimensionOf(n)].coordinates || image.geometry.image;
    return fmt::format("{:>{}}", text(value), is_read ? kWidth : 0);
  };
  std::string out = fmt::format("ObjectType = Image\nNDims = {}\n", image.lengths.size());
  if (image.rank > image.lengths.size()) {
    out += fmt::format("Comment = {} dimensions, those before the last three along one axis\n",
                       image.rank);
  }
  if (!image.geometry.title.empty()) {
    out += fmt::format("Name = {}\n", PrintableAscii(image.geometry.title));
  }
  out += "BinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = False\n";
  out += "TransformMatrix =";
  for (const auto& direction : place.directions) {
    for (const double cosine : direction) {
      out += image.geometry.image ? fmt::format(" {:>{}}", text(cosine), kWidth)
                                  : fmt::format(" {:>2}", text(cosine));
    }
  }
  out += '\n';
  out += Line(image, "Offset",
              [&](size_t n) { return number(n, place.origin[n] * unit.factors[n]); });
  // MetaIO names the directions that axes come from: RAI if they run to the left, the back and
  // up.
  if (image.lengths.size() == 3) {
    out += fmt::format("AnatomicalOrientation = {}\n", place.is_oriented ? "RAI" : "???");
  }
  out += Line(image, "ElementSpacing",
              [&](size_t n) { return number(n, place.spacing[n] * unit.factors[n]); });
  if (!unit.word.empty()) out += fmt::format("DistanceUnits = {}\n", unit.word);
  out += Line(image, "DimSize", [&](size_t n) { return image.lengths[n]; });
  if (image.channels > 1) {
    out += fmt::format("ElementNumberOfChannels = {}\n", image.channels);
  }
  if (image.packing.is_scaled()) {
    out += fmt::format("ElementToIntensityFunctionSlope = {}\n", image.packing.factor());
    out += fmt::format("ElementToIntensityFunctionOffset = {}\n", image.packing.shift());
  }
  return out + fmt::format("ElementType = {}\nElementDataFile = {}\n",
                           WordsFor(image.numbers.number).metaimage, image.raw_name);
}

Result<ViewNode> MakeMetaImage(const ArrayInput& input) {
  auto image = FittingMetaImage(input);
  if (!image) return model::Unsupported("no MetaImage header for {}", input.dtype.keyword());
  NDLFS_TRY(image->geometry, DescribeGeometry(input, image->numbers));
  const uint64_t size =
      Render(*image, PlaceOfSteps(*image, LongestSteps(image->geometry))).size();
  const auto make = [image = *image]() -> Result<std::string> {
    NDLFS_TRY(const MetaPlace place, ReadMetaPlace(image));
    return Render(image, place);
  };
  return MakeSegmentedView({MakeDeferredBytes(size, make)});
}

}  // namespace

const ArrayViewKind kMetaImageView = {
    .file_name = "data.mhd",
    .description = "MetaImage header, for {}",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return FittingMetaImage(input).has_value(); },
    .is_listed = &IsListedHeader,
    .make = &MakeMetaImage,
};

}  // namespace ndlfs::fs
