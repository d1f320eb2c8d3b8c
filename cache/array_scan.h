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
  // `chunk` has `count` elements; one without bytes is absent. `spec` and the
  // bytes of `chunk` must outlive the object.
  static model::Result<ChunkElements> Make(const backends::ArraySpec& spec,
                                           backends::ConstByteSpan chunk, uint64_t count);

  // Whether the chunk is absent. Its elements are then the fill value.
  bool absent() const { return absent_; }
  // Element `i`, in the form of an element stream; see
  // backends/format/array_source.h.
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
  uint64_t within;  // index of the first one in `elements`

  bool equal() const { return elements.absent(); }  // all are the same
  backends::ConstByteSpan operator[](uint64_t i) const { return elements[within + i]; }
};

// May be called by several threads at the same time. An error ends the scan.
using VisitRun = std::function<model::Result<void>(const ElementRun& run)>;

// Calls `visit` for all elements of an array, in no particular order. Decodes
// each chunk once, whatever its shape; each thread holds one block at a time.
// Up to `threads` threads do the work, including the calling thread. All scans
// of the process together start fewer than `threads` further threads. The
// chunks that a scan decodes first stay in the cache, up to a quarter of its
// budget; later ones are the first to be evicted. An error in a chunk names the
// chunk.
model::Result<void> ScanArray(const ArrayReader& reader, unsigned threads,
                              const VisitRun& visit);

}  // namespace ndlfs::cache
