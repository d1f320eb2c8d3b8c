// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "model/error.h"

namespace ndlfs::fs {

// The turn of a user (backends/store/caller.h) to write a document of many objects, which takes
// some KiB of memory for each of them. Each user has one turn at a time; users do not wait for
// each other.
class LargeDocumentTurn {
 public:
  // A document of fewer objects is written without a turn.
  static constexpr uint64_t kObjects = 1000;

  // Waits until the user has no other turn. The thread must not have one. Fails only if nobody
  // waits for the answer any more (kCancelled).
  static model::Result<LargeDocumentTurn> Take();

  LargeDocumentTurn(LargeDocumentTurn&& other) noexcept
      : user_(std::exchange(other.user_, std::nullopt)) {}
  LargeDocumentTurn& operator=(LargeDocumentTurn&&) = delete;
  ~LargeDocumentTurn();

 private:
  explicit LargeDocumentTurn(uint64_t user) : user_(user) {}

  std::optional<uint64_t> user_;
};

}  // namespace ndlfs::fs
