// SPDX-License-Identifier: MIT
//
// FITS, by the FITS Standard 4.0: images and binary tables, big-endian, the first axis fastest.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/format/foreign/fits_header.h"
#include "backends/format/foreign/fits_table.h"
#include "backends/format/foreign/fits_tiles.h"
#include "backends/format/foreign/header_format.h"
#include "backends/format/foreign/header_text.h"
#include "backends/format/foreign/known_fields.h"

namespace ndlfs::backends::foreign {
namespace {

using model::BadInput;
using model::ByteOrder;
using model::Datatype;
using model::Result;
using model::Unsupported;

constexpr int64_t kMostFitsAxes = 999;
constexpr int kMostUnits = 10'000;

// A header that somebody printed as text has lines; a card has no line end.
bool IsFits(std::string_view head) {
  return head.starts_with("SIMPLE  = ") && Trim(head.substr(10, 20)).starts_with('T') &&
         head.substr(0, kFitsCard).find_first_of("\r\n") == std::string_view::npos;
}

constexpr std::string_view kFitsHeeded =
    "SIMPLE|XTENSION|BITPIX|NAXIS|NAXIS#|PCOUNT|GCOUNT|GROUPS|BSCALE|BZERO|BLANK|TFIELDS|"
    "TFORM#|TBCOL#|TSCAL#|TZERO#|TNULL#|THEAP|ZIMAGE|ZTABLE|ZCMPTYPE|ZBITPIX|ZNAXIS|"
    "ZNAXIS#|ZTILE#|ZNAME#|ZVAL#|ZMASKCMP|ZQUANTIZ|ZDITHER0|ZSCALE|ZZERO|ZBLANK|TDIM#";
// Parameters of algorithms that compress tiles.
constexpr std::string_view kTileParameters = "BLOCKSIZE|BYTEPIX|NOISEBIT|SCALE|SMOOTH";

// The words of the standard say where elements are, and programs add any others that describe.
bool MayMatterInFits(std::string_view) { return false; }

constexpr KnownFields kFitsFields = {kFitsHeeded, "", &MayMatterInFits};
constexpr KnownFields kFitsTileParameters = {kTileParameters};

// kBadInput if a keyword that says where elements are stands there twice, with two values;
// kUnsupported for a parameter of compressed tiles that is not known.
Result<void> CheckCards(const FitsHeader& header) {
  for (const std::string& keyword : header.contradictions()) {
    if (kFitsFields.Heeds(keyword)) {
      return BadInput("two cards {} that differ", model::Quote(keyword));
    }
  }
  for (int n = 1; n <= 999 && header.Has(fmt::format("ZNAME{}", n)); ++n) {
    NDLFS_RETURN_IF_ERROR(
        CheckField(kFitsTileParameters, header.Text(fmt::format("ZNAME{}", n)), "?"),
        fmt::format("ZNAME{}", n));
  }
  return {};
}

// One header and what it describes: a "header and data unit".
struct Unit {
  FitsHeader header = {};
  int number = 0;     // 0 is the primary one
  uint64_t data = 0;  // offset in the file
};

Result<Datatype> TypeOfBits(std::optional<int64_t> bits) {
  constexpr auto kBig = ByteOrder::kBig;
  switch (bits.value_or(0)) {
    case 8:
      return Datatype::Integer(1, false);
    case 16:
    case 32:
    case 64:
      return Datatype::Integer(static_cast<size_t>(*bits / 8), true, kBig);
    case -32:
      return Datatype::Float32(kBig);
    case -64:
      return Datatype::Float64(kBig);
    default:
      return BadInput("BITPIX is none of 8, 16, 32, 64, -32 and -64");
  }
}

// The extents by `keyword` ("NAXIS") and its numbers, the fastest first.
Result<std::vector<uint64_t>> SizesOf(const FitsHeader& header, std::string_view keyword) {
  const auto count = header.Integer(keyword);
  if (!count || *count < 0 || *count > kMostFitsAxes) {
    return BadInput("{}: expected 0 to {}", keyword, kMostFitsAxes);
  }
  std::vector<uint64_t> sizes;
  for (int64_t n = 1; n <= *count; ++n) {
    const auto size = header.Integer(fmt::format("{}{}", keyword, n));
    if (!size || *size < 0) return BadInput("{}{}: expected a length", keyword, n);
    sizes.push_back(static_cast<uint64_t>(*size));
  }
  return sizes;
}

// The bytes of the data, by section 4.4.1.1.
Result<uint64_t> DataBytes(const FitsHeader& header) {
  NDLFS_TRY(const Datatype type, TypeOfBits(header.Integer("BITPIX")));
  NDLFS_TRY(std::vector<uint64_t> sizes, SizesOf(header, "NAXIS"));
  if (sizes.empty()) return 0;
  const bool is_groups = header.IsTrue("GROUPS") && sizes[0] == 0;
  if (is_groups) sizes.erase(sizes.begin());
  const int64_t parameters = header.Integer("PCOUNT").value_or(0);
  const int64_t groups = header.Integer("GCOUNT").value_or(1);
  if (parameters < 0 || groups < 0) return BadInput("PCOUNT or GCOUNT is below 0");
  auto count = CheckedProduct(sizes);
  if (count) count = CheckedAdd(*count, static_cast<uint64_t>(parameters));
  if (count) count = CheckedMultiply(*count, static_cast<uint64_t>(groups));
  const auto bytes = count ? CheckedMultiply(*count, type.size()) : std::nullopt;
  if (!bytes || *bytes > kMaxViewSize) return model::Limit("more data than any file has");
  return *bytes;
}

// Coordinates along axis `n`, if they are equally far from each other.
std::optional<Coordinates> CoordinatesOf(const FitsHeader& header, size_t n, size_t count) {
  const auto number = [&](const char* keyword) {
    return header.Real(fmt::format("{}{}", keyword, n));
  };
  const std::string type = header.Text(fmt::format("CTYPE{}", n));
  const bool is_projected = type.size() > 4 && type[4] == '-';
  auto step = number("CDELT");
  for (size_t other = 1; other <= std::min<size_t>(count, 9); ++other) {
    for (const char* matrix : {"CD", "PC"}) {
      const auto item = header.Real(fmt::format("{}{}_{}", matrix, n, other));
      const auto mirrored = header.Real(fmt::format("{}{}_{}", matrix, other, n));
      if (other != n && (item.value_or(0) != 0 || mirrored.value_or(0) != 0))
        return std::nullopt;
      if (other != n || !item) continue;
      step = matrix[1] == 'D' ? *item : step.value_or(1) * *item;
    }
  }
  if (is_projected || header.Has("CROTA2") || !step || !number("CRVAL")) return std::nullopt;
  const double first = *number("CRVAL") + (1 - number("CRPIX").value_or(0)) * *step;
  if (!std::isfinite(first) || !std::isfinite(*step) || *step == 0) return std::nullopt;
  Coordinates made{first, *step};
  const std::string unit = header.Text(fmt::format("CUNIT{}", n));
  if (!unit.empty()) made.attributes.push_back(TextAttribute("units", unit));
  return made;
}

// The slowest first.
std::vector<Axis> AxesOf(const FitsHeader& header, const std::vector<uint64_t>& sizes) {
  std::vector<Axis> axes;
  for (size_t n = 1; n <= sizes.size(); ++n) {
    Axis axis{header.Text(fmt::format("CTYPE{}", n)), sizes[n - 1],
              CoordinatesOf(header, n, sizes.size())};
    if (axis.name.empty() && axis.coordinates) axis.name = fmt::format("axis{}", n);
    axes.insert(axes.begin(), std::move(axis));
  }
  return axes;
}

// BSCALE and BZERO: integers of the other sign, or numbers that are scaled.
Result<void> AddScale(const FitsHeader& header, DescribedArray& image) {
  const double scale = header.Has("BSCALE") ? header.Real("BSCALE").value_or(1) : 1;
  const double zero = header.Real("BZERO").value_or(0);
  const size_t size = image.stored.size();
  const bool is_integer = image.stored.kind() == Datatype::Kind::kInteger;
  const double half = size == 1 ? -128.0 : std::exp2(8.0 * static_cast<double>(size) - 1);
  const auto blank = header.Integer("BLANK");
  if (is_integer && scale == 1 && zero == half) {
    image.dtype = Datatype::Integer(size, size == 1);
    NDLFS_TRY(image.codec, MakeMovedZero(image.stored, {size - 1}));
    // Modulo 2^64, as the elements of 8 bytes are.
    const auto moved = static_cast<model::WideInt>(half) + blank.value_or(0);
    if (blank) image.fill = model::Value(moved);
    return {};
  }
  if (is_integer && blank) image.fill = model::Value(*blank);
  if (scale == 1 && zero == 0) return {};
  image.attributes.push_back(RealAttribute("scale_factor", scale));
  image.attributes.push_back(RealAttribute("add_offset", zero));
  return {};
}

Result<DescribedArray> DescribeImage(const FitsHeader& header, std::string_view bits,
                                     std::string_view sizes, std::string name) {
  DescribedArray image;
  image.name = std::move(name);
  NDLFS_TRY(image.stored, TypeOfBits(header.Integer(bits)));
  NDLFS_TRY(const auto lengths, SizesOf(header, sizes));
  image.axes = AxesOf(header, lengths);
  NDLFS_RETURN_IF_ERROR(AddScale(header, image));
  const std::string unit = header.Text("BUNIT");
  if (!unit.empty()) image.attributes.push_back(TextAttribute("units", unit));
  return image;
}

std::string NameOf(const Unit& unit, const HeaderFile& file) {
  const std::string name = unit.header.Text("EXTNAME");
  if (!name.empty()) return name;
  return unit.number == 0 ? ArrayNameOf(file.path) : fmt::format("hdu{}", unit.number);
}

void AppendAttributes(const FitsHeader& header, DescribedArray& array) {
  for (auto& attribute : header.MakeAttributes())
    array.attributes.push_back(std::move(attribute));
}

// Adds an array that can be described but not read.
Result<void> AddRefused(DescribedArray array, const FitsHeader& header, model::Failure reason,
                        Contents& contents) {
  AppendAttributes(header, array);
  return contents.AddArray(array, std::move(reason));
}

Result<void> AddArray(DescribedArray array, const Unit& unit, const DataFile& file,
                      const OpenOptions& options, Contents& contents) {
  Result<std::shared_ptr<const ArraySource>> source = nullptr;
  if (array.codec && array.stored.size() > options.max_chunk_size) {
    source = model::Limit("elements of {} bytes", array.stored.size());
  } else {
    source = MakeFileSource(array, file, unit.data);
  }
  AppendAttributes(unit.header, array);
  return contents.AddArray(array, std::move(source));
}

// An image in the rows of a table.
Result<void> AddCompressed(const Unit& unit, std::string name, const HeaderFile& file,
                           const DataFile& data, Contents& contents) {
  auto image = DescribeImage(unit.header, "ZBITPIX", "ZNAXIS", name);
  if (!image) {
    return AddRefused({.name = std::move(name), .stored = Datatype::Opaque(1)}, unit.header,
                      model::Propagate(std::move(image).error()), contents);
  }
  auto source = MakeTileSource(unit.header, *image, data, unit.data, file.options);
  AppendAttributes(unit.header, *image);
  return contents.AddArray(*image, std::move(source));
}

// The rows of a table.
Result<void> AddTable(const Unit& unit, std::string name, bool is_ascii, const HeaderFile& file,
                      const DataFile& data, Contents& contents) {
  const FitsHeader& header = unit.header;
  Result<FitsTable> table = Unsupported("a table that is compressed in tiles");
  if (!header.IsTrue("ZTABLE")) {
    table = DescribeTable(header, is_ascii, data, unit.data, file.options);
  }
  if (!table) {
    return AddRefused({.name = std::move(name), .stored = Datatype::Opaque(1)}, header,
                      model::Propagate(std::move(table).error()), contents);
  }
  table->array.name = std::move(name);
  const bool is_open = table->source && *table->source == nullptr;
  if (is_open) return AddArray(std::move(table->array), unit, data, file.options, contents);
  AppendAttributes(header, table->array);
  return contents.AddArray(table->array, std::move(table->source));
}

Result<void> AddUnit(const Unit& unit, const HeaderFile& file, const DataFile& data,
                     Contents& contents) {
  const FitsHeader& header = unit.header;
  std::string name = NameOf(unit, file);
  const std::string kind = unit.number == 0 ? "IMAGE" : header.Text("XTENSION");
  const auto checked = CheckCards(header);
  if (!checked) {
    return AddRefused({.name = std::move(name), .stored = Datatype::Opaque(1)}, header,
                      model::Propagate(checked.error()), contents);
  }
  if (header.IsTrue("ZIMAGE"))
    return AddCompressed(unit, std::move(name), file, data, contents);
  if (kind == "IMAGE" && header.Integer("NAXIS") == 0) {
    contents.AddAttributes(header.MakeAttributes());
    return {};
  }
  if (kind == "IMAGE" && !header.IsTrue("GROUPS")) {
    NDLFS_TRY(auto image, DescribeImage(header, "BITPIX", "NAXIS", std::move(name)));
    return AddArray(std::move(image), unit, data, file.options, contents);
  }
  if (kind == "BINTABLE" || kind == "TABLE") {
    return AddTable(unit, std::move(name), kind == "TABLE", file, data, contents);
  }
  const std::string reason =
      kind == "IMAGE" ? "random groups" : fmt::format("an extension {}", model::Quote(kind));
  return AddRefused({.name = std::move(name), .stored = Datatype::Opaque(1)}, header,
                    Unsupported("{}", reason), contents);
}

bool IsExtension(const Store& file, uint64_t offset) {
  constexpr std::string_view kBegin = "XTENSION=";
  const auto bytes = file.Read("", kBegin.size(), {offset, kBegin.size()});
  return bytes && *bytes && AsText((*bytes)->span()) == kBegin;
}

Result<void> ReadFits(const HeaderFile& file, Contents& contents) {
  NDLFS_TRY(const std::string head, ReadBeginning(*file.store, kFitsCard));
  if (!IsFits(head)) return BadInput("it does not begin with SIMPLE = T");
  NDLFS_TRY(const DataFile data, DataInHeader(file));
  uint64_t offset = 0;
  for (int number = 0; number < kMostUnits; ++number) {
    const std::string where = fmt::format("HDU {}", number);
    Unit unit{.number = number};
    NDLFS_TRY(unit.header, FitsHeader::Read(*file.store, offset), where);
    unit.data = offset + unit.header.bytes();
    NDLFS_TRY(const uint64_t bytes, DataBytes(unit.header), where);
    NDLFS_RETURN_IF_ERROR(AddUnit(unit, file, data, contents), where);
    const uint64_t end = unit.data + (bytes + kFitsBlock - 1) / kFitsBlock * kFitsBlock;
    if (end >= data.size) return {};
    if (!IsExtension(*file.store, end)) {
      contents.AddNote(fmt::format(
          "what follows byte {} is no extension and is left out; FITS allows such records",
          end));
      return {};
    }
    offset = end;
  }
  return model::Limit("more than {} units", kMostUnits);
}

}  // namespace

const HeaderReader kFits = {.name = "FITS",
                            .extensions = {".fit", ".fts"},
                            .certain_extensions = {".fits"},
                            .is_content = &IsFits,
                            .read = &ReadFits};

}  // namespace ndlfs::backends::foreign
