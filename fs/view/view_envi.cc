// SPDX-License-Identifier: MIT
//
// ENVI's header for data.raw, which GDAL looks for beside the file it opens.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "fs/view/attributes.h"
#include "fs/view/geometry.h"
#include "fs/view/raw_header.h"
#include "fs/view/segmented_view.h"
#include "fs/view/view_kinds.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using Transform = std::optional<GeoTransform>;

// 0 where ENVI has no such numbers.
int EnviTypeOf(Number number) {
  switch (number) {
    case Number::kUInt8:
      return 1;
    case Number::kInt16:
      return 2;
    case Number::kInt32:
      return 3;
    case Number::kFloat32:
      return 4;
    case Number::kFloat64:
      return 5;
    case Number::kComplex64:
      return 6;
    case Number::kComplex128:
      return 9;
    case Number::kUInt16:
      return 12;
    case Number::kUInt32:
      return 13;
    case Number::kInt64:
      return 14;
    case Number::kUInt64:
      return 15;
    default:
      return 0;
  }
}

struct Envi {
  Raster raster;
  int type = 0;
  std::string name;
  std::string missing;
};

std::optional<Envi> FittingEnvi(const ArrayInput& input) {
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
  const auto numbers = AsNumbers(input);
  const auto raster = numbers ? AsRaster(input, *numbers) : std::nullopt;
  if (!raster || EnviTypeOf(raster->number) == 0) return std::nullopt;
  if (raster->width > kMost || raster->height > kMost || raster->pages > kMost)
    return std::nullopt;
  // Pixels in colour are one picture, or there is no word for their order.
  if (raster->samples > 1 && raster->pages > 1) return std::nullopt;
  return Envi{*raster, EnviTypeOf(raster->number), NameInHeader(input), MissingText(input)};
}

// North is up in ENVI: its pixels have no negative height. Maps that begin in the south have a
// place in data.vrt and data.tif.
std::string MapInfo(const MapPlace& place, const GeoTransform& t, const NumberText& text) {
  const std::string corner =
      fmt::format("1, 1, {}, {}, {}, {}", text(t.x0), text(t.y0), text(t.dx), text(-t.dy));
  return fmt::format("map info = {{Geographic Lat/Lon, {}, {}, units=Degrees}}\n", corner,
                     place.epsg == 4326 ? "WGS-84" : "North America 1983");
}

// The systems that ENVI has a name for here.
bool HasName(const std::optional<MapPlace>& place) {
  return place && place->is_geographic && (place->epsg == 4326 || place->epsg == 4269);
}

std::string Render(const Envi& envi, const std::optional<MapPlace>& place,
                   const Transform& transform, const NumberText& text) {
  const Raster& raster = envi.raster;
  const bool has_colours = raster.samples > 1;
  std::string out = "ENVI\n";
  out += fmt::format("description = {{{}}}\n", envi.name);
  out += fmt::format("samples = {}\nlines = {}\nbands = {}\n", raster.width, raster.height,
                     has_colours ? raster.samples : raster.pages);
  out += "header offset = 0\nfile type = ENVI Standard\n";
  out += fmt::format("data type = {}\ninterleave = {}\nbyte order = 0\n", envi.type,
                     has_colours ? "bip" : "bsq");
  if (!envi.missing.empty()) out += fmt::format("data ignore value = {}\n", envi.missing);
  if (transform && transform->dy < 0) out += MapInfo(*place, *transform, text);
  return out;
}

Result<ViewPtr> MakeEnvi(const ArrayInput& input) {
  const auto envi = FittingEnvi(input);
  if (!envi) return model::Unsupported("no ENVI header for {}", input.dtype.keyword());
  NDLFS_TRY(const Geometry geometry, DescribeGeometry(input, *AsNumbers(input)));
  auto place = FindMapPlace(geometry, envi->raster);
  if (!HasName(place)) place.reset();
  const auto read = [place]() -> Result<Transform> {
    if (!place) return std::nullopt;
    return ReadGeoTransform(*place);
  };
  const auto render = [envi = *envi, place](const Transform& t, const NumberText& text) {
    return Render(envi, place, t, text);
  };
  const Transform longest = place ? Transform({0, 1, 0, -1}) : std::nullopt;
  return MakeSegmentedView({MakeTextHeader<Transform>(longest, read, render)});
}

}  // namespace

// GDAL takes the header of this name for data.raw alone. Listed as data.hdr, it would be one of
// data.npy and data.txt, too, and GDAL would show wrong numbers of these.
const ArrayViewKind kEnviView = {
    .file_name = "data.raw.hdr",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return FittingEnvi(input).has_value(); },
    .is_listed = &IsListedHeader,
    .make = &MakeEnvi,
};

const ArrayViewKind kShortEnviView = {
    .file_name = "data.hdr",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return FittingEnvi(input).has_value(); },
    .is_listed = [](const ArrayInput&) { return false; },
    .make = &MakeEnvi,
};

}  // namespace ndlfs::fs
