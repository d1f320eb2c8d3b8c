// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/format/array_source.h"
#include "backends/format/zarr/array_metadata.h"
#include "backends/store/store.h"

namespace ndlfs::backends::zarr {

// A capability (by dynamic_cast) of the store of the chunks of one array. Many programs have
// written "0/1" under metadata whose separator is ".", and the other way round. If a chunk is
// absent, the store therefore looks once whether the array has chunks under the other separator
// and none under its own. Then it reads those.
class SeparatorStore {
 public:
  virtual ~SeparatorStore() = default;
  // One line if the chunks were found under the other separator, otherwise none.
  virtual std::vector<std::string> notes() const = 0;
};

// Returns `store` itself if the keys of chunks have no separator, or if it is a table that does
// not list them (ChunkTable::lists_keys()). `prefix` and `layout` are those of the array.
std::shared_ptr<const Store> WithOtherSeparator(std::shared_ptr<const Store> store,
                                                const std::string& prefix,
                                                const ArrayLayout& layout);

}  // namespace ndlfs::backends::zarr
