// SPDX-License-Identifier: MIT
//
// The array in an NPY file, which is a plain file or a member of an archive.
//
// In C order the elements are a range of the file. In Fortran order they are transposed
// in tiles: a tile is a box of the index space, and is read from the file in pieces of
// elements that are neighbours there. In compressed files chunks consist of elements
// that are neighbours in the file, in either order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/format/hierarchy.h"
#include "backends/format/npy/npy_header.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// The cost of reading parts of the value.
enum class NpyAccess {
  kRandom,      // a part costs as much as its size
  kSequential,  // compressed: large parts in ascending order are cheapest
};

// Loads the array in the value at `key`, with the name `name`. Fails if the header is
// invalid. If only the data cannot be read (Python objects, too few bytes for the
// shape), the node has an error.
model::Result<std::shared_ptr<const Node>> LoadNpyArray(std::shared_ptr<const Store> store,
                                                        std::string key, std::string name,
                                                        NpyAccess access,
                                                        const OpenOptions& options);

// The shape of the tiles in which an array in Fortran order is read. All tiles that a
// row in C order crosses take a few MiB, so that they stay in memory and each is read
// once. The runs of a tile are long enough to be worth a system call.
std::vector<uint64_t> FortranTileShape(const std::vector<uint64_t>& shape, uint64_t item_size);

}  // namespace ndlfs::backends
