// SPDX-License-Identifier: MIT
//
// Documents in the Ndarray Data Language as stores: arrays have the values
// that the document gives them.
#pragma once

#include <string_view>

#include "backends/format/format.h"

namespace ndlfs::backends {

// What is shown as a store: `.ndl.yaml` and `.ndl.yml`, be they sound or not,
// and other `.yaml` and `.yml` that are sound documents with values of arrays.
// A document beside a store of the same name (example.nc and example.yaml)
// describes that one, and is none itself.
const Format& NdlFormat();

}  // namespace ndlfs::backends
