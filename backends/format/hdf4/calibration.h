// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "model/entities.h"

namespace ndlfs::backends::hdf4 {

// Says the calibration of a data set in the words of CF, which every view and program heeds.
// HDF4's own rule (SDsetcal, SDgetcal) is
//     value = scale_factor * (stored - add_offset),
// and that of CF
//     value = scale_factor * stored + add_offset.
// The files of MODIS mean the first one. The second holds in a file whose attribute Conventions
// (`is_cf`) says CF or COARDS. So `add_offset` becomes -scale_factor * add_offset, and the
// file's own number is kept as `hdf4_add_offset`. Nothing changes if the offset is 0, or one of
// them is missing.
//
// Returns a note for users, empty if nothing was changed.
std::string SayCalibrationInCf(bool is_cf, std::vector<model::Attribute>& attributes);

// Whether the attributes of the file say that it keeps to CF or COARDS.
bool KeepsToCf(const std::vector<model::Attribute>& of_file);

}  // namespace ndlfs::backends::hdf4
