// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "backends/base/json.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

// An extension in metadata of Zarr v3: {"name": ..., "configuration": {...}}, or just
// the name.
struct Extension {
  std::string name;
  const Json* configuration;  // an object, possibly empty; a part of the parsed value
  bool must_understand = true;
};

// The result points into `value`. Fails for members that the specification does not
// have.
model::Result<Extension> ParseExtension(const Json& value);

// The same for extensions that readers must not ignore: data types, chunk grids and
// chunk key encodings.
model::Result<Extension> ParseRequiredExtension(const Json& value);

// Fails if a configuration has members that are not in `known`.
model::Result<void> RefuseUnknownMembers(const Json& configuration,
                                         std::initializer_list<std::string_view> known);

}  // namespace ndlfs::backends::zarr
