// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "backends/format/grib/plan.h"
#include "backends/store/store.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::grib {

// Compares headers with those that a sidecar promised, before the fields are read. Does this
// once, for up to 512 fields together. Thread-safe.
class HeaderCheck {
 public:
  // `fields` stay as long as this does. `on_lie` may be null.
  HeaderCheck(std::shared_ptr<const Store> store, const std::vector<PlannedField>& fields,
              std::function<void()> on_lie)
      : store_(std::move(store)), fields_(fields), on_lie_(std::move(on_lie)) {}

  // Fails with kCorrupt if the header of field `number` is not as expected, and with other
  // errors if it cannot be read now. Costs nothing if no header is expected.
  model::Result<void> Check(size_t number) const;

 private:
  using Lies = std::map<size_t, std::string>;  // by the numbers of fields
  model::Result<Lies> Compare(size_t begin, size_t end) const;

  const std::shared_ptr<const Store> store_;
  const std::vector<PlannedField>& fields_;
  const std::function<void()> on_lie_;
  mutable model::Mutex mutex_;
  mutable std::set<size_t> compared_ GUARDED_BY(mutex_);  // numbers of blocks
  mutable Lies lies_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::backends::grib
