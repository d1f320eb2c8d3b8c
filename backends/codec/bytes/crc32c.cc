// SPDX-License-Identifier: MIT
//
// Zarr v3 "crc32c": a little-endian checksum after the data. In numcodecs it can also
// come first.
#include <array>
#include <cstdint>

#include "backends/codec/checksum.h"
#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"
#include "backends/codec/simd.h"

namespace ndlfs::backends {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

// Tables for 8 bytes at a time, one for each position.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t i = 1; i < tables.size(); ++i) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[i - 1][byte];
      tables[i][byte] = before >> 8 ^ tables[0][before & 0xff];
    }
  }
  return tables;
}
constexpr Tables kTables = MakeTables();

uint32_t Extend(uint32_t crc, ConstByteSpan data) {
  for (; data.size() >= 8; data = data.subspan(8)) {
    const uint64_t word = LoadLittle<uint64_t>(data.data()) ^ crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][word >> (8 * i) & 0xff];
  }
  for (const std::byte byte : data) {
    crc = crc >> 8 ^ kTables[0][(crc ^ std::to_integer<uint32_t>(byte)) & 0xff];
  }
  return crc;
}

#if defined(__x86_64__)
// The instruction takes 3 cycles, but one can start in every cycle. So three lanes of
// `kLane` bytes are computed in parallel, and then joined: a table gives the effect of
// the bytes that follow a lane.
constexpr size_t kLane = 1024;

// The effect of `kLane` zero bytes on each byte of the checksum.
constexpr std::array<std::array<uint32_t, 256>, 4> MakeShift() {
  std::array<uint32_t, 32> effect{};  // on each bit of the checksum
  for (uint32_t bit = 0; bit < 32; ++bit) {
    uint32_t crc = uint32_t{1} << bit;
    for (size_t i = 0; i < kLane; ++i) crc = crc >> 8 ^ kTables[0][crc & 0xff];
    effect[bit] = crc;
  }
  std::array<std::array<uint32_t, 256>, 4> shift{};
  for (size_t i = 0; i < 4; ++i) {
    for (size_t byte = 0; byte < 256; ++byte) {
      for (size_t bit = 0; bit < 8; ++bit) {
        if (byte >> bit & 1) shift[i][byte] ^= effect[8 * i + bit];
      }
    }
  }
  return shift;
}
constexpr auto kShift = MakeShift();

uint32_t AppendLane(uint32_t crc, uint64_t lane) {
  const uint32_t shifted = kShift[0][crc & 0xff] ^ kShift[1][crc >> 8 & 0xff] ^
                           kShift[2][crc >> 16 & 0xff] ^ kShift[3][crc >> 24];
  return shifted ^ static_cast<uint32_t>(lane);
}

NDLFS_TARGET_SSE42 uint32_t ExtendSse42(uint32_t crc, ConstByteSpan data) {
  const std::byte* at = data.data();
  size_t left = data.size();
  for (; left >= 3 * kLane; left -= 3 * kLane, at += 3 * kLane) {
    uint64_t first = crc, second = 0, third = 0;
    for (size_t i = 0; i < kLane; i += 8) {
      first = __builtin_ia32_crc32di(first, LoadLittle<uint64_t>(at + i));
      second = __builtin_ia32_crc32di(second, LoadLittle<uint64_t>(at + kLane + i));
      third = __builtin_ia32_crc32di(third, LoadLittle<uint64_t>(at + 2 * kLane + i));
    }
    crc = AppendLane(AppendLane(static_cast<uint32_t>(first), second), third);
  }
  uint64_t wide = crc;
  for (; left >= 8; left -= 8, at += 8) {
    wide = __builtin_ia32_crc32di(wide, LoadLittle<uint64_t>(at));
  }
  return Extend(static_cast<uint32_t>(wide), {at, left});
}
#endif

class Crc32cCodec final : public ChecksumCodec {
 public:
  using ChecksumCodec::ChecksumCodec;
  std::string_view name() const override { return "crc32c"; }

 protected:
  uint32_t Compute(ConstByteSpan data) const override { return Crc32c(data); }
};

}  // namespace

uint32_t Crc32cPortable(ConstByteSpan data) { return ~Extend(~uint32_t{0}, data); }

uint32_t Crc32c(ConstByteSpan data) {
#if defined(__x86_64__)
  if (HasSse42()) return ~ExtendSse42(~uint32_t{0}, data);
#endif
  return Crc32cPortable(data);
}

static CodecResult MakeCrc32c(const CodecConfig& config) {
  NDLFS_TRY(const auto location, ParseChecksumLocation(config, ChecksumCodec::Location::kEnd),
            "crc32c");
  return NewCodec<Crc32cCodec>(location);
}

const CodecEntry kCrc32cEntry = {"crc32c", "crc32c", "", MakeCrc32c};

}  // namespace ndlfs::backends
