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

#include "backends/format/packing.h"
#include "fs/view/array/views.h"
#include "fs/view/base/array_part.h"
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
  // For each dimension the item that reads its coordinates from their own file; empty if that
  // file has other numbers, or there is none.
  std::vector<std::string> coordinates = {};
};

// What the coordinates tell.
struct Places {
  AllSteps steps;
  std::vector<double> times;  // of the grids; empty: they are counted
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

Result<std::string> CoordinateItem(const ArrayInput& input, size_t d) {
  NDLFS_TRY(const auto found, FindCoordinate(input, d));
  const auto numbers = found ? AsNumbers(*found) : std::nullopt;
  const auto packing = found ? backends::ReadPacking(*found->node) : std::nullopt;
  if (!numbers || !packing || packing->is_scaled()) return std::string();
  const std::string_view words = WordsFor(numbers->number).xdmf;
  std::string path = PathOf(*found).substr(1);
  const auto is_special = [](char c) { return c != '/' && PlainName({c})[0] != c; };
  if (words.empty() || std::ranges::any_of(path, is_special)) return std::string();
  const std::string cut =
      found->part
          ? '[' + FormatSelection(found->part->selection, found->part->whole.shape) + ']'
          : std::string();
  for (auto n = std::ranges::count(PathOf(input), '/'); n > 0; --n) path.insert(0, "../");
  return fmt::format(
      "    <DataItem Dimensions=\"{}\" {} Format=\"Binary\" Endian=\"Little\">{}/data{}.raw"
      "</DataItem>\n",
      numbers->shape[0], words, path, cut);
}

// Whether the dimensions from `first` on need all their coordinates, and have them.
bool IsUneven(const Xdmf& xdmf, size_t first, const AllSteps& steps) {
  const std::span items(xdmf.coordinates.begin() + static_cast<ptrdiff_t>(first),
                        xdmf.coordinates.end());
  return std::ranges::none_of(items, &std::string::empty) &&
         std::any_of(steps.begin() + static_cast<ptrdiff_t>(first), steps.end(),
                     [](const auto& axis) { return !axis; });
}

// A mesh of the dimensions from `first` on, slowest first. Meshes may go backwards.
std::string RenderMesh(const Xdmf& xdmf, size_t first, const AllSteps& steps,
                       const NumberText& text) {
  const size_t rank = xdmf.numbers.rank() - first;
  const std::span lengths(xdmf.numbers.shape.begin() + static_cast<ptrdiff_t>(first), rank);
  const bool is_uneven = IsUneven(xdmf, first, steps);
  std::string out = fmt::format("   <Topology TopologyType=\"{}D{}Mesh\" Dimensions=\"{}\"/>\n",
                                rank, is_uneven ? "Rect" : "CoRect", fmt::join(lengths, " "));
  out +=
      fmt::format("   <Geometry GeometryType=\"{}{}\">\n", is_uneven ? "VXVY" : "ORIGIN_DXDY",
                  rank < 3 ? "" : (is_uneven ? "VZ" : "DZ"));
  std::string origin;
  std::string spacing;
  for (size_t d = first; d < xdmf.numbers.rank(); ++d) {
    const bool descends = steps[d] && steps[d]->step < 0;
    const double step = SpacingOf(xdmf.geometry.axes[d], steps[d]);
    origin += ' ' + text(steps[d] ? steps[d]->first : 0);
    spacing += ' ' + text(descends ? -step : step);
  }
  for (const std::string& numbers : {origin, spacing}) {
    if (is_uneven) break;
    out += fmt::format(
        "    <DataItem Dimensions=\"{}\" NumberType=\"Float\" Precision=\"8\" "
        "Format=\"XML\">{} </DataItem>\n",
        rank, numbers);
  }
  for (size_t d = xdmf.numbers.rank(); is_uneven && d-- > first;) out += xdmf.coordinates[d];
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
  const std::string mesh = RenderMesh(xdmf, 1, places.steps, text);
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
    out += RenderMesh(xdmf, 0, places.steps, text) + RenderElements(xdmf, 0, 0) + "  </Grid>\n";
  }
  return out + " </Domain>\n</Xdmf>\n";
}

Result<Places> ReadPlaces(const Geometry& geometry) {
  Places places;
  NDLFS_TRY(places.steps, ReadAllSteps(geometry));
  if (places.steps.size() == 4) {
    NDLFS_TRY(places.times, ReadCoordinates(geometry.axes[0]));
  }
  return places;
}

Result<ViewNode> MakeXdmf(const ArrayInput& input) {
  auto xdmf = FittingXdmf(input);
  if (!xdmf) return model::Unsupported("no XDMF for {}", input.dtype.keyword());
  NDLFS_TRY(xdmf->geometry, DescribeGeometry(input, xdmf->numbers));
  for (size_t d = 0; d < xdmf->numbers.rank(); ++d) {
    NDLFS_TRY(xdmf->coordinates.emplace_back(), CoordinateItem(input, d));
  }
  // Without values, the longer one of the two forms.
  const auto render = [xdmf = *xdmf](const std::optional<Places>& places,
                                     const NumberText& text) {
    if (places) return Render(xdmf, *places, text);
    std::string even = Render(xdmf, {LongestSteps(xdmf.geometry), {}}, text);
    std::string uneven = Render(xdmf, {AllSteps(xdmf.numbers.rank()), {}}, text);
    return even.size() < uneven.size() ? uneven : even;
  };
  const auto read = [geometry = xdmf->geometry]() -> Result<std::optional<Places>> {
    NDLFS_TRY(auto places, ReadPlaces(geometry));
    return std::optional(std::move(places));
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
