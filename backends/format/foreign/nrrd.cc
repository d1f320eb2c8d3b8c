// SPDX-License-Identifier: MIT
//
// NRRD, as https://teem.sourceforge.net/nrrd/format.html describes it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
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

constexpr size_t kMostNrrdAxes = 16;  // NRRD_DIM_MAX

constexpr std::string_view kNrrdHeeded =
    "type|block size|dimension|sizes|endian|encoding|line skip|byte skip|data file";
constexpr std::string_view kNrrdDescriptive =
    "content|number|old min|old max|min|max|sample units|space|space dimension|"
    "space units|space origin|space directions|measurement frame|spacings|thicknesses|"
    "axis mins|axis maxs|centers|centerings|labels|units|kinds";
constexpr KnownFields kNrrdFields = {kNrrdHeeded, kNrrdDescriptive};

bool IsNrrd(std::string_view head) {
  return head.size() > 9 && head.starts_with("NRRD000") && head[7] >= '1' && head[7] <= '9' &&
         (head[8] == '\n' || head[8] == '\r');
}

struct NrrdHeader {
  HeaderFields fields;
  std::vector<model::Attribute> attributes;
  std::vector<std::string> list;  // of files, behind "data file: LIST"
  uint64_t bytes = 0;             // with the empty line at its end

  std::string_view operator[](std::string_view name) const { return fields[name]; }
  bool Has(std::string_view name) const { return fields.Has(name); }
};

Result<void> AddLine(std::string_view line, NrrdHeader& header) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    return BadInput("{} is neither a field nor a key", model::Quote(line));
  }
  const std::string_view name = Trim(line.substr(0, colon));
  const bool is_key = line.substr(colon).starts_with(":=");
  const std::string_view value = Trim(line.substr(colon + (is_key ? 2 : 1)));
  NDLFS_RETURN_IF_ERROR(AddFieldAttribute(name, value, header.attributes));
  if (is_key) return {};
  const bool is_centers = EqualsIgnoringCase(name, "centerings");
  return AddField(kNrrdFields, is_centers ? "centers" : name, value, header.fields);
}

bool HasEmptyLine(std::string_view text) {
  return text.find("\n\n") != std::string_view::npos ||
         text.find("\n\r\n") != std::string_view::npos;
}

// The lines behind "data file: LIST" name files, up to the end.
void ReadList(std::string_view text, NrrdHeader& header) {
  while (const auto line = TakeLine(text)) {
    if (!Trim(*line).empty()) header.list.emplace_back(Trim(*line));
  }
}

Result<NrrdHeader> ParseNrrdHeader(std::string_view text) {
  NrrdHeader header;
  std::string_view rest = text;
  TakeLine(rest);  // the signature
  bool has_end = false;
  while (const auto line = TakeLine(rest)) {
    has_end = line->empty();
    if (has_end) break;
    if (line->starts_with('#')) continue;
    NDLFS_RETURN_IF_ERROR(AddLine(*line, header));
    if (StartsIgnoringCase(header["data file"], "LIST")) {
      ReadList(rest, header);
      return header;
    }
  }
  header.bytes = text.size() - rest.size();
  if (has_end || header.Has("data file")) return header;
  return BadInput("the header has no end in its first {} bytes", text.size());
}

std::optional<Datatype> TypeOf(std::string_view name) {
  struct Words {
    std::string_view names;  // between bars
    size_t bytes;
    bool is_signed;
  };
  constexpr std::array<Words, 8> kIntegers = {{
      {"|signed char|int8|int8_t|", 1, true},
      {"|uchar|unsigned char|uint8|uint8_t|", 1, false},
      {"|short|short int|signed short|signed short int|int16|int16_t|", 2, true},
      {"|ushort|unsigned short|unsigned short int|uint16|uint16_t|", 2, false},
      {"|int|signed int|int32|int32_t|", 4, true},
      {"|uint|unsigned int|uint32|uint32_t|", 4, false},
      {"|longlong|long long|long long int|signed long long|signed long long int|int64|int64_t|",
       8, true},
      {"|ulonglong|unsigned long long|unsigned long long int|uint64|uint64_t|", 8, false},
  }};
  const std::string key = fmt::format("|{}|", Lowercase(name));
  for (const Words& words : kIntegers) {
    if (words.names.find(key) != std::string_view::npos) {
      return Datatype::Integer(words.bytes, words.is_signed);
    }
  }
  if (key == "|float|") return Datatype::Float32();
  if (key == "|double|") return Datatype::Float64();
  return std::nullopt;
}

