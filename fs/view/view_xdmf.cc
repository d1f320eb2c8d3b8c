// SPDX-License-Identifier: MIT
//
// XDMF for data.raw: ParaView and VisIt.
#include <fmt/format.h>

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

// NumberType and Precision; empty where XDMF has no such numbers.
std::string_view TypeOf(Number number) {
  switch (number) {
    case Number::kInt8:
      return R"(NumberType="Char" Precision="1")";
    case Number::kUInt8:
      return R"(NumberType="UChar" Precision="1")";
    case Number::kInt16:
      return R"(NumberType="Int" Precision="2")";
    case Number::kUInt16:
      return R"(NumberType="UInt" Precision="2")";
    case Number::kInt32:
      return R"(NumberType="Int" Precision="4")";
    case Number::kUInt32:
      return R"(NumberType="UInt" Precision="4")";
    case Number::kInt64:
      return R"(NumberType="Int" Precision="8")";
    case Number::kUInt64:
      return R"(NumberType="UInt" Precision="8")";
    case Number::kFloat32:
      return R"(NumberType="Float" Precision="4")";
    case Number::kFloat64:
      return R"(NumberType="Float" Precision="8")";
    default:
      return {};
  }
}

struct Xdmf {
  NumberArray numbers;
  Geometry geometry;
  std::string raw_name;
  std::string name;
};

std::optional<Xdmf> Fitting(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  if (!numbers || TypeOf(numbers->number).empty()) return std::nullopt;
  // A mesh in two or three dimensions.
  if (numbers->rank() != 2 && numbers->rank() != 3) return std::nullopt;
  return Xdmf{*numbers, {}, RawFileName(input), NameInHeader(input)};
}

std::string Lengths(const Xdmf& xdmf) {
  return fmt::format("{}", fmt::join(xdmf.numbers.shape, " "));
}

// Slowest first, as the lengths. Meshes may go backwards.
std::string Render(const Xdmf& xdmf, const AllSteps& steps, const NumberText& text) {
  std::string origin;
  std::string spacing;
  for (size_t d = 0; d < xdmf.numbers.rank(); ++d) {
    const bool descends = steps[d] && steps[d]->step < 0;
    const double step = SpacingOf(xdmf.geometry.axes[d], steps[d]);
    origin += ' ' + text(steps[d] ? steps[d]->first : 0);
    spacing += ' ' + text(descends ? -step : step);
  }
  const size_t rank = xdmf.numbers.rank();
  std::string out = "<?xml version=\"1.0\" ?>\n<Xdmf Version=\"2.0\">\n <Domain>\n";
  out += fmt::format("  <Grid Name=\"{}\" GridType=\"Uniform\">\n", xdmf.name);
  out += fmt::format("   <Topology TopologyType=\"{}DCoRectMesh\" Dimensions=\"{}\"/>\n", rank,
                     Lengths(xdmf));
  out += fmt::format("   <Geometry GeometryType=\"{}\">\n",
                     rank == 3 ? "ORIGIN_DXDYDZ" : "ORIGIN_DXDY");
  for (const std::string& numbers : {origin, spacing}) {
    out += fmt::format(
        "    <DataItem Dimensions=\"{}\" NumberType=\"Float\" Precision=\"8\" "
        "Format=\"XML\">{} </DataItem>\n",
        rank, numbers);
  }
  out += "   </Geometry>\n";
  out += fmt::format("   <Attribute Name=\"{}\" AttributeType=\"Scalar\" Center=\"Node\">\n",
                     xdmf.name);
  out += fmt::format(
      "    <DataItem Dimensions=\"{}\" {} Format=\"Binary\" Endian=\"Little\">{}</DataItem>\n",
      Lengths(xdmf), TypeOf(xdmf.numbers.number), xdmf.raw_name);
  return out + "   </Attribute>\n  </Grid>\n </Domain>\n</Xdmf>\n";
}

Result<ViewPtr> Make(const ArrayInput& input) {
  auto xdmf = Fitting(input);
  if (!xdmf) return model::Unsupported("no XDMF for {}", input.dtype.keyword());
  NDLFS_TRY(xdmf->geometry, DescribeGeometry(input, xdmf->numbers));
  const AllSteps longest = LongestSteps(xdmf->geometry);
  const auto read = [geometry = xdmf->geometry] { return ReadAllSteps(geometry); };
  const auto render = [xdmf = *xdmf](const AllSteps& steps, const NumberText& text) {
    return Render(xdmf, steps, text);
  };
  return MakeSegmentedView({MakeTextHeader<AllSteps>(longest, read, render)});
}

}  // namespace

const ArrayViewKind kXdmfView = {
    .file_name = "data.xmf",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return Fitting(input).has_value(); },
    .is_listed = &IsListedHeader,
    .make = &Make,
};

}  // namespace ndlfs::fs
