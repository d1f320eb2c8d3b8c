// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// About how many bytes of memory an object takes that an IndexCache keeps.
inline uint64_t WeightOf(const Bytes& bytes) { return bytes.size(); }
template <typename T>
uint64_t WeightOf(const T& object) {
  return object.held_bytes();
}

// Keeps what locating chunks needs again and again (shard indexes, manifests), within the
// memory budget of the mount. Implemented in cache/. Thread-safe.
class IndexCache {
 public:
  virtual ~IndexCache() = default;

  // The object that `load` made for `slot` of the array or store `id` (a NewId()), made once. A
  // slot always has objects of the same type, whose weight is WeightOf().
  template <typename T>
  model::Result<std::shared_ptr<const T>> GetOrLoad(
      uint64_t id, uint64_t slot,
      const std::function<model::Result<std::shared_ptr<const T>>()>& load) {
    const auto weighed = [&]() -> model::Result<Weighed> {
      NDLFS_TRY(std::shared_ptr<const T> object, load());
      const uint64_t weight = WeightOf(*object);
      return Weighed{std::move(object), weight};
    };
    NDLFS_TRY(auto found, GetOrLoadWeighed(id, slot, weighed));
    return std::static_pointer_cast<const T>(std::move(found));
  }
  // The same of bytes.
  model::Result<std::shared_ptr<const Bytes>> GetOrLoad(
      uint64_t id, uint64_t slot, const std::function<model::Result<Bytes>()>& load) {
    return GetOrLoad<Bytes>(id, slot, [&]() -> model::Result<std::shared_ptr<const Bytes>> {
      NDLFS_TRY(Bytes bytes, load());
      return std::make_shared<const Bytes>(std::move(bytes));
    });
  }

  // An object, and its weight in bytes.
  struct Weighed {
    std::shared_ptr<const void> object;
    uint64_t weight = 0;
  };
  virtual model::Result<std::shared_ptr<const void>> GetOrLoadWeighed(
      uint64_t id, uint64_t slot, const std::function<model::Result<Weighed>()>& load) = 0;

  // Tells that a value was read to locate chunks, and with which result (nullopt: no value).
  // Fails (kStale) if the value has changed since the first such read.
  virtual model::Result<void> DidRead(const std::shared_ptr<const Store>& /*store*/,
                                      const std::string& /*key*/,
                                      const std::optional<ValueInfo>& /*found*/) {
    return {};
  }
};

}  // namespace ndlfs::backends
