// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace ndlfs::backends {

// A number that this process has given to nothing else; never 0. Caches know things by it whose
// addresses may be used again. Thread-safe.
uint64_t NewId();

}  // namespace ndlfs::backends
