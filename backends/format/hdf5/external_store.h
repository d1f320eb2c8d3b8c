// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/format/hdf5/info.h"
#include "backends/store/source.h"
#include "backends/store/store.h"

namespace ndlfs::backends::hdf5 {

// The parts of a dataset that lie in other files, one after the other, as the value "" of a
// store. Their names are relative to the folder of `file_path`; one that leads out of `source`
// is refused. If a file is too short, the missing bytes are zeros, as with libhdf5.
model::Result<std::shared_ptr<const Store>> MakeExternalStore(
    const Source& source, const std::string& file_path, const std::vector<ExternalPart>& parts);

}  // namespace ndlfs::backends::hdf5
