// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backends/codec/grib/message.h"
#include "backends/format/grib/product.h"

namespace ndlfs::backends::grib {

// Everything in the headers of a field that a store shows.
struct FieldHeader {
  Product product;
  std::shared_ptr<const GribGrid> grid;  // null: only numbered
  uint64_t points = 0;
  bool is_wide = false;  // float32 would lose digits
  bool is_known = true;  // the packing can be decoded
};

FieldHeader DescribeField(const GribMessage& message, const GribField& field);

// Whether the grids have the same octets.
bool IsSameGrid(const GribGrid* a, const GribGrid* b);

// The difference between `found` and `expected`, as a noun: "parameter". Empty if they do not
// differ in anything that the store shows.
std::string DifferenceOf(const FieldHeader& expected, const FieldHeader& found);

}  // namespace ndlfs::backends::grib
