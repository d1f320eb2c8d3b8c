// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

namespace ndlfs::backends {

// A JoinedArray whose parts lie in files or folders of the source.
class NamesParts {
 public:
  virtual ~NamesParts() = default;
  // The file or folder of part `i`, as Store::Describe() names it: "1992/001.nc". Looks at
  // nothing.
  virtual std::string PartFile(size_t i) const = 0;
};

}  // namespace ndlfs::backends
