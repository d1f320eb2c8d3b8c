// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "backends/base/json.h"
#include "model/error.h"

namespace ndlfs::backends::zarr {

// An extension of Zarr v3, as metadata give it: {"name": ..., "configuration":
// {...}} or just the name.
struct Extension {
  std::string name;
  const Json* configuration;  // an object, possibly empty; in the parsed value
  bool must_understand = true;
};

// Points into `value`. Refuses members that the specification does not have.
model::Result<Extension> ParseExtension(const Json& value);

// The same for the places where an extension cannot be left out: data types,
// chunk grids and chunk key encodings.
model::Result<Extension> ParseRequiredExtension(const Json& value);

// Refuses members of a configuration other than `known`.
model::Result<void> RefuseUnknownMembers(const Json& configuration,
                                         std::initializer_list<std::string_view> known);

}  // namespace ndlfs::backends::zarr
