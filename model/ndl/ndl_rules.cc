// SPDX-License-Identifier: MIT
#include "model/ndl/ndl_rules.h"

#include <algorithm>

namespace ndlfs::model {
namespace {

bool Fits(WideInt value, size_t bytes, bool is_signed) {
  const WideInt end = WideInt{1} << (8 * bytes - (is_signed ? 1 : 0));
  return value >= (is_signed ? -end : 0) && value < end;
}

}  // namespace

std::optional<Datatype> ShortIntegerType(WideInt value) {
  if (Fits(value, 4, true)) return Datatype::Integer(4, true);
  if (Fits(value, 8, true)) return Datatype::Integer(8, true);
  if (Fits(value, 8, false)) return Datatype::Integer(8, false);
  return std::nullopt;
}

std::optional<Datatype> SmallestEnumBase(const std::vector<Datatype::Constant>& constants) {
  const bool is_signed = std::any_of(constants.begin(), constants.end(),
                                     [](const auto& constant) { return constant.value < 0; });
  for (const size_t bytes : {1, 2, 4, 8}) {
    if (std::all_of(constants.begin(), constants.end(), [&](const auto& constant) {
          return Fits(constant.value, bytes, is_signed);
        })) {
      return Datatype::Integer(bytes, is_signed);
    }
  }
  return std::nullopt;
}

}  // namespace ndlfs::model
