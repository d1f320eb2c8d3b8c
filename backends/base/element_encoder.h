// SPDX-License-Identifier: MIT
//
// Writes element streams: the inverse of element_stream.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/datatype.h"
#include "model/error.h"
#include "model/value.h"

namespace ndlfs::backends {

// Appends elements of one type, one after the other, in the form that
// backends/format/array_source.h describes. The members of a compound follow each other without
// padding.
class ElementEncoder {
 public:
  // Fails with kLimit once the elements take more than `max_bytes`. `type` must outlive the
  // object.
  ElementEncoder(const model::Datatype& type, uint64_t max_bytes)
      : type_(type), max_bytes_(max_bytes) {}

  // Appends the elements of lists nested `depth` deep. kInternal or kBadInput for a value that
  // is not of the type.
  model::Result<void> AddElements(const model::Value& value, size_t depth);

  uint64_t size() const { return bytes_.size() + starts_.size() * sizeof(uint64_t); }
  std::vector<std::byte> TakeBytes() { return std::move(bytes_); }
  // Where each element begins, unless all have the same size.
  std::vector<uint64_t> TakeStarts() { return std::move(starts_); }

 private:
  model::Result<void> Add(const model::Datatype& type, const model::Value& value);
  // Makes room for `count` more bytes, which are zero.
  model::Result<std::byte*> Grow(uint64_t count);
  model::Result<void> AddFixed(const model::Datatype& type, const model::Value& value);
  model::Result<void> AddCount(uint64_t count);
  model::Result<void> AddText(std::string_view text);
  model::Result<void> AddOpaque(const model::Datatype& type, const model::Value& value);
  model::Result<void> AddCompound(const model::Datatype& type, const model::Value& value);
  model::Result<void> AddVlen(const model::Datatype& type, const model::Value& value);
  model::Result<void> AddArray(const model::Datatype& base, const model::Value& value,
                               size_t depth);

  const model::Datatype& type_;
  const uint64_t max_bytes_;
  std::vector<std::byte> bytes_;
  std::vector<uint64_t> starts_;
};

}  // namespace ndlfs::backends
