// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/hierarchy.h"
#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "cache/spill_space.h"
#include "fs/cli/base/command.h"
#include "fs/cli/base/options.h"
#include "fs/cli/base/parsed_option.h"
#include "fs/cli/base/standard_output.h"
#include "fs/cli/store/manifest.h"
#include "fs/cli/store/part_queue.h"
#include "fs/cli/store/progress.h"
#include "fs/cli/store/store_argument.h"
#include "fs/compare/array_digest.h"
#include "fs/compare/object_digest.h"
#include "fs/serve/open_source.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;

// Computes the digests of all objects of a store, on several threads, for `ndlfs digest`.

// A digest of an object. If it could not be computed, its text is empty.
struct ObjectDigest {
  enum class Kind : uint8_t { kElements, kGroup, kAttributes };
  Kind kind = Kind::kElements;
  std::string path;    // NDL path name of the object
  std::string digest;  // 64 hexadecimal digits

  // The name in a manifest: the path or, for attributes, "/t2m//attributes".
  std::string Name() const;
};

// For one run. Thread-safe, except for Run().
class Digester {
 public:
  // `cache` must outlive the object. 0 threads: one a core.
  Digester(cache::ChunkCache& cache, unsigned threads);
  ~Digester();

  // The digests of the object at `path` and of all objects below it, in the order of the tree.
  // Calls `tick` ten times a second meanwhile. An error if there is no such object.
  model::Result<std::vector<ObjectDigest>> Run(const backends::Hierarchy& hierarchy,
                                               const std::string& path,
                                               const std::function<void()>& tick)
      EXCLUDES(mutex_);
  // Why digests are missing, after Run(): "/t2m: chunk 0.0: ...".
  std::vector<model::Error> problems() const EXCLUDES(mutex_);

  PartQueue& queue() { return queue_; }
  struct Progress {
    uint64_t arrays = 0;  // found so far
    uint64_t failed = 0;
    uint64_t bytes = 0;
  };
  Progress progress() const EXCLUDES(mutex_);

 private:
  struct Object;
  class Array;

  // Finds what is at `object.path` and below it.
  void Find(const backends::Hierarchy& hierarchy, Object& object, int depth);
  void FindMembers(const backends::Hierarchy& hierarchy, Object& object, int depth);
  void AddArray(Object& object, const backends::Node& node);
  void Fail(Object& object, const model::Error& error) EXCLUDES(mutex_);
  void Count(uint64_t bytes) EXCLUDES(mutex_);

  cache::ChunkCache& cache_;
  PartQueue queue_;
  mutable model::Mutex mutex_;
  Progress progress_ GUARDED_BY(mutex_);
  std::vector<model::Error> problems_ GUARDED_BY(mutex_);
};

constexpr size_t kMostProblems = 1000;
constexpr std::string_view kAttributesName = "//attributes";

std::string ObjectDigest::Name() const {
  if (kind != Kind::kAttributes) return path;
  return (path == "/" ? "" : path) + std::string(kAttributesName);
}

struct Digester::Object {
  std::string path;
  DigestedMember member = {};  // its digests, once `is_complete`
  bool has_attributes = false;
  bool is_complete = false;
  std::deque<Object> members = {};  // of a group; those that were added stay where they are

  // Completes groups, members first, and appends all digests. `is_complete` of arrays is set.
  void Collect(std::vector<ObjectDigest>& out);
};

void Digester::Object::Collect(std::vector<ObjectDigest>& out) {
  if (member.kind == DigestedMember::Kind::kLink) return;
  const bool is_group = member.kind == DigestedMember::Kind::kGroup;
  const size_t place = out.size();
  out.push_back(
      {is_group ? ObjectDigest::Kind::kGroup : ObjectDigest::Kind::kElements, path, ""});
  out.push_back(
      {ObjectDigest::Kind::kAttributes, path, has_attributes ? HexOf(member.attributes) : ""});
  std::vector<DigestedMember> digests;
  for (Object& object : members) {
    object.Collect(out);
    is_complete = is_complete && object.is_complete;
    digests.push_back(std::move(object.member));
  }
  if (!is_complete) return;
  if (is_group) member.digest = DigestOfGroup(member.attributes, std::move(digests));
  out[place].digest = HexOf(member.digest);
}

// The blocks of one array.
class Digester::Array final : public PartedWork {
 public:
  Array(Digester& digester, Object& object, std::shared_ptr<ArrayDigest> digest)
      : digester_(digester), object_(object), digest_(std::move(digest)) {}

