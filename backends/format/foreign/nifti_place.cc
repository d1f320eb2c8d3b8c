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
