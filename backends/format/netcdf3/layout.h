// SPDX-License-Identifier: MIT
//
// The inverse of ReadHeader(): lays out a netCDF classic file and writes its header.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/format/netcdf3/header.h"
#include "model/error.h"

namespace ndlfs::backends::netcdf3 {

// netCDF-C reads a file in aligned blocks of this size.
inline constexpr uint64_t kReadBlock = 8192;

// Lays out a file. Fills in where the values of each variable lie (`begin`, `bytes`), the
// version, and the sizes of the header and the file. Returns the header's text.
//
// Takes from `header` the dimensions, attributes and variables with their names, types and
// dimensions, and the number of records. All dimensions have a fixed size except the record
// dimension, whose size is 0: a dimension without elements can only be laid out as that one.
// The record dimension must be the first dimension of every variable that has it. Names must be
// unique and valid; see ValidName().
//
// The version is the oldest that holds the file: CDF-1 below 2 GiB, CDF-2 up to 4 GiB a
// variable (the last one may be larger), else CDF-5; but not older than `least_version`, which
// is 1, 2 or 5. kLimit for files that no version holds, and for a header of more than 64 MiB.
//
// The values of a variable end with zeros up to a multiple of 4 bytes. Those of a large
// variable share no block of kReadBlock bytes with others. So if a part of it cannot be read,
// all other variables still can. No values share a block with the header. The values of
// variables with records lie behind all others, record by record, and share blocks. If the
// header is shorter than `least_header` bytes, the values begin where they would behind a
// header of that size.
model::Result<std::string> LayOut(Header& header, uint64_t least_header = 0,
                                  int least_version = 1);

// Whether CDF-1 and CDF-2 lack the type.
bool NeedsCdf5(Type type);

// `name` as netCDF allows it. It is UTF-8 in normalization form C, the only one that netCDF-C
// finds. Control characters and `/` become `_`. If the first character is not a letter, a
// digit, `_` or beyond ASCII, `_` is put in front. It has no blanks at its end, and at most 256
// bytes.
std::string ValidName(std::string_view name);

}  // namespace ndlfs::backends::netcdf3
