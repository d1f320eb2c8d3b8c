// SPDX-License-Identifier: MIT
#include "fs/cli/store/part_queue.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace ndlfs::fs {
namespace {

// Finding out what there is to do is not to run ahead by more than memory has
// room for.
constexpr size_t kMaxQueue = 16384;
// How much work a thread takes at a time, in the unit of PartedWork::part_cost().
constexpr uint64_t kBatchCost = uint64_t{2} << 20;
constexpr auto kTick = std::chrono::milliseconds(100);

double CostOf(const PartedWork& work, uint64_t parts) {
  return static_cast<double>(work.part_cost()) * static_cast<double>(parts);
}

}  // namespace

void PartQueue::Run(const std::function<void()>& find, const std::function<void()>& tick) {
  const unsigned count =
      threads_ != 0 ? threads_ : std::max(1u, std::thread::hardware_concurrency());
  {
    model::MutexLock lock(mutex_);
    working_ = 1;
  }
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    find();
    model::MutexLock lock(mutex_);
    progress_.all_found = !stopping_;
    --working_;
    changed_.NotifyAll();
  });
  for (unsigned i = 0; i < count; ++i) threads.emplace_back([this] { Work(); });
  while (WaitForTick()) tick();
  for (std::thread& thread : threads) thread.join();
}

// False once there is nothing left to do.
bool PartQueue::WaitForTick() {
  const auto end = std::chrono::steady_clock::now() + kTick;
  model::MutexLock lock(mutex_);
  for (;;) {
    if (working_ == 0 && (queue_.empty() || stopping_)) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) return true;
    changed_.WaitFor(mutex_, end - now);
  }
}

void PartQueue::Add(std::shared_ptr<PartedWork> work) {
  const uint64_t parts = work->part_count();
  model::MutexLock lock(mutex_);
  while (queue_.size() >= kMaxQueue && !stopping_) changed_.WaitFor(mutex_, kTick);
  progress_.total += CostOf(*work, parts);
  queue_.push_back({std::move(work), 0, std::make_shared<std::atomic<uint64_t>>(parts)});
  changed_.NotifyAll();
}

void PartQueue::Work() {
  Batch batch;
  while (TakeBatch(batch)) {
    RunBatch(batch);
    batch = {};  // nothing of work that is done is kept while waiting
    model::MutexLock lock(mutex_);
    --working_;
    changed_.NotifyAll();
  }
}

bool PartQueue::TakeBatch(Batch& batch) {
  model::MutexLock lock(mutex_);
  while (queue_.empty() && working_ != 0 && !stopping_) changed_.WaitFor(mutex_, kTick);
  if (queue_.empty() || stopping_) return false;
  Item& item = queue_.front();
  const uint64_t left = item.work->part_count() - item.next;
  const uint64_t wanted = std::max<uint64_t>(1, kBatchCost / item.work->part_cost());
  batch = {item, item.work->has_enough() ? left : std::min(left, wanted)};
  item.next += batch.count;
  ++working_;
  if (batch.count == left) queue_.pop_front();
  return true;
}

void PartQueue::RunBatch(const Batch& batch) {
  PartedWork& work = *batch.item.work;
  const uint64_t done = work.Run(batch.item.next, batch.count, stopping_);
  {
    model::MutexLock lock(mutex_);
    progress_.done += CostOf(work, done);
  }
  if (batch.item.left->fetch_sub(done) == done) work.Finish();
}

PartQueue::Progress PartQueue::progress() const {
  model::MutexLock lock(mutex_);
  return progress_;
}

}  // namespace ndlfs::fs
