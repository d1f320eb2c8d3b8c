// SPDX-License-Identifier: MIT
#include "backends/format/foreign/fits_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/load_number.h"
#include "backends/format/block_shape.h"

namespace ndlfs::backends::foreign {
namespace {

using model::BadInput;
using model::Corrupt;
using model::Datatype;
using model::Result;

class RowsCodec final : public ArrayToBytesCodec {
 public:
  explicit RowsCodec(FitsTableForm table) : table_(std::move(table)) {}

  std::string_view name() const override { return "FITS table"; }
  std::optional<uint64_t> EncodedSize(const ChunkForm& form) const override {
    const auto rows = form.element_count();
    return rows ? CheckedMultiply(*rows, table_.width) : std::nullopt;
  }

  Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                      ByteSpan decoded) const override {
    const uint64_t rows = form.element_count().value_or(0);
    if (encoded.size() != rows * table_.width) {
      return Corrupt("{} bytes for {} rows of {}", encoded.size(), rows, table_.width);
    }
    std::byte* out = decoded.data();
    for (uint64_t row = 0; row < rows; ++row) {
      const std::byte* begin = encoded.data() + row * table_.width;
      for (const FitsColumn& column : table_.columns) {
        NDLFS_RETURN_IF_ERROR(DecodeItems(column, begin + column.offset, column.count, out),
                              column.name);
        out += column.type.size();
      }
    }
    return {};
  }

 private:
  const FitsTableForm table_;
};

// The items of a field in the heap.
struct HeapItems {
  uint64_t count = 0;  // bits in columns of bits
  uint64_t begin = 0;  // offset in the file
  uint64_t bytes = 0;
};

// The part of the heap that is read for some rows.
struct HeapPart {
  uint64_t begin = 0;  // offset in the file
  Bytes bytes;
};

class VariableRows final : public ArraySource {
 public:
  VariableRows(ArraySpec spec, FitsTableForm table, FitsTablePlace place)
      : spec_(std::move(spec)), table_(std::move(table)), place_(std::move(place)) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    const uint64_t first = spec_.grid.Begin(0, index[0]);
    const uint64_t count = spec_.grid.ChunkShape(index)[0];
    ChunkLocation location;
    location.generate = [this, first, count](uint64_t limit) {
      return MakeElements(first, count, limit);
    };
    return location;
  }

 private:
  Result<Bytes> MakeElements(uint64_t first, uint64_t count, uint64_t limit) const {
    NDLFS_TRY(const Bytes rows,
              ReadBytes(place_.offset + first * table_.width, count * table_.width));
    NDLFS_TRY(const auto fields, FieldsOf(rows.span(), first, count, limit));
    NDLFS_TRY(const std::optional<HeapPart> heap, ReadTogether(fields, limit));
    const uint64_t table_size = (count + 1) * sizeof(uint64_t);
    std::vector<std::byte> out(table_size);
    size_t next_field = 0;
    for (uint64_t row = 0; row < count; ++row) {
      SetStart(row, out.size() - table_size, out);
      const std::byte* begin = rows.data() + row * table_.width;
      for (const FitsColumn& column : table_.columns) {
        const HeapItems* items = column.descriptor != 0 ? &fields[next_field++] : nullptr;
        NDLFS_RETURN_IF_ERROR(AddField(column, begin + column.offset, items, heap, out));
      }
      if (out.size() > limit) return model::Limit("rows of more than {} bytes", limit);
    }
    SetStart(count, out.size() - table_size, out);
    return Bytes::Copy(out);
  }

  static void SetStart(uint64_t row, uint64_t start, std::vector<std::byte>& out) {
    std::memcpy(out.data() + row * sizeof(start), &start, sizeof(start));
  }

  // The fields of variable length, row by row. Their decoded size is within `limit`.
  Result<std::vector<HeapItems>> FieldsOf(ConstByteSpan rows, uint64_t first, uint64_t count,
                                          uint64_t limit) const {
    std::vector<HeapItems> fields;
    uint64_t decoded = 0;
    for (uint64_t row = 0; row < count; ++row) {
      const std::byte* begin = rows.data() + row * table_.width;
      for (const FitsColumn& column : table_.columns) {
        if (column.descriptor == 0) continue;
        NDLFS_TRY(const HeapItems items, ItemsOf(column, begin + column.offset),
                  fmt::format("row {}", first + row + 1));
        const auto more =
            CheckedMultiply(items.bytes / column.item_size, DecodedItemSize(column));
        const auto sum = more ? CheckedAdd(decoded, *more) : std::nullopt;
        if (!sum || *sum > limit) return model::Limit("rows of more than {} bytes", limit);
        decoded = *sum;
        fields.push_back(items);
      }
    }
    return fields;
  }

  Result<HeapItems> ItemsOf(const FitsColumn& column, const std::byte* descriptor) const {
    const size_t half = column.descriptor;
    HeapItems items;
    items.count = LoadNumber({descriptor, half});
    const uint64_t begin = LoadNumber({descriptor + half, half});
    if (items.count == 0) return items;
    const auto size = column.letter == 'X' ? items.count / 8 + (items.count % 8 != 0)
                                           : CheckedMultiply(items.count, column.item_size);
    const auto place = CheckedAdd(place_.heap, begin);
    const auto end = size && place ? CheckedAdd(*place, *size) : std::nullopt;
    if (!end || *end > place_.heap_end) {
      return Corrupt("{}: {} items at byte {} are beyond the heap", model::OneLine(column.name),
                     items.count, begin);
    }
    items.begin = *place;
    items.bytes = *size;
    if (column.letter == 'X') items.count = *size;
    if (items.count > UINT32_MAX) return model::Limit("{} items in a field", items.count);
    return items;
  }

