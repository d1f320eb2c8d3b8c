// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// A store with one version of the value at "" of `store`: the present one. If
// the value changes, reads fail with kStale; Stat() tells about the value as it
// is then. kNotFound if there is no such value.
model::Result<std::shared_ptr<const Store>> PinVersion(std::shared_ptr<const Store> store);

}  // namespace ndlfs::backends
