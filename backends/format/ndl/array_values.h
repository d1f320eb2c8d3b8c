// SPDX-License-Identifier: MIT
//
// The values of an array in a document, as the elements that views read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/array_source.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::ndl {

// The extent of the value of an array, which has one: that of its shape, and
// along unlimited dimensions what there is.
std::vector<uint64_t> ExtentOfValue(const model::Ndarray& array);

// All elements of one array, in memory. Immutable.
class ArrayValues {
 public:
  // Of an array that has a value. Refuses (kLimit) what takes more than
  // `max_bytes` of memory, as opaque elements may that are given in short.
  static model::Result<ArrayValues> Make(const model::Ndarray& array, uint64_t max_bytes);

  const ArraySpec& spec() const { return spec_; }
  uint64_t bytes() const { return bytes_.size() + starts_.size() * sizeof(uint64_t); }
  // The decoded chunk at `index`.
  Bytes Chunk(std::span<const uint64_t> index) const;

 private:
  ArrayValues() = default;
  Bytes FixedChunk(uint64_t first, uint64_t count) const;
  Bytes VariableChunk(uint64_t first, uint64_t count) const;

  ArraySpec spec_;
  std::vector<std::byte> bytes_;
  // Where each element begins, and the end; empty if all are of one size.
  std::vector<uint64_t> starts_;
};

}  // namespace ndlfs::backends::ndl
