// SPDX-License-Identifier: MIT
#include "backends/store/pinned_store.h"

#include <utility>

namespace ndlfs::backends {
namespace {

class PinnedStore final : public Store {
 public:
  PinnedStore(std::shared_ptr<const Store> store, Generation generation)
      : store_(std::move(store)), generation_(std::move(generation)) {}

  bool looks_are_requests() const override { return store_->looks_are_requests(); }
  bool ReadsInParts() const override { return store_->ReadsInParts(); }
  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    return store_->Stat(key);
  }
  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    return store_->List(prefix);
  }
  std::optional<int64_t> ClockNs() const override { return store_->ClockNs(); }
  uint64_t held_bytes() const override { return store_->held_bytes(); }
  std::string Describe(std::string_view key) const override { return store_->Describe(key); }

 private:
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    if (!key.empty()) return std::nullopt;
    if (options.if_match && *options.if_match != generation_) {
      return model::Stale("changed since it was opened");
    }
    ReadOptions pinned = options;
    pinned.if_match = generation_;
    NDLFS_TRY(auto result, store_->Read(key, pinned, reserve));
    if (!result) return model::Stale("gone since it was opened");
    return result;
  }

  const std::shared_ptr<const Store> store_;
  const Generation generation_;
};

}  // namespace

model::Result<std::shared_ptr<const Store>> PinVersion(std::shared_ptr<const Store> store) {
  NDLFS_TRY(const auto value, store->Get("", 0, {.range = {0, 0}}));
  if (!value) return model::NotFound("there is no such file");
  return std::make_shared<PinnedStore>(std::move(store), value->info.generation);
}

}  // namespace ndlfs::backends
