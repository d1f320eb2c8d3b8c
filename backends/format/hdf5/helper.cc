// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/helper.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <map>

#include "backends/format/hdf5/hdf5.h"
#include "backends/format/hdf5/message_socket.h"
#include "backends/format/hdf5/sandbox.h"
#include "backends/store/local/crossing.h"
#include "backends/store/local/descriptor_cache.h"
#include "model/sanitizers.h"

namespace ndlfs::backends {
namespace hdf5 {
namespace {

using model::Result;

// Where the helper finds what it needs.
constexpr int kSocketFd = 3;
constexpr int kRootFd = 4;

// No question is longer, and no answer that tells of objects: a library that a
// file has led astray shall not make us hold what it likes.
constexpr size_t kMaxMessageBytes = size_t{256} << 20;

size_t AnswerLimit(const Request& request) {
  if (request.what != Request::What::kRead) return kMaxMessageBytes;
  // Elements, with their table of offsets.
  constexpr uint64_t kMost = uint64_t{1} << 34;
  return std::min(kMost, request.limit) * 2 + kMaxMessageBytes;
}

// Address space of a helper: what the description of any sound file takes, and
// what the elements do. Lengths in a file can claim more (a sequence of 4 GiB),
// for which libhdf5 would allocate, and touch, as much.
uint64_t MemoryLimit(const Request& request) {
  constexpr uint64_t kForObjects = uint64_t{512} << 20;
  if (request.what != Request::What::kRead) return kForObjects;
  // A chunk encoded, decoded by a filter that does not know how large it gets,
  // converted, and on its way to us; and the elements of variable size.
  constexpr uint64_t kMost = uint64_t{1} << 40;
  constexpr uint64_t kCopies = 6;
  return kForObjects + kCopies * std::min(kMost, request.block.chunk_bytes) +
         std::min(kMost, request.limit);
}

constexpr size_t kMaxGivenUp = 1000;

// What a process has used of the processor so far.
std::chrono::nanoseconds CpuTimeOf(int pid) {
  clockid_t clock;
  timespec used;
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// posix_spawn's attributes, which have to be destroyed.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnPlan(int socket, int root) {
    ::posix_spawn_file_actions_init(&actions);
    // Each end is elsewhere than where it goes, or dup2 would close it on exec.
    ::posix_spawn_file_actions_adddup2(&actions, socket, kSocketFd);
    ::posix_spawn_file_actions_adddup2(&actions, root, kRootFd);
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    ::sigemptyset(&none);
    sigset_t defaults;
    ::sigfillset(&defaults);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    // A terminal's interrupt is not meant for it.
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

// A descriptor above those that the helper's are moved to.
Result<UniqueFd> MoveUp(UniqueFd fd) {
  UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kRootFd + 1));
  if (!moved) return model::IoError(errno, "dup");
  return moved;
}

Result<int> Spawn(const std::vector<std::string>& command, int socket, int root) {
  const SpawnPlan plan(socket, root);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_t pid;
  const int error = ::posix_spawn(&pid, arguments[0], &plan.actions, &plan.attributes,
                                  arguments.data(), environ);
  if (error != 0) return model::IoError(error, command[0]);
  return pid;
}

std::vector<std::byte> Answer(const File& file, const Request& request) {
  switch (request.what) {
    case Request::What::kOpen:
      return EncodeAnswer(Result<FileStamp>(file.stamp()));
    case Request::What::kFind:
      return EncodeAnswer(file.Find(request.path));
    case Request::What::kList:
      return EncodeAnswer(file.List(request.path));
    case Request::What::kDescribe:
      return EncodeAnswer(file.Describe(request.path));
    case Request::What::kLocateChunks:
      return EncodeAnswer(file.LocateChunks(request.path, request.first, request.count));
    case Request::What::kRead:
      return EncodeAnswer(file.Read(request.path, request.block, request.limit));
  }
  return EncodeAnswer(Result<FileStamp>(model::Internal("an unknown question")));
}

// The versions of files that have been asked for lately.
class KnownFiles {
 public:
  explicit KnownFiles(std::shared_ptr<const SourceRoot> root) : root_(std::move(root)) {}

