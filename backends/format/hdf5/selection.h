// SPDX-License-Identifier: MIT
//
// Selections in a dataspace, as references and virtual datasets store them (HDF5 File Format
// Specification, VIII).
#pragma once

#include <cstdint>
#include <vector>

#include "backends/format/hdf5/input.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

struct Selection {
  enum class Kind : uint8_t { kNone, kPoints, kBlocks, kAll };
  // Blocks of a regular hyperslab, along one dimension. A count or a block of kNowhere has no
  // limit.
  struct Axis {
    uint64_t start = 0;
    uint64_t stride = 1;
    uint64_t count = 1;
    uint64_t block = 1;
  };
  struct Box {
    std::vector<uint64_t> first;
    std::vector<uint64_t> last;  // inside
  };
  Kind kind = Kind::kNone;
  size_t rank = 0;
  std::vector<std::vector<uint64_t>> points;  // kPoints
  std::vector<Axis> axes;                     // kBlocks: of a regular hyperslab
  std::vector<Box> boxes;                     // kBlocks: of any other
};

// Takes a selection off `in`.
model::Result<Selection> TakeSelection(Cursor& in);

// The boxes of a selection with blocks, in C order. kLimit for more than `most`.
model::Result<std::vector<Selection::Box>> BoxesOf(const Selection& selection, uint64_t most);

}  // namespace ndlfs::backends::hdf5
