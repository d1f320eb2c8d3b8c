// SPDX-License-Identifier: MIT
#include "model/json_elements.h"

#include <algorithm>

namespace ndlfs::model {

bool HoldsJson(const Ndarray& array) {
  if (array.type.kind() != Datatype::Kind::kString || array.type.is_fixed_size()) return false;
  if (!array.storage.filter) return false;
  const auto& filters = *array.storage.filter;
  return std::any_of(filters.begin(), filters.end(), [](const Filter& filter) {
    return filter.name == "json2" || filter.name == "msgpack2";
  });
}

}  // namespace ndlfs::model
