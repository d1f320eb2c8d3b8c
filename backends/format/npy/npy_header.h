// SPDX-License-Identifier: MIT
//
// The header of an NPY file (NEP 1; versions 1.0, 2.0 and 3.0).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "backends/store/store.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends {

struct NpyHeader {
  // The stored type with its byte order, or the reason why elements cannot be shown. An
  // array of Python objects still has a shape.
  model::Result<model::Datatype> dtype = model::Datatype();
  bool fortran_order = false;
  std::vector<uint64_t> shape;
  uint64_t data_offset = 0;

  // The number of elements, and of their bytes; both at most kMaxViewSize.
  uint64_t element_count = 0;
  uint64_t data_size = 0;
};

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

// Reads the header of the NPY file in the value at `key`.
model::Result<NpyHeader> ReadNpyHeader(const Store& store, std::string_view key);

}  // namespace ndlfs::backends
