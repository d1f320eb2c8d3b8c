// SPDX-License-Identifier: MIT
#include "cache/prefetcher.h"

#include <algorithm>
#include <utility>

namespace ndlfs::cache {

using model::MutexLock;

namespace {

// How far a read may be off and still continue the one before: requests of
// the kernel's read-ahead arrive in any order.
constexpr uint64_t kReorderBytes = uint64_t{4} << 20;

// Chunks ahead of a reader that has just begun to go forward.
constexpr uint64_t kFirstWindow = 2;

uint64_t MaxWindow(const ArrayReader& reader, uint64_t budget) {
  const uint64_t chunk = std::max<uint64_t>(reader.max_chunk_bytes(), 1);
  const uint64_t held = reader.band_chunks() * chunk;  // no overflow: sources check sizes
  if (held >= budget) return 0;
  // Half of what is left: other files are read, too.
  return (budget - held) / 2 / chunk;
}

}  // namespace

struct Prefetcher::Job {
  std::shared_ptr<Target> target;
  uint64_t generation;
  uint64_t chunk;
};

Prefetcher::Prefetcher(ChunkCache& cache, unsigned threads)
    : cache_(cache), thread_count_(threads) {}

Prefetcher::~Prefetcher() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    queue_.clear();
    threads.swap(threads_);
  }
  wake_.NotifyAll();
  for (std::thread& thread : threads) thread.join();
}

void Prefetcher::Enqueue(const std::shared_ptr<Target>& target, uint64_t first,
                         uint64_t count) {
  MutexLock lock(mutex_);
  while (threads_.size() < thread_count_) threads_.emplace_back([this] { Work(); });
  for (uint64_t i = 0; i < count; ++i) {
    queue_.push_back({target, target->generation, first + i});
  }
  wake_.NotifyAll();
}

void Prefetcher::Cancel(Target& target) {
  MutexLock lock(mutex_);
  ++target.generation;
}

void Prefetcher::Work() {
  for (;;) {
    Job job;
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !stopping_) wake_.Wait(mutex_);
      if (stopping_) return;
      job = std::move(queue_.front());
      queue_.pop_front();
      if (job.generation != job.target->generation) {
        ++stats_.cancelled;
        continue;
      }
    }
    if (job.target->reader->Prefetch(job.chunk)) {
      MutexLock lock(mutex_);
      ++stats_.loaded;
    }
  }
}

Prefetcher::Stats Prefetcher::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

ReadStream::ReadStream(Prefetcher& prefetcher, std::shared_ptr<const ArrayReader> reader)
    : prefetcher_(prefetcher),
      target_(std::make_shared<Prefetcher::Target>()),
      max_window_(MaxWindow(*reader, prefetcher.cache_.stats().budget_bytes)) {
  target_->reader = std::move(reader);
}

ReadStream::~ReadStream() { prefetcher_.Cancel(*target_); }

void ReadStream::OnRead(uint64_t offset, uint64_t size) {
  if (max_window_ == 0 || size == 0) return;
  const ArrayReader& reader = *target_->reader;
  MutexLock lock(mutex_);
  const bool goes_on =
      offset + kReorderBytes >= expected_ && offset <= expected_ + kReorderBytes;
  const uint64_t end = std::min(offset + size, reader.byte_size());
  if (!goes_on) {
    if (window_ != 0) prefetcher_.Cancel(*target_);
    window_ = 0;
    expected_ = end;
    requested_ = 0;
    return;
  }
  expected_ = std::max(expected_, end);
  const uint64_t current = reader.ChunkAt(expected_ - 1);
  if (window_ == 0) window_ = kFirstWindow;
  const uint64_t target = std::min(current + 1 + window_, reader.chunk_count());
  requested_ = std::max(requested_, current + 1);
  if (requested_ >= target) return;
  // Chunks come first into use in the order of their index, whatever the rank:
  // later ones of the same band with the first row, the next band after it.
  prefetcher_.Enqueue(target_, requested_, target - requested_);
  requested_ = target;
  window_ = std::min(2 * window_, max_window_);
}

}  // namespace ndlfs::cache
