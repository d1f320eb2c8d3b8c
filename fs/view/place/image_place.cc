// SPDX-License-Identifier: MIT
#include "fs/view/place/image_place.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/base/json.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/place/ome_image.h"
#include "fs/view/place/ome_levels.h"
#include "fs/view/place/reference_system.h"
#include "model/base64.h"
#include "model/number_text.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::Json;
using model::Result;
using Attributes = std::vector<model::Attribute>;

// Groups between an array and its image.
constexpr int kMostGroupsOfImage = 4;

struct OmeLevel {
  Json image;
  const Json* dataset = nullptr;  // in `image`
  std::shared_ptr<const GroupInput> group;
};

// The image that has the array as one of its levels.
std::optional<OmeLevel> FindLevel(const ArrayInput& array) {
  std::string path = array.node->array().name;
  auto group = array.group;
  for (int i = 0; group != nullptr && i < kMostGroupsOfImage; ++i) {
    if (auto image = FindOmeImage(group->node())) {
      OmeLevel level{*std::move(image), nullptr, group};
      for (const Json& dataset : OmeMember(level.image, "datasets")) {
        if (OmeText(OmeMember(dataset, "path")) == path) level.dataset = &dataset;
      }
      // A pointer into a member of `level` stays valid when it is moved.
      if (level.dataset != nullptr) return level;
    }
    path = std::string(model::BaseName(group->path())) + '/' + path;
    group = group->Outer();
  }
  return std::nullopt;
}

std::vector<double> NumbersOfJson(const Json& json, size_t count) {
  std::vector<double> numbers;
  if (!json.is_array() || json.size() != count) return {};
  for (const Json& number : json) {
    if (!number.is_number()) return {};
    numbers.push_back(number.get<double>());
  }
  return numbers;
}

// Applies `transformations` to the axes, the first one first.
void ApplyTransformations(const Json& transformations, std::vector<OmeAxis>& axes) {
  if (!transformations.is_array()) return;
  for (const Json& one : transformations) {
    const auto scale = NumbersOfJson(OmeMember(one, "scale"), axes.size());
    const auto shift = NumbersOfJson(OmeMember(one, "translation"), axes.size());
    for (size_t d = 0; d < axes.size(); ++d) {
      if (!scale.empty()) {
        axes[d].scale *= scale[d];
        axes[d].offset *= scale[d];
        axes[d].is_known = true;
      }
      if (!shift.empty()) axes[d].offset += shift[d];
    }
  }
}

// --- Headers of other formats, whose fields are attributes of a store

bool FillThree(const std::vector<double>& numbers, std::array<double, 3>& out) {
  if (numbers.size() != 3) return false;
  std::copy_n(numbers.begin(), 3, out.begin());
  return std::ranges::all_of(out, [](double number) { return std::isfinite(number); });
}

// A code of one byte; 0, which says nothing, for what is none.
int CodeOf(double number) {
  return number >= 0 && number <= 255 ? static_cast<int>(number) : 0;
}

std::optional<NiftiPlace> NiftiOf(const Attributes& attributes) {
  const auto qform = NumberOf(attributes, "qform_code");
  const auto sform = NumberOf(attributes, "sform_code");
  const auto pixdim = NumbersOf(attributes, "pixdim");
  NiftiPlace place;
  if (!qform || !sform || pixdim.size() != place.pixdim.size()) return std::nullopt;
  place.qform = CodeOf(*qform);
  place.sform = CodeOf(*sform);
  std::ranges::copy(pixdim, place.pixdim.begin());
  constexpr std::array<std::string_view, 3> kRows = {"srow_x", "srow_y", "srow_z"};
  for (size_t i = 0; i < 3; ++i) {
    const auto row = NumbersOf(attributes, kRows[i]);
    if (row.size() == 4) std::ranges::copy(row, place.rows[i].begin());
  }
  FillThree(NumbersOf(attributes, "quatern_bcd"), place.quaternion);
  FillThree(NumbersOf(attributes, "qoffset_xyz"), place.origin);
  place.units = CodeOf(NumberOf(attributes, "xyzt_units").value_or(0));
  return place;
}

// Numbers in a text, whatever stands between them.
std::vector<double> NumbersIn(std::string_view text) {
  std::vector<double> numbers;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" ,()\t"), text.size());
    const auto number = model::ParseNumber<double>(text.substr(0, end));
    if (number) numbers.push_back(*number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return numbers;
}

