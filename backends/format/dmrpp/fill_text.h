// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "model/datatype.h"
#include "model/entities.h"

namespace ndlfs::backends::dmrpp {

// The element of `type`, little-endian, that the text of a fill value means; nullopt if the
// text does not tell it. Hyrax writes floats with six digits: then the value is one of these,
// if it would be written so: `attribute` (_FillValue; may be null), or the default of netCDF.
// A number that needs fewer digits is that number.
std::optional<std::vector<std::byte>> ParseFill(const model::Datatype& type,
                                                std::string_view text,
                                                const model::Attribute* attribute);

}  // namespace ndlfs::backends::dmrpp