  uint64_t part_count() const override { return digest_->block_count(); }
  uint64_t part_cost() const override { return digest_->block_cost(); }
  uint64_t Run(uint64_t first, uint64_t count, const std::atomic<bool>& stopping) override {
    uint64_t done = 0;
    for (; done < count && !stopping; ++done) {
      if (failed_) return count;  // one error is enough
      const auto bytes = Guarded([&] { return digest_->Run(first + done); });
      if (bytes) {
        digester_.Count(*bytes);
      } else if (!failed_.exchange(true)) {
        digester_.Fail(object_, bytes.error());
      }
    }
    return done;
  }
  bool has_enough() const override { return failed_; }
  void Finish() override {
    if (failed_) return;
    object_.member.digest = digest_->Finish();
    object_.is_complete = true;
  }

 private:
  Digester& digester_;
  Object& object_;
  const std::shared_ptr<ArrayDigest> digest_;
  std::atomic<bool> failed_{false};
};

Digester::Digester(cache::ChunkCache& cache, unsigned threads)
    : cache_(cache), queue_(threads) {}

Digester::~Digester() = default;

Result<std::vector<ObjectDigest>> Digester::Run(const backends::Hierarchy& hierarchy,
                                                const std::string& path,
                                                const std::function<void()>& tick) {
  NDLFS_RETURN_IF_ERROR(hierarchy.Load(path));
  Object top{path};
  queue_.Run([&] { Find(hierarchy, top, 0); }, tick);
  std::vector<ObjectDigest> digests;
  top.Collect(digests);
  return digests;
}

void Digester::Find(const backends::Hierarchy& hierarchy, Object& object, int depth) {
  if (queue_.stopped()) return;
  const auto found = Guarded([&]() -> Result<void> {
    NDLFS_TRY(const auto node, hierarchy.Load(object.path));
    object.member.kind =
        node->is_group() ? DigestedMember::Kind::kGroup : DigestedMember::Kind::kArray;
    if (node->error) return model::Propagate(*node->error);
    object.member.attributes = DigestOfAttributes(*node);
    object.has_attributes = true;
    if (!node->is_group()) AddArray(object, *node);
    return {};
  });
  if (!found) return Fail(object, found.error());
  if (object.member.kind == DigestedMember::Kind::kGroup) FindMembers(hierarchy, object, depth);
}

void Digester::FindMembers(const backends::Hierarchy& hierarchy, Object& object, int depth) {
  if (depth >= kMaxGroupDepth) {
    return Fail(object, model::Error(model::ErrorCode::kLimit, "groups nest too deep"));
  }
  const auto names = Guarded([&] { return hierarchy.List(object.path); });
  if (!names) return Fail(object, names.error());
  object.is_complete = true;
  for (const std::string& name : *names) {
    Object& child = object.members.emplace_back();
    child.path = model::JoinPath(object.path, name);
    child.member.name = name;
    if (const auto link = hierarchy.GetLink(child.path)) {
      child.member.kind = DigestedMember::Kind::kLink;
      child.member.target = link->target;
      child.is_complete = true;
    } else {
      Find(hierarchy, child, depth + 1);
    }
  }
}

void Digester::AddArray(Object& object, const backends::Node& node) {
  {
    model::MutexLock lock(mutex_);
    ++progress_.arrays;
  }
  if (!node.source) return Fail(object, model::NotFound("it has no data").value());
  const auto reader = std::make_shared<const cache::ArrayReader>(node.source, cache_);
  auto digest = ArrayDigest::Make(reader);
  if (!digest) return Fail(object, digest.error());
  const auto array = std::make_shared<Array>(*this, object, *std::move(digest));
  if (array->part_count() == 0) {
    array->Finish();
  } else {
    queue_.Add(array);
  }
}

void Digester::Fail(Object& object, const model::Error& error) {
  model::MutexLock lock(mutex_);
  ++progress_.failed;
  if (problems_.size() == kMostProblems) return;
  problems_.push_back(model::Error(error).In(object.path));
}

void Digester::Count(uint64_t bytes) {
  model::MutexLock lock(mutex_);
  progress_.bytes += bytes;
}

std::vector<model::Error> Digester::problems() const {
  model::MutexLock lock(mutex_);
  return problems_;
}

Digester::Progress Digester::progress() const {
  model::MutexLock lock(mutex_);
  return progress_;
}

// Exit statuses.
constexpr int kAsInManifest = 0;
constexpr int kManifestDiffers = 1;
constexpr int kDigestTrouble = 2;

constexpr std::string_view kManifestExtension = ".ndl-digest";

struct DigestArguments {
  std::string store;
  std::string path;
  std::string manifest;
  bool writes = false;
  bool checks = false;
  unsigned threads = 0;
  MountOptions mount_options = {};  // those about URLs, and the spill space
};

