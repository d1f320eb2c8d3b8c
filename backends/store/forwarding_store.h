// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/store/kept_values.h"
#include "backends/store/partial_listing.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// Shows all values of another store, with its traits. Base of stores that differ from it in one
// respect. What they differ in is mostly ToInner() and CheckFound(), which hold for each read;
// a store that overrides DoRead() or Stat() has to override ReadMany() or StatMany(), too.
class ForwardingStore : public Store, public PartialListing, public KeptValues {
 public:
  explicit ForwardingStore(std::shared_ptr<const Store> store) : store_(std::move(store)) {}

  StoreTraits traits() const override { return store_->traits(); }
  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    return store_->Stat(key);
  }
  std::vector<model::Result<std::optional<ValueInfo>>> StatMany(
      std::span<const std::string_view> keys) const override {
    return store_->StatMany(keys);
  }
  std::vector<model::Result<std::optional<Value>>> ReadMany(
      std::span<const ReadRequest> requests) const override;
  std::vector<bool> KnownToHold(std::string_view prefix, std::span<const StoreEntry> entries,
                                std::span<const std::string_view> names) const override {
    return store_->KnownToHold(prefix, entries, names);
  }
  void LookAhead(std::string_view prefix, std::span<const std::string_view> names,
                 std::span<const std::string_view> names_below) const override {
    store_->LookAhead(prefix, names, names_below);
  }
  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    return store_->List(prefix);
  }
  model::Result<std::vector<StoreEntry>> ListSome(std::string_view prefix,
                                                  size_t limit) const override {
    return backends::ListSome(*store_, prefix, limit);
  }
  bool IsKept(std::string_view key, const ByteRange& range) const override {
    return backends::IsKept(*store_, key, range);
  }
  std::optional<int64_t> ClockNs() const override { return store_->ClockNs(); }
  uint64_t held_bytes() const override { return store_->held_bytes(); }
  std::string Describe(std::string_view key) const override { return store_->Describe(key); }

 protected:
  const Store& inner() const { return *store_; }
  const std::shared_ptr<const Store>& shared_inner() const { return store_; }

  // How to ask the other store for the value at `key`. An error refuses the read.
  virtual model::Result<ReadOptions> ToInner(std::string_view /*key*/,
                                             const ReadOptions& options) const {
    return options;
  }
  // Told what such a read found. An error is the result of the read.
  virtual model::Result<void> CheckFound(std::string_view /*key*/, bool /*is_there*/) const {
    return {};
  }

  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override;

 private:
  const std::shared_ptr<const Store> store_;
};

}  // namespace ndlfs::backends
