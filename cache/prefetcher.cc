// SPDX-License-Identifier: MIT
#include "cache/prefetcher.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "cache/chunk_spill.h"

namespace ndlfs::cache {

using model::MutexLock;

namespace {

// How far a read may be off and still continue the one before: requests of
// the kernel's read-ahead arrive in any order. They are large; small ones are
// only that near one another, with no direction so far, if they go on.
constexpr uint64_t kReorderBytes = uint64_t{4} << 20;
constexpr uint64_t kReorderRequests = 32;

// How late a read may come: what the kernel's read-ahead asks for at once.
constexpr uint64_t kLateBytes = uint64_t{2} << 20;

// Chunks ahead of a reader that has just begun to go forward.
constexpr uint64_t kFirstWindow = 2;

// Where fetches have to wait: for so many bytes that the reader has asked for since its last
// jump, one more chunk is fetched ahead. Until its first chunk is there, a reader asks for
// nothing else, and the link would be idle. A reader that takes much at once gets more chunks
// than one that looks at the beginning of a file. But these are not as many as may be fetched
// at once: the first chunk, which the reader waits for, has to share a slow link with the
// others. While it comes, LinkProbe finds out whether the link brings more if more are fetched.
constexpr uint64_t kBytesForOneMore = uint64_t{16} << 10;
constexpr uint64_t kMostAtFirst = 16;
constexpr auto kProbeInterval = std::chrono::milliseconds(50);

// More than a band of chunks, this, or what keeps all threads busy is never
// decoded ahead: memory that is used again soon is in the caches of the
// processor.
constexpr uint64_t kMostAhead = uint64_t{32} << 20;

// To hand over a smaller chunk to another thread takes longer than to load it, unless fetches
// have to wait. The kernel's read-ahead asks for several pieces at once as it is.
constexpr uint64_t kTinyChunk = uint64_t{4} << 10;

// Jumps of the same width that are looked ahead.
constexpr uint64_t kMostJumps = 16;

// How many chunks may be loaded ahead with a share of the cache of `bytes`. `at_once` chunks
// keep all threads busy. `needed` chunks are behind the reader, which may come back to them.
uint64_t MaxWindow(const ArrayReader& reader, unsigned at_once, uint64_t bytes,
                   uint64_t needed) {
  const uint64_t chunk = std::max<uint64_t>(reader.max_ahead_bytes(), 1);
  const uint64_t held = reader.band_chunks() * chunk;  // no overflow: sources check sizes
  // The reader comes back to the chunks of a band. Takes half of the memory that these leave;
  // other readers and decoding need the rest.
  const uint64_t most = std::max({reader.band_chunks(), kMostAhead / chunk, uint64_t{at_once}});
  const uint64_t beside = held >= bytes ? 0 : std::min((bytes - held) / 2 / chunk, most);
  if (reader.spill() == nullptr) return beside;
  // Chunks that are pushed out for those ahead are not lost; but better none is.
  const uint64_t room = bytes / chunk - std::min(bytes / chunk, needed);
  return std::max(beside, std::min({reader.band_chunks(), bytes / 4 / chunk, room}));
}

}  // namespace

struct Prefetcher::Job {
  std::shared_ptr<Target> target;
  uint64_t chunk;
  backends::CallerPtr caller;  // the caller that it is read for
  backends::CancellationPtr request;
};

Prefetcher::Prefetcher(ChunkCache& cache, unsigned threads)
    : cache_(cache), thread_count_(threads) {}

Prefetcher::~Prefetcher() {
  Threads threads;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    queue_.clear();
    held_.clear();
    threads.splice(threads.end(), threads_);
    threads.splice(threads.end(), finished_);
  }
  wake_.NotifyAll();
  for (std::thread& thread : threads) thread.join();
}

void Prefetcher::Enqueue(const std::shared_ptr<Target>& target, uint64_t first, uint64_t count,
                         uint64_t at_once) {
  Threads finished;
  {
    MutexLock lock(mutex_);
    if (target->is_kept) at_once = UINT64_MAX;
    if (held_.empty() && count > at_once) {
      probe_.Begin(cache_.pace().received()(), LinkProbe::Clock::now());
    }
    for (uint64_t i = 0; i < count; ++i) {
      (i < at_once ? queue_ : held_)
          .push_back({target, first + i, backends::CallerScope::Current(),
                      backends::CancellationScope::Current()});
    }
    StartThreads();
    finished.swap(finished_);
  }
  wake_.NotifyAll();
  for (std::thread& thread : finished) thread.join();  // it does not wait for anything any more
}

