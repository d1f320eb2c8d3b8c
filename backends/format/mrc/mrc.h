// SPDX-License-Identifier: MIT
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

// MRC2014 and CCP4 maps: images, volumes and stacks of electron microscopes and of
// crystallography.
const Format& MrcFormat();

}  // namespace ndlfs::backends
