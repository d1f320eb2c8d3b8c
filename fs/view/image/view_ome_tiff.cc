// SPDX-License-Identifier: MIT
//
// The resolution levels of an OME-Zarr image (0.4 to 0.6) as one OME-TIFF.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/json.h"
#include "fs/view/base/html_text.h"
#include "fs/view/base/number_array.h"
#include "fs/view/base/raw_header.h"
#include "fs/view/image/tiff_file.h"
#include "fs/view/image/views.h"
#include "fs/view/place/image_place.h"
#include "fs/view/place/ome_image.h"
#include "fs/view/place/physical_unit.h"

namespace ndlfs::fs {
namespace {

using backends::Json;
using model::Result;

constexpr size_t kMostOmeLevels = 64;
constexpr uint64_t kMostChannels = 10'000;

// An axis of the image: T, C, Z, Y or X, and the size of an element along it.
struct PixelAxis {
  char letter = 0;
  std::string unit;  // as the source calls it
  double size = 0;   // 0 if nobody knows
};

// Empty where they are not those of an image.
std::vector<PixelAxis> PixelAxesOf(const ArrayInput& array) {
  std::vector<PixelAxis> axes;
  for (const OmeAxis& axis : FindOmeAxes(array)) {
    constexpr std::string_view kNames = "tczyx";
    const bool is_known = axis.name.size() == 1 && kNames.find(axis.name) != kNames.npos;
    if (!is_known) return {};
    const char letter = static_cast<char>(axis.name.front() - 'a' + 'A');
    if (std::ranges::find(axes, letter, &PixelAxis::letter) != axes.end()) return {};
    axes.push_back({letter, axis.unit, axis.is_known ? std::abs(axis.scale) : 0});
  }
  const size_t rank = axes.size();
  if (rank < 2 || axes[rank - 2].letter != 'Y' || axes[rank - 1].letter != 'X') return {};
  return axes;
}

struct Image {
  NumberArray numbers;  // of the full resolution
  std::vector<PixelAxis> axes;
  std::string name;
  std::vector<OmeChannel> channels;

