// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

// Writes all of `bytes` to `fd`. Errors begin with `what`, which says what is written.
model::Result<void> WriteAll(int fd, ConstByteSpan bytes, std::string_view what);
// The same from byte `offset` of the file on.
model::Result<void> WriteAllAt(int fd, uint64_t offset, ConstByteSpan bytes,
                               std::string_view what);

}  // namespace ndlfs::backends
