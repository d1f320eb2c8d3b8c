// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "backends/base/interrupted.h"
#include "backends/base/unique_fd.h"
#include "fs/cli/base/command.h"
#include "fs/cli/base/nearest.h"
#include "fs/cli/base/options.h"
#include "fs/cli/base/parsed_option.h"
#include "fs/cli/base/standard_output.h"
#include "fs/cli/store/check_report.h"
#include "fs/cli/store/checker.h"
#include "fs/cli/store/part_queue.h"
#include "fs/cli/store/progress.h"
#include "fs/cli/store/store_walk.h"
#include "fs/serve/open_source.h"
#include "fs/serve/source_check.h"
#include "fs/tree/xattr.h"
#include "fs/view/base/html_text.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

using backends::UniqueFd;
using model::Quote;
using model::Result;

namespace files = std::filesystem;

// Exit statuses. If several apply, the first one in this order counts.
constexpr int kDamaged = 1;  // or a SOURCE is no store
constexpr int kUnreadable = 3;
constexpr int kNotKept = 4;  // of `ndlfs warm --decoded`
constexpr int kNotChecked = 4;
constexpr int kSound = 0;

// One read. O_DIRECT wants aligned memory.
constexpr size_t kPiece = size_t{1} << 20;
constexpr size_t kAlignment = 4096;
// How often to look whether a file is kept by now, and how long the mount may take to begin.
constexpr std::chrono::milliseconds kLookEvery{20};
constexpr std::chrono::seconds kBeginsWithin{2};

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

// What the mount says about a file; empty if it says nothing.
std::string KeptState(int fd) {
  std::array<char, 32> text;
  const ssize_t size =
      ::fgetxattr(fd, std::string(kKeptName).c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<size_t>(size)) : "";
}

// Whether the mount that `path` is in keeps files.
Result<void> CheckMount(const std::string& path) {
  std::error_code error;
  files::path place = files::canonical(path, error);
  if (error) return model::BadInput("{}: {}", Quote(path), error.message());
  for (;; place = place.parent_path()) {
    std::ifstream file(place / ".ndlfs" / "config.yaml");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    constexpr std::string_view kOption = "\ndecoded-cache: ";
    const size_t found = text.find(kOption);
    if (found != text.npos) {
      if (text.substr(found + kOption.size(), 2) != "\"\"") return {};
      return model::BadInput(
          "{}: the mount at {} keeps no files; mount it with "
          "--decoded-cache DIR",
          Quote(path), Quote(place.string()));
    }
    if (place == place.root_path()) break;
  }
  return model::BadInput("{}: not in a mount of ndlfs", Quote(path));
}

class Warming {
 public:
  explicit Warming(unsigned threads) : queue_(threads) {}

  Result<int> Run(const std::vector<std::string>& paths) {
    const StopOnSignal stop(queue_);
    queue_.Run(
        [&] {
          for (const std::string& path : paths) Find(path);
          all_found_ = true;
        },
        [&] { ShowProgress(); });
    return End();
  }

  // Reads the file, and waits until it is kept.
  void Warm(const std::string& path, uint64_t size) {
    const UniqueFd file = Open(path);
    if (!file) return NoteFailure(path, errno);
    std::string state = KeptState(file.get());
    if (state.empty() || state == kKeptNot || state == kKeptSoon) {
      if (state.empty()) return Note(needless_, size);
      if (state == kKeptNot && !ReadAll(path, file.get())) return;
      state = AwaitKeeping(file.get());
      if (state == kKeptYes) return Note(kept_, 0);
      if (!queue_.stopped())
        Tell(path, "not kept; see FILES THAT NEED NO DECODING in ndlfs(1)");
      return Note(not_kept_, 0);
    }
    Note(state == kKeptYes ? kept_before_ : needless_, size);
  }

 private:
  class File final : public PartedWork {
   public:
    File(Warming& warming, std::string path, uint64_t size)
        : warming_(warming), path_(std::move(path)), size_(size) {}
    uint64_t part_count() const override { return 1; }
    uint64_t part_cost() const override { return size_ + 1; }
    uint64_t Run(uint64_t, uint64_t count, const std::atomic<bool>&) override {
      warming_.Warm(path_, size_);
      return count;
    }

   private:
    Warming& warming_;
    const std::string path_;
    const uint64_t size_;
  };

