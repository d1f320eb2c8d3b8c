// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/detection.h"
#include "cache/spill_space.h"
#include "fs/cli/base/command.h"
#include "fs/cli/base/options.h"
#include "fs/cli/base/parsed_option.h"
#include "fs/cli/base/standard_output.h"
#include "fs/cli/store/differ.h"
#include "fs/cli/store/part_queue.h"
#include "fs/cli/store/progress.h"
#include "fs/cli/store/store_argument.h"
#include "fs/cli/store/store_walk.h"
#include "fs/serve/open_source.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using model::Result;

// Exit statuses, as those of diff(1).
constexpr int kEqual = 0;
constexpr int kDifferent = 1;
constexpr int kDiffTrouble = 2;

struct DiffArguments {
  std::string a;
  std::string b;
  std::string path;
  bool brief = false;
  bool no_attributes = false;
  std::string ref_b;
  Differ::Options options;
  MountOptions mount_options = {};  // those about URLs, and the spill space
};

// What is printed, and what it says in the end.
class DiffOutput {
 public:
  explicit DiffOutput(bool brief) : brief_(brief) {}

  // `a` and `b` are the names of the stores that are compared from now on.
  void SetStores(std::string a, std::string b) {
    names_ = fmt::format("{} | {}\n", model::OneLine(a), model::OneLine(b));
    a_ = std::move(a);
    b_ = std::move(b);
    has_title_ = false;
  }
  void Add(const ObjectDifferences& found) {
    model::MutexLock lock(mutex_);
    for (const std::string& problem : found.problems) {
      Trouble(fmt::format("{} | {}: {}: {}", a_, b_, found.path, problem));
    }
    if (found.lines.empty()) return;
    differs_ = true;
    if (brief_) return;
    std::string text = std::exchange(has_title_, true) ? "" : names_;
    text += model::OneLine(found.path);
    // One that is on one side only takes one line.
    if (found.lines.size() == 1 && found.lines[0].text.empty()) {
      Print(fmt::format("{}: {}\n", text, found.lines[0].label));
      return;
    }
    text += '\n';
    for (const auto& line : found.lines)
      text += fmt::format("  {:<12}{}\n", line.label, line.text);
    Print(text);
  }
  void AddStore(const std::string& name, std::string_view where) {
    differs_ = true;
    if (!brief_) Print(fmt::format("{}: {}\n", model::OneLine(name), where));
  }
  void Trouble(std::string_view text) {
    has_trouble_ = true;
    display_.Tell(text);
  }
  void ShowProgress(Differ& differ) {
    model::MutexLock lock(mutex_);
    if (!display_.IsDue()) return;
    const auto progress = differ.progress();
    display_.Show(FormatProgress(
        differ.queue().progress(), fmt::format("{} objects", progress.objects), progress.bytes,
        display_.Seconds(),
        progress.differing == 0 ? "" : fmt::format("{} differ", progress.differing)));
  }
  void End(const DiffArguments& arguments, uint64_t objects, uint64_t differing) {
    display_.Erase();
    if (brief_ && differs_) {
      Print(fmt::format("{} and {} differ\n", model::OneLine(arguments.a),
                        model::OneLine(arguments.b)));
    } else if (differs_ && differing != 0) {
      Print(fmt::format("{} of {} objects differ\n", differing, objects));
    }
  }

  bool differs() const { return differs_; }
  bool has_trouble() const { return has_trouble_; }
  const Result<void>& printed() const { return printed_; }

 private:
  void Print(const std::string& text) {
    display_.Erase();
    if (printed_) printed_ = WriteStandardOutput(backends::AsBytes(text));
  }

  const bool brief_;
  std::string a_;
  std::string b_;
  std::string names_;
  bool has_title_ = false;
  model::Mutex mutex_;  // guards both streams
  ProgressDisplay display_{"diff"};
  bool differs_ = false;
  bool has_trouble_ = false;
  Result<void> printed_;
};