void Prefetcher::Release(const Target& target) {
  {
    MutexLock lock(mutex_);
    if (held_.empty()) return;
    MoveJobs(target, held_, queue_);
    StartThreads();
  }
  wake_.NotifyAll();
}

void Prefetcher::NoteKept(Target& target) {
  {
    MutexLock lock(mutex_);
    target.is_kept = true;
  }
  Release(target);
}

// Lets more requests begin, if that brings more bytes.
void Prefetcher::Probe() {
  if (held_.empty()) return;
  const size_t more = probe_.More(cache_.pace().received()(), LinkProbe::Clock::now());
  if (more == 0) return;
  const auto end = held_.begin() + static_cast<ptrdiff_t>(std::min(more, held_.size()));
  std::move(held_.begin(), end, std::back_inserter(queue_));
  held_.erase(held_.begin(), end);
  StartThreads();
  wake_.NotifyAll();
}

// Without a thread nothing is decoded ahead, and the reader decodes all itself. One more is
// there to probe the link.
void Prefetcher::StartThreads() {
  while (threads_.size() < thread_count_ || (idle_ < queue_.size() + (held_.empty() ? 0 : 1) &&
                                             threads_.size() < cache_.pace().UpdateWidth())) {
    auto self = threads_.end();
    try {
      self = threads_.emplace(threads_.end());
      *self = std::thread([this, self] { Work(self); });
    } catch (const std::exception&) {
      if (self != threads_.end()) threads_.erase(self);
      if (threads_.empty()) queue_.clear();
      return;
    }
    if (threads_.size() > thread_count_) return;  // each starts the next, if it is needed
  }
}

bool Prefetcher::HasTooManyThreads() const {
  const LoadPace& pace = cache_.pace();
  return threads_.size() > std::max(thread_count_, pace.width()) &&
         threads_.size() > thread_count_ + pace.CountFetches();
}

// Moves those for `target`.
void Prefetcher::MoveJobs(const Target& target, std::deque<Job>& from, std::deque<Job>& to) {
  const auto begin = std::stable_partition(
      from.begin(), from.end(), [&](const Job& job) { return job.target.get() != &target; });
  std::move(begin, from.end(), std::back_inserter(to));
  from.erase(begin, from.end());
}

void Prefetcher::Cancel(const Target& target) {
  std::deque<Job> cancelled;  // outlives the lock
  MutexLock lock(mutex_);
  MoveJobs(target, queue_, cancelled);
  MoveJobs(target, held_, cancelled);
  stats_.cancelled += cancelled.size();
}

std::optional<Prefetcher::Job> Prefetcher::Next(Threads::iterator self) {
  MutexLock lock(mutex_);
  for (;;) {
    if (stopping_) return std::nullopt;
    if (HasTooManyThreads()) {
      finished_.splice(finished_.end(), threads_, self);
      return std::nullopt;
    }
    if (!queue_.empty()) break;
    ++idle_;
    if (held_.empty() || probe_.is_done()) {
      wake_.Wait(mutex_);
    } else {
      wake_.WaitFor(mutex_, kProbeInterval);
    }
    --idle_;
    Probe();
  }
  Job job = std::move(queue_.front());
  queue_.pop_front();
  StartThreads();
  return job;
}

void Prefetcher::Work(Threads::iterator self) {
  const LoadPace::AheadScope ahead;
  // Lets go of the job before it returns.
  const auto run = [this](Job job) {
    const backends::CallerScope scope(std::move(job.caller));
    const backends::CancellationScope request(std::move(job.request));
    const ArrayReader& reader = *job.target->reader;
    // Where the first chunk is kept on this machine, the others mostly are, too: the link has
    // little to do for them.
    const bool asks = can_probe() && !job.target->has_asked.test_and_set();
    if (asks && reader.IsKept(job.chunk)) NoteKept(*job.target);
    return reader.Prefetch(job.chunk);
  };
  while (std::optional<Job> job = Next(self)) {
    const bool loaded = run(*std::move(job));
    MutexLock lock(mutex_);
    if (loaded) ++stats_.loaded;
  }
}

