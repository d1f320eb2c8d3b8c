// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/cli/check_report.h"
#include "fs/cli/checker.h"
#include "fs/cli/command.h"
#include "fs/cli/nearest.h"
#include "fs/cli/options.h"
#include "fs/cli/standard_output.h"
#include "fs/cli/store_walk.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

using Clock = std::chrono::steady_clock;

// Exit statuses: of these that apply, the one that comes first here.
constexpr int kDamaged = 1;                 // or a SOURCE is no store
constexpr int kInterrupted = 128 + SIGINT;  // as shells report what SIGINT has ended
constexpr int kUnreadable = 3;
constexpr int kNotChecked = 4;
constexpr int kSound = 0;

// Between lines of progress that go to a file or pipe.
constexpr double kPlainInterval = 10;

struct Arguments {
  std::vector<std::string> sources;
  std::string format = "text";
  std::string from;
  backends::Detection detection = backends::Detection::kContent;
  Checker::Options options;
};

// Whom the signal handler tells.
std::atomic<Checker*> running_checker{nullptr};

void OnSignal(int) {
  if (Checker* checker = running_checker.load()) checker->Stop();
}

// Has SIGINT and SIGTERM stop `checker`, as long as this lives; a second one
// ends the process as usual.
class StopOnSignal {
 public:
  explicit StopOnSignal(Checker& checker) {
    running_checker = &checker;
    struct sigaction action = {};
    action.sa_handler = &OnSignal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  }
  ~StopOnSignal() {
    for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
    running_checker = nullptr;
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
};

// Results go to standard output, progress to standard error: one line that is
// written over again and again on a terminal, a line now and then elsewhere.
class Output {
 public:
  explicit Output(CheckFormat format) : format_(format) { Print(CheckBegin(format)); }

  void Store(const StoreReport& report) {
    model::MutexLock lock(mutex_);
    summary_.Add(report);
    // What was only found before all was stopped has nothing to tell.
    if (!report.complete && report.chunks == 0 && report.damage.count == 0) return;
    Erase();
    Print(CheckStore(format_, report, is_first_));
    is_first_ = false;
  }

  void Progress(const Checker& checker) {
    const double seconds = Seconds();
    if (!terminal_ && seconds < next_line_) return;
    next_line_ = seconds + kPlainInterval;
    const std::string line = CheckProgress(checker.progress(), seconds);
    model::MutexLock lock(mutex_);
    Erase();
    Tell(terminal_ ? line : "ndlfs check: " + line + "\n");
    shown_ = terminal_;
  }

  // `errors` are of what could not be looked through. Where nothing else was,
  // there is nothing to sum up for people.
  void End(const std::vector<model::Error>& errors) {
    model::MutexLock lock(mutex_);
    Erase();
    for (const model::Error& error : errors) {
      Tell(fmt::format("ndlfs: {}\n", model::OneLine(error.message())));
    }
    summary_.seconds = Seconds();
    if (!errors.empty() && summary_.stores == 0 && format_ == CheckFormat::kText) return;
    if (!errors.empty() && format_ == CheckFormat::kJson) summary_.complete = false;
    Print(CheckEnd(format_, summary_));
  }

  const CheckSummary& summary() const { return summary_; }
  const model::Result<void>& printed() const { return printed_; }

 private:
  double Seconds() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  void Erase() {
    if (shown_) Tell("\r\x1b[K");
    shown_ = false;
  }

  // A terminal that is gone is no reason to stop.
  static void Tell(const std::string& text) { std::fputs(text.c_str(), stderr); }

  void Print(const std::string& text) {
    if (printed_) printed_ = WriteStandardOutput(backends::AsBytes(text));
  }

  const CheckFormat format_;
  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  const Clock::time_point begin_ = Clock::now();
  double next_line_ = terminal_ ? 0 : kPlainInterval;
  model::Mutex mutex_;  // of both streams
  bool is_first_ = true;
  bool shown_ = false;  // there is a line of progress
  CheckSummary summary_;
  model::Result<void> printed_;
};

// Passes over what comes before the store that --from names.
class Resume {
 public:
  explicit Resume(const std::string& from) : from_(from), found_(from.empty()) {}

