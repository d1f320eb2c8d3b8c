// SPDX-License-Identifier: MIT
//
// Writes element streams (see array_source.h); element_stream.h reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/codec/codec.h"
#include "model/error.h"

namespace ndlfs::backends {

// Bytes of the table at the beginning of a stream of `count` elements.
inline uint64_t StreamTableSize(uint64_t count) { return (count + 1) * sizeof(uint64_t); }

// Collects elements one by one.
class ElementStreamWriter {
 public:
  // A stream of `count` elements and at most `limit` bytes.
  static model::Result<ElementStreamWriter> Make(uint64_t count, uint64_t limit);

  // Ends an element, after its parts have been appended to parts().
  model::Result<void> EndElement();
  std::string& parts() { return parts_; }
  void AppendText(std::string_view text);
  void AppendCount(uint32_t count);

  // kCorrupt unless there have been as many elements as promised.
  model::Result<Bytes> Finish() &&;

 private:
  ElementStreamWriter(uint64_t count, uint64_t limit);

  uint64_t count_;
  uint64_t limit_;
  std::vector<uint64_t> ends_;
  std::string parts_;
};

}  // namespace ndlfs::backends
