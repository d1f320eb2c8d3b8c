// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/store/read_set.h"
#include "backends/store/store.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::cache {

// The ledger of one array notes the version of each file from which data of the array were
// read. Being absent counts as a version, too. So ndlfs notices a change of any of these files
// before the next program opens a view of the array. After a change the ledger stays changed
// for good, because data from before and after the change do not belong together. The owner has
// to begin a new ledger, with a new ArraySource. Thread-safe.
//
// A file that is read for the first time has no noted version to compare with. A ledger
// therefore knows a time at which all noted files held together. If a newly noted file was
// written after that time, the ledger looks again at the files that it has noted and, if it
// watches them, at the metadata. If they have not changed, all that was read is what the source
// held at the time of this look.
//
// The clock of the source (Store::ClockNs()), which may be that of another machine, tells which
// files were written after a time. If nobody knows that clock, the ledger assumes that it shows
// at least the newest time of a file so far, and that it goes on from there. So a file that is
// newer than all files before it may have been written just now.
//
// All read sets together note a limited number of files. A ledger that could not note all reads
// answers Changed() with true, because nobody can tell that nothing has changed. Readers of the
// array continue nevertheless.
class ChunkLedger {
 public:
  ChunkLedger();
  ChunkLedger(const ChunkLedger&) = delete;
  ChunkLedger& operator=(const ChunkLedger&) = delete;

  // Looks at the source. Returns whether the metadata have another version now than the one
  // with which the array is read. An error means that nobody can tell: the read that needed to
  // know fails. Called without a lock, by the thread that notes something.
  using MetadataLook = std::function<model::Result<bool>()>;
  // From now on looks at the metadata, too. They had the right version `age` ago.
  void Watch(MetadataLook have_metadata_changed, std::chrono::nanoseconds age);

  // Looks at `key` and notes its present version, unless the look fails. kStale if the ledger
  // is changed, or notices a change by this call.
  model::Result<void> Note(const std::shared_ptr<const backends::Store>& store,
                           const std::string& key);

  // The version that a read of a file has to find; taken before the read.
  struct Expected {
    // The noted version; nullopt if none was noted, or there was no value.
    std::optional<backends::Generation> version;
    // How many looks at files had begun.
    uint64_t looks = 0;
  };
  Expected Expect(const std::shared_ptr<const backends::Store>& store,
                  const std::string& key) const;

  // Notes the result of a read of `key`; nullopt: there was no value. When a file is noted for
  // the first time, the ledger finds out whether it belongs to what was read before:
  // - If the file was written late, the ledger looks at all other files, or mostly at a
  //   sample if they are very many.
  // - If the file is absent, or may have come with another directory, it does so now and then.
  //   `looks` is the number that Expect() returned before the read. If another look has begun
  //   since, that look has not seen this file, so the ledger looks at the file by itself. It
  //   also does so if the source reported the version of the file before the time at which all
  //   noted files held.
  model::Result<void> NoteRead(const std::shared_ptr<const backends::Store>& store,
                               const std::string& key,
                               const std::optional<backends::ValueInfo>& found,
                               uint64_t looks = 0);

  // Looks at the noted files again. True if one of them has changed, appeared or disappeared,
  // or if not all reads could be noted. Costs one stat() per file up to the first difference.
  // If there are many files, looks at a sample first.
  bool Changed();

  // Tells that all files of the array have just been read. Until `holds` has passed, or more is
  // read, Changed() ignores reads that could not be noted; the time that Changed() itself takes
  // does not count. So a text whose size was found by decoding the whole array can be opened,
  // however many files the array has.
  void Vouch(std::chrono::nanoseconds holds);

  // How many reads could not be noted so far.
  uint64_t unnoted_reads() const;

  // All files that were read, with their versions; nullopt if a change was noticed, or not all
  // reads could be noted. Looks at no file.
  std::optional<std::vector<backends::ReadSet::Read>> AllReads() const;
  // When the ledger began, by the clock of this machine, in nanoseconds since 1970.
  int64_t began_ns() const { return began_ns_; }

  // Whether any read was noted, or could not be noted.
  bool has_notes() const;

  // Whether a change was noticed before; looks at no file.
  bool has_changed() const;

  // The newest modification time of the files that were found changed, in nanoseconds since
  // 1970. 0 if there was none, or the file is gone; 1 if there is no change, but reads that
  // could not be noted.
  int64_t changed_mtime_ns() const;

