// SPDX-License-Identifier: MIT
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

// Neuroglancer's precomputed volumes: directories with a document `info`.
const Format& PrecomputedFormat();

}  // namespace ndlfs::backends
