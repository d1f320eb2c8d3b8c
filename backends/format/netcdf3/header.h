// SPDX-License-Identifier: MIT
//
// Reads the header of a netCDF classic file: CDF-1, CDF-2 (64-bit offset) and CDF-5 (64-bit
// data), as specified by the "NetCDF Classic Format Specification" and its CDF-5
// extension.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/store.h"
#include "model/attributes.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::netcdf3 {

// The external types, with their numbers in the file.
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

// The bytes of one value.
uint64_t SizeOf(Type type);
// The type of the elements in the file: big-endian numbers, and text of one byte for
// char.
model::Datatype ElementType(Type type);

struct Dimension {
  std::string name;
  uint64_t size = 0;  // 0 for the record dimension
};

struct Attribute {
  std::string name;
  Type type = Type::kByte;
  uint64_t count = 0;
  // As in the file: big-endian, without padding. Empty if TakeRoom() refuses the attribute.
  std::string values;
};

// Takes the room of an attribute, in the form that is shown, among those of its object. Given
// the same attributes again, refuses the same ones.
model::Result<void> TakeRoom(model::AttributeRoom& room, const Attribute& attribute);

struct Variable {
  std::string name;
  std::vector<uint64_t> dimensions;  // indexes of Header::dimensions
  std::vector<Attribute> attributes;
  Type type = Type::kByte;
  uint64_t begin = 0;  // offset of the first value
  bool is_record = false;
  // The bytes of all values, or of the values in one record. Computed from the dimensions,
  // because the number in the file cannot be trusted.
  uint64_t bytes = 0;
};

struct Header {
  int version = 1;  // 1, 2 or 5
  std::vector<Dimension> dimensions;
  std::optional<uint64_t> record_dimension;
  std::vector<Attribute> attributes;
  std::vector<Variable> variables;
  uint64_t record_count = 0;
  // The bytes from a value of a record variable to its value in the next record.
  uint64_t record_stride = 0;
  uint64_t header_bytes = 0;
  uint64_t file_bytes = 0;
  // Whether the file ends before the first value of any variable, although the variables
  // have valid positions. Libraries leave such a file if it was defined, but neither
  // filled nor written to, and read zeros from it.
  bool ends_before_data = false;
  // The number of names that contain a NUL, at which they are cut off; and the first one.
  uint64_t cut_names = 0;
  std::string first_cut_name;
};

// Reads the header of the file in the value at `key`. The result is checked: indexes are
// in range, sizes have not overflowed, and only the first dimension of a variable can be
// the record dimension. Offsets may still lie beyond the end of the file.
model::Result<Header> ReadHeader(const Store& store, std::string_view key);

}  // namespace ndlfs::backends::netcdf3
