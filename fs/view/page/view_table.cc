// SPDX-License-Identifier: MIT
//
// Arrays as the columns of a table, in comma-separated values: values.csv, which is also called
// table.csv, and data.csv, which has the numbers of the store. RFC 4180 says how cells with
// commas, quotes and line ends are quoted. Cells are not padded, so that only making the text
// tells its size.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cache/array_reader.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/row_text.h"
#include "fs/view/page/csv_cells.h"
#include "fs/view/page/views.h"
#include "model/path_name.h"
#include "model/reserved_names.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;
using model::Datatype;
using model::Result;

constexpr size_t kMostColumns = 4096;
// Texts of a column in the rows that are made together; whole texts are in memory.
constexpr uint64_t kMostTextBytes = uint64_t{32} << 20;
// The size that a text of variable length is assumed to have before it is read.
constexpr uint64_t kUsualText = 64;

// A source of elements that some columns are made from: of fixed size, or texts.
struct CsvInput {
  std::shared_ptr<const ElementSource> elements;
  size_t item = 0;                                    // bytes of an element
  std::shared_ptr<const cache::ArrayReader> texts{};  // where `elements` is null
  int rank = 0;  // the columns of inputs with a lower one come first

  uint64_t row_bytes() const { return elements ? std::max<uint64_t>(item, 1) : kUsualText; }
};

struct CsvTableColumn {
  std::string title;
  size_t input;   // which one
  size_t offset;  // in its elements
  size_t bytes;
  CsvCellPtr cell;
};

struct CsvTable {
  std::vector<CsvInput> inputs;
  std::vector<CsvTableColumn> columns;
  uint64_t rows = 0;
  ScanLimits limits;
  std::string_view file_name;

  // Bytes of elements in a row, about.
  uint64_t row_bytes() const {
    uint64_t bytes = 0;
    for (const CsvInput& input : inputs) bytes += input.row_bytes();
    return std::max<uint64_t>(bytes, 1);
  }
};

bool NeedsQuotes(std::string_view text) {
  return text.find_first_of(",\"\r\n") != std::string_view::npos;
}

