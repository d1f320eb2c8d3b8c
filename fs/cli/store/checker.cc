// SPDX-License-Identifier: MIT
#include "fs/cli/store/checker.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <new>
#include <tuple>
#include <utility>

#include "backends/format/source_notes.h"
#include "backends/format/stored_chunks.h"
#include "fs/cli/store/store_argument.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::ErrorCode;

// Nobody asks twice for a chunk: room for what is being decoded, and for the
// indexes of shards.
constexpr uint64_t kCheckCacheSize = uint64_t{256} << 20;
// Finding out what there is to do is not to run ahead by more than memory has
// room for.
constexpr size_t kMaxQueue = 16384;
// How much work a thread takes at a time, in the unit of ArrayCheck::part_cost().
constexpr uint64_t kBatchCost = uint64_t{2} << 20;
constexpr int kMaxDepth = 512;
constexpr auto kTick = std::chrono::milliseconds(100);

// Whether the names and links in a store, and not the system, are the cause.
bool IsOfTheStore(int sys_errno) {
  switch (sys_errno) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case ELOOP:
    case ENXIO:  // neither a file nor a directory
      return true;
    default:
      return false;
  }
}

// As double: what hostile metadata promise may be more than 64 bits count.
double WorkOf(const cache::ArrayCheck& check, uint64_t parts) {
  return static_cast<double>(check.part_cost()) * static_cast<double>(parts);
}

// A library that is out of memory harms one chunk only.
template <typename Function>
auto Guarded(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return model::Limit("out of memory");
  } catch (const std::exception& error) {
    return model::Internal("{}", error.what());
  }
}

// The chunks to read of an array with very many, if a listing tells which are there.
std::shared_ptr<const std::vector<uint64_t>> FindStored(const backends::ArraySource& source,
                                                        const cache::ArrayCheck& check) {
  constexpr uint64_t kWorthListing = 4096;  // chunks
  constexpr size_t kMostStored = 1'000'000;
  const auto* lists = dynamic_cast<const backends::StoredChunks*>(&source);
  if (lists == nullptr || !check.in_chunks() || check.part_count() < kWorthListing) {
    return nullptr;
  }
  auto stored = Guarded([&] { return lists->ListChunks(kMostStored); });
  if (!stored || !*stored) return nullptr;
  return std::make_shared<const std::vector<uint64_t>>(**std::move(stored));
}

void SortFindings(Findings& findings) {
  std::sort(findings.kept.begin(), findings.kept.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.path, a.part) < std::tie(b.path, b.part);
  });
}

Findings& FindingsOf(StoreReport& report, Verdict verdict) {
  switch (verdict) {
    case Verdict::kUnreadable:
      return report.unreadable;
    case Verdict::kNotChecked:
      return report.not_checked;
    case Verdict::kDamaged:
      break;
  }
  return report.damage;
}

}  // namespace

void Findings::Add(Finding finding) {
  ++count;
  if (kept.size() < kMaxKept) kept.push_back(std::move(finding));
}

Verdict Judge(const model::Error& error) {
  switch (error.code()) {
    case ErrorCode::kUnsupported:
    case ErrorCode::kLimit:
      return Verdict::kNotChecked;
    case ErrorCode::kDenied:
    case ErrorCode::kBusy:
    case ErrorCode::kCancelled:
    case ErrorCode::kStale:
      return Verdict::kUnreadable;
    case ErrorCode::kIo:
      return IsOfTheStore(error.sys_errno()) ? Verdict::kDamaged : Verdict::kUnreadable;
    default:
      return Verdict::kDamaged;
  }
}

struct Checker::Store {
  // All guarded by Checker::mutex_.
  StoreReport report;
  uint64_t tasks = 1;  // taking stock, arrays in the queue, and batches at work
  bool cut_short = false;
};

Checker::Checker(const Options& options, OnStore on_store)
    : options_(options), on_store_(std::move(on_store)), cache_(kCheckCacheSize) {}

