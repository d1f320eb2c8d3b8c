// SPDX-License-Identifier: MIT
#include "backends/format/foreign/nifti_place.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace ndlfs::backends::foreign {
namespace {

// Fields of one version of the header.
class NiftiPlaceReader {
 public:
  NiftiPlaceReader(std::string_view bytes, bool is_reversed, bool is_second)
      : bytes_(bytes), is_reversed_(is_reversed), is_second_(is_second) {}

  template <typename T>
  T Get(size_t at) const {
    std::array<char, sizeof(T)> raw{};
    bytes_.copy(raw.data(), sizeof(T), at);
    if (is_reversed_) std::ranges::reverse(raw);
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  double Real(size_t at, size_t index) const {
    return is_second_ ? Get<double>(at + index * sizeof(double))
                      : static_cast<double>(Get<float>(at + index * sizeof(float)));
  }
  int Code(size_t at) const {
    return is_second_ ? Get<int32_t>(at) : static_cast<int>(Get<int16_t>(at));
  }

 private:
  const std::string_view bytes_;
  const bool is_reversed_;
  const bool is_second_;
};

}  // namespace

Placement PlacementOf(const NiftiPlace& place) {
  Placement made;
  if (place.sform > 0) {
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j) made.columns[j][i] = place.rows[i][j];
      made.origin[i] = place.rows[i][3];
    }
    return made;
  }
  const auto step = [&](size_t n) { return std::abs(place.pixdim[n]); };
  if (place.qform <= 0) {
    for (size_t i = 0; i < 3; ++i) made.columns[i][i] = step(i + 1);
    return made;
  }
  const auto [b, c, d] = place.quaternion;
  const double a = std::sqrt(std::max(0.0, 1 - b * b - c * c - d * d));
  const std::array<std::array<double, 3>, 3> rotation = {
      {{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
       {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
       {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}}};
  const double mirror = place.pixdim[0] < 0 ? -1 : 1;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      made.columns[j][i] = rotation[i][j] * step(j + 1) * (j == 2 ? mirror : 1);
    }
  }
  made.origin = place.origin;
  return made;
}

namespace {

// Sets quatern_b, _c and _d to the turn of a placement, and pixdim to its sizes.
void SetQuaternion(const Placement& placement, NiftiPlace& place) {
  constexpr double kRounding = 1e-5;
  std::array<std::array<double, 3>, 3> r{};  // unit vectors, each a column
  const auto product = [&r](size_t j, size_t k) {
    return r[0][j] * r[0][k] + r[1][j] * r[1][k] + r[2][j] * r[2][k];
  };
  NiftiPlace made = place;
  for (size_t j = 0; j < 3; ++j) {
    const auto& column = placement.columns[j];
    made.pixdim[j + 1] = std::hypot(column[0], column[1], column[2]);
    for (size_t i = 0; i < 3; ++i) r[i][j] = column[i] / made.pixdim[j + 1];
    for (size_t k = 0; k <= j; ++k) {
      if (!(std::abs(product(j, k) - (j == k ? 1 : 0)) < kRounding)) return;
    }
  }
  const double determinant = r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1]) -
                             r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0]) +
                             r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
  made.pixdim[0] = determinant < 0 ? -1 : 1;
  for (auto& row : r) row[2] *= made.pixdim[0];
  // Four times the products of the parts of the quaternion with each other.
  const double x = r[0][0], y = r[1][1], z = r[2][2];
  const double ab = r[2][1] - r[1][2], ac = r[0][2] - r[2][0], ad = r[1][0] - r[0][1];
  const double bc = r[1][0] + r[0][1], bd = r[0][2] + r[2][0], cd = r[2][1] + r[1][2];
  const std::array<std::array<double, 4>, 4> products = {{{1 + x + y + z, ab, ac, ad},
                                                          {ab, 1 + x - y - z, bc, bd},
                                                          {ac, bc, 1 - x + y - z, cd},
                                                          {ad, bd, cd, 1 - x - y + z}}};
  size_t largest = 0;
  for (const size_t i : {1, 2, 3}) {
    if (products[i][i] > products[largest][largest]) largest = i;
  }
  const auto& row = products[largest];
  const double part = std::copysign(2 * std::sqrt(row[largest]), row[0]);
  made.quaternion = {row[1] / part, row[2] / part, row[3] / part};
  made.origin = placement.origin;
  made.qform = place.sform;
  place = made;
}

}  // namespace

std::string_view LengthUnitOfNifti(int units) {
  constexpr std::array<std::string_view, 4> kLengths = {"", "m", "mm", "um"};
  const auto code = static_cast<size_t>(units & 0x07);
  return code < kLengths.size() ? kLengths[code] : "";
}

void AddOtherForm(NiftiPlace& place) {
  const Placement placement = PlacementOf(place);
  if (place.qform <= 0 && place.sform > 0) SetQuaternion(placement, place);
  if (place.sform > 0 || place.qform <= 0) return;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) place.rows[i][j] = placement.columns[j][i];
    place.rows[i][3] = placement.origin[i];
  }
  place.sform = place.qform;
}

std::optional<NiftiPlace> ReadNiftiPlace(std::string_view header) {
  constexpr size_t kFirst = 348;
  constexpr size_t kSecond = 540;
  for (const bool is_reversed : {false, true}) {
    for (const bool is_second : {false, true}) {
      const size_t size = is_second ? kSecond : kFirst;
      const NiftiPlaceReader fields(header, is_reversed, is_second);
      if (header.size() < size || fields.Get<int32_t>(0) != static_cast<int32_t>(size))
        continue;
      NiftiPlace place;
      place.qform = fields.Code(is_second ? 344 : 252);
      place.sform = fields.Code(is_second ? 348 : 254);
      for (size_t i = 0; i < 3; ++i) {
        place.quaternion[i] = fields.Real(is_second ? 352 : 256, i);
        place.origin[i] = fields.Real(is_second ? 352 : 256, 3 + i);
        for (size_t j = 0; j < 4; ++j) {
          place.rows[i][j] = fields.Real(is_second ? 400 : 280, 4 * i + j);
        }
      }
      for (size_t i = 0; i < 8; ++i) place.pixdim[i] = fields.Real(is_second ? 104 : 76, i);
      place.units = is_second ? fields.Get<int32_t>(500) : fields.Get<uint8_t>(123);
      return place;
    }
  }
  return std::nullopt;
}

}  // namespace ndlfs::backends::foreign
