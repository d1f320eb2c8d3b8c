// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/chunk_cache.h"
#include "cache/spill_space.h"
#include "fs/cli/base/command.h"
#include "fs/cli/base/mount_arguments.h"
#include "fs/cli/base/options.h"
#include "fs/cli/base/parsed_option.h"
#include "fs/cli/base/standard_output.h"
#include "fs/cli/store/digester.h"
#include "fs/cli/store/manifest.h"
#include "fs/cli/store/progress.h"
#include "fs/cli/store/read_limits.h"
#include "fs/cli/store/store_argument.h"
#include "fs/serve/open_source.h"

namespace ndlfs::fs {
namespace {

using model::Result;

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
