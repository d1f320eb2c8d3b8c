// SPDX-License-Identifier: MIT
//
// MRC2014 (Cheng et al. 2015, J. Struct. Biol. 192, 146) and the maps of CCP4: a header of 1024
// bytes, an extended header, and elements whose columns vary fastest.
#include "backends/format/mrc/mrc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/load_number.h"
#include "backends/format/foreign/contents.h"
#include "backends/format/foreign/data_files.h"
#include "backends/format/foreign/header_format.h"
#include "backends/format/foreign/header_text.h"
#include "backends/store/zip/inflated_store.h"
#include "model/base64.h"

namespace ndlfs::backends {
namespace {

using foreign::Axis;
using foreign::Contents;
using foreign::DataFile;
using foreign::DescribedArray;
using foreign::HeaderFile;
using foreign::HeaderReader;
using model::BadInput;
using model::ByteOrder;
using model::Datatype;
using model::Result;

constexpr size_t kHeaderBytes = 1024;
// Words of 4 bytes, by the numbers that the specification gives them.
constexpr size_t kSize = 1, kMode = 4, kStart = 5, kIntervals = 8, kCell = 11, kAngles = 14,
                 kAxes = 17, kDensity = 20, kSpaceGroup = 23, kExtended = 24, kOrigin = 50,
                 kMap = 53, kMachine = 54, kRms = 55, kLabels = 56, kFirstLabel = 57;
constexpr size_t kLabelBytes = 80, kMostLabels = 10;
constexpr std::string_view kGzip("\x1f\x8b", 2);

class Words {
 public:
  Words(std::string_view header, ByteOrder order) : header_(header), order_(order) {}

  int32_t Integer(size_t word) const {
    return static_cast<int32_t>(LoadNumber(AsBytes(Text(word, 4)), order_));
  }
  double Real(size_t word) const {
    return std::bit_cast<float>(static_cast<uint32_t>(Integer(word)));
  }
  std::string_view Text(size_t word, size_t size) const {
    return header_.substr((word - 1) * 4, size);
  }
  ByteOrder order() const { return order_; }