 private:
  using Clock = std::chrono::steady_clock;
  using StorePtr = std::shared_ptr<const backends::Store>;
  using Notes = std::vector<backends::ReadSet::Read>;
  using Info = std::optional<backends::ValueInfo>;
  // A file, and what was found there.
  struct File {
    StorePtr store;
    std::string key;
    Info found;
    backends::ReadSet::Read read() const { return {store, key, VersionOf(found)}; }
  };
  // The files to look at before a file is noted for the first time.
  struct Look {
    std::shared_ptr<const MetadataLook> metadata;
    Notes notes;
    bool has_all_notes = false;
    Clock::time_point begin;
    int64_t begin_machine_ns = 0;
  };

  // False if something has changed, an error if this cannot be found out.
  model::Result<bool> NoteVersion(File file, uint64_t looks) EXCLUDES(look_mutex_, mutex_);
  // The result of an attempt to note a file without looking at others.
  struct Attempt {
    std::optional<bool> same = {};  // true: it is noted; false: something has changed
    uint64_t looks = 0;             // how many have begun so far
    // Without `same`: whether a look is needed; false: one has begun that did not see the file.
    bool needs_look = false;
  };
  // `looks` had begun before the read. `asked` is when this file was first found to need a
  // look.
  Attempt AddKnown(const File& file, uint64_t looks, std::optional<uint64_t> asked)
      EXCLUDES(mutex_);
  bool NeedsLook(const File& file, std::optional<uint64_t> asked) const REQUIRES(mutex_);
  // False if something has changed; nullopt if nothing has, but the look has not seen `file`.
  model::Result<std::optional<bool>> LookAndAdd(const File& file) REQUIRES(look_mutex_)
      EXCLUDES(mutex_);
  Look PlanLook(const File& file) EXCLUDES(mutex_);
  // Looks at one file alone. False if it has changed.
  model::Result<bool> IsStill(const File& file) EXCLUDES(mutex_);
  // Whether the file was written, or may have been, after the time at which all files held.
  bool IsLate(const File& file) const REQUIRES(mutex_);
  void NoteClock(const Info& found) REQUIRES(mutex_);
  // How long to wait after a look before looking again for a file whose time cannot tell
  // whether it is late.
  Clock::duration LookInterval(bool is_remote, bool is_there) const REQUIRES(mutex_);
  // Adds all notes to `look` if they are few, or if looking at all of them has not cost much
  // lately. Otherwise adds a few from both ends, where a program that writes all files again
  // begins.
  void AddNotes(size_t most, Look& look) const REQUIRES(mutex_);
  // False if something has changed.
  model::Result<bool> TakeLook(const Look& look) EXCLUDES(mutex_);
  // False if another version is noted.
  bool AddVersion(const File& file) REQUIRES(mutex_);
  void NoticeChange(int64_t modified_ns) REQUIRES(mutex_);

  const int64_t began_ns_;
  model::Mutex look_mutex_;  // held for a look; taken before mutex_
  mutable model::Mutex mutex_;
  backends::ReadSet noted_ GUARDED_BY(mutex_);
  std::shared_ptr<const MetadataLook> metadata_ GUARDED_BY(mutex_);  // null: not watched
  // A time at which all noted files, and the metadata, were in the source together.
  Clock::time_point held_at_ GUARDED_BY(mutex_);
  // The same by the clock of this machine, which goes on while the machine sleeps.
  int64_t held_machine_ns_ GUARDED_BY(mutex_);
  // How many nanoseconds, at least, the clock of the source is ahead of the steady clock, as
  // the times of files tell; none: no time was seen.
  std::optional<int64_t> clock_lead_ns_ GUARDED_BY(mutex_);
  Clock::time_point looked_at_ GUARDED_BY(mutex_);
  Clock::duration cost_ GUARDED_BY(mutex_){};  // of the last look
  uint64_t looks_ GUARDED_BY(mutex_) = 0;      // how many looks at files have begun so far
  // When the last look at all noted files was made.
  Clock::time_point looked_at_all_ GUARDED_BY(mutex_);
  Clock::duration cost_all_ GUARDED_BY(mutex_){};
  bool changed_ GUARDED_BY(mutex_) = false;
  uint64_t unnoted_reads_ GUARDED_BY(mutex_) = 0;
  // Until then Changed() ignores reads that could not be noted.
  Clock::time_point vouched_until_ GUARDED_BY(mutex_);
  int64_t changed_mtime_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::cache
