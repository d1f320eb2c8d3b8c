// SPDX-License-Identifier: MIT
#include "backends/store/kept_values.h"

namespace ndlfs::backends {

bool IsKept(const Store& store, std::string_view key, const ByteRange& range) {
  const auto* kept = dynamic_cast<const KeptValues*>(&store);
  return kept != nullptr && kept->IsKept(key, range);
}

}  // namespace ndlfs::backends
