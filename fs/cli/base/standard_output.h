// SPDX-License-Identifier: MIT
#pragma once

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::fs {

// Writes all of `bytes` to standard output. If nobody reads the pipe any more, the error has
// the errno EPIPE.
model::Result<void> WriteStandardOutput(backends::ConstByteSpan bytes);

}  // namespace ndlfs::fs