  bool Passes(const FoundStore& store) {
    found_ = found_ || store.location == from_;
    return !found_;
  }
  bool found() const { return found_; }

 private:
  const std::string from_;
  bool found_;
};

int StatusOf(const CheckSummary& summary, const std::vector<model::Error>& errors,
             bool stopped) {
  const auto unreadable = std::count_if(errors.begin(), errors.end(), [](const auto& error) {
    return Judge(error) == Verdict::kUnreadable;
  });
  if (summary.damaged != 0 || unreadable != std::ssize(errors)) return kDamaged;
  if (stopped) return kInterrupted;
  if (summary.unreadable != 0 || unreadable != 0) return kUnreadable;
  return summary.not_checked != 0 ? kNotChecked : kSound;
}

model::Result<int> Check(const Arguments& arguments) {
  Output output(arguments.format == "json" ? CheckFormat::kJson : CheckFormat::kText);
  Checker checker(arguments.options, [&](const StoreReport& report) {
    output.Store(report);
    if (!output.printed()) checker.Stop();
  });
  const StopOnSignal stop(checker);
  std::vector<model::Error> errors;  // read once Run() has come back
  Resume resume(arguments.from);
  checker.Run(
      [&](const std::function<bool(FoundStore)>& add) {
        for (const std::string& source : arguments.sources) {
          const auto walked = WalkStores(
              source,
              [&](const FoundStore& store) { return resume.Passes(store) || add(store); },
              arguments.detection);
          if (!walked) errors.push_back(walked.error());
        }
      },
      [&] { output.Progress(checker); });
  if (!resume.found() && !checker.stopped() && errors.empty()) {
    errors.push_back(
        model::NotFound("--from: no store {}", model::Quote(arguments.from)).value());
  }
  output.End(errors);
  if (!output.printed()) return model::Propagate(output.printed().error());
  return StatusOf(output.summary(), errors, checker.stopped());
}

std::string CheckFormatName(const std::string& name) {
  static const std::vector<std::string_view> kNames = {"text", "json"};
  if (name == "text" || name == "json") return {};
  return fmt::format("{} is none of text, json{}", model::Quote(name),
                     DidYouMean(name, kNames));
}

// An option whose value `parse` reads into `value`, a part of what `owner` keeps.
template <typename Value>
CLI::Option* AddParsed(CLI::App& app, const std::string& name,
                       model::Result<Value> (*parse)(std::string_view), Value& value,
                       std::shared_ptr<Arguments> owner, const std::string& description) {
  const auto set = [name, parse, &value, owner = std::move(owner)](const std::string& text) {
    const auto parsed = parse(text);
    if (!parsed) throw CLI::ValidationError(name + ": " + parsed.error().message());
    value = *parsed;
  };
  return app.add_option_function<std::string>(name, set, description);
}

Command::Body PrepareCheck(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("SOURCE", arguments->sources,
                 "Stores, and directories that are looked through for stores")
      ->required()
      ->option_text("...");
  app.add_option("--format", arguments->format, "text (the default) or json")
      ->check(CheckFormatName)
      ->option_text("FORMAT");
  app.add_option("--from", arguments->from,
                 "Begin with this store: what an interrupted check says")
      ->option_text("STORE");
  AddParsed(app, "--detect", ParseDetection, arguments->detection, arguments,
            "Know stores by their content or only by their name (content)")
      ->option_text("HOW");
  AddParsed(app, "--threads", ParseThreads, arguments->options.threads, arguments,
            "Threads that decode (one for each core)")
      ->option_text("N");
  AddParsed(app, "--max-chunk-size", ParseSize, arguments->options.max_chunk_size, arguments,
            "Pass over arrays with larger chunks (1GiB)")
      ->option_text("SIZE");
  app.footer(
      "Exit status: 0 all is sound, 1 something is damaged, 3 something could not be read\n"
      "(no permission, a failing disk), 4 something was not checked (unknown codec).\n"
      "Ctrl-C stops and gives the summary so far.");
  return [arguments] { return Check(*arguments); };
}

}  // namespace

const Command kCheckCommand = {
    "check", "Read and decode all there is, and report what is damaged", PrepareCheck};

}  // namespace ndlfs::fs
