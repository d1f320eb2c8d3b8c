// SPDX-License-Identifier: MIT
#include "backends/codec/grib/field_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/grib/octets.h"
#include "backends/codec/grib/unpack.h"

namespace ndlfs::backends {
namespace {

// The bits of a bitmap, one for each point.
uint64_t CountBits(ConstByteSpan bits, uint64_t points) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < points / 8; ++i) {
    count += static_cast<uint64_t>(std::popcount(std::to_integer<unsigned>(bits[i])));
  }
  if (points % 8 == 0) return count;
  const unsigned last = std::to_integer<unsigned>(bits[points / 8]) >> (8 - points % 8);
  return count + static_cast<uint64_t>(std::popcount(last));
}

bool BitAt(ConstByteSpan bits, uint64_t i) {
  return (std::to_integer<unsigned>(bits[i / 8]) >> (7 - i % 8) & 1) != 0;
}

// Moves the first `count` values of `out` to the points that have a bit, from the last one on,
// and makes the other points NaN.
template <typename T>
void SpreadValues(ConstByteSpan bits, uint64_t count, std::span<T> out) {
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  uint64_t i = out.size();
  while (i % 8 != 0) {
    --i;
    out[i] = BitAt(bits, i) ? out[--count] : kNan;
  }
  while (i != 0) {
    i -= 8;
    const auto byte = std::to_integer<unsigned>(bits[i / 8]);
    if (byte == 0xff) {
      if (count == i + 8) return;  // all points before are there, too
      count -= 8;
      std::memmove(&out[i], &out[count], 8 * sizeof(T));
    } else if (byte == 0) {
      std::fill_n(&out[i], 8, kNan);
    } else {
      for (unsigned bit = 8; bit-- > 0;) {
        out[i + bit] = (byte >> (7 - bit) & 1) != 0 ? out[--count] : kNan;
      }
    }
  }
}

