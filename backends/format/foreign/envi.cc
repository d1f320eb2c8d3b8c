// SPDX-License-Identifier: MIT
//
// ENVI: a header of text next to a flat file of pixels, by
// https://www.nv5geospatialsoftware.com/docs/ENVIHeaderFiles.html.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/format/foreign/header_format.h"
#include "backends/format/foreign/header_text.h"
#include "backends/format/foreign/known_fields.h"
#include "backends/store/file_name.h"

namespace ndlfs::backends::foreign {
namespace {

using model::BadInput;
using model::Datatype;
using model::Result;

constexpr std::string_view kEnviHeeded =
    "samples|lines|bands|header offset|file type|data type|byte order|interleave|"
    "major frame offsets|minor frame offsets|file compression";
constexpr std::string_view kEnviDescriptive =
    "acquisition time|band names|bbl|class lookup|class names|classes|cloud cover|"
    "complex function|coordinate system string|data gain values|data ignore value|"
    "data offset values|data reflectance gain values|data reflectance offset values|"
    "default bands|default stretch|dem band|dem file|description|fwhm|geo points|"
    "map info|pixel size|product type|projection info|reflectance scale factor|rpc info|"
    "security tag|sensor type|solar irradiance|spectra names|sun azimuth|sun elevation|"
    "timestamp|wavelength|wavelength units|x start|y start|z plot average|z plot range|"
    "z plot titles|igm file|glt file|raw data file|wavelength data file|subset procedure";

// Whether an unknown field may matter. Programs write fields of their own; but the fields of
// ENVI's "read procedures" compute the elements.
bool MayMatterInEnvi(std::string_view name) {
  return SpeaksOfElements(name) || EqualsIgnoringCase(name, "read procedures");
}

constexpr KnownFields kEnviFields = {kEnviHeeded, kEnviDescriptive, &MayMatterInEnvi};

bool IsEnvi(std::string_view head) {
  const auto line = TakeLine(head);
  return line && Trim(*line) == "ENVI";
}

struct EnviHeader {
  HeaderFields fields;
  std::vector<model::Attribute> attributes;