// The stores that are compared, and the sums over them.
class DiffRun {
 public:
  DiffRun(const DiffArguments& arguments, DiffOutput& output)
      : arguments_(arguments),
        output_(output),
        spill_(arguments.mount_options.cache_dir, arguments.mount_options.cache_dir_size),
        cache_(kReadCacheSize, &spill_) {}

  // False if nothing more has to be compared.
  bool Compare(const OpenedStore& a, const OpenedStore& b) {
    output_.SetStores(a.where, b.where);
    Differ::Options options = arguments_.options;
    options.compares_attributes = !arguments_.no_attributes;
    options.stops_at_first = arguments_.brief;
    PartQueue* queue = nullptr;
    Differ differ(cache_, options, [&](const ObjectDifferences& found) {
      output_.Add(found);
      if (!output_.printed() && queue != nullptr) queue->Stop();
    });
    queue = &differ.queue();
    const StopOnSignal stop(differ.queue());
    differ.Run(a, b, [&] { output_.ShowProgress(differ); });
    objects_ += differ.progress().objects;
    differing_ += differ.progress().differing;
    const bool is_enough = arguments_.brief && output_.differs();
    interrupted_ = differ.queue().stopped() && !is_enough && output_.printed();
    return !differ.queue().stopped() && !is_enough;
  }

  bool interrupted() const { return interrupted_; }
  uint64_t objects() const { return objects_; }
  uint64_t differing() const { return differing_; }

 private:
  const DiffArguments& arguments_;
  DiffOutput& output_;
  cache::SpillSpace spill_;
  cache::ChunkCache cache_;
  bool interrupted_ = false;
  uint64_t objects_ = 0;
  uint64_t differing_ = 0;
};

RemoteAccess AccessOf(const DiffArguments& arguments, bool is_first) {
  RemoteAccess access = arguments.mount_options.remote;
  if (!is_first && !arguments.ref_b.empty()) access.ref = arguments.ref_b;
  return access;
}

Result<OpenedStore> OpenSide(const DiffArguments& arguments, bool is_first) {
  return OpenStore(is_first ? arguments.a : arguments.b, AccessOf(arguments, is_first));
}

bool IsArray(const OpenedStore& store) {
  const auto node = store.hierarchy->Load(store.object);
  return node && !(*node)->is_group();
}

// An array that is a whole store is compared with the only array of the other store.
Result<void> FindOnlyArray(const OpenedStore& other, OpenedStore& store) {
  if (!IsArray(other) || IsArray(store)) return {};
  const auto only = OnlyArrayOf(store);
  if (!only) {
    return model::BadInput("{} is an array, and {} is not; PATH may name one: {}", other.where,
                           store.where, ArraysOf(store));
  }
  store.object = NormalizePathName(store.object + "/" + *only);
  return {};
}

// If `store` does not have the object at PATH but `other` does, and `store` is a single array:
// chooses that array.
void UseSingleArray(const OpenedStore& other, OpenedStore& store) {
  OpenedStore top = store;
  top.object = "/";
  const bool is_there = store.hierarchy->Load(store.object).has_value();
  const bool is_in_other = other.hierarchy->Load(other.object).has_value();
  if (!is_there && is_in_other && IsArray(top)) store = std::move(top);
}

Result<void> CompareStores(const DiffArguments& arguments, const OpenedStore& named_a,
                           const OpenedStore& named_b, DiffRun& run) {
  NDLFS_TRY(OpenedStore a, FollowLinks(named_a, arguments.path));
  NDLFS_TRY(OpenedStore b, FollowLinks(named_b, arguments.path));
  a.where = named_a.where;
  b.where = named_b.where;
  if (!arguments.path.empty()) {
    UseSingleArray(b, a);
    UseSingleArray(a, b);
  }
  for (const OpenedStore* store : {&a, &b}) {
    const auto node = store->hierarchy->Load(store->object);
    if (!node && node.error().code() == model::ErrorCode::kNotFound) {
      return model::Propagate(WithNearestName(node.error(), *store), store->where);
    }
  }
  NDLFS_RETURN_IF_ERROR(FindOnlyArray(a, b));
  NDLFS_RETURN_IF_ERROR(FindOnlyArray(b, a));
  run.Compare(a, b);
  return {};
}

