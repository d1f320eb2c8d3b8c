// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace ndlfs::fs {

// Gives each object of a file a name that no other has. `valid` makes any text a name that the
// file can have, and leaves those that it can have as they are.
class NameTable {
 public:
  explicit NameTable(std::string (*valid)(std::string_view)) : valid_(valid) {}

  // Keeps `name`, if the file can have it, for the object that is called so.
  void Keep(const std::string& name) {
    if (valid_(name) == name) kept_.insert(name);
  }
  // A valid name that nobody has: `wanted` itself if that is possible.
  std::string Take(std::string_view wanted) {
    const std::string base = valid_(wanted);
    if (base == wanted) kept_.erase(base);
    std::string name = base;
    for (int i = 2; kept_.contains(name) || !taken_.insert(name).second; ++i) {
      const std::string suffix = fmt::format("_{}", i);
      size_t cut = std::min(base.size(), 255 - suffix.size());
      while (cut > 0 && cut < base.size() && (base[cut] & 0xC0) == 0x80) --cut;
      name = valid_(base.substr(0, cut)) + suffix;
    }
    return name;
  }

 private:
  std::string (*valid_)(std::string_view);
  std::set<std::string> kept_;
  std::set<std::string> taken_;
};

}  // namespace ndlfs::fs