  std::string_view operator[](std::string_view name) const { return fields[name]; }
};

// Values in braces may have several lines.
std::string TakeValue(std::string_view first, std::string_view& rest) {
  std::string value(Trim(first));
  if (!value.starts_with('{')) return value;
  while (value.find('}') == std::string::npos) {
    const auto line = TakeLine(rest);
    if (!line) break;
    value += ' ';
    value += Trim(*line);
  }
  return value;
}

Result<EnviHeader> ParseEnviHeader(std::string_view text) {
  EnviHeader header;
  TakeLine(text);
  while (const auto line = TakeLine(text)) {
    const size_t equals = line->find('=');
    if (line->starts_with(';') || equals == std::string_view::npos) continue;
    const std::string_view name = Trim(line->substr(0, equals));
    const std::string value = TakeValue(line->substr(equals + 1), text);
    NDLFS_RETURN_IF_ERROR(AddField(kEnviFields, name, value, header.fields));
    NDLFS_RETURN_IF_ERROR(AddFieldAttribute(name, value, header.attributes));
  }
  return header;
}

// The items of a list in braces, without blanks around them.
std::vector<std::string_view> ItemsOf(std::string_view list) {
  std::vector<std::string_view> items;
  if (!list.starts_with('{')) return items;
  list.remove_prefix(1);
  list = list.substr(0, list.find('}'));
  while (!list.empty()) {
    const size_t comma = list.find(',');
    items.push_back(Trim(list.substr(0, comma)));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return items;
}

Result<uint64_t> CountOf(const EnviHeader& header, std::string_view name) {
  const auto count = ParseCount(header[name]);
  if (count && *count != 0) return *count;
  return BadInput("{}: {}", name, model::Quote(header[name]));
}

Result<Datatype> StoredType(const EnviHeader& header) {
  const std::string_view text = header["byte order"];
  if (!text.empty() && text != "0" && text != "1") {
    return BadInput("byte order: expected 0 or 1, found {}", model::Quote(text));
  }
  const auto order = text == "1" ? model::ByteOrder::kBig : model::ByteOrder::kLittle;
  switch (ParseCount(header["data type"]).value_or(0)) {
    case 1:
      return Datatype::Integer(1, false);
    case 2:
      return Datatype::Integer(2, true, order);
    case 3:
      return Datatype::Integer(4, true, order);
    case 4:
      return Datatype::Float32(order);
    case 5:
      return Datatype::Float64(order);
    case 6:
      return Datatype::Complex(8, order);
    case 9:
      return Datatype::Complex(16, order);
    case 12:
      return Datatype::Integer(2, false, order);
    case 13:
      return Datatype::Integer(4, false, order);
    case 14:
      return Datatype::Integer(8, true, order);
    case 15:
      return Datatype::Integer(8, false, order);
    default:
      return BadInput("data type: {}", model::Quote(header["data type"]));
  }
}

// `map info`: where a pixel is on the map, and the size of pixels. Pixel (1, 1) is the outer
// corner of the first one.
void PlaceOnMap(const EnviHeader& header, Axis& line, Axis& sample) {
  const auto items = ItemsOf(header["map info"]);
  constexpr size_t kNumbers = 6;
  std::array<double, kNumbers> numbers{};
  if (items.size() <= kNumbers) return;
  for (size_t i = 0; i < kNumbers; ++i) {
    const auto number = ParseReal(items[i + 1]);
    if (!number || !std::isfinite(*number)) return;
    numbers[i] = *number;
  }
  bool is_metres = false;
  for (const std::string_view item : items) {
    if (StartsIgnoringCase(item, "rotation")) {
      const auto angle = ParseReal(Trim(item.substr(item.find('=') + 1)));
      if (angle != 0.0) return;
    }
    is_metres = is_metres || EqualsIgnoringCase(item, "units=Meters");
  }
  const auto [x, y, easting, northing, dx, dy] = numbers;
  if (dx == 0 || dy == 0) return;
  const bool is_geographic = StartsIgnoringCase(items[0], "Geographic");
  sample.name = is_geographic ? "lon" : "x";
  line.name = is_geographic ? "lat" : "y";
  sample.coordinates = Coordinates{easting + (1.5 - x) * dx, dx};
  line.coordinates = Coordinates{northing - (1.5 - y) * dy, -dy};
  if (is_geographic || is_metres) {
    sample.coordinates->attributes.push_back(
        TextAttribute("units", is_geographic ? "degrees_east" : "m"));
    line.coordinates->attributes.push_back(
        TextAttribute("units", is_geographic ? "degrees_north" : "m"));
  }
}

Axis BandsOf(const EnviHeader& header, uint64_t count) {
  Axis band{"band", count};
  const auto items = ItemsOf(header["wavelength"]);
  if (items.size() != count) return band;
  std::vector<double> numbers;
  for (const std::string_view item : items) {
    const auto number = ParseReal(item);
    if (!number) return band;
    numbers.push_back(*number);
  }
  Coordinates wavelengths;
  wavelengths.values = std::make_shared<const std::vector<double>>(std::move(numbers));
  const std::string_view units = header["wavelength units"];
  if (!units.empty()) wavelengths.attributes.push_back(TextAttribute("units", units));
  band.name = "wavelength";
  band.coordinates = std::move(wavelengths);
  return band;
}

// In the order of the file. A single band is no dimension.
Result<std::vector<Axis>> AxesOf(const EnviHeader& header) {
  Axis line{"line"};
  Axis sample{"sample"};
  NDLFS_TRY(sample.size, CountOf(header, "samples"));
  NDLFS_TRY(line.size, CountOf(header, "lines"));
  uint64_t bands = 1;
  if (header.fields.Has("bands")) {
    NDLFS_TRY(bands, CountOf(header, "bands"));
  }
  PlaceOnMap(header, line, sample);
  if (bands == 1) return std::vector<Axis>{std::move(line), std::move(sample)};
  Axis band = BandsOf(header, bands);
  const std::string interleave = Lowercase(header["interleave"]);
  if (interleave == "bsq" || interleave.empty()) return std::vector<Axis>{band, line, sample};
  if (interleave == "bil") return std::vector<Axis>{line, band, sample};
  if (interleave == "bip") return std::vector<Axis>{line, sample, band};
  return BadInput("interleave: {}", model::Quote(header["interleave"]));
}

// The numbers that a field has for the bands, in braces or without: just one if all bands have
// the same. nullopt, and a note of `array`, if there are others.
std::optional<std::vector<double>> FactorsOfBands(const EnviHeader& header,
                                                  std::string_view field, double neutral,
                                                  DescribedArray& array) {
  const std::string_view text = header[field];
  if (text.empty()) return std::vector<double>{neutral};
  auto items = ItemsOf(text);
  if (!text.starts_with('{')) items = {text};
  std::vector<double> factors;
  for (const std::string_view item : items) {
    const auto number = ParseReal(item);
    if (number && std::isfinite(*number)) factors.push_back(*number);
  }
  const bool is_for_bands =
      items.size() == 1 || items.size() == ParseCount(header["bands"]).value_or(1);
  if (is_for_bands && !factors.empty() && factors.size() == items.size()) {
    const auto is_first = [&](double factor) { return factor == factors[0]; };
    if (std::ranges::all_of(factors, is_first)) factors.resize(1);
    return factors;
  }
  array.notes.push_back(
      fmt::format("{}: not one number for each band: gain and offset are not applied", field));
  return std::nullopt;
}

void AddFactors(const EnviHeader& header, DescribedArray& array) {
  auto gains = FactorsOfBands(header, "data gain values", 1, array);
  auto offsets = FactorsOfBands(header, "data offset values", 0, array);
  if (!gains || !offsets) return;
  const size_t count = std::max(gains->size(), offsets->size());
  if (count > 1) {
    gains->resize(count, gains->front());
    offsets->resize(count, offsets->front());
    array.attributes.push_back(RealsAttribute("band_scale", *gains));
    array.attributes.push_back(RealsAttribute("band_offset", *offsets));
    return;
  }
  if (gains->front() != 1) {
    array.attributes.push_back(RealAttribute("scale_factor", gains->front()));
  }
  if (offsets->front() != 0) {
    array.attributes.push_back(RealAttribute("add_offset", offsets->front()));
  }
}

// The code of a UTM zone on WGS 84: "{UTM, 1, 1, x, y, dx, dy, 33, South, WGS-84}". Other
// systems are in `coordinate system string`.
std::optional<std::string> CodeOfUtm(const EnviHeader& header) {
  constexpr size_t kZone = 7;
  const auto items = ItemsOf(header["map info"]);
  if (items.size() < kZone + 3 || !EqualsIgnoringCase(items[0], "UTM")) return std::nullopt;
  const auto zone = ParseCount(items[kZone]);
  const bool is_south = EqualsIgnoringCase(items[kZone + 1], "South");
  const bool is_north = EqualsIgnoringCase(items[kZone + 1], "North");
  if (!zone || *zone < 1 || *zone > 60 || is_south == is_north) return std::nullopt;
  if (!EqualsIgnoringCase(items[kZone + 2], "WGS-84")) return std::nullopt;
  for (const std::string_view item : items) {
    const bool are_others =
        StartsIgnoringCase(item, "units") && !EqualsIgnoringCase(item, "units=Meters");
    if (are_others) return std::nullopt;
  }
  return fmt::format("EPSG:{}", (is_south ? 32700 : 32600) + *zone);
}

// The system that x and y are of.
void AddReferenceSystem(const EnviHeader& header, DescribedArray& array) {
  std::string_view text = header["coordinate system string"];
  if (text.starts_with('{') && text.ends_with('}'))
    text = Trim(text.substr(1, text.size() - 2));
  if (!text.empty()) {
    array.attributes.push_back(TextAttribute("crs_wkt", text));
  } else if (const auto code = CodeOfUtm(header)) {
    array.attributes.push_back(TextAttribute("proj:code", *code));
  }
}

Result<DescribedArray> DescribeArray(const EnviHeader& header, std::string name) {
  DescribedArray array;
  array.name = std::move(name);
  NDLFS_TRY(array.stored, StoredType(header));
  NDLFS_TRY(array.axes, AxesOf(header));
  if (const auto missing = ParseInteger(header["data ignore value"])) {
    array.fill = model::Value(*missing);
  } else if (const auto real = ParseReal(header["data ignore value"])) {
    array.fill = model::Value(*real);
  }
  AddFactors(header, array);
  AddReferenceSystem(header, array);
  return array;
}

// The bytes before and behind each frame: "{8, 4}", or the one number 0.
struct FrameOffsets {
  uint64_t before = 0;
  uint64_t behind = 0;
  bool any() const { return before != 0 || behind != 0; }
};

Result<FrameOffsets> FrameOffsetsOf(const EnviHeader& header, std::string_view name) {
  std::string_view text = header[name];
  if (text.empty()) return FrameOffsets();
  auto items = ItemsOf(text);
  if (!text.starts_with('{')) items = {text};
  const auto before = items.empty() ? std::nullopt : ParseCount(items[0]);
  const auto behind = items.size() == 2 ? ParseCount(items[1]) : std::nullopt;
  if (before && behind) return FrameOffsets{*before, *behind};
  if (before && items.size() == 1 && *before == 0) return FrameOffsets();
  return BadInput("{}: expected two numbers, found {}", name, model::Quote(text));
}

// Where elements lie between bytes that belong to frames. The slowest dimension of the file
// consists of major frames and the next one of minor frames, also where a single band is no
// dimension of the array.
Result<PartsLayout> LayoutInFrames(const EnviHeader& header, const DescribedArray& array,
                                   uint64_t offset) {
  NDLFS_TRY(const FrameOffsets major, FrameOffsetsOf(header, "major frame offsets"));
  NDLFS_TRY(const FrameOffsets minor, FrameOffsetsOf(header, "minor frame offsets"));
  PartsLayout layout = LayoutOf(array);
  layout.offset = offset;
  if (!major.any() && !minor.any()) return layout;
  std::vector<uint64_t> shape = array.shape();
  const std::string interleave = Lowercase(header["interleave"]);
  const size_t band = interleave == "bil" ? 1 : interleave == "bip" ? 2 : 0;
  const bool is_single = shape.size() == 2;
  if (is_single) shape.insert(shape.begin() + static_cast<ptrdiff_t>(band), 1);
  std::array<uint64_t, 3> strides = {0, 0, array.stored.size()};
  const auto frame = [](uint64_t count, uint64_t bytes, const FrameOffsets& around) {
    auto size = CheckedMultiply(count, bytes);
    if (size) size = CheckedAdd(*size, around.before);
    return size ? CheckedAdd(*size, around.behind) : std::nullopt;
  };
  const auto inner = frame(shape[2], strides[2], minor);
  const auto outer = inner ? frame(shape[1], *inner, major) : std::nullopt;
  auto begin = CheckedAdd(offset, major.before);
  if (begin) begin = CheckedAdd(*begin, minor.before);
  if (!outer || !begin) return model::Limit("more data than any file has");
  strides[0] = *outer;
  strides[1] = *inner;
  layout.offset = *begin;
  layout.strides.assign(strides.begin(), strides.end());
  if (is_single) layout.strides.erase(layout.strides.begin() + static_cast<ptrdiff_t>(band));
  return layout;
}

// The name of the data file: that of the header without ".hdr", or with another extension.
Result<std::string> FindData(const HeaderFile& file, Contents& contents) {
  const std::string_view stem = StemOf(FileNameOf(file.path));
  for (const std::string_view extension :
       {"", ".dat", ".img", ".raw", ".bsq", ".bil", ".bip", ".bin", ".DAT", ".IMG", ".RAW"}) {
    std::string name = std::string(stem) + std::string(extension);
    const auto path = file.source->Resolve(file.path, name);
    if (!path) continue;
    NDLFS_TRY(const auto status, file.source->Stat(*path, Follow::kYes), *path);
    if (status && status->is_file()) return name;
    contents.Watch(file.source->OpenFile(*path), "");  // it may come
  }
  return model::Corrupt("there is no data file {}, nor one with .dat, .img, .raw or .bsq",
                        model::Quote(stem));
}

Result<std::shared_ptr<const ArraySource>> OpenData(const EnviHeader& header,
                                                    const DescribedArray& array,
                                                    const HeaderFile& file,
                                                    Contents& contents) {
  uint64_t offset = 0;
  if (header.fields.Has("header offset")) {
    const auto found = ParseCount(header["header offset"]);
    if (!found) return BadInput("header offset: {}", model::Quote(header["header offset"]));
    offset = *found;
  }
  // These have pieces of other files, and no elements.
  const std::string type = Lowercase(header["file type"]);
  if (type.find("meta file") != type.npos || type.find("virtual") != type.npos) {
    return model::Unsupported("file type: {}", model::Quote(header["file type"]));
  }
  NDLFS_TRY(PartsLayout layout, LayoutInFrames(header, array, offset));
  NDLFS_TRY(const std::string name, FindData(file, contents));
  NDLFS_TRY(const DataFile data, OpenDataFile(file, name, contents));
  const std::string_view compression = header["file compression"];
  const bool is_compressed = compression == "1";
  if (!is_compressed && !compression.empty() && compression != "0") {
    return BadInput("file compression: {}", model::Quote(compression));
  }
  if (!layout.strides.empty()) {
    if (is_compressed) return model::Unsupported("frame offsets in compressed data");
    return MakeFileSource(std::move(layout), data);
  }
  if (!is_compressed) return MakeFileSource(array, data, offset);
  return MakeInflatedSource(array, data, 0, ByteRange::kToEnd, offset);
}

Result<void> ReadEnvi(const HeaderFile& file, Contents& contents) {
  NDLFS_TRY(const std::string text, ReadHeaderText(*file.store));
  if (!IsEnvi(text)) return BadInput("it does not begin with ENVI");
  NDLFS_TRY(EnviHeader header, ParseEnviHeader(text));
  NDLFS_TRY(DescribedArray array, DescribeArray(header, ArrayNameOf(file.path)));
  contents.AddAttributes(header.attributes);
  return contents.AddArray(array, OpenData(header, array, file, contents));
}

}  // namespace

const HeaderReader kEnvi = {
    .name = "ENVI", .extensions = {".hdr"}, .is_header = &IsEnvi, .read = &ReadEnvi};

}  // namespace ndlfs::backends::foreign
