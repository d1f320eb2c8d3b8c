// SPDX-License-Identifier: MIT
//
// A file as a list of segments. Views of all formats are made in this way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "fs/view/elements/element_source.h"
#include "fs/view/elements/view.h"
#include "model/error.h"

namespace ndlfs::fs {

// Bytes in memory, or a part of them. Segments may share the bytes.
struct Literal {
  explicit Literal(std::string text)
      : bytes(std::make_shared<const std::string>(std::move(text))), size(bytes->size()) {}
  Literal(std::shared_ptr<const std::string> shared, uint64_t begin, uint64_t count)
      : bytes(std::move(shared)), offset(begin), size(count) {}

  std::shared_ptr<const std::string> bytes;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Bytes [offset, offset + size) of a source, its numbers in `order`.
struct Elements {
  std::shared_ptr<const ElementSource> source;
  uint64_t offset = 0;
  uint64_t size = 0;
  model::ByteOrder order = model::ByteOrder::kLittle;
};

struct Zeros {
  uint64_t size = 0;
};

// `pattern` again and again, cut off after `size` bytes in total.
struct Repeat {
  std::shared_ptr<const std::string> pattern;
  uint64_t size = 0;
};

using Segment = std::variant<Literal, Elements, Zeros, Repeat>;

// All elements of a source.
Elements AllOf(std::shared_ptr<const ElementSource> source,
               model::ByteOrder order = model::ByteOrder::kLittle);

// Makes a file of the segments, one after the other; its size is the sum of theirs. Segments
// may be empty, and so may the list. Finding an offset takes a binary search, so 100,000
// segments are no problem. An open file decodes ahead of its reader, in each source that the
// reader comes to. kLimit if the sum is more bytes than a file can have. kInternal if a segment
// reaches beyond its source, or repeats an empty pattern.
model::Result<std::shared_ptr<const View>> MakeSegmentedView(std::vector<Segment> segments);

}  // namespace ndlfs::fs
