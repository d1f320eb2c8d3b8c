// SPDX-License-Identifier: MIT
//
// Reads element streams: the form of elements of variable size in memory, which
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

// Reads the element at the beginning of `stream`, and removes it from there.
// Fails with kCorrupt if the stream ends too early.
model::Result<model::Value> TakeElement(const model::Datatype& type, ConstByteSpan& stream);

// Read a part of an element in the same way: `count` bytes, a count, a text. The
// results of the first and the last point into the stream.
model::Result<ConstByteSpan> TakeBytes(ConstByteSpan& stream, uint64_t count);
model::Result<uint32_t> TakeCount(ConstByteSpan& stream);
model::Result<std::string_view> TakeText(ConstByteSpan& stream);

// `text`, an element of the string type `type`, as UTF-8. Takes it as Latin-1 if
// the charset says so, or if it is not valid UTF-8.
std::string TextAsUtf8(const model::Datatype& type, std::string_view text);

// The bytes of an element of zeros, empty texts and empty vlens.
std::vector<std::byte> ZeroElement(const model::Datatype& type);

// Access by index to the elements of a stream.
class ElementTable {
 public:
  // Checks the table of a stream of `count` elements: the offsets have to ascend
  // and lie inside. Fails with kCorrupt. Keeps a view of `chunk`.
  static model::Result<ElementTable> Make(ConstByteSpan chunk, uint64_t count);
  ConstByteSpan operator[](uint64_t index) const;

 private:
  ElementTable(ConstByteSpan chunk, uint64_t count) : chunk_(chunk), count_(count) {}
  uint64_t Offset(uint64_t index) const;
  ConstByteSpan chunk_;
  uint64_t count_;
};

}  // namespace ndlfs::backends
