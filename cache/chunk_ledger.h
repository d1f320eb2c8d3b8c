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

// Notes the version of each file from which the data of one array were read;
// that a file is absent is a version, too. So a change of any of these files is
// noticed before the next program opens a view of the array. Once a change was
// noticed, the ledger stays changed: data from before and after the change do
// not belong together. The owner has to begin a new ledger, with a new
// ArraySource. Thread-safe.
//
// What is read for the first time has no version yet that it could be compared with. A ledger
// therefore knows a time at which all that it knows of held. What was written after that makes
// it look again: at the files that it has noted and, if it watches them, at the metadata. If
// they are as they were, all that was read is what the source held at the time of this look.
//
// What was written after that is told by the clock of the source (Store::ClockNs()), which may
// be that of another machine. Where nobody knows that clock, it shows at least the newest time
// that the ledger has seen on a file, and goes on from there: a file that is newer than all
// before it may have been written just now.
//
// All read sets together note a limited number of files. A ledger that could not note all
// reads answers Changed() with true, because nobody can tell that it has not
// changed. Readers of the array continue nevertheless.
class ChunkLedger {
 public:
  ChunkLedger();
  ChunkLedger(const ChunkLedger&) = delete;
  ChunkLedger& operator=(const ChunkLedger&) = delete;

  // Looks at the source: whether the metadata have another version now than the one by which
  // the array is read. Called without a lock, by the thread that notes something.
  using MetadataLook = std::function<bool()>;
  // From now on looks at the metadata, too, which were as they should be `age` ago.
  void Watch(MetadataLook have_metadata_changed, std::chrono::nanoseconds age);

  // Notes the present version of `key`, unless it cannot be found out. kStale
  // if the ledger is changed, or notices a change by this call.
  model::Result<void> Note(const std::shared_ptr<const backends::Store>& store,
                           const std::string& key);

  // What a read of a file has to match; taken before the read.
  struct Expected {
    // The noted version; nullopt if none was noted, or there was no value.
    std::optional<backends::Generation> version;
    // The looks at files that had begun.
    uint64_t looks = 0;
  };
  Expected Expect(const std::shared_ptr<const backends::Store>& store,
                  const std::string& key) const;

  // Note() with the result of a read of `key`; nullopt: there was no value. When a file is
  // noted for the first time, the ledger finds out whether it belongs to what was read before:
  // - If the file was written late, it looks at the other files: at all of them, or mostly at a
  //   sample if they are very many.
  // - If the file is absent, or may have come with another directory, it does so now and then.
  // `looks` is what Expect() returned before the read. A look that has begun since has not seen
  // this file, and the ledger then looks at the file by itself. It also does if the source told
  // the version of the file before the time at which all noted files were known to be the same.
  model::Result<void> NoteRead(const std::shared_ptr<const backends::Store>& store,
                               const std::string& key,
                               const std::optional<backends::ValueInfo>& found,
                               uint64_t looks = 0);

  // Looks at the noted files again. True if one of them has changed, appeared or
  // disappeared, or if not all reads could be noted. Costs one stat() per file up to
  // the first difference. If there are many files, looks at a sample first.
  bool Changed();

  // Tells that all files of the array have just been read. For as long as this `holds`, not
  // counting the time that Changed() itself takes, and until more is read, Changed() ignores
  // reads that could not be noted. So a text whose size was found by decoding the whole array
  // can be opened, however many files the array has.
  void Vouch(std::chrono::nanoseconds holds);

  // How many reads could not be noted so far.
  uint64_t unnoted_reads() const;

  // Whether a read was noted, or could not be.
  bool has_notes() const;

  // Whether a change was noticed already; looks at no file.
  bool has_changed() const;

