// SPDX-License-Identifier: MIT
#include "backends/format/foreign/fits_table.h"

#include <algorithm>
#include <utility>

#include "backends/codec/registry.h"
#include "backends/format/foreign/fits_rows.h"

namespace ndlfs::backends::foreign {
namespace {

using model::Datatype;
using model::Result;

// Describes rows that are decoded without a change, except for byte order: as compounds with
// the places of the columns in the file.
Result<void> DescribePlainRows(const FitsTableForm& form, DescribedArray& array) {
  const auto names = NamesOfColumns(form.columns);
  std::vector<Datatype::Member> stored;
  std::vector<Datatype::Member> decoded;
  std::vector<size_t> highest_bytes;
  for (size_t i = 0; i < form.columns.size(); ++i) {
    const FitsColumn& column = form.columns[i];
    stored.push_back({names[i], column.stored, column.offset});
    decoded.push_back({names[i], column.type, column.offset});
    for (uint64_t n = 1; column.moves_zero && n <= column.count; ++n) {
      highest_bytes.push_back(column.offset + n * column.item_size - 1);
    }
  }
  array.stored = Datatype::Compound(std::move(stored), form.width);
  if (highest_bytes.empty()) return {};
  array.dtype = Datatype::Compound(std::move(decoded), form.width);
  NDLFS_TRY(array.codec, MakeMovedZero(array.stored, std::move(highest_bytes)));
  return {};
}

// To move by half of the range is to flip the highest bit.
class MovedZero final : public ArrayToBytesCodec {
 public:
  MovedZero(std::shared_ptr<const ArrayToBytesCodec> stored, std::vector<size_t> highest_bytes)
      : stored_(std::move(stored)), highest_bytes_(std::move(highest_bytes)) {}

  std::string_view name() const override { return "moved zero"; }
  std::optional<uint64_t> EncodedSize(const ChunkForm& form) const override {
    return stored_->EncodedSize(form);
  }
  bool DecodesInPlace(const ChunkForm& form) const override {
    return stored_->DecodesInPlace(form);
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    NDLFS_RETURN_IF_ERROR(stored_->Decode(encoded, form, decoded));
    const size_t size = form.dtype.size();
    for (size_t element = 0; element < decoded.size(); element += size) {
      for (const size_t place : highest_bytes_) decoded[element + place] ^= std::byte{0x80};
    }
    return {};
  }

 private:
  const std::shared_ptr<const ArrayToBytesCodec> stored_;
  const std::vector<size_t> highest_bytes_;
};

}  // namespace

Result<std::vector<TableColumn>> ColumnsOf(const FitsHeader& header) {
  NDLFS_TRY(const FitsTableForm form, ReadTableForm(header, /*is_ascii=*/false));
  std::vector<TableColumn> columns;
  for (const FitsColumn& column : form.columns) {
    const bool has_items =
        column.descriptor != 0 && column.letter != 'A' && column.letter != 'X';
    columns.push_back({column.name, column.form, column.offset, column.width,
                       has_items ? column.item_size : 0});
  }
  return columns;
}

Result<FitsTable> DescribeTable(const FitsHeader& header, bool is_ascii, const DataFile& file,
                                uint64_t offset, const OpenOptions& options) {
  NDLFS_TRY(FitsTableForm form, ReadTableForm(header, is_ascii));
  FitsTable table;
  table.array.axes = {{"row", form.rows}};
  for (const FitsColumn& column : form.columns) {
    table.array.notes.insert(table.array.notes.end(), column.notes.begin(), column.notes.end());
  }
  if (form.columns.empty()) {
    table.array.axes = {{"row", 0}};
    table.array.stored = Datatype::Opaque(1);
    return table;
  }
  if (std::ranges::none_of(form.columns, &FitsColumn::is_converted)) {
    NDLFS_RETURN_IF_ERROR(DescribePlainRows(form, table.array));
    return table;
  }
  const bool is_variable = std::ranges::any_of(
      form.columns, [](const FitsColumn& column) { return column.descriptor != 0; });
  table.array.stored = Datatype::Opaque(form.width);
  table.array.dtype = RowType(form.columns);
  if (!is_variable) {
    table.array.codec = MakeRowsCodec(std::move(form));
    return table;
  }
  NDLFS_TRY(FitsTablePlace place, FindHeap(header, form, file, offset));
  table.source = MakeVariableRows(std::move(form), std::move(place), options);
  return table;
}

model::Result<std::shared_ptr<const ArrayToBytesCodec>> MakeMovedZero(
    const model::Datatype& stored, std::vector<size_t> highest_bytes) {
  NDLFS_TRY(auto codec, MakeStoredBytes(stored));
  return std::make_shared<const MovedZero>(std::move(codec), std::move(highest_bytes));
}

}  // namespace ndlfs::backends::foreign
