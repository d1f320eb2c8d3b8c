// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "model/error.h"

namespace ndlfs::backends {

// A store that knows checksums of whole values. Reads of parts of a value cannot compare one.
// Thread-safe.
class ValueChecksums {
 public:
  virtual ~ValueChecksums() = default;

  // Reads the value at `key`, piece by piece, and compares its checksum. kCorrupt if that
  // differs.
  virtual model::Result<void> VerifyValue(std::string_view key) const = 0;
};

}  // namespace ndlfs::backends
