// SPDX-License-Identifier: MIT
//
// The packings of GRIB: from packed bits to values. All of these are for float and double, and
// thread-safe. They fail with kCorrupt if the bytes are too few or contradict the headers, and
// never write behind `out`.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "backends/base/bytes.h"
#include "backends/codec/grib/message.h"
#include "model/error.h"

namespace ndlfs::backends {

// value = (R + X * 2^E) / 10^D
struct GribScaling {
  explicit GribScaling(const GribPacking& packing)
      : reference(packing.reference),
        binary(std::ldexp(1.0, packing.binary_scale)),
        decimal(std::pow(10.0, -packing.decimal_scale)) {}

  template <typename T>
  T Value(int64_t packed) const {
    return static_cast<T>((static_cast<double>(packed) * binary + reference) * decimal);
  }

  double reference, binary, decimal;
};

// The packed values of one field: as many as `out` of the functions has.
struct GribPacked {
  const GribPacking& packing;
  // In edition 2, section 7 without its head; in edition 1, the whole of section 4.
  ConstByteSpan data;
  uint8_t edition = 2;
  // How many values each row has, if a packing of edition 1 goes row by row; otherwise null.
  const std::vector<uint32_t>* rows = nullptr;
};

template <typename T>
model::Result<void> UnpackGribSimple(const GribPacked& packed, std::span<T> out);
template <typename T>
model::Result<void> UnpackGribComplex(const GribPacked& packed, std::span<T> out);
template <typename T>
model::Result<void> UnpackGribIeee(const GribPacked& packed, std::span<T> out);
template <typename T>
model::Result<void> UnpackGribCcsds(const GribPacked& packed, std::span<T> out);
template <typename T>
model::Result<void> UnpackGribPng(const GribPacked& packed, std::span<T> out);
template <typename T>
model::Result<void> UnpackGribJpeg2000(const GribPacked& packed, std::span<T> out);
template <typename T>
model::Result<void> UnpackGribRunLength(const GribPacked& packed, std::span<T> out);
template <typename T>
model::Result<void> UnpackGribSecondOrder(const GribPacked& packed, std::span<T> out);

// Whether second order packing turned every other row round.
bool TurnsGribRows(const GribPacking& packing, uint8_t edition);
// Whether it has one group for each row.
bool IsGribRowByRow(const GribPacking& packing, uint8_t edition);

// Values of unsigned numbers of `size` bytes (1, 2 or 4), in the byte order of the machine or
// big-endian.
template <typename T>
void ScaleGribNumbers(const std::byte* numbers, size_t size, bool is_big_endian,
                      const GribScaling& scaling, std::span<T> out);

}  // namespace ndlfs::backends
