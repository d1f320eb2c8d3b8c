// SPDX-License-Identifier: MIT
//
// Numbers of paths and listings that are the same on every machine and in every run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ndlfs::fs {

// The hash of the path that leads to `name` in the directory whose hash is `parent`. It has 63
// bits, because some programs keep inode numbers in signed integers.
uint64_t HashPath(uint64_t parent, std::string_view name);
// The same in 31 bits, for --inode32.
uint64_t HashPathTo32Bits(uint64_t parent, std::string_view name);
// The same with a number instead of a name.
uint64_t HashNumber(uint64_t seed, uint64_t number);
// The hash of a whole listing. It changes when a name comes, goes or changes.
uint64_t HashNames(const std::vector<std::string>& names);

}  // namespace ndlfs::fs
