// SPDX-License-Identifier: MIT
//
// NIfTI-1 and NIfTI-2 in one file: a header, and the elements, the first dimension fastest.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "backends/format/packing.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/raw_header.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/image/nifti_header.h"
#include "fs/view/image/views.h"
#include "fs/view/place/geometry.h"
#include "fs/view/place/image_place.h"
#include "fs/view/place/physical_unit.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr size_t kMostNiftiAxes = 7;

struct Nifti {
  NumberArray numbers;
  int16_t code = 0;
  int16_t bits = 0;
  size_t rank = 0;  // without that of colours
  bool is_second = false;
  std::string descrip;
  std::string intent_name;
  int16_t intent_code = 0;
  std::vector<double> intent;  // the parameters of the intent, or none
  char slice_code = 0;
  backends::Packing packing;
};

// The fields of a header of NIfTI that say what elements mean, if the store has one. Slices are
// those of a whole image.
void AddMeaning(const ArrayInput& input, Nifti& nifti) {
  const ArrayInput& whole = input.part ? input.part->whole : input;
  if (whole.group == nullptr) return;
  const auto& attributes = whole.group->node().attributes();
  if (!NumberOf(attributes, "sform_code")) return;
  const auto code_of = [&](std::string_view name, double most) {
    const double code = NumberOf(attributes, name).value_or(0);
    return code > 0 && code <= most ? code : 0;
  };
  nifti.descrip = TextOf(attributes, "descrip");
  nifti.intent_name = TextOf(attributes, "intent_name");
  nifti.intent_code = static_cast<int16_t>(code_of("intent_code", INT16_MAX));
  nifti.intent = NumbersOf(attributes, "intent_p");
  if (!input.part) nifti.slice_code = static_cast<char>(code_of("slice_code", INT8_MAX));
}

std::optional<Nifti> FittingNifti(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  if (!numbers || numbers->rank() == 0) return std::nullopt;
  Nifti nifti;
  nifti.numbers = *numbers;
  nifti.code = WordsFor(numbers->number).nifti;
  nifti.bits = static_cast<int16_t>(8 * SizeOf(numbers->number));
  nifti.rank = numbers->rank();
  const auto raster = AsRaster(input, *numbers);
  // Other samples are a dimension: NIfTI has no word for them.
  if (raster && raster->has_colour_bytes()) {
    constexpr int16_t kRgb = 128;
    constexpr int16_t kRgba = 2304;
    nifti.code = raster->samples == 3 ? kRgb : kRgba;
    nifti.bits = static_cast<int16_t>(8 * raster->samples);
    --nifti.rank;
  }
  if (nifti.code == 0 || nifti.rank > kMostNiftiAxes) return std::nullopt;
  constexpr uint64_t kMostLength = std::numeric_limits<int16_t>::max();
  nifti.is_second =
      std::ranges::any_of(numbers->shape, [](uint64_t n) { return n > kMostLength; });
  nifti.packing = backends::ReadPacking(*input.node).value_or(backends::Packing());
  AddMeaning(input, nifti);
  if (nifti.descrip.empty()) {
    nifti.descrip = PrintableAscii(TextOf(input.node->attributes(), "units"));
  }
  if (nifti.intent_name.empty()) {
    nifti.intent_name = PrintableAscii(TextOf(input.node->attributes(), "long_name"));
  }
  return nifti;
}

