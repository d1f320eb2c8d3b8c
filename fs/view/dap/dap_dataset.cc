// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fs/view/container/classic_arrays.h"

namespace ndlfs::fs {
namespace {

using backends::netcdf3::Header;
using backends::netcdf3::Type;
using model::Result;

constexpr size_t kMostArrays = 10'000;

// The form in which 64-bit integers are themselves.
const Header& ExactHeader(const classic::Content& content) {
  return content.cdf5_header ? *content.cdf5_header : content.header;
}

// DAP 2 has no signed integers of one byte: they are sent as Int16. Those that `_Unsigned`
// reads without their sign are sent as the numbers that they are.
backends::netcdf3::Variable AsRead(backends::netcdf3::Variable variable) {
  const auto is_mark = [](const auto& attribute) {
    return attribute.name == "_Unsigned" && attribute.values == "true";
  };
  if (variable.type != Type::kByte || std::erase_if(variable.attributes, is_mark) == 0) {
    return variable;
  }
  variable.type = Type::kUByte;
  for (auto& attribute : variable.attributes) {
    if (attribute.type == Type::kByte) attribute.type = Type::kUByte;
  }
  return variable;
}

// The dimensions of a variable, and the length of its text.
void SetDimensions(DapVariable& out, const Header& header,
                   const backends::netcdf3::Variable& variable) {
  for (const uint64_t index : variable.dimensions) {
    const auto& dimension = header.dimensions[index];
    const bool is_record = header.record_dimension && index == *header.record_dimension;
    out.dimensions.push_back(
        {DapName(dimension.name), is_record ? header.record_count : dimension.size});
  }
  if (out.type != DapType::kString) return;
  // The last dimension is the length of texts; a single letter has none.
  out.string_length = 1;
  if (out.dimensions.empty()) return;
  out.string_length = out.dimensions.back().size;
  out.string_dimension = out.dimensions.back().name;
  out.dimensions.pop_back();
}

bool IsEmpty(const DapVariable& variable) {
  const bool has_no_text = variable.type == DapType::kString && variable.string_length == 0;
  return has_no_text || std::ranges::any_of(variable.dimensions, [](const DapDimension& one) {
           return one.size == 0;
         });
}

void FindMaps(DapDataset& dataset) {
  std::map<std::string, size_t, std::less<>> coordinates;
  for (size_t i = 0; i < dataset.variables.size(); ++i) {
    const DapVariable& variable = dataset.variables[i];
    if (variable.dimensions.size() == 1 && variable.dimensions[0].name == variable.name &&
        variable.type != DapType::kString) {
      coordinates.emplace(variable.name, i);
    }
  }
  for (DapVariable& variable : dataset.variables) {
    std::vector<size_t> maps;
    for (const DapDimension& dimension : variable.dimensions) {
      const auto found = coordinates.find(dimension.name);
      if (found != coordinates.end()) maps.push_back(found->second);
    }
    // netCDF-C does not survive a Grid with the same map twice.
    const bool is_grid = maps.size() == variable.dimensions.size() && !maps.empty() &&
                         std::set(maps.begin(), maps.end()).size() == maps.size() &&
                         variable.type != DapType::kString &&
                         !coordinates.contains(variable.name);
    if (is_grid) variable.maps = std::move(maps);
  }
}

}  // namespace

DapType DapTypeOf(Type type) {
  switch (type) {
    case Type::kByte:
    case Type::kUByte:
    case Type::kShort:
      return DapType::kInt16;
    case Type::kUShort:
    case Type::kInt:
      return DapType::kInt32;
    case Type::kFloat:
      return DapType::kFloat32;
    case Type::kChar:
      return DapType::kString;
    case Type::kDouble:
    case Type::kUInt:
    case Type::kInt64:
    case Type::kUInt64:
      return DapType::kFloat64;
  }
  return DapType::kFloat64;
}

std::string_view DapTypeName(DapType type) {
  switch (type) {
    case DapType::kInt16:
      return "Int16";
    case DapType::kInt32:
      return "Int32";
    case DapType::kFloat32:
      return "Float32";
    case DapType::kFloat64:
      return "Float64";
    case DapType::kString:
      return "String";
  }
  return "";
}

std::string DapName(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  std::string out;
  // netCDF-C opens no dataset with a name that begins with '%'.
  if (!name.empty() && kPlain.find(name.front()) == kPlain.npos) out = "_";
  for (const char c : name) {
    if (kPlain.find(c) != kPlain.npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::optional<ClassicVariable> DescribeAlone(const classic::GroupArray& array) {
  classic::ContentBuilder builder;
  builder.Add(array);
  classic::Content content = builder.Build({});
  const Header& header = ExactHeader(content);
  if (header.variables.size() != 1) return std::nullopt;
  const auto& elements = content.cdf5_header ? content.cdf5_elements : content.elements;
  return ClassicVariable{AsRead(header.variables[0]), elements[0]};
}

Result<DapDataset> DescribeDataset(const GroupInput& group) {
  std::vector<classic::GroupArray> arrays;
  classic::ContentBuilder builder;
  size_t count = 0;
  NDLFS_RETURN_IF_ERROR(classic::VisitArrays(group, [&](const classic::GroupArray& array) {
    if (++count > kMostArrays) return;
    builder.Add(array);
    arrays.push_back(array);
  }));
  if (count > kMostArrays) {
    return model::Limit("DAP shows groups of at most {} arrays", kMostArrays);
  }
  const classic::Content content = builder.Build(group.node().attributes());
  const Header& header = ExactHeader(content);
  DapDataset out{.name = "dataset", .variables = {}, .attributes = header.attributes};
  for (size_t i = 0; i < header.variables.size(); ++i) {
    const auto variable = AsRead(header.variables[i]);
    DapVariable shown{.name = DapName(variable.name),
                      .type = DapTypeOf(variable.type),
                      .dimensions = {},
                      .attributes = variable.attributes,
                      .array = arrays[content.arrays[i]]};
    SetDimensions(shown, header, variable);
    // netCDF-C misreads others where one has no elements.
    if (IsEmpty(shown)) continue;
    out.variables.push_back(std::move(shown));
  }
  FindMaps(out);
  return out;
}

}  // namespace ndlfs::fs
