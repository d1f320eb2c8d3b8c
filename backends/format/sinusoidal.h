// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "model/entities.h"

namespace ndlfs::backends {

// The attribute `spatial_ref` of GDAL, a system as text, for the attributes of a grid mapping
// that is CF's `sinusoidal` in metres and from Greenwich. nullopt for all others, and if
// they do not tell the shape of the earth. GDAL 3.6 does not know that name, and takes the
// metres for degrees without the text.
std::optional<model::Attribute> TextOfSinusoidal(const std::vector<model::Attribute>& mapping);

}  // namespace ndlfs::backends