// A header of NIfTI's kind that says the same. `signs` turn the axes of a space to right, front
// and up.
std::optional<NiftiPlace> PlaceByColumns(const std::array<std::array<double, 3>, 3>& columns,
                                         const std::array<double, 3>& origin,
                                         const std::array<double, 3>& signs) {
  NiftiPlace place;
  constexpr int kScanner = 1;
  constexpr int kMillimetres = 2;
  place.sform = kScanner;
  place.units = kMillimetres;
  place.pixdim.fill(1);
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      place.rows[i][j] = signs[i] * columns[j][i] + 0.0;  // no -0
      if (!std::isfinite(place.rows[i][j])) return std::nullopt;
    }
    place.rows[i][3] = signs[i] * origin[i];
    if (!std::isfinite(place.rows[i][3])) return std::nullopt;
    const auto& c = columns[i];
    place.pixdim[i + 1] = std::hypot(c[0], c[1], c[2]);
  }
  return place;
}

// NRRD with a space of three axes that has a name. `dimensions` become those of the array that
// lie along its vectors: axes with "none" are not of the space. A place that NIfTI has no word
// for is unknown, and no dimension belongs to it: coordinates are those of the space, and would
// be taken for others.
std::optional<NiftiPlace> NrrdOf(const Attributes& attributes, size_t rank,
                                 std::vector<size_t>& dimensions) {
  const std::string space = TextOf(attributes, "space");
  std::array<double, 3> signs = {1, 1, 1};
  if (space.starts_with("left-posterior-superior") || space.starts_with("LPS")) {
    signs = {-1, -1, 1};
  } else if (space.starts_with("left-anterior-superior") || space.starts_with("LAS")) {
    signs = {-1, 1, 1};
  } else if (space != "right-anterior-superior" && space != "RAS") {
    return std::nullopt;
  }
  dimensions.clear();
  const std::string text = TextOf(attributes, "space directions");
  std::vector<size_t> of_space;
  size_t words = 0;
  for (size_t at = 0; (at = text.find_first_of("(n", at)) != text.npos; ++words) {
    if (text[at] == '(') of_space.push_back(words);
    at = text.find(text[at] == '(' ? ')' : ' ', at);
  }
  const auto numbers = NumbersIn(text);
  std::array<double, 3> origin{};
  const std::string origin_text = TextOf(attributes, "space origin");
  const bool is_sound = numbers.size() == 9 && of_space.size() == 3 && words >= rank &&
                        words - of_space.front() <= rank &&
                        (origin_text.empty() || FillThree(NumbersIn(origin_text), origin));
  if (!is_sound) return NiftiPlace();
  std::array<std::array<double, 3>, 3> columns{};
  for (size_t i = 0; i < 9; ++i) columns[i / 3][i % 3] = numbers[i];
  auto place = PlaceByColumns(columns, origin, signs);
  if (!place) return NiftiPlace();
  // The slowest axis comes last. Parts of a complex number are none of the array.
  for (const size_t word : of_space) dimensions.push_back(words - 1 - word);
  return place;
}

// MetaImage that says how a patient lies. Its space is that of DICOM: left, back, up.
std::optional<NiftiPlace> MetaImageOf(const Attributes& attributes) {
  const std::string orientation = TextOf(attributes, "AnatomicalOrientation");
  if (orientation.size() != 3 || orientation.find('?') != std::string::npos) {
    return std::nullopt;
  }
  const auto first_of = [&](std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      auto numbers = NumbersIn(TextOf(attributes, name));
      if (!numbers.empty()) return numbers;
    }
    return std::vector<double>();
  };
  const auto matrix = first_of({"TransformMatrix", "Rotation", "Orientation"});
  std::array<double, 3> spacing{};
  std::array<double, 3> origin{};
  if (matrix.size() != 9 || !FillThree(first_of({"ElementSpacing", "ElementSize"}), spacing)) {
    return std::nullopt;
  }
  if (!FillThree(first_of({"Offset", "Position", "Origin"}), origin)) return std::nullopt;
  std::array<std::array<double, 3>, 3> columns{};
  for (size_t i = 0; i < 9; ++i) columns[i / 3][i % 3] = matrix[i] * spacing[i / 3];
  return PlaceByColumns(columns, origin, {-1, -1, 1});
}