// Numbers at places in a header.
class Header {
 public:
  explicit Header(size_t size) : bytes_(size, '\0') {}
  template <typename T>
  void Put(size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void Put(size_t at, const std::string& text, size_t most) {
    std::memcpy(bytes_.data() + at, text.data(), std::min(text.size(), most));
  }
  std::string Finish() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// The first three dimensions of NIfTI are those of space. A part that lacks one of them has it
// with one element, if others follow.
struct Dimensions {
  std::vector<uint64_t> lengths;              // the fastest first
  std::vector<std::optional<size_t>> axes;    // which those of the array are
  std::array<size_t, 3> columns = {0, 1, 2};  // of ImageSpace::axes, which the first three are
  bool has_image = false;
  bool is_in_order = true;  // also those beyond these three lie as a header says
};

Dimensions AllDimensions(const Nifti& nifti) {
  Dimensions made;
  for (size_t d = nifti.rank; d-- > 0;) {
    made.lengths.push_back(nifti.numbers.shape[d]);
    made.axes.emplace_back(d);
  }
  return made;
}

Dimensions DimensionsOf(const Nifti& nifti, const std::optional<ImageSpace>& image) {
  Dimensions plain = AllDimensions(nifti);
  if (!image) return plain;
  Dimensions made = plain;
  size_t kept = 0;
  std::vector<size_t> others;  // axes of the image that have one index here
  for (const size_t n : {0, 1, 2}) {
    const auto dimension = image->axes[n].dimension;
    if (!dimension) {
      others.push_back(n);
      continue;
    }
    // In another order than the header's, no column belongs to a dimension.
    if (*dimension >= nifti.rank || *dimension != nifti.rank - 1 - kept) return plain;
    made.columns[kept++] = n;
  }
  if (kept == 0) return plain;
  std::ranges::copy(others, made.columns.begin() + static_cast<ptrdiff_t>(kept));
  if (nifti.rank > kept) {
    const auto at = static_cast<ptrdiff_t>(kept);
    made.lengths.insert(made.lengths.begin() + at, others.size(), 1);
    made.axes.insert(made.axes.begin() + at, others.size(), std::nullopt);
  }
  if (made.lengths.size() > kMostNiftiAxes) return plain;
  made.has_image = true;
  return made;
}

// A header has times, then channels, behind x, y and z. Of lengths alone nobody sees whether
// the elements are in that order.
bool IsInOrder(const ArrayInput& input, const Nifti& nifti) {
  std::vector<std::string> longer;
  const auto axes = FindOmeAxes(input);
  for (size_t d = std::min(nifti.rank, axes.size()); d-- > 0;) {
    const std::string& name = axes[d].name;
    const bool is_space = name == "x" || name == "y" || name == "z";
    if (!is_space && nifti.numbers.shape[d] > 1) longer.push_back(name);
  }
  return longer.size() < 2 || longer == std::vector<std::string>{"t", "c"};
}

// The fields about the place: a header's own fields, or fields made of coordinates.
struct NiftiFields {
  NiftiPlace place;
  double first_time = 0;
};

// xyzt_units of a time, and what a number of it is in this unit; code 0 where there is no word
// for it.
struct NiftiUnit {
  int code = 0;
  double factor = 1;
};

NiftiUnit UnitOfTime(std::string_view units) {
  const auto unit = TimeUnitOf(units.substr(0, units.find(" since ")));
  if (!unit) return {};
  if (unit->size == 1e-3) return {16, 1};
  if (unit->size == 1e-6) return {24, 1};
  return {8, unit->size};
}

// One unit for all three axes, and the factor of each.
struct SpaceUnits {
  int code = 0;
  std::array<double, 3> factors = {1, 1, 1};
};

SpaceUnits UnitsOfSpace(const Geometry& geometry, const Dimensions& dimensions) {
  SpaceUnits units;
  for (size_t n = 0; n < std::min<size_t>(3, dimensions.axes.size()); ++n) {
    if (!dimensions.axes[n]) continue;
    const Axis& axis = geometry.axes[*dimensions.axes[n]];
    // Of channels, there is nothing that a unit could belong to.
    if (axis.units.empty() && !axis.coordinates && !axis.known) continue;
    const auto unit = LengthUnitOf(axis.units);
    if (!unit) return {};
    constexpr std::array<double, 3> kLengths = {1, 1e-3, 1e-6};  // those of the codes 1, 2, 3
    if (units.code == 0) units.code = unit->size >= 1 ? 1 : unit->size >= 1e-3 ? 2 : 3;
    units.factors[n] = unit->size / kLengths[static_cast<size_t>(units.code) - 1];
  }
  return units;
}

NiftiUnit TimeOf(const Geometry& geometry, const Dimensions& dimensions) {
  if (dimensions.axes.size() <= 3 || !dimensions.axes[3]) return {};
  return UnitOfTime(geometry.axes[*dimensions.axes[3]].units);
}

// Voxels, their sizes and where the first one is, by regular coordinates. The space is known
// as far as they are; nobody says how it lies to another one.
NiftiPlace PlaceByCoordinates(const Geometry& geometry, const Dimensions& dimensions,
                              const AllSteps& steps) {
  constexpr int kAligned = 2;  // NIFTI_XFORM_ALIGNED_ANAT
  NiftiPlace place;
  place.pixdim.fill(1);
  const SpaceUnits units = UnitsOfSpace(geometry, dimensions);
  const NiftiUnit time = TimeOf(geometry, dimensions);
  place.units = units.code + time.code;
  for (size_t n = 0; n < 3; ++n) place.rows[n][n] = units.factors[n];
  for (size_t n = 0; n < dimensions.axes.size(); ++n) {
    const auto d = dimensions.axes[n];
    if (!d) continue;
    const Axis& axis = geometry.axes[*d];
    const auto& found = steps[*d];
    const double factor = n < 3 ? units.factors[n] : n == 3 ? time.factor : 1;
    place.pixdim[n + 1] = SpacingOf(axis, found) * factor;
    if (n >= 3) continue;
    place.rows[n][n] = place.pixdim[n + 1];
    if (!found) continue;
    if (!std::isnan(found->step)) place.rows[n][n] = found->step * factor;
    place.rows[n][3] = found->first * factor;
    place.sform = kAligned;
  }
  return place;
}

// The place by a header: all its fields if its image is shown as it is, else its affine moved
// to the shown elements.
NiftiPlace PlaceByHeader(const NiftiPlace& header, const ImageSpace& image,
                         const Dimensions& dimensions, const NiftiPlace& by_coordinates) {
  NiftiPlace place = by_coordinates;
  place.units = header.units;
  const Placement placement = PlacementIn(image, header);
  for (size_t n = 0; n < 3; ++n) {
    const auto& column = placement.columns[dimensions.columns[n]];
    for (size_t i = 0; i < 3; ++i) place.rows[i][n] = column[i];
    place.rows[n][3] = placement.origin[n];
    place.pixdim[n + 1] = std::hypot(column[0], column[1], column[2]);
  }
  place.sform = header.code();
  if (!image.is_whole) return place;
  const auto sizes = place.pixdim;
  place = header;
  // A header in a store of Zarr has the other dimensions in another order.
  if (!image.header) std::copy(sizes.begin() + 4, sizes.end(), place.pixdim.begin() + 4);
  return place;
}

Result<NiftiFields> ReadPlace(const Geometry& geometry, const Dimensions& dimensions) {
  NDLFS_TRY(const AllSteps steps, ReadAllSteps(geometry));
  NiftiFields fields{PlaceByCoordinates(geometry, dimensions, steps)};
  if (dimensions.axes.size() > 3 && dimensions.axes[3] && steps[*dimensions.axes[3]]) {
    fields.first_time = steps[*dimensions.axes[3]]->first * TimeOf(geometry, dimensions).factor;
  }
  // In an order that the header has no words for, coordinates have none either.
  if (geometry.image && !dimensions.has_image) fields.place.sform = 0;
  if (dimensions.has_image) {
    NDLFS_TRY(const auto header, geometry.image->Read());
    if (header) {
      fields.place = PlaceByHeader(*header, *geometry.image, dimensions, fields.place);
    }
  }
  AddOtherForm(fields.place);
  return fields;
}

// dim[0] is the rank, and those beyond it are 1, as readers multiply all.
template <typename T>
void PutLengths(const Dimensions& dimensions, size_t at, Header& header) {
  const auto& lengths = dimensions.lengths;
  header.Put(at, static_cast<T>(lengths.size()));
  for (size_t n = 1; n <= kMostNiftiAxes; ++n) {
    header.Put(at + n * sizeof(T), static_cast<T>(n <= lengths.size() ? lengths[n - 1] : 1));
  }
}

template <typename T>
void PutIntent(const Nifti& nifti, size_t at, Header& header) {
  for (size_t i = 0; i < std::min<size_t>(3, nifti.intent.size()); ++i) {
    header.Put(at + i * sizeof(T), static_cast<T>(nifti.intent[i]));
  }
}

// pixdim[0] is 1 where no axis is mirrored, else -1.
template <typename T>
void PutPlace(const NiftiPlace& place, size_t pixdim, size_t quaternion, size_t rows,
              Header& header) {
  const double mirror = place.pixdim[0] < 0 ? -1 : 1;
  header.Put(pixdim, static_cast<T>(mirror));
  for (size_t n = 1; n < 8; ++n) {
    header.Put(pixdim + n * sizeof(T), static_cast<T>(place.pixdim[n]));
  }
  for (size_t i = 0; i < 3; ++i) {
    header.Put(quaternion + i * sizeof(T), static_cast<T>(place.quaternion[i]));
    header.Put(quaternion + (3 + i) * sizeof(T), static_cast<T>(place.origin[i]));
    for (size_t j = 0; j < 4; ++j) {
      header.Put(rows + (4 * i + j) * sizeof(T), static_cast<T>(place.rows[i][j]));
    }
  }
}

// Places of the fields by nifti1.h.
std::string RenderFirst(const Nifti& nifti, const Dimensions& dimensions,
                        const NiftiFields& fields, size_t size) {
  Header header(size);
  header.Put(0, static_cast<int32_t>(kNiftiFirstSize));
  header.Put(38, 'r');  // of Analyze: all images have the same size
  PutLengths<int16_t>(dimensions, 40, header);
  PutIntent<float>(nifti, 56, header);
  header.Put(68, nifti.intent_code);
  header.Put(70, nifti.code);
  header.Put(72, nifti.bits);
  PutPlace<float>(fields.place, 76, 256, 280, header);
  header.Put(108, static_cast<float>(size));                    // where the elements are
  header.Put(112, static_cast<float>(nifti.packing.factor()));  // scl_slope
  header.Put(116, static_cast<float>(nifti.packing.shift()));   // scl_inter
  header.Put(122, nifti.slice_code);
  header.Put(123, static_cast<char>(fields.place.units));
  header.Put(136, static_cast<float>(fields.first_time));
  header.Put(148, nifti.descrip, 79);
  header.Put(252, static_cast<int16_t>(fields.place.qform));
  header.Put(254, static_cast<int16_t>(fields.place.sform));
  header.Put(328, nifti.intent_name, 15);
  header.Put(344, std::string("n+1", 4), 4);
  return header.Finish();
}

// Places of the fields by nifti2.h.
std::string RenderSecond(const Nifti& nifti, const Dimensions& dimensions,
                         const NiftiFields& fields, size_t size) {
  Header header(size);
  header.Put(0, static_cast<int32_t>(kNiftiSecondSize));
  header.Put(4, std::string("n+2\0\r\n\032\n", 8), 8);
  header.Put(12, nifti.code);
  header.Put(14, nifti.bits);
  PutLengths<int64_t>(dimensions, 16, header);
  PutIntent<double>(nifti, 80, header);
  PutPlace<double>(fields.place, 104, 352, 400, header);
  header.Put(168, static_cast<int64_t>(size));
  header.Put(176, nifti.packing.factor());
  header.Put(184, nifti.packing.shift());
  header.Put(216, fields.first_time);
  header.Put(240, nifti.descrip, 79);
  header.Put(344, static_cast<int32_t>(fields.place.qform));
  header.Put(348, static_cast<int32_t>(fields.place.sform));
  header.Put(496, int32_t{nifti.slice_code});
  header.Put(500, static_cast<int32_t>(fields.place.units));
  header.Put(504, int32_t{nifti.intent_code});
  header.Put(508, nifti.intent_name, 15);
  return header.Finish();
}

// The header that a store keeps for the elements, if there is one.
Result<std::optional<KeptNiftiHeader>> ReadKept(const Dimensions& dimensions,
                                                const Geometry& geometry) {
  if (!dimensions.has_image || geometry.image->size() == 0) return std::nullopt;
  NDLFS_TRY(const std::string bytes, geometry.image->ReadBytes());
  return ReadKeptNiftiHeader(bytes);
}

// `size`: of the header and what follows it, up to the elements.
Result<std::string> RenderHeader(const Nifti& nifti, const Dimensions& dimensions,
                                 const Geometry& geometry, bool is_converted, size_t size) {
  NDLFS_TRY(const auto kept, ReadKept(dimensions, geometry));
  if (kept && geometry.image->is_whole && dimensions.is_in_order) {
    auto whole = WholeNiftiHeader(*kept, nifti.code, dimensions.lengths, size);
    if (whole) return *std::move(whole);
  }
  NDLFS_TRY(const NiftiFields fields, ReadPlace(geometry, dimensions));
  std::string header = nifti.is_second ? RenderSecond(nifti, dimensions, fields, size)
                                       : RenderFirst(nifti, dimensions, fields, size);
  if (kept) {
    NDLFS_RETURN_IF_ERROR(
        CopyNiftiMeaning(*kept, nifti.code, nifti.is_second, is_converted, header));
  }
  return header;
}

// Whether no slope leads from stored numbers to what they stand for: one of 0, as others become
// in 32 bits, says that there is none, and bands have several.
bool NeedsValues(const ArrayInput& input) {
  const auto packing = backends::ReadPacking(*input.node).value_or(backends::Packing());
  const bool is_lost =
      std::isfinite(packing.factor()) && !std::isnormal(static_cast<float>(packing.factor()));
  return is_lost || BandFactorsOf(input);
}

Result<ViewNode> MakeNifti(const ArrayInput& given) {
  const auto values =
      NeedsValues(given) ? MakeUnpacked(given, UnpackedForm::kNumbers) : std::nullopt;
  const ArrayInput& input = values ? *values : given;
  const auto nifti = FittingNifti(input);
  if (!nifti) return model::Unsupported("no NIfTI of {}", input.dtype.keyword());
  NDLFS_TRY(Geometry geometry, DescribeGeometry(input, nifti->numbers));
  Dimensions dimensions = DimensionsOf(*nifti, geometry.image);
  if (dimensions.has_image && geometry.image->is_whole) {
    dimensions.is_in_order = IsInOrder(input, *nifti);
  }
  const bool is_converted = input.part != nullptr && input.part->is_converted;
  size_t size = (nifti->is_second ? kNiftiSecondSize : kNiftiFirstSize) + kNiftiExtension;
  if (dimensions.has_image && geometry.image->is_whole) {
    size = std::max(size, NiftiOffset(geometry.image->size()));
  }
  const auto header = [nifti = *nifti, dimensions, geometry = std::move(geometry), is_converted,
                       size] {
    return RenderHeader(nifti, dimensions, geometry, is_converted, size);
  };
  return MakeSegmentedView({MakeDeferredBytes(size, header), AllOf(nifti->numbers.elements)});
}

}  // namespace

const ArrayViewKind kNiftiView = {
    .file_name = "data.nii",
    .description = "NIfTI",
    .applies_to = [](const ArrayInput& input) { return FittingNifti(input).has_value(); },
    .is_listed = [](const ArrayInput&) { return false; },
    .make = &MakeNifti,
};

}  // namespace ndlfs::fs
