// SPDX-License-Identifier: MIT
//
// ENVI's header for data.raw. GDAL looks for it next to the file that it opens.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/array/views.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/raw_header.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/place/geometry.h"
#include "fs/view/place/page_names.h"

namespace ndlfs::fs {
namespace {

using model::Result;
using Transform = std::optional<GeoTransform>;

// More bands have no line of factors or names, with one for each of them.
constexpr uint64_t kMostFactors = 4096;

struct Envi {
  Raster raster;
  int type = 0;
  std::string name;
  std::string missing;
  std::vector<Factors> factors;  // see FactorsOfBands()
  std::vector<std::string> classes;
  bool has_names = false;  // of bands
};

// What coordinates tell.
struct EnviPlace {
  Transform transform;
  PageNames names;
};

std::optional<Envi> FittingEnvi(const ArrayInput& input) {
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
  const auto numbers = AsNumbers(input);
  const auto raster = numbers ? AsRaster(input, *numbers) : std::nullopt;
  if (!raster || WordsFor(raster->number).envi == 0) return std::nullopt;
  if (raster->width > kMost || raster->height > kMost || raster->pages > kMost)
    return std::nullopt;
  // Pixels of several numbers are one picture, or there is no word for their order.
  if (raster->samples > 1 && raster->pages > 1) return std::nullopt;
  return Envi{*raster,
              WordsFor(raster->number).envi,
              NameInHeader(input),
              MissingText(input),
              FactorsOfBands(input, *raster),
              ClassNames(input)};
}

// A system in the words of ENVI: a projection, and what follows the size of pixels.
struct EnviSystem {
  std::string projection;
  std::string rest;
  std::string unit;
};

// If ENVI has no name for a system, "Arbitrary" tells the place. Well-known text of the first
// version, if there is one, gets a line of its own.
EnviSystem SystemInEnvi(const MapPlace& place) {
  const int epsg = place.system.epsg.value_or(0);
  if (place.is_geographic) {
    if (epsg == 4326) return EnviSystem{"Geographic Lat/Lon", "WGS-84", ", units=Degrees"};
    if (epsg == 4269)
      return EnviSystem{"Geographic Lat/Lon", "North America 1983", ", units=Degrees"};
    if (epsg == 4267)
      return EnviSystem{"Geographic Lat/Lon", "North America 1927", ", units=Degrees"};
    return EnviSystem{"Arbitrary", "0, North", ", units=Degrees"};
  }
  struct Zones {
    int first;
    int last;
    std::string_view side;
    std::string_view datum;
  };
  static constexpr std::array<Zones, 4> kUtm = {
      {{32601, 32660, "North", "WGS-84"},
       {32701, 32760, "South", "WGS-84"},
       {26901, 26923, "North", "North America 1983"},
       {26701, 26722, "North", "North America 1927"}}};
  for (const Zones& zones : kUtm) {
    if (epsg < zones.first || epsg > zones.last) continue;
    return EnviSystem{
        "UTM", fmt::format("{}, {}, {}", epsg - zones.first + 1, zones.side, zones.datum),
        ", units=Meters"};
  }
  return EnviSystem{"Arbitrary", "0, North", place.is_earth ? ", units=Meters" : ""};
}

// North is up in ENVI: its pixels have no negative height. Maps that begin in the south, or are
// turned, have a place in data.vrt and data.tif.
std::string MapInfo(const EnviSystem& system, const MapPlace& place, const GeoTransform& t,
                    const NumberText& text) {
  std::string out =
      fmt::format("map info = {{{}, 1, 1, {}, {}, {}, {}, {}{}}}\n", system.projection,
                  text(t.x0), text(t.y0), text(t.dx), text(-t.dy), system.rest, system.unit);
  const std::string& known = place.system.text;
  if (known.starts_with("PROJCS[") && known.find('}') == std::string::npos) {
    out += fmt::format("coordinate system string = {{{}}}\n", known);
  }
  return out;
}

std::string Render(const Envi& envi, const std::optional<MapPlace>& place,
                   const EnviPlace& known, const NumberText& text) {
  const Raster& raster = envi.raster;
  const Transform& transform = known.transform;
  const bool is_interleaved = raster.samples > 1;
  const uint64_t bands = is_interleaved ? raster.samples : raster.pages;
  std::string out = "ENVI\n";
  out += fmt::format("description = {{{}}}\n", envi.name);
  out +=
      fmt::format("samples = {}\nlines = {}\nbands = {}\n", raster.width, raster.height, bands);
  out += fmt::format("header offset = 0\nfile type = ENVI {}\n",
                     envi.classes.empty() ? "Standard" : "Classification");
  if (!envi.classes.empty()) {
    out += fmt::format("classes = {}\nclass names = {{{}}}\n", envi.classes.size(),
                       fmt::join(envi.classes, ", "));
  }
  if (envi.has_names) {
    out += "band names = {";
    for (uint64_t band = 0; band < bands; ++band) {
      std::string name = known.names.Of(band);
      std::ranges::replace(name, ',', ';');
      std::ranges::replace(name, '}', ')');
      out += fmt::format("{}\n {:<{}}", band == 0 ? "" : ",", name, PageNames::kMostBytes);
    }
    out += "}\n";
  }
  out += fmt::format("data type = {}\ninterleave = {}\nbyte order = 0\n", envi.type,
                     is_interleaved ? "bip" : "bsq");
  const auto& factors = envi.factors;
  if (factors != std::vector(factors.size(), Factors()) && bands <= kMostFactors) {
    std::vector<double> gains, offsets;
    for (uint64_t band = 0; band < bands; ++band) {
      gains.push_back(factors[band % factors.size()].scale);
      offsets.push_back(factors[band % factors.size()].offset);
    }
    out += fmt::format("data gain values = {{{}}}\n", fmt::join(gains, ", "));
    out += fmt::format("data offset values = {{{}}}\n", fmt::join(offsets, ", "));
  }
  if (!envi.missing.empty()) out += fmt::format("data ignore value = {}\n", envi.missing);
  const bool is_upright =
      transform && transform->dy < 0 && transform->x_of_line == 0 && transform->y_of_pixel == 0;
  if (is_upright) out += MapInfo(SystemInEnvi(*place), *place, *transform, text);
  return out;
}

Result<ViewNode> MakeEnvi(const ArrayInput& input) {
  auto envi = FittingEnvi(input);
  if (!envi) return model::Unsupported("no ENVI header for {}", input.dtype.keyword());
  NDLFS_TRY(const Geometry geometry, DescribeGeometry(input, *AsNumbers(input)));
  const auto place = FindMapPlace(geometry, envi->raster);
  const Raster& raster = envi->raster;
  envi->has_names = std::max(raster.samples, raster.pages) <= kMostFactors &&
                    PageNames::MayHave(geometry, raster);
  const auto read = [place, geometry, raster]() -> Result<EnviPlace> {
    EnviPlace known;
    if (place) {
      NDLFS_TRY(known.transform, ReadGeoTransform(*place));
    }
    NDLFS_TRY(known.names, PageNames::Read(geometry, raster));
    return known;
  };
  const auto render = [envi = *envi, place](const EnviPlace& known, const NumberText& text) {
    return Render(envi, place, known, text);
  };
  const EnviPlace longest = {place ? Transform({0, 1, 0, -1, 0, 0}) : std::nullopt, {}};
  return MakeSegmentedView({MakeTextHeader<EnviPlace>(longest, read, render)});
}

}  // namespace

// GDAL takes the header of this name for data.raw alone. Listed as data.hdr, it would be one of
// data.npy and data.txt, too, and GDAL would show wrong numbers of these.
const ArrayViewKind kEnviView = {
    .file_name = "data.raw.hdr",
    .description = "ENVI header, for {}",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return FittingEnvi(input).has_value(); },
    .is_listed = &IsListedHeader,
    .make = &MakeEnvi,
};

const ArrayViewKind kShortEnviView = {
    .file_name = "data.hdr",
    .description = "ENVI header, for {}",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return FittingEnvi(input).has_value(); },
    .is_listed = [](const ArrayInput&) { return false; },
    .make = &MakeEnvi,
};

}  // namespace ndlfs::fs
