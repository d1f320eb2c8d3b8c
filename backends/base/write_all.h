// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

// Writes all of `bytes` to `fd`. Errors begin with `what`, which says what is written.
model::Result<void> WriteAll(int fd, ConstByteSpan bytes, std::string_view what);

}  // namespace ndlfs::backends