void AppendQuoted(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

std::string CsvHeader(const CsvTable& table) {
  std::string line;
  for (const CsvTableColumn& column : table.columns) {
    if (&column != &table.columns.front()) line += ',';
    NeedsQuotes(column.title) ? AppendQuoted(column.title, line)
                              : static_cast<void>(line += column.title);
  }
  return line + '\n';
}

// Adds a column for an element of `type`, or one for each of its members. False where there is
// no text of them.
bool AddCsvColumns(const Datatype& type, CsvForm form, std::string title, size_t offset,
                   CsvTable& table) {
  if (type.kind() == Datatype::Kind::kCompound) {
    if (type.members().empty()) return false;
    return std::ranges::all_of(type.members(), [&](const Datatype::Member& member) {
      return AddCsvColumns(member.type, form,
                           title.empty() ? member.name : title + '.' + member.name,
                           offset + member.offset, table);
    });
  }
  CsvCellPtr cell = type.is_fixed_size() ? MakeCsvCell(type, form) : nullptr;
  if (!cell || table.columns.size() == kMostColumns) return false;
  table.columns.push_back(
      {std::move(title), table.inputs.size(), offset, type.size(), std::move(cell)});
  return true;
}

bool AddCsvArray(const ArrayInput& array, CsvForm form, std::string title, CsvTable& table) {
  if (array.shape.size() != 1) return false;
  if (!table.inputs.empty() && array.shape[0] != table.rows) return false;
  table.rows = array.shape[0];
  table.limits = array.scan;
  table.file_name = form == CsvForm::kStored ? "data.csv" : "values.csv";
  if (array.dtype.kind() == Datatype::Kind::kCompound) {
    if (!array.elements || !AddCsvColumns(array.dtype, form, std::move(title), 0, table)) {
      return false;
    }
    table.inputs.push_back({array.elements, array.dtype.size()});
    return true;
  }
  auto column = MakeCsvColumn(array, form);
  if (!column || table.columns.size() == kMostColumns) return false;
  const size_t size = column->type.size();
  table.columns.push_back(
      {std::move(title), table.inputs.size(), 0, size, std::move(column->cell)});
  table.inputs.push_back({column->elements, size, column->elements ? nullptr : array.reader});
  return true;
}

// The order of people: time, the other coordinates, what was measured.
void RankInputs(const std::vector<std::shared_ptr<const backends::Node>>& arrays,
                CsvTable& table) {
  std::set<std::string> coordinates;
  for (const auto& array : arrays) {
    const auto words = WordsOf(model::TextOf(array->attributes(), "coordinates"));
    coordinates.insert(words.begin(), words.end());
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    const model::Ndarray& array = arrays[i]->array();
    const bool is_coordinate = std::holds_alternative<model::DimCoord>(arrays[i]->entity) ||
                               coordinates.contains(array.name);
    const bool is_time =
        array.type.time() ||
        model::TextOf(array.attributes, "units").find(" since ") != std::string::npos;
    table.inputs[i].rank = !is_coordinate ? 2 : is_time ? 0 : 1;
  }
  std::ranges::stable_sort(table.columns, {}, [&](const CsvTableColumn& column) {
    return table.inputs[column.input].rank;
  });
}

// nullopt where there are no arrays, or one is no column of the table. The same questions as
// those of data.nc: they end at the first array that does not fit.
Result<std::optional<CsvTable>> LoadCsvTable(const GroupInput& group, CsvForm form) {
  CsvTable table;
  std::vector<std::shared_ptr<const backends::Node>> arrays;  // of each input
  NDLFS_TRY(const auto names, group.List());
  for (const std::string& name : names) {
    NDLFS_TRY(const auto link, group.GetLink(name), name);
    if (link) continue;
    auto child = group.Load(name);
    if (!child && child.error().is_transient()) {
      return model::Propagate(std::move(child).error(), name);
    }
    if (child && child->group) continue;
    if (!child || !child->array || !AddCsvArray(*child->array, form, name, table)) {
      return std::nullopt;
    }
    arrays.push_back(child->array->node);
  }
  if (table.columns.empty()) return std::nullopt;
  RankInputs(arrays, table);
  return table;
}

class CsvRows final : public TextRows {
 public:
  explicit CsvRows(CsvTable table) : table_(std::move(table)) {}

  uint64_t count() const override { return table_.rows; }
  uint64_t row_bytes() const override { return table_.row_bytes(); }
  Result<void> Append(uint64_t first, uint64_t count, std::string& out,
                      const Note& note) const override {
    std::vector<std::vector<std::byte>> elements(table_.inputs.size());
    std::vector<std::vector<std::string>> texts(table_.inputs.size());
    for (size_t i = 0; i < table_.inputs.size(); ++i) {
      NDLFS_RETURN_IF_ERROR(Read(table_.inputs[i], first, count, elements[i], texts[i]));
    }
    for (uint64_t row = 0; row < count; ++row) {
      const size_t begin = out.size();
      for (const CsvTableColumn& column : table_.columns) {
        if (&column != &table_.columns.front()) out += ',';
        const CsvInput& input = table_.inputs[column.input];
        const ConstByteSpan element =
            input.elements ? ConstByteSpan(elements[column.input])
                                 .subspan(row * input.item + column.offset, column.bytes)
                           : backends::AsBytes(texts[column.input][row]);
        NDLFS_RETURN_IF_ERROR(AppendCell(column, element, out),
                              fmt::format("row {}", first + row));
      }
      out += '\n';
      note(row, out.size() - begin);
    }
    return {};
  }

 private:
  static Result<void> Read(const CsvInput& input, uint64_t first, uint64_t count,
                           std::vector<std::byte>& elements, std::vector<std::string>& texts) {
    if (input.elements) {
      elements.resize(count * input.item);
      return input.elements->Read(first * input.item, elements, model::ByteOrder::kLittle,
                                  cache::ReadHint::kOnward);
    }
    texts.reserve(count);
    uint64_t bytes = 0;
    NDLFS_RETURN_IF_ERROR(input.texts->Visit(first, count, [&](ConstByteSpan element) {
      bytes += element.size();
      if (bytes > kMostTextBytes) return false;
      texts.emplace_back(backends::AsText(element));
      return true;
    }));
    if (bytes <= kMostTextBytes) return {};
    return model::Limit("{} rows have more than {} bytes of text", count, kMostTextBytes);
  }

  Result<void> AppendCell(const CsvTableColumn& column, ConstByteSpan element,
                          std::string& out) const {
    const size_t begin = out.size();
    NDLFS_RETURN_IF_ERROR(column.cell->Append(element, out));
    const std::string_view text = std::string_view(out).substr(begin);
    // An empty line would be no row.
    const bool is_blank_line = text.empty() && table_.columns.size() == 1;
    if (!is_blank_line && !NeedsQuotes(text)) return {};
    const std::string plain(text);
    out.resize(begin);
    AppendQuoted(plain, out);
    return {};
  }

  const CsvTable table_;
};

model::Error CsvRefusal(const ScanLimits& limits, std::string_view file_name) {
  return model::Limit(
             "more than {} bytes would have to be decoded to tell its size (--max-scan); "
             "`ndlfs cat --view {}` writes it",
             limits.max_bytes, file_name)
      .value();
}

ViewPtr MakeCsv(CsvTable table) {
  std::string header = CsvHeader(table);
  const ScanLimits limits = table.limits;
  const model::Error refusal = CsvRefusal(limits, table.file_name);
  return MakeRowText(std::move(header), std::make_unique<const CsvRows>(std::move(table)),
                     limits, refusal);
}

template <CsvForm form>
bool IsCsvOfStructs(const ArrayInput& input) {
  CsvTable table;
  return input.dtype.kind() == Datatype::Kind::kCompound && !input.dtype.is_complex() &&
         AddCsvArray(input, form, "", table);
}

template <CsvForm form>
Result<ViewNode> MakeCsvOfStructs(const ArrayInput& input) {
  CsvTable table;
  if (!AddCsvArray(input, form, "", table)) return model::Unsupported("elements are no rows");
  return MakeCsv(std::move(table));
}

bool IsUnlistedArray(const ArrayInput&) { return false; }
bool IsUnlistedGroup(const GroupInput&) { return false; }

template <CsvForm form>
bool IsCsvOfGroup(const GroupInput& group) {
  const auto table = LoadCsvTable(group, form);
  return !table || table->has_value();  // a failure is told when the file is made
}

template <CsvForm form>
Result<ViewNode> MakeCsvOfGroup(const GroupInput& group) {
  NDLFS_TRY(auto table, LoadCsvTable(group, form));
  if (!table) return model::NotFound("the arrays are no columns of one table");
  return MakeCsv(*std::move(table));
}

constexpr std::string_view CsvDescription(std::string_view file_name) {
  return file_name == model::kTableFileName ? "the same as values.csv"
                                            : "comma-separated values, an element a row";
}

template <CsvForm form>
constexpr ArrayViewKind CsvOfArray(std::string_view file_name) {
  return {.file_name = file_name,
          .description = CsvDescription(file_name),
          .is_text = true,
          .applies_to = &IsCsvOfStructs<form>,
          .is_listed = &IsUnlistedArray,
          .make = &MakeCsvOfStructs<form>};
}
template <CsvForm form>
constexpr GroupViewKind CsvOfGroup(std::string_view file_name) {
  return {.file_name = file_name,
          .description = CsvDescription(file_name),
          .is_text = true,
          .applies_to = &IsCsvOfGroup<form>,
          .is_listed = &IsUnlistedGroup,
          .make = &MakeCsvOfGroup<form>};
}

}  // namespace

const ArrayViewKind kTableView = CsvOfArray<CsvForm::kValues>(model::kTableFileName);
const ArrayViewKind kValuesCsvView = CsvOfArray<CsvForm::kValues>("values.csv");
const ArrayViewKind kDataCsvView = CsvOfArray<CsvForm::kStored>("data.csv");
const GroupViewKind kGroupTableView = CsvOfGroup<CsvForm::kValues>(model::kTableFileName);
const GroupViewKind kGroupValuesCsvView = CsvOfGroup<CsvForm::kValues>("values.csv");
const GroupViewKind kGroupDataCsvView = CsvOfGroup<CsvForm::kStored>("data.csv");

}  // namespace ndlfs::fs
