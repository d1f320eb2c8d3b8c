// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backends/base/bytes.h"
#include "cache/prefetcher.h"
#include "model/error.h"

namespace ndlfs::fs {

// The contents of one file. Immutable as seen from outside, and thread-safe.
class View {
 public:
  virtual ~View() = default;
  // Exact, and known without reading a chunk; nullopt where only FindSize() can
  // tell, and has not been asked yet.
  virtual std::optional<uint64_t> size() const = 0;
  // The size, found by decoding all of the array if it is not known: takes as
  // long as that does. Callers that come at the same time share the work, and
  // what was found stays known.
  virtual model::Result<uint64_t> FindSize() const { return *size(); }
  // How much FindSize() has to decode, as far as can be told before: bytes.
  virtual uint64_t scan_bytes() const { return 0; }
  // Set when FindSize() has found that there is no such file: too much would
  // have to be decoded for its size. Read() from the beginning on works all the
  // same.
  virtual std::optional<model::Error> refusal() const { return std::nullopt; }
  // Memory that the view holds, besides some hundred bytes. May grow.
  virtual uint64_t held_bytes() const { return 0; }
  // Fills `out` from `offset`; fewer bytes only at the end of the file.
  virtual model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const = 0;
  // This view for one open file, which may prepare what its reader is going to
  // want next; null where the view itself does as well.
  virtual std::shared_ptr<const View> ForReader(cache::Prefetcher&) const { return nullptr; }
};
using ViewPtr = std::shared_ptr<const View>;

}  // namespace ndlfs::fs
