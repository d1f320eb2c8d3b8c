// SPDX-License-Identifier: MIT
#include "backends/store/partial_listing.h"

namespace ndlfs::backends {

model::Result<std::vector<StoreEntry>> ListSome(const Store& store, std::string_view prefix,
                                                size_t limit) {
  if (const auto* partial = dynamic_cast<const PartialListing*>(&store)) {
    return partial->ListSome(prefix, limit);
  }
  NDLFS_TRY(auto entries, store.List(prefix));
  if (entries.size() > limit) entries.resize(limit);
  return entries;
}

}  // namespace ndlfs::backends
