// SPDX-License-Identifier: MIT
//
// The array in an NPY file: a file of its own, or a member of an archive.
//
// In C order the elements are a range of the file. In Fortran order they are
// transposed in tiles: boxes of the index space that are gathered from the
// file piece by piece, one run of neighbours along the first dimensions each.
// Of compressed files, chunks are what lies together, in either order.
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

// How the value can be read.
enum class NpyAccess {
  kRandom,      // any part costs what it holds
  kSequential,  // compressed: in large parts, best one after the other
};

// The array that is the value at `key`, called `name`. Fails where the header
// makes no sense; where only the data cannot be shown (Python objects, fewer
// bytes than the shape needs) the node says so.
model::Result<std::shared_ptr<const Node>> LoadNpyArray(std::shared_ptr<const Store> store,
                                                        std::string key, std::string name,
                                                        NpyAccess access,
                                                        const OpenOptions& options);

// The tiles in which an array in Fortran order is read: as large as keeps all
// tiles that a row in C order crosses within some MiB, so that each is read
// once in a pass, and their runs long enough to be worth a system call.
std::vector<uint64_t> FortranTileShape(const std::vector<uint64_t>& shape, uint64_t item_size);

}  // namespace ndlfs::backends
