// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "backends/detection.h"

namespace ndlfs::backends {

// The format of the store that is the file at `path`, by its content; null if it is none.
inline const Format* DetectFile(const Source& source, std::string_view path) {
  return LookIntoFile(source, path, Detection::kContent).format;
}

}  // namespace ndlfs::backends
