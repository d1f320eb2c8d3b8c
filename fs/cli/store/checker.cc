// SPDX-License-Identifier: MIT
#include "fs/cli/store/checker.h"

#include <algorithm>
#include <atomic>
#include <tuple>
#include <utility>

#include "backends/format/meaning_notes.h"
#include "backends/format/source_notes.h"
#include "backends/format/stored_chunks.h"
#include "fs/cli/store/part_queue.h"
#include "fs/cli/store/store_argument.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::ErrorCode;

// Whether the names and links in a store, and not the system, are the cause.
bool IsOfTheStore(model::SystemReason reason) {
  using model::SystemReason;
  switch (reason) {
    case SystemReason::kNoSuchFile:
    case SystemReason::kNoDirectory:
    case SystemReason::kIsDirectory:
    case SystemReason::kNameTooLong:
    case SystemReason::kInvalid:
    case SystemReason::kLinkLoop:
    case SystemReason::kNoPlainFile:
      return true;
    default:
      return false;
  }
}

// The chunks to read of an array with very many, if a listing tells which are there.
std::shared_ptr<const std::vector<uint64_t>> FindStored(const backends::ArraySource& source,
                                                        const cache::ArrayCheck& check) {
  if (!check.in_chunks()) return nullptr;
  auto stored = Guarded([&] { return FindStoredChunks(source, check.part_count()); });
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
      return IsOfTheStore(error.reason()) ? Verdict::kDamaged : Verdict::kUnreadable;
    default:
      return Verdict::kDamaged;
  }
}

struct Checker::Store {
  // All guarded by Checker::mutex_.
  StoreReport report;
  uint64_t tasks = 1;  // taking stock, and arrays
};

// One array, and the parts of it that have to be read.
class Checker::Array final : public PartedWork {
 public:
  Array(Checker& checker, StorePtr store, std::string path,
        std::shared_ptr<const backends::ArraySource> source)
      : checker_(checker),
        store_(std::move(store)),
        path_(std::move(path)),
        source_(std::move(source)),
        check_(source_, checker.cache_),
        stored_(FindStored(*source_, check_)) {}

  // Parts that a listing tells are absent.
  uint64_t absent_count() const { return check_.part_count() - part_count(); }

  uint64_t part_count() const override {
    return stored_ ? stored_->size() : check_.part_count();
  }
  uint64_t part_cost() const override { return check_.part_cost(); }
  uint64_t Run(uint64_t first, uint64_t count, const std::atomic<bool>& stopping) override {
    uint64_t done = 0;
    for (; done < count && !stopping; ++done) RunPart(first + done);
    const auto* notes = dynamic_cast<const backends::SourceNotes*>(source_.get());
    if (notes != nullptr) checker_.AddNotes(store_, path_, notes->notes());
    return done;
  }
  void Finish() override { checker_.Finish(store_); }

 private:
  void RunPart(uint64_t i) {
    const uint64_t part = stored_ ? (*stored_)[i] : i;
    const auto result = Guarded([&] { return check_.Run(part); });
    if (!result) checker_.Note(store_, path_, result.error(), part);
    checker_.Count(store_, result ? *result : cache::ArrayCheck::Part{});
  }

  Checker& checker_;
  const StorePtr store_;
  const std::string path_;
  const std::shared_ptr<const backends::ArraySource> source_;
  const cache::ArrayCheck check_;
  // The parts to read, if not all: a listing tells that the others are absent.
  const std::shared_ptr<const std::vector<uint64_t>> stored_;
};

Checker::Checker(const Options& options, OnStore on_store)
    : options_(options),
      on_store_(std::move(on_store)),
      cache_(kReadCacheSize),
      queue_(options.threads) {}

void Checker::Run(const Walk& walk, const std::function<void()>& tick) {
  queue_.Run([&] { walk([this](const FoundStore& found) { return Add(found); }); }, tick);
  ReportFinished(/*is_end=*/true);
}

bool Checker::Add(const FoundStore& found) {
  if (stopped()) return false;
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
  if (stopped()) return false;
  Finish(store);
  return true;
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
  if (stopped()) return;
  const auto node = hierarchy.Load(path);
  if (!node) return Note(store, path, node.error());
  if ((*node)->error) Note(store, path, *(*node)->error);
  AddNotes(store, path, (*node)->notes);
  if (!(*node)->is_group()) {
    AddNotes(store, path, backends::NotesOfMeaning(hierarchy, path, **node));
  }
  if ((*node)->source) AddArray(store, path, (*node)->source);
  if ((*node)->is_group()) AddChildren(store, hierarchy, path, depth);
}

void Checker::AddChildren(const StorePtr& store, const backends::Hierarchy& hierarchy,
                          const std::string& path, int depth) {
  if (depth >= kMaxGroupDepth) {
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
  auto array = std::make_shared<Array>(*this, store, path, std::move(source));
  const uint64_t absent = array->absent_count();
  const bool is_done = array->part_count() == 0;
  {
    model::MutexLock lock(mutex_);
    ++store->report.arrays;
    store->report.chunks += absent;
    store->report.absent += absent;
    progress_.chunks += absent;
    if (!is_done) ++store->tasks;
  }
  if (!is_done) queue_.Add(std::move(array));
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

void Checker::Count(const StorePtr& store, const cache::ArrayCheck::Part& part) {
  model::MutexLock lock(mutex_);
  ++store->report.chunks;
  ++progress_.chunks;
  store->report.absent += part.absent;
  store->report.bytes += part.bytes;
  progress_.bytes += part.bytes;
}

void Checker::Finish(const StorePtr& store) {
  {
    model::MutexLock lock(mutex_);
    store->report.complete = --store->tasks == 0;
    if (!store->report.complete) return;
  }
  ReportFinished(/*is_end=*/false);
}

// Those at the front: the others have to wait for these.
void Checker::ReportFinished(bool is_end) {
  model::MutexLock reporting(report_mutex_);
  for (;;) {
    StorePtr store;
    {
      model::MutexLock lock(mutex_);
      if (stores_.empty()) return;
      if (!stores_.front()->report.complete && !is_end) return;
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
  Progress progress = progress_;
  progress.work = queue_.progress();
  return progress;
}

}  // namespace ndlfs::fs
