// SPDX-License-Identifier: MIT
#include "backends/codec/predictor.h"

#include <cstdint>

#include "backends/codec/little_endian.h"

namespace ndlfs::backends {
namespace {

template <typename T, size_t kStep>
void SumSteps(std::byte* row, size_t count) {
  T sums[kStep] = {};
  size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    for (size_t s = 0; s < kStep; ++s) {
      std::byte* at = row + (i + s) * sizeof(T);
      sums[s] = static_cast<T>(sums[s] + LoadLittle<T>(at));
      StoreLittle<T>(sums[s], at);
    }
  }
  for (size_t s = 0; i < count; ++i, ++s) {
    std::byte* at = row + i * sizeof(T);
    StoreLittle<T>(static_cast<T>(sums[s] + LoadLittle<T>(at)), at);
  }
}

template <typename T>
void SumRow(size_t step, ByteSpan row) {
  const size_t count = row.size() / sizeof(T);
  if (step == 1) return SumSteps<T, 1>(row.data(), count);
  if (step == 3) return SumSteps<T, 3>(row.data(), count);
  if (step == 4) return SumSteps<T, 4>(row.data(), count);
  for (size_t i = step; i < count; ++i) {
    std::byte* at = row.data() + i * sizeof(T);
    const T before = LoadLittle<T>(row.data() + (i - step) * sizeof(T));
    StoreLittle<T>(static_cast<T>(before + LoadLittle<T>(at)), at);
  }
}

template <size_t kSize>
void JoinPlanes(const std::byte* planes, size_t count, std::byte* floats) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t b = 0; b < kSize; ++b) {
      floats[i * kSize + b] = planes[(kSize - 1 - b) * count + i];
    }
  }
}

}  // namespace

void UndoDifferences(size_t size, size_t step, ByteSpan row) {
  if (size == 1) SumRow<uint8_t>(step, row);
  if (size == 2) SumRow<uint16_t>(step, row);
  if (size == 4) SumRow<uint32_t>(step, row);
  if (size == 8) SumRow<uint64_t>(step, row);
}

void UndoFloatPredictor(size_t size, size_t step, ByteSpan row, ByteSpan floats) {
  SumRow<uint8_t>(step, row);
  const size_t count = row.size() / size;
  if (size == 2) JoinPlanes<2>(row.data(), count, floats.data());
  if (size == 4) JoinPlanes<4>(row.data(), count, floats.data());
  if (size == 8) JoinPlanes<8>(row.data(), count, floats.data());
}

}  // namespace ndlfs::backends
