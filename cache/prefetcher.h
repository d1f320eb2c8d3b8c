// SPDX-License-Identifier: MIT
//
// Fetches and decodes the chunks that a reader will want next, on threads of its own,
// while the reader still copies from earlier ones.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <thread>

#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "cache/link_probe.h"
#include "model/mutex.h"

namespace ndlfs::cache {

// The threads and their queue, one for a mount. A thread fetches a chunk and decodes it
// itself, so that no chunk is handed over from thread to thread. There are more threads while
// fetches have to wait: as many as the pace of the cache says (LoadPace::width()).
// Thread-safe.
class Prefetcher {
 public:
  // `cache` must outlive the object. Starts its `threads` threads at the first request and not
  // before, so that the process can still fork to the background. These threads stay;
  // additional ones end when they are not needed any more.
  Prefetcher(ChunkCache& cache, unsigned threads);
  // Waits until chunks that are being decoded are done, and drops the other
  // requests. All streams must be gone before.
  ~Prefetcher();

  struct Stats {
    uint64_t loaded = 0;     // chunks brought into the cache ahead of a reader
    uint64_t cancelled = 0;  // requests dropped because the reader went elsewhere
    unsigned threads = 0;    // that run now
  };
  Stats stats() const;

 private:
  friend class ReadStream;
  struct Job;
  // The state that all jobs of one stream share.
  struct Target {
    std::shared_ptr<const ArrayReader> reader;
    std::atomic_flag has_asked;  // a thread has asked whether the first chunk is kept here
    bool is_kept = false;        // it is kept on this machine; guarded by mutex_
  };

  // Adds requests for `count` chunks from `first` on. `at_once` of them may begin; the others
  // wait until more fetches at once are found to bring more bytes, or until Release().
  void Enqueue(const std::shared_ptr<Target>& target, uint64_t first, uint64_t count,
               uint64_t at_once = UINT64_MAX) EXCLUDES(mutex_);
  // Lets all waiting requests for `target` begin.
  void Release(const Target& target) EXCLUDES(mutex_);
  // No request for `target` waits from now on, because its chunks are on this machine.
  void NoteKept(Target& target) EXCLUDES(mutex_);
  // Forgets all requests for `target`.
  void Cancel(const Target& target) EXCLUDES(mutex_);
  // How many chunks ahead of a reader keep all threads busy.
  unsigned KeepsBusy() const { return std::max(2 * thread_count_, cache_.pace().width()); }

  // Whether received bytes are counted, so that a probe can tell what more fetches bring.
  bool can_probe() const { return cache_.pace().received() != nullptr; }
  void Probe() REQUIRES(mutex_);
  static void MoveJobs(const Target& target, std::deque<Job>& from, std::deque<Job>& to);

  using Threads = std::list<std::thread>;
  void StartThreads() REQUIRES(mutex_);
  // Whether one of the threads should end.
  bool HasTooManyThreads() const REQUIRES(mutex_);
  // The next request for the thread `self`; none if the thread has to end.
  std::optional<Job> Next(Threads::iterator self) EXCLUDES(mutex_);
  void Work(Threads::iterator self) EXCLUDES(mutex_);

  ChunkCache& cache_;
  const unsigned thread_count_;
  std::atomic<unsigned> active_{0};  // streams with a direction; they share the cache
  mutable model::Mutex mutex_;
  model::CondVar wake_;
  std::deque<Job> queue_ GUARDED_BY(mutex_);
  std::deque<Job> held_ GUARDED_BY(mutex_);  // see Enqueue()
  LinkProbe probe_ GUARDED_BY(mutex_);       // while there are some
  Threads threads_ GUARDED_BY(mutex_);
  Threads finished_ GUARDED_BY(mutex_);  // threads to be joined
  size_t idle_ GUARDED_BY(mutex_) = 0;   // threads that wait for a request
  bool stopping_ GUARDED_BY(mutex_) = false;
  Stats stats_ GUARDED_BY(mutex_);
};

// Follows the reads of one open file. It recognizes three kinds of readers: those that go
// forward from one read to the next (a little out of order, as the kernel's read-ahead does),
// plane after plane, or in jumps of equal width. For these the prefetcher decodes the chunks
// ahead: first a few, and more as the reader keeps going. It stops at once when the reader goes
// elsewhere or closes the file. The cache evicts chunks that the reader has passed before
// others. Thread-safe.
class ReadStream {
 public:
  ReadStream(Prefetcher& prefetcher, std::shared_ptr<const ArrayReader> reader);
  ~ReadStream();

  // Call it before bytes [offset, offset + size) of the element stream are read. Returns kAlone
  // for a small read if the reader has just gone elsewhere, and not by another jump of the same
  // width.
  ReadHint OnRead(uint64_t offset, uint64_t size) EXCLUDES(mutex_);

  // Tells that the reader will come to byte `offset`. Has the chunk there decoded now, if it
  // takes only a small part of the cache.
  void Expect(uint64_t offset);

 private:
  // Whether decoding ahead would not help: the chunks are so small that the reader itself is as
  // quick, and those of a band stay in the cache.
  bool NeedsNothingAhead() const;
  // Forgets the direction of the reader, and stops decoding ahead.
  void Stop() REQUIRES(mutex_);
  void Jump(uint64_t offset) REQUIRES(mutex_);
  void Begin() REQUIRES(mutex_);
  // This reader's share of the cache, in bytes.
  uint64_t Share() const;
  // How many chunks may be decoded ahead while the reader still needs `needed`
  // others.
  uint64_t Window(uint64_t needed) const;
  // If the read of [begin, end) is large, has its chunks decoded in parallel.
  ReadHint DecodeInParallel(uint64_t begin, uint64_t end) REQUIRES(mutex_);
  // Has chunks decoded ahead: those after the first one of a read at `offset`,
  // or those at the next jumps.
  void DecodeAhead(uint64_t offset) REQUIRES(mutex_);
  void DecodeAfterJumps() REQUIRES(mutex_);
  void Keep(uint64_t current, uint64_t end) REQUIRES(mutex_);
  // The first chunk that a read that comes late may still need.
  uint64_t FirstNeeded() const REQUIRES(mutex_);

  Prefetcher& prefetcher_;
  const std::shared_ptr<Prefetcher::Target> target_;
  const bool loads_ahead_;

  model::Mutex mutex_;
  uint64_t expected_ GUARDED_BY(mutex_) = 0;   // where the next read should begin
  uint64_t begin_ GUARDED_BY(mutex_) = 0;      // where the last jump led
  uint64_t stride_ GUARDED_BY(mutex_) = 0;     // width of the last jump; 0: backwards, or none
  uint64_t length_ GUARDED_BY(mutex_) = 0;     // bytes read after each jump; 0: no jumps
  uint64_t window_ GUARDED_BY(mutex_) = 0;     // chunks to decode ahead; 0: no direction
  uint64_t requested_ GUARDED_BY(mutex_) = 0;  // chunks below this were requested
  uint64_t passed_ GUARDED_BY(mutex_) = 0;     // chunks below this are not needed any more
};

}  // namespace ndlfs::cache
