// SPDX-License-Identifier: MIT
//
// The header of a netCDF classic file: CDF-1, CDF-2 (64-bit offset) and CDF-5
// (64-bit data), as the "NetCDF Classic Format Specification" and its CDF-5
// extension describe them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/store.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::netcdf3 {

// The external types, by their number in the file.
enum class Type : uint8_t {
  kByte = 1,
  kChar,
  kShort,
  kInt,
  kFloat,
  kDouble,
  kUByte,
  kUShort,
  kUInt,
  kInt64,
  kUInt64,
};

// Bytes of one value.
uint64_t SizeOf(Type type);
// Elements of `type` as they are in the file: big-endian; char is text of one
// byte.
model::Datatype ElementType(Type type);

struct Dimension {
  std::string name;
  uint64_t size = 0;  // of the record dimension: 0
};

struct Attribute {
  std::string name;
  Type type = Type::kByte;
  uint64_t count = 0;
  std::string values;  // as in the file: big-endian, without padding
};

struct Variable {
  std::string name;
  std::vector<uint64_t> dimensions;  // indexes of Header::dimensions
  std::vector<Attribute> attributes;
  Type type = Type::kByte;
  uint64_t begin = 0;  // offset of the first value
  bool is_record = false;
  // Bytes of all values, or of those of one record; computed from the
  // dimensions, never taken from the file.
  uint64_t bytes = 0;
};

struct Header {
  int version = 1;  // 1, 2 or 5
  std::vector<Dimension> dimensions;
  std::optional<uint64_t> record_dimension;
  std::vector<Attribute> attributes;
  std::vector<Variable> variables;
  uint64_t record_count = 0;
  // From the first value of a record variable to its value in the next record.
  uint64_t record_stride = 0;
  uint64_t header_bytes = 0;
  uint64_t file_bytes = 0;
  // Whether the file ends before the first value of any variable, and these
  // have places of their own: so libraries leave a file that is defined, but
  // neither filled nor written to yet. They read zeros there.
  bool ends_before_data = false;
  // How many names hold a NUL, and are read as far as that; and the first.
  uint64_t cut_names = 0;
  std::string first_cut_name;
};

// Reads the header of the file that is the value at `key`. What it returns is
// sound: every index is in range, sizes have not overflowed, at most the first
// dimension of a variable is the record dimension. Offsets may still lie
// beyond the end of the file.
model::Result<Header> ReadHeader(const Store& store, std::string_view key);

}  // namespace ndlfs::backends::netcdf3
