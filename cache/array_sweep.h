// SPDX-License-Identifier: MIT
//
// Reads all elements of an array in C order, on several threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>

#include "cache/array_reader.h"
#include "model/mutex.h"

namespace ndlfs::cache {

// Serves threads that read one range of the element stream after the other, and that together
// read the whole stream, about in its order. Makes sure that each chunk is decoded once. The
// threads share the chunks that the next ranges need. Chunks that the cache evicts too early go
// to its spill space. Chunks that no range needs any more are evicted first. Thread-safe. The
// reader must outlive the object.
class ArraySweep {
 public:
  explicit ArraySweep(const ArrayReader& reader);
  ~ArraySweep();
  ArraySweep(const ArraySweep&) = delete;
  ArraySweep& operator=(const ArraySweep&) = delete;

  // Decodes some of the chunks that bytes [begin, end) of the element stream need, while other
  // threads decode others. Call it before the range, which is not empty, is read. Does nothing
  // for elements of variable size.
  void Prepare(uint64_t begin, uint64_t end);
  // Tells that a range was read, and will not be read again.
  void Finish(uint64_t begin, uint64_t end) EXCLUDES(mutex_);

 private:
  const ArrayReader& reader_;
  const bool decodes_;
  const uint64_t window_;          // how many chunks of a band are decoded ahead
  std::atomic<uint64_t> next_{0};  // chunks below this were taken by a thread
  model::Mutex mutex_;
  uint64_t offset_ GUARDED_BY(mutex_) = 0;                    // all bytes before it were read
  std::map<uint64_t, uint64_t> finished_ GUARDED_BY(mutex_);  // later ranges, by their begin
  uint64_t passed_ GUARDED_BY(mutex_) = 0;  // chunks below this are not needed any more
};

}  // namespace ndlfs::cache
