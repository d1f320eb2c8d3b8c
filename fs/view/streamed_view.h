// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "cache/array_reader.h"
#include "cache/prefetcher.h"
#include "fs/view/view.h"

namespace ndlfs::fs {

// Part of an element stream, in bytes.
struct ElementRange {
  uint64_t begin = 0;
  uint64_t size = 0;
};

// A view made of the elements of an array, each at a place of its own: what
// comes next can be decoded ahead of a reader that goes forward.
class StreamableView : public View, public std::enable_shared_from_this<StreamableView> {
 public:
  explicit StreamableView(std::shared_ptr<const cache::ArrayReader> reader)
      : reader_(std::move(reader)) {}

  std::shared_ptr<const View> ForReader(cache::Prefetcher& prefetcher) const final;
  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const final {
    return ReadElements(offset, out, cache::Access::kOnward);
  }
  // The same, where it is known what is read next.
  virtual model::Result<size_t> ReadElements(uint64_t offset, backends::ByteSpan out,
                                             cache::Access access) const = 0;

  // The elements that `count` bytes at `offset` of the file are made of; empty
  // where it takes none.
  virtual ElementRange ElementsOf(uint64_t offset, uint64_t count) const = 0;

 protected:
  const cache::ArrayReader& reader() const { return *reader_; }

 private:
  const std::shared_ptr<const cache::ArrayReader> reader_;
};

}  // namespace ndlfs::fs
