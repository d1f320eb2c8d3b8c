// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/element_stream.h"
#include "backends/format/array_source.h"
#include "cache/array_reader.h"
#include "model/error.h"

namespace ndlfs::cache {

// The elements of one decoded chunk, by their place in it.
class ChunkElements {
 public:
  // Of a chunk of `count` elements; both arguments outlive the object. A chunk
  // without bytes is absent.
  static model::Result<ChunkElements> Make(const backends::ArraySpec& spec,
                                           backends::ConstByteSpan chunk, uint64_t count);

  // The fill value stands for all of them.
  bool absent() const { return absent_; }
  // In the form of an element stream, see backends/format/array_source.h.
  backends::ConstByteSpan operator[](uint64_t i) const;

 private:
  ChunkElements(const backends::ArraySpec& spec, backends::ConstByteSpan chunk);

  backends::ConstByteSpan chunk_;
  uint64_t size_;
  bool absent_;
  std::vector<std::byte> fill_;
  std::optional<backends::ElementTable> table_;
};

// Elements that follow each other in an array, in C order.
struct ElementRun {
  uint64_t first;  // number of the first one in the array
  uint64_t count;
  const ChunkElements& elements;
  uint64_t within;  // place of the first one among these

  bool equal() const { return elements.absent(); }  // all are the same
  backends::ConstByteSpan operator[](uint64_t i) const { return elements[within + i]; }
};

// May be called by several threads at the same time. An error ends the scan.
using VisitRun = std::function<model::Result<void>(const ElementRun& run)>;

// Calls `visit` for all elements of an array, in no particular order. Each
// chunk is decoded once, whatever the shape of the chunks is; one block at a
// time is held by each thread. Up to `threads` work on it, the caller's
// included; all scans of the process together start no more than `threads`
// besides their callers. A scan leaves the first chunks that it decodes in the
// cache, up to a quarter of it, and no others. An error of a chunk names it.
model::Result<void> ScanArray(const ArrayReader& reader, unsigned threads,
                              const VisitRun& visit);

}  // namespace ndlfs::cache
