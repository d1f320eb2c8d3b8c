// SPDX-License-Identifier: MIT
#include "backends/codec/hdf5_config.h"

#include "backends/codec/factories.h"

namespace ndlfs::backends {

model::Result<std::vector<uint32_t>> ParseClientData(const CodecConfig& config,
                                                     size_t required) {
  std::vector<uint32_t> values;
  if (const Json* list = FindMember(config, "cd_values")) {
    if (!list->is_array()) {
      return model::BadInput("cd_values: expected a list, found {}", DescribeJson(*list));
    }
    for (const Json& item : *list) {
      NDLFS_TRY(const uint64_t value, JsonToSize(item), "cd_values");
      if (value > UINT32_MAX) return model::BadInput("cd_values: {} is too large", value);
      values.push_back(static_cast<uint32_t>(value));
    }
  }
  if (values.size() < required) {
    return model::BadInput("{} parameters, expected at least {}", values.size(), required);
  }
  return values;
}

}  // namespace ndlfs::backends
