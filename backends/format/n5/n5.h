// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/format/format.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// N5 containers: directories with attributes.json. N5 lists the fastest axis first, like Java
// libraries. ndlfs reverses the axes, so that elements are in C order. Other libraries that
// read N5 do the same.
const Format& N5Format();

// The container that is the whole of `store`. One that is a single dataset is
// called `name`.
std::shared_ptr<const Hierarchy> OpenN5(std::shared_ptr<const Store> store, std::string name,
                                        const OpenOptions& options);

}  // namespace ndlfs::backends
