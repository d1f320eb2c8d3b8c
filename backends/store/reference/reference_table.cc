// SPDX-License-Identifier: MIT
#include "backends/store/reference/reference_table.h"

#include <algorithm>

namespace ndlfs::backends::kerchunk {
namespace {

using parquet::Values;

// What the pages of one column may take: values that are in the table itself are small.
constexpr uint64_t kMaxColumn = uint64_t{256} << 20;
constexpr uint64_t kMaxKept = uint64_t{16} << 20;

enum class Kind : uint8_t { kText, kNumber };

// The column called `name`; no values if there is none, or if all are null.
model::Result<Values> ReadColumn(const parquet::Table& table, std::string_view name, Kind kind,
                                 uint64_t max_rows) {
  const parquet::Column* column = table.Find(name);
  if (!column) return Values();
  NDLFS_TRY(Values values, table.Read(*column, max_rows, kMaxColumn));
  if (std::ranges::find(values.present, true) == values.present.end()) return Values();
  const bool is_text = column->type == parquet::Type::kByteArray;
  const bool is_number =
      column->type == parquet::Type::kInt64 || column->type == parquet::Type::kInt32;
  if (kind == Kind::kText ? is_text : is_number) return values;
  return model::Unsupported("column {} has another type", model::Quote(name));
}

bool IsPresent(const Values& values, uint64_t row) {
  return row < values.present.size() && values.present[row];
}

model::Result<uint64_t> NumberAt(const Values& values, uint64_t row, std::string_view name) {
  const int64_t number = IsPresent(values, row) ? values.numbers[row] : 0;
  if (number < 0) return model::Corrupt("row {}: {} is {}", row, name, number);
  return static_cast<uint64_t>(number);
}

}  // namespace

model::Result<ReferenceTable> ReferenceTable::Read(ConstByteSpan file, const ValueInfo& info,
                                                   uint64_t max_rows) {
  NDLFS_TRY(const parquet::Table source, parquet::Table::Open(file));
  ReferenceTable table;
  table.info_ = info;
  table.rows_ = source.rows();
  NDLFS_TRY(table.path_, ReadColumn(source, "path", Kind::kText, max_rows));
  NDLFS_TRY(table.offset_, ReadColumn(source, "offset", Kind::kNumber, max_rows));
  NDLFS_TRY(table.size_, ReadColumn(source, "size", Kind::kNumber, max_rows));
  NDLFS_TRY(table.raw_, ReadColumn(source, "raw", Kind::kText, max_rows));
  if (!source.Find("path") && !source.Find("raw")) {
    return model::BadInput("a table without the columns \"path\" and \"raw\"");
  }
  return table;
}

uint64_t ReferenceTable::held_bytes() const {
  return sizeof(*this) + path_.held_bytes() + offset_.held_bytes() + size_.held_bytes() +
         raw_.held_bytes();
}

model::Result<std::optional<ReferenceTable::Row>> ReferenceTable::Find(uint64_t row) const {
  if (IsPresent(raw_, row)) return Row{raw_.texts[row], {}, {}};
  if (!IsPresent(path_, row)) return std::nullopt;
  Row found{std::nullopt, AsText(path_.texts[row]), {}};
  NDLFS_TRY(const uint64_t offset, NumberAt(offset_, row, "offset"));
  NDLFS_TRY(const uint64_t size, NumberAt(size_, row, "size"));
  if (offset != 0 || size != 0) found.range = {offset, size};
  return found;
}

TableCache::Pointer TableCache::Find(std::string_view key) const {
  const model::MutexLock lock(mutex_);
  const auto found =
      std::ranges::find(tables_, key, [](const auto& table) { return table.first; });
  if (found == tables_.end()) return nullptr;
  tables_.splice(tables_.begin(), tables_, found);
  return found->second;
}

void TableCache::Keep(std::string_view key, Pointer table) const {
  const model::MutexLock lock(mutex_);
  const auto drop = [this](auto entry) REQUIRES(mutex_) {
    held_bytes_ -= entry->second->held_bytes();
    tables_.erase(entry);
  };
  const auto old =
      std::ranges::find(tables_, key, [](const auto& entry) { return entry.first; });
  if (old != tables_.end()) drop(old);
  held_bytes_ += table->held_bytes();
  tables_.emplace_front(key, std::move(table));
  while (held_bytes_ > kMaxKept && tables_.size() > 1) drop(std::prev(tables_.end()));
}

uint64_t TableCache::held_bytes() const {
  const model::MutexLock lock(mutex_);
  return held_bytes_;
}

}  // namespace ndlfs::backends::kerchunk
