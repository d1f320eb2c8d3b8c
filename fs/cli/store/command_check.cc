// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/cli/base/command.h"
#include "fs/cli/base/mount_arguments.h"
#include "fs/cli/base/nearest.h"
#include "fs/cli/base/options.h"
#include "fs/cli/base/parsed_option.h"
#include "fs/cli/base/standard_output.h"
#include "fs/cli/store/check_report.h"
#include "fs/cli/store/checker.h"
#include "fs/cli/store/progress.h"
#include "fs/cli/store/store_walk.h"
#include "fs/cli/store/warm_decoded.h"
#include "fs/serve/open_source.h"
#include "fs/serve/source_check.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

// Exit statuses. If several apply, the first one in this order counts.
constexpr int kDamaged = 1;  // or a SOURCE is no store
constexpr int kUnreadable = 3;
constexpr int kNotChecked = 4;
constexpr int kSound = 0;

// Threads that read while `warm` waits for a server.
constexpr unsigned kWarmThreads = 32;

struct CheckArguments {
  std::string_view command = "check";
  std::vector<std::string> sources;
  std::string format = "text";
  std::string from;
  backends::Detection detection = backends::Detection::kContent;
  Checker::Options options;
  MountOptions mount_options = {};  // those about URLs
  bool is_decoded = false;          // `warm` reads files of a mount
};

// Writes results to standard output and progress to standard error.
class Output {
 public:
  Output(std::string_view command, CheckFormat format) : format_(format), line_(command) {
    Print(CheckBegin(format));
  }

  void Store(const StoreReport& report) {
    model::MutexLock lock(mutex_);
    summary_.Add(report);
    // A store that was found but not read when the check stopped has no results.
    if (!report.complete && report.chunks == 0 && report.damage.count == 0) return;
    line_.Erase();
    Print(CheckStore(format_, report, is_first_));
    is_first_ = false;
  }

  void Progress(const Checker& checker) {
    model::MutexLock lock(mutex_);
    if (line_.IsDue()) line_.Show(CheckProgress(checker.progress(), line_.Seconds()));
  }

  // `errors` are those of sources that could not be searched. If there are only such
  // errors, the text format has no summary.
  void End(const std::vector<model::Error>& errors) {
    model::MutexLock lock(mutex_);
    line_.Erase();
    for (const model::Error& error : errors) line_.Tell(error.message());
    summary_.seconds = line_.Seconds();
    if (!errors.empty() && summary_.stores == 0 && format_ == CheckFormat::kText) return;
    if (!errors.empty() && format_ == CheckFormat::kJson) summary_.complete = false;
    Print(CheckEnd(format_, summary_));
  }

  void Warn(const std::string& text) { line_.Tell(text); }

  const CheckSummary& summary() const { return summary_; }
  const model::Result<void>& printed() const { return printed_; }

 private:
  void Print(const std::string& text) {
    if (printed_) printed_ = WriteStandardOutput(backends::AsBytes(text));
  }

  const CheckFormat format_;
  model::Mutex mutex_;  // guards both streams
  ProgressDisplay line_;
  bool is_first_ = true;
  CheckSummary summary_;
  model::Result<void> printed_;
};

// Skips the stores before the one that --from names.
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
  if (stopped) return kInterruptedStatus;
  if (summary.unreadable != 0 || unreadable != 0) return kUnreadable;
  return summary.not_checked != 0 || summary.stores == 0 ? kNotChecked : kSound;
}

model::Result<int> Check(const CheckArguments& arguments) {
  Output output(arguments.command,
                arguments.format == "json" ? CheckFormat::kJson : CheckFormat::kText);
  Checker::Options options = arguments.options;
  options.ref = arguments.mount_options.remote.ref;
  Checker checker(options, [&](const StoreReport& report) {
    output.Store(report);
    if (!output.printed()) checker.queue().Stop();
  });
  const StopOnSignal stop(checker.queue());
  std::vector<model::Error> errors;  // complete when Run() has returned
  Resume resume(arguments.from);
  checker.Run(
      [&](const std::function<bool(FoundStore)>& add) {
        for (const std::string& source : arguments.sources) {
          const auto walked = WalkStores(
              source,
              [&](const FoundStore& store) { return resume.Passes(store) || add(store); },
              arguments.detection, arguments.mount_options.remote);
          if (!walked) errors.push_back(walked.error());
        }
      },
      [&] { output.Progress(checker); });
  if (!resume.found() && !checker.stopped() && errors.empty()) {
    errors.push_back(
        model::NotFound("--from: no store {}", model::Quote(arguments.from)).value());
  }
  output.End(errors);
  if (errors.empty() && output.summary().stores == 0 && !checker.stopped()) {
    output.Warn(fmt::format("no array store in {}, so that nothing was checked",
                            fmt::join(arguments.sources, ", ")));
  }
  if (!output.printed()) return model::Propagate(output.printed().error());
  return StatusOf(output.summary(), errors, checker.stopped());
}

