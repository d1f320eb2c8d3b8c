// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/base/unique_fd.h"
#include "fs/cli/base/command.h"
#include "fs/cli/base/standard_output.h"
#include "fs/cli/mount/stats_report.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using model::BadInput;
using model::Quote;
using model::Result;

struct StatsArguments {
  std::string mountpoint;
  double interval = 1;
  unsigned count = 0;  // 0: until it is interrupted
};

volatile std::sig_atomic_t stopped = 0;
void OnWatchSignal(int) { stopped = 1; }

// A file in .ndlfs. It is open for a moment only, or nobody could unmount.
Result<std::string> ReadControlFile(const std::string& mountpoint, const char* name) {
  const std::string path = mountpoint + "/.ndlfs/" + name;
  const backends::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return model::IoError(errno, path);
  std::string text;
  char buffer[8192];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return model::IoError(errno, path);
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
  }
}

Result<MountStats> ReadStats(const std::string& mountpoint) {
  NDLFS_TRY(const std::string text, ReadControlFile(mountpoint, "stats.json"));
  return ParseMountStats(text);
}

// The value of a line "name: "value"" of config.yaml.
std::string ValueOf(const std::string& yaml, std::string_view name) {
  const std::string key = fmt::format("{}: ", name);
  const size_t line = yaml.starts_with(key) ? 0 : yaml.find("\n" + key);
  if (line == std::string::npos) return "?";
  const size_t begin = yaml.find(key, line) + key.size();
  std::string value = yaml.substr(begin, yaml.find('\n', begin) - begin);
  if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
  return value;
}

std::string LatestProblem(const std::string& mountpoint) {
  auto log = ReadControlFile(mountpoint, "errors.log");
  if (!log) return {};  // it may be for another user
  while (log->ends_with('\n')) log->pop_back();
  const size_t end = log->rfind('\n');
  return model::OneLine(end == std::string::npos ? *log : log->substr(end + 1));
}

// A terminal that can be drawn on: its own screen, no echo, no cursor; all as it was
// when this is destroyed.
class Screen {
 public:
  static std::unique_ptr<Screen> Open() {
    const char* term = std::getenv("TERM");
    const bool can_draw = term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
    if (!can_draw || ::isatty(STDOUT_FILENO) != 1) return nullptr;
    return std::unique_ptr<Screen>(new Screen);
  }
  ~Screen() {
    Write("\x1b[?25h\x1b[?1049l");
    if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  size_t width() const {
    winsize size = {};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }
  size_t height() const {
    winsize size = {};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
  }

  void Draw(const std::vector<std::string>& lines) {
    std::string out = "\x1b[H";
    for (size_t i = 0; i < std::min(lines.size(), height() - 1); ++i) {
      out += lines[i] + "\x1b[K\r\n";
    }
    Write(out + "\x1b[J  q ends");
  }

  // Waits for a key; true for "q". Also returns when a signal comes.
  bool WaitForEnd(int milliseconds) const {
    pollfd keys = {.fd = has_keys_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
    if (::poll(&keys, 1, milliseconds) <= 0) return false;
    char key = 0;
    return ::read(STDIN_FILENO, &key, 1) != 1 || key == 'q';
  }

 private:
  Screen() : has_keys_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (has_keys_) {
      termios now = before_;
      now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
    }
    Write("\x1b[?1049h\x1b[?25l");
  }
  static void Write(const std::string& text) {
    (void)WriteStandardOutput(backends::AsBytes(text));
  }

  termios before_ = {};
  bool has_keys_;
};

// Rates need two moments: the first screen shows those since the mount.
Result<int> Watch(const StatsArguments& arguments, const MountFacts& facts, MountStats before) {
  const auto milliseconds = static_cast<int>(arguments.interval * 1000);
  const auto screen = Screen::Open();
  if (!screen) {
    NDLFS_RETURN_IF_ERROR(WriteStandardOutput(backends::AsBytes(StatsHeader() + "\n")));
  }
  MountStats now = before;
  before = MountStats();
  for (unsigned shown = 0;;) {
    if (screen) {
      screen->Draw(
          StatsScreen(facts, before, now, LatestProblem(facts.mountpoint), screen->width()));
    } else {
      const std::string line = StatsLine(before, now) + "\n";
      NDLFS_RETURN_IF_ERROR(WriteStandardOutput(backends::AsBytes(line)));
    }
    if (++shown == arguments.count) return 0;
    if (screen ? screen->WaitForEnd(milliseconds) : ::poll(nullptr, 0, milliseconds) > 0) {
      return 0;
    }
    if (stopped != 0) return 0;
    auto next = ReadStats(facts.mountpoint);
    if (!next) return 0;  // unmounted
    before = std::exchange(now, *std::move(next));
  }
}

Result<int> Stats(const StatsArguments& arguments) {
  const auto config = ReadControlFile(arguments.mountpoint, "config.yaml");
  if (!config && config.error().reason() == model::SystemReason::kNotConnected) {
    return BadInput("{}: the mount there has died; ndlfs umount removes it",
                    Quote(arguments.mountpoint));
  }
  if (!config && config.error().reason() == model::SystemReason::kNoSuchFile) {
    return BadInput("{}: ndlfs is not mounted there", Quote(arguments.mountpoint));
  }
  if (!config) {
    return BadInput("{}: ndlfs is not mounted there ({})", Quote(arguments.mountpoint),
                    config.error().SystemText());
  }
  NDLFS_TRY(auto first, ReadStats(arguments.mountpoint));
  struct sigaction action = {};
  action.sa_handler = &OnWatchSignal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  const MountFacts facts = {ValueOf(*config, "source"), arguments.mountpoint,
                            ValueOf(*config, "version")};
  auto result = Watch(arguments, facts, std::move(first));
  // The reader of the pipe has closed it, which needs no message.
  if (!result && result.error().reason() == model::SystemReason::kClosedPipe) return 1;
  return result;
}

Command::Body PrepareStats(CLI::App& app) {
  const auto arguments = std::make_shared<StatsArguments>();
  app.add_option("MOUNTPOINT", arguments->mountpoint, "Directory where ndlfs is mounted")
      ->required()
      ->option_text(" ");
  app.add_option_function<std::string>(
         "--interval",
         [arguments](const std::string& text) {
           const auto seconds = model::ParseNumber<double>(text);
           if (!seconds || !(*seconds >= 0.1 && *seconds <= 3600)) {
             throw CLI::ValidationError(fmt::format(
                 "--interval: {} is not a number of seconds from 0.1 to 3600", Quote(text)));
           }
           arguments->interval = *seconds;
         },
         "Time between two looks (1)")
      ->option_text("SECONDS");
  app.add_option_function<std::string>(
         "--count",
         [arguments](const std::string& text) {
           const auto count = model::ParseNumber<unsigned>(text);
           if (!count || *count == 0) {
             throw CLI::ValidationError(
                 fmt::format("--count: {} is not a number from 1", Quote(text)));
           }
           arguments->count = *count;
         },
         "Number of looks (until it is interrupted)")
      ->option_text("N");
  app.footer(
      "On a terminal, a page that is refreshed; q ends it. Elsewhere a line for each look.\n"
      "The first look shows averages since the mount. Programs read "
      "MOUNTPOINT/.ndlfs/stats.json\n"
      "or, for Prometheus, MOUNTPOINT/.ndlfs/metrics.");
  return [arguments] { return Stats(*arguments); };
}

}  // namespace

const Command kStatsCommand = {"stats", "Show what a mount is doing", PrepareStats};

}  // namespace ndlfs::fs
