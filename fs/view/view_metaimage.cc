// SPDX-License-Identifier: MIT
//
// A MetaImage header for data.raw: ITK, VTK, 3D Slicer, elastix.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "fs/view/geometry.h"
#include "fs/view/raw_header.h"
#include "fs/view/segmented_view.h"
#include "fs/view/view_kinds.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr size_t kMostMetaImageAxes = 10;

// Empty where MetaImage has no such numbers. MET_LONG has 4 bytes.
std::string_view MetaTypeOf(Number number) {
  switch (number) {
    case Number::kInt8:
      return "MET_CHAR";
    case Number::kUInt8:
      return "MET_UCHAR";
    case Number::kInt16:
      return "MET_SHORT";
    case Number::kUInt16:
      return "MET_USHORT";
    case Number::kInt32:
      return "MET_INT";
    case Number::kUInt32:
      return "MET_UINT";
    case Number::kInt64:
      return "MET_LONG_LONG";
    case Number::kUInt64:
      return "MET_ULONG_LONG";
    case Number::kFloat32:
      return "MET_FLOAT";
    case Number::kFloat64:
      return "MET_DOUBLE";
    default:
      return {};
  }
}

struct MetaImage {
  NumberArray numbers;
  Geometry geometry;
  size_t rank = 0;  // without that of colours
  uint64_t channels = 1;
  std::string raw_name;
};

std::optional<MetaImage> FittingMetaImage(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  if (!numbers || numbers->rank() == 0 || MetaTypeOf(numbers->number).empty())
    return std::nullopt;
  const auto raster = AsRaster(input, *numbers);
  MetaImage image;
  image.numbers = *numbers;
  image.channels = raster->samples;
  image.rank = numbers->rank() - (image.channels > 1 ? 1 : 0);
  image.raw_name = RawFileName(input);
  constexpr uint64_t kMostLength = std::numeric_limits<int32_t>::max();
  const bool is_short =
      std::ranges::all_of(numbers->shape, [](uint64_t n) { return n <= kMostLength; });
  return image.rank <= kMostMetaImageAxes && is_short ? std::optional(image) : std::nullopt;
}

template <typename WordOf>
std::string Line(const MetaImage& image, std::string_view field, const WordOf& word_of) {
  std::string line = fmt::format("{} =", field);
  for (size_t d = image.rank; d-- > 0;) line += fmt::format(" {}", word_of(d));
  return line + '\n';
}

// ElementDataFile comes last: readers stop there, so nothing fills up the end. Numbers that are
// known only by coordinates are equally wide instead.
std::string Render(const MetaImage& image, const AllSteps& steps) {
  const NumberText text = NumberText::Exact();
  const auto number = [&](size_t d, double value) {
    constexpr int kWidth = 24;
    return fmt::format("{:>{}}", text(value), image.geometry.axes[d].coordinates ? kWidth : 0);
  };
  std::string out = fmt::format("ObjectType = Image\nNDims = {}\n", image.rank);
  out += "BinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = False\n";
  out += Line(image, "Offset", [&](size_t d) { return number(d, OriginOf(steps[d])); });
  out += Line(image, "ElementSpacing",
              [&](size_t d) { return number(d, SpacingOf(image.geometry.axes[d], steps[d])); });
  out += Line(image, "DimSize", [&](size_t d) { return image.numbers.shape[d]; });
  if (image.channels > 1) {
    out += fmt::format("ElementNumberOfChannels = {}\n", image.channels);
  }
  return out + fmt::format("ElementType = {}\nElementDataFile = {}\n",
                           MetaTypeOf(image.numbers.number), image.raw_name);
}

Result<ViewPtr> MakeMetaImage(const ArrayInput& input) {
  auto image = FittingMetaImage(input);
  if (!image) return model::Unsupported("no MetaImage header for {}", input.dtype.keyword());
  NDLFS_TRY(image->geometry, DescribeGeometry(input, image->numbers));
  const uint64_t size = Render(*image, LongestSteps(image->geometry)).size();
  const auto make = [image = *image]() -> Result<std::string> {
    NDLFS_TRY(const AllSteps steps, ReadAllSteps(image.geometry));
    return Render(image, steps);
  };
  return MakeSegmentedView({MakeDeferredBytes(size, make)});
}

}  // namespace

const ArrayViewKind kMetaImageView = {
    .file_name = "data.mhd",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return FittingMetaImage(input).has_value(); },
    .is_listed = &IsListedHeader,
    .make = &MakeMetaImage,
};

}  // namespace ndlfs::fs
