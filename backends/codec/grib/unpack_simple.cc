// SPDX-License-Identifier: MIT
//
// Packings without groups: simple (5.0 and edition 1), IEEE (5.4), CCSDS (5.42) and run length
// (5.200).
#include <bit>
#include <cstring>
#include <limits>

#include "backends/base/checked.h"
#include "backends/codec/grib/bits.h"
#include "backends/codec/grib/octets.h"
#include "backends/codec/grib/unpack.h"

#if NDLFS_WITH_SZIP
#include <libaec.h>
#endif

namespace ndlfs::backends {
namespace {

// Octets of section 4 of edition 1 in front of the values.
constexpr size_t kSimpleHead1 = 11, kIeeeHead1 = 12;

template <typename Number, bool kSwap, typename T>
void ScaleNumbersOf(const std::byte* numbers, const GribScaling& scaling, std::span<T> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    Number number;
    std::memcpy(&number, numbers + i * sizeof(Number), sizeof(Number));
    if constexpr (kSwap && sizeof(Number) == 2) number = __builtin_bswap16(number);
    if constexpr (kSwap && sizeof(Number) == 4) number = __builtin_bswap32(number);
    out[i] = scaling.Value<T>(number);
  }
}

template <typename Bits, typename Float, typename T>
void CopyBigFloats(const std::byte* from, std::span<T> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    Bits bits;
    std::memcpy(&bits, from + i * sizeof(Bits), sizeof(Bits));
    if constexpr (std::endian::native == std::endian::little) {
      bits = sizeof(Bits) == 4
                 ? static_cast<Bits>(__builtin_bswap32(static_cast<uint32_t>(bits)))
                 : static_cast<Bits>(__builtin_bswap64(bits));
    }
    out[i] = static_cast<T>(std::bit_cast<Float>(bits));
  }
}

// Whether `count` fields of `bits` bits fit into `data`.
model::Result<void> CheckRoom(uint64_t count, unsigned bits, ConstByteSpan data) {
  const auto needed = CheckedMultiply(count, bits);
  if (needed && *needed <= uint64_t{data.size()} * 8) return {};
  return model::Corrupt("{} bytes for {} values of {} bits", data.size(), count, bits);
}

}  // namespace

template <typename T>
void ScaleGribNumbers(const std::byte* numbers, size_t size, bool is_big_endian,
                      const GribScaling& scaling, std::span<T> out) {
  const bool swap = is_big_endian == (std::endian::native == std::endian::little);
  if (size == 1) return ScaleNumbersOf<uint8_t, false>(numbers, scaling, out);
  if (size == 2 && swap) return ScaleNumbersOf<uint16_t, true>(numbers, scaling, out);
  if (size == 2) return ScaleNumbersOf<uint16_t, false>(numbers, scaling, out);
  if (swap) return ScaleNumbersOf<uint32_t, true>(numbers, scaling, out);
  return ScaleNumbersOf<uint32_t, false>(numbers, scaling, out);
}
template void ScaleGribNumbers(const std::byte*, size_t, bool, const GribScaling&,
                               std::span<float>);
template void ScaleGribNumbers(const std::byte*, size_t, bool, const GribScaling&,
                               std::span<double>);

template <typename T>
model::Result<void> UnpackGribSimple(const GribPacked& packed, std::span<T> out) {
  const GribPacking& packing = packed.packing;
  ConstByteSpan data = packed.data;
  if (packed.edition == 1) {
    constexpr unsigned kAdditionalFlags = 1;
    if ((packing.template_number & kAdditionalFlags) != 0) {
      return model::Unsupported("a matrix of values at each point");
    }
    data = data.subspan(kSimpleHead1);
  }
  if (packing.bits > kMaxGribBits) {
    return model::Corrupt("packed values of {} bits", packing.bits);
  }
  NDLFS_RETURN_IF_ERROR(CheckRoom(out.size(), packing.bits, data));
  const GribScaling scaling(packing);
  if (packing.bits == 8 || packing.bits == 16 || packing.bits == 32) {
    ScaleGribNumbers(data.data(), packing.bits / 8, true, scaling, out);
    return {};
  }
  T* to = out.data();
  ForGribBits(data, 0, packing.bits, out.size(),
              [&](uint64_t number) { *to++ = scaling.Value<T>(static_cast<int64_t>(number)); });
  return {};
}
template model::Result<void> UnpackGribSimple(const GribPacked&, std::span<float>);
template model::Result<void> UnpackGribSimple(const GribPacked&, std::span<double>);

template <typename T>
model::Result<void> UnpackGribIeee(const GribPacked& packed, std::span<T> out) {
  const bool is_first = packed.edition == 1;
  const uint8_t precision = GribOctets(*packed.packing.section).U8(12);
  const ConstByteSpan data =
      is_first ? packed.data.subspan(std::min(kIeeeHead1, packed.data.size())) : packed.data;
  if (precision != 1 && precision != 2) {
    return model::Unsupported("floats of precision {}", precision);
  }
  const unsigned bits = precision == 1 ? 32 : 64;
  NDLFS_RETURN_IF_ERROR(CheckRoom(out.size(), bits, data));
  if (precision == 1) {
    CopyBigFloats<uint32_t, float>(data.data(), out);
  } else {
    CopyBigFloats<uint64_t, double>(data.data(), out);
  }
  return {};
}
template model::Result<void> UnpackGribIeee(const GribPacked&, std::span<float>);
template model::Result<void> UnpackGribIeee(const GribPacked&, std::span<double>);