  Result<std::shared_ptr<const File>> Find(const Request& request) {
    const bool any_version = request.what == Request::What::kOpen;
    NDLFS_TRY(const FileStamp wanted,
              any_version ? CurrentStamp(request.file_path) : Result<FileStamp>(request.stamp));
    const auto found = files_.find(request.file_path);
    if (found != files_.end() && found->second->stamp() == wanted) return found->second;
    NDLFS_TRY(auto file, OpenFileInProcess(root_, request.file_path));
    if (!any_version && file->stamp() != request.stamp) {
      return model::IoError(ESTALE, request.file_path);
    }
    if (files_.size() >= kMaxFiles) files_.clear();
    files_[request.file_path] = file;
    return file;
  }

 private:
  Result<FileStamp> CurrentStamp(const std::string& path) const {
    NDLFS_TRY(const auto status, root_->Stat(path));
    return StampOf(status);
  }

  static constexpr size_t kMaxFiles = 256;
  const std::shared_ptr<const SourceRoot> root_;
  std::map<std::string, std::shared_ptr<const File>> files_;
};

std::vector<std::byte> AnswerTo(ConstByteSpan question, KnownFiles& files) {
  // All answers say an error in the same way.
  using AnyAnswer = Result<FileStamp>;
  try {
    const auto request = DecodeRequest(question);
    if (!request) return EncodeAnswer(AnyAnswer(model::Propagate(request.error())));
    const auto file = files.Find(*request);
    if (!file) return EncodeAnswer(AnyAnswer(model::Propagate(file.error())));
    return Answer(**file, *request);
  } catch (const std::bad_alloc&) {
    return EncodeAnswer(AnyAnswer(model::Limit("libhdf5 needs too much memory for this")));
  }
}

// A file by way of a helper. It has no state but the version that is meant.
class RemoteFile final : public File {
 public:
  RemoteFile(std::shared_ptr<Helper> helper, std::string path)
      : helper_(std::move(helper)), path_(std::move(path)) {}

  Result<void> Open() {
    NDLFS_TRY(stamp_, Ask<FileStamp>({.what = Request::What::kOpen}));
    return {};
  }

  const FileStamp& stamp() const override { return stamp_; }

  Result<Location> Find(const std::string& path) const override {
    return Ask<Location>({.what = Request::What::kFind, .path = path});
  }
  Result<std::vector<Child>> List(const std::string& path) const override {
    return Ask<std::vector<Child>>({.what = Request::What::kList, .path = path});
  }
  Result<ObjectInfo> Describe(const std::string& path) const override {
    return Ask<ObjectInfo>({.what = Request::What::kDescribe, .path = path});
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
    request.file_path = path_;
    request.stamp = stamp_;
    NDLFS_TRY(const auto answer, helper_->Ask(request));
    return DecodeAnswer<T>(answer);
  }

