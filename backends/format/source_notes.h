// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace ndlfs::backends {

// A capability of an ArraySource (by dynamic_cast): its data, and not only its metadata, may
// have to be shown otherwise than they are stored.
class SourceNotes {
 public:
  virtual ~SourceNotes() = default;
  // The notes on data that were read so far: one line each, like Node::notes. Thread-safe.
  virtual std::vector<std::string> notes() const = 0;
};

}  // namespace ndlfs::backends
