// SPDX-License-Identifier: MIT
//
// Tables of Parquet with flat columns, whose values may be null. Reads pages of version 1 and 2
// with the encodings PLAIN, RLE_DICTIONARY, PLAIN_DICTIONARY, RLE of booleans,
// DELTA_BINARY_PACKED and DELTA_LENGTH_BYTE_ARRAY, stored or compressed by zstd, gzip and
// snappy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/parquet/footer.h"
#include "model/error.h"

namespace ndlfs::backends::parquet {

// The values of a column, one for each row.
struct Values {
  std::vector<bool> present;  // false for nulls
  // Values of a column of numbers: integers, or the bits of floating-point numbers; 0 for
  // nulls.
  std::vector<int64_t> numbers;
  // Values of any other column; empty for nulls. Their bytes are in `pages`.
  std::vector<ConstByteSpan> texts;
  std::vector<Bytes> pages;

  // About how many bytes of memory this takes.
  uint64_t held_bytes() const;
};

// A table in memory. Immutable.
class Table {
 public:
  // Reads the footer of `file`, which must stay while the table is used.
  static model::Result<Table> Open(ConstByteSpan file);

  uint64_t rows() const { return footer_.rows; }
  // The columns directly in the table, without those in groups and lists.
  std::span<const Column> columns() const { return footer_.columns; }
  // The column called `name`; null if there is none.
  const Column* Find(std::string_view name) const;

  // Reads a column of columns(). Fails with kLimit before it takes memory for more than
  // `max_rows` rows, or decompresses pages of more than `max_bytes` bytes together.
  model::Result<Values> Read(const Column& column, uint64_t max_rows, uint64_t max_bytes) const;

 private:
  Table(ConstByteSpan file, Footer footer) : file_(file), footer_(std::move(footer)) {}

  ConstByteSpan file_;
  Footer footer_;
};

}  // namespace ndlfs::backends::parquet
