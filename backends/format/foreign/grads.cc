// SPDX-License-Identifier: MIT
//
// Descriptors of GrADS for flat files, by http://cola.gmu.edu/grads/gadoc/descriptorfile.html:
// for each time, variable and level a grid of numbers, west to east and south to north.
#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "backends/base/load_number.h"
#include "backends/format/foreign/grads_time.h"
#include "backends/format/foreign/header_format.h"
#include "backends/format/foreign/header_text.h"
#include "backends/format/foreign/known_fields.h"

namespace ndlfs::backends::foreign {
namespace {

using model::BadInput;
using model::Datatype;
using model::Result;
using model::Unsupported;

constexpr uint64_t kMostVariables = 10'000;
constexpr size_t kMostVariableAttributes = 1000;  // of a variable
constexpr uint64_t kMostMembers = 10'000;
constexpr uint64_t kMostListedTimes = 100'000;
constexpr uint64_t kMarker = 4;  // bytes before and behind a record of Fortran

constexpr std::string_view kGradsHeeded =
    "dset|undef|options|xdef|ydef|zdef|tdef|edef|endedef|pdef|vars|fileheader|theader|"
    "xyheader";
constexpr std::string_view kGradsDescriptive =
    "title|endvars|vectorpairs|cachesize|index|stnmap";
constexpr KnownFields kGradsFields = {kGradsHeeded, kGradsDescriptive};

constexpr std::string_view kGradsOptions =
    "big_endian|little_endian|byteswapped|yrev|zrev|sequential|template|365_day_calendar";
constexpr std::string_view kGradsOtherOptions = "pascals";
constexpr KnownFields kGradsOptionNames = {kGradsOptions, kGradsOtherOptions};

// A line with this word at its beginning.
bool HasLine(std::string_view text, std::string_view word) {
  while (auto line = TakeLine(text)) {
    if (EqualsIgnoringCase(TakeWord(*line), word)) return true;
  }
  return false;
}
bool IsDescriptor(std::string_view head) { return HasLine(head, "DSET"); }

// Descriptors of files that have headers of their own (GRIB, netCDF), and of stations, are not
// about flat files.
Result<bool> DescribesFlatFiles(std::string_view, const Store& file) {
  NDLFS_TRY(const std::string text, ReadBeginning(file, kMaxHeaderBytes));
  return HasLine(text, "VARS") && HasLine(text, "XDEF") && !HasLine(text, "DTYPE");
}

// XDEF, YDEF, ZDEF.
struct GradsAxis {
  uint64_t count = 0;
  std::optional<Coordinates> coordinates;
};

struct Variable {
  std::string name;
  uint64_t levels = 0;  // 0: on no level
  Datatype type;
  std::string description;
};

struct Descriptor {
  std::string files;
  std::optional<double> undefined;
  bool is_big = false;
  bool is_north_first = false;
  bool is_top_first = false;
  bool has_records = false;
  bool is_template = false;
  bool has_leap_years = true;
  GradsAxis x, y, z;
  bool is_projected = false;         // PDEF: x and y count the points of another grid
  std::vector<std::string> members;  // EDEF; empty: no ensemble
  std::vector<std::string> time;     // the words of TDEF
  std::vector<Variable> variables;
  std::map<std::string, std::vector<model::Attribute>, std::less<>> attributes;  // by variable
  std::vector<model::Attribute> group_attributes;
  uint64_t file_header = 0;
  uint64_t time_header = 0;
  uint64_t grid_header = 0;
};

Result<uint64_t> CountIn(std::string_view keyword, std::string_view word) {
  const auto count = ParseCount(word);
  if (count) return *count;
  return BadInput("{}: {} is no number", keyword, model::Quote(word));
}

std::shared_ptr<const std::vector<double>> Share(std::vector<double> numbers) {
  return std::make_shared<const std::vector<double>>(std::move(numbers));
}

class DescriptorReader {
 public:
  explicit DescriptorReader(std::string_view text) : text_(text) {}

  Result<Descriptor> Read() {
    while (const auto line = TakeLine(text_)) {
      std::string_view rest = *line;
      const std::string_view keyword = TakeWord(rest);
      if (keyword.empty() || keyword.starts_with('*')) continue;
      if (keyword.starts_with('@')) {
        AddAttribute(line->substr(line->find('@') + 1));
      } else {
        NDLFS_RETURN_IF_ERROR(AddLine(Lowercase(keyword), Trim(rest)));
      }
    }
    if (!member_times_.empty() && !made_.time.empty() &&
        TakeWord(member_times_) != made_.time.front()) {
      return Unsupported("EDEF: members of other times than TDEF has");
    }
    if (made_.is_projected) {
      made_.x = {.count = projected_x_};
      made_.y = {.count = projected_y_};
    }
    return std::move(made_);
  }

