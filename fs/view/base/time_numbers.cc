// SPDX-License-Identifier: MIT
#include "fs/view/base/time_numbers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "backends/codec/simd.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;
using backends::Packing;
using backends::TimeReader;
using model::Nanoseconds;
using model::Result;
using model::TimeScale;
using Converter = backends::ElementConverter;

constexpr double kMicrosecond = 1000;

// Adding this to an integer of less than 51 bits leaves the integer in the low bits of the sum.
// It also rounds numbers to integers. Unlike a conversion, every processor can do this with
// several numbers at once.
constexpr double kIntegerBits = 0x1.8p52;
constexpr double kMostInteger = 0x1p51;

NDLFS_FORCE_INLINE uint64_t BitsOf(double number) { return std::bit_cast<uint64_t>(number); }
NDLFS_FORCE_INLINE double Nearest(double number) {
  return (number + kIntegerBits) - kIntegerBits;
}

// The times that 64 bits have room for: nearly all there are. They need no wide numbers.
class NearTimes {
 public:
  // They are counted in `unit` nanoseconds. Without any, if that does not divide the origin and
  // the unit of `scale`.
  NearTimes(const TimeScale& scale, int64_t unit) {
    const Nanoseconds limit = (Nanoseconds{1} << 61) * unit;
    if (scale.origin % unit != 0 || scale.unit % unit != 0) return;
    if (scale.origin < -limit || scale.origin > limit || scale.unit > limit) return;
    // One more than is needed, as the ends are compared with rounded numbers.
    least_ = static_cast<int64_t>((-limit - scale.origin) / scale.unit) + 1;
    most_ = static_cast<int64_t>((limit - scale.origin) / scale.unit) - 1;
    origin_ = static_cast<int64_t>(scale.origin / unit);
    step_ = static_cast<int64_t>(scale.unit / unit);
    unit_ = static_cast<double>(scale.unit);
    FindFactors();
  }

  template <typename T>
  bool HasInteger(T count) const {
    if constexpr (std::is_floating_point_v<T>) {
      return false;
    } else {
      return std::cmp_greater_equal(count, least_) && std::cmp_less_equal(count, most_);
    }
  }
  int64_t OfInteger(int64_t count) const { return origin_ + count * step_; }

  NDLFS_FORCE_INLINE bool HasReal(double count) const {
    return count >= least_real_ && count <= most_real_;
  }
  // As TimeScale::OfReal(), for a `unit` of a microsecond.
  NDLFS_FORCE_INLINE int64_t OfReal(double count) const {
    const double nearest = Nearest(count);
    const double whole = nearest - (nearest > count ? 1.0 : 0.0);
    const double rest = (count - whole) * unit_ / kMicrosecond;
    const double even = Nearest(rest);
    const double rounded = even + (rest - even >= 0.5 ? 1.0 : 0.0);
    return static_cast<int64_t>(near_origin_ +
                                (BitsOf(whole * odd_step_ + kIntegerBits) << shift_) +
                                BitsOf(rounded + kIntegerBits));
  }

 private:
  // Splits the step, so that a product with its odd factor is exact in float64.
  void FindFactors() {
    shift_ = std::countr_zero(static_cast<uint64_t>(step_));
    odd_step_ = static_cast<double>(step_ >> shift_);
    if (odd_step_ >= kMostInteger || unit_ / kMicrosecond >= kMostInteger) return;
    const uint64_t bits = BitsOf(kIntegerBits);
    near_origin_ = static_cast<uint64_t>(origin_) - (bits << shift_) - bits;
    const double limit = std::floor(kMostInteger / odd_step_) - 1;
    least_real_ = std::max(static_cast<double>(least_), -limit);
    most_real_ = std::min(static_cast<double>(most_), limit);
  }

  int64_t least_ = 0;  // in units from the origin
  int64_t most_ = -1;
  int64_t origin_ = 0;
  uint64_t near_origin_ = 0;  // less the bits that OfReal() adds
  int64_t step_ = 0;          // is odd_step_ << shift_
  double unit_ = 0;           // nanoseconds
  double odd_step_ = 0;
  int shift_ = 0;
  double least_real_ = 0;
  double most_real_ = -1;
};

