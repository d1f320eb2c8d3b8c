// SPDX-License-Identifier: MIT
//
// data.ome.zarr: an array in several resolutions, as viewers of large images want it.
#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/json.h"
#include "cache/array_reader.h"
#include "fs/view/base/array_part.h"
#include "fs/view/container/pyramid_levels.h"
#include "fs/view/container/views.h"
#include "fs/view/container/zarr_json.h"
#include "fs/view/container/zarr_metadata.h"
#include "fs/view/container/zarr_tree.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/place/geometry.h"
#include "fs/view/place/ome_image.h"
#include "fs/view/place/ome_levels.h"
#include "fs/view/place/physical_unit.h"

namespace ndlfs::fs {
namespace {

using backends::Json;
using model::Result;
using pyramid::AxisType;
using pyramid::ImageAxisOfArray;
using pyramid::Level;
using pyramid::Method;
using pyramid::Pyramid;
using Extents = std::vector<uint64_t>;

constexpr const char* kDocument = "zarr.json";

// --- Chunks

Extents ClipTo(const Extents& shape, Extents extents) {
  for (size_t i = 0; i < extents.size(); ++i) extents[i] = std::min(extents[i], shape[i]);
  return extents;
}

// The chunks of the source where viewers can use them, else tiles or cubes. Computed chunks are
// made at once, each in memory.
Extents TileOf(const Pyramid& image, const zarr::StoredArray& array, bool is_computed) {
  constexpr uint64_t kFewest = uint64_t{16} << 10;  // elements
  const uint64_t most = (uint64_t{is_computed ? 4U : 16U} << 20) / array.fill.size();
  const Extents& source = array.chunk_shape;
  const uint64_t elements = backends::CheckedProduct(source).value_or(UINT64_MAX);
  const bool is_all = ClipTo(array.shape, source) == array.shape;
  if ((elements >= kFewest || is_all) && elements <= most) return source;
  const auto halved = std::ranges::count(image.axes, true, &ImageAxisOfArray::is_halved);
  Extents tile;
  for (const ImageAxisOfArray& axis : image.axes) {
    tile.push_back(!axis.is_halved ? 1 : halved > 2 ? 64 : 256);
  }
  return tile;
}

ArrayInput InTiles(const ArrayInput& array, const Extents& tile) {
  return WithChunks(array, ChunkWish(tile.begin(), tile.end()));
}

// Whether no chunk of the source has elements of several chunks of the level.
bool HasChunksOfItsOwn(const Level& level, const Extents& tile) {
  const ArrayPart part = PartOf(level.array);
  if (part.whole.reader == nullptr) return true;
  const Extents& chunk = part.whole.reader->spec().grid.max_chunk_shape();
  for (size_t d = 0; d < tile.size(); ++d) {
    const auto of_whole = DimensionOfWhole(part, d);
    if (!of_whole || *of_whole >= chunk.size() ||
        !(part.selection[*of_whole] == WholeRange(part.whole.shape[*of_whole]))) {
      return false;
    }
    const bool is_all = tile[d] >= level.array.shape[d];
    if (!is_all && tile[d] * level.blocks[d] % chunk[*of_whole] != 0) return false;
  }
  return true;
}

// Names all dimensions as the axes. Returns the document of the array.
Json NameDimensions(const Pyramid& image, zarr::StoredArray& array) {
  Json document = Json::parse(*array.documents.front().text, nullptr, false);
  Json names = Json::array();
  for (const ImageAxisOfArray& axis : image.axes) names.push_back(axis.name);
  document["dimension_names"] = std::move(names);
  array.documents.front().text =
      std::make_shared<const std::string>(zarr::DocumentText(document));
  return document;
}

// All levels as arrays of Zarr, with their documents. Those that are computed have chunks like
// those of the first.
Result<std::vector<zarr::StoredArray>> DescribeLevels(const Pyramid& image,
                                                      std::vector<Json>& documents) {
  std::vector<zarr::StoredArray> arrays;
  Extents first;
  for (const Level& level : image.levels) {
    const Extents& shape = level.array.shape;
    const bool is_computed = !level.blocks.empty();
    zarr::StoredArray array;
    Extents tile = first;
    if (!is_computed) {
      NDLFS_TRY(array, zarr::DescribeArray(level.array, zarr::Version::kV3));
      tile = TileOf(image, array, false);
      if (first.empty()) first = TileOf(image, array, true);
    }
    tile = ClipTo(shape, std::move(tile));
    if (is_computed || tile != ClipTo(shape, array.chunk_shape)) {
      NDLFS_TRY(array, zarr::DescribeArray(InTiles(level.array, tile), zarr::Version::kV3));
    }
    if (is_computed && HasChunksOfItsOwn(level, tile)) array.keeper = nullptr;
    documents.push_back(NameDimensions(image, array));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

// --- Places

// Where elements are. It is known when the coordinates are read.
struct Places {
  std::vector<AllSteps> steps;                    // of each level, by dimensions of the store
  std::vector<std::optional<GeoTransform>> maps;  // of each level
  bool is_widest = false;                         // of the document with the most bytes
};

struct Plan {
  Pyramid image;
  std::string name;
  Geometry geometry;                          // of the array
  std::vector<std::optional<MapPlace>> maps;  // of each level; nullopt if it has no own one
  std::optional<Raster> raster;
  Json omero;                   // of the image in the store; may be null
  std::vector<Json> documents;  // of each level
};

Result<Places> ReadPlaces(const Plan& plan) {
  Places places;
  for (size_t i = 0; i < plan.image.levels.size(); ++i) {
    const auto& own = plan.image.levels[i].own;
    AllSteps steps;
    if (i == 0 || own) {
      NDLFS_TRY(steps, ReadAllSteps(i == 0 ? plan.geometry : *own));
    }
    places.steps.push_back(std::move(steps));
    std::optional<GeoTransform> map;
    if (plan.maps[i]) {
      NDLFS_TRY(map, ReadGeoTransform(*plan.maps[i]));
    }
    places.maps.push_back(map);
  }
  return places;
}

Places WidestPlaces(const Plan& plan) {
  Places widest;
  widest.is_widest = true;
  for (size_t i = 0; i < plan.image.levels.size(); ++i) {
    widest.steps.emplace_back(plan.geometry.axes.size(), Steps{0, 1});
    widest.maps.push_back(plan.maps[0] ? std::optional(GeoTransform()) : std::nullopt);
  }
  return widest;
}

// A number of the document; one with the most digits in the widest document.
Json NumberIn(const Places& places, double number) {
  return places.is_widest ? -DBL_MAX : number;
}

// The coordinates along an axis of a level; those of indices if nobody knows others. Viewers
// refuse scales that are not above zero: along an axis that descends, as latitudes from north
// to south do, coordinates are distances from the first one of the array.
Steps StepsOf(const Plan& plan, const Places& places, size_t level, size_t axis) {
  const size_t d = plan.image.axes[axis].dimension;
  const auto of = [&](size_t i) {
    const auto steps = d < places.steps[i].size() ? places.steps[i][d] : std::nullopt;
    const bool is_sound = steps && std::isfinite(steps->first);
    Steps sound = is_sound ? *steps : Steps{0, 1};
    if (!std::isfinite(sound.step)) sound.step = 1;
    return is_sound ? std::optional(sound) : std::nullopt;
  };
  auto full = of(0);
  // Without coordinates, the distance between elements may be known.
  const auto& spacing = plan.geometry.axes[d].spacing;
  if (!full && spacing) full = Steps{0, *spacing};
  const Steps base = full.value_or(Steps{0, 1});
  const double factor = plan.image.levels[level].factors[axis];
  const auto own = of(level);
  Steps steps =
      own && full ? *own : Steps{base.first + (factor - 1) / 2 * base.step, base.step * factor};
  if (base.step < 0) steps = {base.first - steps.first, -steps.step};
  const bool is_sound = std::isfinite(steps.first) && std::isfinite(steps.step);
  return is_sound && steps.step > 0 ? steps : Steps{0, factor};
}

// The corner of the first pixel stays where it is.
GeoTransform Coarser(GeoTransform t, double of_x, double of_y) {
  t.dx *= of_x;
  t.y_of_pixel *= of_x;
  t.dy *= of_y;
  t.x_of_line *= of_y;
  return t;
}

// --- The document of the group

struct UnitWord {
  double size;
  std::string_view word;
};

// The word of OME-Zarr for a unit; empty for units that it has none for. Neuroglancer refuses
// images with other words.
std::string OmeUnit(const std::string& units, AxisType type) {
  constexpr std::array<UnitWord, 10> kLengths = {{{1e-10, "angstrom"},
                                                  {1e-9, "nanometer"},
                                                  {1e-6, "micrometer"},
                                                  {1e-3, "millimeter"},
                                                  {1e-2, "centimeter"},
                                                  {1, "meter"},
                                                  {1e3, "kilometer"},
                                                  {0.0254, "inch"},
                                                  {0.3048, "foot"},
                                                  {0.9144, "yard"}}};
  constexpr std::array<UnitWord, 7> kTimes = {{{1e-9, "nanosecond"},
                                               {1e-6, "microsecond"},
                                               {1e-3, "millisecond"},
                                               {1, "second"},
                                               {60, "minute"},
                                               {3600, "hour"},
                                               {86400, "day"}}};
  const auto find = [](const auto& words, double size) {
    for (const UnitWord& unit : words) {
      if (std::abs(unit.size - size) <= 1e-6 * unit.size) return std::string(unit.word);
    }
    return std::string();
  };
  const std::string word = units.substr(0, units.find(" since "));
  const bool is_time = type == AxisType::kTime;
  const auto known = is_time ? TimeUnitOf(word) : LengthUnitOf(word);
  if (!known) return {};
  return is_time ? find(kTimes, known->size) : find(kLengths, known->size);
}

Json AxesOf(const Plan& plan, const Places& places) {
  Json axes = Json::array();
  for (const ImageAxisOfArray& axis : plan.image.axes) {
    Json json = {{"name", axis.name}};
    if (axis.type == AxisType::kTime) json["type"] = "time";
    if (axis.type == AxisType::kChannel) json["type"] = "channel";
    if (axis.type == AxisType::kSpace) json["type"] = "space";
    const Axis& described = plan.geometry.axes[axis.dimension];
    const auto& steps = places.steps[0][axis.dimension];
    const bool is_place = axis.type == AxisType::kTime || axis.type == AxisType::kSpace;
    const std::string unit = is_place ? OmeUnit(described.units, axis.type) : std::string();
    if (steps && !unit.empty()) json["unit"] = unit;
    axes.push_back(std::move(json));
  }
  return axes;
}

Json DatasetOf(const Plan& plan, const Places& places, size_t level) {
  Json scale = Json::array();
  Json shift = Json::array();
  for (size_t axis = 0; axis < plan.image.axes.size(); ++axis) {
    const Steps steps = StepsOf(plan, places, level, axis);
    scale.push_back(NumberIn(places, steps.step));
    shift.push_back(NumberIn(places, steps.first));
  }
  return {{"path", std::to_string(level)},
          {"coordinateTransformations",
           {{{"type", "scale"}, {"scale", std::move(scale)}},
            {{"type", "translation"}, {"translation", std::move(shift)}}}}};
}

std::string_view DescriptionOf(Method method) {
  if (method == Method::kStored) return "the levels are stored";
  if (method == Method::kFirst) {
    return "the first element of each block of the full resolution, because the numbers are "
           "names and have no mean";
  }
  return "the mean of each block of the full resolution, without missing elements, in the type "
         "of the elements; integers are rounded, halves to the even one";
}

// `ome` of version 0.5.
Json OmeOf(const Plan& plan, const Places& places) {
  Json datasets = Json::array();
  for (size_t i = 0; i < plan.image.levels.size(); ++i) {
    datasets.push_back(DatasetOf(plan, places, i));
  }
  Json image = {{"axes", AxesOf(plan, places)},
                {"datasets", std::move(datasets)},
                {"metadata", {{"description", DescriptionOf(plan.image.method)}}}};
  if (!plan.name.empty()) image["name"] = plan.name;
  if (plan.image.method == Method::kMean) image["type"] = "mean";
  if (plan.image.method == Method::kFirst) image["type"] = "nearest";
  Json ome = {{"version", "0.5"}, {"multiscales", Json::array({std::move(image)})}};
  if (plan.omero.is_object()) ome["omero"] = plan.omero;
  return ome;
}

// How GeoZarr calls the system; nullopt if there is no way.
std::optional<std::pair<std::string, Json>> ProjectionOf(const ReferenceSystem& system) {
  if (system.epsg) return std::pair("proj:code", "EPSG:" + std::to_string(*system.epsg));
  const std::string& text = system.text;
  for (const std::string_view word : {"PROJCRS[", "GEOGCRS[", "BOUNDCRS[", "GEODCRS["}) {
    if (text.starts_with(word)) return std::pair("proj:wkt2", text);
  }
  if (!text.starts_with('{')) return std::nullopt;
  auto json = backends::ParseJson(text);
  if (!json) return std::nullopt;
  return std::pair("proj:projjson", *std::move(json));
}

Json NumbersOfTransform(const Places& places, const GeoTransform& t) {
  Json numbers = Json::array();
  for (const double number : {t.dx, t.x_of_line, t.x0, t.y_of_pixel, t.dy, t.y0}) {
    numbers.push_back(NumberIn(places, number));
  }
  return numbers;
}

// The axis of the image that a dimension of the store is.
size_t AxisOfDimension(const Plan& plan, size_t dimension) {
  const auto found =
      std::ranges::find(plan.image.axes, dimension, &ImageAxisOfArray::dimension);
  return static_cast<size_t>(found - plan.image.axes.begin());
}

Json LayoutOf(const Plan& plan, const Places& places, size_t x, size_t y) {
  Json layout = Json::array();
  for (size_t i = 0; i < plan.image.levels.size(); ++i) {
    const Level& level = plan.image.levels[i];
    Json scale = Json::array();
    Json shift = Json::array();
    for (const double factor : level.factors) {
      scale.push_back(factor);
      shift.push_back((factor - 1) / 2);
    }
    const auto& own = places.maps[i];
    const GeoTransform transform =
        own ? *own : Coarser(*places.maps[0], level.factors[x], level.factors[y]);
    Json entry = {{"asset", std::to_string(i)},
                  {"transform", {{"scale", scale}, {"translation", shift}}},
                  {"spatial:shape", {level.array.shape[y], level.array.shape[x]}},
                  {"spatial:transform", NumbersOfTransform(places, transform)}};
    if (i > 0) entry["derived_from"] = "0";
    layout.push_back(std::move(entry));
  }
  return layout;
}

// GeoZarr's conventions `multiscales`, `spatial` and `proj`, for arrays on the earth.
void AddGeoZarr(const Plan& plan, const Places& places, Json& attributes) {
  if (!places.maps[0]) return;
  const size_t x = AxisOfDimension(plan, plan.raster->x_axis);
  const size_t y = AxisOfDimension(plan, *plan.raster->y_axis);
  Json conventions = {{{"uuid", "d35379db-88df-4056-af3a-620245f8e347"}},
                      {{"uuid", "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"}}};
  if (auto projection = ProjectionOf(plan.geometry.system)) {
    conventions.push_back({{"uuid", "f17cb550-5864-4468-aeb7-f3180cfb622f"}});
    attributes[projection->first] = std::move(projection->second);
  }
  attributes["zarr_conventions"] = std::move(conventions);
  attributes["spatial:dimensions"] = {plan.image.axes[y].name, plan.image.axes[x].name};
  Json multiscales = {{"layout", LayoutOf(plan, places, x, y)}};
  if (plan.image.method == Method::kMean) multiscales["resampling_method"] = "average";
  if (plan.image.method == Method::kFirst) multiscales["resampling_method"] = "nearest";
  attributes["multiscales"] = std::move(multiscales);
}

std::string RenderGroup(const Plan& plan, const Places& places) {
  Json attributes = {{"ome", OmeOf(plan, places)}};
  AddGeoZarr(plan, places, attributes);
  Json metadata = Json::object();
  for (size_t i = 0; i < plan.documents.size(); ++i) {
    metadata[std::to_string(i)] = plan.documents[i];
  }
  return zarr::DocumentText(
      {{"zarr_format", 3},
       {"node_type", "group"},
       {"attributes", std::move(attributes)},
       {"consolidated_metadata",
        {{"kind", "inline"}, {"must_understand", false}, {"metadata", std::move(metadata)}}}});
}

// --- The tree

// Finds what the document says about places, but reads no coordinates.
Result<void> AddPlaces(const ArrayInput& array, Plan& plan) {
  const auto numbers = AsNumbers(array);
  if (!numbers) return model::NotFound("no numbers");
  NDLFS_TRY(plan.geometry, DescribeGeometry(array, *numbers));
  plan.raster = AsRaster(array, *numbers);
  for (const Level& level : plan.image.levels) {
    std::optional<MapPlace> map;
    if (plan.maps.empty()) {
      map = plan.raster ? FindMapPlace(plan.geometry, *plan.raster) : std::nullopt;
      if (map && !map->is_earth) map.reset();
    } else if (level.own && plan.maps[0]) {
      map = FindMapPlace(*level.own, *plan.raster);
    }
    plan.maps.push_back(std::move(map));
  }
  return {};
}

std::string NameOfImage(const ArrayInput& array) {
  const std::string& name = array.node->array().name;
  return name.empty() && array.place != nullptr ? array.place->name : name;
}

// How to show the channels, if the levels are those of an image.
void AddOmero(const ArrayInput& array, Plan& plan) {
  if (plan.image.method != Method::kStored) return;
  const auto levels = FindOmeLevelsAfter(array);
  if (!levels) return;
  const auto omero = FindOmeAttribute(levels->image->node(), "omero");
  if (omero && *omero) plan.omero = **omero;
}

bool HasPyramid(const ArrayInput& input) {
  const auto number = NumberOfType(input.dtype);
  if (!number || IsComplex(*number) || input.elements == nullptr) return false;
  if (std::ranges::find(input.shape, uint64_t{0}) != input.shape.end()) return false;
  return pyramid::FindAxes(input).has_value();
}

Result<ViewNode> MakePyramidTree(const ArrayInput& input) {
  auto plan = std::make_shared<Plan>();
  NDLFS_TRY(plan->image, pyramid::MakePyramid(input));
  NDLFS_RETURN_IF_ERROR(AddPlaces(input, *plan));
  AddOmero(input, *plan);
  plan->name = NameOfImage(input);
  NDLFS_TRY(std::vector<zarr::StoredArray> arrays,
            DescribeLevels(plan->image, plan->documents));
  zarr::Children children;
  for (zarr::StoredArray& array : arrays) {
    children.emplace_back(std::to_string(children.size()),
                          zarr::MakeArrayDirectory(std::move(array)));
  }
  std::ranges::sort(children, {}, &zarr::Children::value_type::first);
  const uint64_t size = RenderGroup(*plan, WidestPlaces(*plan)).size();
  Elements document = MakeDeferredBytes(size, [plan, size]() -> Result<std::string> {
    NDLFS_TRY(const Places places, ReadPlaces(*plan));
    return FillUp(RenderGroup(*plan, places), size);
  });
  NDLFS_TRY(ViewPtr file, MakeSegmentedView({std::move(document)}));
  return zarr::MakeGroupDirectory({}, std::move(children), kDocument, std::move(file));
}

}  // namespace

const ArrayViewKind kPyramidView = {
    .file_name = "data.ome.zarr",
    .description = "OME-Zarr for viewers: coarser levels, too; a directory",
    .is_directory = true,
    .applies_to = &HasPyramid,
    .is_listed = [](const ArrayInput&) { return false; },
    .make = &MakePyramidTree,
};

}  // namespace ndlfs::fs
