// SPDX-License-Identifier: MIT
#include "cache/chunk_ledger.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/store/request_scope.h"
#include "backends/store/source_clock.h"

namespace ndlfs::cache {
namespace {

// Versions that all ledgers of the process know; each may know a few anyhow.
constexpr size_t kMostNotes = size_t{1} << 17;
constexpr size_t kOwnNotes = 64;
std::atomic<size_t> all_notes{0};

// A time of change that moves no file's modification time.
constexpr int64_t kNoTime = 1;

// Files that are looked at together; the first of the differing ones ends the look.
constexpr size_t kBatch = 1024;
// Of more files than that, so many are looked at first: a program that writes an
// array again writes many of them.
constexpr size_t kSample = 64;

// A server is asked for no more before a read goes on.
constexpr size_t kSampleOfServer = 16;

// How long nothing new is looked for where no time of a file tells of it, and how small a part
// of all time such looks, and looks at very many files, may take: 1 / 32, 1 / 8.
constexpr auto kLookInterval = std::chrono::milliseconds(1);
constexpr auto kLookIntervalOfServer = std::chrono::seconds(2);
constexpr int kShareOfTime = 32;
constexpr int kShareForAbsent = 8;

// The times of files are those of the kernel's last tick, and those of servers are seconds.
constexpr int64_t kClockStep = 10'000'000;  // nanoseconds
constexpr int64_t kClockStepOfServer = 2'000'000'000;

int64_t NsOf(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

std::optional<backends::Generation> VersionOf(const std::optional<backends::ValueInfo>& info) {
  return info ? std::optional(info->generation) : std::nullopt;
}

}  // namespace

ChunkLedger::ChunkLedger()
    : held_at_(Clock::now()), held_machine_ns_(backends::MachineClockNs()) {}

ChunkLedger::~ChunkLedger() { all_notes -= noted_.size(); }

model::Result<void> ChunkLedger::Note(const std::shared_ptr<const backends::Store>& store,
                                      const std::string& key) {
  const uint64_t looks = Expect(store, key).looks;
  const auto info = store->Stat(key);
  if (info) return NoteRead(store, key, *info, looks);
  // Nobody can tell at this moment; that is no version to compare with later.
  if (has_changed()) return model::HasChanged(store->Describe(key));
  return {};
}

model::Result<void> ChunkLedger::NoteRead(const std::shared_ptr<const backends::Store>& store,
                                          const std::string& key, const Info& found,
                                          uint64_t looks) {
  NDLFS_TRY(const bool is_same, NoteVersion({store, key}, found, looks));
  if (!is_same) return model::HasChanged(store->Describe(key));
  return {};
}

ChunkLedger::Expected ChunkLedger::Expect(const std::shared_ptr<const backends::Store>& store,
                                          const std::string& key) const {
  model::MutexLock lock(mutex_);
  const auto known = noted_.find({store, key});
  return {.version = known == noted_.end() ? std::nullopt : known->second, .looks = looks_};
}

void ChunkLedger::Watch(MetadataLook have_metadata_changed, std::chrono::nanoseconds age) {
  auto look = std::make_shared<const MetadataLook>(std::move(have_metadata_changed));
  model::MutexLock lock(mutex_);
  metadata_ = std::move(look);
  held_at_ = std::min(held_at_, Clock::now() - age);
  held_machine_ns_ = std::min(held_machine_ns_, backends::MachineClockNs() - age.count());
}

// Repeats only after a look of another thread.
model::Result<bool> ChunkLedger::NoteVersion(const FileId& file, Info found, uint64_t looks) {
  std::optional<uint64_t> asked;
  while (true) {
    Attempt attempt = AddKnown(file, found, looks, asked);
    if (attempt.needs_look) {
      if (!asked) asked = attempt.looks;
      // One thread looks; what it finds out often spares those the look that have waited.
      const model::MutexLock looking(look_mutex_);
      attempt = AddKnown(file, found, looks, asked);
      if (attempt.needs_look) {
        NDLFS_TRY(attempt.same, LookAndAdd(file, found));
        if (!attempt.same) continue;
      }
    }
    if (attempt.same) return *attempt.same;
    NDLFS_TRY(const bool is_still, IsStill(file, found));
    if (!is_still) return false;
    if (found) found->told_at.reset();
    looks = attempt.looks;
  }
}

ChunkLedger::Attempt ChunkLedger::AddKnown(const FileId& file, const Info& found,
                                           uint64_t looks, std::optional<uint64_t> asked) {
  const model::MutexLock lock(mutex_);
  if (changed_) return {.same = false};
  if (!noted_.contains(file)) {
    if (NeedsLook(*file.first, found, asked)) return {.looks = looks_, .needs_look = true};
    const bool was_told_before = found && found->told_at && *found->told_at < held_at_;
    if (looks != looks_ || was_told_before) return {.looks = looks_};
  }
  return {.same = AddVersion(file, found), .looks = looks_};
}

model::Result<std::optional<bool>> ChunkLedger::LookAndAdd(const FileId& file,
                                                           const Info& found) {
  const Look look = PlanLook(file, found);
  NDLFS_TRY(const bool is_same, TakeLook(look));
  if (!is_same) return false;
  if (look.notes.empty()) return std::nullopt;  // the metadata alone
  const model::MutexLock lock(mutex_);
  return !changed_ && AddVersion(file, found);
}

bool ChunkLedger::NeedsLook(const backends::Store& store, const Info& found,
                            std::optional<uint64_t> asked) const {
  // A look at the others that began after `found` was read has seen what another would.
  if (IsLate(store, found)) return !asked || *asked == looks_;
  const bool is_remote = store.looks_are_requests();
  // Files of a server stay in their place, and have the time when they were written there.
  if (found && (is_remote || metadata_ == nullptr)) return false;
  return Clock::now() - looked_at_ >= LookInterval(is_remote, found.has_value());
}

ChunkLedger::Look ChunkLedger::PlanLook(const FileId& file, const Info& found) {
  const backends::Store& store = *file.first;
  const model::MutexLock lock(mutex_);
  Look look{.metadata = metadata_,
            .begin = Clock::now(),
            .begin_machine_ns = backends::MachineClockNs()};
  looked_at_ = look.begin;
  if (!found || IsLate(store, found)) {
    ++looks_;
    AddNotes(store.looks_are_requests() ? kSampleOfServer : kBatch, look);
    look.notes.emplace_back(file, VersionOf(found));
  }
  return look;
}

// A store is hardly ever moved to the place of another one. A chunk that is not there has more
// often gone just now.
ChunkLedger::Clock::duration ChunkLedger::LookInterval(bool is_remote, bool is_there) const {
  if (is_remote) return kLookIntervalOfServer;
  if (!is_there) return cost_ * kShareForAbsent;
  return std::max<Clock::duration>(kLookInterval, cost_ * kShareOfTime);
}

void ChunkLedger::AddNotes(size_t most, Look& look) const {
  look.has_all_notes =
      noted_.size() <= most ||
      (most == kBatch && look.begin - looked_at_all_ >= cost_all_ * kShareOfTime);
  if (look.has_all_notes) {
    look.notes.assign(noted_.begin(), noted_.end());
    return;
  }
  const auto each = static_cast<ptrdiff_t>(std::min(most, kSample) / 2);
  look.notes.assign(noted_.begin(), std::next(noted_.begin(), each));
  look.notes.insert(look.notes.end(), std::prev(noted_.end(), each), noted_.end());
}

model::Result<bool> ChunkLedger::TakeLook(const Look& look) {
  const backends::RequestScope scope;
  backends::RequestScope::ForgetAll();
  NDLFS_TRY(const std::optional<Info> change, FindChange(look.notes));
  const bool have_metadata_changed = look.metadata != nullptr && (*look.metadata)();
  const auto end = Clock::now();
  model::MutexLock lock(mutex_);
  cost_ = end - look.begin;
  if (look.has_all_notes) {
    looked_at_all_ = end;
    cost_all_ = cost_;
    if (!change && !have_metadata_changed) {
      held_at_ = std::max(held_at_, look.begin);
      held_machine_ns_ = std::max(held_machine_ns_, look.begin_machine_ns);
    }
  }
  if (change) NoticeChange(*change);
  if (have_metadata_changed) {
    changed_ = true;
    changed_mtime_ns_ = std::max(changed_mtime_ns_, kNoTime);
  }
  return !changed_;
}

model::Result<bool> ChunkLedger::IsStill(const FileId& file, const Info& found) {
  const backends::RequestScope scope;
  backends::RequestScope::ForgetAll();
  NDLFS_TRY(const std::optional<Info> change, FindChange({{file, VersionOf(found)}}));
  if (!change) return true;
  const model::MutexLock lock(mutex_);
  NoticeChange(*change);
  return false;
}

bool ChunkLedger::AddVersion(const FileId& file, const Info& found) {
  if (const auto known = noted_.find(file); known != noted_.end()) {
    if (known->second == VersionOf(found)) return true;
    NoticeChange(found);
    return false;
  }
  if (noted_.size() >= kOwnNotes && all_notes >= kMostNotes) {
    ++unnoted_reads_;
    vouched_until_ = {};
    return true;
  }
  noted_.emplace(file, VersionOf(found));
  NoteClock(found);
  ++all_notes;
  return true;
}

// Times to come, by the clock of the source, tell nothing: somebody has set them.
bool ChunkLedger::IsLate(const backends::Store& store, const Info& found) const {
  if (!found) return false;
  const int64_t step = store.looks_are_requests() ? kClockStepOfServer : kClockStep;
  const auto clock = store.ClockNs();
  const auto now = Clock::now();
  int64_t from = 0;
  int64_t to = 0;
  if (clock) {
    // The steady clock stands still while the machine sleeps, and the other one may be set.
    const int64_t held_for =
        std::max(NsOf(now) - NsOf(held_at_), backends::MachineClockNs() - held_machine_ns_);
    from = *clock - held_for - step;
    to = *clock + step;
  } else {
    const int64_t skew{backends::kMostClockSkew.count()};
    from = to = backends::MachineClockNs();
    from -= skew;
    to += skew;
    // A time may be in the future of the source, too: then that of this machine counts.
    if (clock_lead_ns_) {
      const int64_t held = std::min(NsOf(held_at_) + *clock_lead_ns_, held_machine_ns_);
      from = std::max(from, held - step);
    }
  }
  const auto is_late = [&](int64_t time) { return time >= from && time <= to; };
  return is_late(found->modified_ns) || is_late(found->placed_ns);
}

// Nobody can set the time at which a file was changed in any way.
void ChunkLedger::NoteClock(const Info& found) {
  if (!found || found->placed_ns == 0) return;
  const int64_t lead = found->placed_ns - NsOf(Clock::now());
  clock_lead_ns_ = std::max(clock_lead_ns_.value_or(lead), lead);
}

void ChunkLedger::Vouch(std::chrono::nanoseconds holds) {
  model::MutexLock lock(mutex_);
  vouched_until_ = Clock::now() + holds;
}

uint64_t ChunkLedger::unnoted_reads() const {
  model::MutexLock lock(mutex_);
  return unnoted_reads_;
}

bool ChunkLedger::Changed() {
  const auto begin = Clock::now();
  Notes notes;
  {
    model::MutexLock lock(mutex_);
    if (changed_ || (unnoted_reads_ != 0 && begin >= vouched_until_)) return true;
    notes.assign(noted_.begin(), noted_.end());
  }
  auto found = FindChange(notes);
  model::MutexLock lock(mutex_);
  // A file that cannot be looked at counts as absent: once it can be again, that is a change.
  const std::optional<Info> change = found ? *std::move(found) : std::optional<Info>(Info());
  if (change) NoticeChange(*change);
  // An open takes several looks, and each of 100,000 files takes about a second.
  if (!change && begin < vouched_until_) vouched_until_ += Clock::now() - begin;
  return change.has_value();
}

// The present facts of a file that has changed; nullopt if none has. An error if this cannot be
// found out.
model::Result<std::optional<ChunkLedger::Info>> ChunkLedger::FindChange(const Notes& notes) {
  if (notes.size() > kBatch) {
    for (size_t i = 0; i < notes.size(); i += notes.size() / kSample) {
      const auto& [file, then] = notes[i];
      NDLFS_TRY(Info now, file.first->Stat(file.second));
      if (VersionOf(now) != then) return now;
    }
  }
  std::vector<std::string_view> keys;
  for (size_t first = 0; first < notes.size(); first += keys.size()) {
    const backends::Store& store = *notes[first].first.first;
    keys.clear();
    for (size_t i = first; i < notes.size() && keys.size() < kBatch; ++i) {
      if (notes[i].first.first.get() != &store) break;
      keys.push_back(notes[i].first.second);
    }
    auto answers = store.StatMany(keys);
    for (size_t i = 0; i < keys.size(); ++i) {
      Info now;
      if (i < answers.size()) {
        NDLFS_TRY(now, std::move(answers[i]));
      }
      if (VersionOf(now) != notes[first + i].second) return now;
    }
  }
  return std::nullopt;
}

void ChunkLedger::NoticeChange(const Info& now) {
  changed_ = true;
  if (now) changed_mtime_ns_ = std::max(changed_mtime_ns_, now->modified_ns);
}

bool ChunkLedger::has_notes() const {
  model::MutexLock lock(mutex_);
  return !noted_.empty() || unnoted_reads_ != 0;
}

bool ChunkLedger::has_changed() const {
  model::MutexLock lock(mutex_);
  return changed_;
}

int64_t ChunkLedger::changed_mtime_ns() const {
  model::MutexLock lock(mutex_);
  return unnoted_reads_ != 0 && !changed_ ? kNoTime : changed_mtime_ns_;
}

}  // namespace ndlfs::cache
