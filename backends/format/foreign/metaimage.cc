// SPDX-License-Identifier: MIT
//
// MetaImage, as MetaIO writes and reads it: lines "name = value", the last of which is
// ElementDataFile.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/format/foreign/header_format.h"
#include "backends/format/foreign/header_text.h"
#include "backends/format/foreign/known_fields.h"
#include "backends/format/foreign/text_source.h"

namespace ndlfs::backends::foreign {
namespace {

using model::BadInput;
using model::Datatype;
using model::Result;
using model::Unsupported;

constexpr size_t kMostMetaImageAxes = 10;
constexpr uint64_t kMostChannels = 65'536;

constexpr std::string_view kMetaHeeded =
    "ObjectType|NDims|DimSize|HeaderSize|CompressedData|CompressedDataSize|BinaryData|"
    "BinaryDataByteOrderMSB|ElementByteOrderMSB|ElementType|ElementNumberOfChannels|"
    "ElementToIntensityFunctionSlope|ElementToIntensityFunctionOffset|ElementDataFile";
constexpr std::string_view kMetaDescriptive =
    "ObjectSubType|TransformType|Name|ID|ParentID|Color|Position|Offset|Origin|"
    "Orientation|Rotation|TransformMatrix|CenterOfRotation|AnatomicalOrientation|"
    "ElementSpacing|ElementSize|ElementMin|ElementMax|Modality|SequenceID|DistanceUnits|"
    "Comment|CompressionLevel|Kinds|DimUnits|AcquisitionDate|CreationDate|"
    "UltrasoundImageOrientation|UltrasoundImageType|Seq_Frame*|FileFormatVersion";

// Programs write fields of their own. MetaIO calls those about elements "Element...".
bool MayMatterInMetaImage(std::string_view name) {
  return SpeaksOfElements(name) || StartsIgnoringCase(name, "Element");
}

constexpr KnownFields kMetaFields = {kMetaHeeded, kMetaDescriptive, &MayMatterInMetaImage};

struct MetaHeader {
  HeaderFields fields;
  std::vector<model::Attribute> attributes;
  std::vector<std::string> list;  // the lines behind "ElementDataFile = LIST"
  uint64_t bytes = 0;

