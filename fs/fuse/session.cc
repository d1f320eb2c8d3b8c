// SPDX-License-Identifier: MIT
#include "fs/fuse/session.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <list>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "backends/base/capabilities.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/init_answer.h"
#include "fs/serve/last_resort.h"
#include "fs/serve/logging.h"
#include "fs/serve/signals_blocked.h"
#include "fs/serve/ticker.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

using model::MutexLock;
using std::chrono::milliseconds;

// The threads that take requests from the kernel and serve them. libfuse's own loop has a fixed
// number of threads, and all of them may be busy with requests that take long. This class adds
// a thread whenever none has been free for some milliseconds, so that one always takes the next
// request. Otherwise it keeps few threads: the kernel gives requests to all in turn, and a
// thread that has slept for long is slow.
class Receivers {
 public:
  using Clock = std::chrono::steady_clock;

  // `least` threads serve `session`. `wake` is called when Tick() should be called within some
  // time.
  Receivers(fuse_session* session, unsigned least,
            std::function<void(Clock::duration within)> wake);
  ~Receivers();
  Receivers(const Receivers&) = delete;
  Receivers& operator=(const Receivers&) = delete;

  // Starts the threads, and waits until the session has ended: because it was unmounted, or by
  // a signal that the calling thread gets. Then the threads take no more requests, but may
  // still serve some. Returns 0 or a negative errno.
  int Run();
  // Waits for the threads.
  void Join() EXCLUDES(mutex_);

  // Adds a thread if none is free. Returns when to call it again.
  std::optional<Clock::duration> Tick(Clock::time_point now) EXCLUDES(mutex_);

  // How many threads there are now.
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Receiver {
    std::thread thread;
    std::atomic<bool> has_ended{false};
  };

  bool Start() EXCLUDES(mutex_);
  void Serve(Receiver& self);
  void JoinEnded() EXCLUDES(mutex_);

  fuse_session* const session_;
  const unsigned least_;
  const std::function<void(Clock::duration)> wake_;
  sem_t ended_;
  std::atomic<int> error_{0};
  std::atomic<unsigned> free_{0};  // threads that wait for a request
  std::atomic<size_t> size_{0};
  std::atomic<bool> is_over_{false};
  std::optional<Clock::time_point> none_free_since_;  // only Tick() uses it
  model::Mutex mutex_;
  std::list<Receiver> receivers_ GUARDED_BY(mutex_);
};

// Longer than a request that takes no time needs, and too short to be noticed.
constexpr milliseconds kNoneFree{5};
// More than the requests that RequestQueue runs on threads that bring them.
constexpr size_t kMost = 256;

// Makes a thread return from waiting for a request. Otherwise nobody uses this signal, and it
// is ignored unless there is a handler.
constexpr int kInterruption = SIGURG;

void HandleInterruptions() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  ::sigaction(kInterruption, &action, nullptr);
}

Receivers::Receivers(fuse_session* session, unsigned least,
                     std::function<void(Clock::duration)> wake)
    : session_(session), least_(least), wake_(std::move(wake)) {
  ::sem_init(&ended_, 0, 0);
}

Receivers::~Receivers() {
  Join();
  ::sem_destroy(&ended_);
}

int Receivers::Run() {
  HandleInterruptions();
  for (unsigned i = 0; i < least_; ++i) {
    if (Start()) continue;
    if (i == 0) return -EAGAIN;
    break;  // Tick() tries again
  }
  // libfuse handles the signals that end the session, which interrupt sem_wait().
  while (fuse_session_exited(session_) == 0) ::sem_wait(&ended_);
  is_over_ = true;
  return error_;
}

bool Receivers::Start() {
  const SignalsBlocked blocked;
  const MutexLock lock(mutex_);
  if (is_over_ || receivers_.size() >= kMost) return false;
  try {
    Receiver& added = receivers_.emplace_back();
    ++size_;
    added.thread = std::thread([this, &added] { Serve(added); });
    return true;
  } catch (const std::exception&) {  // neither memory nor a thread
    if (!receivers_.empty() && !receivers_.back().thread.joinable()) {
      receivers_.pop_back();
      --size_;
    }
    return false;
  }
}

