// SPDX-License-Identifier: MIT
//
// Sidecars: files next to GRIB files that say where messages are, and what they are about. NCEP
// writes FILE.idx, with a line for each field
//
//   1:0:d=2025080100:REFC:entire atmosphere:8 hour fcst:
//
// ECMWF writes FILE.index, with an object of JSON in each line that has "_offset".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/grib/product.h"

namespace ndlfs::backends::grib {

// What a line says about one field.
struct SidecarLine {
  uint64_t offset = 0;  // of the message
  uint64_t length = 0;  // of the message; 0: the line does not say it
  uint32_t field = 0;   // of the message
  // All of the line but its place, time, step and member. Headers of fields of one kind differ
  // in nothing else, as far as the line can tell.
  std::string kind;
  int64_t reference = 0;  // as in Product
  // As in Product; nullopt if the line says this in words that are not known here.
  std::optional<int64_t> step;
  // nullopt: the line does not say whether there is one.
  std::optional<int64_t> interval;
  std::optional<int32_t> member;
};

struct Sidecar {
  // Where messages begin, sorted. Lines that are neither of the kinds are left out.
  std::vector<uint64_t> offsets;
  // One for each field of the file, in its order; empty if not all lines are understood, or if
  // they do not follow each other from the beginning of the file on without a gap.
  std::vector<SidecarLine> lines;
};
Sidecar ReadSidecar(std::string_view text);

// The product of a field whose line is `line`, if `sample` is that of a field of the same kind.
// nullopt if the line does not say enough.
std::optional<Product> PredictProduct(const Product& sample, const SidecarLine& line);

}  // namespace ndlfs::backends::grib
