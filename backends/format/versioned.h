// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends {

// What OpenOptions::ref can name: "branch=" and one of `branches`, and so on.
struct VersionNames {
  std::vector<std::string> branches;   // sorted
  std::vector<std::string> tags;       // sorted
  std::vector<std::string> snapshots;  // of the history of the open version, the newest first
};

// A capability of a Hierarchy (by dynamic_cast) whose store has versions: see OpenOptions::ref.
class Versioned {
 public:
  virtual ~Versioned() = default;
  // The branches and tags, and the history of the version that is open, the newest first: lines
  // of text. Asks the store anew.
  virtual model::Result<std::string> Log() const = 0;
  // The same as names, of which there are a bounded number.
  virtual model::Result<VersionNames> Names() const = 0;
};

}  // namespace ndlfs::backends
