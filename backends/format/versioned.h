// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends {

// What OpenOptions::ref can name: "branch=" and one of `branches`, and so on.
struct VersionNames {
  std::vector<std::string> branches;  // sorted
  std::vector<std::string> tags;      // sorted
  // The history of the open version, the newest first; then the versions that only other
  // branches and tags lead to.
  std::vector<std::string> snapshots;
};

// A capability of a Hierarchy (by dynamic_cast) whose store has versions: see OpenOptions::ref.
class Versioned {
 public:
  virtual ~Versioned() = default;
  // The branches and tags, and the history of the version that is open, the newest first: lines
  // of text. Asks the store anew.
  virtual model::Result<std::string> Log() const = 0;
  // The same branches, tags and versions as names. Their number is bounded.
  virtual model::Result<VersionNames> Names() const = 0;
  // Succeeds if `ref` (as OpenOptions::ref) leads to a version. kNotFound if it does not;
  // kBadInput if it may have done so before, with a message that says what became of it. Asks
  // the store anew.
  virtual model::Result<void> Check(const std::string& ref) const = 0;
  // The name (as OpenOptions::ref) of the version that was current at `time`, in the history of
  // the open branch or version. kNotFound if `time` is no time.
  virtual model::Result<std::string> RefAt(std::string_view time) const = 0;
};

}  // namespace ndlfs::backends
