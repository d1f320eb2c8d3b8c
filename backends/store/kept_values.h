// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "backends/store/store.h"

namespace ndlfs::backends {

// A store that keeps on this machine the bytes that it has read from a slow source.
class KeptValues {
 public:
  virtual ~KeptValues() = default;

  // Whether both ends of a part of the value seem to be kept, in the version that was seen
  // last. Then reading it mostly takes one short answer of the source. Does not ask the source.
  virtual bool IsKept(std::string_view key, const ByteRange& range) const = 0;
};

// The same for any store: false if it keeps nothing.
bool IsKept(const Store& store, std::string_view key, const ByteRange& range);

}  // namespace ndlfs::backends
