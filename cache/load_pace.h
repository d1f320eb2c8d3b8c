// SPDX-License-Identifier: MIT
//
// A load of a chunk fetches bytes and decodes them. A fetch may wait for a disk or a server,
// and then many of them should run at once; decoding needs a core, and more decoders than cores
// only take memory from each other.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "model/mutex.h"

namespace ndlfs::cache {

// Decides how many loads of a mount run at once, and which of them may decode. It starts with
// one fetch for each decoder, or with as many as are allowed if the source is a server. A fetch
// that has to wait adds one load, if no fetched chunk waits for a decoder. A fetch that does
// not have to wait takes one load away. So does a fetch that takes less time than the decoders
// need for the chunks that wait for them, because a later fetch would still be in time. Fetches
// that are stuck always leave room for as many loads as there are decoders. Thread-safe.
//
// While fetches do not wait, no load waits for a turn to decode either: then each load works
// from its beginning to its end, and the system shares the cores better than turns would.
class LoadPace {
 public:
  struct Limits {
    unsigned decoders = 0;  // 0: one for each core
    unsigned fetches = 64;  // if these are fewer than the decoders: as many as the decoders
    // Each fetch is a request to a server. All fetches then take long. If the width grew only
    // when a fetch ends, it would take several times as long to get there.
    bool is_remote = false;
    // How many bytes fetches have brought so far, including those under way. Null if nobody
    // counts.
    std::function<uint64_t()> received = nullptr;
  };

  explicit LoadPace(const Limits& limits);
  LoadPace(const LoadPace&) = delete;
  LoadPace& operator=(const LoadPace&) = delete;

  const std::function<uint64_t()>& received() const { return received_; }
  // Whether each fetch is a request to a server.
  bool is_remote() const { return is_remote_; }
  unsigned decoders() const { return least_; }
  unsigned max_fetches() const { return most_; }
  // How many loads should run at once now: from decoders() to max_fetches().
  unsigned width() const { return width_.load(std::memory_order_relaxed); }
  // The same, but first checks whether some fetches are stuck; as many more may run.
  unsigned UpdateWidth() EXCLUDES(mutex_);
  // About how many fetches are under way now.
  unsigned CountFetches() const;
  // Whether fetches have to wait.
  bool is_slow() const { return width() > least_; }

  // Called at the end of a fetch: whether it has waited, and how long it took.
  void NoteFetch(bool has_waited, int64_t nanoseconds = 0) EXCLUDES(mutex_);

  // Marks the loads of the calling thread as made ahead of a reader, while the scope exists.
  // Loads that a reader waits for are more urgent.
  class AheadScope {
   public:
    AheadScope();
    ~AheadScope();
    AheadScope(const AheadScope&) = delete;
    AheadScope& operator=(const AheadScope&) = delete;
  };

  // One fetch of the calling thread, while the object exists. A fetch has waited if it took
  // long and the thread gave its core away meanwhile. It has not if the system made the thread
  // wait for a core.
  class Fetch {
   public:
    explicit Fetch(LoadPace* pace);  // may be null
    ~Fetch() { End(); }
    Fetch(const Fetch&) = delete;
    Fetch& operator=(const Fetch&) = delete;
    void End();  // a second call does nothing

   private:
    LoadPace* pace_;
    int64_t start_ = 0;
    // How often the thread had given its core away before; nullopt: not measured.
    std::optional<int64_t> switches_;
  };

  // A turn to decode `bytes` of memory, while the object exists. If fetches have to wait, the
  // constructor may wait until another turn ends. Readers come first, but not twice in a row
  // while others wait.
  class Decoding {
   public:
    Decoding(LoadPace* pace, uint64_t bytes);  // `pace` may be null
    ~Decoding();
    Decoding(const Decoding&) = delete;
    Decoding& operator=(const Decoding&) = delete;

   private:
    LoadPace* pace_;
    int64_t start_ = 0;
  };

 private:
  struct Waiter {
    bool has_turn = false;
    model::CondVar turn;
  };

  // Fetches under way that began before `time`, in nanoseconds of the steady clock.
  unsigned CountBefore(int64_t time) const;
  // The least that width() must be, because fetches are stuck.
  unsigned LeastNow() const;
  void TakeTurn() EXCLUDES(mutex_);
  void EndTurn(int64_t nanoseconds) EXCLUDES(mutex_);
  // About how long the decoders will need for the chunks that wait for them.
  int64_t WaitingTime() const REQUIRES(mutex_);

  const std::function<uint64_t()> received_;
  const unsigned least_;
  const unsigned most_;
  const bool is_remote_;
  std::atomic<unsigned> width_;
  // How many of the next fetches to measure closely, because one was slow. That takes system
  // calls.
  std::atomic<int> to_measure_{0};
  // When the fetches under way began; 0: none. Each thread has one of these places, and shares
  // it only with threads that were started after many others.
  std::array<std::atomic<int64_t>, 128> begun_ = {};

  model::Mutex mutex_;
  unsigned decoding_ GUARDED_BY(mutex_) = 0;
  int64_t mean_turn_ GUARDED_BY(mutex_) = 0;  // nanoseconds, of the last few
  bool reader_was_last_ GUARDED_BY(mutex_) = false;
  std::deque<Waiter*> readers_ GUARDED_BY(mutex_);
  std::deque<Waiter*> ahead_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::cache