// The header of the first level of an image: the array `nifti` next to the levels, or the
// member `base64` of the attribute `nifti`, in drafts of NIfTI-Zarr. False if there is none.
Result<bool> FindHeader(const GroupInput& group, ImageSpace& space) {
  auto child = group.Load("nifti");
  if (!child && IsWorthRetrying(child.error())) {
    return model::Propagate(std::move(child).error());
  }
  if (child && child->array && child->array->elements) {
    space.stored = child->array->elements;
    return space.size() <= ImageSpace::kMostBytes;
  }
  const auto attribute = backends::ParseJson(TextOf(group.node().attributes(), "nifti"));
  if (!attribute) return false;
  const auto bytes = model::DecodeBase64(OmeText(OmeMember(*attribute, "base64")));
  if (!bytes || bytes->empty()) return false;
  space.kept = backends::AsText(*bytes);
  return space.size() <= ImageSpace::kMostBytes;
}

// NIfTI-Zarr: places of levels but the first one follow from their scales.
Result<std::optional<ImageSpace>> FindNiftiZarr(const ArrayInput& shown,
                                                const ArrayInput& whole) {
  const auto level = FindLevel(whole);
  if (!level) return std::nullopt;
  ImageSpace space;
  NDLFS_TRY(const bool has_header, FindHeader(*level->group, space));
  if (!has_header) return std::nullopt;
  const size_t rank = whole.shape.size();
  const auto here = OmeAxesOf(level->image, *level->dataset, rank);
  const auto full = OmeAxesOf(level->image, OmeMember(level->image, "datasets").front(), rank);
  space.is_whole = !shown.part;
  constexpr std::string_view kAxes = "xyz";
  for (size_t n = 0; n < kAxes.size(); ++n) {
    const auto found = std::ranges::find(here, kAxes.substr(n, 1), &OmeAxis::name);
    if (found == here.end()) continue;
    const auto d = static_cast<size_t>(found - here.begin());
    space.axes[n] = AxisInPart(shown, d);
    if (!here[d].is_known || !full[d].is_known) continue;
    const double ratio = here[d].scale / full[d].scale;
    const double shift = (here[d].offset - full[d].offset) / full[d].scale;
    space.axes[n].first = space.axes[n].first * ratio + shift;
    space.axes[n].step *= ratio;
    space.is_whole = space.is_whole && ratio == 1 && shift == 0;
  }
  return space;
}

}  // namespace

std::vector<OmeAxis> OmeAxesOf(const Json& image, const Json& dataset, size_t rank) {
  std::vector<OmeAxis> axes(rank);
  const std::vector<std::string> names = ReadOmeAxisNames(image, rank);
  const Json& described = OmeMember(image, "axes");
  constexpr std::string_view kOldest = "tczyx";  // those of version 0.2 and before
  for (size_t d = 0; d < rank; ++d) {
    if (d < names.size()) axes[d].name = names[d];
    if (described.is_null() && rank == kOldest.size()) axes[d].name = kOldest.substr(d, 1);
    if (d >= names.size() || !described[d].is_object()) continue;
    axes[d].type = OmeText(OmeMember(described[d], "type"));
    axes[d].unit = OmeText(OmeMember(described[d], "unit"));
  }
  ApplyTransformations(OmeMember(dataset, "coordinateTransformations"), axes);
  ApplyTransformations(OmeMember(image, "coordinateTransformations"), axes);
  for (OmeAxis& axis : axes) {
    const bool is_place = axis.type == "space" || axis.type == "time" ||
                          (axis.type.empty() && axis.name != "c" && !axis.name.empty());
    axis.is_known = axis.is_known && is_place && std::isfinite(axis.scale) && axis.scale != 0 &&
                    std::isfinite(axis.offset);
  }
  return axes;
}

std::optional<OmeLevelsAfter> FindOmeLevelsAfter(const ArrayInput& array) {
  constexpr size_t kMostLevels = 64;
  const auto level = FindLevel(array);
  if (!level) return std::nullopt;
  OmeLevelsAfter after{.image = level->group,
                       .paths = {},
                       .axes = ReadOmeAxisNames(level->image, array.shape.size())};
  bool is_behind = false;
  for (const Json& dataset : OmeMember(level->image, "datasets")) {
    if (is_behind && after.paths.size() < kMostLevels) {
      after.paths.push_back(OmeText(OmeMember(dataset, "path")));
    }
    is_behind = is_behind || &dataset == level->dataset;
  }
  return after;
}

