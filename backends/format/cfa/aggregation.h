// SPDX-License-Identifier: MIT
//
// Reads the attributes of an aggregation variable, which say where its fragments are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "model/error.h"

namespace ndlfs::backends::cfa {

struct Fragment {
  std::string file;     // relative to the folder of the aggregation; empty: the same file
  std::string address;  // the variable in the file; empty: the fragment has missing values only
};

// The fragments divide the array along each dimension.
struct Aggregation {
  std::vector<std::string> dimensions;
  // The sizes of the fragments along each dimension. Each dimension has one at least.
  std::vector<std::vector<uint64_t>> sizes;
  std::vector<Fragment> fragments;  // in C order
};

// Whether attributes are those of an aggregation variable.
bool IsAggregation(const std::vector<model::Attribute>& attributes);
// Removes the attributes that make an array an aggregation.
void RemoveAggregation(std::vector<model::Attribute>& attributes);

// The aggregation at `path` of `file`, which has these attributes. Reads the variables that
// they name.
model::Result<Aggregation> ReadAggregation(const Hierarchy& file, std::string_view path,
                                           const std::vector<model::Attribute>& attributes);

}  // namespace ndlfs::backends::cfa
