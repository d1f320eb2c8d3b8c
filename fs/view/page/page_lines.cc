// SPDX-License-Identifier: MIT
#include "fs/view/page/page_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/html_text.h"
#include "fs/view/base/number_array.h"
#include "fs/view/base/python_repr.h"
#include "fs/view/base/raw_header.h"

namespace ndlfs::fs {
namespace {

// `text` between quotes; `quote` and backslashes in it as `escapes` say.
std::string Quoted(std::string_view text, char quote, std::string_view quote_as,
                   std::string_view backslash_as) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote) {
      out += quote_as;
    } else if (c == '\\') {
      out += backslash_as;
    } else {
      out += c;
    }
  }
  return out + quote;
}
std::string ForShell(std::string_view path) { return Quoted(path, '\'', "'\\''", "\\"); }
std::string ForR(std::string_view path) { return Quoted(path, '"', "\\\"", "\\\\"); }
std::string ForFortran(std::string_view path) { return Quoted(path, '\'', "''", "\\"); }

class ProgramLines {
 public:
  ProgramLines(std::span<const ViewName> files, std::string_view folder)
      : files_(files), folder_(folder) {}

  bool Has(std::string_view name) const { return HasFile(files_, name); }
  std::string PathOf(std::string_view name) const {
    return folder_.empty() ? std::string(name) : fmt::format("{}/{}", folder_, name);
  }
  void Add(std::string_view program, std::string_view lines) {
    html_ += fmt::format("<p class=\"soft small\">{}</p>\n<pre>{}</pre>\n", program,
                         HtmlText(lines));
  }
  std::string Take() {
    if (html_.empty()) return {};
    html_.insert(0, "<h2>Open it</h2>\n");
    html_ += fmt::format("<p class=\"soft small\">{}</p>\n",
                         folder_.empty() ? "The files are those of a folder in a mount."
                                         : "Paths are those of the machine that has the mount. "
                                           "Elsewhere, such as behind a web "
                                           "server, use the addresses of the links above.");
    return std::move(html_);
  }

 private:
  const std::span<const ViewName> files_;
  const std::string_view folder_;
  std::string html_;
};

// Arrays of other languages have the dimensions in the opposite order.
void AddRaw(const NumberArray& numbers, ProgramLines& lines) {
  const NumberWords& words = WordsFor(numbers.number);
  if (words.fortran.empty() || numbers.shape.empty()) return;
  std::vector<uint64_t> extents(numbers.shape.rbegin(), numbers.shape.rend());
  constexpr uint64_t kMostOfR = (uint64_t{1} << 31) - 1;
  const uint64_t count = numbers.bytes / SizeOf(numbers.number);
  const std::string path = lines.PathOf("data.raw");
  const bool fits_r = std::ranges::all_of(extents, [](uint64_t n) { return n <= kMostOfR; });
  if (!words.r_what.empty() && fits_r && count <= kMostOfR) {
    lines.Add("R", fmt::format("a <- array(readBin({}, \"{}\", n = {}{}, endian = \"little\"), "
                               "dim = c({}))",
                               ForR(path), words.r_what, count, words.r_more,
                               fmt::join(extents, ", ")));
  }
  constexpr size_t kMostOfFortran = 15;
  if (extents.size() > kMostOfFortran) return;
  const bool is_unsigned = IsUnsigned(numbers.number);
  lines.Add("Fortran",
            fmt::format("use, intrinsic :: iso_fortran_env\n"
                        "{}, allocatable :: a({}){}\n"
                        "allocate(a({}))\n"
                        "open(newunit=u, file={}, &\n"
                        "     access='stream', form='unformatted', "
                        "action='read')\n"
                        "read(u) a",
                        words.fortran, fmt::join(std::vector<char>(extents.size(), ':'), ","),
                        is_unsigned ? "  ! they have no sign" : "", fmt::join(extents, ", "),
                        ForFortran(path)));
}

}  // namespace

bool HasFile(std::span<const ViewName> files, std::string_view name) {
  return std::ranges::any_of(
      files, [&](const ViewName& file) { return file.name == name && !file.refusal; });
}

