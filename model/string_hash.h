// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace ndlfs::model {

// Lets an unordered map of strings be searched by a string_view, together with
// std::equal_to<>.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

}  // namespace ndlfs::model
