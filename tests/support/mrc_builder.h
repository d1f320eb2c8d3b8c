// SPDX-License-Identifier: MIT
//
// Headers of MRC2014, for tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ndlfs::test {

// A header whose words have these values, by their numbers from 1 on; others are 0, except
// those that every file has.
inline std::string MrcHeader(std::map<int, uint32_t> words, bool is_big_endian = false) {
  words.insert({{17, 1}, {18, 2}, {19, 3}, {23, 1}});
  std::string header(1024, '\0');
  for (const auto& [word, value] : words) {
    for (int i = 0; i < 4; ++i) {
      header[static_cast<size_t>((word - 1) * 4 + i)] =
          static_cast<char>(value >> 8 * (is_big_endian ? 3 - i : i));
    }
  }
  header.replace(208, 4, "MAP ");
  header.replace(212, 4,
                 is_big_endian ? std::string("\x11\x11\0\0", 4) : std::string("DD\0\0", 4));
  return header;
}

}  // namespace ndlfs::test
