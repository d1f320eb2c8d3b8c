// SPDX-License-Identifier: MIT
//
// A Store around a MemoryStore that makes every read wait, as a server does, and counts the
// reads that wait at the same time.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/memory_store.h"

namespace ndlfs::test {

// Remembers the largest number of things that happened at once. Thread-safe.
class Concurrency {
 public:
  class Scope {
   public:
    explicit Scope(Concurrency& counted) : counted_(counted) {
      const int now = ++counted_.now_;
      for (int seen = counted_.most_; now > seen;) {
        if (counted_.most_.compare_exchange_weak(seen, now)) break;
      }
    }
    ~Scope() { --counted_.now_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Concurrency& counted_;
  };
  int now() const { return now_; }
  int most() const { return most_; }

 private:
  std::atomic<int> now_{0};
  std::atomic<int> most_{0};
};

class SlowStore final : public backends::Store {
 public:
  // Waits for a read of `key`.
  using WaitFor = std::function<model::Result<void>(std::string_view key)>;

  SlowStore(std::shared_ptr<MemoryStore> store, WaitFor wait)
      : store_(std::move(store)), wait_(std::move(wait)) {}

  // Reads that waited at once.
  const Concurrency& reads() const { return reads_; }

  model::Result<std::optional<backends::ValueInfo>> Stat(std::string_view key) const override {
    return store_->Stat(key);
  }
  model::Result<std::vector<backends::StoreEntry>> List(
      std::string_view prefix) const override {
    return store_->List(prefix);
  }
  std::string Describe(std::string_view key) const override { return store_->Describe(key); }

 private:
  model::Result<std::optional<backends::ReadResult>> DoRead(
      std::string_view key, const backends::ReadOptions& options,
      const backends::Reserve& reserve) const override {
    const Concurrency::Scope scope(reads_);
    NDLFS_RETURN_IF_ERROR(wait_(key));
    return store_->Read(key, options, reserve);
  }

  const std::shared_ptr<MemoryStore> store_;
  const WaitFor wait_;
  mutable Concurrency reads_;
};

}  // namespace ndlfs::test