void Checker::Run(const Walk& walk, const std::function<void()>& tick) {
  const unsigned count = options_.threads != 0
                             ? options_.threads
                             : std::max(1u, std::thread::hardware_concurrency());
  {
    model::MutexLock lock(mutex_);
    working_ = 1;
  }
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    walk([this](const FoundStore& found) { return Add(found); });
    model::MutexLock lock(mutex_);
    progress_.all_found = !stopping_;
    --working_;
    changed_.NotifyAll();
  });
  for (unsigned i = 0; i < count; ++i) threads.emplace_back([this] { Work(); });
  while (WaitForTick()) tick();
  for (std::thread& thread : threads) thread.join();
  ReportFinished();
}

// False once there is nothing left to do.
bool Checker::WaitForTick() {
  const auto end = std::chrono::steady_clock::now() + kTick;
  model::MutexLock lock(mutex_);
  for (;;) {
    if (working_ == 0 && (queue_.empty() || stopping_)) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) return true;
    changed_.WaitFor(mutex_, end - now);
  }
}

bool Checker::Add(const FoundStore& found) {
  if (stopping_) return false;
  const auto store = std::make_shared<Store>();
  store->report.location = found.location;
  {
    model::MutexLock lock(mutex_);
    stores_.push_back(store);
    if (found.format != nullptr) ++progress_.stores;
  }
  if (found.error) {
    Note(store, "/", *found.error);
  } else {
    TakeStock(store, found);
  }
  Finish(store, /*cut_short=*/stopping_);
  return !stopping_;
}

void Checker::TakeStock(const StorePtr& store, const FoundStore& found) {
  store->report.format = found.format->name();
  const std::string& ref = options_.ref.empty() ? found.ref : options_.ref;
  const auto result = Guarded([&]() -> model::Result<void> {
    NDLFS_TRY(const auto hierarchy,
              backends::OpenDetected(*found.format, found.source, found.path,
                                     {.max_chunk_size = options_.max_chunk_size, .ref = ref}));
    store->report.format = hierarchy->format();
    NDLFS_TRY(const std::string top, PathNameOf(*hierarchy, found.folders));
    AddObjects(store, *hierarchy, top, 0);
    return {};
  });
  if (!result) Note(store, "/", result.error());
}

void Checker::AddObjects(const StorePtr& store, const backends::Hierarchy& hierarchy,
                         const std::string& path, int depth) {
  if (stopping_) return;
  const auto node = hierarchy.Load(path);
  if (!node) return Note(store, path, node.error());
  if ((*node)->error) Note(store, path, *(*node)->error);
  AddNotes(store, path, (*node)->notes);
  if ((*node)->source) AddArray(store, path, (*node)->source);
  if ((*node)->is_group()) AddChildren(store, hierarchy, path, depth);
}

void Checker::AddChildren(const StorePtr& store, const backends::Hierarchy& hierarchy,
                          const std::string& path, int depth) {
  if (depth >= kMaxDepth) {
    return Note(store, path, model::Error(ErrorCode::kLimit, "groups nest too deep"));
  }
  const auto names = hierarchy.List(path);
  if (!names) return Note(store, path, names.error());
  for (const std::string& name : *names) {
    const std::string child = model::JoinPath(path, name);
    if (!hierarchy.GetLink(child)) AddObjects(store, hierarchy, child, depth + 1);
  }
}

void Checker::AddArray(const StorePtr& store, const std::string& path,
                       std::shared_ptr<const backends::ArraySource> source) {
  const auto check = std::make_shared<const cache::ArrayCheck>(source, cache_);
  Array array{store, path, source, check, 0, FindStored(*source, *check)};
  const uint64_t absent = check->part_count() - array.part_count();
  model::MutexLock lock(mutex_);
  while (queue_.size() >= kMaxQueue && !stopping_) changed_.WaitFor(mutex_, kTick);
  ++store->report.arrays;
  store->report.chunks += absent;
  store->report.absent += absent;
  progress_.chunks += absent;
  if (array.part_count() == 0) return;
  ++store->tasks;
  progress_.total += WorkOf(*check, array.part_count());
  queue_.push_back(std::move(array));
  changed_.NotifyAll();
}