std::vector<OmeAxis> FindOmeAxes(const ArrayInput& array) {
  const auto level = FindLevel(array);
  if (!level) return {};
  return OmeAxesOf(level->image, *level->dataset, array.shape.size());
}

Result<std::string> ImageSpace::ReadBytes(uint64_t most) const {
  if (stored == nullptr) return kept.substr(0, most);
  std::string bytes(std::min({stored->size(), most, kMostBytes}), '\0');
  NDLFS_RETURN_IF_ERROR(stored->Read(0, std::as_writable_bytes(std::span(bytes)),
                                     model::ByteOrder::kLittle, cache::ReadHint::kOnward));
  return bytes;
}

Result<std::optional<NiftiPlace>> ImageSpace::Read() const {
  if (header || size() == 0) return header;
  constexpr uint64_t kLongestHeader = 540;
  NDLFS_TRY(const std::string bytes, ReadBytes(kLongestHeader));
  return backends::foreign::ReadNiftiPlace(bytes);
}

Placement PlacementIn(const ImageSpace& space, const NiftiPlace& header) {
  Placement placement = PlacementOf(header);
  for (size_t n = 0; n < 3; ++n) {
    auto& column = placement.columns[n];
    for (size_t i = 0; i < 3; ++i) {
      placement.origin[i] += column[i] * space.axes[n].first;
      column[i] *= space.axes[n].step;
    }
  }
  return placement;
}

ImageAxis AxisInPart(const ArrayInput& array, size_t dimension) {
  const ArrayPart part = PartOf(array);
  const IndexRange& range = part.selection[dimension];
  ImageAxis axis{std::nullopt, static_cast<double>(range.begin),
                 static_cast<double>(range.step)};
  for (size_t d = 0; d < array.shape.size(); ++d) {
    if (DimensionOfWhole(part, d) != dimension) continue;
    axis.dimension = d;
    const double each = part.blocks ? static_cast<double>(part.blocks->extents[d]) : 1;
    axis.first += axis.step * (each - 1) / 2;
    axis.step *= each;
  }
  return axis;
}

void DropImagePlace(bool has_all_space, Attributes& attributes) {
  constexpr std::string_view kOfHeaders[] = {
      "qform_code", "sform_code",   "quatern_bcd",      "qoffset_xyz", "srow_x",   "srow_y",
      "srow_z",     "space origin", "space directions", "Offset",      "Position", "Origin"};
  const bool has_header = NiftiOf(attributes) || MetaImageOf(attributes) ||
                          !TextOf(attributes, "space directions").empty();
  const bool drops_header = has_header && !has_all_space;
  std::erase_if(attributes, [&](const model::Attribute& attribute) {
    return attribute.name == "multiscales" || attribute.name == "nifti" ||
           (drops_header && std::ranges::count(kOfHeaders, attribute.name) != 0);
  });
}

Result<std::optional<ImageSpace>> FindImageSpace(const ArrayInput& array, size_t colours) {
  const ArrayInput& whole = array.part ? array.part->whole : array;
  const bool is_image =
      std::holds_alternative<model::Ndarray>(whole.node->entity) && whole.group != nullptr;
  const size_t dimensions = whole.shape.size();
  if (!is_image || dimensions <= colours) return std::nullopt;
  const Attributes& attributes = whole.group->node().attributes();
  auto header = NiftiOf(attributes);
  const size_t rank = dimensions - colours;
  std::vector<size_t> axes;  // dimensions of `whole` that are axes of the header
  for (size_t n = 0; n < std::min<size_t>(3, rank); ++n) axes.push_back(rank - 1 - n);
  if (!header) header = NrrdOf(attributes, dimensions, axes);
  if (!header && rank == 3) header = MetaImageOf(attributes);
  if (!header) return FindNiftiZarr(array, whole);
  ImageSpace space;
  space.header = *header;
  space.is_whole = !array.part;
  for (size_t n = 0; n < axes.size(); ++n) space.axes[n] = AxisInPart(array, axes[n]);
  return space;
}

}  // namespace ndlfs::fs
