// SPDX-License-Identifier: MIT
//
// Elements of variable size in memory, in the form that
// backends/format/array_source.h describes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "model/datatype.h"
#include "model/error.h"
#include "model/value.h"

namespace ndlfs::backends {

// Reads the element at the beginning of `stream` and takes it off. kCorrupt
// where the stream ends within it.
model::Result<model::Value> TakeElement(const model::Datatype& type, ConstByteSpan& stream);

// The pieces of elements, taken off the beginning of `stream`: so many bytes, a
// count, a text (which lies in the stream). kCorrupt where it is shorter.
model::Result<ConstByteSpan> TakeBytes(ConstByteSpan& stream, uint64_t count);
model::Result<uint32_t> TakeCount(ConstByteSpan& stream);
model::Result<std::string_view> TakeText(ConstByteSpan& stream);

// The text of an element of `type`, a string of variable size: bytes of Latin-1
// are letters, whatever they are, and so are those that are no UTF-8.
std::string TextAsUtf8(const model::Datatype& type, std::string_view text);

// Bytes of the element that stands for "nothing": zeros, empty text and vlens.
std::vector<std::byte> ZeroElement(const model::Datatype& type);

// The elements of a decoded chunk of variable size.
class ElementTable {
 public:
  // Checks the table of a chunk of `count` elements: ascending, and inside.
  static model::Result<ElementTable> Make(ConstByteSpan chunk, uint64_t count);
  ConstByteSpan operator[](uint64_t index) const;

 private:
  ElementTable(ConstByteSpan chunk, uint64_t count) : chunk_(chunk), count_(count) {}
  uint64_t Offset(uint64_t index) const;
  ConstByteSpan chunk_;
  uint64_t count_;
};

}  // namespace ndlfs::backends