// For datetime64, whose days are those of the proleptic Gregorian calendar.
template <typename T>
class TimeNumbers final : public Converter {
 public:
  // `unit` in nanoseconds.
  TimeNumbers(const TimeScale& scale, const Packing& packing, int64_t unit)
      : Converter(sizeof(T), sizeof(int64_t)),
        read_(scale, packing),
        near_(scale, unit),
        unit_(unit) {}

  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    const size_t count = from.size() / sizeof(T);
    for (size_t done = 0; done < count; done += kBlock) {
      const std::byte* numbers = from.data() + done * sizeof(T);
      std::byte* times = to.data() + done * sizeof(int64_t);
      const size_t left = std::min(count - done, kBlock);
      const bool is_near =
          left == kBlock &&
          (backends::HasAvx2() ? ConvertNearAvx2(numbers, times) : ConvertNear(numbers, times));
      if (!is_near) ConvertEach(numbers, times, left);
    }
    return {};
  }

 private:
  static constexpr size_t kBlock = 128;

  void ConvertEach(const std::byte* numbers, std::byte* times, size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      const std::byte* at = numbers + i * sizeof(T);
      const auto near = NearTime(at);
      const int64_t time = near ? *near : Count(read_(at));
      std::memcpy(times + i * sizeof time, &time, sizeof time);
    }
  }

  // Converts kBlock numbers if all of them are near and none is missing; else returns false,
  // and `times` has anything.
  NDLFS_FORCE_INLINE bool ConvertNear(const std::byte* numbers, std::byte* times) const {
    if (read_.AnyMissing(numbers, kBlock)) return false;
    if (read_.counts_real()) return ConvertNearReals(numbers, times);
    if constexpr (!std::is_floating_point_v<T>) return ConvertNearIntegers(numbers, times);
    return false;
  }
  NDLFS_TARGET_AVX2 bool ConvertNearAvx2(const std::byte* numbers, std::byte* times) const {
    return ConvertNear(numbers, times);
  }

  NDLFS_FORCE_INLINE bool ConvertNearReals(const std::byte* __restrict numbers,
                                           std::byte* __restrict times) const {
    const NearTimes near = near_;
    std::array<double, kBlock> counts;
    uint64_t beyond = 0;
    for (size_t i = 0; i < kBlock; ++i) {
      T number;
      std::memcpy(&number, numbers + i * sizeof number, sizeof number);
      counts[i] = read_.RealCount(number);
      beyond |= near.HasReal(counts[i]) ? 0 : 1;
    }
    if (beyond != 0) return false;
    for (size_t i = 0; i < kBlock; ++i) {
      const int64_t time = near.OfReal(counts[i]);
      std::memcpy(times + i * sizeof time, &time, sizeof time);
    }
    return true;
  }

  NDLFS_FORCE_INLINE bool ConvertNearIntegers(const std::byte* __restrict numbers,
                                              std::byte* __restrict times) const {
    const NearTimes near = near_;
    uint64_t beyond = 0;
    for (size_t i = 0; i < kBlock; ++i) {
      T number;
      std::memcpy(&number, numbers + i * sizeof number, sizeof number);
      beyond |= near.HasInteger(number) ? 0 : 1;
    }
    if (beyond != 0) return false;
    for (size_t i = 0; i < kBlock; ++i) {
      T number;
      std::memcpy(&number, numbers + i * sizeof number, sizeof number);
      const int64_t time = near.OfInteger(static_cast<int64_t>(number));
      std::memcpy(times + i * sizeof time, &time, sizeof time);
    }
    return true;
  }

  std::optional<int64_t> NearTime(const std::byte* at) const {
    T number;
    std::memcpy(&number, at, sizeof number);
    if (read_.IsMissing(number)) return std::nullopt;
    if (read_.counts_real()) {
      const double count = read_.RealCount(number);
      return near_.HasReal(count) ? std::optional(near_.OfReal(count)) : std::nullopt;
    }
    if (!near_.HasInteger(number)) return std::nullopt;
    return near_.OfInteger(static_cast<int64_t>(number));
  }
  int64_t Count(std::optional<Nanoseconds> time) const {
    constexpr int64_t kNotATime = std::numeric_limits<int64_t>::min();
    if (!time) return kNotATime;
    const Nanoseconds rest = ((*time % unit_) + unit_) % unit_;
    const Nanoseconds count = (*time - rest) / unit_;
    const bool fits = count > kNotATime && count <= std::numeric_limits<int64_t>::max();
    return fits ? static_cast<int64_t>(count) : kNotATime;
  }

  const TimeReader<T> read_;
  const NearTimes near_;
  const int64_t unit_;
};

}  // namespace

std::shared_ptr<const Converter> MakeTimeNumbers(Number number, const TimeScale& scale,
                                                 const Packing& packing, int64_t unit) {
  return WithType(number, [&](auto t) -> std::shared_ptr<const Converter> {
    return std::make_shared<const TimeNumbers<decltype(t)>>(scale, packing, unit);
  });
}

}  // namespace ndlfs::fs
