// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::fs {

// Elements that are best made by the box: of which a row takes about as long as a box of rows,
// because both need the same chunks. Immutable and thread-safe.
class BoxSource {
 public:
  virtual ~BoxSource() = default;
  // Fills `out` with the elements from index `begin` on, `extents` of them along each
  // dimension, little-endian, in C order of the box, which is inside of the array. Makes it in
  // pieces: `done` is the number of those that are in `out` already, and is kept up to date, so
  // that another call goes on after one that failed.
  virtual model::Result<void> ReadBox(std::span<const uint64_t> begin,
                                      std::span<const uint64_t> extents, backends::ByteSpan out,
                                      uint64_t& done) const = 0;
};

}  // namespace ndlfs::fs