#if NDLFS_WITH_SZIP
template <typename T>
model::Result<void> UnpackGribCcsds(const GribPacked& packed, std::span<T> out) {
  constexpr unsigned kMaxBlockSize = 64, kMaxInterval = 4096;
  const GribOctets in(*packed.packing.section);
  const unsigned bits = packed.packing.bits, flags = in.U8(22);
  const unsigned block = in.U8(23), interval = in.U16(24);
  if (bits > 32 || block < 2 || block > kMaxBlockSize || block % 2 != 0 || interval == 0 ||
      interval > kMaxInterval) {
    return model::Corrupt("CCSDS of {} bits, blocks of {}, reference interval of {}", bits,
                          block, interval);
  }
  // libaec refuses this, too, but then forgets the memory that it has taken.
  if ((flags & AEC_RESTRICTED) != 0 && bits > 4) {
    return model::Corrupt("CCSDS of {} bits with a restricted set of codes", bits);
  }
  if ((flags & AEC_DATA_SIGNED) != 0) return model::Unsupported("CCSDS of signed numbers");
  const size_t size = bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
  Bytes numbers(out.size() * size);
  aec_stream stream = {};
  stream.next_in = reinterpret_cast<const unsigned char*>(packed.data.data());
  stream.avail_in = packed.data.size();
  stream.next_out = reinterpret_cast<unsigned char*>(numbers.data());
  stream.avail_out = numbers.size();
  stream.bits_per_sample = bits;
  stream.block_size = block;
  stream.rsi = interval;
  // Numbers of 17 to 24 bits come in four bytes, and of this machine's byte order.
  stream.flags = flags & ~unsigned{AEC_DATA_3BYTE | AEC_DATA_MSB};
  if constexpr (std::endian::native == std::endian::big) stream.flags |= AEC_DATA_MSB;
  const int status = ::aec_buffer_decode(&stream);
  if (status == AEC_MEM_ERROR) return model::Limit("not enough memory for a decompressor");
  if (status != AEC_OK || stream.total_out != numbers.size()) {
    return model::Corrupt("CCSDS data that are invalid or cut");
  }
  ScaleGribNumbers(numbers.data(), size, std::endian::native == std::endian::big,
                   GribScaling(packed.packing), out);
  return {};
}
#else
template <typename T>
model::Result<void> UnpackGribCcsds(const GribPacked&, std::span<T>) {
  return model::Unsupported("CCSDS packing (libaec) is not built in");
}
#endif
template model::Result<void> UnpackGribCcsds(const GribPacked&, std::span<float>);
template model::Result<void> UnpackGribCcsds(const GribPacked&, std::span<double>);

// Numbers up to `most` are levels. Those above it are the digits, lowest first, of how often
// the level before them is repeated.
template <typename T>
model::Result<void> UnpackGribRunLength(const GribPacked& packed, std::span<T> out) {
  const GribOctets in(*packed.packing.section);
  const unsigned bits = packed.packing.bits;
  const uint64_t most = in.U16(13);
  const uint64_t levels = in.U16(15);
  if (bits == 0 || bits > 16 || most == 0 || most > levels ||
      most >= (uint64_t{1} << bits) - 1) {
    return model::Corrupt("run lengths of {} bits with {} of {} levels", bits, most, levels);
  }
  if (in.size() < 17 + 2 * levels) return model::Corrupt("{} levels are not there", levels);
  const uint64_t base = (uint64_t{1} << bits) - 1 - most;
  const uint64_t count = uint64_t{packed.data.size()} * 8 / bits;
  const double decimal = std::pow(10.0, -packed.packing.decimal_scale);
  GribBitList numbers(packed.data, 0, bits);
  size_t done = 0;
  uint64_t factor = 1;
  T value = 0;
  for (uint64_t i = 0; i < count && (done < out.size() || i == 0); ++i) {
    const uint64_t number = numbers.Next();
    uint64_t repeat = 1;
    if (number <= most) {
      value = number == 0 ? std::numeric_limits<T>::quiet_NaN()
                          : static_cast<T>(in.U16(16 + 2 * number) * decimal);
      factor = 1;
    } else {
      if (i == 0) return model::Corrupt("run lengths that begin with a length");
      repeat = (number - most - 1) * factor;
      factor *= base;
      if (factor > UINT32_MAX) return model::Corrupt("a run of more than 2^32 values");
    }
    if (repeat > out.size() - done) return model::Corrupt("runs of more values than expected");
    std::fill_n(out.data() + done, repeat, value);
    done += repeat;
  }
  if (done == out.size()) return {};
  return model::Corrupt("runs of {} values, expected {}", done, out.size());
}
template model::Result<void> UnpackGribRunLength(const GribPacked&, std::span<float>);
template model::Result<void> UnpackGribRunLength(const GribPacked&, std::span<double>);

}  // namespace ndlfs::backends
