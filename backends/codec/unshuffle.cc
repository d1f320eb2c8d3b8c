// SPDX-License-Identifier: MIT
#include "backends/codec/unshuffle.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backends/codec/simd.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kWidth = 16;
typedef uint8_t Vector __attribute__((vector_size(kWidth)));

template <size_t... kLane>
NDLFS_FORCE_INLINE Vector InterleaveLow(Vector a, Vector b, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(a, b, (kLane / 2 + kLane % 2 * kWidth)...);
}
template <size_t... kLane>
NDLFS_FORCE_INLINE Vector InterleaveHigh(Vector a, Vector b, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(a, b, (kWidth / 2 + kLane / 2 + kLane % 2 * kWidth)...);
}

// Works on sixteen elements at a time. Interleaving the first half of the streams
// with the second, log2(kSize) times, puts the bytes of each element together.
template <size_t kSize>
void UnshuffleVectors(const std::byte* from, size_t stride, size_t count, std::byte* to) {
  constexpr auto lanes = std::make_index_sequence<kWidth>();
  for (size_t i = 0; i < count; i += kWidth) {
    Vector streams[kSize], next[kSize];
    for (size_t j = 0; j < kSize; ++j) {
      std::memcpy(&streams[j], from + j * stride + i, kWidth);
    }
    for (size_t half = kSize; half > 1; half /= 2) {
      for (size_t j = 0; j < kSize / 2; ++j) {
        next[2 * j] = InterleaveLow(streams[j], streams[j + kSize / 2], lanes);
        next[2 * j + 1] = InterleaveHigh(streams[j], streams[j + kSize / 2], lanes);
      }
      std::copy(next, next + kSize, streams);
    }
    std::memcpy(to + i * kSize, streams, sizeof(streams));
  }
}

// Works on elements [begin, count) of any size, in blocks that fit in the cache.
void UnshuffleScalar(const std::byte* from, size_t stride, size_t begin, size_t count,
                     size_t size, std::byte* to) {
  constexpr size_t kBlock = 256;
  for (; begin < count; begin += kBlock) {
    const size_t end = std::min(count, begin + kBlock);
    for (size_t j = 0; j < size; ++j) {
      for (size_t i = begin; i < end; ++i) to[i * size + j] = from[j * stride + i];
    }
  }
}

// Exchanges rows and columns of a square of 8 x 8 bits, with a row in each byte.
NDLFS_FORCE_INLINE uint64_t TransposeBits(uint64_t rows) {
  uint64_t change = (rows ^ rows >> 7) & 0x00aa00aa00aa00aa;
  rows ^= change ^ change << 7;
  change = (rows ^ rows >> 14) & 0x0000cccc0000cccc;
  rows ^= change ^ change << 14;
  change = (rows ^ rows >> 28) & 0x00000000f0f0f0f0;
  return rows ^ change ^ change << 28;
}

NDLFS_FORCE_INLINE void TransposeAllBits(std::byte* squares, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint64_t square;
    std::memcpy(&square, squares + i * sizeof(square), sizeof(square));
    square = TransposeBits(square);
    std::memcpy(squares + i * sizeof(square), &square, sizeof(square));
  }
}
NDLFS_TARGET_AVX2 void TransposeAllBitsAvx2(std::byte* squares, size_t count) {
  TransposeAllBits(squares, count);
}

}  // namespace

void Unshuffle(ConstByteSpan from, size_t element_size, std::byte* to) {
  if (from.empty()) return;
  const size_t count = element_size <= 1 ? 0 : from.size() / element_size;
  const size_t whole = count / kWidth * kWidth;
  size_t done = whole;
  switch (element_size) {
    case 2:
      UnshuffleVectors<2>(from.data(), count, whole, to);
      break;
    case 4:
      UnshuffleVectors<4>(from.data(), count, whole, to);
      break;
    case 8:
      UnshuffleVectors<8>(from.data(), count, whole, to);
      break;
    case 16:
      UnshuffleVectors<16>(from.data(), count, whole, to);
      break;
    default:
      done = 0;
  }
  UnshuffleScalar(from.data(), count, done, count, element_size, to);
  const size_t rest = count * element_size;
  if (rest < from.size()) std::memcpy(to + rest, from.data() + rest, from.size() - rest);
}

void BitUnshuffle(const std::byte* from, size_t count, size_t element_size, std::byte* planes,
                  std::byte* to) {
  // Eight rows of bits make one plane of bytes. Their bytes at one column form a
  // square of bits, once Unshuffle has put them together.
  for (size_t j = 0; j < element_size; ++j) {
    std::byte* plane = planes + j * count;
    Unshuffle({from + j * count, count}, 8, plane);
    if (HasAvx2()) {
      TransposeAllBitsAvx2(plane, count / 8);
    } else {
      TransposeAllBits(plane, count / 8);
    }
  }
  Unshuffle({planes, count * element_size}, element_size, to);
}

}  // namespace ndlfs::backends
