// SPDX-License-Identifier: MIT
//
// A group as DAP 2 describes it (ESE-RFC-004.1.2). It is that of data.nc (classic_group.h),
// with the types of DAP 2, which has none of 64-bit integers and no signed bytes:
//
//   int8, uint8, int16   Int16
//   uint16, int32        Int32
//   float32              Float32
//   uint32, float64      Float64
//   int64, uint64        Float64; a value that no double holds is NaN
//   text of fixed length String
//
// Letters of netCDF are texts along their last dimension. Arrays without elements are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/netcdf3/header.h"
#include "fs/view/base/view_input.h"
#include "fs/view/container/classic_group.h"
#include "model/error.h"

namespace ndlfs::fs {

enum class DapType { kInt16, kInt32, kFloat32, kFloat64, kString };
DapType DapTypeOf(backends::netcdf3::Type type);
std::string_view DapTypeName(DapType type);

struct DapDimension {
  std::string name;
  uint64_t size = 0;
};

struct DapVariable {
  std::string name;  // as a DDS writes it: DapName()
  DapType type = DapType::kInt32;
  std::vector<DapDimension> dimensions;
  // For texts: the bytes of each, and the name that netCDF has for this dimension.
  uint64_t string_length = 0;
  std::string string_dimension = {};
  std::vector<backends::netcdf3::Attribute> attributes;
  classic::GroupArray array;
  // The variables with the coordinates of the dimensions, if all dimensions have some, and no
  // two the same: the variable is a Grid.
  std::vector<size_t> maps = {};

  bool is_grid() const { return !maps.empty(); }
};

struct DapDataset {
  std::string name;
  std::vector<DapVariable> variables;
  std::vector<backends::netcdf3::Attribute> attributes;
};

// Reads no chunk. kLimit if the group has very many arrays.
model::Result<DapDataset> DescribeDataset(const GroupInput& group);

// One variable of the file of a single array, as classic::Content describes it; nullopt if the
// file cannot hold it.
struct ClassicVariable {
  backends::netcdf3::Variable variable;
  std::shared_ptr<const ElementSource> elements;
};
std::optional<ClassicVariable> DescribeAlone(const classic::GroupArray& array);

// `name` with %XX for characters that names of DAP do not have, and with '_' in front if it
// would begin with one.
std::string DapName(std::string_view name);

}  // namespace ndlfs::fs