  uint64_t LengthOf(char letter) const {
    const auto axis = std::ranges::find(axes, letter, &PixelAxis::letter);
    return axis == axes.end() ? 1 : numbers.shape[static_cast<size_t>(axis - axes.begin())];
  }
};

// The fastest first, and at the end those that the array does not have.
std::string DimensionOrder(const Image& image) {
  std::string order;
  for (size_t d = image.axes.size(); d-- > 0;) order += image.axes[d].letter;
  for (const char letter : {'Z', 'C', 'T'}) {
    if (order.find(letter) == std::string::npos) order += letter;
  }
  return order;
}

// OME-XML takes positive sizes only, with its own words for units.
std::string PhysicalSizes(const Image& image) {
  std::string text;
  for (const PixelAxis& axis : image.axes) {
    const bool is_size = std::isfinite(axis.size) && axis.size > 0;
    const bool is_time = axis.letter == 'T';
    const auto unit = is_time ? TimeUnitOf(axis.unit) : LengthUnitOf(axis.unit);
    if (!is_size || !unit || axis.letter == 'C') continue;
    const std::string name =
        is_time ? "TimeIncrement" : fmt::format("PhysicalSize{}", axis.letter);
    text += fmt::format(" {0}=\"{1}\" {0}Unit=\"{2}\"", name, axis.size, unit->symbol);
  }
  return text;
}

// The size of pixels in centimetres, for programs that do not read the description; none if it
// is not known, or if a fraction of TIFF cannot hold it.
TiffPixels PixelsOf(const Image& image) {
  constexpr double kLeast = 1e-8;
  constexpr double kMost = 1e6;
  const auto size = [&](const PixelAxis& axis) {
    const auto unit = LengthUnitOf(axis.unit);
    const double length = unit ? axis.size * unit->size * 100 : 0;
    return length >= kLeast && length <= kMost ? length : 0.0;
  };
  const size_t rank = image.axes.size();
  const TiffPixels pixels{size(image.axes[rank - 1]), size(image.axes[rank - 2])};
  return pixels.width > 0 && pixels.height > 0 ? pixels : TiffPixels();
}

// OME has the bytes red, green, blue and alpha as one signed number.
std::string ChannelElement(uint64_t number, const OmeChannel& channel) {
  std::string text = fmt::format("<Channel ID=\"Channel:0:{}\" SamplesPerPixel=\"1\"", number);
  if (!channel.label.empty()) {
    text += fmt::format(" Name=\"{}\"", HtmlName(channel.label));
  }
  if (channel.color) {
    constexpr uint32_t kOpaque = 255;
    text += fmt::format(" Color=\"{}\"", static_cast<int32_t>(*channel.color << 8 | kOpaque));
  }
  return text + "/>";
}

// The schema of June 2016, the newest. An empty TiffData stands for all pages in their order.
std::string DescribeImage(const Image& image) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
      "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\" "
      "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
      "xsi:schemaLocation=\"http://www.openmicroscopy.org/Schemas/OME/2016-06 "
      "http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd\">";
  text += fmt::format("<Image ID=\"Image:0\" Name=\"{}\">", image.name);
  text += fmt::format(
      "<Pixels ID=\"Pixels:0\" DimensionOrder=\"{}\" Type=\"{}\" BigEndian=\"false\" "
      "SizeX=\"{}\" SizeY=\"{}\" SizeZ=\"{}\" SizeC=\"{}\" SizeT=\"{}\"{}>",
      DimensionOrder(image), WordsFor(image.numbers.number).ome, image.LengthOf('X'),
      image.LengthOf('Y'), image.LengthOf('Z'), image.LengthOf('C'), image.LengthOf('T'),
      PhysicalSizes(image));
  for (uint64_t number = 0; number < image.LengthOf('C'); ++number) {
    text += ChannelElement(
        number, number < image.channels.size() ? image.channels[number] : OmeChannel());
  }
  return text + "<TiffData/></Pixels></Image></OME>";
}

// As pages of one number each: pixels in colour are no dimension of these images.
std::optional<TiffLevel> AsLevel(const NumberArray& numbers) {
  const size_t rank = numbers.rank();
  if (rank < 2 || WordsFor(numbers.number).ome.empty()) return std::nullopt;
  Raster raster;
  raster.number = numbers.number;
  raster.width = numbers.shape[rank - 1];
  raster.height = numbers.shape[rank - 2];
  for (size_t d = 0; d + 2 < rank; ++d) raster.pages *= numbers.shape[d];
  return FitsTiff(raster) ? std::optional(TiffLevel{raster, numbers.elements}) : std::nullopt;
}

// Whether the pages of `level` are smaller ones of those of `full`, and as many.
bool IsSmaller(const NumberArray& level, const NumberArray& full) {
  const size_t rank = full.rank();
  return level.number == full.number && level.rank() == rank &&
         std::equal(full.shape.begin(), full.shape.end() - 2, level.shape.begin()) &&
         level.shape[rank - 2] <= full.shape[rank - 2] &&
         level.shape[rank - 1] <= full.shape[rank - 1] && level.shape != full.shape;
}

// Levels that have fewer planes than the first one end the list: pages have no SubIFDs then.
Result<ViewNode> MakeOmeTiff(const GroupInput& group) {
  const auto json = FindOmeImage(group.node());
  if (!json) return model::NotFound("no multiscale image");
  Image image;
  NumberArray last;  // the level before
  TiffContent content;
  for (const Json& dataset : OmeMember(*json, "datasets")) {
    if (content.levels.size() == kMostOmeLevels) break;
    NDLFS_TRY(const ArrayInput input, LoadOmeLevel(group, OmeText(OmeMember(dataset, "path"))));
    const auto numbers = AsNumbers(input);
    const auto level = numbers ? AsLevel(*numbers) : std::nullopt;
    const bool is_first = content.levels.empty();
    if (is_first && !level) {
      return model::Unsupported("no OME-TIFF of elements of type {}", input.dtype.keyword());
    }
    if (!level || (!is_first && !IsSmaller(*numbers, last))) break;
    if (is_first) {
      image.numbers = *numbers;
      image.axes = PixelAxesOf(input);
    }
    last = *numbers;
    content.levels.push_back(*level);
  }
  if (content.levels.empty()) return model::NotFound("an image without datasets");
  if (image.axes.empty()) return model::Unsupported("axes that are not those of an OME-TIFF");
  if (image.LengthOf('C') > kMostChannels) return model::Limit("too many channels");
  image.name = HtmlName(OmeText(OmeMember(*json, "name")));
  image.channels = ReadOmeChannels(group.node(), image.LengthOf('C'));
  content.description = DescribeImage(image);
  const TiffPixels pixels = PixelsOf(image);
  if (pixels.width > 0) {
    content.is_in_centimetres = true;
    content.read_pixels = [pixels]() -> Result<TiffPixels> { return pixels; };
  }
  return MakeTiff(std::move(content));
}

}  // namespace

const GroupViewKind kOmeTiffView = {
    .file_name = "data.ome.tif",
    .description = "OME-TIFF with all resolutions",
    .applies_to =
        [](const GroupInput& group) { return FindOmeImage(group.node()).has_value(); },
    .is_listed = [](const GroupInput&) { return false; },
    .make = &MakeOmeTiff,
};

}  // namespace ndlfs::fs
