// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fs/view/base/number_array.h"
#include "fs/view/base/view_input.h"
#include "model/entities.h"

namespace ndlfs::fs {

enum class UnpackedForm : uint8_t {
  kNumbers,  // numbers, and times as datetime64
  kText,     // for data.txt: times as ISO text, flags by their names
};

// The values that numbers stand for by the conventions of CF, as an array: after scale_factor
// and add_offset, and NaN if backends::ReadPacking() says that an element is missing; with
// `_Unsigned`, integers without a sign. The attributes that were applied are removed. If the
// numbers stand for themselves, the same numbers. Reads nothing.
//
// The type is that of scale_factor and add_offset: float32 if these are, and the integers have
// no more than 16 bits, else float64. Without them, float32 for integers of 8 and 16 bits and
// for float32. If nothing is missing and nothing is scaled, `_Unsigned` gives integers. Times
// are microseconds, or nanoseconds if the numbers count these; times of a calendar whose days
// datetime64 does not have are text only. datetime64 stays as it is, except in text.
//
// nullopt if elements are no numbers (enums are none), or an attribute cannot be understood: a
// list of scale factors, or NaN.
std::optional<ArrayInput> MakeUnpacked(const ArrayInput& input, UnpackedForm form);

// A stored number stands for number * scale + offset.
struct Factors {
  double scale = 1;
  double offset = 0;
  bool operator==(const Factors&) const = default;
};

// The factors of the shown bands, if they have factors of their own: band_scale and band_offset
// have one for each index of the dimension "band", or "wavelength" of bands that have one.
struct BandFactors {
  size_t band = 0;           // the dimension of the whole array
  std::vector<Factors> all;  // of each shown index along it
  uint64_t run = 1;          // elements that follow each other in one band
};
std::optional<BandFactors> BandFactorsOf(const ArrayInput& input);

// The factors in headers of `raster`, that of `input`: of each sample of each page, or just one
// if all have the same. At least one.
std::vector<Factors> FactorsOfBands(const ArrayInput& input, const Raster& raster);

// Whether elements along dimension `d` have factors of their own, as bands have.
bool HasFactorsAlong(const ArrayInput& input, size_t d);

// The same elements as CF's conventions read them: integers with or without a sign as
// `_Unsigned` says, and times in a unit that CF has a word for. Returns other elements as they
// are.
ArrayInput AsCfNumbers(ArrayInput input);

// The names of numbers by `flag_values` and `flag_meanings`. Empty if the attributes name no
// flags, or name bits of which several may be set.
std::map<model::WideInt, std::string> FlagNames(
    const std::vector<model::Attribute>& attributes);

}  // namespace ndlfs::fs
