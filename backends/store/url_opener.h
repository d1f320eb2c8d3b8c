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

// A source that also opens files behind URLs that its documents name. Thread-safe.
class UrlOpener {
 public:
  virtual ~UrlOpener() = default;

  // The file behind `url`. Sends nothing before the first read. kUnsupported if the user has
  // not allowed this URL.
  virtual model::Result<StoreKey> FindUrl(std::string_view url) const = 0;
};

}  // namespace ndlfs::backends
