// SPDX-License-Identifier: MIT
#include "backends/store/kept_values.h"

namespace ndlfs::backends {

bool IsKept(const Store& store, std::string_view key, uint64_t offset) {
  const auto* kept = dynamic_cast<const KeptValues*>(&store);
  return kept != nullptr && kept->IsKept(key, offset);
}

}  // namespace ndlfs::backends
