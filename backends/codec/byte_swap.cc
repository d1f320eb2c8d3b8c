// SPDX-License-Identifier: MIT
#include "backends/codec/byte_swap.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/codec/simd.h"

namespace ndlfs::backends {
namespace {

inline uint16_t Reversed(uint16_t value) { return __builtin_bswap16(value); }
inline uint32_t Reversed(uint32_t value) { return __builtin_bswap32(value); }
inline uint64_t Reversed(uint64_t value) { return __builtin_bswap64(value); }

// Reverses numbers without gaps. Compilers turn this loop into shuffles of whole
// registers, which is why it is compiled once for each instruction set.
template <typename Word>
NDLFS_FORCE_INLINE void SwapWordsLoop(const std::byte* from, std::byte* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof(Word), sizeof(Word));
    word = Reversed(word);
    std::memcpy(to + i * sizeof(Word), &word, sizeof(Word));
  }
}

template <typename Word>
NDLFS_TARGET_AVX2 void SwapWordsAvx2(const std::byte* from, std::byte* to, size_t count) {
  SwapWordsLoop<Word>(from, to, count);
}

template <typename Word>
void SwapWords(const std::byte* from, std::byte* to, size_t count) {
  if (HasAvx2()) {
    SwapWordsAvx2<Word>(from, to, count);
  } else {
    SwapWordsLoop<Word>(from, to, count);
  }
}

// Reverses numbers of any width.
void ReverseEach(const std::byte* from, std::byte* to, size_t width, size_t count) {
  if (from != to) std::memcpy(to, from, width * count);
  for (size_t i = 0; i < count; ++i) std::reverse(to + i * width, to + (i + 1) * width);
}

void SwapRun(const std::byte* from, std::byte* to, size_t width, size_t count) {
  switch (width) {
    case 2:
      return SwapWords<uint16_t>(from, to, count);
    case 4:
      return SwapWords<uint32_t>(from, to, count);
    case 8:
      return SwapWords<uint64_t>(from, to, count);
    default:
      return ReverseEach(from, to, width, count);
  }
}

// Reverses one run in each of `elements` elements, in place.
template <typename Word>
void SwapStrided(std::byte* at, size_t stride, size_t elements, size_t count) {
  for (size_t i = 0; i < elements; ++i, at += stride) {
    SwapWordsLoop<Word>(at, at, count);
  }
}

void SwapMember(const model::SwapRun& run, std::byte* elements, size_t stride, size_t count) {
  std::byte* at = elements + run.offset;
  switch (run.width) {
    case 2:
      return SwapStrided<uint16_t>(at, stride, count, run.count);
    case 4:
      return SwapStrided<uint32_t>(at, stride, count, run.count);
    case 8:
      return SwapStrided<uint64_t>(at, stride, count, run.count);
    default:
      for (size_t i = 0; i < count; ++i, at += stride) {
        ReverseEach(at, at, run.width, run.count);
      }
  }
}

constexpr size_t kBlockSize = size_t{16} << 10;  // fits in the first-level cache

}  // namespace

void SwapElements(std::span<const model::SwapRun> runs, size_t element_size, ConstByteSpan from,
                  ByteSpan to) {
  const size_t elements = element_size == 0 ? 0 : to.size() / element_size;
  size_t done = 0;
  if (runs.size() == 1 && runs[0].offset == 0 &&
      runs[0].width * runs[0].count == element_size) {
    SwapRun(from.data(), to.data(), runs[0].width, elements * runs[0].count);
    done = elements * element_size;
  }
  const size_t step = std::max(kBlockSize / std::max<size_t>(element_size, 1), size_t{1});
  for (; done < elements * element_size;
       done += std::min(step * element_size, elements * element_size - done)) {
    const size_t count = std::min(step, elements - done / element_size);
    std::byte* block = to.data() + done;
    if (from.data() != to.data()) std::memcpy(block, from.data() + done, count * element_size);
    for (const model::SwapRun& run : runs) SwapMember(run, block, element_size, count);
  }
  if (from.data() != to.data() && done < to.size()) {
    std::memcpy(to.data() + done, from.data() + done, to.size() - done);
  }
}

void SwapNumbers(size_t width, ConstByteSpan from, ByteSpan to) {
  const model::SwapRun number{.offset = 0, .width = width, .count = 1};
  SwapElements({&number, width > 1 ? size_t{1} : size_t{0}}, width, from, to);
}

}  // namespace ndlfs::backends
