// SPDX-License-Identifier: MIT
#pragma once

#include "backends/format/hdf5/library/handle.h"

namespace ndlfs::backends::hdf5 {

// Refuses a dataset for which the library would open external files: it opens them by any name,
// also outside of the source. Refuses as well a dataset that has such a dataset among its
// sources, or their sources. Needs library_mutex.
model::Result<void> RefuseExternalFiles(hid_t file, hid_t dataset);

}  // namespace ndlfs::backends::hdf5