using FoundStores = std::map<std::string, FoundStore>;

// The stores below a directory, by their paths in it.
Result<FoundStores> FindStores(const std::string& directory, const RemoteAccess& access,
                               DiffOutput& output) {
  std::string prefix = IsUrl(directory) ? ShownUrl(directory) : directory;
  while (prefix.size() > 1 && prefix.ends_with('/')) prefix.pop_back();
  FoundStores stores;
  NDLFS_RETURN_IF_ERROR(WalkStores(
      directory,
      [&](const FoundStore& found) {
        if (found.error) output.Trouble(found.location + ": " + found.error->message());
        const size_t begin = std::min(prefix.size() + 1, found.location.size());
        if (found.format != nullptr) stores.emplace(found.location.substr(begin), found);
        return true;
      },
      backends::Detection::kContent, access));
  return stores;
}

std::string WithoutExtension(const std::string& path) {
  const size_t dot = path.rfind('.');
  const size_t slash = path.rfind('/');
  const bool has_extension = dot != path.npos && (slash == path.npos || dot > slash + 1);
  return has_extension ? path.substr(0, dot) : path;
}

// One of them is null for a store that only one directory has.
struct StorePair {
  const FoundStore* a = nullptr;
  const FoundStore* b = nullptr;
};

// Stores with the same path; and of the others those that are, in each of the directories, the
// only one of their name without extension.
std::vector<StorePair> PairStores(const FoundStores& a, const FoundStores& b) {
  std::map<std::string,
           std::pair<std::vector<const FoundStore*>, std::vector<const FoundStore*>>>
      others;
  std::map<std::string, StorePair> pairs;
  for (const auto& [path, found] : a) {
    const auto same = b.find(path);
    if (same != b.end()) pairs[path] = {&found, &same->second};
    if (same == b.end()) others[WithoutExtension(path)].first.push_back(&found);
  }
  for (const auto& [path, found] : b) {
    if (!a.contains(path)) others[WithoutExtension(path)].second.push_back(&found);
  }
  for (const auto& [stem, found] : others) {
    const auto& [of_a, of_b] = found;
    if (of_a.size() == 1 && of_b.size() == 1) {
      pairs[stem] = {of_a[0], of_b[0]};
      continue;
    }
    for (const FoundStore* store : of_a) pairs["1 " + store->location] = {store, nullptr};
    for (const FoundStore* store : of_b) pairs["2 " + store->location] = {nullptr, store};
  }
  std::vector<StorePair> sorted;
  for (const auto& [name, pair] : pairs) sorted.push_back(pair);
  return sorted;
}

Result<void> CompareDirectories(const DiffArguments& arguments, DiffOutput& output,
                                DiffRun& run) {
  NDLFS_TRY(const FoundStores a, FindStores(arguments.a, AccessOf(arguments, true), output));
  NDLFS_TRY(const FoundStores b, FindStores(arguments.b, AccessOf(arguments, false), output));
  if (a.empty() && b.empty()) {
    return model::BadInput("no array store in {} and {}", arguments.a, arguments.b);
  }
  const auto open = [&](const FoundStore& found, bool is_first) -> std::optional<OpenedStore> {
    auto store = OpenStore(found.location, AccessOf(arguments, is_first));
    if (store) return *std::move(store);
    output.Trouble(store.error().message());
    return std::nullopt;
  };
  for (const StorePair& pair : PairStores(a, b)) {
    if (arguments.brief && output.differs()) return {};
    if (pair.a == nullptr || pair.b == nullptr) {
      output.AddStore((pair.a ? pair.a : pair.b)->location,
                      pair.a ? "only in the first" : "only in the second");
      continue;
    }
    const auto store_a = open(*pair.a, true);
    const auto store_b = open(*pair.b, false);
    if (store_a && store_b && !run.Compare(*store_a, *store_b)) return {};
  }
  return {};
}

