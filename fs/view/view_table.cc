// SPDX-License-Identifier: MIT
//
// Arrays as the columns of a table, in comma-separated values. Every row is equally wide, so
// that any offset can be computed: numbers are right-aligned, and texts are filled up with
// blanks. RFC 4180 says how texts with commas and quotes in them are quoted.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "fs/view/segmented_view.h"
#include "fs/view/text_layout.h"
#include "fs/view/view_kinds.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;
using model::Datatype;
using model::Result;

constexpr size_t kMostColumns = 4096;

// A source of elements that some columns are made from.
struct Input {
  std::shared_ptr<const ElementSource> elements;
  size_t item;  // bytes of an element
};

struct Column {
  std::string title;
  size_t input;   // which one
  size_t offset;  // in its elements
  size_t bytes;
  TextLayout layout;
  bool is_text;

  // Of a text, every character may be a quote, which is written twice.
  size_t width() const {
    const size_t text = layout.line_size() - 1;
    return is_text ? 2 * text + 2 : text;
  }
};

struct Table {
  std::vector<Input> inputs;
  std::vector<Column> columns;
  uint64_t rows = 0;

  size_t row_size() const {
    size_t size = columns.size();  // commas, and a newline
    for (const Column& column : columns) size += column.width();
    return size;
  }
};

bool NeedsQuotes(std::string_view text) {
  return text.find_first_of(",\"\r\n") != std::string_view::npos;
}

// As many bytes as `text`, or more.
std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string Header(const Table& table) {
  std::string line;
  for (const Column& column : table.columns) {
    if (!line.empty()) line += ',';
    line += NeedsQuotes(column.title) ? Quoted(column.title) : column.title;
  }
  return line + '\n';
}

// Adds a column for an element of `type`, or one for each of its members. False where there is
// no text of them.
bool AddColumns(const Datatype& type, std::string title, size_t offset, Table& table) {
  if (type.kind() == Datatype::Kind::kCompound) {
    if (type.members().empty()) return false;
    return std::ranges::all_of(type.members(), [&](const Datatype::Member& member) {
      return AddColumns(member.type, title.empty() ? member.name : title + '.' + member.name,
                        offset + member.offset, table);
    });
  }
  auto layout = TextLayout::Make(type);
  if (!layout || table.columns.size() == kMostColumns) return false;
  table.columns.push_back({std::move(title), table.inputs.size(), offset, type.size(),
                           *std::move(layout), type.kind() == Datatype::Kind::kString});
  return true;
}

bool AddArray(const ArrayInput& array, std::string title, Table& table) {
  if (array.shape.size() != 1 || !array.elements) return false;
  if (!table.inputs.empty() && array.shape[0] != table.rows) return false;
  table.rows = array.shape[0];
  if (!AddColumns(array.dtype, std::move(title), 0, table)) return false;
  table.inputs.push_back({array.elements, array.dtype.size()});
  return true;
}

// nullopt where there are no arrays, or one is no column of the table. The same questions as
// those of data.nc: they end at the first array that does not fit.
Result<std::optional<Table>> LoadTable(const GroupInput& group) {
  Table table;
  NDLFS_TRY(const auto names, group.List());
  for (const std::string& name : names) {
    NDLFS_TRY(const auto link, group.GetLink(name), name);
    if (link) continue;
    auto child = group.Load(name);
    if (!child && child.error().is_transient()) {
      return model::Propagate(std::move(child).error(), name);
    }
    if (child && child->group) continue;
    if (!child || !child->array || !AddArray(*child->array, name, table)) return std::nullopt;
  }
  if (table.columns.empty()) return std::nullopt;
  return table;
}

class TableTracker final : public ReadTracker {
 public:
  TableTracker(const Table& table, cache::Prefetcher& prefetcher)
      : row_size_(table.row_size()) {
    for (const Input& input : table.inputs) {
      trackers_.push_back({input.elements->TrackReader(prefetcher), input.item});
    }
  }
  cache::Access OnRead(uint64_t offset, uint64_t size) override {
    if (size == 0) return cache::Access::kOnward;
    const uint64_t first = offset / row_size_;
    const uint64_t count = (offset + size - 1) / row_size_ - first + 1;
    for (const auto& [tracker, item] : trackers_) tracker->OnRead(first * item, count * item);
    return cache::Access::kOnward;
  }
  void Expect(uint64_t offset) override {
    for (const auto& [tracker, item] : trackers_) tracker->Expect(offset / row_size_ * item);
  }

 private:
  const size_t row_size_;
  std::vector<std::pair<std::unique_ptr<ReadTracker>, size_t>> trackers_;
};

