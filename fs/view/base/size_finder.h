// SPDX-License-Identifier: MIT
//
// Finds the size of a text by making all of it, once for all callers.
#pragma once

#include <cerrno>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "fs/view/base/text_table.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// The size of a text, and the table that comes with it. Thread-safe.
class SizeFinder {
 public:
  struct Found {
    model::Result<std::shared_ptr<const TextTable>> table;
    // Set if the search would take too much, so that there is no such file.
    std::optional<model::Error> refusal = {};
  };
  using Search = std::function<Found()>;

  // `known`: the table, if no search is needed. `refusal`: a search is known to take too much.
  // `search` runs at most once at a time, and never again after it has found the table or
  // damage.
  SizeFinder(std::shared_ptr<const TextTable> known, std::optional<model::Error> refusal,
             Search search)
      : search_(std::move(search)), table_(std::move(known)), refusal_(std::move(refusal)) {}

  // Null while it is not known.
  std::shared_ptr<const TextTable> table() const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    return table_;
  }
  std::optional<model::Error> refusal() const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    return refusal_;
  }

  model::Result<uint64_t> Find() EXCLUDES(mutex_) {
    {
      const model::MutexLock lock(mutex_);
      while (is_searching_) changed_.Wait(mutex_);
      if (table_) return table_->text_size();
      if (refusal_) return model::Propagate(*refusal_);
      if (damage_) return model::Propagate(*damage_);
      is_searching_ = true;
    }
    return Keep(SearchNow());
  }

 private:
  // Exceptions must not leave this function, because other threads wait for the result.
  Found SearchNow() const {
    try {
      return search_();
    } catch (const std::bad_alloc&) {
      return {model::IoError(ENOMEM, "looking for the size")};
    }
  }

  // Damage of the data is kept; failures of the system may be transient, and are not.
  model::Result<uint64_t> Keep(Found found) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    is_searching_ = false;
    changed_.NotifyAll();
    if (found.table) {
      table_ = *std::move(found.table);
      return table_->text_size();
    }
    if (found.refusal) {
      refusal_ = std::move(found.refusal);
      return model::Propagate(*refusal_);
    }
    const model::Error& error = found.table.error();
    if (!error.is_transient() && error.code() != model::ErrorCode::kInternal) {
      damage_ = error;
    }
    return model::Propagate(error);
  }

  const Search search_;
  mutable model::Mutex mutex_;
  model::CondVar changed_;
  bool is_searching_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<const TextTable> table_ GUARDED_BY(mutex_);
  std::optional<model::Error> refusal_ GUARDED_BY(mutex_);
  std::optional<model::Error> damage_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