// 5.61: logarithms of the values plus a number that makes all of them positive. Floats would
// not keep enough digits of the logarithms.
template <typename T>
model::Result<void> UnpackLogarithms(const GribPacked& packed, std::span<T> values) {
  const double added = GribOctets(*packed.packing.section).Ieee(21);
  std::vector<double> logarithms(values.size());
  NDLFS_RETURN_IF_ERROR(UnpackGribSimple(packed, std::span(logarithms)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(std::exp(logarithms[i]) - added);
  }
  return {};
}

template <typename T>
model::Result<void> Unpack(const GribPacked& packed, std::span<T> out) {
  const GribPacking& packing = packed.packing;
  switch (packing.method) {
    case GribMethod::kSimple:
      return UnpackGribSimple(packed, out);
    case GribMethod::kLogarithm:
      return UnpackLogarithms(packed, out);
    case GribMethod::kComplex:
    case GribMethod::kSpatialDifferencing:
      return UnpackGribComplex(packed, out);
    case GribMethod::kIeee:
      return UnpackGribIeee(packed, out);
    case GribMethod::kJpeg2000:
      return UnpackGribJpeg2000(packed, out);
    case GribMethod::kPng:
      return UnpackGribPng(packed, out);
    case GribMethod::kCcsds:
      return UnpackGribCcsds(packed, out);
    case GribMethod::kRunLength:
      return UnpackGribRunLength(packed, out);
    case GribMethod::kSecondOrder:
      return UnpackGribSecondOrder(packed, out);
    default:
      break;
  }
  if (packed.edition == 1) return model::Unsupported("spherical harmonics");
  return model::Unsupported("packing 5.{}", packing.template_number);
}

// Packings that keep nothing but the reference if all values are equal.
bool IsConstant(const GribPacking& packing, uint8_t edition) {
  if (packing.bits != 0) return false;
  switch (packing.method) {
    case GribMethod::kSimple:
    case GribMethod::kJpeg2000:
    case GribMethod::kPng:
    case GribMethod::kCcsds:
      return true;
    case GribMethod::kSecondOrder:
      return edition == 2 && packing.template_number == 50001;
    default:
      return false;
  }
}

// Decodes one field.
template <typename T>
class FieldDecoder {
 public:
  FieldDecoder(ConstByteSpan message, const GribMessage& headers, const GribField& field,
               std::span<T> out)
      : message_(message), edition_(headers.edition), field_(field), out_(out) {}

  model::Result<void> Decode() {
    NDLFS_RETURN_IF_ERROR(FindBitmap());
    const uint64_t values = field_.bitmap ? CountBits(bitmap_, out_.size()) : out_.size();
    NDLFS_RETURN_IF_ERROR(UnpackValues(out_.first(values)));
    if (values != out_.size()) SpreadValues(bitmap_, values, out_);
    if (!TurnsGribRows(*field_.packing, edition_)) return {};
    NDLFS_TRY(const std::vector<uint32_t> rows, RowLengths());
    return TurnRows(rows);
  }

 private:
  model::Result<ConstByteSpan> Part(const GribRange& range) const {
    if (range.offset > message_.size() || range.size > message_.size() - range.offset) {
      return model::Corrupt("ends within a message");
    }
    return message_.subspan(range.offset, range.size);
  }

  model::Result<void> FindBitmap() {
    if (field_.bitmap_indicator == 255) return {};
    if (!field_.bitmap) {
      return model::Unsupported("bitmap {} of the centre", field_.bitmap_indicator);
    }
    NDLFS_TRY(bitmap_, Part(*field_.bitmap));
    if (uint64_t{bitmap_.size()} * 8 >= out_.size()) return {};
    return model::Corrupt("a bitmap of {} bits for {} points", bitmap_.size() * 8, out_.size());
  }

  model::Result<void> UnpackValues(std::span<T> values) {
    const GribPacking& packing = *field_.packing;
    if (IsConstant(packing, edition_)) {
      const double value = packing.reference * std::pow(10.0, -packing.decimal_scale);
      std::fill(values.begin(), values.end(), static_cast<T>(value));
    } else {
      if (edition_ == 2 && packing.values != values.size()) {
        return model::Corrupt("{} packed values for {} points", packing.values, values.size());
      }
      NDLFS_TRY(const ConstByteSpan data, Part(field_.data));
      GribPacked packed{packing, data, edition_};
      std::vector<uint32_t> rows;
      if (IsGribRowByRow(packing, edition_)) {
        NDLFS_TRY(rows, RowLengths());
        if (field_.bitmap) CountRows(rows);
        packed.rows = &rows;
      }
      NDLFS_RETURN_IF_ERROR(Unpack(packed, values));
    }
    return {};
  }

  // The points of each row, or column if those are consecutive.
  model::Result<std::vector<uint32_t>> RowLengths() const {
    const GribGrid* grid = field_.grid.get();
    if (grid && grid->is_reduced()) return grid->row_points;
    if (!grid || grid->ni == 0 || grid->nj == 0 || grid->ni * grid->nj != out_.size()) {
      return model::Unsupported("second order packing of rows in a grid without rows");
    }
    const bool columns = grid->j_consecutive();
    return std::vector<uint32_t>(columns ? grid->ni : grid->nj,
                                 static_cast<uint32_t>(columns ? grid->nj : grid->ni));
  }

  // Makes points of rows the values of rows.
  void CountRows(std::vector<uint32_t>& rows) const {
    uint64_t at = 0;
    for (uint32_t& row : rows) {
      const uint64_t end = std::min<uint64_t>(at + row, out_.size());
      uint32_t count = 0;
      for (; at < end; ++at) count += BitAt(bitmap_, at) ? 1 : 0;
      row = count;
    }
  }

  model::Result<void> TurnRows(const std::vector<uint32_t>& rows) {
    uint64_t at = 0;
    for (size_t row = 0; row < rows.size(); ++row) {
      if (rows[row] > out_.size() - at) return model::Corrupt("rows of too many points");
      const auto begin = out_.begin() + static_cast<ptrdiff_t>(at);
      if (row % 2 == 1) std::reverse(begin, begin + rows[row]);
      at += rows[row];
    }
    return {};
  }

  const ConstByteSpan message_;
  const uint8_t edition_;
  const GribField& field_;
  const std::span<T> out_;
  ConstByteSpan bitmap_;
};

template <typename T>
model::Result<void> DecodeField(ConstByteSpan message, const GribMessage& headers,
                                const GribField& field, std::span<T> out) {
  if (field.points != out.size()) {
    return model::Corrupt("a field of {} points, expected {}", field.points, out.size());
  }
  return FieldDecoder<T>(message, headers, field, out).Decode();
}

}  // namespace

model::Result<void> DecodeGribField(ConstByteSpan message, const GribMessage& headers,
                                    const GribField& field, std::span<float> out) {
  return DecodeField(message, headers, field, out);
}
model::Result<void> DecodeGribField(ConstByteSpan message, const GribMessage& headers,
                                    const GribField& field, std::span<double> out) {
  return DecodeField(message, headers, field, out);
}

}  // namespace ndlfs::backends