void Receivers::Serve(Receiver& self) {
  fuse_buf buffer = {};
  while (!is_over_ && fuse_session_exited(session_) == 0) {
    ++free_;
    const int received = fuse_session_receive_buf(session_, &buffer);
    const bool is_last = --free_ == 0;
    if (received == -EINTR) continue;
    if (received <= 0) {
      if (received < 0) {
        error_ = received;
        fuse_session_exit(session_);
      }
      break;
    }
    if (is_last) wake_(kNoneFree);
    fuse_session_process_buf(session_, &buffer);
    if (free_ >= least_) break;  // others were added while this one was busy
  }
  std::free(buffer.mem);
  --size_;
  self.has_ended = true;
  if (fuse_session_exited(session_) != 0) ::sem_post(&ended_);
}

std::optional<Receivers::Clock::duration> Receivers::Tick(Clock::time_point now) {
  JoinEnded();
  if (is_over_ || free_ != 0 || size_ == 0) {
    none_free_since_.reset();
    return std::nullopt;
  }
  if (!none_free_since_) none_free_since_ = now;
  if (now - *none_free_since_ >= kNoneFree) {
    Start();
    none_free_since_.reset();
  }
  return kNoneFree;
}

void Receivers::JoinEnded() {
  std::list<Receiver> ended;
  {
    const MutexLock lock(mutex_);
    for (auto it = receivers_.begin(); it != receivers_.end();) {
      const auto receiver = it++;
      if (receiver->has_ended) ended.splice(ended.end(), receivers_, receiver);
    }
  }
  for (Receiver& receiver : ended) receiver.thread.join();
}

void Receivers::Join() {
  is_over_ = true;
  std::list<Receiver> all;
  {
    const MutexLock lock(mutex_);
    all.swap(receivers_);
  }
  for (Receiver& receiver : all) {
    // It may be about to wait when the signal comes.
    while (!receiver.has_ended) {
      ::pthread_kill(receiver.thread.native_handle(), kInterruption);
      std::this_thread::sleep_for(milliseconds(1));
    }
    receiver.thread.join();
  }
}

// libfuse says why something failed only through its log.
class FuseLog {
 public:
  static FuseLog& Global() {
    static FuseLog log;
    return log;
  }

  // From now on messages are kept, for the reason of a failure, or logged.
  void Keep(bool keep) {
    model::MutexLock lock(mutex_);
    keep_ = keep;
    kept_.clear();
  }
  std::string TakeKept() {
    model::MutexLock lock(mutex_);
    return std::exchange(kept_, {});
  }

  void Add(std::string_view message) {
    while (message.ends_with('\n')) message.remove_suffix(1);
    if (message.starts_with("fuse: ")) message.remove_prefix(6);
    if (message.empty()) return;
    {
      model::MutexLock lock(mutex_);
      if (keep_) {
        kept_ += kept_.empty() ? "" : "; ";
        kept_ += message;
        return;
      }
    }
    LogWarning("libfuse: " + std::string(message));
  }

 private:
  FuseLog() {
    fuse_set_log_func([](fuse_log_level, const char* format, va_list args) {
      char message[1024];
      std::vsnprintf(message, sizeof(message), format, args);
      FuseLog::Global().Add(message);
    });
  }

  model::Mutex mutex_;
  bool keep_ GUARDED_BY(mutex_) = false;
  std::string kept_ GUARDED_BY(mutex_);
};

model::Failure MountFailure(const SessionOptions& options, std::string_view fallback) {
  const std::string said = FuseLog::Global().TakeKept();
  return model::BadInput("cannot mount on {}: {}", model::Quote(options.mountpoint),
                         said.empty() ? std::string(fallback) : model::OneLine(said));
}

// Arguments as fuse_session_new() wants them.
class Arguments {
 public:
  Arguments() { fuse_opt_add_arg(&args_, "ndlfs"); }
  ~Arguments() { fuse_opt_free_args(&args_); }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // Commas and backslashes of a path are not to end it.
  void AddOption(std::string_view name, std::string_view value = {}) {
    std::string option(name);
    if (!value.empty()) option += '=';
    for (const char c : value) {
      if (c == ',' || c == '\\') option += '\\';
      option += c;
    }
    fuse_opt_add_arg(&args_, "-o");
    fuse_opt_add_arg(&args_, option.c_str());
  }
  fuse_args* get() { return &args_; }

 private:
  fuse_args args_ = FUSE_ARGS_INIT(0, nullptr);
};

