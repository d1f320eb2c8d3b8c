// SPDX-License-Identifier: MIT
//
// XDMF for data.raw: ParaView and VisIt.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "fs/view/array/views.h"
#include "fs/view/base/raw_header.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/place/geometry.h"

namespace ndlfs::fs {
namespace {

using model::Result;

struct Xdmf {
  NumberArray numbers;
  Geometry geometry;
  std::string raw_name;
  std::string name;
};

// Steps in time, as grids of their own.
constexpr uint64_t kMostSteps = 1000;
// Readers take the place of a step in the file as a C int.
constexpr uint64_t kMostBytesOfSteps = std::numeric_limits<int32_t>::max();

std::optional<Xdmf> FittingXdmf(const ArrayInput& input) {
  const auto numbers = AsNumbers(input);
  if (!numbers || WordsFor(numbers->number).xdmf.empty()) return std::nullopt;
  // A mesh in two or three dimensions, or several of the latter.
  if (numbers->rank() < 2 || numbers->rank() > 4) return std::nullopt;
  const bool has_steps = numbers->rank() == 4;
  if (has_steps && (numbers->shape[0] > kMostSteps || numbers->bytes > kMostBytesOfSteps))
    return std::nullopt;
  return Xdmf{*numbers, {}, RawFileName(input), NameInHeader(input)};
}

// A mesh of the dimensions from `first` on, slowest first. Meshes may go backwards.
std::string RenderMesh(const Xdmf& xdmf, size_t first, const AllSteps& steps,
                       const NumberText& text) {
  std::string origin;
  std::string spacing;
  for (size_t d = first; d < xdmf.numbers.rank(); ++d) {
    const bool descends = steps[d] && steps[d]->step < 0;
    const double step = SpacingOf(xdmf.geometry.axes[d], steps[d]);
    origin += ' ' + text(steps[d] ? steps[d]->first : 0);
    spacing += ' ' + text(descends ? -step : step);
  }
  const size_t rank = xdmf.numbers.rank() - first;
  const std::span lengths(xdmf.numbers.shape.begin() + static_cast<ptrdiff_t>(first), rank);
  std::string out =
      fmt::format("   <Topology TopologyType=\"{}DCoRectMesh\" Dimensions=\"{}\"/>\n", rank,
                  fmt::join(lengths, " "));
  out += fmt::format("   <Geometry GeometryType=\"{}\">\n",
                     rank == 3 ? "ORIGIN_DXDYDZ" : "ORIGIN_DXDY");
  for (const std::string& numbers : {origin, spacing}) {
    out += fmt::format(
        "    <DataItem Dimensions=\"{}\" NumberType=\"Float\" Precision=\"8\" "
        "Format=\"XML\">{} </DataItem>\n",
        rank, numbers);
  }
  return out + "   </Geometry>\n";
}

// The elements of the dimensions from `first` on, `seek` bytes from the beginning.
std::string RenderElements(const Xdmf& xdmf, size_t first, uint64_t seek) {
  const std::span lengths(xdmf.numbers.shape.begin() + static_cast<ptrdiff_t>(first),
                          xdmf.numbers.rank() - first);
  return fmt::format(
      "   <Attribute Name=\"{}\" AttributeType=\"Scalar\" Center=\"Node\">\n"
      "    <DataItem Dimensions=\"{}\" {} Format=\"Binary\" Endian=\"Little\" "
      "Seek=\"{}\">{}</DataItem>\n   </Attribute>\n",
      xdmf.name, fmt::join(lengths, " "), WordsFor(xdmf.numbers.number).xdmf, seek,
      xdmf.raw_name);
}

// Without regular times, steps are counted.
std::string RenderSteps(const Xdmf& xdmf, const AllSteps& steps, const NumberText& text) {
  const uint64_t count = xdmf.numbers.shape[0];
  const uint64_t bytes = xdmf.numbers.bytes / count;
  const bool has_times = steps[0] && !std::isnan(steps[0]->step);
  const std::string mesh = RenderMesh(xdmf, 1, steps, text);
  std::string out = fmt::format(
      "  <Grid Name=\"{}\" GridType=\"Collection\" CollectionType=\"Temporal\">\n", xdmf.name);
  for (uint64_t i = 0; i < count; ++i) {
    const double index = static_cast<double>(i);
    const double time = has_times ? steps[0]->first + index * steps[0]->step : index;
    out += fmt::format("  <Grid Name=\"{}\" GridType=\"Uniform\">\n", xdmf.name);
    out += fmt::format("   <Time Value=\"{}\"/>\n", text(time)) + mesh;
    out += RenderElements(xdmf, 1, i * bytes) + "  </Grid>\n";
  }
  return out + "  </Grid>\n";
}

std::string Render(const Xdmf& xdmf, const AllSteps& steps, const NumberText& text) {
  std::string out = "<?xml version=\"1.0\" ?>\n<Xdmf Version=\"2.0\">\n <Domain>\n";
  if (xdmf.numbers.rank() == 4) {
    out += RenderSteps(xdmf, steps, text);
  } else {
    out += fmt::format("  <Grid Name=\"{}\" GridType=\"Uniform\">\n", xdmf.name);
    out += RenderMesh(xdmf, 0, steps, text) + RenderElements(xdmf, 0, 0) + "  </Grid>\n";
  }
  return out + " </Domain>\n</Xdmf>\n";
}

Result<ViewNode> MakeXdmf(const ArrayInput& input) {
  auto xdmf = FittingXdmf(input);
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
    .description = "XDMF header, for {}",
    .is_text = true,
    .applies_to = [](const ArrayInput& input) { return FittingXdmf(input).has_value(); },
    .is_listed = &IsListedHeader,
    .make = &MakeXdmf,
};

}  // namespace ndlfs::fs