Prefetcher::Stats Prefetcher::stats() const {
  MutexLock lock(mutex_);
  Stats stats = stats_;
  stats.threads = static_cast<unsigned>(threads_.size());
  return stats;
}

ReadStream::ReadStream(Prefetcher& prefetcher, std::shared_ptr<const ArrayReader> reader)
    : prefetcher_(prefetcher),
      target_(std::make_shared<Prefetcher::Target>()),
      loads_ahead_(reader->max_ahead_bytes() != 0) {
  target_->reader = std::move(reader);
}

ReadStream::~ReadStream() {
  model::MutexLock lock(mutex_);
  Stop();
  prefetcher_.Cancel(*target_);  // also what Expect() has asked for
}

ReadHint ReadStream::OnRead(uint64_t offset, uint64_t size) {
  if (!loads_ahead_ || size == 0 || NeedsNothingAhead()) return ReadHint::kOnward;
  MutexLock lock(mutex_);
  const uint64_t reorder =
      window_ != 0 ? kReorderBytes : std::min(kReorderBytes, kReorderRequests * size);
  const bool goes_on = offset + reorder >= expected_ && offset <= expected_ + reorder;
  const uint64_t end = std::min(offset + size, target_->reader->byte_size());
  if (!goes_on) {
    Jump(offset);
    expected_ = end;
    if (length_ == 0) return DecodeInParallel(offset, end);
    Begin();
    DecodeAfterJumps();
    return ReadHint::kOnward;
  }
  expected_ = std::max(expected_, end);
  if (expected_ - begin_ <= length_) return ReadHint::kOnward;  // then comes another jump
  length_ = 0;
  Begin();
  DecodeAhead(offset);
  return ReadHint::kOnward;
}

bool ReadStream::NeedsNothingAhead() const {
  const ArrayReader& reader = *target_->reader;
  return reader.max_ahead_bytes() < kTinyChunk && !prefetcher_.cache_.pace().is_slow() &&
         reader.band_chunks() * reader.max_ahead_bytes() <= Share() / 4;
}

void ReadStream::Expect(uint64_t offset) {
  const ArrayReader& reader = *target_->reader;
  if (!loads_ahead_ || offset >= reader.byte_size()) return;
  if (reader.max_ahead_bytes() > Share() / 4) return;
  prefetcher_.Enqueue(target_, reader.ChunkAt(offset), 1);
}

// One jump is no direction; a second one as wide is.
void ReadStream::Jump(uint64_t offset) {
  const uint64_t stride = offset > begin_ ? offset - begin_ : 0;
  const bool again = stride != 0 && stride == stride_;
  length_ = again ? expected_ - begin_ : 0;
  stride_ = stride;
  begin_ = offset;
  requested_ = 0;
  const uint64_t band = target_->reader->band_chunks();
  passed_ = target_->reader->ChunkAt(offset) / band * band;
  if (!again) Stop();
}

void ReadStream::Begin() {
  if (window_ != 0) return;
  window_ = kFirstWindow;
  ++prefetcher_.active_;
}

void ReadStream::Stop() {
  if (window_ == 0) return;
  --prefetcher_.active_;
  prefetcher_.Cancel(*target_);
  if (ChunkSpill* spill = target_->reader->spill()) spill->RemoveReader(this);
  window_ = 0;
  requested_ = 0;
}

uint64_t ReadStream::Share() const {
  return prefetcher_.cache_.budget_bytes() / std::max(prefetcher_.active_.load(), 1u);
}

uint64_t ReadStream::Window(uint64_t needed) const {
  return MaxWindow(*target_->reader, prefetcher_.KeepsBusy(), Share(), needed);
}

// The reader begins with the first chunk.
ReadHint ReadStream::DecodeInParallel(uint64_t begin, uint64_t end) {
  const ArrayReader& reader = *target_->reader;
  const bool decodes = reader.max_chunk_bytes() != 0;
  if (!decodes || end < begin + ArrayReader::kLargeRead) return ReadHint::kAlone;
  prefetcher_.Cancel(*target_);
  const uint64_t first = reader.ChunkAt(begin) + 1;
  const uint64_t room = Share() / 4 / reader.max_ahead_bytes();
  const uint64_t last = std::min(reader.ChunkAt(end - 1) + 1, first + room);
  if (first < last) prefetcher_.Enqueue(target_, first, last - first);
  return ReadHint::kOnward;
}