  // The newest modification time of the values that were found changed, in
  // nanoseconds since 1970. 0 if none was, or the value is gone; 1 if there is
  // no change, but reads that could not be noted.
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
    backends::ReadSet::Read read() const { return {store, key, false, VersionOf(found)}; }
  };
  // What to look at before a file is noted for the first time.
  struct Look {
    std::shared_ptr<const MetadataLook> metadata;
    Notes notes;
    bool has_all_notes = false;
    Clock::time_point begin;
    int64_t begin_machine_ns = 0;
  };

  // False if something has changed, an error if nobody can tell.
  model::Result<bool> NoteVersion(File file, uint64_t looks) EXCLUDES(look_mutex_, mutex_);
  // What became of a note without a look.
  struct Attempt {
    std::optional<bool> same = {};  // it is noted, or (false) something has changed
    uint64_t looks = 0;             // that have begun so far
    bool needs_look = false;  // if neither: else a look has begun that did not see the file
  };
  // `looks` had begun before the read, `asked` when a look for the file was first found needed.
  Attempt AddKnown(const File& file, uint64_t looks, std::optional<uint64_t> asked)
      EXCLUDES(mutex_);
  bool NeedsLook(const File& file, std::optional<uint64_t> asked) const REQUIRES(mutex_);
  // False if something has changed; nullopt if that is not so, but the look has not seen
  // `file`.
  model::Result<std::optional<bool>> LookAndAdd(const File& file) REQUIRES(look_mutex_)
      EXCLUDES(mutex_);
  Look PlanLook(const File& file) EXCLUDES(mutex_);
  // Looks at one file alone. False if it has changed.
  model::Result<bool> IsStill(const File& file) EXCLUDES(mutex_);
  // Whether the file was written after the time at which everything held, or may have been.
  bool IsLate(const File& file) const REQUIRES(mutex_);
  void NoteClock(const Info& found) REQUIRES(mutex_);
  // How long to wait after a look for a file that does not tell by its time that it is late.
  Clock::duration LookInterval(bool is_remote, bool is_there) const REQUIRES(mutex_);
  // All notes if they are few, or if looking at all of them has not cost much lately;
  // otherwise a few from both ends, where a program that writes all files again begins.
  void AddNotes(size_t most, Look& look) const REQUIRES(mutex_);
  // False if something has changed.
  model::Result<bool> TakeLook(const Look& look) EXCLUDES(mutex_);
  // False if another version is noted.
  bool AddVersion(const File& file) REQUIRES(mutex_);
  void NoticeChange(int64_t modified_ns) REQUIRES(mutex_);

  model::Mutex look_mutex_;  // held for a look; taken before mutex_
  mutable model::Mutex mutex_;
  backends::ReadSet noted_ GUARDED_BY(mutex_);
  std::shared_ptr<const MetadataLook> metadata_ GUARDED_BY(mutex_);  // null: not watched
  // When all that is noted, and the metadata, were in the source together.
  Clock::time_point held_at_ GUARDED_BY(mutex_);
  // The same by the clock of this machine, which goes on while the machine sleeps.
  int64_t held_machine_ns_ GUARDED_BY(mutex_);
  // The clock of the source is ahead of the steady clock by so many nanoseconds at least, as
  // times of files tell; none: no time was seen.
  std::optional<int64_t> clock_lead_ns_ GUARDED_BY(mutex_);
  Clock::time_point looked_at_ GUARDED_BY(mutex_);
  Clock::duration cost_ GUARDED_BY(mutex_){};  // of the last look
  uint64_t looks_ GUARDED_BY(mutex_) = 0;      // at files that have begun so far
  // The same of the last look at all notes.
  Clock::time_point looked_at_all_ GUARDED_BY(mutex_);
  Clock::duration cost_all_ GUARDED_BY(mutex_){};
  bool changed_ GUARDED_BY(mutex_) = false;
  uint64_t unnoted_reads_ GUARDED_BY(mutex_) = 0;
  // Until then Changed() ignores those reads.
  Clock::time_point vouched_until_ GUARDED_BY(mutex_);
  int64_t changed_mtime_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace ndlfs::cache