std::string ManifestOf(const DigestArguments& arguments) {
  if (!arguments.manifest.empty()) return arguments.manifest;
  std::string store = arguments.store;
  while (store.size() > 1 && store.ends_with('/')) store.pop_back();
  return store + std::string(kManifestExtension);
}

Result<void> PrintText(const std::string& text) {
  return WriteStandardOutput(backends::AsBytes(text));
}

std::vector<ManifestLine> LinesOf(const std::vector<ObjectDigest>& digests) {
  std::vector<ManifestLine> lines;
  for (const ObjectDigest& digest : digests) {
    if (!digest.digest.empty()) lines.push_back({digest.Name(), digest.digest});
  }
  return lines;
}

std::string_view WhatDiffers(ObjectDigest::Kind kind) {
  switch (kind) {
    case ObjectDigest::Kind::kElements:
      return "type, shape or values differ";
    case ObjectDigest::Kind::kAttributes:
      return "attributes or names of dimensions differ";
    case ObjectDigest::Kind::kGroup:
      break;
  }
  return "members differ";
}

// Compares the digests of a store with its manifest.
class ManifestCheck {
 public:
  explicit ManifestCheck(const std::vector<ManifestLine>& manifest) {
    for (const ManifestLine& line : manifest) noted_[line.name] = line.digest;
  }

  // One line for each difference. `top` is the object that was asked for.
  std::vector<std::string> Run(const std::vector<ObjectDigest>& digests,
                               const std::string& top) {
    // The differences of groups last: they follow from others.
    for (const ObjectDigest& digest : digests) {
      if (digest.kind != ObjectDigest::Kind::kGroup) Compare(digest);
    }
    const bool is_explained = !lines_.empty() || HasLeft(digests, top);
    for (const ObjectDigest& digest : digests) {
      if (digest.kind == ObjectDigest::Kind::kGroup) CompareGroup(digest, is_explained);
    }
    for (const auto& [name, digest] : noted_) {
      if (IsBelow(name, top) && !IsAttributes(name)) Add(name, "only in the manifest");
    }
    return std::move(lines_);
  }

 private:
  static bool IsAttributes(std::string_view name) { return name.ends_with("//attributes"); }
  static bool IsBelow(std::string_view name, std::string_view top) {
    return top == "/" || name == top || name.starts_with(std::string(top) + "/");
  }

  void Add(const std::string& path, std::string_view what) {
    lines_.push_back(fmt::format("{}: {}\n", model::OneLine(path), what));
  }
  void Compare(const ObjectDigest& digest) {
    const auto noted = noted_.find(digest.Name());
    const bool is_noted = noted != noted_.end();
    const bool is_equal = is_noted && noted->second == digest.digest;
    if (is_noted) noted_.erase(noted);
    if (digest.digest.empty() || is_equal) return;  // an error was printed, or nothing is wrong
    if (is_noted) {
      Add(digest.path, WhatDiffers(digest.kind));
    } else if (digest.kind != ObjectDigest::Kind::kAttributes) {
      Add(digest.path, "not in the manifest");
    }
  }
  void CompareGroup(const ObjectDigest& digest, bool is_explained) {
    const auto noted = noted_.find(digest.Name());
    if (is_explained && noted != noted_.end()) {
      noted_.erase(noted);
    } else {
      Compare(digest);
    }
  }
  // Whether the manifest has objects that the store does not have.
  bool HasLeft(const std::vector<ObjectDigest>& digests, const std::string& top) const {
    size_t left = 0;
    for (const auto& [name, digest] : noted_) left += IsBelow(name, top);
    for (const ObjectDigest& digest : digests) {
      if (digest.kind == ObjectDigest::Kind::kGroup) left -= noted_.count(digest.Name());
    }
    return left != 0;
  }

  std::map<std::string, std::string> noted_;  // those of the manifest that were not found yet
  std::vector<std::string> lines_;
};

Result<int> CheckManifest(const DigestArguments& arguments, const OpenedStore& store,
                          const std::vector<ManifestLine>& manifest,
                          const std::vector<ObjectDigest>& digests) {
  const auto lines = ManifestCheck(manifest).Run(digests, store.object);
  std::string text;
  for (const std::string& line : lines) text += line;
  text += fmt::format(
      "{}: {}\n", model::OneLine(arguments.store),
      lines.empty() ? fmt::format("{} digests, as in {}", LinesOf(digests).size(),
                                  model::OneLine(ManifestOf(arguments)))
                    : fmt::format("differs from {}", model::OneLine(ManifestOf(arguments))));
  NDLFS_RETURN_IF_ERROR(PrintText(text));
  return lines.empty() ? kAsInManifest : kManifestDiffers;
}

