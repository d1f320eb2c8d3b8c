// SPDX-License-Identifier: MIT
//
// HDF5 filter 3 and numcodecs "fletcher32": Fletcher's checksum of 16-bit words,
// stored after the data.
#include <algorithm>

#include "backends/codec/checksum.h"
#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends {
namespace {

// Reduces a sum modulo 65535. 65535 may stay, which stands for 0, as in HDF5.
uint32_t Fold(uint32_t sum) { return (sum & 0xffff) + (sum >> 16); }

// Words are big-endian. An odd last byte is the upper half of a word.
uint32_t Fletcher32(ConstByteSpan data) {
  constexpr size_t kWords = 360;  // the most that cannot overflow 32 bits
  uint32_t first = 0, second = 0;
  while (data.size() >= 2) {
    const size_t words = std::min(data.size() / 2, kWords);
    for (size_t i = 0; i < words; ++i) {
      first += LoadBig<uint16_t>(data.data() + 2 * i);
      second += first;
    }
    data = data.subspan(2 * words);
    first = Fold(first);
    second = Fold(second);
  }
  if (!data.empty()) {
    first += std::to_integer<uint32_t>(data[0]) << 8;
    second += first;
    first = Fold(first);
    second = Fold(second);
  }
  return Fold(second) << 16 | Fold(first);
}

class Fletcher32Codec final : public ChecksumCodec {
 public:
  Fletcher32Codec() : ChecksumCodec(Location::kEnd) {}
  std::string_view name() const override { return "fletcher32"; }

 protected:
  uint32_t Compute(ConstByteSpan data) const override { return Fletcher32(data); }

  // HDF5 before 1.6.3 used words in native byte order. On little-endian machines that
  // exchanges the two bytes of both halves of the checksum.
  model::Result<void> Check(ConstByteSpan data, ConstByteSpan stored) const override {
    const uint32_t found = Compute(data);
    const auto expected = LoadLittle<uint32_t>(stored.data());
    const uint32_t exchanged = (found & 0x00ff00ff) << 8 | (found >> 8 & 0x00ff00ff);
    if (expected == found || expected == exchanged) return {};
    return model::Corrupt("stored {:08x}, found {:08x}", expected, found);
  }
};

}  // namespace

static CodecResult MakeFletcher32(const CodecConfig&) { return NewCodec<Fletcher32Codec>(); }

const CodecEntry kFletcher32Entry = {"", "fletcher32", "3", MakeFletcher32};

}  // namespace ndlfs::backends
