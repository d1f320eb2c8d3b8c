// SPDX-License-Identifier: MIT
//
// Decodes files of pcodec: lossless, made for sequences of numbers. Follows its specification
// (docs/format.md of pcodec): standalone versions 0 to 3, format versions 0 to 4.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends {

// The type of the numbers.
struct PcoType {
  enum class Kind : uint8_t { kUnsigned, kSigned, kFloat };
  Kind kind;
  uint8_t size;  // in bytes
  friend bool operator==(const PcoType&, const PcoType&) = default;
};

// The types that pcodec has: integers of 1, 2, 4 and 8 bytes, floats of 2, 4 and 8.
bool IsPcoType(const PcoType& type);

// Decodes a standalone file into the beginning of `decoded`, in native byte order, and returns
// the number of bytes. Fails with kCorrupt if the file has more numbers than `decoded` has room
// for, or numbers of another type than `type`; nullopt accepts any type. Bytes after the end of
// the file are ignored, as other readers do. Needs memory of at most six times the size of
// `decoded` and 2 MiB, in addition to `decoded`.
model::Result<size_t> DecodePco(ConstByteSpan encoded, std::optional<PcoType> type,
                                ByteSpan decoded);

}  // namespace ndlfs::backends
