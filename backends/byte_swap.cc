// SPDX-License-Identifier: MIT
#include "backends/byte_swap.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ndlfs::backends {
namespace {

uint16_t Reverse(uint16_t v) { return __builtin_bswap16(v); }
uint32_t Reverse(uint32_t v) { return __builtin_bswap32(v); }
uint64_t Reverse(uint64_t v) { return __builtin_bswap64(v); }

// A loop of loads, shuffles and stores, which compilers vectorize.
template <typename Number>
void SwapNumbers(std::byte* at, size_t count) {
  for (size_t i = 0; i < count; ++i, at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, at, sizeof(number));
    number = Reverse(number);
    std::memcpy(at, &number, sizeof(number));
  }
}

void SwapRunOf(std::byte* at, size_t width, size_t count) {
  switch (width) {
    case 2:
      return SwapNumbers<uint16_t>(at, count);
    case 4:
      return SwapNumbers<uint32_t>(at, count);
    case 8:
      return SwapNumbers<uint64_t>(at, count);
    default:
      for (size_t i = 0; i < count; ++i) std::reverse(at + i * width, at + (i + 1) * width);
  }
}

}  // namespace

void SwapElements(std::span<const model::SwapRun> runs, size_t item, ByteSpan elements) {
  if (runs.empty() || elements.empty()) return;
  const model::SwapRun& first = runs.front();
  if (runs.size() == 1 && first.width * first.count == item) {  // numbers throughout
    return SwapRunOf(elements.data(), first.width, elements.size() / first.width);
  }
  for (size_t at = 0; at < elements.size(); at += item) {
    for (const model::SwapRun& run : runs) {
      SwapRunOf(elements.data() + at + run.offset, run.width, run.count);
    }
  }
}

}  // namespace ndlfs::backends
