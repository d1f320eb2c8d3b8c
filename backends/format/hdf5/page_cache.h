// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "backends/base/bytes.h"

namespace ndlfs::backends::hdf5 {

// Keeps pages of files, and drops the least recently used one first. HDF5 reads metadata in
// pieces of some bytes, most of them next to each other. For one thread.
class PageCache {
 public:
  static constexpr size_t kPageBytes = 4096;

  explicit PageCache(size_t capacity) : capacity_(capacity) {}

  // Page number `page` of `file`, or null. Bytes of the page after the end of the file mean
  // nothing. Valid until the next Insert().
  const std::byte* Find(uint64_t file, uint64_t page);
  // Whether Find() would find it. Does not count as a use.
  bool Contains(uint64_t file, uint64_t page) const { return index_.contains({file, page}); }

  // Adds a page of up to kPageBytes bytes; replaces the page if it is there already.
  void Insert(uint64_t file, uint64_t page, ConstByteSpan bytes);

  size_t size() const { return index_.size(); }

 private:
  struct Key {
    uint64_t file;
    uint64_t page;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return (key.file * 0x9e3779b97f4a7c15u) ^ (key.page * 0xc2b2ae3d27d4eb4fu);
    }
  };
  struct Page {
    Key key;
    std::array<std::byte, kPageBytes> bytes;
  };

  const size_t capacity_;  // in pages
  std::list<Page> pages_;  // the last used first
  std::unordered_map<Key, std::list<Page>::iterator, KeyHash> index_;
};

}  // namespace ndlfs::backends::hdf5