  const std::shared_ptr<Helper> helper_;
  const std::string path_;
  FileStamp stamp_;
};

// The command of UseHdf5Helper(), and the helpers that there are.
struct Helpers {
  model::Mutex mutex;
  std::vector<std::string> command GUARDED_BY(mutex);
  std::map<const SourceRoot*, std::weak_ptr<Helper>> by_root GUARDED_BY(mutex);
};

Helpers& AllHelpers() {
  static Helpers helpers;
  return helpers;
}

}  // namespace

Helper::Helper(std::vector<std::string> command, std::shared_ptr<const SourceRoot> root)
    : Helper(std::move(command), std::move(root), Patience()) {}

Helper::Helper(std::vector<std::string> command, std::shared_ptr<const SourceRoot> root,
               Patience patience)
    : command_(std::move(command)), root_(std::move(root)), patience_(patience) {}

Helper::~Helper() {
  for (Process& process : processes_) Stop(process);
}

model::Result<std::vector<std::byte>> Helper::Ask(const Request& request) {
  if (IsGivenUp(request.file_path)) {
    return model::Corrupt("libhdf5 came to no end with this file before");
  }
  Process& process = Take(request.file_path);
  try {
    auto answer = AskProcess(process, request);
    GiveBack(process);
    return answer;
  } catch (...) {  // out of memory: the answer is still on its way
    Stop(process);
    GiveBack(process);
    throw;
  }
}

Helper::Process& Helper::Take(const std::string& file_path) {
  const model::MutexLock lock(mutex_);
  Process* found = nullptr;
  while ((found = FindFree(file_path)) == nullptr) given_back_.Wait(mutex_);
  found->taken = true;
  return *found;
}

// In this order: what knows the file, what has been started, what is left.
Helper::Process* Helper::FindFree(const std::string& file_path) {
  Process* best = nullptr;
  for (Process& process : processes_) {
    if (process.taken) continue;
    if (process.pid >= 0 && process.last_file == file_path) return &process;
    if (best == nullptr || (best->pid < 0 && process.pid >= 0)) best = &process;
  }
  return best;
}

void Helper::GiveBack(Process& process) {
  const model::MutexLock lock(mutex_);
  process.taken = false;
  given_back_.NotifyAll();
}

model::Result<std::vector<std::byte>> Helper::AskProcess(Process& process,
                                                         const Request& request) {
  const std::vector<std::byte> question = Encode(request);
  process.last_file = request.file_path;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (process.pid < 0) NDLFS_RETURN_IF_ERROR(Start(process), "HDF5 helper");
    LimitMemory(process, MemoryLimit(request));
    std::vector<std::byte> answer;
    switch (TryAsk(process, question, AnswerLimit(request), answer)) {
      case Outcome::kAnswered:
        return answer;
      case Outcome::kTooLong:
        Stop(process);
        GiveUp(request.file_path);
        return model::Corrupt("libhdf5 comes to no end with it");
      case Outcome::kDied:
        Stop(process);
    }
  }
  return model::Corrupt("libhdf5 crashes over it");
}

model::Result<void> Helper::Start(Process& process) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return model::IoError(errno, "socketpair");
  }
  UniqueFd ours(ends[0]);
  NDLFS_TRY(const UniqueFd theirs, MoveUp(UniqueFd(ends[1])));
  // It answers whoever asks. What it says of a file is given only to those that have opened the
  // file.
  const CallerScope scope(SelfAsCaller());
  NDLFS_TRY(auto root, root_->OpenBeneath("", O_DIRECTORY));
  NDLFS_TRY(const UniqueFd root_fd, MoveUp(std::move(root)));
  auto command = command_;
  if (StaysOnOneFilesystem()) command.emplace_back(kHdf5HelperStays);
  NDLFS_TRY(process.pid, Spawn(command, theirs.get(), root_fd.get()));
  process.socket = std::move(ours);
  process.memory_limit = 0;
  return {};
}

void Helper::LimitMemory(Process& process, uint64_t bytes) {
  // Sanitizers need their address space.
  if (model::kIsSanitized || process.memory_limit == bytes) return;
  const rlimit limit{bytes, RLIM_INFINITY};
  if (::prlimit(process.pid, RLIMIT_AS, &limit, nullptr) == 0) process.memory_limit = bytes;
}

