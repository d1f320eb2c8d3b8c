// SPDX-License-Identifier: MIT
#include "cache/chunk_ledger.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "backends/store/request_scope.h"
#include "backends/store/source_clock.h"

namespace ndlfs::cache {

using backends::kReadSample;
using backends::kReadsAtOnce;

namespace {

// A time of change that moves no file's modification time.
constexpr int64_t kNoTime = 1;

// The most files that the ledger asks a server about before a read goes on.
constexpr size_t kSampleOfServer = 16;

// If the times of files cannot tell whether anything is new, the ledger looks again after this
// interval. Such looks, and looks at very many files, may take 1 / 32 of all time; looks for
// absent files 1 / 8.
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

}  // namespace

ChunkLedger::ChunkLedger()
    : began_ns_(backends::MachineClockNs()),
      held_at_(Clock::now()),
      held_machine_ns_(began_ns_) {}

model::Result<void> ChunkLedger::Note(const StorePtr& store, const std::string& key) {
  const uint64_t looks = Expect(store, key).looks;
  const auto info = store->Stat(key);
  if (info) return NoteRead(store, key, *info, looks);
  // Nobody can tell at this moment; that is no version to compare with later.
  if (has_changed()) return model::HasChanged(store->Describe(key));
  return {};
}

model::Result<void> ChunkLedger::NoteRead(const StorePtr& store, const std::string& key,
                                          const Info& found, uint64_t looks) {
  NDLFS_TRY(const bool is_same, NoteVersion({store, key, found}, looks));
  if (!is_same) return model::HasChanged(store->Describe(key));
  return {};
}

ChunkLedger::Expected ChunkLedger::Expect(const StorePtr& store, const std::string& key) const {
  model::MutexLock lock(mutex_);
  const auto* known = noted_.Find(store, key);
  return {.version = known == nullptr ? std::nullopt : *known, .looks = looks_};
}

void ChunkLedger::Watch(MetadataLook have_metadata_changed, std::chrono::nanoseconds age) {
  auto look = std::make_shared<const MetadataLook>(std::move(have_metadata_changed));
  model::MutexLock lock(mutex_);
  metadata_ = std::move(look);
  held_at_ = std::min(held_at_, Clock::now() - age);
  held_machine_ns_ = std::min(held_machine_ns_, backends::MachineClockNs() - age.count());
}

// Repeats only after a look of another thread.
model::Result<bool> ChunkLedger::NoteVersion(File file, uint64_t looks) {
  std::optional<uint64_t> asked;
  while (true) {
    Attempt attempt = AddKnown(file, looks, asked);
    if (attempt.needs_look) {
      if (!asked) asked = attempt.looks;
      // One thread looks; what it finds out often spares those the look that have waited.
      const model::MutexLock looking(look_mutex_);
      attempt = AddKnown(file, looks, asked);
      if (attempt.needs_look) {
        NDLFS_TRY(attempt.same, LookAndAdd(file));
        if (!attempt.same) continue;
      }
    }
    if (attempt.same) return *attempt.same;
    NDLFS_TRY(const bool is_still, IsStill(file));
    if (!is_still) return false;
    if (file.found) file.found->told_at.reset();
    looks = attempt.looks;
  }
}

ChunkLedger::Attempt ChunkLedger::AddKnown(const File& file, uint64_t looks,
                                           std::optional<uint64_t> asked) {
  const model::MutexLock lock(mutex_);
  if (changed_) return {.same = false};
  if (noted_.Find(file.store, file.key) == nullptr) {
    if (NeedsLook(file, asked)) return {.looks = looks_, .needs_look = true};
    const auto told_at = file.found ? file.found->told_at : std::nullopt;
    if (looks != looks_ || (told_at && *told_at < held_at_)) return {.looks = looks_};
  }
  return {.same = AddVersion(file), .looks = looks_};
}

model::Result<std::optional<bool>> ChunkLedger::LookAndAdd(const File& file) {
  const Look look = PlanLook(file);
  NDLFS_TRY(const bool is_same, TakeLook(look));
  if (!is_same) return false;
  if (look.notes.empty()) return std::nullopt;  // the metadata alone
  const model::MutexLock lock(mutex_);
  return !changed_ && AddVersion(file);
}

bool ChunkLedger::NeedsLook(const File& file, std::optional<uint64_t> asked) const {
  // A look at the others that began after the file was read has seen what another would.
  if (IsLate(file)) return !asked || *asked == looks_;
  const bool is_remote = file.store->traits().is_remote;
  // Files of a server stay in their place, and have the time when they were written there.
  if (file.found && (is_remote || metadata_ == nullptr)) return false;
  return Clock::now() - looked_at_ >= LookInterval(is_remote, file.found.has_value());
}

ChunkLedger::Look ChunkLedger::PlanLook(const File& file) {
  const model::MutexLock lock(mutex_);
  Look look{.metadata = metadata_,
            .begin = Clock::now(),
            .begin_machine_ns = backends::MachineClockNs()};
  looked_at_ = look.begin;
  if (!file.found || IsLate(file)) {
    ++looks_;
    AddNotes(file.store->traits().is_remote ? kSampleOfServer : kReadsAtOnce, look);
    look.notes.push_back(file.read());
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
      (most == kReadsAtOnce && look.begin - looked_at_all_ >= cost_all_ * kShareOfTime);
  look.notes = look.has_all_notes ? noted_.reads() : noted_.Ends(std::min(most, kReadSample));
}

model::Result<bool> ChunkLedger::TakeLook(const Look& look) {
  const backends::RequestScope scope;
  backends::RequestScope::ForgetAll();
  NDLFS_TRY(const auto change, backends::FindChange(look.notes));
  bool have_metadata_changed = false;
  if (look.metadata != nullptr) {
    NDLFS_TRY(have_metadata_changed, (*look.metadata)());
  }
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
  if (change) NoticeChange(change->modified_ns);
  if (have_metadata_changed) {
    changed_ = true;
    changed_mtime_ns_ = std::max(changed_mtime_ns_, kNoTime);
  }
  return !changed_;
}

model::Result<bool> ChunkLedger::IsStill(const File& file) {
  const backends::RequestScope scope;
  backends::RequestScope::ForgetAll();
  NDLFS_TRY(const auto change, backends::FindChange(std::array{file.read()}));
  if (!change) return true;
  const model::MutexLock lock(mutex_);
  NoticeChange(change->modified_ns);
  return false;
}

bool ChunkLedger::AddVersion(const File& file) {
  if (const auto* known = noted_.Find(file.store, file.key)) {
    if (*known == VersionOf(file.found)) return true;
    NoticeChange(file.found ? file.found->modified_ns : 0);
    return false;
  }
  if (!noted_.has_room()) {
    ++unnoted_reads_;
    vouched_until_ = {};
    return true;
  }
  noted_.Add(file.store, file.key, VersionOf(file.found));
  NoteClock(file.found);
  return true;
}

// Times to come, by the clock of the source, tell nothing: somebody has set them.
bool ChunkLedger::IsLate(const File& file) const {
  if (!file.found) return false;
  const int64_t step = file.store->traits().is_remote ? kClockStepOfServer : kClockStep;
  const auto clock = file.store->ClockNs();
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
  return is_late(file.found->modified_ns) || is_late(file.found->placed_ns);
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
    notes = noted_.reads();
  }
  // A file that cannot be looked at counts as absent: once it can be again, that is a change.
  const auto change = backends::FindChange(notes).value_or(backends::ReadChange());
  model::MutexLock lock(mutex_);
  if (change) NoticeChange(change->modified_ns);
  // An open takes several looks, and each of 100,000 files takes about a second.
  if (!change && begin < vouched_until_) vouched_until_ += Clock::now() - begin;
  return change.has_value();
}

void ChunkLedger::NoticeChange(int64_t modified_ns) {
  changed_ = true;
  changed_mtime_ns_ = std::max(changed_mtime_ns_, modified_ns);
}

std::optional<std::vector<backends::ReadSet::Read>> ChunkLedger::AllReads() const {
  const model::MutexLock lock(mutex_);
  if (changed_ || unnoted_reads_ != 0) return std::nullopt;
  return noted_.reads();
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
