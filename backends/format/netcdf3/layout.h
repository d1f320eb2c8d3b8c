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

// netCDF-C reads a file in aligned blocks of so many bytes.
inline constexpr uint64_t kReadBlock = 8192;

// Fills in where the values of each variable lie (`begin`, `bytes`), the version, and
// the sizes of the header and the file; returns the header's text. The version is the
// oldest that holds the file: CDF-1 below 2 GiB, CDF-2 up to 4 GiB a variable (the last
// one may be larger), else CDF-5. The values of a variable end with zeros up to a multiple
// of 4 bytes, and those of a large one share no block of kReadBlock bytes with others: a part
// of it that cannot be read does not make these unreadable. No values share one with the
// header.
//
// Takes from `header` the dimensions, attributes and variables with their names, types
// and dimensions, and the number of records. All dimensions have a fixed size but the record
// dimension, whose size is 0: the only way to lay out a dimension without elements. It must be
// the first dimension of every variable that has it. The values of these lie behind those of
// all others, record by record, and share blocks. Names must be unique and valid; see
// ValidName().
//
// kLimit for what no version holds, and for a header of more than 64 MiB.
//
// The values begin where they would behind a header of `least_header` bytes, if the header is
// shorter. `least_version` is 1, 2 or 5.
model::Result<std::string> LayOut(Header& header, uint64_t least_header = 0,
                                  int least_version = 1);

// Whether CDF-1 and CDF-2 lack the type.
bool NeedsCdf5(Type type);

// `name` as netCDF allows it: UTF-8 in normalization form C, which is the only one that
// netCDF-C finds; without control characters and `/`, which become `_`;
// `_` in front of a first character that is not a letter, a digit, `_` or beyond ASCII; no
// blanks at its end; at most 256 bytes.
std::string ValidName(std::string_view name);

}  // namespace ndlfs::backends::netcdf3