// The reader takes `length_` bytes of each `stride_`. Chunks that the next
// pieces have in common are asked for once.
void ReadStream::DecodeAfterJumps() {
  const ArrayReader& reader = *target_->reader;
  const uint64_t max_window = Window(0);
  const uint64_t window = std::min(window_, max_window);
  window_ = std::min(2 * window_, std::max(max_window, kFirstWindow));
  if (ChunkSpill* spill = reader.spill()) spill->SetReader(this, begin_, reader.chunk_count());
  uint64_t asked = 0;
  for (uint64_t i = 1; i <= kMostJumps && asked < window; ++i) {
    const uint64_t begin = begin_ + i * stride_;  // no overflow: files are below 2^63
    if (begin >= reader.byte_size()) break;
    const uint64_t end = std::min(begin + length_, reader.byte_size());
    const uint64_t first = std::max(reader.ChunkAt(begin), requested_);
    const uint64_t last = reader.ChunkAt(end - 1);
    if (last < first) continue;
    const uint64_t count = std::min(last + 1 - first, window - asked);
    prefetcher_.Enqueue(target_, first, count);
    requested_ = first + count;
    asked += count;
  }
}

void ReadStream::DecodeAhead(uint64_t offset) {
  const ArrayReader& reader = *target_->reader;
  const uint64_t passed = std::exchange(passed_, FirstNeeded());
  const uint64_t current = reader.ChunkAt(expected_ - 1);
  const uint64_t max_window = Window(current + 1 - std::min(passed_, current + 1));
  const uint64_t begun_at = reader.ChunkAt(begin_);
  const bool is_at_first = reader.ChunkAt(offset) <= begun_at;
  const bool probes = is_at_first && prefetcher_.can_probe();
  if (!is_at_first) prefetcher_.Release(*target_);
  if (prefetcher_.cache_.pace().is_slow()) {
    const uint64_t most = probes ? max_window : kMostAtFirst;
    window_ = std::max(window_, std::min((expected_ - begin_) / kBytesForOneMore, most));
  }
  const uint64_t window = std::min(window_, max_window);
  const uint64_t target = std::min(current + 1 + window, reader.chunk_count());
  // If this read needs several chunks, the reader begins with the first.
  const uint64_t first = max_window == 0 ? current : reader.ChunkAt(offset);
  requested_ = std::max(requested_, first + 1);
  Keep(current, std::max(requested_, target));
  for (uint64_t chunk = passed; chunk < passed_; ++chunk) reader.Retire(chunk);
  if (requested_ >= target) return;
  // Chunks come first into use in the order of their index, whatever the rank:
  // later ones of the same band with the first row, the next band after it.
  const uint64_t to_probe = begun_at + LinkProbe::kAtFirst;
  prefetcher_.Enqueue(target_, requested_, target - requested_,
                      probes ? to_probe - std::min(to_probe, requested_) : UINT64_MAX);
  requested_ = target;
  window_ = std::min(2 * window_, std::max(max_window, kFirstWindow));
}

uint64_t ReadStream::FirstNeeded() const {
  const ArrayReader& reader = *target_->reader;
  const uint64_t begin = expected_ - std::min(expected_, kLateBytes);
  uint64_t chunk = passed_;
  while (chunk < reader.chunk_count() && reader.LastByte(chunk) < begin) ++chunk;
  return chunk;
}

// The reader will read all chunks again that are in memory, of its band and ahead of it.
void ReadStream::Keep(uint64_t current, uint64_t end) {
  const ArrayReader& reader = *target_->reader;
  ChunkSpill* const spill = reader.spill();
  if (spill == nullptr) return;
  const uint64_t band = reader.band_chunks();
  const uint64_t begin = expected_ - std::min(expected_, kLateBytes);
  spill->SetReader(this, begin, std::max(end, (current / band + 1) * band));
}

}  // namespace ndlfs::cache
