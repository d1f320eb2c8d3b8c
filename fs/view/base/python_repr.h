// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ndlfs::fs {

// repr() of a str in Python 3. `text` is UTF-8.
std::string PythonRepr(std::string_view text);

// repr() of a tuple of int: "()", "(3,)", "(3, 4)".
std::string PythonTuple(std::span<const uint64_t> numbers);

}  // namespace ndlfs::fs
