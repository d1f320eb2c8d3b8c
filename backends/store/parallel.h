// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

#include "model/error.h"

namespace ndlfs::backends {

// Calls `work` for 0 ... count - 1, on this thread and on others, `threads` at most. The others
// work for the caller and the request of this thread. Returns the error of the lowest number
// that failed; numbers behind it may be left out. `work` may be called by several threads at
// once.
model::Result<void> RunInParallel(unsigned threads, size_t count,
                                  const std::function<model::Result<void>(size_t)>& work);

}  // namespace ndlfs::backends