Result<int> WriteDigests(const DigestArguments& arguments,
                         const std::vector<ObjectDigest>& digests) {
  const std::vector<ManifestLine> lines = LinesOf(digests);
  if (arguments.writes) {
    NDLFS_RETURN_IF_ERROR(WriteManifest(ManifestOf(arguments), lines));
    return 0;
  }
  std::string text;
  for (const ManifestLine& line : lines) text += WriteManifestLine(line);
  NDLFS_RETURN_IF_ERROR(PrintText(text));
  return 0;
}

Result<int> RunDigest(const DigestArguments& arguments, ProgressDisplay& display) {
  NDLFS_TRY(const OpenedStore named,
            OpenStore(arguments.store, arguments.mount_options.remote));
  NDLFS_TRY(const OpenedStore store, FollowLinks(named, arguments.path));
  std::vector<ManifestLine> manifest;
  if (arguments.checks) {
    NDLFS_TRY(manifest, ReadManifest(ManifestOf(arguments)));
  }
  cache::SpillSpace spill(arguments.mount_options.cache_dir,
                          arguments.mount_options.cache_dir_size);
  cache::ChunkCache cache(kReadCacheSize, &spill);
  Digester digester(cache, arguments.threads);
  const StopOnSignal stop(digester.queue());
  const auto digests = digester.Run(*store.hierarchy, store.object, [&] {
    if (!display.IsDue()) return;
    const auto progress = digester.progress();
    display.Show(
        FormatProgress(digester.queue().progress(), fmt::format("{} arrays", progress.arrays),
                       progress.bytes, display.Seconds(),
                       progress.failed == 0 ? "" : fmt::format("{} failed", progress.failed)));
  });
  display.Erase();
  if (!digests) return model::Propagate(WithNearestName(digests.error(), store), store.where);
  for (const model::Error& problem : digester.problems()) {
    display.Tell(fmt::format("{}: {}", arguments.store, problem.message()));
  }
  if (digester.queue().stopped()) return kInterruptedStatus;
  const bool is_complete = digester.problems().empty();
  if (!is_complete && arguments.writes) {
    return model::BadInput("{}: not written, because digests are missing",
                           ManifestOf(arguments));
  }
  NDLFS_TRY(const int status, arguments.checks
                                  ? CheckManifest(arguments, store, manifest, *digests)
                                  : WriteDigests(arguments, *digests));
  return is_complete ? status : kDigestTrouble;
}

int Digest(const DigestArguments& arguments) {
  ProgressDisplay display("digest");
  auto status = RunDigest(arguments, display);
  if (status) return *status;
  // The reader of the pipe has closed it, which needs no message.
  if (status.error().reason() != model::SystemReason::kClosedPipe)
    display.Tell(status.error().message());
  return kDigestTrouble;
}

void RefuseContradictions(const DigestArguments& arguments) {
  if (arguments.writes && !arguments.path.empty()) {
    throw CLI::ValidationError("--write: a manifest is of a whole store, without PATH");
  }
  if (!arguments.manifest.empty() && !arguments.writes && !arguments.checks) {
    throw CLI::ValidationError("--manifest needs --write or --check");
  }
  if (IsUrl(arguments.store) && arguments.manifest.empty() &&
      (arguments.writes || arguments.checks)) {
    throw CLI::ValidationError("--manifest is needed for a store behind a URL");
  }
}

Command::Body PrepareDigest(CLI::App& app) {
  const auto arguments = std::make_shared<DigestArguments>();
  app.add_option("STORE", arguments->store, "File, directory or URL that is an array store")
      ->required()
      ->option_text(" ");
  app.add_option("PATH", arguments->path, "Array or group in the store (the whole store)")
      ->option_text(" ");
  auto* write = app.add_flag("--write", arguments->writes,
                             "Write the digests to STORE.ndl-digest instead");
  app.add_flag("--check", arguments->checks, "Compare with STORE.ndl-digest")->excludes(write);
  app.add_option("--manifest", arguments->manifest, "Another file than STORE.ndl-digest")
      ->option_text("FILE");
  AddParsed(app, "--threads", ParseThreads, arguments->threads, arguments,
            "Threads that decode and hash (one per core)")
      ->option_text("N");
  AddRemoteOptions(app, arguments->mount_options);
  app.final_callback([arguments] { RefuseContradictions(*arguments); });
  app.footer(
      "Prints SHA-256 digests that are the same for every format, chunking and codec;\n"
      "ndlfs-digest(5) defines them.\n"
      "Exit status: 0 if all is well, 1 if the store differs from the manifest, 2 if\n"
      "something could not be read.");
  return [arguments]() -> Result<int> { return Digest(*arguments); };
}

}  // namespace

const Command kDigestCommand = {"digest", "Print digests that do not depend on the format",
                                PrepareDigest};

}  // namespace ndlfs::fs