std::optional<Receivers::Clock::duration> Sooner(
    const std::optional<Receivers::Clock::duration>& a,
    const std::optional<Receivers::Clock::duration>& b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

}  // namespace

model::Result<std::unique_ptr<Session>> Session::Mount(SessionOptions given,
                                                       Filesystem& filesystem) {
  std::unique_ptr<Session> session(new Session(std::move(given), filesystem));
  const SessionOptions& options = session->options_;
  FuseLog::Global().Keep(true);
  Arguments arguments;
  arguments.AddOption("fsname", options.source);
  arguments.AddOption("subtype", "ndlfs");
  for (const char* option : {"ro", "nosuid", "nodev", "noatime", "default_permissions"}) {
    arguments.AddOption(option);
  }
  if (options.allow_other) arguments.AddOption("allow_other");

  session->session_ = fuse_session_new(arguments.get(), &Filesystem::Operations(),
                                       sizeof(fuse_lowlevel_ops), &filesystem);
  if (session->session_ == nullptr) return MountFailure(options, "libfuse refused");
  session->handles_signals_ = fuse_set_signal_handlers(session->session_) == 0;
  if (!session->handles_signals_) return MountFailure(options, "cannot handle signals");
  // libfuse takes "/dev/fd/N" for a device, which it closes at the end.
  session->is_given_ = static_cast<bool>(options.device);
  const std::string place = session->is_given_
                                ? fmt::format("/dev/fd/{}", session->options_.device.release())
                                : options.mountpoint;
  {
    // A signal that comes now ends the session, and not libfuse's wait for fusermount3.
    const SignalsBlocked blocked;
    session->mounted_ = fuse_session_mount(session->session_, place.c_str()) == 0;
  }
  if (!session->mounted_) {
    return MountFailure(options, "the system refused; see the line above");
  }
  FuseLog::Global().Keep(false);
  CompleteInitAnswer(session->session_);
  filesystem.set_device(fuse_session_fd(session->session_));
  const uint64_t kept =
      backends::kReadAnyFile | (options.allow_other ? backends::kTakeIdentities : 0);
  NDLFS_RETURN_IF_ERROR(backends::DropCapabilities(kept, kept | backends::kAdministrate));
  return session;
}

model::Result<void> Session::Run() {
  Ticker* ticker = nullptr;  // there is one before the first request
  const auto wake = [&ticker](Receivers::Clock::duration within) { ticker->Wake(within); };
  filesystem_.set_wake(wake);
  Receivers receivers(session_, options_.threads, wake);
  const auto tick = [&](Receivers::Clock::time_point now) {
    return Sooner(filesystem_.Tick(now), receivers.Tick(now));
  };
  std::optional<Ticker> running_ticker, forgetter;
  {
    const SignalsBlocked blocked;
    running_ticker.emplace(tick);
    forgetter.emplace([this](auto) { return filesystem_.ForgetNames(session_); });
  }
  ticker = &*running_ticker;
  filesystem_.set_wake_forgetter([&](Receivers::Clock::duration t) { forgetter->Wake(t); });
  const int result = receivers.Run();
  // The mount may end between a thread's taking a request and its getting it (ECONNABORTED):
  // when many files were closed just before, nearly every time.
  const bool has_failed = result < 0 && result != -ECONNABORTED;
  LastResort::Begin([this] { EndMount(); }, has_failed ? 1 : 0);
  filesystem_.queue().End();
  receivers.Join();
  forgetter.reset();
  running_ticker.reset();
  filesystem_.set_wake({});
  filesystem_.set_wake_forgetter({});
  if (has_failed) return model::IoError(-result, "reading requests");
  return {};
}

void Session::EndMount() {
  backends::RaiseCapabilities(backends::kAdministrate);
  if (mounted_) fuse_session_unmount(session_);
  // The mount point of a mount that was made for one command is made for it, too.
  if (is_given_) ::rmdir(options_.mountpoint.c_str());
}

Session::~Session() {
  LastResort::Forget();
  backends::RaiseCapabilities(backends::kAdministrate);
  if (mounted_) fuse_session_unmount(session_);
  if (handles_signals_) fuse_remove_signal_handlers(session_);
  if (session_ != nullptr) fuse_session_destroy(session_);
}

}  // namespace ndlfs::fs