Result<int> RunDiff(const DiffArguments& arguments, DiffOutput& output) {
  DiffRun run(arguments, output);
  const auto a = OpenSide(arguments, true);
  const auto b = OpenSide(arguments, false);
  const auto is_no_store = [](const Result<OpenedStore>& opened) {
    return !opened && opened.error().code() == model::ErrorCode::kUnsupported;
  };
  if (is_no_store(a) && is_no_store(b) && arguments.path.empty()) {
    NDLFS_RETURN_IF_ERROR(CompareDirectories(arguments, output, run));
  } else {
    if (!a) return model::Propagate(a.error());
    if (!b) return model::Propagate(b.error());
    NDLFS_RETURN_IF_ERROR(CompareStores(arguments, *a, *b, run));
  }
  output.End(arguments, run.objects(), run.differing());
  NDLFS_RETURN_IF_ERROR(output.printed());
  if (run.interrupted()) return kInterruptedStatus;
  if (output.has_trouble()) return kDiffTrouble;
  return output.differs() ? kDifferent : kEqual;
}

int Diff(const DiffArguments& arguments) {
  DiffOutput output(arguments.brief);
  const auto status = RunDiff(arguments, output);
  if (status) return *status;
  // The reader of the pipe has closed it, which needs no message.
  if (status.error().reason() != model::SystemReason::kClosedPipe)
    output.Trouble(status.error().message());
  return kDiffTrouble;
}

Result<double> ParseTolerance(std::string_view text) {
  const auto number = model::ParseNumber<double>(text);
  if (!number || !(*number >= 0) || !std::isfinite(*number)) {
    return model::BadInput("{} is not a number of at least 0, such as 1e-6",
                           model::Quote(text));
  }
  return *number;
}

Command::Body PrepareDiff(CLI::App& app) {
  const auto arguments = std::make_shared<DiffArguments>();
  Tolerance& tolerance = arguments->options.tolerance;
  app.add_option("A", arguments->a,
                 "A store, a folder in a mount, a directory of stores, or a URL")
      ->required()
      ->option_text(" ");
  app.add_option("B", arguments->b, "What to compare it with")->required()->option_text(" ");
  app.add_option("PATH", arguments->path, "Array or group in both stores (all)")
      ->option_text(" ");
  app.add_flag("-q,--brief", arguments->brief,
               "Only tell whether they differ; stop at the first");
  AddParsed(app, "--rtol", ParseTolerance, tolerance.relative, arguments,
            "Numbers may differ by this part of the second one (0)")
      ->option_text("R");
  AddParsed(app, "--atol", ParseTolerance, tolerance.absolute, arguments,
            "And by this much in addition (0)")
      ->option_text("A");
  app.add_flag("--nan-differs", tolerance.nan_differs, "A NaN is not equal to a NaN");
  app.add_flag("--bits", tolerance.by_bits, "Compare numbers of one type by their bits")
      ->excludes("--rtol")
      ->excludes("--atol")
      ->excludes("--nan-differs");
  app.add_flag("--no-attributes", arguments->no_attributes, "Do not compare attributes");
  AddParsed(app, "--threads", ParseThreads, arguments->options.threads, arguments,
            "Threads that decode and compare (one per core)")
      ->option_text("N");
  app.add_option("--ref-b", arguments->ref_b, "Version of B, as --ref (that of A)")
      ->option_text("REF");
  AddRemoteOptions(app, arguments->mount_options);
  app.footer(
      "Numbers are equal if |a - b| <= atol + rtol * |b|. A NaN is equal to a NaN, and -0.0 "
      "to\n"
      "0.0. Values are also compared if the types of numbers differ.\n"
      "Exit status: 0 if A and B are equal, 1 if they differ, 2 if something cannot be read.");
  return [arguments]() -> Result<int> { return Diff(*arguments); };
}

}  // namespace

const Command kDiffCommand = {"diff", "Tell what differs between two stores", PrepareDiff};

}  // namespace ndlfs::fs
