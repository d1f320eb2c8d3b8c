// SPDX-License-Identifier: MIT
//
// Encodes the values of an array in a document as elements, which views read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/array_source.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::ndl {

// The extents of the value of `array`, which must have one: the sizes in the shape, and the
// present length along unlimited dimensions. If an empty list hides that length, it is the
// stored one.
std::vector<uint64_t> ExtentOfValue(const model::Ndarray& array);

// Turns `list`, which has numbers or texts one after the other, into values of `type`, in
// nested lists with the extents of `shape`. kBadInput if their number does not fit the shape,
// or if one of them is no value of that type.
model::Result<model::Value> ShapeValues(const model::Value::List& list,
                                        const model::Datatype& type,
                                        std::span<const uint64_t> shape);

// How many values unlimited coordinates have, by their paths.
using Lengths = std::map<std::string, uint64_t, std::less<>>;

// The elements of an array, in memory. Immutable.
class ArrayValues {
 public:
  // `array` must have a value. It is as long as `lengths` says along unlimited dimensions, as
  // arrays of netCDF are. Fails with kLimit if the elements take more than `max_bytes` of
  // memory: a short text can stand for large opaque elements.
  static model::Result<ArrayValues> Make(const model::Ndarray& array, uint64_t max_bytes,
                                         const Lengths& lengths = {});

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
  // The offset of each element, and the end; empty for elements of fixed size.
  std::vector<uint64_t> starts_;
};

}  // namespace ndlfs::backends::ndl
