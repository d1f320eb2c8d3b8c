// SPDX-License-Identifier: MIT
//
// Constraints of DAP 2 (ESE-RFC-004.1.2, section 4.2) and DAP 4 (volume 1, section 8): which
// variables a client wants, and which of their elements.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::fs {

// As DapRange::last: up to the end of the dimension, which may have no elements.
inline constexpr uint64_t kDapEnd = UINT64_MAX;

// Indices first, first + stride ... up to `last`, which is inclusive.
struct DapRange {
  uint64_t first = 0;
  uint64_t stride = 1;  // not 0
  uint64_t last = 0;    // not less than `first`
  bool operator==(const DapRange&) const = default;
};

// "t2m[0:2:10][3]" or "t2m.lat[0:4]".
struct DapProjection {
  std::string path;              // "t2m.lat", without encoding
  std::vector<DapRange> ranges;  // none: all elements
  bool operator==(const DapProjection&) const = default;
};

// More projections, or more ranges of one, are refused.
inline constexpr size_t kMostProjections = 10'000;
inline constexpr size_t kMostDapRanges = 64;

// The projections of `text`; none if all variables are wanted. kNotFound for a text that is no
// constraint, or that has selections or functions, which are not supported.
model::Result<std::vector<DapProjection>> ParseConstraint(std::string_view text);

// "/g/t2m[0:2:10][]" of DAP 4.
struct Dap4Projection {
  std::vector<std::string> path;  // {"g", "t2m"}
  std::vector<DapRange> ranges;   // none: all elements
  bool operator==(const Dap4Projection&) const = default;
};

// The same for the value of `dap4.ce`, decoded. Names may have backslashes before their
// characters. Slices of dimensions, fields of structures and filters are not supported.
model::Result<std::vector<Dap4Projection>> ParseDap4Constraint(std::string_view text);

}  // namespace ndlfs::fs