 private:
  Result<void> AddLine(const std::string& keyword, std::string_view rest) {
    NDLFS_RETURN_IF_ERROR(CheckField(kGradsFields, keyword, "?"));
    if (keyword == "dset") made_.files = rest;
    if (keyword == "title") made_.group_attributes.push_back(TextAttribute("title", rest));
    if (keyword == "undef") made_.undefined = ParseReal(TakeWord(rest));
    if (keyword == "options") return ReadOptions(rest);
    if (keyword == "xdef") return ReadAxis("XDEF", rest, made_.x);
    if (keyword == "ydef") return ReadAxis("YDEF", rest, made_.y);
    if (keyword == "zdef") return ReadAxis("ZDEF", rest, made_.z);
    if (keyword == "tdef") {
      for (const std::string_view word : SplitWords(rest)) made_.time.emplace_back(word);
    }
    if (keyword == "edef") return ReadMembers(rest);
    if (keyword == "pdef") return ReadProjection(rest);
    if (keyword == "vars") return ReadVariables(rest);
    return ReadSize(keyword, rest);
  }

  Result<void> ReadSize(const std::string& keyword, std::string_view rest) {
    uint64_t* size = keyword == "fileheader" ? &made_.file_header
                     : keyword == "theader"  ? &made_.time_header
                     : keyword == "xyheader" ? &made_.grid_header
                                             : nullptr;
    if (size == nullptr) return {};
    NDLFS_TRY(*size, CountIn(keyword, TakeWord(rest)));
    return {};
  }

  Result<void> ReadOptions(std::string_view rest) {
    for (const std::string_view word : SplitWords(rest)) {
      const std::string option = Lowercase(word);
      NDLFS_RETURN_IF_ERROR(CheckField(kGradsOptionNames, option, "?"), "OPTIONS");
      if (option == "big_endian" || option == "byteswapped") made_.is_big = true;
      if (option == "little_endian") made_.is_big = false;
      if (option == "yrev") made_.is_north_first = true;
      if (option == "zrev") made_.is_top_first = true;
      if (option == "sequential") made_.has_records = true;
      if (option == "template") made_.is_template = true;
      if (option == "365_day_calendar") made_.has_leap_years = false;
    }
    return {};
  }

  // n LINEAR first step, n LEVELS and as many numbers on this line and the next ones, or the
  // name of a Gaussian grid, whose coordinates stay unknown.
  Result<void> ReadAxis(std::string_view keyword, std::string_view rest, GradsAxis& axis) {
    NDLFS_TRY(axis.count, CountIn(keyword, TakeWord(rest)));
    if (axis.count == 0) return BadInput("{}: no coordinates", keyword);
    const std::string kind = Lowercase(TakeWord(rest));
    if (kind == "linear") {
      const auto first = ParseReal(TakeWord(rest));
      const auto step = ParseReal(TakeWord(rest));
      const bool is_sound = first && step && std::isfinite(*first) && std::isfinite(*step);
      if (!is_sound) return BadInput("{}: expected the first coordinate and a step", keyword);
      axis.coordinates = Coordinates{*first, *step};
      return {};
    }
    if (kind.starts_with("gaus")) return {};
    if (kind != "levels") return BadInput("{}: {}", keyword, model::Quote(kind));
    std::vector<double> numbers;
    while (numbers.size() < axis.count) {
      std::string_view word = TakeWord(rest);
      if (word.empty()) {
        const auto line = TakeLine(text_);
        if (!line) return BadInput("{}: fewer than {} numbers", keyword, axis.count);
        rest = *line;
        continue;
      }
      const auto number = ParseReal(word);
      if (!number) return BadInput("{}: {} is no number", keyword, model::Quote(word));
      numbers.push_back(*number);
    }
    axis.coordinates.emplace();
    axis.coordinates->values = Share(std::move(numbers));
    return {};
  }