void Helper::Stop(Process& process) {
  if (process.pid < 0) return;
  process.socket = UniqueFd();
  ::kill(process.pid, SIGKILL);  // it has nothing to lose
  while (::waitpid(process.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  process.pid = -1;
}

Helper::Outcome Helper::TryAsk(Process& process, ConstByteSpan question, size_t limit,
                               std::vector<std::byte>& answer) const {
  const int socket = process.socket.get();
  if (!SendMessage(socket, question)) return Outcome::kDied;
  const auto deadline = std::chrono::steady_clock::now() + patience_.wall;
  const auto cpu_limit = CpuTimeOf(process.pid) + patience_.cpu;
  const auto go_on = [&, pid = process.pid] {
    return std::chrono::steady_clock::now() < deadline && CpuTimeOf(pid) < cpu_limit;
  };
  switch (ReceiveMessage(socket, answer, limit, go_on)) {
    case Received::kMessage:
      return Outcome::kAnswered;
    case Received::kGivenUp:
      return Outcome::kTooLong;
    case Received::kClosed:
      break;
  }
  return Outcome::kDied;
}

bool Helper::IsGivenUp(const std::string& file_path) {
  const model::MutexLock lock(mutex_);
  const auto found = given_up_.find(file_path);
  if (found == given_up_.end()) return false;
  const auto status = root_->Stat(file_path);
  if (status && StampOf(*status) == found->second) return true;
  given_up_.erase(found);
  return false;
}

void Helper::GiveUp(const std::string& file_path) {
  const model::MutexLock lock(mutex_);
  if (given_up_.size() >= kMaxGivenUp) given_up_.clear();
  if (const auto status = root_->Stat(file_path)) given_up_[file_path] = StampOf(*status);
}

model::Result<std::shared_ptr<const File>> OpenFileByHelper(std::shared_ptr<Helper> helper,
                                                            const std::string& path) {
  auto file = std::make_shared<RemoteFile>(std::move(helper), path);
  NDLFS_RETURN_IF_ERROR(file->Open());
  return file;
}

std::shared_ptr<Helper> HelperOf(std::shared_ptr<const SourceRoot> root) {
  Helpers& helpers = AllHelpers();
  const model::MutexLock lock(helpers.mutex);
  if (helpers.command.empty()) return nullptr;
  // A helper keeps its root, so that no other one can have its address.
  std::erase_if(helpers.by_root, [](const auto& item) { return item.second.expired(); });
  auto& known = helpers.by_root[root.get()];
  if (auto helper = known.lock()) return helper;
  auto helper = std::make_shared<Helper>(helpers.command, std::move(root));
  known = helper;
  return helper;
}

void AnswerQuestions(int socket, std::shared_ptr<const SourceRoot> root) {
  KnownFiles files(std::move(root));
  std::vector<std::byte> question;
  while (ReceiveMessage(socket, question, kMaxMessageBytes) == Received::kMessage) {
    if (!SendMessage(socket, AnswerTo(question, files))) return;
  }
}

model::Result<std::shared_ptr<const File>> OpenFile(std::shared_ptr<const SourceRoot> root,
                                                    const std::string& path) {
  auto helper = HelperOf(root);
  if (!helper) return OpenFileInProcess(std::move(root), path);
  if (!root->is_shared()) return OpenFileByHelper(std::move(helper), path);
  // The helper may read what the caller may not: it is asked about what the caller has opened.
  const auto opened = backends::OpenFile(*root, path);
  if (!opened) return model::Propagate(opened.error());
  if (!*opened) return model::NotFound("no file {}", model::Quote(path));
  auto file = OpenFileByHelper(std::move(helper), path);
  const auto now = root->Stat(path);
  const bool same = now && StampOf(*now) == (*opened)->stamp &&
                    (!file || (*file)->stamp() == (*opened)->stamp);
  if (!same) return model::IoError(ESTALE, path);
  return file;
}

}  // namespace hdf5

void UseHdf5Helper(std::vector<std::string> command) {
  auto& helpers = hdf5::AllHelpers();
  const model::MutexLock lock(helpers.mutex);
  helpers.command = std::move(command);
}

int RunHdf5Helper(bool stays) {
  ::close_range(hdf5::kRootFd + 1, ~0U, 0);
  if (stays) StayOnOneFilesystem();
  auto root = SourceRoot::Open("/proc/self/fd/" + std::to_string(hdf5::kRootFd));
  if (!root) return 1;
  // Names of files are not to be changed by what is meant for other programs.
  ::unsetenv("HDF5_VDS_PREFIX");
  ::unsetenv("HDF5_EXTFILE_PREFIX");
  hdf5::EnterSandbox(hdf5::kRootFd);
  hdf5::AnswerQuestions(hdf5::kSocketFd, *std::move(root));
  // At once: what sanitizers do at the end of a process, the sandbox forbids,
  // and they would say so.
  ::_exit(0);
}

}  // namespace ndlfs::backends
