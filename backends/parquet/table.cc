// SPDX-License-Identifier: MIT
#include "backends/parquet/table.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/codec/little_endian.h"
#include "backends/codec/stream/low_bit_reader.h"
#include "backends/parquet/page.h"
#include "model/error.h"

namespace ndlfs::backends::parquet {
namespace {

// Encodings.md of apache/parquet-format. All functions fail with kCorrupt if the bytes end
// early, and allocate nothing but the values.

// nullopt if the bytes end early, or it has more than 64 bits.
std::optional<uint64_t> TakeVarint(ConstByteSpan& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = std::to_integer<unsigned>(bytes[0]);
    bytes = bytes.subspan(1);
    value |= uint64_t{byte & 0x7f} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<int64_t> TakeZigzag(ConstByteSpan& bytes) {
  const auto value = TakeVarint(bytes);
  if (!value) return std::nullopt;
  return static_cast<int64_t>(*value >> 1) ^ -static_cast<int64_t>(*value & 1);
}

model::Failure EndsEarly() { return model::Corrupt("the values end early"); }

// Reads `count` numbers of `width` bits (32 at most) in runs, each of equal numbers or of
// packed ones. Bytes that follow are ignored.
model::Result<std::vector<uint32_t>> DecodeRuns(ConstByteSpan bytes, unsigned width,
                                                uint64_t count) {
  if (width > 32) return model::Corrupt("numbers of {} bits", width);
  std::vector<uint32_t> values;
  values.reserve(count);
  while (values.size() < count) {
    const auto head = TakeVarint(bytes);
    if (!head) return EndsEarly();
    const uint64_t left = count - values.size();
    if ((*head & 1) == 0) {
      const size_t size = (width + 7) / 8;
      if (size > bytes.size()) return EndsEarly();
      uint32_t value = 0;
      for (size_t i = 0; i < size; ++i) value |= std::to_integer<uint32_t>(bytes[i]) << 8 * i;
      bytes = bytes.subspan(size);
      values.insert(values.end(), std::min(*head >> 1, left), value);
      continue;
    }
    // Groups of eight numbers; the last one may be cut short.
    const uint64_t groups = std::min(*head >> 1, (left + 7) / 8);
    const uint64_t packed = std::min(groups * 8, left);
    if ((packed * width + 7) / 8 > bytes.size()) return EndsEarly();
    LowBitReader bits(bytes);
    for (uint64_t i = 0; i < packed; ++i) {
      values.push_back(static_cast<uint32_t>(bits.Take(width)));
    }
    bytes = bytes.subspan(std::min<uint64_t>(groups * width, bytes.size()));
  }
  return values;
}

// DELTA_BINARY_PACKED: takes `count` numbers from the beginning of `bytes`.
model::Result<std::vector<int64_t>> TakeDeltas(ConstByteSpan& bytes, uint64_t count) {
  const auto block = TakeVarint(bytes);
  const auto parts = TakeVarint(bytes);
  const auto total = TakeVarint(bytes);
  const auto first = TakeZigzag(bytes);
  if (!block || !parts || !total || !first) return EndsEarly();
  if (*parts == 0 || *block % *parts != 0 || *block / *parts % 8 != 0 || *block == 0 ||
      *block > UINT32_MAX) {
    return model::Corrupt("blocks of {} differences in {} parts", *block, *parts);
  }
  if (*total != count) return model::Corrupt("{} numbers, expected {}", *total, count);
  std::vector<int64_t> values;
  values.reserve(count);
  if (count != 0) values.push_back(*first);
  const uint64_t part = *block / *parts;
  while (values.size() < count) {
    const auto least = TakeZigzag(bytes);
    if (!least || *parts > bytes.size()) return EndsEarly();
    const ConstByteSpan widths = bytes.first(*parts);
    bytes = bytes.subspan(*parts);
    for (uint64_t i = 0; i < *parts && values.size() < count; ++i) {
      const auto width = std::to_integer<unsigned>(widths[i]);
      if (width > 64) return model::Corrupt("differences of {} bits", width);
      if (part / 8 * width > bytes.size()) return EndsEarly();
      LowBitReader bits(bytes.first(part / 8 * width));
      const uint64_t taken = std::min<uint64_t>(part, count - values.size());
      for (uint64_t k = 0; k < taken; ++k) {
        const uint64_t difference = bits.Take(width) + static_cast<uint64_t>(*least);
        values.push_back(
            static_cast<int64_t>(static_cast<uint64_t>(values.back()) + difference));
      }
      bytes = bytes.subspan(part / 8 * width);
    }
  }
  return values;
}

bool IsText(Type type) {
  return type == Type::kByteArray || type == Type::kFixedByteArray || type == Type::kInt96;
}

// Values that are there, of either kind.
struct Dense {
  std::vector<int64_t> numbers;
  std::vector<ConstByteSpan> texts;
};

// The texts of PLAIN, each behind its length.
model::Result<std::vector<ConstByteSpan>> PlainTexts(ConstByteSpan bytes, uint64_t count) {
  if (count > bytes.size() / sizeof(uint32_t)) {
    return model::Corrupt("{} texts in {} bytes", count, bytes.size());
  }
  std::vector<ConstByteSpan> texts;
  texts.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    if (bytes.size() < sizeof(uint32_t)) return model::Corrupt("the values end early");
    const auto size = LoadLittle<uint32_t>(bytes.data());
    bytes = bytes.subspan(sizeof(uint32_t));
    if (size > bytes.size())
      return model::Corrupt("a text of {} bytes in {}", size, bytes.size());
    texts.push_back(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  return texts;
}

model::Result<std::vector<ConstByteSpan>> FixedTexts(ConstByteSpan bytes, uint64_t size,
                                                     uint64_t count) {
  if (size == 0) return model::Unsupported("values of 0 bytes");
  if (count > bytes.size() / size) {
    return model::Corrupt("{} values of {} bytes in {}", count, size, bytes.size());
  }
  std::vector<ConstByteSpan> texts;
  texts.reserve(count);
  for (uint64_t i = 0; i < count; ++i) texts.push_back(bytes.subspan(i * size, size));
  return texts;
}

template <typename T>
std::vector<int64_t> Widened(ConstByteSpan bytes, uint64_t count) {
  std::vector<int64_t> numbers(count);
  for (uint64_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<int64_t>(LoadLittle<T>(bytes.data() + i * sizeof(T)));
  }
  return numbers;
}

// For kFloat, the numbers are the bits of the floats, read as an unsigned number.
model::Result<std::vector<int64_t>> PlainNumbers(ConstByteSpan bytes, Type type,
                                                 uint64_t count) {
  const bool is_wide = type == Type::kInt64 || type == Type::kDouble;
  const uint64_t bits = type == Type::kBoolean ? 1 : is_wide ? 64 : 32;
  if (count > bytes.size() * 8 / bits) {
    return model::Corrupt("{} numbers in {} bytes", count, bytes.size());
  }
  if (is_wide) return Widened<int64_t>(bytes, count);
  if (type == Type::kInt32) return Widened<int32_t>(bytes, count);
  if (type == Type::kFloat) return Widened<uint32_t>(bytes, count);
  std::vector<int64_t> numbers(count);
  for (uint64_t i = 0; i < count; ++i) {
    numbers[i] = std::to_integer<unsigned>(bytes[i / 8]) >> (i % 8) & 1;
  }
  return numbers;
}

// Reads the pages of one column of one group of rows, and appends to `values`.
class ColumnReader {
 public:
  ColumnReader(const Column& column, const ColumnChunk& chunk, uint64_t& budget, Values& values)
      : column_(column), chunk_(chunk), budget_(budget), values_(values) {}

  model::Result<void> Read(ConstByteSpan bytes) {
    uint64_t left = chunk_.values;
    while (left != 0) {
      if (bytes.empty()) return model::Corrupt("{} values are missing", left);
      NDLFS_TRY(Page page, TakePage(bytes, chunk_.compression, budget_));
      if (page.kind == PageKind::kIndex) continue;
      if (page.kind == PageKind::kDictionary) {
        NDLFS_RETURN_IF_ERROR(ReadDictionary(std::move(page)), "dictionary");
        continue;
      }
      if (page.values > left) {
        return model::Corrupt("a page of {} values, expected at most {}", page.values, left);
      }
      left -= page.values;
      NDLFS_RETURN_IF_ERROR(ReadData(std::move(page)));
    }
    return {};
  }

 private:
  model::Result<Dense> Plain(ConstByteSpan bytes, uint64_t count) const {
    Dense dense;
    if (column_.type == Type::kByteArray) {
      NDLFS_TRY(dense.texts, PlainTexts(bytes, count));
    } else if (IsText(column_.type)) {
      const uint64_t size = column_.type == Type::kInt96 ? 12 : column_.fixed_size;
      NDLFS_TRY(dense.texts, FixedTexts(bytes, size, count));
    } else {
      NDLFS_TRY(dense.numbers, PlainNumbers(bytes, column_.type, count));
    }
    return dense;
  }

  model::Result<void> ReadDictionary(Page page) {
    if (page.encoding != Encoding::kPlain && page.encoding != Encoding::kPlainDictionary) {
      return model::Unsupported("encoding {}", static_cast<uint64_t>(page.encoding));
    }
    if (dictionary_) return model::Corrupt("a second one");
    NDLFS_TRY(dictionary_, Plain(page.body, page.values));
    Keep(page);
    return {};
  }

  // Texts are where they were decompressed.
  void Keep(Page& page) {
    if (IsText(column_.type)) values_.pages.push_back(std::move(page.memory));
  }

  model::Result<void> ReadData(Page page) {
    std::vector<bool> present(page.values, true);
    if (column_.is_optional) {
      NDLFS_TRY(const ConstByteSpan levels, TakeLevels(page));
      NDLFS_TRY(const auto numbers, DecodeRuns(levels, 1, page.values), "levels");
      for (uint64_t i = 0; i < page.values; ++i) present[i] = numbers[i] != 0;
    }
    const uint64_t count = std::count(present.begin(), present.end(), true);
    Dense dense;
    if (count != 0) {
      NDLFS_TRY(dense, Decode(page, count));
    }
    Append(present, dense);
    Keep(page);
    return {};
  }

  static model::Result<ConstByteSpan> TakeLevels(Page& page) {
    if (page.kind == PageKind::kData2) return page.levels;
    if (page.body.size() < sizeof(uint32_t)) return model::Corrupt("a page without levels");
    const auto size = LoadLittle<uint32_t>(page.body.data());
    page.body = page.body.subspan(sizeof(uint32_t));
    if (size > page.body.size()) {
      return model::Corrupt("levels of {} bytes in {}", size, page.body.size());
    }
    const ConstByteSpan levels = page.body.first(size);
    page.body = page.body.subspan(size);
    return levels;
  }

  model::Result<Dense> Decode(const Page& page, uint64_t count) const {
    const bool is_integer = column_.type == Type::kInt32 || column_.type == Type::kInt64;
    switch (page.encoding) {
      case Encoding::kPlain:
        return Plain(page.body, count);
      case Encoding::kPlainDictionary:
      case Encoding::kRunsOfDictionary:
        return LookUp(page.body, count);
      case Encoding::kRuns:
        if (column_.type == Type::kBoolean) return Booleans(page.body, count);
        break;
      case Encoding::kDeltaBinaryPacked:
        if (is_integer) return Differences(page.body, count);
        break;
      case Encoding::kDeltaLengthByteArray:
        if (column_.type == Type::kByteArray) return TextsByLengths(page.body, count);
        break;
      default:
        break;
    }
    return model::Unsupported("encoding {} for type {}", static_cast<uint64_t>(page.encoding),
                              static_cast<unsigned>(column_.type));
  }

  model::Result<Dense> LookUp(ConstByteSpan bytes, uint64_t count) const {
    if (!dictionary_) return model::Corrupt("no dictionary");
    if (bytes.empty()) return model::Corrupt("the values end early");
    NDLFS_TRY(const auto indexes,
              DecodeRuns(bytes.subspan(1), std::to_integer<unsigned>(bytes[0]), count));
    const bool is_text = IsText(column_.type);
    const size_t size = is_text ? dictionary_->texts.size() : dictionary_->numbers.size();
    Dense dense;
    for (const uint32_t index : indexes) {
      if (index >= size) return model::Corrupt("value {} of a dictionary of {}", index, size);
      if (is_text) {
        dense.texts.push_back(dictionary_->texts[index]);
      } else {
        dense.numbers.push_back(dictionary_->numbers[index]);
      }
    }
    return dense;
  }

  static model::Result<Dense> Booleans(ConstByteSpan bytes, uint64_t count) {
    if (bytes.size() < sizeof(uint32_t)) return model::Corrupt("the values end early");
    const auto size = LoadLittle<uint32_t>(bytes.data());
    bytes = bytes.subspan(sizeof(uint32_t));
    if (size > bytes.size())
      return model::Corrupt("values of {} bytes in {}", size, bytes.size());
    NDLFS_TRY(const auto bits, DecodeRuns(bytes.first(size), 1, count));
    return Dense{{bits.begin(), bits.end()}, {}};
  }

  model::Result<Dense> Differences(ConstByteSpan bytes, uint64_t count) const {
    Dense dense;
    NDLFS_TRY(dense.numbers, TakeDeltas(bytes, count));
    if (column_.type == Type::kInt32) {  // sums of which wrap
      for (int64_t& number : dense.numbers) number = static_cast<int32_t>(number);
    }
    return dense;
  }

  static model::Result<Dense> TextsByLengths(ConstByteSpan bytes, uint64_t count) {
    NDLFS_TRY(const auto lengths, TakeDeltas(bytes, count));
    Dense dense;
    dense.texts.reserve(count);
    for (const int64_t length : lengths) {
      if (length < 0 || static_cast<uint64_t>(length) > bytes.size()) {
        return model::Corrupt("a text of {} bytes in {}", length, bytes.size());
      }
      dense.texts.push_back(bytes.first(static_cast<size_t>(length)));
      bytes = bytes.subspan(static_cast<size_t>(length));
    }
    return dense;
  }

  void Append(const std::vector<bool>& present, const Dense& dense) {
    size_t next = 0;
    for (const bool is_present : present) {
      if (IsText(column_.type)) {
        values_.texts.push_back(is_present ? dense.texts[next] : ConstByteSpan());
      } else {
        values_.numbers.push_back(is_present ? dense.numbers[next] : 0);
      }
      next += is_present ? 1 : 0;
      values_.present.push_back(is_present);
    }
  }

  const Column& column_;
  const ColumnChunk& chunk_;
  uint64_t& budget_;
  Values& values_;
  std::optional<Dense> dictionary_;
};

}  // namespace

uint64_t Values::held_bytes() const {
  uint64_t bytes = present.capacity() / 8 + numbers.capacity() * sizeof(int64_t) +
                   texts.capacity() * sizeof(ConstByteSpan);
  for (const Bytes& page : pages) bytes += page.size();
  return bytes;
}

model::Result<Table> Table::Open(ConstByteSpan file) {
  NDLFS_TRY(Footer footer, ReadFooter(file));
  return Table(file, std::move(footer));
}

const Column* Table::Find(std::string_view name) const {
  const auto found = std::ranges::find(footer_.columns, name, &Column::name);
  return found == footer_.columns.end() ? nullptr : &*found;
}

model::Result<Values> Table::Read(const Column& column, uint64_t max_rows,
                                  uint64_t max_bytes) const {
  if (rows() > max_rows) return model::Limit("{} rows, more than {}", rows(), max_rows);
  Values values;
  uint64_t budget = max_bytes;
  const std::string place = "column " + model::Quote(column.name);
  for (const RowGroup& group : footer_.groups) {
    const ColumnChunk& chunk = group.chunks[column.leaf];
    if (chunk.values != group.rows) {
      return model::Corrupt("{}: {} values in {} rows", place, chunk.values, group.rows);
    }
    ColumnReader reader(column, chunk, budget, values);
    NDLFS_RETURN_IF_ERROR(reader.Read(file_.subspan(chunk.begin, chunk.size)), place);
  }
  return values;
}

}  // namespace ndlfs::backends::parquet
