// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// One version of the value at "" of `store`: the version that it has now. Later
// reads of another one are kStale. Stat() tells of the value as it is then.
// kNotFound if there is no such value.
model::Result<std::shared_ptr<const Store>> PinVersion(std::shared_ptr<const Store> store);

}  // namespace ndlfs::backends
