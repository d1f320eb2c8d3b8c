// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include "model/secret_hash.h"

namespace ndlfs::model {

// Lets an unordered map of strings be searched by a string_view, together with
// std::equal_to<>. Names come from files: see SecretHash().
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return SecretHash(text); }
};

}  // namespace ndlfs::model
