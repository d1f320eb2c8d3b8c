// SPDX-License-Identifier: MIT
//
// Units of lengths and times as files of images write them: the words of OME-Zarr and UDUNITS
// ("micrometer", "nanometre", "second"), the symbols of OME-XML ("µm", "s"), and those of other
// programs ("um", "micron").
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ndlfs::fs {

struct PhysicalUnit {
  std::string symbol;  // as in OME-XML: "µm", "Å", "in", "min"
  double size = 1;     // in metres or in seconds; positive
};

// nullopt for every other text, and for numbers of pixels.
std::optional<PhysicalUnit> LengthUnitOf(std::string_view text);
std::optional<PhysicalUnit> TimeUnitOf(std::string_view text);

}  // namespace ndlfs::fs
