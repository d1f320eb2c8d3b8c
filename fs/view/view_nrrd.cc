// SPDX-License-Identifier: MIT
//
// A detached NRRD header for data.raw: teem, 3D Slicer, ITK.
#include <fmt/format.h>

#include <cmath>
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

constexpr size_t kMostNrrdAxes = 16;  // NRRD_DIM_MAX

// The type of the parts of a complex number; empty where NRRD has no such numbers.
std::string_view NrrdTypeOf(Number number) {
  switch (number) {
    case Number::kInt8:
      return "int8";
    case Number::kUInt8:
      return "uint8";
    case Number::kInt16:
      return "int16";
    case Number::kUInt16:
      return "uint16";
    case Number::kInt32:
      return "int32";
    case Number::kUInt32:
      return "uint32";
    case Number::kInt64:
      return "int64";
    case Number::kUInt64:
      return "uint64";
    case Number::kFloat32:
    case Number::kComplex64:
      return "float";
    case Number::kFloat64:
    case Number::kComplex128:
      return "double";
    default:
      return {};
  }
}

struct Nrrd {
  NumberArray numbers;
  Geometry geometry;
  size_t rank = 0;         // dimensions of places
  std::string first_size;  // of an axis before them: parts of an element
  std::string first_kind;
  std::string raw_name;
  std::string name;
};

std::optional<Nrrd> FittingNrrd(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  if (!numbers || numbers->rank() == 0 || NrrdTypeOf(numbers->number).empty())
    return std::nullopt;
  Nrrd nrrd;
  nrrd.numbers = *numbers;
  nrrd.rank = numbers->rank();
  nrrd.raw_name = RawFileName(input);
  nrrd.name = NameInHeader(input);
  const auto raster = AsRaster(input, *numbers);
  if (IsComplex(numbers->number)) {
    nrrd.first_size = "2";
    nrrd.first_kind = "complex";
  } else if (raster && raster->samples > 1) {
    nrrd.first_size = fmt::format("{}", raster->samples);
    nrrd.first_kind = raster->samples == 3 ? "RGB-color" : "RGBA-color";
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

// Readers know no negative spacing. Of coordinates that descend, the file says how far they are
// from each other. An axis with spacing has a first coordinate too, or ITK would begin the
// image at NaN.
std::string Render(const Nrrd& nrrd, const AllSteps& steps, const NumberText& text) {
  const auto axis = [&](size_t d) { return nrrd.geometry.axes[d]; };
  const auto is_known = [&](size_t d) {
    return axis(d).spacing || (steps[d] && !std::isnan(steps[d]->step));
  };
  const auto spacing = [&](size_t d) {
    return is_known(d) ? text(SpacingOf(axis(d), steps[d])) : "nan";
  };
  const auto origin = [&](size_t d) { return is_known(d) ? text(OriginOf(steps[d])) : "nan"; };
  std::string out = fmt::format("NRRD0004\ncontent: {}\ntype: {}\ndimension: {}\n", nrrd.name,
                                NrrdTypeOf(nrrd.numbers.number),
                                nrrd.rank + (nrrd.first_size.empty() ? 0 : 1));
  out += Line(nrrd, "sizes", nrrd.first_size, [&](size_t d) { return nrrd.numbers.shape[d]; });
  out += Line(nrrd, "spacings", "nan", spacing);
  out += Line(nrrd, "axis mins", "nan", origin);
  out += Line(nrrd, "centers", "none", [](size_t) { return "node"; });
  if (!nrrd.first_kind.empty()) {
    out += Line(nrrd, "kinds", nrrd.first_kind, [](size_t) { return "domain"; });
  }
  out += Line(nrrd, "labels", "\"\"",
              [&](size_t d) { return fmt::format("\"{}\"", PlainName(axis(d).name)); });
  out += Line(nrrd, "units", "\"\"",
              [&](size_t d) { return fmt::format("\"{}\"", PlainName(axis(d).units)); });
  out += "endian: little\nencoding: raw\n";
  // An empty line ends the header: what fills up the file is behind it.
  return out + fmt::format("data file: ./{}\n\n", nrrd.raw_name);
}

Result<ViewPtr> MakeNrrd(const ArrayInput& input) {
  auto nrrd = FittingNrrd(input);
  if (!nrrd) return model::Unsupported("no NRRD header for {}", input.dtype.keyword());
  NDLFS_TRY(nrrd->geometry, DescribeGeometry(input, nrrd->numbers));
  const AllSteps longest = LongestSteps(nrrd->geometry);
  const auto read = [geometry = nrrd->geometry] { return ReadAllSteps(geometry); };
  const auto render = [nrrd = *nrrd](const AllSteps& steps, const NumberText& text) {
    return Render(nrrd, steps, text);
  };
  return MakeSegmentedView({MakeTextHeader<AllSteps>(longest, read, render)});
}

}  // namespace

const ArrayViewKind kNrrdView = {
    .file_name = "data.nhdr",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return FittingNrrd(input).has_value(); },
    .is_listed = &IsListedHeader,
    .make = &MakeNrrd,
};

}  // namespace ndlfs::fs
