// SPDX-License-Identifier: MIT
//
// The header of an NPY file, as numpy.save writes it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::fs {

// The limits of NumPy: 64 dimensions since 2.0 (32 before), and elements whose
// size fits a C int.
inline constexpr size_t kMaxNpyRank = 64;
inline constexpr uint64_t kMaxNpyItemSize = std::numeric_limits<int32_t>::max();

// Whether an NPY file can have the shape `shape` and elements of `dtype`.
bool FitsNpy(const model::Datatype& dtype, std::span<const uint64_t> shape);

// The `descr` of little-endian elements of `dtype`, a Python literal. A type
// that NumPy does not have is '|V<size>'; see man/ndlfs.1. For an array type
// this is the descr of its base: its shape is added to the shape of the file or
// of the field.
std::string NpyDescr(const model::Datatype& dtype);

// All bytes before the first element: magic, version and header, padded to a
// multiple of 64 bytes. FitsNpy() must be true. In Fortran order, the first of `shape` changes
// fastest in the elements; `dtype` is then no array type.
std::string NpyHeader(const model::Datatype& dtype, std::span<const uint64_t> shape,
                      bool is_fortran = false);

}  // namespace ndlfs::fs