// Whether the elements are numbers as text.
bool IsText(const NrrdHeader& header) {
  const std::string encoding = Lowercase(header["encoding"]);
  return encoding == "ascii" || encoding == "text" || encoding == "txt";
}

Result<Datatype> StoredType(const NrrdHeader& header) {
  if (EqualsIgnoringCase(header["type"], "block")) {
    const auto bytes = ParseCount(header["block size"]);
    if (!bytes || *bytes == 0 || *bytes > kMaxHeaderBytes) {
      return BadInput("block size: {}", model::Quote(header["block size"]));
    }
    return Datatype::Opaque(*bytes);
  }
  const auto type = TypeOf(header["type"]);
  if (!type) return BadInput("type: {}", model::Quote(header["type"]));
  // The order of bytes says something of binary data only.
  if (type->size() == 1 || IsText(header)) return *type;
  if (EqualsIgnoringCase(header["endian"], "little")) return *type;
  if (EqualsIgnoringCase(header["endian"], "big")) {
    return type->WithOrder(model::ByteOrder::kBig);
  }
  return BadInput("endian: expected little or big, found {}", model::Quote(header["endian"]));
}

Result<std::vector<uint64_t>> SizesOf(const NrrdHeader& header) {
  const auto dimension = ParseCount(header["dimension"]);
  if (!dimension || *dimension == 0 || *dimension > kMostNrrdAxes) {
    return BadInput("dimension: expected 1 to {}, found {}", kMostNrrdAxes,
                    model::Quote(header["dimension"]));
  }
  const auto sizes = ParseCounts(header["sizes"]);
  const bool is_sound = sizes && sizes->size() == *dimension &&
                        std::ranges::find(*sizes, uint64_t{0}) == sizes->end();
  if (is_sound) return *sizes;
  return BadInput("sizes: {} for dimension {}", model::Quote(header["sizes"]), *dimension);
}

// Words of a field with one for each axis; those in double quotes may have blanks.
std::vector<std::string> WordsOf(std::string_view text, size_t axes) {
  std::vector<std::string> words;
  while (words.size() < axes) {
    text = Trim(text);
    if (!text.starts_with('"')) {
      words.emplace_back(TakeWord(text));
      continue;
    }
    const size_t end = text.find('"', 1);
    words.emplace_back(text.substr(1, end == std::string_view::npos ? end : end - 1));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

// One for each axis; NaN where it is not known.
std::vector<double> NumbersOf(std::string_view text, size_t axes) {
  std::vector<double> numbers;
  for (const std::string& word : WordsOf(text, axes)) {
    numbers.push_back(ParseReal(word).value_or(std::nan("")));
  }
  return numbers;
}

// "(1,0,0)"; nullopt for anything else, such as "none".
std::optional<std::vector<double>> ParseVector(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')')) return std::nullopt;
  std::string words(text.substr(1, text.size() - 2));
  std::ranges::replace(words, ',', ' ');
  return ParseReals(words);
}

// Vectors of the field, one for each axis.
std::vector<std::string> VectorWords(std::string_view text) {
  std::vector<std::string> words;
  while (!(text = Trim(text)).empty() && words.size() < kMostNrrdAxes) {
    const size_t end = text.starts_with('(') ? text.find(')') : text.find_first_of(" \t") - 1;
    const size_t size = std::min(end, text.size() - 1) + 1;
    words.emplace_back(text.substr(0, size));
    std::erase(words.back(), ' ');
    text.remove_prefix(size);
  }
  return words;
}

struct Line {
  double first = 0;
  double step = 0;
};
using Lines = std::vector<std::optional<Line>>;  // of each axis, the fastest first

