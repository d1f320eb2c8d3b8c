// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "backends/store/store.h"

namespace ndlfs::backends {

// A store that keeps on this machine what it has read of a slow source.
class KeptValues {
 public:
  virtual ~KeptValues() = default;

  // Whether the byte at `offset` of the value seems to be kept, in the version that was seen
  // last. Then a read of it takes one short answer of the source at most. Asks the source
  // nothing.
  virtual bool IsKept(std::string_view key, uint64_t offset) const = 0;
};

// The same for any store: false if it keeps nothing.
bool IsKept(const Store& store, std::string_view key, uint64_t offset);

}  // namespace ndlfs::backends
