// SPDX-License-Identifier: MIT
//
// The output of MITgcm's package mdsio: a .meta file with lists "name = [ ... ];" next to a
// .data file of big-endian numbers, the first dimension fastest.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/format/foreign/header_format.h"
#include "backends/format/foreign/header_text.h"
#include "backends/store/file_name.h"

namespace ndlfs::backends::foreign {
namespace {

using model::BadInput;
using model::Datatype;
using model::Result;

constexpr size_t kMostMitgcmAxes = 8;
constexpr uint64_t kMostFields = 10'000;

// " nDims = [", with any blanks.
bool HasListOfDimensions(std::string_view text) {
  for (size_t at = text.find("nDims"); at != std::string_view::npos;
       at = text.find("nDims", at + 1)) {
    std::string_view rest = Trim(text.substr(at + std::string_view("nDims").size()));
    if (!rest.starts_with('=')) continue;
    rest.remove_prefix(1);
    if (Trim(rest).starts_with('[')) return true;
  }
  return false;
}

// Lists by their names; items are separated by blanks. Texts have lost their quotes and the
// blanks inside.
HeaderFields ParseMitgcmHeader(std::string_view text, Contents& contents) {
  HeaderFields header;
  while (true) {
    const size_t equals = text.find('=');
    const size_t open = text.find_first_of("[{", equals);
    const size_t close = text.find_first_of("]}", open);
    if (equals == std::string_view::npos || close == std::string_view::npos) return header;
    std::string_view name = text.substr(0, equals);
    name.remove_prefix(name.find_last_of(";\n") + 1);  // npos + 1 is 0
    std::string value;
    bool is_quoted = false;
    for (const char c : text.substr(open + 1, close - open - 1)) {
      if (c == '\'') is_quoted = !is_quoted;
      const bool is_blank = c == ' ' || c == '\n' || c == '\r' || c == ',' || c == '\t';
      if (is_quoted && is_blank) continue;
      value += c == '\'' || is_blank ? ' ' : c;
    }
    const auto words = SplitWords(value);
    std::string joined;
    for (const std::string_view word : words) {
      if (!joined.empty()) joined += ' ';
      joined += word;
    }
    contents.AddAttribute(TextAttribute(std::string(Trim(name)), joined));
    header.Add(Trim(name), joined);
    text.remove_prefix(close + 1);
  }
}

Result<Datatype> MitgcmType(const HeaderFields& header) {
  const std::string name =
      Lowercase(header.Has("dataprec") ? header["dataprec"] : header["format"]);
  constexpr auto kBig = model::ByteOrder::kBig;
  if (name == "float32" || name == "real*4") return Datatype::Float32(kBig);
  if (name == "float64" || name == "real*8") return Datatype::Float64(kBig);
  return BadInput("dataprec: {}", model::Quote(name));
}

// The dimensions of one record, the slowest first. A tile has the indexes of its places in the
// whole grid, from 1 on.
Result<std::vector<Axis>> MitgcmAxes(const HeaderFields& header) {
  constexpr std::array<std::string_view, 3> kNames = {"x", "y", "z"};
  const auto count = ParseCount(header["nDims"]);
  if (!count || *count == 0 || *count > kMostMitgcmAxes) {
    return BadInput("nDims: {}", model::Quote(header["nDims"]));
  }
  const auto list = ParseCounts(header["dimList"]);
  if (!list || list->size() != 3 * *count) {
    return BadInput("dimList: {} for {} dimensions", model::Quote(header["dimList"]), *count);
  }
  std::vector<Axis> axes;
  for (size_t d = 0; d < *count; ++d) {
    const uint64_t whole = (*list)[3 * d];
    const uint64_t first = (*list)[3 * d + 1];
    const uint64_t last = (*list)[3 * d + 2];
    if (first == 0 || last < first || last > whole) {
      return BadInput("dimList: {} to {} of {}", first, last, whole);
    }
    Axis axis{d < kNames.size() ? std::string(kNames[d]) : std::string(), last - first + 1};
    if (axis.size != whole) axis.coordinates = Coordinates{static_cast<double>(first), 1};
    axes.insert(axes.begin(), std::move(axis));
  }
  return axes;
}

// "T" of "T.0000000010.meta".
std::string NameOfField(const HeaderFile& file) {
  const std::string_view name = FileNameOf(file.path);
  return std::string(name.substr(0, name.find('.')));
}

struct Records {
  std::vector<std::string> fields;  // names, one for each array
  uint64_t per_field = 1;
};

Result<Records> RecordsOf(const HeaderFields& header, const HeaderFile& file) {
  uint64_t count = 1;
  if (header.Has("nrecords")) {
    const auto found = ParseCount(header["nrecords"]);
    if (!found || *found == 0)
      return BadInput("nrecords: {}", model::Quote(header["nrecords"]));
    count = *found;
  }
  Records records;
  for (const std::string_view name : SplitWords(header["fldList"])) {
    records.fields.emplace_back(name);
  }
  const uint64_t fields = records.fields.size();
  if (fields > kMostFields) return model::Limit("fldList: {} fields", fields);
  const bool is_known = fields != 0 && ParseCount(header["nFlds"]) == fields;
  if (!is_known || count % fields != 0) records.fields = {NameOfField(file)};
  records.per_field = count / records.fields.size();
  return records;
}

Result<void> AddFields(const HeaderFields& header, const HeaderFile& file, Contents& contents) {
  DescribedArray field;
  NDLFS_TRY(field.stored, MitgcmType(header));
  NDLFS_TRY(field.axes, MitgcmAxes(header));
  NDLFS_TRY(const Records records, RecordsOf(header, file));
  if (records.per_field > 1) {
    field.axes.insert(field.axes.begin(), {"record", records.per_field});
  }
  if (const auto missing = ParseReal(header["missingValue"]))
    field.fill = model::Value(*missing);
  const auto bytes = CheckedProduct(field.shape(), field.stored.size());
  const auto all = bytes ? CheckedMultiply(*bytes, records.fields.size()) : std::nullopt;
  if (!all) return model::Limit("too many elements");
  const std::string name = std::string(StemOf(FileNameOf(file.path))) + ".data";
  const auto data = OpenDataFile(file, name, contents);
  for (size_t i = 0; i < records.fields.size(); ++i) {
    field.name = records.fields[i];
    Result<std::shared_ptr<const ArraySource>> source = nullptr;
    if (data) {
      source = MakeFileSource(field, *data, i * *bytes);
    } else {
      source = model::Propagate(data.error());
    }
    NDLFS_RETURN_IF_ERROR(contents.AddArray(field, std::move(source)));
  }
  return {};
}

Result<void> ReadMitgcm(const HeaderFile& file, Contents& contents) {
  NDLFS_TRY(const std::string text, ReadHeaderText(*file.store));
  const HeaderFields header = ParseMitgcmHeader(text, contents);
  return AddFields(header, file, contents);
}

}  // namespace

const HeaderReader kMitgcm = {.name = "MITgcm",
                              .extensions = {".meta"},
                              .is_header = &HasListOfDimensions,
                              .read = &ReadMitgcm};

}  // namespace ndlfs::backends::foreign
