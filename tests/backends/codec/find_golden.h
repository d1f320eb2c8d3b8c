// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <string_view>

namespace ndlfs::backends {

// The one of `goldens` that is called `name`. Fails the test if there is none.
template <typename Golden, size_t kCount>
const Golden& FindGolden(const Golden (&goldens)[kCount], std::string_view name) {
  for (const Golden& golden : goldens) {
    if (name == golden.test_name) return golden;
  }
  ADD_FAILURE() << "no golden " << name;
  return goldens[0];
}

}  // namespace ndlfs::backends
