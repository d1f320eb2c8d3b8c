// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/base/bytes.h"
#include "model/datatype.h"

namespace ndlfs::backends {

// The unsigned number that `bytes` hold in this order; they are at most eight.
inline uint64_t LoadNumber(ConstByteSpan bytes,
                           model::ByteOrder order = model::ByteOrder::kBig) {
  const bool is_big = order == model::ByteOrder::kBig;
  uint64_t number = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const std::byte byte = bytes[is_big ? i : bytes.size() - 1 - i];
    number = number << 8 | std::to_integer<uint64_t>(byte);
  }
  return number;
}

}  // namespace ndlfs::backends