  // All items at once, if not much else lies between them.
  Result<std::optional<HeapPart>> ReadTogether(const std::vector<HeapItems>& fields,
                                               uint64_t limit) const {
    constexpr uint64_t kWorthReading = uint64_t{64} << 10;
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;
    uint64_t sum = 0;
    for (const HeapItems& field : fields) {
      if (field.bytes == 0) continue;
      begin = std::min(begin, field.begin);
      end = std::max(end, field.begin + field.bytes);
      sum += field.bytes;
    }
    if (end == 0) return HeapPart{};
    if (end - begin > limit || end - begin > 2 * sum + kWorthReading) return std::nullopt;
    NDLFS_TRY(Bytes bytes, ReadBytes(begin, end - begin));
    return HeapPart{begin, std::move(bytes)};
  }

  Result<void> AddField(const FitsColumn& column, const std::byte* in_row,
                        const HeapItems* items, const std::optional<HeapPart>& heap,
                        std::vector<std::byte>& out) const {
    uint64_t count = column.count;
    Bytes own;
    const std::byte* begin = in_row;
    if (items != nullptr) {
      count = items->count;
      const auto written = static_cast<uint32_t>(count);
      const auto* bytes = reinterpret_cast<const std::byte*>(&written);
      out.insert(out.end(), bytes, bytes + sizeof(written));
      if (count == 0) return {};
      if (heap) {
        begin = heap->bytes.data() + (items->begin - heap->begin);
      } else {
        NDLFS_TRY(own, ReadBytes(items->begin, items->bytes));
        begin = own.data();
      }
    }
    const size_t at = out.size();
    out.resize(at + count * DecodedItemSize(column));
    return DecodeItems(column, begin, count, out.data() + at);
  }

  Result<Bytes> ReadBytes(uint64_t offset, uint64_t size) const {
    Bytes bytes(size);
    NDLFS_TRY(const auto count, place_.file.store->ReadInto("", offset, bytes.span()));
    if (count.value_or(0) != size) {
      return Corrupt("the file ends before byte {}", offset + size);
    }
    return bytes;
  }

  const ArraySpec spec_;
  const FitsTableForm table_;
  const FitsTablePlace place_;
};

}  // namespace

std::vector<std::string> NamesOfColumns(const std::vector<FitsColumn>& columns) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const FitsColumn& column : columns) {
    std::string name = TextAttribute("", column.name).value.text()->c_str();
    if (name.empty() || !taken.insert(name).second) {
      name = fmt::format("column{}", column.number);
      taken.insert(name);
    }
    names.push_back(std::move(name));
  }
  return names;
}

Datatype RowType(const std::vector<FitsColumn>& columns) {
  const auto names = NamesOfColumns(columns);
  std::vector<Datatype::Member> members;
  for (size_t i = 0; i < columns.size(); ++i) members.push_back({names[i], columns[i].type, 0});
  return Datatype::PackedCompound(std::move(members));
}

std::shared_ptr<const ArrayToBytesCodec> MakeRowsCodec(FitsTableForm table) {
  return std::make_shared<const RowsCodec>(std::move(table));
}

Result<FitsTablePlace> FindHeap(const FitsHeader& header, const FitsTableForm& table,
                                const DataFile& file, uint64_t offset) {
  FitsTablePlace place{file, offset};
  const auto bytes = CheckedMultiply(table.width, table.rows);
  const int64_t after = header.Integer("PCOUNT").value_or(0);
  const auto end =
      bytes && after >= 0 ? CheckedAdd(*bytes, static_cast<uint64_t>(after)) : std::nullopt;
  const auto file_end = end ? CheckedAdd(offset, *end) : std::nullopt;
  if (!file_end || *file_end > file.size) {
    return Corrupt("the file ends at byte {}, before the table does", file.size);
  }
  const int64_t heap = header.Integer("THEAP").value_or(static_cast<int64_t>(*bytes));
  if (heap < 0 || static_cast<uint64_t>(heap) > *end) {
    return BadInput("THEAP: {} is outside the table", heap);
  }
  place.heap = offset + static_cast<uint64_t>(heap);
  place.heap_end = *file_end;
  return place;
}

Result<std::shared_ptr<const ArraySource>> MakeVariableRows(FitsTableForm table,
                                                            FitsTablePlace place,
                                                            const OpenOptions& options) {
  ArraySpec spec;
  spec.dtype = RowType(table.columns);
  spec.shape = {table.rows};
  spec.max_chunk_bytes = options.max_chunk_size;
  const uint64_t heap = place.heap_end - place.heap;
  const uint64_t a_row = table.width + heap / std::max<uint64_t>(table.rows, 1);
  const std::vector<uint64_t> block = {std::clamp<uint64_t>(
      kBlockBytes / std::max<uint64_t>(a_row, 1), 1, std::max<uint64_t>(table.rows, 1))};
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, block, ChunkGrid::Edge::kCropped));
  return std::make_shared<VariableRows>(std::move(spec), std::move(table), std::move(place));
}

}  // namespace ndlfs::backends::foreign
