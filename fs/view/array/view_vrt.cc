// SPDX-License-Identifier: MIT
//
// GDAL's virtual format with raw bands, for data.raw.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/view/array/views.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/html_text.h"
#include "fs/view/base/raw_header.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/place/geometry.h"
#include "fs/view/place/page_names.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::Result;
using Transform = std::optional<GeoTransform>;

constexpr uint64_t kMostRowPixels = std::numeric_limits<int32_t>::max();
// GDAL_MAX_BAND_COUNT
constexpr uint64_t kMostBands = 65'536;

struct Vrt {
  Raster raster;
  std::string raw_name;
  std::string missing;
  std::string unit;
  std::vector<Factors> factors;  // see FactorsOfBands()
  std::vector<std::string> classes;
  bool has_names = false;

  uint64_t bands() const { return raster.pages * raster.samples; }
};

std::optional<Vrt> FittingVrt(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  const auto raster = numbers ? AsRaster(input, *numbers) : std::nullopt;
  if (!raster) return std::nullopt;
  Vrt vrt;
  vrt.raster = *raster;
  // PixelOffset and LineOffset are numbers of 32 bits.
  if (raster->width > kMostRowPixels || raster->height > kMostRowPixels ||
      raster->row_bytes() > kMostRowPixels || vrt.bands() > kMostBands) {
    return std::nullopt;
  }
  vrt.raw_name = RawFileName(input);
  vrt.missing = MissingText(input);
  vrt.unit = HtmlText(PrintableAscii(TextOf(input.node->attributes(), "units")));
  vrt.factors = FactorsOfBands(input, *raster);
  vrt.classes = ClassNames(input);
  return vrt;
}

// Without a mapping of axes GDAL takes the east first, whatever the system says.
std::string RenderPlace(const MapPlace& place, const Transform& transform,
                        const NumberText& text) {
  if (!transform) return {};
  std::string out;
  if (place.system.epsg) {
    out += fmt::format("  <SRS>EPSG:{}</SRS>\n", *place.system.epsg);
  } else if (!place.system.text.empty()) {
    out += fmt::format("  <SRS>{}</SRS>\n", HtmlText(place.system.text));
  }
  return out + fmt::format("  <GeoTransform>{}, {}, {}, {}, {}, {}</GeoTransform>\n",
                           text(transform->x0), text(transform->dx),
                           transform->x_of_line == 0 ? "0" : text(transform->x_of_line),
                           text(transform->y0),
                           transform->y_of_pixel == 0 ? "0" : text(transform->y_of_pixel),
                           text(transform->dy));
}

std::string_view ColourOf(const Raster& raster, uint64_t sample) {
  static constexpr std::array<std::string_view, 5> kColours = {
      "  <ColorInterp>Red</ColorInterp>  \n", "  <ColorInterp>Green</ColorInterp>\n",
      "  <ColorInterp>Blue</ColorInterp> \n", "  <ColorInterp>Alpha</ColorInterp>\n",
      "                                  \n"};
  const uint64_t known = raster.alpha == Alpha::kNone ? 3 : 4;
  return kColours[sample < known ? sample : kColours.size() - 1];
}

