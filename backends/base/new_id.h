// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace ndlfs::backends {

// A number that this process has given to nothing else; never 0. Caches use it as a key for
// objects, because the address of an object may be used again. Thread-safe.
uint64_t NewId();

}  // namespace ndlfs::backends
