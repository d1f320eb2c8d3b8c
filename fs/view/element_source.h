// SPDX-License-Identifier: MIT
//
// Where the bytes of a view come from that are not in memory: the elements of
// an array, of a part of one, or text that is made of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backends/base/bytes.h"
#include "cache/array_reader.h"
#include "cache/prefetcher.h"
#include "model/error.h"

namespace ndlfs::fs {

// Follows one reader through a source, and has decoded what it wants next.
// Thread-safe.
class ReadTracker {
 public:
  virtual ~ReadTracker() = default;
  // The reader is about to read bytes [offset, offset + size) of the source.
  // Returns what to tell ElementSource::Read().
  virtual cache::Access OnRead(uint64_t offset, uint64_t size) = 0;
  // The reader will soon come to byte `offset`, from another source.
  virtual void Expect(uint64_t /*offset*/) {}
};

// A stream of bytes of a known size. Immutable and thread-safe.
class ElementSource {
 public:
  virtual ~ElementSource() = default;
  // Bytes of the whole stream, known without reading a chunk; at most
  // backends::kMaxViewSize.
  virtual uint64_t size() const = 0;
  // Fills `out` with the bytes from `offset`, numbers in `order`. The caller
  // has checked that the range lies inside. Any range will do, also one that
  // begins within an element.
  virtual model::Result<void> Read(uint64_t offset, backends::ByteSpan out,
                                   model::ByteOrder order, cache::Access access) const = 0;
  // Memory that the source holds, besides some hundred bytes and what it reads from.
  virtual uint64_t held_bytes() const { return 0; }
  // A tracker for one open file. The tracker must not outlive `prefetcher`.
  virtual std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const = 0;
};

// The elements of a whole array, which are of fixed size. Errors begin with
// `name` unless it is empty: a file made of several arrays says which one
// failed. kLimit where there are more bytes than a file can have.
model::Result<std::shared_ptr<const ElementSource>> MakeArrayElements(
    std::shared_ptr<const cache::ArrayReader> reader, std::string name = {});

}  // namespace ndlfs::fs