  std::string_view operator[](std::string_view name) const { return fields[name]; }
};

// Whether one of the first lines says how many dimensions there are.
bool IsMetaImage(std::string_view head) {
  constexpr int kMostLines = 16;
  for (int i = 0; i < kMostLines; ++i) {
    const auto line = TakeLine(head);
    if (!line) return false;
    const size_t equals = line->find('=');
    if (equals == std::string_view::npos) return false;
    if (Trim(line->substr(0, equals)) == "NDims") return true;
  }
  return false;
}
bool IsMetaImageUnderAnyName(std::string_view head) {
  return head.starts_with("ObjectType = Image") && IsMetaImage(head);
}

Result<MetaHeader> ParseMetaHeader(std::string_view text) {
  MetaHeader header;
  std::string_view rest = text;
  while (const auto line = TakeLine(rest)) {
    if (Trim(*line).empty()) continue;
    const size_t equals = line->find('=');
    if (equals == std::string_view::npos) {
      return BadInput("{} is no line with a name and a value", model::Quote(*line));
    }
    const std::string_view name = Trim(line->substr(0, equals));
    const std::string_view value = Trim(line->substr(equals + 1));
    NDLFS_RETURN_IF_ERROR(AddField(kMetaFields, name, value, header.fields));
    NDLFS_RETURN_IF_ERROR(AddFieldAttribute(name, value, header.attributes));
    if (name != "ElementDataFile") continue;
    header.bytes = text.size() - rest.size();
    if (!StartsIgnoringCase(value, "LIST")) return header;
    while (const auto file = TakeLine(rest)) {
      if (!Trim(*file).empty()) header.list.emplace_back(Trim(*file));
    }
    return header;
  }
  return BadInput("there is no ElementDataFile");
}

// Whether the last line of a header is there, and says that the elements follow.
bool HasDataInFile(std::string_view text) {
  const size_t at = text.find("ElementDataFile");
  if (at == std::string_view::npos) return false;
  const std::string_view line = text.substr(at, text.find('\n', at) - at);
  return line.find("LOCAL") != std::string_view::npos && at + line.size() < text.size();
}

bool IsTrue(std::string_view text) { return StartsIgnoringCase(text, "T") || text == "1"; }

Result<Datatype> StoredType(const MetaHeader& header) {
  std::string_view name = header["ElementType"];
  if (name.ends_with("_ARRAY")) name.remove_suffix(std::string_view("_ARRAY").size());
  const bool is_big =
      IsTrue(header["BinaryDataByteOrderMSB"]) || IsTrue(header["ElementByteOrderMSB"]);
  const auto order = is_big ? model::ByteOrder::kBig : model::ByteOrder::kLittle;
  if (name == "MET_FLOAT") return Datatype::Float32(order);
  if (name == "MET_DOUBLE") return Datatype::Float64(order);
  struct Word {
    std::string_view name;
    size_t bytes;
    bool is_signed;
  };
  constexpr std::array<Word, 10> kIntegers = {{{"MET_CHAR", 1, true},
                                               {"MET_UCHAR", 1, false},
                                               {"MET_SHORT", 2, true},
                                               {"MET_USHORT", 2, false},
                                               {"MET_INT", 4, true},
                                               {"MET_UINT", 4, false},
                                               {"MET_LONG", 4, true},
                                               {"MET_ULONG", 4, false},
                                               {"MET_LONG_LONG", 8, true},
                                               {"MET_ULONG_LONG", 8, false}}};
  for (const Word& word : kIntegers) {
    if (word.name == name) return Datatype::Integer(word.bytes, word.is_signed, order);
  }
  return BadInput("ElementType: {}", model::Quote(name));
}

// The first of these fields that is there, as numbers for each axis.
std::optional<std::vector<double>> RealsOf(const MetaHeader& header, size_t axes,
                                           std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (!header.fields.Has(name)) continue;
    auto numbers = ParseReals(header[name]);
    if (numbers && numbers->size() == axes) return numbers;
  }
  return std::nullopt;
}

// Directions of axes that are parallel to those of the space, in their order; nullopt for
// others.
std::optional<std::vector<double>> DirectionsOf(const MetaHeader& header, size_t axes) {
  std::vector<double> directions(axes, 1);
  const auto matrix =
      RealsOf(header, axes * axes, {"TransformMatrix", "Rotation", "Orientation"});
  for (size_t i = 0; matrix && i < axes * axes; ++i) {
    const bool is_diagonal = i % (axes + 1) == 0;
    if (is_diagonal) directions[i / axes] = (*matrix)[i];
    if (((*matrix)[i] != 0) != is_diagonal) return std::nullopt;
  }
  return directions;
}

std::vector<Axis> AxesOf(const MetaHeader& header, const std::vector<uint64_t>& sizes) {
  constexpr std::array<std::string_view, 4> kNames = {"x", "y", "z", "t"};
  const size_t count = sizes.size();
  const auto spacing = RealsOf(header, count, {"ElementSpacing", "ElementSize"});
  const auto origin = RealsOf(header, count, {"Offset", "Position", "Origin"});
  const auto directions = DirectionsOf(header, count);
  std::vector<Axis> axes;
  for (size_t d = 0; d < count; ++d) {
    Axis axis{d < kNames.size() ? std::string(kNames[d]) : fmt::format("axis{}", d), sizes[d]};
    const double step = (spacing ? (*spacing)[d] : 1) * (directions ? (*directions)[d] : 1);
    const double first = origin ? (*origin)[d] : 0;
    const bool is_known = directions && (spacing || origin);
    if (is_known && std::isfinite(first) && std::isfinite(step) && step != 0) {
      axis.coordinates = Coordinates{first, step};
    }
    axes.insert(axes.begin(), std::move(axis));
  }
  return axes;
}

// MetaIO's "intensity" is a linear function of the element.
Result<void> AddScale(const MetaHeader& header, DescribedArray& array) {
  double numbers[2] = {1, 0};
  constexpr std::string_view kNames[2] = {"ElementToIntensityFunctionSlope",
                                          "ElementToIntensityFunctionOffset"};
  for (size_t i = 0; i < 2; ++i) {
    if (!header.fields.Has(kNames[i])) continue;
    const auto number = ParseReal(header[kNames[i]]);
    if (!number || !std::isfinite(*number)) {
      return BadInput("{}: {}", kNames[i], model::Quote(header[kNames[i]]));
    }
    numbers[i] = *number;
  }
  if ((numbers[0] == 1 && numbers[1] == 0) || numbers[0] == 0) return {};
  array.attributes.push_back(RealAttribute("scale_factor", numbers[0]));
  array.attributes.push_back(RealAttribute("add_offset", numbers[1]));
  return {};
}

Result<DescribedArray> DescribeArray(const MetaHeader& header, std::string name) {
  if (header.fields.Has("ObjectType") && header["ObjectType"] != "Image") {
    return Unsupported("ObjectType: {}, not Image", model::Quote(header["ObjectType"]));
  }
  const auto count = ParseCount(header["NDims"]);
  if (!count || *count == 0 || *count > kMostMetaImageAxes) {
    return BadInput("NDims: expected 1 to {}, found {}", kMostMetaImageAxes,
                    model::Quote(header["NDims"]));
  }
  const auto sizes = ParseCounts(header["DimSize"]);
  if (!sizes || sizes->size() != *count) {
    return BadInput("DimSize: {} for {} dimensions", model::Quote(header["DimSize"]), *count);
  }
  DescribedArray array;
  array.name = std::move(name);
  NDLFS_TRY(array.stored, StoredType(header));
  array.axes = AxesOf(header, *sizes);
  NDLFS_RETURN_IF_ERROR(AddScale(header, array));
  if (!header.fields.Has("ElementNumberOfChannels")) return array;
  const auto channels = ParseCount(header["ElementNumberOfChannels"]);
  if (!channels || *channels == 0 || *channels > kMostChannels) {
    return BadInput("ElementNumberOfChannels: {}",
                    model::Quote(header["ElementNumberOfChannels"]));
  }
  if (*channels > 1) array.axes.push_back({"channel", *channels});
  return array;
}

// Bytes before the elements: `begin`, or what HeaderSize says.
Result<uint64_t> OffsetOf(const MetaHeader& header, const DescribedArray& array,
                          uint64_t file_size, uint64_t begin) {
  if (!header.fields.Has("HeaderSize")) return begin;
  const auto size = ParseInteger(header["HeaderSize"]);
  if (!size || *size < -1) {
    return BadInput("HeaderSize: {}", model::Quote(header["HeaderSize"]));
  }
  if (*size >= 0) return *size == 0 ? begin : static_cast<uint64_t>(*size);
  const auto bytes = CheckedProduct(array.shape(), array.stored.size());
  if (!bytes || *bytes > file_size) {
    return model::Corrupt("HeaderSize -1: the file has {} bytes in all", file_size);
  }
  return file_size - *bytes;
}

// Whether the elements are numbers as text.
bool IsText(const MetaHeader& header) {
  return header.fields.Has("BinaryData") && !IsTrue(header["BinaryData"]);
}

Result<std::shared_ptr<const ArraySource>> OneFile(const MetaHeader& header,
                                                   const DescribedArray& array,
                                                   const DataFile& file, uint64_t begin,
                                                   const OpenOptions& options) {
  if (IsText(header)) {
    if (IsTrue(header["CompressedData"])) return Unsupported("numbers as compressed text");
    NDLFS_TRY(const uint64_t offset, OffsetOf(header, array, file.size, begin));
    return MakeTextSource(array, file, offset, options.max_chunk_size);
  }
  const bool is_compressed = IsTrue(header["CompressedData"]);
  if (is_compressed && header["HeaderSize"].starts_with('-')) {
    return Unsupported("HeaderSize -1 of compressed data");
  }
  NDLFS_TRY(const uint64_t offset, OffsetOf(header, array, file.size, begin));
  if (!is_compressed) return MakeFileSource(array, file, offset);
  uint64_t length = ByteRange::kToEnd;
  if (header.fields.Has("CompressedDataSize")) {
    // Some programs write it as a real number.
    const auto size = ParseReal(header["CompressedDataSize"]);
    constexpr double kMost = 1e18;
    if (!size || !(*size >= 0 && *size < kMost)) {
      return BadInput("CompressedDataSize: {}", model::Quote(header["CompressedDataSize"]));
    }
    if (*size > 0) length = static_cast<uint64_t>(*size);
  }
  return MakeInflatedSource(array, file, offset, length, 0);
}

// One file for each place along the slowest dimension, or for as many as each.
Result<std::shared_ptr<const ArraySource>> ManyFiles(const MetaHeader& header,
                                                     const DescribedArray& array,
                                                     std::vector<std::string> names,
                                                     const HeaderFile& file,
                                                     Contents& contents) {
  if (IsTrue(header["CompressedData"])) return Unsupported("several files that are compressed");
  if (IsText(header)) return Unsupported("several files of numbers as text");
  const uint64_t rows = array.axes[0].size;
  const uint64_t count = names.size();
  if (count == 0 || rows % count != 0) {
    return BadInput("ElementDataFile: {} files for {} places along the slowest dimension",
                    count, rows);
  }
  PartsLayout layout = LayoutOf(array);
  NDLFS_TRY(layout.offset, OffsetOf(header, array, 0, 0));
  NDLFS_TRY(const OpenedList list,
            OpenFileList(file, {std::move(names), std::vector<uint64_t>(count, rows / count)},
                         contents));
  return MakeListSource(list, std::move(layout));
}

Result<std::shared_ptr<const ArraySource>> OpenData(const MetaHeader& header,
                                                    const DescribedArray& array,
                                                    const HeaderFile& file,
                                                    Contents& contents) {
  const std::string_view name = header["ElementDataFile"];
  if (EqualsIgnoringCase(name, "LOCAL")) {
    NDLFS_TRY(const DataFile data, DataInHeader(file));
    return OneFile(header, array, data, header.bytes, file.options);
  }
  const auto words = SplitWords(name);
  if (!words.empty() && EqualsIgnoringCase(words[0], "LIST")) {
    const std::string one_less =
        fmt::format("{}D", ParseCount(header["NDims"]).value_or(0) - 1);
    if (words.size() > 1 && !EqualsIgnoringCase(words[1], one_less)) {
      return Unsupported("ElementDataFile: files of {} each", model::Quote(words[1]));
    }
    return ManyFiles(header, array, header.list, file, contents);
  }
  if (words.size() == 4 && words[0].find('%') != std::string_view::npos) {
    const auto first = ParseInteger(words[1]);
    const auto last = ParseInteger(words[2]);
    const auto step = ParseInteger(words[3]);
    if (!first || !last || !step) return BadInput("ElementDataFile: {}", model::Quote(name));
    NDLFS_TRY(auto names, ExpandPattern(words[0], *first, *last, *step, kMaxParts));
    return ManyFiles(header, array, std::move(names), file, contents);
  }
  NDLFS_TRY(const DataFile data, OpenDataFile(file, name, contents));
  return OneFile(header, array, data, 0, file.options);
}

Result<void> ReadMetaImage(const HeaderFile& file, Contents& contents) {
  NDLFS_TRY(const std::string text,
            ReadBeginning(*file.store, kMaxHeaderBytes, &HasDataInFile));
  NDLFS_TRY(MetaHeader header, ParseMetaHeader(text));
  NDLFS_TRY(DescribedArray array, DescribeArray(header, ArrayNameOf(file.path)));
  contents.AddAttributes(header.attributes);
  return contents.AddArray(array, OpenData(header, array, file, contents));
}

}  // namespace

const HeaderReader kMetaImage = {.name = "MetaImage",
                                 .extensions = {".mha", ".mhd"},
                                 .is_content = &IsMetaImageUnderAnyName,
                                 .is_header = &IsMetaImage,
                                 .read = &ReadMetaImage};

}  // namespace ndlfs::backends::foreign
