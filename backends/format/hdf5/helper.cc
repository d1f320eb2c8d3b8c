// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/helper.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <thread>

#include "backends/base/checked.h"
#include "backends/format/hdf5/hdf5.h"
#include "backends/format/hdf5/read_service.h"
#include "backends/helper/spawn.h"
#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "model/sanitizers.h"

namespace ndlfs::backends {
namespace hdf5 {
namespace {

using model::Result;

size_t AnswerLimit(const Request& request) {
  if (request.what == Request::What::kWrite) return kMaxMessageBytes;
  if (request.what != Request::What::kRead) return kMaxDescriptionBytes;
  // Elements, with their table of offsets.
  constexpr uint64_t kMost = uint64_t{1} << 34;
  return std::min(kMost, request.limit) * 2 + kMaxMessageBytes;
}

// Address space of a helper: what the description of any sound file takes, and
// what the elements do. Lengths in a file can claim more (a sequence of 4 GiB),
// for which libhdf5 would allocate, and touch, as much.
uint64_t MemoryLimit(const Request& request) {
  constexpr uint64_t kForObjects = uint64_t{512} << 20;
  // A description, the file made of it, and both as messages.
  constexpr uint64_t kForNewFile = uint64_t{2} << 30;
  if (request.what == Request::What::kWrite) return kForObjects + kForNewFile;
  if (request.what != Request::What::kRead) return kForObjects;
  // A chunk encoded, decoded by a filter that does not know how large it gets,
  // converted, and on its way to us; and the elements of variable size.
  constexpr uint64_t kMost = uint64_t{1} << 40;
  constexpr uint64_t kCopies = 6;
  return kForObjects + kCopies * std::min(kMost, request.block.chunk_bytes) +
         std::min(kMost, request.limit);
}

constexpr size_t kMaxMarks = 1000;
// How often a process that somebody has stopped or killed is replaced for one question.
constexpr int kMostReplacements = 4;
// How long a process that has closed its socket takes to end.
constexpr std::chrono::milliseconds kTimeToEnd{200};
// How often a thread that waits for a process looks whether anybody waits for itself.
constexpr std::chrono::milliseconds kLookWhetherWanted{100};
// A process that holds more after an answer that took long, or was long, is not kept.
// Sanitizers hold memory of their own.
constexpr uint64_t kMostKeptByProcess = model::kIsSanitized ? UINT64_MAX : uint64_t{40} << 20;
constexpr size_t kLongAnswer = size_t{256} << 10;

// Whether a program that went astray by itself ends with this signal.
bool IsCrash(int signal) {
  constexpr std::array kCrashes = {SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,
                                   SIGABRT, SIGTRAP, SIGXCPU, SIGSYS};
  return std::ranges::find(kCrashes, signal) != kCrashes.end();
}

// The memory that a process has, in bytes; 0 if nobody can tell.
uint64_t ResidentBytesOf(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  if (!(file >> size >> resident)) return 0;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Whether somebody has stopped a process, as with SIGSTOP.
bool IsStoppedBySignal(int pid) {
  siginfo_t info = {};
  const int done = ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG | WNOWAIT);
  return done == 0 && info.si_pid == pid &&
         (info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED);
}

// The file that a question is about; 0, which no file has, for none.
uint64_t IdOf(const std::shared_ptr<const StoreFile>& file) {
  return file == nullptr ? 0 : file->id();
}

// How much processor time a process has used so far.
std::chrono::nanoseconds CpuTimeOf(int pid) {
  clockid_t clock;
  timespec used;
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// When a helper has worked on its question for too long.
class Deadline {
 public:
  Deadline(int pid, const Helper::Patience& patience)
      : pid_(pid),
        wall_(std::chrono::steady_clock::now() + patience.wall),
        cpu_(CpuTimeOf(pid) + patience.cpu) {}

  // The helper has waited so long for bytes of the source.
  void Add(std::chrono::nanoseconds waited) {
    wall_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(waited);
    waited_ += waited;
  }
  std::chrono::nanoseconds waited() const { return waited_; }

  bool is_too_much_work() const { return CpuTimeOf(pid_) >= cpu_; }
  bool is_over() const { return std::chrono::steady_clock::now() >= wall_; }

 private:
  const int pid_;
  std::chrono::steady_clock::time_point wall_;
  const std::chrono::nanoseconds cpu_;
  std::chrono::nanoseconds waited_{0};
};

// A file by way of a helper. It has no state but the version that is meant.
class RemoteFile final : public File {
 public:
  RemoteFile(std::shared_ptr<Helper> helper, std::shared_ptr<const StoreFile> file)
      : helper_(std::move(helper)), file_(std::move(file)) {}

  Result<void> Open() {
    NDLFS_RETURN_IF_ERROR(Ask<Done>({.what = Request::What::kOpen}));
    return {};
  }

  Result<Location> Find(const std::string& path) const override {
    return Ask<Location>({.what = Request::What::kFind, .path = path});
  }
  Result<std::vector<Child>> List(const std::string& path) const override {
    return Ask<std::vector<Child>>({.what = Request::What::kList, .path = path});
  }
  Result<ObjectInfo> Describe(const std::string& path) const override {
    return Ask<ObjectInfo>({.what = Request::What::kDescribe, .path = path});
  }
  Result<ObjectInfos> DescribeDatasets(const std::string& group,
                                       const std::vector<std::string>& names) const override {
    return Ask<ObjectInfos>(
        {.what = Request::What::kDescribeDatasets, .path = group, .names = names});
  }
  Result<std::vector<ChunkRecord>> LocateChunks(const std::string& path, uint64_t first,
                                                uint64_t count) const override {
    return Ask<std::vector<ChunkRecord>>(
        {.what = Request::What::kLocateChunks, .path = path, .first = first, .count = count});
  }
  Result<Elements> Read(const std::string& path, const Block& block,
                        uint64_t limit) const override {
    return Ask<Elements>(
        {.what = Request::What::kRead, .path = path, .block = block, .limit = limit});
  }

 private:
  template <typename T>
  Result<T> Ask(Request request) const {
    // A helper may know the answer, and then reads nothing that would tell.
    NDLFS_RETURN_IF_ERROR(file_->CheckUnchanged());
    request.file = file_->id();
    request.file_size = file_->size();
    request.file_path = file_->path();
    NDLFS_TRY(const auto answer, helper_->Ask(request, file_));
    return DecodeAnswer<T>(answer);
  }

  const std::shared_ptr<Helper> helper_;
  const std::shared_ptr<const StoreFile> file_;
};

// The command of UseHdf5Helper(), and the helpers that there are.
struct Helpers {
  std::shared_ptr<Helper> writer GUARDED_BY(mutex);  // it has no source
  model::Mutex mutex;
  std::vector<std::string> command GUARDED_BY(mutex);
  std::map<const Source*, std::weak_ptr<Helper>> by_source GUARDED_BY(mutex);
};

Helpers& AllHelpers() {
  static Helpers helpers;
  return helpers;
}

// The helper of `source`; null if UseHdf5Helper() was not called.
std::shared_ptr<Helper> HelperOf(const std::shared_ptr<const Source>& source,
                                 std::chrono::nanoseconds patience) {
  Helpers& helpers = AllHelpers();
  const model::MutexLock lock(helpers.mutex);
  if (helpers.command.empty()) return nullptr;
  // A helper keeps its source, so that no other one can have its address.
  std::erase_if(helpers.by_source, [](const auto& item) { return item.second.expired(); });
  auto& known = helpers.by_source[source.get()];
  if (auto helper = known.lock()) return helper;
  Helper::Patience limits;
  const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
  if (wall.count() > 0) limits.wall = std::min(limits.wall, wall);
  auto helper = std::make_shared<Helper>(helpers.command, source, limits);
  known = helper;
  return helper;
}

// The helper that writes files; null if UseHdf5Helper() was not called.
std::shared_ptr<Helper> HelperForWriting() {
  Helpers& helpers = AllHelpers();
  const model::MutexLock lock(helpers.mutex);
  if (helpers.command.empty()) return nullptr;
  if (!helpers.writer) helpers.writer = std::make_shared<Helper>(helpers.command, nullptr);
  return helpers.writer;
}

}  // namespace

Helper::Helper(std::vector<std::string> command, std::shared_ptr<const Source> source)
    : Helper(std::move(command), std::move(source), Patience()) {}

Helper::Helper(std::vector<std::string> command, std::shared_ptr<const Source> source,
               Patience patience)
    : command_(std::move(command)), files_(std::move(source)), patience_(patience) {}

Helper::~Helper() {
  for (Process& process : processes_) Stop(process);
}

model::Result<std::vector<std::byte>> Helper::Ask(
    const Request& request, const std::shared_ptr<const StoreFile>& file) {
  NDLFS_RETURN_IF_ERROR(CheckMarks(IdOf(file)));
  NDLFS_TRY(Process* const process, Take(IdOf(file)));
  try {
    auto answer = AskProcess(*process, request, file);
    GiveBack(*process);
    return answer;
  } catch (...) {  // out of memory: the answer is still on its way
    Stop(*process);
    GiveBack(*process);
    throw;
  }
}

void Helper::Prepare() {
  Process* process = nullptr;
  {
    const model::MutexLock lock(mutex_);
    process = FindFree(0);
    if (process == nullptr || process->pid >= 0) return;
    process->taken = true;
    process->taken_by = CallerScope::CurrentId();
  }
  process->caller = CallerScope::CurrentId();
  process->last_file = 0;
  (void)Start(*process);
  GiveBack(*process);
}

model::Result<Helper::Process*> Helper::Take(uint64_t file) {
  const model::MutexLock lock(mutex_);
  Process* found = nullptr;
  while ((found = FindFree(file)) == nullptr) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    given_back_.WaitFor(mutex_, kLookWhetherWanted);
  }
  found->taken = true;
  found->taken_by = CallerScope::CurrentId();
  return found;
}

// In this order: what knows the file, what has been started for the caller, what is not
// started, and what has to be started anew, as it has answered another caller.
Helper::Process* Helper::FindFree(uint64_t file) {
  const uint64_t caller = CallerScope::CurrentId();
  const auto cost = [&](const Process& process) {
    if (process.pid < 0) return 2;
    if (process.caller != caller) return 3;
    return process.last_file == file ? 0 : 1;
  };
  const auto is_own = [&](const Process& process) {
    return process.taken && process.taken_by == caller;
  };
  const auto own = static_cast<size_t>(std::ranges::count_if(processes_, is_own));
  if (caller != 0 && own >= kMaxOfCaller) return nullptr;
  Process* best = nullptr;
  for (Process& process : processes_) {
    if (process.taken) continue;
    if (best == nullptr || cost(process) < cost(*best)) best = &process;
  }
  return best;
}

void Helper::GiveBack(Process& process) {
  const model::MutexLock lock(mutex_);
  process.taken = false;
  given_back_.NotifyAll();
}

namespace {

model::Failure WasKilled(int signal) {
  return model::Failure(model::Error(
      model::ErrorCode::kIo,
      fmt::format("the process of libhdf5 was killed by signal {} {} times, as the system does "
                  "when memory is short; the next look tries again",
                  signal, kMostReplacements),
      EIO));
}

model::Failure HasCrashed(const std::optional<int>& status) {
  if (status && WIFSIGNALED(*status)) {
    return model::Corrupt("libhdf5 crashes over it (signal {})", WTERMSIG(*status));
  }
  if (status && WIFEXITED(*status)) {
    return model::Corrupt("libhdf5 crashes over it (exit status {})", WEXITSTATUS(*status));
  }
  return model::Corrupt("libhdf5 crashes over it (its process broke the rules)");
}

}  // namespace

model::Result<std::vector<std::byte>> Helper::AskProcess(
    Process& process, const Request& request, const std::shared_ptr<const StoreFile>& file) {
  // A process that a file has taken over could tell one caller what it has read for another.
  if (process.caller != CallerScope::CurrentId()) Stop(process);
  process.caller = CallerScope::CurrentId();
  process.last_file = IdOf(file);
  bool has_crashed = false;
  for (int replaced = 0;;) {
    const bool is_new = process.pid < 0;
    Outcome outcome = Outcome::kAnswered;
    auto answer = AskOnce(process, request, file, outcome);
    if (!answer) return answer;  // no process
    if (outcome == Outcome::kAnswered) return answer;
    const auto status = outcome == Outcome::kDied ? StatusOfEnd(process) : std::nullopt;
    Stop(process);
    const bool was_killed = status && WIFSIGNALED(*status) && !IsCrash(WTERMSIG(*status));
    if (outcome == Outcome::kIsStopped || was_killed) {
      if (++replaced < kMostReplacements) continue;
      return WasKilled(was_killed ? WTERMSIG(*status) : SIGSTOP);
    }
    switch (outcome) {
      case Outcome::kNobodyWaits:
        return model::IoError(ECANCELED, "nobody waits for libhdf5 any more");
      case Outcome::kSourceTooSlow:
        return model::IoError(ETIMEDOUT, "reading it for libhdf5");
      case Outcome::kTooMuchWork:
        if (!is_new) continue;  // perhaps of an earlier file
        GiveUp(IdOf(file));
        return model::Corrupt("libhdf5 comes to no end with it");
      case Outcome::kDoesNothing: {
        if (!is_new) continue;
        const std::string seen =
            fmt::format("the process of libhdf5 did nothing for {} s",
                        std::chrono::duration<double>(patience_.wall).count());
        LetRest(IdOf(file), seen);
        return model::IoError(ETIMEDOUT, seen);
      }
      default:
        if (std::exchange(has_crashed, true)) return HasCrashed(status);
    }
  }
}

model::Result<std::vector<std::byte>> Helper::AskOnce(
    Process& process, Request request, const std::shared_ptr<const StoreFile>& file,
    Outcome& outcome) {
  if (process.pid < 0) NDLFS_RETURN_IF_ERROR(Start(process), "HDF5 helper");
  LimitMemory(process, MemoryLimit(request));
  LimitTime(process);
  if (request.what == Request::What::kOpen) {
    request.head_bytes = ReadService::PutHead(*file, process.memory.bytes());
  }
  const auto begun = std::chrono::steady_clock::now();
  Message answer;
  outcome = TryAsk(process, Encode(request), AnswerLimit(request), file, answer);
  if (outcome != Outcome::kAnswered) return std::vector<std::byte>();
  const bool was_long = answer.bytes.size() > kLongAnswer ||
                        std::chrono::steady_clock::now() - begun > kLookWhetherWanted;
  if (was_long && ResidentBytesOf(process.pid) > kMostKeptByProcess) Stop(process);
  return std::move(answer.bytes);
}

std::optional<int> Helper::StatusOfEnd(Process& process) {
  const auto until = std::chrono::steady_clock::now() + kTimeToEnd;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(process.pid, &status, WNOHANG);
    if (ended == process.pid) break;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    if (std::chrono::steady_clock::now() >= until) {
      Stop(process);
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  process.pid = -1;
  process.socket = UniqueFd();
  process.memory = SharedMemory();
  return status;
}

model::Result<WrittenFile> Helper::Write(std::shared_ptr<const NewFile> file) {
  const Request request = {.what = Request::What::kWrite, .new_file = file};
  NDLFS_TRY(const auto answer, Ask(request, nullptr));
  NDLFS_TRY(auto written, DecodeAnswer<WrittenFile>(answer));
  NDLFS_RETURN_IF_ERROR(CheckWritten(*file, written));
  return written;
}

model::Result<void> Helper::Start(Process& process) {
  NDLFS_TRY(auto sockets, helper::MakeSocketPair());
  NDLFS_TRY(auto memory, SharedMemory::Create());
  const int descriptors[] = {sockets.theirs.get(), memory.fd()};
  NDLFS_TRY(process.pid, helper::SpawnHelper(command_, descriptors));
  process.socket = std::move(sockets.ours);
  process.memory = std::move(memory);
  process.memory_limit = 0;
  process.cpu_limit = 0;
  return {};
}

void Helper::LimitMemory(Process& process, uint64_t bytes) {
  // Sanitizers need their address space.
  if (model::kIsSanitized || process.memory_limit == bytes) return;
  const rlimit limit{bytes, RLIM_INFINITY};
  if (::prlimit(process.pid, RLIMIT_AS, &limit, nullptr) == 0) process.memory_limit = bytes;
}

void Helper::LimitTime(Process& process) const {
  constexpr uint64_t kSpareSeconds = 60;
  const auto allowed = CpuTimeOf(process.pid) + patience_.cpu;
  const auto seconds = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(allowed).count() + 1);
  if (seconds <= process.cpu_limit) return;
  const rlimit limit{seconds + kSpareSeconds, RLIM_INFINITY};
  if (::prlimit(process.pid, RLIMIT_CPU, &limit, nullptr) == 0) {
    process.cpu_limit = seconds + kSpareSeconds;
  }
}

void Helper::Stop(Process& process) {
  if (process.pid < 0) return;
  process.socket = UniqueFd();
  process.memory = SharedMemory();
  helper::KillHelper(process.pid);
  process.pid = -1;
}

Helper::Outcome Helper::TryAsk(Process& process, ConstByteSpan question, size_t limit,
                               const std::shared_ptr<const StoreFile>& file, Message& message) {
  const int socket = process.socket.get();
  Deadline deadline(process.pid, patience_);
  Outcome reason = Outcome::kAnswered;
  const auto go_on = [&] {
    if (!CancellationScope::CheckWithinChunk()) {
      reason = Outcome::kNobodyWaits;
    } else if (deadline.is_too_much_work()) {
      reason = Outcome::kTooMuchWork;
    } else if (deadline.is_over()) {
      reason = Outcome::kDoesNothing;
    } else if (IsStoppedBySignal(process.pid)) {
      reason = Outcome::kIsStopped;
    }
    return reason == Outcome::kAnswered;
  };
  const auto limit_of = [&](MessageKind kind) {
    return kind == MessageKind::kAnswer ? limit : ReadService::MaxBytesOf(kind);
  };
  std::optional<ReadService> service;
  if (file != nullptr) service.emplace(files_, file, process.memory.bytes());
  auto sent = SendMessage(socket, MessageKind::kQuestion, question, go_on);
  while (sent == Exchange::kDone) {
    sent = ReceiveMessage(socket, message, limit_of, go_on);
    if (sent != Exchange::kDone) break;
    if (message.kind == MessageKind::kAnswer) return Outcome::kAnswered;
    const auto asked = std::chrono::steady_clock::now();
    const auto reply = service ? service->Reply(message) : std::nullopt;
    if (!reply) return Outcome::kDied;
    deadline.Add(std::chrono::steady_clock::now() - asked);
    if (deadline.waited() > patience_.source) return Outcome::kSourceTooSlow;
    // It may ask faster than a message has to be waited for.
    if (!go_on()) return reason;
    sent = SendMessage(socket, MessageKind::kReply, *reply, go_on);
  }
  return sent == Exchange::kGivenUp ? reason : Outcome::kDied;
}

model::Result<void> Helper::CheckMarks(uint64_t file) {
  const model::MutexLock lock(mutex_);
  const auto found = marks_.find(file);
  if (found == marks_.end()) return {};
  if (!found->second) return model::Corrupt("libhdf5 came to no end with this file before");
  if (std::chrono::steady_clock::now() < found->second->until) {
    return model::IoError(ETIMEDOUT, found->second->seen + " before");
  }
  marks_.erase(found);
  return {};
}

void Helper::GiveUp(uint64_t file) {
  if (file == 0) return;
  const model::MutexLock lock(mutex_);
  if (marks_.size() >= kMaxMarks) marks_.clear();
  marks_[file] = std::nullopt;
}

void Helper::LetRest(uint64_t file, const std::string& seen) {
  if (file == 0) return;
  const model::MutexLock lock(mutex_);
  if (marks_.size() >= kMaxMarks) marks_.clear();
  marks_[file] = Rest{std::chrono::steady_clock::now() + patience_.again, seen};
}

model::Result<VersionedFile> OpenFileByHelper(std::shared_ptr<Helper> helper,
                                              std::shared_ptr<const Store> store,
                                              const std::string& path) {
  NDLFS_TRY(auto opened, helper->files().OpenStore(std::move(store), path));
  const ValueInfo info = opened->info();
  auto file = std::make_shared<RemoteFile>(std::move(helper), std::move(opened));
  NDLFS_RETURN_IF_ERROR(file->Open());
  return VersionedFile{std::move(file), info};
}

model::Result<VersionedFile> OpenFile(const std::shared_ptr<const Source>& source,
                                      std::shared_ptr<const Store> store,
                                      const std::string& path,
                                      std::chrono::nanoseconds patience) {
  if (auto helper = HelperOf(source, patience)) {
    return OpenFileByHelper(std::move(helper), std::move(store), path);
  }
  const auto files = std::make_shared<StoreFiles>(source);
  NDLFS_TRY(const auto opened, files->OpenStore(std::move(store), path));
  NDLFS_TRY(auto file, OpenFileInProcess(files, opened, path));
  return VersionedFile{std::move(file), opened->info()};
}

model::Result<WrittenFile> WriteByHelper(std::shared_ptr<const NewFile> file) {
  if (const auto helper = HelperForWriting()) return helper->Write(std::move(file));
  NDLFS_TRY(auto written, WriteNewFile(*file));
  NDLFS_RETURN_IF_ERROR(CheckWritten(*file, written));
  return written;
}

void PrepareToWrite() {
  if (const auto helper = HelperForWriting()) helper->Prepare();
}

model::Result<void> CheckWritten(const NewFile& file, const WrittenFile& written) {
  const auto garbled = [] { return model::Internal("a file that contradicts itself"); };
  if (written.offsets.size() != file.objects.size() || written.size > kMaxViewSize) {
    return garbled();
  }
  std::vector<std::pair<uint64_t, uint64_t>> parts;  // offset and bytes
  for (const WrittenFile::Block& block : written.blocks) {
    parts.emplace_back(block.offset, block.bytes.size());
  }
  for (size_t i = 0; i < file.objects.size(); ++i) {
    if (written.offsets[i] == WrittenFile::kNowhere) continue;
    const NewObject& object = file.objects[i];
    const auto bytes = CheckedProduct(object.shape, object.type.size());
    if (object.kind != NewObject::Kind::kDataset || object.data || !bytes) return garbled();
    parts.emplace_back(written.offsets[i], *bytes);
  }
  std::ranges::sort(parts);
  uint64_t end = 0;
  for (const auto& [offset, bytes] : parts) {
    if (offset < end || offset > written.size || bytes > written.size - offset) {
      return garbled();
    }
    end = offset + bytes;
  }
  return {};
}

}  // namespace hdf5

void UseHdf5Helper(std::vector<std::string> command) {
  auto& helpers = hdf5::AllHelpers();
  const model::MutexLock lock(helpers.mutex);
  helpers.command = std::move(command);
  helpers.writer = nullptr;
}

}  // namespace ndlfs::backends
