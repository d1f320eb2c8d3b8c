// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends::parquet {

// Physical types, by their numbers in a file.
enum class Type : uint8_t {
  kBoolean,
  kInt32,
  kInt64,
  kInt96,
  kFloat,
  kDouble,
  kByteArray,
  kFixedByteArray,
};

// A column of values that are numbers, or texts and the like. Columns in groups and lists have
// no entry.
struct Column {
  std::string name;
  Type type = Type::kBoolean;
  uint32_t fixed_size = 0;  // bytes of a value of kFixedByteArray
  bool is_optional = false;
  size_t leaf = 0;  // its number among all columns of the file
};

// The pages of one column in one group of rows.
struct ColumnChunk {
  uint64_t compression = 0;  // the number of the codec in a file
  uint64_t values = 0;
  uint64_t begin = 0;  // of its first page in the file
  uint64_t size = 0;   // bytes of all pages; they end within the file, before the footer
};

struct RowGroup {
  uint64_t rows = 0;
  std::vector<ColumnChunk> chunks;  // one for each column of the file
};

// The metadata of a file.
struct Footer {
  uint64_t rows = 0;  // the sum of those of all groups
  std::vector<Column> columns;
  std::vector<RowGroup> groups;
};

// Reads the footer of a whole file. Takes memory for 100,000 column chunks at most. Fails with
// kUnsupported if the file is encrypted, or its columns are in other files.
model::Result<Footer> ReadFooter(ConstByteSpan file);

}  // namespace ndlfs::backends::parquet