// All bands are equally long: their numbers have blanks before them, their names behind them.
std::string RenderBand(const Vrt& vrt, uint64_t band, const std::string& name) {
  const Raster& raster = vrt.raster;
  const uint64_t page = band / raster.samples;
  const uint64_t offset =
      page * raster.page_bytes() + band % raster.samples * SizeOf(raster.number);
  std::string out = fmt::format(
      "  <VRTRasterBand dataType=\"{}\" band=\"{}\" subClass=\"VRTRawRasterBand\"{}>\n",
      WordsFor(raster.number).vrt, band + 1,
      std::string(5 - fmt::formatted_size("{}", band + 1), ' '));
  if (vrt.has_names) {
    const std::string element =
        name.empty() ? std::string() : fmt::format("<Description>{}</Description>", name);
    out += fmt::format("    {:<{}}\n", element, PageNames::kMostBytes + 27);
  }
  if (raster.is_colour) {
    out += ColourOf(raster, raster.has_band_pages ? band : band % raster.samples);
  }
  if (!vrt.missing.empty())
    out += fmt::format("    <NoDataValue>{}</NoDataValue>\n", vrt.missing);
  if (!vrt.unit.empty()) out += fmt::format("    <UnitType>{}</UnitType>\n", vrt.unit);
  if (vrt.factors != std::vector(vrt.factors.size(), Factors())) {
    const Factors& factors = vrt.factors[band % vrt.factors.size()];
    const int width = vrt.factors.size() > 1 ? 24 : 0;
    out += fmt::format("    <Offset>{:>{}}</Offset>\n    <Scale>{:>{}}</Scale>\n",
                       factors.offset, width, factors.scale, width);
  }
  if (!vrt.classes.empty()) {
    out += fmt::format("    <CategoryNames><Category>{}</Category></CategoryNames>\n",
                       fmt::join(vrt.classes, "</Category><Category>"));
  }
  out += fmt::format("    <SourceFilename relativeToVRT=\"1\">{}</SourceFilename>\n",
                     HtmlText(vrt.raw_name));
  out += fmt::format("    <ImageOffset>{:>19}</ImageOffset>\n", offset);
  out += fmt::format("    <PixelOffset>{}</PixelOffset>\n    <LineOffset>{}</LineOffset>\n",
                     raster.pixel_bytes(), raster.row_bytes());
  return out + "    <ByteOrder>LSB</ByteOrder>\n  </VRTRasterBand>\n";
}

// Any part of the bands, which may be many.
Segment MakeBands(const Vrt& vrt, const Geometry& geometry) {
  const uint64_t length = RenderBand(vrt, 0, "").size();
  const auto names = std::make_shared<const Deferred<PageNames>>(
      [geometry, raster = vrt.raster] { return PageNames::Read(geometry, raster); });
  const auto read = [vrt, length, names](uint64_t offset, ByteSpan out) -> Result<void> {
    NDLFS_TRY(const auto known, names->Get());
    while (!out.empty()) {
      const uint64_t number = offset / length;
      const std::string band = RenderBand(vrt, number, known->Of(number));
      const uint64_t skip = offset % length;
      const uint64_t count = std::min<uint64_t>(out.size(), length - skip);
      std::memcpy(out.data(), band.data() + skip, count);
      out = out.subspan(count);
      offset += count;
    }
    return {};
  };
  return MakeComputedBytes(length * vrt.bands(), read);
}

Result<ViewNode> MakeVrt(const ArrayInput& input) {
  auto vrt = FittingVrt(input);
  if (!vrt) return model::Unsupported("no VRT for {}", input.dtype.keyword());
  NDLFS_TRY(const Geometry geometry, DescribeGeometry(input, *AsNumbers(input)));
  vrt->has_names = PageNames::MayHave(geometry, vrt->raster);
  std::vector<Segment> segments;
  segments.push_back(Literal(fmt::format("<VRTDataset rasterXSize=\"{}\" rasterYSize=\"{}\">\n",
                                         vrt->raster.width, vrt->raster.height)));
  if (const auto place = FindMapPlace(geometry, vrt->raster)) {
    const auto read = [place] { return ReadGeoTransform(*place); };
    const auto render = [place](const Transform& transform, const NumberText& text) {
      return RenderPlace(*place, transform, text);
    };
    segments.push_back(MakeTextHeader<Transform>(GeoTransform{0, 1, 0, 1, 1, 1}, read, render));
  }
  segments.push_back(MakeBands(*vrt, geometry));
  segments.push_back(Literal("</VRTDataset>\n"));
  return MakeSegmentedView(std::move(segments));
}

}  // namespace

const ArrayViewKind kVrtView = {
    .file_name = "data.vrt",
    .description = "GDAL header, for {}",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return FittingVrt(input).has_value(); },
    .is_listed = &IsListedHeader,
    .make = &MakeVrt,
};

}  // namespace ndlfs::fs
