// SPDX-License-Identifier: MIT
//
// Runs libhdf5 in processes of its own. A file can make the library crash or run forever; the
// process is then started anew.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/base/unique_fd.h"
#include "backends/format/hdf5/library/library.h"
#include "backends/format/hdf5/messages.h"
#include "backends/format/hdf5/shared_memory.h"
#include "backends/format/hdf5/store_files.h"
#include "backends/helper/message_socket.h"
#include "backends/helper/spawn.h"
#include "backends/store/source.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::hdf5 {

using helper::Exchange;
using helper::Message;
using helper::MessageKind;

// Where a helper finds the memory that the parent puts bytes into. It has no other descriptor
// except the socket to its parent and standard error.
inline constexpr int kHelperMemory = helper::kHelperSocket + 1;

// The most bytes of a question, and of an answer that lists objects: a library that a file has
// led astray must not make us hold any amount of memory.
inline constexpr size_t kMaxMessageBytes = size_t{256} << 20;
// The same for an answer that describes objects, or lists a group of a million of them.
inline constexpr size_t kMaxDescriptionBytes = size_t{96} << 20;

// The processes that answer questions about one source, as their clients see them. They start
// when they are needed, and end with this object. While one works on a question, the thread
// that has asked reads files for it. Usually one process is at work. There are others so that a
// file that takes forever delays only those who ask about that file. Thread-safe.
class Helper {
 public:
  // How long an answer may take: by the clock, longer than any sensible answer takes even on a
  // slow network filesystem; and in time of the processor.
  struct Patience {
    std::chrono::milliseconds wall{120'000};
    std::chrono::milliseconds cpu{10'000};
    // After a helper did nothing for `wall`, its file is tried again after this time.
    std::chrono::milliseconds again{60'000};
    // How long a helper may wait for bytes of the file in one question.
    std::chrono::milliseconds source{120'000};
  };

  // `command` is as for UseHdf5Helper(). Without a source, only Write() works.
  Helper(std::vector<std::string> command, std::shared_ptr<const Source> source);
  Helper(std::vector<std::string> command, std::shared_ptr<const Source> source,
         Patience patience);
  ~Helper();

  // Returns the bytes of the answer to a question about `file`, which is null for kWrite. If a
  // helper crashes over a question, the question is asked once more, because something earlier
  // may have caused the crash. After a second crash it is kCorrupt, and so is an answer that
  // takes too much of the processor. From then on nothing is asked about this version of the
  // file any more.
  //
  // Signals from other processes say nothing about the file: a helper that was stopped is
  // replaced; a helper that was killed, or that does nothing for too long, is a transient error
  // of the system. The question also ends if nobody waits for the answer any more.
  model::Result<std::vector<std::byte>> Ask(const Request& request,
                                            const std::shared_ptr<const StoreFile>& file);

  // Lets a helper write a new file; see WriteNewFile(). The helper may read no file meanwhile.
  // The answer has been checked: all parts lie within the file, apart from each other.
  model::Result<WrittenFile> Write(std::shared_ptr<const NewFile> file);

  // Starts a process for the caller of this thread, unless one is free. The process takes some
  // time until it can answer; the caller can do something else meanwhile. If the start fails,
  // the next question tries again.
  void Prepare() EXCLUDES(mutex_);

  // The files that helpers may read. The numbers of files are theirs.
  StoreFiles& files() { return files_; }

 private:
  enum class Outcome {
    kAnswered,
    kDied,         // or it has broken the rules
    kTooMuchWork,  // for the processor
    kDoesNothing,  // for as long as the patience lasts
    kIsStopped,    // somebody has sent a signal
    kNobodyWaits,  // the request was abandoned
    kSourceTooSlow,
  };

  // A process, if it has been started. The thread that has taken it may use it.
  struct Process {
    int pid = -1;
    UniqueFd socket;
    SharedMemory memory;
    uint64_t last_file = 0;     // the helper may still have it open
    uint64_t memory_limit = 0;  // bytes of address space; 0: not set yet
    uint64_t cpu_limit = 0;     // seconds of processor time; 0: not set yet
    uint64_t caller = 0;        // the caller whose questions it has answered; see CallerScope
    bool taken = false;
    uint64_t taken_by = 0;  // as `caller`
  };
  static constexpr size_t kMaxProcesses = 6;
  // The most that one caller of a mount for others uses at once, so that other callers find one
  // free.
  static constexpr size_t kMaxOfCaller = 3;
  // A file whose helper did nothing.
  struct Rest {
    std::chrono::steady_clock::time_point until;
    std::string seen;
  };

  // Waits until a process is free, or nobody waits for the answer any more. Prefers the one
  // that knows `file`.
  model::Result<Process*> Take(uint64_t file) EXCLUDES(mutex_);
  Process* FindFree(uint64_t file) REQUIRES(mutex_);
  void GiveBack(Process& process) EXCLUDES(mutex_);

  model::Result<std::vector<std::byte>> AskProcess(Process& process, const Request& request,
                                                   const std::shared_ptr<const StoreFile>& file)
      EXCLUDES(mutex_);
  // Asks one process, which is started if it does not run. If `outcome` is kAnswered, the bytes
  // are the answer.
  model::Result<std::vector<std::byte>> AskOnce(Process& process, Request request,
                                                const std::shared_ptr<const StoreFile>& file,
                                                Outcome& outcome);
  model::Result<void> Start(Process& process);
  static void Stop(Process& process);
  // Waits a moment for a process that has closed its socket, and says how it has ended; nullopt
  // if it has not. The process is gone afterwards in any case.
  static std::optional<int> StatusOfEnd(Process& process);
  // Lets the process take `patience_.cpu` more processor time, and some. It cannot raise the
  // limit itself, because it has no system call for that. The parent stops it before that
  // limit; but a process whose parent was killed ends by itself.
  void LimitTime(Process& process) const;
  static void LimitMemory(Process& process, uint64_t bytes);
  // Sends the question, and serves message after message until `message` is the answer, which
  // has at most `limit` bytes.
  Outcome TryAsk(Process& process, ConstByteSpan question, size_t limit,
                 const std::shared_ptr<const StoreFile>& file, Message& message);

  // Fails for a file about which nothing is asked for now.
  model::Result<void> CheckMarks(uint64_t file) EXCLUDES(mutex_);
  void GiveUp(uint64_t file) EXCLUDES(mutex_);
  void LetRest(uint64_t file, const std::string& seen) EXCLUDES(mutex_);

  const std::vector<std::string> command_;
  StoreFiles files_;
  const Patience patience_;
  model::Mutex mutex_;
  model::CondVar given_back_;
  // `taken` is guarded by the mutex, the rest belongs to the thread that has
  // taken the process.
  std::array<Process, kMaxProcesses> processes_;
  // Versions of files that the library could not finish. Without a time: for good.
  std::map<uint64_t, std::optional<Rest>> marks_ GUARDED_BY(mutex_);
};

// A file, and which version of it that is.
struct VersionedFile {
  std::shared_ptr<const File> file;
  ValueInfo info;
};

// Opens the file at `path`, whose bytes `store` has, by a helper.
model::Result<VersionedFile> OpenFileByHelper(std::shared_ptr<Helper> helper,
                                              std::shared_ptr<const Store> store,
                                              const std::string& path);

// Opens the file at `path` of `source`, whose bytes `store` has: by the helper of that source
// if UseHdf5Helper() was called, otherwise in this process. Files that it refers to, such as
// the sources of virtual datasets, are looked for in `source`. A helper that does nothing for
// `patience` is given up; zero stands for a long time.
model::Result<VersionedFile> OpenFile(const std::shared_ptr<const Source>& source,
                                      std::shared_ptr<const Store> store,
                                      const std::string& path,
                                      std::chrono::nanoseconds patience = {});

// Writes a new file as Helper::Write() does: by a helper if UseHdf5Helper() was called,
// otherwise in this process.
model::Result<WrittenFile> WriteByHelper(std::shared_ptr<const NewFile> file);

// Starts the process that WriteByHelper() needs. Call it if you will call that soon.
void PrepareToWrite();

// Whether the parts of a file are what new_file.h says: within it, in order, apart from each
// other. kInternal if they are not.
model::Result<void> CheckWritten(const NewFile& file, const WrittenFile& written);

// The work of a helper: answers the questions that come from `socket` until that is closed. The
// bytes of files that it asks for come in `shared`.
void AnswerQuestions(int socket, ConstByteSpan shared);

}  // namespace ndlfs::backends::hdf5
