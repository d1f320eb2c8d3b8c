// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "backends/codec/grib/message.h"
#include "model/error.h"

namespace ndlfs::backends {

// Read a grid of section 3 of edition 2, or of section 2 of edition 1. Fail with kCorrupt if
// the section is too short for its template, or its numbers of points contradict each other.
// `section` is whole.
model::Result<std::shared_ptr<const GribGrid>> ParseGribGrid2(GribSection section);
model::Result<std::shared_ptr<const GribGrid>> ParseGribGrid1(GribSection section);

}  // namespace ndlfs::backends
