// SPDX-License-Identifier: MIT
//
// A Store around a MemoryStore that does not keep its promises, as a server or a disk
// may: what a reader makes of it must be an error or the bytes of one version.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/memory_store.h"

namespace ndlfs::test {

class LyingStore final : public backends::Store {
 public:
  enum class Lie {
    kNone,
    kLargerSize,      // memory is asked for more bytes than the value has
    kSmallerSize,     // and for fewer
    kOtherSize,       // the answer has another size than memory was asked for
    kMoreBytes,       // more bytes than there was room for
    kFewerBytes,      // fewer bytes than there are
    kMoreMemory,      // asks for memory twice
    kOldGeneration,   // always says the generation of the first answer
    kIgnoresIfMatch,  // answers whatever version there is
  };

  explicit LyingStore(std::shared_ptr<MemoryStore> truth) : truth_(std::move(truth)) {}

  void Tell(Lie lie) { lie_ = lie; }
  // Called before each read, with how many there have been: what is under way takes a
  // while, and the value may change meanwhile.
  void BeforeRead(std::function<model::Result<void>(size_t reads)> call) {
    before_read_ = std::move(call);
  }

  backends::StoreTraits traits() const override { return {.reads_in_parts = true}; }
  model::Result<std::optional<backends::ValueInfo>> Stat(std::string_view key) const override {
    return truth_->Stat(key);
  }
  model::Result<std::vector<backends::StoreEntry>> List(
      std::string_view prefix) const override {
    return truth_->List(prefix);
  }
  std::string Describe(std::string_view key) const override { return truth_->Describe(key); }

 private:
  model::Result<std::optional<backends::ReadResult>> DoRead(
      std::string_view key, const backends::ReadOptions& options,
      const backends::Reserve& reserve) const override {
    if (before_read_) NDLFS_RETURN_IF_ERROR(before_read_(reads_++));
    backends::ReadOptions asked = options;
    if (lie_ == Lie::kIgnoresIfMatch) asked.if_match.reset();
    const auto told = [&](uint64_t size) -> model::Result<backends::ByteSpan> {
      if (lie_ == Lie::kLargerSize) size += 3;
      if (lie_ == Lie::kSmallerSize) size -= std::min<uint64_t>(size, 3);
      if (lie_ == Lie::kMoreMemory) NDLFS_RETURN_IF_ERROR(reserve(size));
      return reserve(size);
    };
    NDLFS_TRY(auto result, truth_->Read(key, asked, told));
    if (!result) return result;
    if (lie_ == Lie::kOtherSize) ++result->info.size;
    if (lie_ == Lie::kMoreBytes) ++result->count;
    if (lie_ == Lie::kFewerBytes && result->count != 0) --result->count;
    if (lie_ == Lie::kOldGeneration) {
      if (!first_) first_ = result->info.generation;
      result->info.generation = *first_;
    }
    return result;
  }

  const std::shared_ptr<MemoryStore> truth_;
  Lie lie_ = Lie::kNone;
  std::function<model::Result<void>(size_t)> before_read_;
  mutable size_t reads_ = 0;
  mutable std::optional<backends::Generation> first_;
};

}  // namespace ndlfs::test
