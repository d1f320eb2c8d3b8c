// SPDX-License-Identifier: MIT
//
// Documents in the Ndarray Data Language as stores. The data of an array are the values in
// the document.
#pragma once

#include <string_view>

#include "backends/format/format.h"

namespace ndlfs::backends {

// These files are stores: `.ndl.yaml` and `.ndl.yml`, valid or not, and other `.yaml` and
// `.yml` that are valid documents with values of arrays. A document next to a store of the
// same name (example.nc and example.yaml) describes that store, and is not one itself.
const Format& NdlFormat();

}  // namespace ndlfs::backends
