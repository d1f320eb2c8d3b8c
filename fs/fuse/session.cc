// SPDX-License-Identifier: MIT
#include "fs/fuse/session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/base/capabilities.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/init_answer.h"
#include "fs/fuse/receivers.h"
#include "fs/serve/last_resort.h"
#include "fs/serve/logging.h"
#include "fs/serve/signals_blocked.h"
#include "fs/serve/ticker.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

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