  // n NAMES and the names of the members, or n and a line for each: name, times, first time.
  // Members of another length or start than the others would lie elsewhere.
  Result<void> ReadMembers(std::string_view rest) {
    NDLFS_TRY(const uint64_t count, CountIn("EDEF", TakeWord(rest)));
    if (count == 0 || count > kMostMembers) return model::Limit("EDEF: {} members", count);
    std::string_view words = rest;
    const bool has_names = EqualsIgnoringCase(TakeWord(words), "NAMES");
    if (!has_names) words = {};
    std::string_view& times = member_times_;
    while (made_.members.size() < count) {
      std::string_view word = has_names ? TakeWord(words) : std::string_view();
      if (word.empty()) {
        const auto line = TakeLine(text_);
        if (!line) return BadInput("EDEF: fewer than {} members", count);
        words = *line;
        if (has_names) continue;
        word = TakeWord(words);
        if (word.empty()) continue;
        if (EqualsIgnoringCase(word, "ENDEDEF"))
          return BadInput("EDEF: fewer than {} members", count);
        if (!made_.members.empty() && Trim(words) != times) {
          return Unsupported("EDEF: members of different times");
        }
        times = Trim(words);
      }
      made_.members.emplace_back(word);
    }
    if (count == 1) made_.members.clear();
    made_.group_attributes.push_back(
        TextAttribute("EDEF", fmt::format("{}", fmt::join(made_.members, " "))));
    return {};
  }

  // Columns and rows of the grid in the file, and what leads from it to XDEF and YDEF.
  Result<void> ReadProjection(std::string_view rest) {
    made_.group_attributes.push_back(TextAttribute("PDEF", rest));
    NDLFS_TRY(projected_x_, CountIn("PDEF", TakeWord(rest)));
    NDLFS_TRY(projected_y_, CountIn("PDEF", TakeWord(rest)));
    if (projected_x_ == 0 || projected_y_ == 0) return BadInput("PDEF: no columns or rows");
    made_.is_projected = true;
    return {};
  }

  Result<void> ReadVariables(std::string_view rest) {
    NDLFS_TRY(const uint64_t count, CountIn("VARS", TakeWord(rest)));
    if (count > kMostVariables) return model::Limit("VARS: {} variables", count);
    while (made_.variables.size() < count) {
      const auto line = TakeLine(text_);
      if (!line || StartsIgnoringCase(Trim(*line), "ENDVARS")) {
        return BadInput("VARS: {} variables instead of {}", made_.variables.size(), count);
      }
      if (Trim(*line).empty() || line->starts_with('*')) continue;
      if (line->starts_with('@')) {
        AddAttribute(line->substr(1));
        continue;
      }
      NDLFS_TRY(Variable variable, ReadVariable(*line));
      made_.variables.push_back(std::move(variable));
    }
    return {};
  }

  Result<Variable> ReadVariable(std::string_view line) const {
    Variable variable;
    const std::string_view name = TakeWord(line);
    const size_t arrow = name.find("=>");
    variable.name = arrow == std::string_view::npos ? name : name.substr(arrow + 2);
    const std::string_view levels = TakeWord(line);
    NDLFS_TRY(variable.levels, CountIn(variable.name, levels.substr(0, levels.find(','))));
    if (variable.levels > std::max<uint64_t>(made_.z.count, 1)) {
      return BadInput("{}: {} levels of {}", model::OneLine(variable.name), variable.levels,
                      made_.z.count);
    }
    NDLFS_TRY(variable.type, TypeOf(TakeWord(line)));
    variable.description = Trim(line);
    return variable;
  }

  Result<Datatype> TypeOf(std::string_view units) const {
    const auto order = made_.is_big ? model::ByteOrder::kBig : model::ByteOrder::kLittle;
    if (!units.starts_with("-1,")) return Datatype::Float32(order);
    if (units == "-1,40,1") return Datatype::Integer(1, false);
    if (units == "-1,40,2") return Datatype::Integer(2, false, order);
    if (units == "-1,40,2,-1") return Datatype::Integer(2, true, order);
    if (units == "-1,40,4") return Datatype::Integer(4, true, order);
    return Unsupported("units {}", model::Quote(units));
  }

