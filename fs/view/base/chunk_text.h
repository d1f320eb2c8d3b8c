// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/base/view_input.h"
#include "model/error.h"

namespace ndlfs::fs {

// The extents of chunks that a name asks for, one for each dimension; nullopt: as without it.
using ChunkWish = std::vector<std::optional<uint64_t>>;

// Parses what follows "chunks:" in "data[chunks:time=-1,lat=32].zarr", for `array`, which may
// be a part: either NAME=EXTENT for dimensions by their names, or EXTENT for dimensions in
// their order, where nothing stands for "as without it". EXTENT is a number of elements, or -1
// for all of them; a larger one than the array has is all of them. kNotFound says what is
// wrong, and begins with `word`, which stands for "chunks".
model::Result<ChunkWish> ParseChunks(const ArrayInput& array, std::string_view text,
                                     std::string_view word = "chunks");

// Text in the order of the dimensions from which ParseChunks() makes `chunks` again. Equal ones
// have equal texts.
std::string FormatChunks(const ChunkWish& chunks);

}  // namespace ndlfs::fs
