// SPDX-License-Identifier: MIT
//
// Files beside GRIB files that say where messages are. Nothing else of them is believed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ndlfs::backends::grib {

// Where messages begin, sorted: of a file as NCEP writes it (FILE.idx), a line for each message
//
//   1:0:d=2025080100:REFC:entire atmosphere:8 hour fcst:
//
// or as ECMWF does (.index), an object of JSON in each line, with "_offset". Lines that are
// neither are left out.
std::vector<uint64_t> ReadSidecar(std::string_view text);

}  // namespace ndlfs::backends::grib