  // "@ variable type name value".
  void AddAttribute(std::string_view rest) {
    const std::string variable(TakeWord(rest));
    const std::string type = Lowercase(TakeWord(rest));
    const std::string name(TakeWord(rest));
    const std::string_view text = Trim(rest);
    const auto number = ParseReal(text);
    const bool is_text = type == "string" || type == "char" || !number;
    if (name.empty()) return;
    auto attribute = is_text ? TextAttribute(name, text) : RealAttribute(name, *number);
    if (variable == "global") {
      made_.group_attributes.push_back(std::move(attribute));
    } else {
      auto& attributes = made_.attributes[variable];
      if (attributes.size() < kMostVariableAttributes)
        attributes.push_back(std::move(attribute));
    }
  }

  std::string_view text_;
  Descriptor made_;
  std::string_view member_times_;  // of each member: how many there are, and the first one
  uint64_t projected_x_ = 0;
  uint64_t projected_y_ = 0;
};

// Sizes in bytes, of the grid of one variable and level, and of all at one time.
struct Sizes {
  std::vector<uint64_t> offsets;  // of each variable's first number
  std::vector<uint64_t> grids;    // from one level of it to the next
  uint64_t time = 0;
};

Result<Sizes> SizesOf(const Descriptor& descriptor) {
  const uint64_t markers = descriptor.has_records ? 2 * kMarker : 0;
  const bool has_headers =
      descriptor.file_header != 0 || descriptor.time_header != 0 || descriptor.grid_header != 0;
  if (descriptor.has_records && has_headers) return Unsupported("headers between records");
  Sizes sizes;
  std::optional<uint64_t> end = descriptor.time_header;
  for (const Variable& variable : descriptor.variables) {
    const std::array<uint64_t, 2> counts = {descriptor.x.count, descriptor.y.count};
    auto grid = CheckedProduct(counts, variable.type.size());
    if (grid) grid = CheckedAdd(*grid, descriptor.grid_header);
    if (grid) grid = CheckedAdd(*grid, markers);
    const auto begin = CheckedAdd(*end, descriptor.grid_header + markers / 2);
    const auto bytes =
        grid ? CheckedMultiply(*grid, std::max<uint64_t>(variable.levels, 1)) : std::nullopt;
    end = bytes ? CheckedAdd(*end, *bytes) : std::nullopt;
    const auto first = begin ? CheckedAdd(*begin, descriptor.file_header) : std::nullopt;
    if (!end || !first || *end > kMaxViewSize)
      return model::Limit("more data than any file has");
    sizes.offsets.push_back(*first);
    sizes.grids.push_back(*grid);
  }
  sizes.time = *end;
  return sizes;
}

void Reverse(Coordinates& coordinates, uint64_t count) {
  if (coordinates.values) {
    coordinates.values = Share({coordinates.values->rbegin(), coordinates.values->rend()});
  }
  coordinates.first += static_cast<double>(count - 1) * coordinates.step;
  coordinates.step = -coordinates.step;
}

Axis MakeAxis(std::string name, const GradsAxis& axis, bool is_reversed,
              std::string_view units) {
  Axis made{std::move(name), axis.count, axis.coordinates};
  if (!made.coordinates) return made;
  if (is_reversed) Reverse(*made.coordinates, made.size);
  if (!units.empty()) made.coordinates->attributes = {TextAttribute("units", units)};
  return made;
}

// The first `count` levels; a variable may have fewer than the descriptor.
Axis LevelsOf(const Descriptor& descriptor, uint64_t count) {
  GradsAxis levels = descriptor.z;
  const bool has_all = count == levels.count;
  levels.count = count;
  if (!has_all && levels.coordinates && levels.coordinates->values) {
    const auto begin = levels.coordinates->values->begin();
    levels.coordinates->values = Share({begin, begin + static_cast<ptrdiff_t>(count)});
  }
  return MakeAxis(has_all ? "lev" : fmt::format("lev_{}", count), levels,
                  descriptor.is_top_first, "");
}

Result<Axis> TimeAxis(const GradsTimes& times) {
  Axis axis{"time", times.count(), Coordinates{0, times.step().value_or(0)}};
  axis.coordinates->attributes = {TextAttribute("units", times.units()),
                                  TextAttribute("calendar", times.calendar())};
  if (times.step()) return axis;
  if (times.count() > kMostListedTimes) return model::Limit("TDEF: {} times", times.count());
  std::vector<double> numbers;
  for (uint64_t i = 0; i < times.count(); ++i) numbers.push_back(times.CoordinateAt(i));
  axis.coordinates->values = Share(std::move(numbers));
  return axis;
}

Result<GradsTimes> TimesOf(const Descriptor& descriptor) {
  const auto& words = descriptor.time;
  if (words.size() < 4 || !EqualsIgnoringCase(words[1], "LINEAR")) {
    return BadInput("TDEF: expected a count, LINEAR, a date and an increment");
  }
  NDLFS_TRY(const uint64_t count, CountIn("TDEF", words[0]));
  return GradsTimes::Parse(words[2], words[3], count, descriptor.has_leap_years);
}

// `name` with that of a member in place of %e.
Result<std::string> NameOfMember(std::string_view name, std::string_view member) {
  constexpr size_t kMostBytes = 4096;
  std::string filled(name);
  for (size_t at = filled.find("%e"); at != filled.npos;
       at = filled.find("%e", at + member.size())) {
    if (filled.size() + member.size() > kMostBytes) return model::Limit("DSET: a long name");
    filled.replace(at, 2, member);
  }
  return filled;
}

// One file for all members, or one for each.
Result<FileList> FilesOfMembers(const Descriptor& descriptor, const GradsTimes& times,
                                std::string_view name) {
  const uint64_t count = descriptor.members.size();
  if (!descriptor.is_template) return FileList{{std::string(name)}, {count}};
  FileList files;
  for (const std::string& member : descriptor.members) {
    NDLFS_TRY(const std::string of_member, NameOfMember(name, member));
    NDLFS_TRY(files.names.emplace_back(), times.FillIn(of_member, 0));
    NDLFS_TRY(const std::string last, times.FillIn(of_member, times.count() - 1));
    if (last != files.names.back()) {
      return Unsupported("EDEF: members in several files each");
    }
    files.rows.push_back(1);
  }
  const bool is_one = std::ranges::all_of(
      files.names, [&](const std::string& file) { return file == files.names.front(); });
  return is_one ? FileList{{files.names.front()}, {count}} : files;
}

// The files, and how many times each has: those that follow each other and lead to one name.
Result<FileList> FilesOf(const Descriptor& descriptor, const GradsTimes& times) {
  std::string_view name = descriptor.files;
  if (name.starts_with('^')) name.remove_prefix(1);
  if (name.empty()) return BadInput("DSET names no file");
  if (!descriptor.members.empty()) return FilesOfMembers(descriptor, times, name);
  FileList files;
  if (!descriptor.is_template) {
    files.names = {std::string(name)};
    files.rows = {times.count()};
    return files;
  }
  if (times.count() > kMaxParts) return model::Limit("TDEF: {} times in files", times.count());
  for (uint64_t i = 0; i < times.count(); ++i) {
    NDLFS_TRY(std::string file, times.FillIn(name, i));
    if (files.names.empty() || files.names.back() != file) {
      files.names.push_back(std::move(file));
      files.rows.push_back(0);
    }
    ++files.rows.back();
  }
  return files;
}

// Whether the first record is as long as the descriptor says.
Result<void> CheckMarker(const OpenedList& files, const Descriptor& descriptor,
                         const Sizes& sizes) {
  if (!descriptor.has_records || sizes.grids.empty() || files.parts->empty()) return {};
  NDLFS_TRY(const auto bytes,
            files.store->Read(files.parts->front().key, kMarker, {0, kMarker}));
  if (!bytes || bytes->size() != kMarker) return {};  // absent, or too short, as others say
  const uint64_t found = LoadNumber(
      bytes->span(), descriptor.is_big ? model::ByteOrder::kBig : model::ByteOrder::kLittle);
  const uint64_t expected = sizes.grids.front() - 2 * kMarker;
  if (found == expected) return {};
  return model::Corrupt("{}: a record of {} bytes, expected {}",
                        model::OneLine(files.store->Describe(files.parts->front().key)), found,
                        expected);
}

// The axes that all variables share.
struct CommonAxes {
  Axis time, latitude, longitude;
};

// An element, without where it is.
DescribedArray DescribeElement(const Descriptor& descriptor, const Variable& variable) {
  DescribedArray array;
  array.name = variable.name;
  array.stored = variable.type;
  if (descriptor.undefined) array.fill = model::Value(*descriptor.undefined);
  return array;
}

DescribedArray DescribeVariable(const Descriptor& descriptor, const Variable& variable,
                                const CommonAxes& axes) {
  DescribedArray array = DescribeElement(descriptor, variable);
  if (!descriptor.members.empty()) array.axes.push_back({"ens", descriptor.members.size()});
  array.axes.push_back(axes.time);
  if (variable.levels > 0) array.axes.push_back(LevelsOf(descriptor, variable.levels));
  array.axes.push_back(axes.latitude);
  array.axes.push_back(axes.longitude);
  if (!variable.description.empty()) {
    array.attributes.push_back(TextAttribute("long_name", variable.description));
  }
  const auto attributes = descriptor.attributes.find(variable.name);
  if (attributes == descriptor.attributes.end()) return array;
  for (const auto& attribute : attributes->second) {
    const auto has_name = [&](const auto& known) { return known.name == attribute.name; };
    if (attribute.name == "_FillValue") continue;
    if (std::ranges::none_of(array.attributes, has_name)) array.attributes.push_back(attribute);
  }
  return array;
}

Result<std::shared_ptr<const ArraySource>> OpenVariable(const OpenedList& files,
                                                        const Sizes& sizes, size_t number,
                                                        bool has_levels,
                                                        const DescribedArray& array) {
  PartsLayout layout = LayoutOf(array);
  layout.offset = sizes.offsets[number];
  layout.fill = EncodedFill(array);
  const uint64_t element = array.stored.size();
  layout.strides = {sizes.time, array.axes.back().size * element, element};
  if (has_levels) layout.strides.insert(layout.strides.begin() + 1, sizes.grids[number]);
  // All times of a member, and then those of the next one.
  if (layout.shape.size() > layout.strides.size()) {
    const auto member = CheckedMultiply(sizes.time, layout.shape[1]);
    if (!member) return model::Limit("more data than any file has");
    layout.strides.insert(layout.strides.begin(), *member);
  }
  return MakeListSource(files, std::move(layout));
}

Result<void> AddVariables(const Descriptor& descriptor, const HeaderFile& file,
                          Contents& contents) {
  NDLFS_TRY(const GradsTimes times, TimesOf(descriptor));
  CommonAxes axes;
  NDLFS_TRY(axes.time, TimeAxis(times));
  if (descriptor.is_projected) {
    axes.latitude = {"y", descriptor.y.count};
    axes.longitude = {"x", descriptor.x.count};
  } else {
    axes.latitude = MakeAxis("lat", descriptor.y, descriptor.is_north_first, "degrees_north");
    axes.longitude = MakeAxis("lon", descriptor.x, false, "degrees_east");
  }
  NDLFS_TRY(const Sizes sizes, SizesOf(descriptor));
  NDLFS_TRY(FileList list, FilesOf(descriptor, times));
  // GrADS takes files of a template that are absent as undefined. That needs a number for it.
  list.allows_absent = descriptor.is_template && descriptor.undefined;
  for (const Variable& variable : descriptor.variables) {
    const auto fill = EncodedFill(DescribeElement(descriptor, variable));
    list.allows_absent = list.allows_absent && !fill.empty();
  }
  auto files = OpenFileList(file, list, contents);
  if (files) {
    const auto checked = CheckMarker(*files, descriptor, sizes);
    if (!checked) files = model::Propagate(checked.error());
  }
  for (size_t i = 0; i < descriptor.variables.size(); ++i) {
    const Variable& variable = descriptor.variables[i];
    DescribedArray array = DescribeVariable(descriptor, variable, axes);
    Result<std::shared_ptr<const ArraySource>> source = nullptr;
    if (files) {
      source = OpenVariable(*files, sizes, i, variable.levels > 0, array);
    } else {
      source = model::Propagate(files.error());
    }
    NDLFS_RETURN_IF_ERROR(contents.AddArray(array, std::move(source)));
  }
  return {};
}

Result<void> ReadGrads(const HeaderFile& file, Contents& contents) {
  NDLFS_TRY(const std::string text, ReadHeaderText(*file.store));
  NDLFS_TRY(const Descriptor descriptor, DescriptorReader(text).Read());
  contents.AddAttributes(descriptor.group_attributes);
  const bool is_whole =
      descriptor.x.count != 0 && descriptor.y.count != 0 && !descriptor.variables.empty();
  if (!is_whole) return BadInput("XDEF, YDEF or VARS is missing");
  return AddVariables(descriptor, file, contents);
}

}  // namespace

const HeaderReader kGrads = {.name = "GrADS",
                             .extensions = {".ctl"},
                             .is_header = &IsDescriptor,
                             .confirm = &DescribesFlatFiles,
                             .read = &ReadGrads};

}  // namespace ndlfs::backends::foreign
