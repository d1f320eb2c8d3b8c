// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "fs/view/base/view_input.h"
#include "fs/view/elements/view.h"
#include "model/error.h"

namespace ndlfs::fs {

// The rows of a text, whose length only making them tells. Thread-safe.
class TextRows {
 public:
  // Takes the number of a row, which counts from 0 with the first one that was asked for, and
  // the length of its text.
  using Note = std::function<void(uint64_t row, size_t length)>;

  virtual ~TextRows() = default;
  virtual uint64_t count() const = 0;
  // About how many bytes of elements a row is made from; at least 1.
  virtual uint64_t row_bytes() const = 0;
  // Appends the `count` rows from `first` on.
  virtual model::Result<void> Append(uint64_t first, uint64_t count, std::string& out,
                                     const Note& note) const = 0;
};

// `header`, and `rows` behind it. Finding its size makes all rows; what is kept is a table of
// the places of some, by which any offset is found. `refusal` tells that this would take more
// than `limits` allow.
ViewPtr MakeRowText(std::string header, std::unique_ptr<const TextRows> rows,
                    const ScanLimits& limits, const model::Error& refusal);

}  // namespace ndlfs::fs
