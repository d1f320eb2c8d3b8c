// SPDX-License-Identifier: MIT
//
// VisIt's "brick of values", by https://visit-sphinx-github-user-manual.readthedocs.io,
// data_into_visit/BOVFormat: lines "NAME: value".
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/foreign/header_format.h"
#include "backends/format/foreign/header_text.h"
#include "backends/format/foreign/known_fields.h"
#include "backends/store/file_name.h"

namespace ndlfs::backends::foreign {
namespace {

using model::BadInput;
using model::Datatype;
using model::Result;
using model::Unsupported;

constexpr size_t kAxes = 3;
constexpr uint64_t kMostComponents = 65'536;

constexpr std::string_view kBovHeeded =
    "DATA_FILE|DATA_SIZE|DATA_FORMAT|DATA_COMPONENTS|DATA_ENDIAN|BYTE_OFFSET|"
    "HAS_BOUNDARY|VARIABLE_PALETTE_MIN|VARIABLE_MIN|VARIABLE_MAX|VARIABLE_PALETTE_MAX|"
    "DATA_BRICKLETS";
constexpr std::string_view kBovDescriptive =
    "TIME|CYCLE|VARIABLE|BRICK_ORIGIN|BRICK_SIZE|DIVIDE_BRICK|CENTERING|"
    "VARIABLE_BRICK_MIN|VARIABLE_BRICK_MAX|BRICK *";
constexpr KnownFields kBovFields = {kBovHeeded, kBovDescriptive};

bool IsBov(std::string_view head) {
  while (const auto line = TakeLine(head)) {
    if (line->starts_with("DATA_FILE:")) return true;
  }
  return false;
}

Result<HeaderFields> ParseBovHeader(std::string_view text, Contents& contents) {
  HeaderFields header;
  while (const auto line = TakeLine(text)) {
    const size_t colon = line->find(':');
    if (line->starts_with('#') || colon == std::string_view::npos) continue;
    const std::string_view name = Trim(line->substr(0, colon));
    const std::string_view value = Trim(line->substr(colon + 1));
    NDLFS_RETURN_IF_ERROR(AddField(kBovFields, name, value, header));
    contents.AddAttribute(TextAttribute(std::string(name), value));
  }
  return header;
}

Result<Datatype> BovType(const HeaderFields& header) {
  const std::string_view endian = header["DATA_ENDIAN"];
  const bool is_big = EqualsIgnoringCase(endian, "BIG");
  if (!is_big && !endian.empty() && !EqualsIgnoringCase(endian, "LITTLE")) {
    return BadInput("DATA_ENDIAN: expected BIG or LITTLE, found {}", model::Quote(endian));
  }
  const auto order = is_big ? model::ByteOrder::kBig : model::ByteOrder::kLittle;
  const std::string_view name = header["DATA_FORMAT"];
  const auto is = [&](std::string_view word) {
    return EqualsIgnoringCase(name, word) ||
           EqualsIgnoringCase(name, std::string(word) + std::string("S"));
  };
  if (is("BYTE")) return Datatype::Integer(1, false);
  if (is("SHORT")) return Datatype::Integer(2, true, order);
  if (is("INT")) return Datatype::Integer(4, true, order);
  if (is("FLOAT") || is("REAL")) return Datatype::Float32(order);
  if (is("DOUBLE")) return Datatype::Float64(order);
  return BadInput("DATA_FORMAT: {}", model::Quote(name));
}

// In the middle of cells, or on the corners of the brick and between.
std::optional<Coordinates> Along(double origin, double size, uint64_t count, bool is_zonal) {
  const double intervals = static_cast<double>(count) - (is_zonal ? 0 : 1);
  const double step = size / intervals;
  if (!std::isfinite(step) || step == 0) return std::nullopt;
  return Coordinates{is_zonal ? origin + step / 2 : origin, step};
}

Result<std::vector<Axis>> BovAxes(const HeaderFields& header) {
  constexpr std::array<std::string_view, kAxes> kNames = {"x", "y", "z"};
  const auto counts = ParseCounts(header["DATA_SIZE"]);
  if (!counts || counts->empty() || counts->size() > kAxes) {
    return BadInput("DATA_SIZE: {}", model::Quote(header["DATA_SIZE"]));
  }
  const auto origin = ParseReals(header["BRICK_ORIGIN"]);
  const auto size = ParseReals(header["BRICK_SIZE"]);
  const bool is_placed = size && size->size() >= counts->size();
  const bool is_zonal = !EqualsIgnoringCase(header["CENTERING"], "nodal");
  std::vector<Axis> axes;
  for (size_t d = counts->size(); d-- > 0;) {
    Axis axis{std::string(kNames[d]), (*counts)[d]};
    const double first = origin && origin->size() > d ? (*origin)[d] : 0;
    if (is_placed) axis.coordinates = Along(first, (*size)[d], axis.size, is_zonal);
    axes.push_back(std::move(axis));
  }
  if (!header.Has("DATA_COMPONENTS")) return axes;
  const auto components = ParseCount(header["DATA_COMPONENTS"]);
  if (!components || *components == 0 || *components > kMostComponents) {
    return BadInput("DATA_COMPONENTS: {}", model::Quote(header["DATA_COMPONENTS"]));
  }
  if (*components > 1) axes.push_back({"component", *components});
  return axes;
}

// VisIt takes bytes for parts of a range, if the header has one.
void AddBovScale(const HeaderFields& header, DescribedArray& array) {
  const auto number = [&](std::string_view name, std::string_view other, double otherwise) {
    const auto text = header.Has(name) ? header[name] : header[other];
    return text.empty() ? otherwise : ParseReal(text).value_or(std::nan(""));
  };
  const bool has_range = header.Has("VARIABLE_MIN") || header.Has("VARIABLE_MAX") ||
                         header.Has("VARIABLE_PALETTE_MIN") ||
                         header.Has("VARIABLE_PALETTE_MAX");
  const double low = number("VARIABLE_MIN", "VARIABLE_PALETTE_MIN", 0);
  const double high = number("VARIABLE_MAX", "VARIABLE_PALETTE_MAX", 1);
  const bool is_byte = array.stored == Datatype::Integer(1, false);
  if (!has_range || !is_byte || !std::isfinite(low) || !std::isfinite(high)) return;
  constexpr double kMostOfByte = 255;
  array.attributes.push_back(RealAttribute("scale_factor", (high - low) / kMostOfByte));
  array.attributes.push_back(RealAttribute("add_offset", low));
}

Result<std::shared_ptr<const ArraySource>> OpenData(const HeaderFields& header,
                                                    const DescribedArray& array,
                                                    const HeaderFile& file,
                                                    Contents& contents) {
  const std::string_view name = header["DATA_FILE"];
  // A file that is one brick may be divided for work in parallel.
  const bool is_divided = header.Has("DATA_BRICKLETS") &&
                          !EqualsIgnoringCase(header["DIVIDE_BRICK"], "true") &&
                          header["DATA_BRICKLETS"] != header["DATA_SIZE"];
  if (name.find('%') != std::string_view::npos || is_divided) {
    return Unsupported("DATA_FILE: bricks in several files or pieces");
  }
  if (EqualsIgnoringCase(header["HAS_BOUNDARY"], "true")) {
    return Unsupported("HAS_BOUNDARY: bricks that overlap");
  }
  uint64_t offset = 0;
  if (header.Has("BYTE_OFFSET")) {
    const auto found = ParseCount(header["BYTE_OFFSET"]);
    if (!found) return BadInput("BYTE_OFFSET: {}", model::Quote(header["BYTE_OFFSET"]));
    offset = *found;
  }
  NDLFS_TRY(const DataFile data, OpenDataFile(file, name, contents));
  if (!HasExtension(name, ".gz")) return MakeFileSource(array, data, offset);
  return MakeInflatedSource(array, data, 0, ByteRange::kToEnd, offset);
}

Result<void> ReadBov(const HeaderFile& file, Contents& contents) {
  NDLFS_TRY(const std::string text, ReadHeaderText(*file.store));
  NDLFS_TRY(const HeaderFields header, ParseBovHeader(text, contents));
  DescribedArray array;
  const std::string_view name = header["VARIABLE"];
  array.name = name.empty() ? ArrayNameOf(file.path) : std::string(name);
  NDLFS_TRY(array.stored, BovType(header));
  NDLFS_TRY(array.axes, BovAxes(header));
  AddBovScale(header, array);
  return contents.AddArray(array, OpenData(header, array, file, contents));
}

}  // namespace

const HeaderReader kBov = {
    .name = "BOV", .extensions = {".bov"}, .is_header = &IsBov, .read = &ReadBov};

}  // namespace ndlfs::backends::foreign