// The lines without the header.
class Rows final : public ElementSource {
 public:
  Rows(Table table, uint64_t size)
      : table_(std::move(table)), row_size_(table_.row_size()), size_(size) {
    for (const Column& column : table_.columns) {
      most_cell_ = std::max(most_cell_, column.layout.line_size());
    }
  }

  uint64_t size() const override { return size_; }
  Result<void> Read(uint64_t offset, ByteSpan out, model::ByteOrder,
                    cache::Access access) const override {
    constexpr size_t kBatchBytes = size_t{256} << 10;
    while (!out.empty()) {
      const uint64_t skip = offset % row_size_;
      const uint64_t most = std::max<uint64_t>(1, kBatchBytes / row_size_) * row_size_ - skip;
      const size_t count = std::min<uint64_t>(out.size(), most);
      const uint64_t rows = (skip + count + row_size_ - 1) / row_size_;
      std::string text(rows * row_size_, ' ');
      NDLFS_RETURN_IF_ERROR(Format(offset / row_size_, rows, text, access));
      std::memcpy(out.data(), text.data() + skip, count);
      out = out.subspan(count);
      offset += count;
    }
    return {};
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return std::make_unique<TableTracker>(table_, prefetcher);
  }

 private:
  // Writes `rows` rows from `first` on into `text`, which is blank.
  Result<void> Format(uint64_t first, uint64_t rows, std::string& text,
                      cache::Access access) const {
    std::vector<std::vector<std::byte>> elements;
    for (const Input& input : table_.inputs) {
      std::vector<std::byte>& bytes = elements.emplace_back(rows * input.item);
      NDLFS_RETURN_IF_ERROR(
          input.elements->Read(first * input.item, bytes, model::ByteOrder::kLittle, access));
    }
    std::vector<char> line(most_cell_);
    char* at = text.data();
    for (uint64_t row = 0; row < rows; ++row) {
      for (const Column& column : table_.columns) {
        const size_t item = table_.inputs[column.input].item;
        const ConstByteSpan element = ConstByteSpan(elements[column.input])
                                          .subspan(row * item + column.offset, column.bytes);
        column.layout.Format(element, line.data());
        WriteCell(column, {line.data(), column.layout.line_size() - 1}, at);
        at += column.width();
        *at++ = &column == &table_.columns.back() ? '\n' : ',';
      }
    }
    return {};
  }
  static void WriteCell(const Column& column, std::string_view text, char* at) {
    if (!column.is_text || !NeedsQuotes(text)) {
      std::memcpy(at, text.data(), text.size());
      return;
    }
    const std::string quoted = Quoted(text);
    // Blanks before the closing quote, or they would stand behind the field.
    std::memcpy(at, quoted.data(), quoted.size() - 1);
    at[column.width() - 1] = '"';
  }

  const Table table_;
  const size_t row_size_;
  const uint64_t size_;
  size_t most_cell_ = 0;
};

Result<ViewPtr> MakeTable(Table table) {
  const auto size = backends::CheckedMultiply(table.rows, table.row_size());
  if (!size || *size > backends::kMaxViewSize) {
    return model::Limit("more than {} bytes of text", backends::kMaxViewSize);
  }
  std::string header = Header(table);
  return MakeSegmentedView({Literal(std::move(header)),
                            AllOf(std::make_shared<const Rows>(std::move(table), *size))});
}

bool IsStructs(const ArrayInput& input) {
  Table table;
  return input.dtype.kind() == Datatype::Kind::kCompound && !input.dtype.is_complex() &&
         AddArray(input, "", table);
}

}  // namespace

const ArrayViewKind kTableView = {
    .file_name = "table.csv",
    .is_text = true,
    .applies_to = &IsStructs,
    .is_listed = [](const ArrayInput&) { return false; },
    .make = [](const ArrayInput& input) -> Result<ViewPtr> {
      Table table;
      if (!AddArray(input, "", table)) return model::Unsupported("elements are no rows");
      return MakeTable(std::move(table));
    },
};

const GroupViewKind kGroupTableView = {
    .file_name = "table.csv",
    .is_text = true,
    .applies_to =
        [](const GroupInput& group) {
          const auto table = LoadTable(group);
          return !table || table->has_value();  // a failure is told when the file is made
        },
    .is_listed = [](const GroupInput&) { return false; },
    .make = [](const GroupInput& group) -> Result<ViewPtr> {
      NDLFS_TRY(auto table, LoadTable(group));
      if (!table) return model::NotFound("the arrays are no columns of one table");
      return MakeTable(*std::move(table));
    },
};

}  // namespace ndlfs::fs
