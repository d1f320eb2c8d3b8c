// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/page_cache.h"

#include <algorithm>
#include <cstring>

namespace ndlfs::backends::hdf5 {

const std::byte* PageCache::Find(uint64_t file, uint64_t page) {
  const auto found = index_.find({file, page});
  if (found == index_.end()) return nullptr;
  pages_.splice(pages_.begin(), pages_, found->second);
  return pages_.front().bytes.data();
}

void PageCache::Insert(uint64_t file, uint64_t page, ConstByteSpan bytes) {
  const Key key = {file, page};
  const auto found = index_.find(key);
  if (found != index_.end()) {
    pages_.splice(pages_.begin(), pages_, found->second);
  } else if (pages_.size() >= capacity_) {
    index_.erase(pages_.back().key);
    pages_.splice(pages_.begin(), pages_, std::prev(pages_.end()));
    index_.emplace(key, pages_.begin());
  } else {
    pages_.emplace_front();
    index_.emplace(key, pages_.begin());
  }
  Page& front = pages_.front();
  front.key = key;
  std::memcpy(front.bytes.data(), bytes.data(), std::min(bytes.size(), kPageBytes));
}

}  // namespace ndlfs::backends::hdf5
