// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "backends/format/format.h"

namespace ndlfs::backends {

// The one list of formats; a new one is a line in formats.cc.
std::span<const Format* const> Formats();

}  // namespace ndlfs::backends