PageField FieldOf(std::span<const PageDimension> dimensions,
                  const std::vector<model::Attribute>& attributes, bool is_image) {
  if (is_image) return PageField::kImage;
  constexpr std::array<std::string_view, 4> kNames = {"lat", "lon", "latitude", "longitude"};
  constexpr std::array<std::string_view, 4> kStandardNames = {
      "latitude", "longitude", "projection_x_coordinate", "projection_y_coordinate"};
  const auto is_on_earth = [&](const PageDimension& dimension) {
    if (std::ranges::find(kNames, dimension.name) != kNames.end()) return true;
    if (!dimension.coordinates) return false;
    const auto& of_dimension = dimension.coordinates->node->attributes();
    const std::string units = TextOf(of_dimension, "units");
    return units.starts_with("degree") ||
           std::ranges::find(kStandardNames, TextOf(of_dimension, "standard_name")) !=
               kStandardNames.end();
  };
  const std::string conventions = TextOf(attributes, "Conventions");
  const bool is_earth = std::ranges::any_of(dimensions, is_on_earth) ||
                        conventions.find("CF-") != std::string::npos ||
                        conventions.find("COARDS") != std::string::npos;
  return is_earth ? PageField::kEarth : PageField::kGeneral;
}

std::string ArrayLinesHtml(const ArrayInput& array, std::span<const ViewName> files,
                           std::string_view folder, PageField field) {
  ProgramLines lines(files, folder);
  if (lines.Has("data.npy")) {
    // An empty file cannot be mapped.
    const bool has_elements = array.elements != nullptr && array.elements->size() != 0;
    lines.Add("Python", fmt::format("import numpy as np\na = np.load({}{})",
                                    PythonRepr(lines.PathOf("data.npy")),
                                    has_elements ? ", mmap_mode=\"r\"" : ""));
  } else if (lines.Has("data.jsonl")) {
    lines.Add("Python", fmt::format("import json\nwith open({}) as lines:\n"
                                    "    a = [json.loads(line) for line in lines]",
                                    PythonRepr(lines.PathOf("data.jsonl"))));
  }
  if (field == PageField::kImage && lines.Has("data.tif")) {
    lines.Add("ImageJ, Fiji", "imagej " + ForShell(lines.PathOf("data.tif")));
  }
  const auto numbers = AsNumbers(array);
  if (numbers && lines.Has("data.raw")) AddRaw(*numbers, lines);
  if (field == PageField::kEarth && lines.Has("data.vrt")) {
    lines.Add("GDAL, QGIS", "gdalinfo " + ForShell(lines.PathOf("data.vrt")));
  }
  return lines.Take();
}

std::string GroupLinesHtml(std::span<const ViewName> files, std::string_view folder,
                           PageField field) {
  ProgramLines lines(files, folder);
  if (lines.Has("data.ome.tif")) {
    const std::string path = lines.PathOf("data.ome.tif");
    lines.Add("Fiji, QuPath, napari", "napari " + ForShell(path));
    lines.Add("Python",
              fmt::format("import tifffile\na = tifffile.imread({})", PythonRepr(path)));
  }
  if (field == PageField::kImage) return lines.Take();
  const bool has_classic = lines.Has("data.nc");
  if (has_classic || lines.Has("data.h5")) {
    const std::string path = lines.PathOf(has_classic ? "data.nc" : "data.h5");
    lines.Add("Python",
              fmt::format("import xarray as xr\nds = xr.open_dataset({})", PythonRepr(path)));
  }
  if (!has_classic) return lines.Take();
  const std::string path = lines.PathOf("data.nc");
  lines.Add("R", fmt::format("library(ncdf4)\nnc <- nc_open({})", ForR(path)));
  if (field == PageField::kEarth) {
    lines.Add("R, maps", fmt::format("library(terra)\nr <- rast({})", ForR(path)));
    lines.Add("CDO", "cdo sinfo " + ForShell(path));
    lines.Add("GDAL, QGIS", "gdalinfo " + ForShell("NETCDF:\"" + path + "\""));
  }
  lines.Add("Fortran", fmt::format("use netcdf\nstatus = nf90_open({}, nf90_nowrite, ncid)",
                                   ForFortran(path)));
  return lines.Take();
}

}  // namespace ndlfs::fs
