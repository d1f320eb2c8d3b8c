// SPDX-License-Identifier: MIT
#include "fs/cli/base/standard_output.h"

#include <unistd.h>

#include "backends/base/write_all.h"

namespace ndlfs::fs {

model::Result<void> WriteStandardOutput(backends::ConstByteSpan bytes) {
  return backends::WriteAll(STDOUT_FILENO, bytes, "standard output");
}

}  // namespace ndlfs::fs
