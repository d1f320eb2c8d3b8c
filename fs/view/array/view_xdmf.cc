// SPDX-License-Identifier: MIT
//
// XDMF for data.raw: ParaView and VisIt.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  // For each dimension the item that reads its coordinates from their own file; empty if there
  // is none.
  std::vector<std::string> items = {};
};

// What the coordinates tell.
struct Places {
  AllSteps steps;
  bool is_uneven = false;          // the mesh: it has an item for each dimension
  std::vector<double> times = {};  // of the grids; empty: they are counted
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

// `path` is that of the array.
std::string CoordinateItem(const Axis& axis, std::string_view path) {
  const auto is_special = [](char c) {
    return PlainName({c})[0] != c && std::string_view("/[:]").find(c) == std::string_view::npos;
  };
  if (axis.raw_path.empty() || std::ranges::any_of(axis.raw_path, is_special)) return {};
  const std::string_view words = WordsFor(axis.coordinates->number).xdmf;
  if (words.empty()) return {};
  std::string up;
  for (auto n = std::ranges::count(path, '/'); n > 0; --n) up += "../";
  return fmt::format(
      "    <DataItem Dimensions=\"{}\" {} Format=\"Binary\" Endian=\"Little\">{}{}"
      "</DataItem>\n",
      axis.count, words, up, axis.raw_path.substr(1));
}

// Meshes may go backwards.
std::string RenderEvenSteps(const Xdmf& xdmf, size_t first, const AllSteps& steps,
                            const NumberText& text) {
  const size_t rank = xdmf.numbers.rank() - first;
  std::string origin;
  std::string spacing;
  for (size_t d = first; d < xdmf.numbers.rank(); ++d) {
    const bool descends = steps[d] && steps[d]->step < 0;
    const double step = SpacingOf(xdmf.geometry.axes[d], steps[d]);
    origin += ' ' + text(steps[d] ? steps[d]->first : 0);
    spacing += ' ' + text(descends ? -step : step);
  }
  std::string out = fmt::format("   <Geometry GeometryType=\"{}\">\n",
                                rank == 3 ? "ORIGIN_DXDYDZ" : "ORIGIN_DXDY");
  for (const std::string& numbers : {origin, spacing}) {
    out += fmt::format(
        "    <DataItem Dimensions=\"{}\" NumberType=\"Float\" Precision=\"8\" "
        "Format=\"XML\">{} </DataItem>\n",
        rank, numbers);
  }
  return out;
}

// A mesh of the dimensions from `first` on, slowest first.
std::string RenderMesh(const Xdmf& xdmf, size_t first, const Places& places,
                       const NumberText& text) {
  const size_t rank = xdmf.numbers.rank() - first;
  const std::span lengths(xdmf.numbers.shape.begin() + static_cast<ptrdiff_t>(first), rank);
  std::string out =
      fmt::format("   <Topology TopologyType=\"{}D{}Mesh\" Dimensions=\"{}\"/>\n", rank,
                  places.is_uneven ? "Rect" : "CoRect", fmt::join(lengths, " "));
  if (places.is_uneven) {
    out += fmt::format("   <Geometry GeometryType=\"{}\">\n", rank == 3 ? "VXVYVZ" : "VXVY");
    for (size_t d = xdmf.numbers.rank(); d-- > first;) out += xdmf.items[d];
  } else {
    out += RenderEvenSteps(xdmf, first, places.steps, text);
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

std::string RenderSteps(const Xdmf& xdmf, const Places& places, const NumberText& text) {
  const uint64_t count = xdmf.numbers.shape[0];
  const uint64_t bytes = xdmf.numbers.bytes / count;
  const std::string mesh = RenderMesh(xdmf, 1, places, text);
  std::string out = fmt::format(
      "  <Grid Name=\"{}\" GridType=\"Collection\" CollectionType=\"Temporal\">\n", xdmf.name);
  for (uint64_t i = 0; i < count; ++i) {
    const double time = places.times.empty() ? static_cast<double>(i) : places.times[i];
    out += fmt::format("  <Grid Name=\"{}\" GridType=\"Uniform\">\n", xdmf.name);
    out += fmt::format("   <Time Value=\"{}\"/>\n", text(time)) + mesh;
    out += RenderElements(xdmf, 1, i * bytes) + "  </Grid>\n";
  }
  return out + "  </Grid>\n";
}

std::string Render(const Xdmf& xdmf, const Places& places, const NumberText& text) {
  std::string out = "<?xml version=\"1.0\" ?>\n<Xdmf Version=\"2.0\">\n <Domain>\n";
  if (xdmf.numbers.rank() == 4) {
    out += RenderSteps(xdmf, places, text);
  } else {
    out += fmt::format("  <Grid Name=\"{}\" GridType=\"Uniform\">\n", xdmf.name);
    out += RenderMesh(xdmf, 0, places, text) + RenderElements(xdmf, 0, 0) + "  </Grid>\n";
  }
  return out + " </Domain>\n</Xdmf>\n";
}

// Without all coordinates of a mesh, or with a missing one, its elements are counted.
Result<Places> ReadPlaces(const Xdmf& xdmf) {
  Places places;
  const bool has_times = xdmf.numbers.rank() == 4;
  bool has_items = true;
  for (size_t d = 0; d < xdmf.numbers.rank(); ++d) {
    const Axis& axis = xdmf.geometry.axes[d];
    NDLFS_TRY(auto coordinates, ReadCoordinates(axis));
    places.steps.push_back(axis.coordinates ? FindSteps(axis, coordinates) : axis.known);
    if (d == 0 && has_times) {
      places.times = std::move(coordinates);
      continue;
    }
    has_items = has_items && !xdmf.items[d].empty() && !coordinates.empty();
    places.is_uneven = places.is_uneven || !places.steps.back();
  }
  places.is_uneven = places.is_uneven && has_items;
  return places;
}

Result<ViewNode> MakeXdmf(const ArrayInput& input) {
  auto xdmf = FittingXdmf(input);
  if (!xdmf) return model::Unsupported("no XDMF for {}", input.dtype.keyword());
  NDLFS_TRY(xdmf->geometry, DescribeGeometry(input, xdmf->numbers));
  for (const Axis& axis : xdmf->geometry.axes) {
    xdmf->items.push_back(CoordinateItem(axis, PathOf(input)));
  }
  const auto read = [xdmf = *xdmf]() -> Result<std::optional<Places>> {
    return ReadPlaces(xdmf);
  };
  // Without values, the longer one of the two forms.
  const auto render = [xdmf = *xdmf](const std::optional<Places>& places,
                                     const NumberText& text) {
    if (places) return Render(xdmf, *places, text);
    const AllSteps steps = LongestSteps(xdmf.geometry);
    return std::ranges::max(Render(xdmf, {steps}, text), Render(xdmf, {steps, true}, text), {},
                            &std::string::size);
  };
  return MakeSegmentedView({MakeTextHeader<std::optional<Places>>(std::nullopt, read, render)});
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
