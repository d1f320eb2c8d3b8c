// SPDX-License-Identifier: MIT
#include "backends/parquet/encodings.h"

#include <algorithm>
#include <optional>

#include "backends/codec/stream/low_bit_reader.h"

namespace ndlfs::backends::parquet {
namespace {

// nullopt if the bytes end early, or it has more than 64 bits.
std::optional<uint64_t> TakeVarint(ConstByteSpan& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = std::to_integer<unsigned>(bytes[0]);
    bytes = bytes.subspan(1);
    value |= uint64_t{byte & 0x7f} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<int64_t> TakeZigzag(ConstByteSpan& bytes) {
  const auto value = TakeVarint(bytes);
  if (!value) return std::nullopt;
  return static_cast<int64_t>(*value >> 1) ^ -static_cast<int64_t>(*value & 1);
}

model::Failure EndsEarly() { return model::Corrupt("the values end early"); }

}  // namespace

model::Result<std::vector<uint32_t>> DecodeRuns(ConstByteSpan bytes, unsigned width,
                                                uint64_t count) {
  if (width > 32) return model::Corrupt("numbers of {} bits", width);
  std::vector<uint32_t> values;
  values.reserve(count);
  while (values.size() < count) {
    const auto head = TakeVarint(bytes);
    if (!head) return EndsEarly();
    const uint64_t left = count - values.size();
    if ((*head & 1) == 0) {
      const size_t size = (width + 7) / 8;
      if (size > bytes.size()) return EndsEarly();
      uint32_t value = 0;
      for (size_t i = 0; i < size; ++i) value |= std::to_integer<uint32_t>(bytes[i]) << 8 * i;
      bytes = bytes.subspan(size);
      values.insert(values.end(), std::min(*head >> 1, left), value);
      continue;
    }
    // Groups of eight numbers; the last one may be cut short.
    const uint64_t groups = std::min(*head >> 1, (left + 7) / 8);
    const uint64_t packed = std::min(groups * 8, left);
    if ((packed * width + 7) / 8 > bytes.size()) return EndsEarly();
    LowBitReader bits(bytes);
    for (uint64_t i = 0; i < packed; ++i) {
      values.push_back(static_cast<uint32_t>(bits.Take(width)));
    }
    bytes = bytes.subspan(std::min<uint64_t>(groups * width, bytes.size()));
  }
  return values;
}

model::Result<std::vector<int64_t>> TakeDeltas(ConstByteSpan& bytes, uint64_t count) {
  const auto block = TakeVarint(bytes);
  const auto parts = TakeVarint(bytes);
  const auto total = TakeVarint(bytes);
  const auto first = TakeZigzag(bytes);
  if (!block || !parts || !total || !first) return EndsEarly();
  if (*parts == 0 || *block % *parts != 0 || *block / *parts % 8 != 0 || *block == 0 ||
      *block > UINT32_MAX) {
    return model::Corrupt("blocks of {} differences in {} parts", *block, *parts);
  }
  if (*total != count) return model::Corrupt("{} numbers, expected {}", *total, count);
  std::vector<int64_t> values;
  values.reserve(count);
  if (count != 0) values.push_back(*first);
  const uint64_t part = *block / *parts;
  while (values.size() < count) {
    const auto least = TakeZigzag(bytes);
    if (!least || *parts > bytes.size()) return EndsEarly();
    const ConstByteSpan widths = bytes.first(*parts);
    bytes = bytes.subspan(*parts);
    for (uint64_t i = 0; i < *parts && values.size() < count; ++i) {
      const auto width = std::to_integer<unsigned>(widths[i]);
      if (width > 64) return model::Corrupt("differences of {} bits", width);
      if (part / 8 * width > bytes.size()) return EndsEarly();
      LowBitReader bits(bytes.first(part / 8 * width));
      const uint64_t taken = std::min<uint64_t>(part, count - values.size());
      for (uint64_t k = 0; k < taken; ++k) {
        const uint64_t difference = bits.Take(width) + static_cast<uint64_t>(*least);
        values.push_back(
            static_cast<int64_t>(static_cast<uint64_t>(values.back()) + difference));
      }
      bytes = bytes.subspan(part / 8 * width);
    }
  }
  return values;
}

}  // namespace ndlfs::backends::parquet
