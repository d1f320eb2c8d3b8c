// SPDX-License-Identifier: MIT
//
// Sources of the bytes of a view that are not in memory: the elements of an
// array or of a part of one, or text that is made from elements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backends/base/bytes.h"
#include "cache/read_hint.h"
#include "fs/view/elements/view.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::cache {
class ArrayReader;
class Prefetcher;
}  // namespace ndlfs::cache

namespace ndlfs::fs {

// Follows one reader through a source, and has the chunks decoded that the
// reader will need next. Thread-safe.
class ReadTracker {
 public:
  virtual ~ReadTracker() = default;
  // Call it before the reader reads bytes [offset, offset + size) of the source. Returns the
  // `hint` for ElementSource::Read().
  virtual cache::ReadHint OnRead(uint64_t offset, uint64_t size) = 0;
  // Tells that the reader will soon come from another source to byte `offset`
  // of this one.
  virtual void Expect(uint64_t /*offset*/) {}
};

// A stream of bytes of a known size. Immutable and thread-safe.
class ElementSource {
 public:
  virtual ~ElementSource() = default;
  // Size of the whole stream in bytes, known without reading a chunk; at most
  // backends::kMaxViewSize.
  virtual uint64_t size() const = 0;
  // Fills `out` with the bytes from `offset`; numbers are in byte order
  // `order`. The caller has checked that the range lies inside the stream. The
  // range may begin within an element.
  virtual model::Result<void> Read(uint64_t offset, backends::ByteSpan out,
                                   model::ByteOrder order, cache::ReadHint hint) const = 0;
  // Memory that the source holds, without some hundred bytes, and without the objects that it
  // reads from.
  virtual uint64_t held_bytes() const { return 0; }
  // The reader of the array whose elements these are: all of them, and as they are. Null if
  // they are others. May load the array again, and fails with kStale if it has changed.
  virtual model::Result<std::shared_ptr<const cache::ArrayReader>> Reader() const {
    return nullptr;
  }
  // Calls `visit` for each chunk of an array that elements are in, once. Calls it for nothing
  // if the elements are not known to be in chunks. Loads no chunk. Stops at the first error.
  using ChunkVisitor =
      std::function<model::Result<void>(const cache::ArrayReader& reader, uint64_t chunk)>;
  virtual model::Result<void> VisitChunks(const ChunkVisitor& /*visit*/) const { return {}; }
  // A tracker for one open file. The tracker must not outlive `prefetcher`.
  virtual std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const = 0;
};

// All elements of an array, which must be of fixed size. Errors begin with
// `name`, unless it is empty, so that a file made of several arrays tells which
// one failed. kLimit if there are more bytes than a file can have.
model::Result<std::shared_ptr<const ElementSource>> MakeArrayElements(
    std::shared_ptr<const cache::ArrayReader> reader, std::string name = {});

// What reading all of `source` takes. kLimit for very many chunks.
model::Result<ReadCost> CostOf(const ElementSource& source);

// Follows a reader of a source that makes `to_size` bytes of each element of `from_size` bytes
// of another source, which `tracker` follows. Neither size is 0.
std::unique_ptr<ReadTracker> TrackElements(std::unique_ptr<ReadTracker> tracker,
                                           uint64_t from_size, uint64_t to_size);

}  // namespace ndlfs::fs
