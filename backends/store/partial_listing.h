// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// A store that can list some children of a prefix without looking at the others:
// a directory may have millions.
class PartialListing {
 public:
  virtual ~PartialListing() = default;

  // At most `limit` children of `prefix`, sorted by name. If there are more,
  // the store chooses which of them it lists.
  virtual model::Result<std::vector<StoreEntry>> ListSome(std::string_view prefix,
                                                          size_t limit) const = 0;
};

// The same for any store. A store that is no PartialListing lists all children
// first.
model::Result<std::vector<StoreEntry>> ListSome(const Store& store, std::string_view prefix,
                                                size_t limit);

}  // namespace ndlfs::backends
