// SPDX-License-Identifier: MIT
//
// A Store in memory, for tests: keys are put and removed at will, and a fault
// can be set for a key.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/store/store.h"

namespace ndlfs::test {

class MemoryStore final : public backends::Store {
 public:
  MemoryStore() = default;
  MemoryStore(std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
    for (const auto& [key, value] : values) Put(key, value);
  }

  void Put(std::string_view key, std::string_view value) {
    const std::scoped_lock lock(mutex_);
    values_[std::string(key)] = {std::string(value), ++clock_};
  }
  void Remove(std::string_view key) {
    const std::scoped_lock lock(mutex_);
    values_.erase(std::string(key));
  }
  // Every access to `key` fails with `sys_errno` from now on.
  void Fail(std::string_view key, int sys_errno) {
    const std::scoped_lock lock(mutex_);
    faults_[std::string(key)] = sys_errno;
  }
  // When all values have come to their places, in nanoseconds since 1970; 0: nobody knows.
  void set_placed_ns(int64_t placed_ns) {
    const std::scoped_lock lock(mutex_);
    placed_ns_ = placed_ns;
  }
  // What ClockNs() tells; null: the clock of this machine.
  void set_clock(std::function<std::optional<int64_t>()> clock) {
    const std::scoped_lock lock(mutex_);
    source_clock_ = std::move(clock);
  }
  std::optional<int64_t> ClockNs() const override {
    const std::scoped_lock lock(mutex_);
    return source_clock_ ? source_clock_() : Store::ClockNs();
  }
  // From now on all values have the same generation, as the members of an archive do.
  void ShareGeneration() {
    const std::scoped_lock lock(mutex_);
    shares_generation_ = true;
  }
  // How often values have been read, and how many bytes in all.
  size_t reads() const {
    const std::scoped_lock lock(mutex_);
    return reads_;
  }
  size_t bytes_read() const {
    const std::scoped_lock lock(mutex_);
    return bytes_read_;
  }

  // How often Stat() was asked.
  size_t stats() const {
    const std::scoped_lock lock(mutex_);
    return stats_;
  }

  backends::StoreTraits traits() const override { return {.reads_in_parts = true}; }
  model::Result<std::optional<backends::ValueInfo>> Stat(std::string_view key) const override {
    const std::scoped_lock lock(mutex_);
    ++stats_;
    NDLFS_TRY(const Value* value, Find(key));
    if (value == nullptr) return std::nullopt;
    return InfoOf(*value);
  }

  model::Result<std::vector<backends::StoreEntry>> List(
      std::string_view prefix) const override {
    const std::scoped_lock lock(mutex_);
    const std::string begin = prefix.empty() ? "" : std::string(prefix) + "/";
    std::map<std::string, bool> children;
    for (auto it = values_.lower_bound(begin); it != values_.end(); ++it) {
      if (!it->first.starts_with(begin)) break;
      const std::string rest = it->first.substr(begin.size());
      const size_t slash = rest.find('/');
      children[rest.substr(0, slash)] |= slash != rest.npos;
    }
    std::vector<backends::StoreEntry> entries;
    for (const auto& [name, is_prefix] : children) entries.push_back({name, is_prefix});
    return entries;
  }

  std::string Describe(std::string_view key) const override {
    return key.empty() ? "memory" : "memory/" + std::string(key);
  }

 private:
  struct Value {
    std::string text;
    uint64_t stamp;
  };
  std::function<std::optional<int64_t>()> source_clock_;

  backends::ValueInfo InfoOf(const Value& value) const {
    const uint64_t version = shares_generation_ ? 1 : value.stamp;
    return {backends::Generation::OfTag(std::to_string(version)), value.text.size(),
            static_cast<int64_t>(value.stamp), placed_ns_};
  }

  model::Result<std::optional<backends::ReadResult>> DoRead(
      std::string_view key, const backends::ReadOptions& options,
      const backends::Reserve& reserve) const override {
    const std::scoped_lock lock(mutex_);
    NDLFS_TRY(const Value* value, Find(key));
    if (value == nullptr) return std::nullopt;
    NDLFS_TRY(const backends::ByteSpan out, reserve(value->text.size()));
    const backends::ByteRange range = options.Clip(value->text.size());
    const size_t count = std::min<uint64_t>(out.size(), range.length);
    if (count != 0) std::memcpy(out.data(), value->text.data() + range.offset, count);
    if (options.range.length != 0) ++reads_;
    bytes_read_ += count;
    return backends::ReadResult{count, InfoOf(*value)};
  }

  model::Result<const Value*> Find(std::string_view key) const {
    const auto fault = faults_.find(key);
    if (fault != faults_.end()) return model::IoError(fault->second, Describe(key));
    const auto it = values_.find(key);
    return it == values_.end() ? nullptr : &it->second;
  }

  mutable std::mutex mutex_;
  std::map<std::string, Value, std::less<>> values_;
  std::map<std::string, int, std::less<>> faults_;
  uint64_t clock_ = 1'700'000'000'000'000'000;
  int64_t placed_ns_ = 0;
  bool shares_generation_ = false;
  mutable size_t reads_ = 0;
  mutable size_t stats_ = 0;
  mutable size_t bytes_read_ = 0;
};

}  // namespace ndlfs::test
