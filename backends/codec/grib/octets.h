// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/base/bytes.h"
#include "backends/base/load_number.h"

namespace ndlfs::backends {

// Reads numbers of a section of GRIB by the octet where they begin, counted from 1 as in the
// Manual on Codes. Octets behind the end are 0, and is_short() tells of them afterwards.
class GribOctets {
 public:
  explicit GribOctets(ConstByteSpan section) : bytes_(section) {}

  bool is_short() const { return is_short_; }
  size_t size() const { return bytes_.size(); }

  // Big-endian, of `count` octets, at most 8.
  uint64_t Unsigned(size_t octet, size_t count) const {
    if (octet == 0 || octet - 1 > bytes_.size() || count > bytes_.size() - (octet - 1)) {
      is_short_ = true;
      return 0;
    }
    return LoadNumber(bytes_.subspan(octet - 1, count));
  }
  uint8_t U8(size_t octet) const { return static_cast<uint8_t>(Unsigned(octet, 1)); }
  uint16_t U16(size_t octet) const { return static_cast<uint16_t>(Unsigned(octet, 2)); }
  uint32_t U24(size_t octet) const { return static_cast<uint32_t>(Unsigned(octet, 3)); }
  uint32_t U32(size_t octet) const { return static_cast<uint32_t>(Unsigned(octet, 4)); }

  // The first bit is the sign, the others the magnitude.
  int64_t Signed(size_t octet, size_t count) const {
    const uint64_t bits = Unsigned(octet, count);
    const uint64_t sign = uint64_t{1} << (8 * count - 1);
    const auto magnitude = static_cast<int64_t>(bits & (sign - 1));
    return (bits & sign) != 0 ? -magnitude : magnitude;
  }
  float Ieee(size_t octet) const { return std::bit_cast<float>(U32(octet)); }
  // IBM's floating point: an exponent of 16, and 24 bits of fraction.
  double Ibm(size_t octet) const {
    const uint32_t bits = U32(octet);
    const int exponent = static_cast<int>(bits >> 24 & 0x7f) - 64;
    const double magnitude =
        std::ldexp(static_cast<double>(bits & 0xffffff), 4 * exponent - 24);
    return (bits >> 31) != 0 ? -magnitude : magnitude;
  }
  // Whether all bits are set, which says that there is no value.
  bool IsMissing(size_t octet, size_t count) const {
    return Unsigned(octet, count) ==
           (count == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * count) - 1);
  }

 private:
  ConstByteSpan bytes_;
  mutable bool is_short_ = false;
};

}  // namespace ndlfs::backends
