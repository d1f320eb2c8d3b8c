// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <new>

#include "model/error.h"

namespace ndlfs::fs {

// Calls `function`, which returns a Result, and makes errors of exceptions: a library that is
// out of memory harms one chunk only.
template <typename Function>
auto Guarded(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return model::Limit("out of memory");
  } catch (const std::exception& error) {
    return model::Internal("{}", error.what());
  }
}

}  // namespace ndlfs::fs
