// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// A value in a store.
struct StoreKey {
  std::shared_ptr<const Store> store;
  std::string key;
};

// A source that also opens files behind URLs, which documents in it name. Thread-safe.
class UrlOpener {
 public:
  virtual ~UrlOpener() = default;

  // The file behind `url`. Asks nobody before the first read. kUnsupported if the user has not
  // allowed to ask for it.
  virtual model::Result<StoreKey> FindUrl(std::string_view url) const = 0;
};

}  // namespace ndlfs::backends