void Checker::Note(const StorePtr& store, const std::string& path, const model::Error& error,
                   uint64_t part) {
  const Verdict verdict = Judge(error);
  model::MutexLock lock(mutex_);
  if (verdict == Verdict::kDamaged) ++progress_.damaged;
  FindingsOf(store->report, verdict).Add({path, part, error.message()});
}

void Checker::AddNotes(const StorePtr& store, const std::string& path,
                       const std::vector<std::string>& notes) {
  model::MutexLock lock(mutex_);
  Findings& known = store->report.notes;
  for (const std::string& note : notes) {
    // A source tells its notes again and again; those beyond what is kept could
    // not be told from new ones.
    if (known.kept.size() >= Findings::kMaxKept) return;
    const bool is_known = std::any_of(
        known.kept.begin(), known.kept.end(),
        [&](const Finding& finding) { return finding.path == path && finding.reason == note; });
    if (!is_known) known.Add({path, 0, note});
  }
}

void Checker::Work() {
  Batch batch;
  while (TakeBatch(batch)) {
    RunBatch(batch);
    batch = {};  // nothing of a store that is done is kept while waiting
    model::MutexLock lock(mutex_);
    --working_;
    changed_.NotifyAll();
  }
}

bool Checker::TakeBatch(Batch& batch) {
  model::MutexLock lock(mutex_);
  while (queue_.empty() && working_ != 0 && !stopping_) changed_.WaitFor(mutex_, kTick);
  if (queue_.empty() || stopping_) return false;
  Array& array = queue_.front();
  const uint64_t left = array.part_count() - array.next;
  const uint64_t wanted = std::max<uint64_t>(1, kBatchCost / array.check->part_cost());
  batch = {array, std::min(left, wanted)};
  array.next += batch.count;
  ++working_;
  if (batch.count == left) {
    queue_.pop_front();
  } else {
    ++batch.array.store->tasks;
  }
  return true;
}

void Checker::RunBatch(const Batch& batch) {
  const Array& array = batch.array;
  const uint64_t count = batch.count;
  uint64_t done = 0;
  for (; done < count && !stopping_; ++done) {
    const uint64_t part = array.PartAt(array.next + done);
    const auto result = Guarded([&] { return array.check->Run(part); });
    if (!result) Note(array.store, array.path, result.error(), part);
    model::MutexLock lock(mutex_);
    StoreReport& report = array.store->report;
    ++report.chunks;
    ++progress_.chunks;
    progress_.done += WorkOf(*array.check, 1);
    if (!result) continue;
    report.absent += result->absent;
    report.bytes += result->bytes;
    progress_.bytes += result->bytes;
  }
  const auto* source = dynamic_cast<const backends::SourceNotes*>(array.source.get());
  if (source != nullptr) AddNotes(array.store, array.path, source->notes());
  Finish(array.store, done < count);
}

void Checker::Finish(const StorePtr& store, bool cut_short) {
  {
    model::MutexLock lock(mutex_);
    store->cut_short = store->cut_short || cut_short;
    store->report.complete = --store->tasks == 0 && !store->cut_short;
    if (!store->report.complete) return;
  }
  ReportFinished();
}

// Those at the front: the others have to wait for these.
void Checker::ReportFinished() {
  model::MutexLock reporting(report_mutex_);
  for (;;) {
    StorePtr store;
    {
      model::MutexLock lock(mutex_);
      if (stores_.empty()) return;
      const bool done = working_ == 0;
      if (!stores_.front()->report.complete && !done) return;
      store = std::move(stores_.front());
      stores_.pop_front();
    }
    Report(store->report);
  }
}

void Checker::Report(StoreReport& report) const {
  SortFindings(report.damage);
  SortFindings(report.unreadable);
  SortFindings(report.not_checked);
  SortFindings(report.notes);
  on_store_(report);
}

Checker::Progress Checker::progress() const {
  model::MutexLock lock(mutex_);
  return progress_;
}

}  // namespace ndlfs::fs
