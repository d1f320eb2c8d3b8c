// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "model/error.h"

namespace ndlfs::backends {

// A capability of a Hierarchy (by dynamic_cast) whose store has versions: see OpenOptions::ref.
class Versioned {
 public:
  virtual ~Versioned() = default;
  // The branches and tags, and the history of the version that is open, the newest first: lines
  // of text. Asks the store anew.
  virtual model::Result<std::string> Log() const = 0;
};

}  // namespace ndlfs::backends
