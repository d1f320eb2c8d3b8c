// SPDX-License-Identifier: MIT
#include "backends/store/pinned_store.h"

#include <utility>

#include "backends/store/forwarding_store.h"

namespace ndlfs::backends {
namespace {

class PinnedStore final : public ForwardingStore {
 public:
  PinnedStore(std::shared_ptr<const Store> store, Generation generation)
      : ForwardingStore(std::move(store)), generation_(std::move(generation)) {}

 private:
  model::Result<ReadOptions> ToInner(std::string_view key,
                                     const ReadOptions& options) const override {
    if (!key.empty()) return options;
    if (options.if_match && *options.if_match != generation_) {
      return model::Stale("changed since it was opened");
    }
    ReadOptions pinned = options;
    pinned.if_match = generation_;
    return pinned;
  }
  model::Result<void> CheckFound(std::string_view key, bool is_there) const override {
    if (is_there || !key.empty()) return {};
    return model::Stale("gone since it was opened");
  }

  const Generation generation_;
};

}  // namespace

model::Result<std::shared_ptr<const Store>> PinVersion(std::shared_ptr<const Store> store) {
  NDLFS_TRY(const auto value, store->Get("", 0, {.range = {0, 0}}));
  if (!value) return model::NotFound("there is no such file");
  return std::make_shared<PinnedStore>(std::move(store), value->info.generation);
}

}  // namespace ndlfs::backends