// The lines of axes that are parallel to the axes of the space, each to another one. Without
// values if some axis is oblique.
Lines LinesInSpace(const NrrdHeader& header, size_t axes) {
  Lines lines(axes);
  const auto words = VectorWords(header["space directions"]);
  const auto origin = ParseVector(header["space origin"]);
  std::map<size_t, size_t> axis_of;
  for (size_t d = 0; d < std::min(axes, words.size()); ++d) {
    const auto vector = ParseVector(words[d]);
    if (!vector) continue;
    std::optional<size_t> along;
    for (size_t i = 0; i < vector->size(); ++i) {
      if ((*vector)[i] == 0) continue;
      if (along || !std::isfinite((*vector)[i])) return Lines(axes);  // oblique
      along = i;
    }
    if (!along || !axis_of.emplace(*along, d).second) return Lines(axes);
    const double first = origin && *along < origin->size() ? (*origin)[*along] : 0;
    lines[d] = Line{std::isfinite(first) ? first : 0, (*vector)[*along]};
  }
  return lines;
}

Lines LinesOf(const NrrdHeader& header, const std::vector<uint64_t>& sizes) {
  const size_t axes = sizes.size();
  if (header.Has("space directions")) return LinesInSpace(header, axes);
  const auto spacings = NumbersOf(header["spacings"], axes);
  const auto mins = NumbersOf(header["axis mins"], axes);
  const auto maxs = NumbersOf(header["axis maxs"], axes);
  const auto centers = WordsOf(header["centers"], axes);
  Lines lines(axes);
  for (size_t d = 0; d < axes; ++d) {
    const bool is_cell = EqualsIgnoringCase(centers[d], "cell");
    const double intervals = static_cast<double>(sizes[d]) - (is_cell ? 0 : 1);
    double step = spacings[d];
    if (std::isnan(step)) step = (maxs[d] - mins[d]) / intervals;
    if (!std::isfinite(step) || step == 0) continue;
    const double least = std::isfinite(mins[d]) ? mins[d] : 0;
    const bool is_edge = is_cell && std::isfinite(mins[d]);
    lines[d] = Line{is_edge ? least + step / 2 : least, step};
  }
  return lines;
}

// The axes, the slowest first.
std::vector<Axis> AxesOf(const NrrdHeader& header, const std::vector<uint64_t>& sizes) {
  constexpr std::array<std::string_view, 3> kNames = {"x", "y", "z"};
  const size_t count = sizes.size();
  const Lines lines = LinesOf(header, sizes);
  const auto labels = WordsOf(header["labels"], count);
  const auto units = WordsOf(header["units"], count);
  std::vector<Axis> axes;
  size_t in_space = 0;
  for (size_t d = 0; d < count; ++d) {
    Axis axis{labels[d], sizes[d]};
    if (lines[d]) {
      if (axis.name.empty()) {
        axis.name =
            in_space < kNames.size() ? std::string(kNames[in_space]) : fmt::format("axis{}", d);
      }
      ++in_space;
      axis.coordinates = Coordinates{lines[d]->first, lines[d]->step};
      if (!units[d].empty() && units[d] != "???") {
        axis.coordinates->attributes.push_back(TextAttribute("units", units[d]));
      }
    }
    axes.push_back(std::move(axis));
  }
  std::ranges::reverse(axes);
  return axes;
}

// Pairs of numbers along the fastest axis are complex ones.
void JoinComplex(const NrrdHeader& header, DescribedArray& array) {
  const std::string kind = WordsOf(header["kinds"], 1)[0];
  if (!EqualsIgnoringCase(kind, "complex") || array.axes.back().size != 2) return;
  if (IsText(header)) return;
  if (array.stored.kind() != Datatype::Kind::kFloat || array.axes.size() < 2) return;
  array.stored = Datatype::Complex(2 * array.stored.size(), array.stored.order());
  array.axes.pop_back();
}

Result<DescribedArray> DescribeArray(const NrrdHeader& header, std::string name) {
  DescribedArray array;
  array.name = std::move(name);
  NDLFS_TRY(const auto sizes, SizesOf(header));
  NDLFS_TRY(array.stored, StoredType(header));
  array.axes = AxesOf(header, sizes);
  JoinComplex(header, array);
  if (header.Has("content")) {
    array.attributes.push_back(TextAttribute("long_name", header["content"]));
  }
  const auto units = WordsOf(header["sample units"], 1);
  if (!units[0].empty()) array.attributes.push_back(TextAttribute("units", units[0]));
  return array;
}

