// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

#include "model/error.h"

namespace ndlfs::backends {

// Calls `work` for 0 ... count - 1, by this thread and others, `threads` at most, which work
// for the caller and the request of this one. Returns the error of the lowest number that
// failed; numbers behind it may be left out. `work` may be called by several threads at once.
model::Result<void> RunInParallel(unsigned threads, size_t count,
                                  const std::function<model::Result<void>(size_t)>& work);

}  // namespace ndlfs::backends
