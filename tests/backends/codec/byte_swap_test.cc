// SPDX-License-Identifier: MIT
#include "backends/codec/byte_swap.h"

#include <gtest/gtest.h>

#include <vector>

namespace ndlfs::backends {
namespace {

using model::SwapRun;

struct SwapCase {
  size_t element_size;
  std::vector<SwapRun> runs;
};

// Byte by byte, as the definition says.
std::vector<std::byte> Swapped(const SwapCase& layout, const std::vector<std::byte>& from) {
  std::vector<std::byte> to = from;
  for (size_t element = 0; element < from.size() / layout.element_size; ++element) {
    for (const SwapRun& run : layout.runs) {
      for (size_t i = 0; i < run.count; ++i) {
        const size_t at = element * layout.element_size + run.offset + i * run.width;
        for (size_t b = 0; b < run.width; ++b) to[at + b] = from[at + run.width - 1 - b];
      }
    }
  }
  return to;
}

TEST(SwapElementsTest, ReversesEachNumberAndNothingElse) {
  std::vector<SwapCase> layouts = {{13, {{1, 2, 2}, {5, 8, 1}}},
                                   {12, {{0, 3, 2}, {8, 4, 1}}},
                                   {70'000, {{10, 4, 3}, {69'984, 8, 2}}}};
  for (const size_t width : {1u, 2u, 3u, 4u, 6u, 8u, 10u, 16u}) {
    layouts.push_back({width, {{0, width, 1}}});
    layouts.push_back({3 * width, {{0, width, 3}}});
    layouts.push_back({3 * width, {{width, width, 2}}});
  }
  for (const SwapCase& layout : layouts) {
    for (const size_t elements : {0u, 1u, 7u, 3000u}) {
      if (layout.element_size * elements > 1'000'000) continue;
      for (const size_t rest : {size_t{0}, layout.element_size - 1}) {
        std::vector<std::byte> from(layout.element_size * elements + rest);
        for (size_t i = 0; i < from.size(); ++i)
          from[i] = static_cast<std::byte>(i * 31 + i / 251);
        const auto expected = Swapped(layout, from);
        std::vector<std::byte> to(from.size(), std::byte{0xEE});
        SwapElements(layout.runs, layout.element_size, from, to);
        EXPECT_EQ(to, expected) << layout.element_size << ": " << elements << " + " << rest;
        SwapElements(layout.runs, layout.element_size, from, from);
        EXPECT_EQ(from, expected) << layout.element_size << ": " << elements << " in place";
      }
    }
  }
}

TEST(SwapElementsTest, ElementsWithoutBytesAreNothingToReverse) {
  SwapElements({}, 0, {}, {});
  std::vector<std::byte> from = {std::byte{1}, std::byte{2}};
  std::vector<std::byte> to(2);
  SwapElements({}, 1, from, to);
  EXPECT_EQ(to, from);
}

}  // namespace
}  // namespace ndlfs::backends
