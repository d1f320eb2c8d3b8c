// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::cache {
class Prefetcher;
}

namespace ndlfs::fs {

// The cost of reading a whole file.
struct ReadCost {
  uint64_t chunks = 0;         // chunks of arrays that it needs
  uint64_t kept = 0;           // those of them that are decoded already, in memory or on disk
  uint64_t fetched_bytes = 0;  // of all these chunks, as they are stored
  uint64_t decoded_bytes = 0;  // of all these chunks, decoded
};

inline void AddCost(const ReadCost& cost, ReadCost& sum) {
  sum.chunks += cost.chunks;
  sum.kept += cost.kept;
  sum.fetched_bytes += cost.fetched_bytes;
  sum.decoded_bytes += cost.decoded_bytes;
}

// The contents of one file. Immutable as seen from outside, and thread-safe.
class View {
 public:
  virtual ~View() = default;
  // The exact size in bytes, known without reading a chunk. nullopt if only
  // FindSize() can find it, and has not done so yet.
  virtual std::optional<uint64_t> size() const = 0;
  // The size. If it is not known, decodes the whole array to find it, which may
  // take long. Concurrent callers share the work, and the result is kept.
  virtual model::Result<uint64_t> FindSize() const { return *size(); }
  // An estimate of the bytes that FindSize() has to decode; 0 if the size is
  // known.
  virtual uint64_t scan_bytes() const { return 0; }
  // Set if there is no such file, because FindSize() would have to decode too
  // much. Read() from the beginning on works nevertheless.
  virtual std::optional<model::Error> refusal() const { return std::nullopt; }
  // Memory that the view holds, in bytes, in addition to some hundred. May
  // grow.
  virtual uint64_t held_bytes() const { return 0; }
  // The most that held_bytes() may grow to, as far as the view knows.
  virtual uint64_t most_held_bytes() const { return held_bytes(); }
  // Fills `out` from byte `offset`, and returns the number of bytes: fewer only
  // at the end of the file or, while size() is not known, after a long search
  // for `offset`.
  virtual model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const = 0;
  // The cost of reading the whole file; nullopt if that is not known. Looks at each chunk in
  // the source, as a listing does, but reads none.
  virtual model::Result<std::optional<ReadCost>> FindCost() const { return std::nullopt; }
  // A view of the same bytes for one open file, which may decode ahead of its
  // reader. Null if this view itself can be used. The prefetcher must outlive
  // the result.
  virtual std::shared_ptr<const View> ForReader(cache::Prefetcher&) const { return nullptr; }
};
using ViewPtr = std::shared_ptr<const View>;

}  // namespace ndlfs::fs