 private:
  std::string_view header_;
  ByteOrder order_;
};

std::optional<Datatype> TypeOfMode(int32_t mode) {
  switch (mode) {
    case 0:
      return Datatype::Integer(1, true);
    case 1:
      return Datatype::Integer(2, true);
    case 2:
      return Datatype::Float32();
    case 3: {
      const Datatype part = Datatype::Integer(2, true);
      return Datatype::PackedCompound({{"r", part, 0}, {"i", part, 0}});
    }
    case 4:
      return Datatype::Complex(8);
    case 6:
      return Datatype::Integer(2, false);
    case 12:
      return Datatype::Float("float16", 2);
    default:
      return std::nullopt;
  }
}

// Whether IMOD has written bytes without a sign, as its description of the format says
// (bio3d.colorado.edu/imod/doc/mrc_format.txt).
bool HasUnsignedBytes(const Words& words) {
  constexpr size_t kImodStamp = 39, kImodFlags = 40;
  constexpr int32_t kStamp = 1146047817;
  return words.Integer(kImodStamp) == kStamp && (words.Integer(kImodFlags) & 1) == 0;
}

// Whether the header says what a header can say. The words for axes may be 0 where nobody has
// written them, unless nothing else says that this is MRC.
bool IsPlausible(const Words& words, bool must_have_axes) {
  constexpr int32_t kMostExtent = 1 << 24;
  int axes = 0;
  bool are_sizes = true;
  for (size_t i = 0; i < 3; ++i) {
    const int32_t size = words.Integer(kSize + i);
    const int32_t axis = words.Integer(kAxes + i);
    are_sizes = are_sizes && size > 0 && size <= kMostExtent;
    if (axis >= 0 && axis <= 3) axes |= 1 << axis;
  }
  const bool are_axes = axes == 0b1110 || (!must_have_axes && axes == 0b0001);
  return are_sizes && are_axes && TypeOfMode(words.Integer(kMode)) &&
         words.Integer(kExtended) >= 0;
}

// The byte order by the first byte of the machine stamp, or the one in which the header has
// sense: some programs write no stamp, and old ones no "MAP". nullopt for what is no MRC.
std::optional<ByteOrder> OrderOf(std::string_view head) {
  if (head.size() < kMachine * 4) return std::nullopt;
  const bool has_map = head.substr((kMap - 1) * 4, 4) == "MAP ";
  const char stamp = head[(kMachine - 1) * 4];
  if (has_map && stamp == 0x44) return ByteOrder::kLittle;
  if (has_map && stamp == 0x11) return ByteOrder::kBig;
  for (const ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    if (IsPlausible(Words(head, order), !has_map)) return order;
  }
  return std::nullopt;
}

bool IsMrc(std::string_view head) {
  const auto order = OrderOf(head);
  if (!order) return false;
  const Words words(head, *order);
  return words.Integer(kSize) > 0 && words.Integer(kSize + 1) > 0 &&
         words.Integer(kSize + 2) > 0;
}

// The names of the axes along sections, rows and columns, and which of x, y and z they are.
Result<std::array<size_t, 3>> AxesOf(const Words& words) {
  std::array<size_t, 3> axes{};  // of columns, rows and sections
  int seen = 0;
  for (size_t i = 0; i < 3; ++i) {
    const int32_t axis = words.Integer(kAxes + i);
    if (axis >= 1 && axis <= 3) seen |= 1 << axis;
    axes[i] = static_cast<size_t>(axis - 1);
  }
  if (seen == 0b1110) return axes;
  const bool is_empty = words.Integer(kAxes) == 0 && words.Integer(kAxes + 1) == 0 &&
                        words.Integer(kAxes + 2) == 0;
  if (is_empty) return std::array<size_t, 3>{0, 1, 2};
  return BadInput("MAPC, MAPR, MAPS: {}, {}, {} are no axes", words.Integer(kAxes),
                  words.Integer(kAxes + 1), words.Integer(kAxes + 2));
}

// The place of the elements along an axis, in angstroms: the origin, or where none is told, the
// number of the first element times the distance.
std::optional<foreign::Coordinates> CoordinatesOf(const Words& words, size_t file_axis,
                                                  size_t axis) {
  // In a cell that is not right-angled, no axis has coordinates of its own.
  for (size_t i = 0; i < 3; ++i) {
    const double angle = words.Real(kAngles + i);
    if (angle != 0 && !(std::abs(angle - 90) < 1e-3)) return std::nullopt;
  }
  const int32_t intervals = words.Integer(kIntervals + axis);
  const double step = intervals > 0 ? words.Real(kCell + axis) / intervals : 0;
  if (!std::isfinite(step) || !(step > 0)) return std::nullopt;
  const bool has_origin = std::ranges::any_of(
      std::array{0, 1, 2}, [&](int i) { return words.Real(kOrigin + i) != 0; });
  const double first =
      has_origin ? words.Real(kOrigin + axis) : words.Integer(kStart + file_axis) * step;
  if (!std::isfinite(first)) return std::nullopt;
  foreign::Coordinates coordinates;
  coordinates.first = first;
  coordinates.step = step;
  coordinates.attributes = {foreign::TextAttribute("units", "angstrom")};
  return coordinates;
}

Result<std::vector<Axis>> AxesAndSizes(const Words& words) {
  NDLFS_TRY(const auto axes, AxesOf(words));
  constexpr const char* kNames[] = {"x", "y", "z"};
  std::vector<Axis> made;
  for (size_t i = 3; i-- > 0;) {
    const int32_t size = words.Integer(kSize + i);
    if (size <= 0) return BadInput("NX, NY, NZ: {} is no size", size);
    made.push_back(
        {kNames[axes[i]], static_cast<uint64_t>(size), CoordinatesOf(words, i, axes[i])});
  }
  const int32_t group = words.Integer(kSpaceGroup);
  if (group == 0 && made[0].size == 1) {  // one image
    made.erase(made.begin());
  } else if (group == 0) {  // images, whose distance means nothing
    made[0] = {"image", made[0].size, std::nullopt};
  } else if (group >= 401 && group <= 630) {
    // Volumes of MZ sections each.
    const int32_t sections = words.Integer(kIntervals + 2);
    if (sections <= 0 || made[0].size % static_cast<uint64_t>(sections) != 0) {
      return BadInput("MZ: {} sections of {} are no whole number of volumes", made[0].size,
                      sections);
    }
    const uint64_t volumes = made[0].size / static_cast<uint64_t>(sections);
    made[0].size = static_cast<uint64_t>(sections);
    made.insert(made.begin(), Axis{"volume", volumes, std::nullopt});
  }
  return made;
}

// The header in little-endian order, for views that write it again. Keeps only the fields of
// the specification if the header is big-endian.
std::string LittleEndianHeader(const Words& words) {
  constexpr size_t kVersion = 28, kExtraType = 27;
  std::string header(words.Text(1, kHeaderBytes));
  if (words.order() == ByteOrder::kLittle) return header;
  std::fill_n(header.begin(), (kFirstLabel - 1) * 4, '\0');
  const auto swap = [&](size_t word) {
    for (size_t i = 0; i < 4; ++i) {
      header[(word - 1) * 4 + i] = words.Text(word, 4)[3 - i];
    }
  };
  const auto copy = [&](size_t word, std::string_view text) {
    header.replace((word - 1) * 4, text.size(), text);
  };
  for (size_t word = kSize; word <= kExtended; ++word) swap(word);
  for (const size_t word : {kVersion, kOrigin, kOrigin + 1, kOrigin + 2, kRms, kLabels}) {
    swap(word);
  }
  copy(kExtraType, words.Text(kExtraType, 4));
  copy(kMap, "MAP DD");
  return header;
}

void AddAttributes(const Words& words, Contents& contents) {
  const auto add_reals = [&](const char* name, size_t word, size_t count) {
    std::vector<double> numbers;
    for (size_t i = 0; i < count; ++i) numbers.push_back(words.Real(word + i));
    contents.AddAttribute(count == 1 ? foreign::RealAttribute(name, numbers[0])
                                     : foreign::RealsAttribute(name, numbers));
  };
  contents.AddAttribute(foreign::IntegerAttribute("MODE", words.Integer(kMode)));
  contents.AddAttribute(foreign::IntegerAttribute("ISPG", words.Integer(kSpaceGroup)));
  add_reals("CELLA", kCell, 3);
  add_reals("CELLB", kAngles, 3);
  add_reals("ORIGIN", kOrigin, 3);
  add_reals("DMIN", kDensity, 1);
  add_reals("DMAX", kDensity + 1, 1);
  add_reals("DMEAN", kDensity + 2, 1);
  add_reals("RMS", kRms, 1);
  const std::string header = LittleEndianHeader(words);
  contents.AddAttribute(
      foreign::TextAttribute("HEADER", model::EncodeBase64(std::as_bytes(std::span(header)))));
  const auto labels = std::clamp<int32_t>(words.Integer(kLabels), 0, kMostLabels);
  for (size_t i = 0; i < static_cast<size_t>(labels); ++i) {
    std::string_view text = words.Text(kFirstLabel + i * kLabelBytes / 4, kLabelBytes);
    text = text.substr(0, text.find('\0'));
    while (text.ends_with(' ')) text.remove_suffix(1);
    contents.AddAttribute(foreign::TextAttribute(fmt::format("LABEL{}", i + 1), text));
  }
}

Result<void> ReadMrc(const HeaderFile& file, Contents& contents) {
  NDLFS_TRY(std::string head, foreign::ReadBeginning(*file.store, kHeaderBytes));
  const bool is_compressed = head.starts_with(kGzip);
  if (is_compressed) {
    NDLFS_TRY(const Bytes inflated, InflateBeginning(*file.store, {}, kHeaderBytes));
    head = AsText(inflated.span());
  }
  const auto order = OrderOf(head);
  if (!order || head.size() < kHeaderBytes) return model::Corrupt("no header of MRC");
  const Words words(head, *order);
  auto type = TypeOfMode(words.Integer(kMode));
  if (!type) return model::Unsupported("MODE: {} is not supported", words.Integer(kMode));
  if (type->size() == 1 && HasUnsignedBytes(words)) type = Datatype::Integer(1, false);
  const int32_t extended = words.Integer(kExtended);
  if (extended < 0) return BadInput("NSYMBT: {} bytes", extended);
  DescribedArray array;
  array.name = foreign::ArrayNameOf(file.path);
  array.stored = type->WithOrder(*order);
  NDLFS_TRY(array.axes, AxesAndSizes(words));
  AddAttributes(words, contents);
  const uint64_t offset = kHeaderBytes + static_cast<uint64_t>(extended);
  NDLFS_TRY(const DataFile data, foreign::DataInHeader(file));
  return contents.AddArray(array, is_compressed ? foreign::MakeInflatedSource(
                                                      array, data, 0, ByteRange::kToEnd, offset)
                                                : foreign::MakeFileSource(array, data, offset));
}

constexpr HeaderReader kMrc = {.name = "MRC",
                               .extensions = {".mrc", ".map"},
                               .certain_extensions = {".mrc.gz", ".map.gz"},
                               .is_content = &IsMrc,
                               .read = &ReadMrc};

}  // namespace

const Format& MrcFormat() {
  static const foreign::HeaderFormat format(kMrc);
  return format;
}

}  // namespace ndlfs::backends