// The byte behind `lines` lines from `offset` on.
Result<uint64_t> SkipLines(const DataFile& file, uint64_t offset, uint64_t lines) {
  if (lines == 0) return offset;
  NDLFS_TRY(const auto bytes, file.store->Read("", kMaxHeaderBytes, {offset, kMaxHeaderBytes}));
  std::string_view text = bytes ? AsText(bytes->span()) : std::string_view();
  const size_t size = text.size();
  for (uint64_t i = 0; i < lines; ++i) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return model::Corrupt("line skip: fewer than {} lines in {} bytes", lines, size);
    }
    text.remove_prefix(end + 1);
  }
  return offset + size - text.size();
}

enum class Encoding : uint8_t { kRaw, kGzip, kBzip2, kText };

Result<Encoding> EncodingOf(const NrrdHeader& header) {
  const std::string name = Lowercase(header["encoding"]);
  if (name == "raw") return Encoding::kRaw;
  if (name == "gzip" || name == "gz") return Encoding::kGzip;
  if (name == "bzip2" || name == "bz2") return Encoding::kBzip2;
  if (IsText(header)) return Encoding::kText;
  if (name == "hex") return Unsupported("encoding hex: bytes as hexadecimal digits");
  return BadInput("encoding: {}", model::Quote(header["encoding"]));
}

struct Skips {
  uint64_t lines = 0;
  int64_t bytes = 0;  // -1: the data end with the file
};

Result<Skips> SkipsOf(const NrrdHeader& header) {
  const auto lines = header.Has("line skip") ? ParseCount(header["line skip"]) : 0;
  const auto bytes = header.Has("byte skip") ? ParseInteger(header["byte skip"]) : 0;
  if (!lines) return BadInput("line skip: {}", model::Quote(header["line skip"]));
  if (!bytes || *bytes < -1)
    return BadInput("byte skip: {}", model::Quote(header["byte skip"]));
  return Skips{*lines, *bytes};
}

// Data in one file, behind `begin` bytes of a header.
Result<std::shared_ptr<const ArraySource>> OneFile(const NrrdHeader& header,
                                                   const DescribedArray& array,
                                                   const DataFile& file, uint64_t begin,
                                                   const OpenOptions& options) {
  NDLFS_TRY(const Encoding encoding, EncodingOf(header));
  NDLFS_TRY(const Skips skips, SkipsOf(header));
  NDLFS_TRY(begin, SkipLines(file, begin, skips.lines));
  const auto bytes = CheckedProduct(array.shape(), array.stored.size());
  if (!bytes) return model::Limit("too many elements");
  if (skips.bytes < 0) {
    if (encoding != Encoding::kRaw) return Unsupported("byte skip -1 of data that are not raw");
    if (file.size < begin || file.size - begin < *bytes) {
      return model::Corrupt("{} bytes of data, the header needs {}",
                            file.size - std::min(begin, file.size), *bytes);
    }
    return MakeFileSource(array, file, file.size - *bytes);
  }
  const auto skipped = static_cast<uint64_t>(skips.bytes);
  if (encoding == Encoding::kText) {
    const auto offset = CheckedAdd(begin, skipped);
    if (!offset) return model::Corrupt("byte skip: beyond the end of the file");
    return MakeTextSource(array, file, *offset, options.max_chunk_size);
  }
  if (encoding == Encoding::kGzip) {
    return MakeInflatedSource(array, file, begin, ByteRange::kToEnd, skipped);
  }
  if (encoding == Encoding::kRaw) {
    const auto offset = CheckedAdd(begin, skipped);
    if (!offset) return model::Corrupt("byte skip: beyond the end of the file");
    return MakeFileSource(array, file, *offset);
  }
  if (skipped != 0) return Unsupported("byte skip of data that bzip2 has compressed");
  PartsLayout layout = LayoutOf(array);
  layout.store = file.store;
  layout.offset = begin;
  return MakeCompressedSource(std::move(layout), "bz2", options.max_chunk_size);
}