std::string CheckFormatName(const std::string& name) {
  static const std::vector<std::string_view> kNames = {"text", "json"};
  if (name == "text" || name == "json") return {};
  return fmt::format("{} is not one of text, json{}", model::Quote(name),
                     DidYouMean(name, kNames));
}

Command::Body PrepareCheck(CLI::App& app) {
  const auto arguments = std::make_shared<CheckArguments>();
  app.add_option("SOURCE", arguments->sources,
                 "Stores, or directories to search for stores; or URLs")
      ->required()
      ->option_text("...");
  app.add_option("--format", arguments->format, "text (the default) or json")
      ->check(CheckFormatName)
      ->option_text("FORMAT");
  app.add_option("--from", arguments->from,
                 "Resume at this store, as named by an interrupted check")
      ->option_text("STORE");
  AddParsed(app, "--detect", ParseDetection, arguments->detection, arguments,
            "Recognize stores by content or only by name (content)")
      ->option_text("HOW");
  AddParsed(app, "--threads", ParseThreads, arguments->options.threads, arguments,
            "Threads that decode (one per core)")
      ->option_text("N");
  AddParsed(app, "--max-chunk-size", ParseSize, arguments->options.max_chunk_size, arguments,
            "Skip arrays with larger decoded chunks (1GiB)")
      ->option_text("SIZE");
  AddRemoteOptions(app, arguments->mount_options);
  app.footer(
      "Exit status: 0 everything is sound, 1 something is damaged, 3 something could not be\n"
      "read (no permission, a failing disk), 4 something was not checked (unknown codec), or\n"
      "there is no store.\n"
      "Ctrl-C stops and prints the summary so far.");
  return [arguments] { return Check(*arguments); };
}

// Reads all that a mount may need through the block cache, which keeps it.
model::Result<int> Warm(const CheckArguments& arguments) {
  if (arguments.is_decoded) return WarmDecoded(arguments.sources, arguments.options.threads);
  const RemoteAccess& access = arguments.mount_options.remote;
  for (const std::string& source : arguments.sources) {
    std::error_code ignored;
    if (IsUrl(source) || !std::filesystem::is_directory(source, ignored)) continue;
    NDLFS_RETURN_IF_ERROR(CheckOutside("--block-cache", access.block_cache, source));
  }
  NDLFS_RETURN_IF_ERROR(CheckBlockCache(access));
  return Check(arguments);
}

void CompleteWarm(CheckArguments& arguments) {
  if (arguments.is_decoded) return;
  if (arguments.mount_options.remote.block_cache.empty()) {
    throw CLI::ValidationError(
        "--block-cache DIR or --decoded is required: see ndlfs warm --help");
  }
  if (arguments.options.threads == 0) arguments.options.threads = kWarmThreads;
}

Command::Body PrepareWarm(CLI::App& app) {
  const auto arguments = std::make_shared<CheckArguments>();
  arguments->command = "warm";
  app.add_option("PATH", arguments->sources,
                 "Stores, or directories to search for stores, or URLs; with --decoded, files "
                 "and folders in a mount")
      ->required()
      ->option_text("...");
  AddParsed(app, "--threads", ParseThreads, arguments->options.threads, arguments,
            "Threads that read and decode (32; with --decoded one per core)")
      ->option_text("N");
  AddRemoteOptions(app, arguments->mount_options);
  app.add_flag("--decoded", arguments->is_decoded,
               "Read files of a mount, so that its --decoded-cache keeps them")
      ->excludes("--block-cache");
  app.final_callback([arguments] { CompleteWarm(*arguments); });
  app.footer(
      "Reads and decodes every chunk, and reports damage as `ndlfs check` does, with its exit\n"
      "status. A mount with the same --block-cache then finds the blocks there. With "
      "--decoded,\n"
      "status 4 tells that a file was not kept.");
  return [arguments] { return Warm(*arguments); };
}

}  // namespace

model::Result<int> CheckSources(std::vector<std::string> sources) {
  CheckArguments arguments;
  arguments.sources = std::move(sources);
  return Check(arguments);
}

const Command kCheckCommand = {"check", "Read and decode every chunk, and report damage",
                               PrepareCheck};

const Command kWarmCommand = {"warm", "Bring what a mount will need into its caches",
                              PrepareWarm};

}  // namespace ndlfs::fs
