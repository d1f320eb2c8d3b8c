// SPDX-License-Identifier: MIT
//
// Virtual datasets: elements that lie in other datasets, of this file or of others.
#pragma once

#include <memory>

#include "backends/format/array_source.h"
#include "backends/format/hdf5/dataset_source.h"

namespace ndlfs::backends::hdf5 {

// Sets the shape of a virtual dataset with parts that grow: it reaches as far as their sources
// do now. Opens these.
model::Result<void> SetVirtualShape(const OpenedFile& opened, DatasetInfo& info);

// The data of a virtual dataset. Elements of a source that does not exist have the fill value;
// a source that exists but cannot be read, or that is outside of the tree, is an error.
model::Result<std::shared_ptr<const ArraySource>> MakeVirtualSource(ArraySpec spec,
                                                                    const OpenedFile& opened,
                                                                    const DatasetInfo& info);

}  // namespace ndlfs::backends::hdf5