  // Reads past the kernel's pages: the mount keeps only what it is asked for.
  static UniqueFd Open(const std::string& path) {
    return UniqueFd(backends::Uninterrupted(
        [&] { return ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOFOLLOW); }));
  }

  void Find(const std::string& path) {
    struct ::stat status;
    if (::stat(path.c_str(), &status) != 0) return NoteFailure(path, errno);
    if (auto checked = CheckMount(path); !checked) {
      const model::MutexLock lock(mutex_);
      line_.Tell(checked.error().message());
      is_refused_ = true;
      return;
    }
    if (!S_ISDIR(status.st_mode)) return Add(files::canonical(path), status);
    std::error_code error;
    auto entry = files::recursive_directory_iterator(path, error);
    for (; !error && entry != files::recursive_directory_iterator() && !queue_.stopped();
         entry.increment(error)) {
      if (entry->path().filename() == ".ndlfs") {
        entry.disable_recursion_pending();
      } else if (::lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
        Add(entry->path(), status);
      }
    }
    if (error) NoteFailure(path, error.value());
  }
  void Add(const std::string& path, const struct ::stat& status) {
    const auto size = static_cast<uint64_t>(status.st_size);
    found_bytes_ += size;
    queue_.Add(std::make_shared<File>(*this, path, size));
  }

  bool ReadAll(const std::string& path, int fd) {
    const std::unique_ptr<void, FreeMemory> memory(std::aligned_alloc(kAlignment, kPiece));
    if (memory == nullptr) return NoteFailure(path, ENOMEM), false;
    for (off_t offset = 0; !queue_.stopped();) {
      const ssize_t count =
          backends::Uninterrupted([&] { return ::pread(fd, memory.get(), kPiece, offset); });
      if (count < 0) return NoteFailure(path, errno), false;
      if (count == 0) return true;
      offset += count;
      read_bytes_ += static_cast<uint64_t>(count);
      done_bytes_ += static_cast<uint64_t>(count);
    }
    return false;
  }

  std::string AwaitKeeping(int fd) const {
    const auto end = std::chrono::steady_clock::now() + kBeginsWithin;
    for (;;) {
      std::string state = KeptState(fd);
      const bool may_begin = state == kKeptNot && std::chrono::steady_clock::now() < end;
      if (queue_.stopped() || (state != kKeptSoon && !may_begin)) return state;
      std::this_thread::sleep_for(kLookEvery);
    }
  }

  void Note(std::atomic<uint64_t>& count, uint64_t bytes) {
    ++count;
    done_bytes_ += bytes;
  }
  void NoteFailure(const std::string& path, int error) {
    Tell(path, std::strerror(error));
    ++(error == EIO ? damaged_ : unreadable_);
  }
  void Tell(const std::string& path, std::string_view what) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    line_.Tell(fmt::format("{}: {}", path, what));
  }

  void ShowProgress() EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (!line_.IsDue()) return;
    line_.Show(FormatProgress({.done = static_cast<double>(done_bytes_),
                               .total = static_cast<double>(found_bytes_),
                               .all_found = all_found_},
                              fmt::format("{} files kept", kept_.load()), read_bytes_,
                              line_.Seconds()));
  }

  Result<int> End() EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    line_.Erase();
    std::string text = fmt::format("{} files kept, {} kept before, {} need no decoding",
                                   kept_.load(), kept_before_.load(), needless_.load());
    if (not_kept_ != 0) text += fmt::format(", {} not kept", not_kept_.load());
    if (damaged_ + unreadable_ != 0) {
      text += fmt::format(", {} could not be read", damaged_ + unreadable_);
    }
    text += fmt::format("; {} in {}\n", FormatBytes(static_cast<double>(read_bytes_)),
                        FormatDuration(line_.Seconds()));
    NDLFS_RETURN_IF_ERROR(WriteStandardOutput(backends::AsBytes(text)));
    if (damaged_ != 0 || is_refused_) return kDamaged;
    if (queue_.stopped()) return kInterruptedStatus;
    if (unreadable_ != 0) return kUnreadable;
    return not_kept_ != 0 ? kNotKept : 0;
  }

  PartQueue queue_;
  std::atomic<uint64_t> kept_ = 0, kept_before_ = 0, needless_ = 0, not_kept_ = 0;
  std::atomic<uint64_t> damaged_ = 0, unreadable_ = 0;
  std::atomic<uint64_t> found_bytes_ = 0, done_bytes_ = 0, read_bytes_ = 0;
  std::atomic<bool> all_found_ = false;
  model::Mutex mutex_;
  ProgressDisplay line_ GUARDED_BY(mutex_){"warm"};
  bool is_refused_ GUARDED_BY(mutex_) = false;
};

// `ndlfs warm --decoded`: reads files of mounts that have --decoded-cache to their end, so that
// the mounts keep them, and waits until they do. `paths` are files, or folders with files.
// `threads` files are read at a time; 0: one a core. Writes a summary to standard output;
// progress, and files that were not kept, to standard error. The value is the exit status.
Result<int> WarmDecoded(const std::vector<std::string>& paths, unsigned threads) {
  return Warming(threads).Run(paths);
}

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
