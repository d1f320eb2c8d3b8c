// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/format/array_source.h"
#include "model/error.h"

namespace ndlfs::backends {

// A capability of an ArraySource (by dynamic_cast): its store can list the chunks that exist,
// which may be few of very many.
class StoredChunks {
 public:
  virtual ~StoredChunks() = default;
  // The numbers in C order, ascending, of all chunks that may exist: all others are absent.
  // nullopt if a listing does not tell, or if there are more than `most` chunks.
  virtual model::Result<std::optional<std::vector<uint64_t>>> ListChunks(size_t most) const = 0;
};

// What `source`, which has `count` chunks, lists. nullopt also if the array has too few chunks
// for a listing to be worth while, or too many of them exist.
model::Result<std::optional<std::vector<uint64_t>>> FindStoredChunks(const ArraySource& source,
                                                                     uint64_t count);

}  // namespace ndlfs::backends