// The names of the files, and the number of dimensions in each; 0: not said.
Result<std::vector<std::string>> FilesOf(const NrrdHeader& header, uint64_t& dimensions) {
  const auto words = SplitWords(header["data file"]);
  dimensions = words.size() > 1 ? ParseCount(words.back()).value_or(0) : 0;
  if (!words.empty() && EqualsIgnoringCase(words[0], "LIST")) return header.list;
  std::vector<std::optional<int64_t>> numbers;
  for (size_t i = 1; i < words.size(); ++i) numbers.push_back(ParseInteger(words[i]));
  const bool is_pattern =
      (words.size() == 4 || words.size() == 5) && numbers[0] && numbers[1] && numbers[2];
  if (!is_pattern) return std::vector<std::string>();
  if (words.size() == 4) dimensions = 0;
  return ExpandPattern(words[0], *numbers[0], *numbers[1], *numbers[2], kMaxParts);
}

// Files one after the other along the slowest dimension.
Result<std::shared_ptr<const ArraySource>> ManyFiles(
    const NrrdHeader& header, const DescribedArray& array, std::vector<std::string> names,
    uint64_t dimensions, const HeaderFile& file, Contents& contents) {
  NDLFS_TRY(const Encoding encoding, EncodingOf(header));
  NDLFS_TRY(const Skips skips, SkipsOf(header));
  if (encoding != Encoding::kRaw || skips.lines != 0 || skips.bytes < 0) {
    return Unsupported("several files that are not raw, or have lines to skip");
  }
  const uint64_t axes = *ParseCount(header["dimension"]);
  const uint64_t per_file = dimensions == 0 ? axes - 1 : dimensions;
  if (per_file != axes && per_file + 1 != axes) {
    return Unsupported("files of {} dimensions each for {}", per_file, axes);
  }
  const uint64_t rows = array.axes[0].size;
  const uint64_t count = names.size();
  const bool fits = count != 0 && (per_file == axes ? rows % count == 0 : rows == count);
  if (!fits) return BadInput("{} data files for {} places along the slowest axis", count, rows);
  PartsLayout layout = LayoutOf(array);
  layout.offset = static_cast<uint64_t>(skips.bytes);
  NDLFS_TRY(const OpenedList list,
            OpenFileList(file, {std::move(names), std::vector<uint64_t>(count, rows / count)},
                         contents));
  return MakeListSource(list, std::move(layout));
}

Result<std::shared_ptr<const ArraySource>> OpenData(const NrrdHeader& header,
                                                    const DescribedArray& array,
                                                    const HeaderFile& file,
                                                    Contents& contents) {
  if (!header.Has("data file")) {
    NDLFS_TRY(const DataFile data, DataInHeader(file));
    return OneFile(header, array, data, header.bytes, file.options);
  }
  uint64_t dimensions = 0;
  NDLFS_TRY(auto names, FilesOf(header, dimensions), "data file");
  const bool is_list = StartsIgnoringCase(header["data file"], "LIST");
  if (is_list || !names.empty()) {
    return ManyFiles(header, array, std::move(names), dimensions, file, contents);
  }
  NDLFS_TRY(const DataFile data, OpenDataFile(file, header["data file"], contents));
  return OneFile(header, array, data, 0, file.options);
}

Result<void> ReadNrrd(const HeaderFile& file, Contents& contents) {
  NDLFS_TRY(const std::string text, ReadBeginning(*file.store, kMaxHeaderBytes, &HasEmptyLine));
  if (!IsNrrd(text)) return BadInput("it does not begin with NRRD000 and a version");
  NDLFS_TRY(NrrdHeader header, ParseNrrdHeader(text));
  NDLFS_TRY(DescribedArray array, DescribeArray(header, ArrayNameOf(file.path)));
  contents.AddAttributes(header.attributes);
  return contents.AddArray(array, OpenData(header, array, file, contents));
}

}  // namespace

const HeaderReader kNrrd = {.name = "NRRD",
                            .certain_extensions = {".nrrd", ".nhdr"},
                            .is_content = &IsNrrd,
                            .read = &ReadNrrd};

}  // namespace ndlfs::backends::foreign
