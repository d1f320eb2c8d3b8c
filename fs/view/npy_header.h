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

// What NumPy can load: 64 dimensions since 2.0 (32 before), and elements whose
// size is a C int.
inline constexpr size_t kMaxNpyRank = 64;
inline constexpr uint64_t kMaxNpyItemSize = std::numeric_limits<int32_t>::max();

// Whether elements of `dtype` in an array of `shape` can stand in an NPY file.
bool FitsNpy(const model::Datatype& dtype, std::span<const uint64_t> shape);

// The `descr` of little-endian elements of `dtype`, a Python literal. What
// NumPy has no word for is '|V<size>'; see man/ndlfs.1. An array type is its
// base here: its shape belongs to that of the file, or of the field.
std::string NpyDescr(const model::Datatype& dtype);

// Magic, version, and header, padded to a multiple of 64 bytes: what comes
// before the first element. For what FitsNpy().
std::string NpyHeader(const model::Datatype& dtype, std::span<const uint64_t> shape);

}  // namespace ndlfs::fs
