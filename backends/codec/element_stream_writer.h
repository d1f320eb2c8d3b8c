// SPDX-License-Identifier: MIT
//
// Writes element streams (see array_source.h), which element_stream.h reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/codec/codec.h"
#include "model/error.h"

namespace ndlfs::backends {

// The bytes of the table at the beginning of a stream of `count` elements.
inline uint64_t StreamTableSize(uint64_t count) { return (count + 1) * sizeof(uint64_t); }

// Collects elements one after the other.
class ElementStreamWriter {
 public:
  // For a stream of `count` elements and at most `limit` bytes. Fails with kLimit
  // if the table alone is longer.
  static model::Result<ElementStreamWriter> Make(uint64_t count, uint64_t limit);

  // Ends an element, whose parts the caller has appended to parts().
  model::Result<void> EndElement();
  std::string& parts() { return parts_; }
  void AppendText(std::string_view text);
  void AppendCount(uint32_t count);

  // Returns the stream. Fails with kCorrupt unless there were `count` elements.
  model::Result<Bytes> Finish() &&;

 private:
  ElementStreamWriter(uint64_t count, uint64_t limit);

  uint64_t count_;
  uint64_t limit_;
  std::vector<uint64_t> ends_;
  std::string parts_;
};

}  // namespace ndlfs::backends
