// SPDX-License-Identifier: MIT
#pragma once

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::fs {

// Writes all of `bytes` to standard output. The error of a pipe that nobody
// reads has the errno EPIPE.
model::Result<void> WriteStandardOutput(backends::ConstByteSpan bytes);

}  // namespace ndlfs::fs
