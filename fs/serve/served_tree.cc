// SPDX-License-Identifier: MIT
#include "fs/serve/served_tree.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "backends/store/block_cache/block_cache.h"
#include "fs/serve/logging.h"
#include "fs/tree/store/document.h"
#include "fs/tree/view/decoded_cache.h"
#include "model/memory_budget.h"

namespace ndlfs::fs {
namespace {

// No system keeps a name for longer, and more would not fit into a clock.
constexpr double kLongestTime = 365.0 * 24 * 60 * 60;

Freshness FreshnessOf(const MountOptions& options) {
  if (options.immutable) return Freshness(std::nullopt);
  const double seconds = std::clamp(options.revalidate_seconds, 0.0, kLongestTime);
  return Freshness(
      std::chrono::duration_cast<Freshness::Duration>(std::chrono::duration<double>(seconds)));
}

// Requests that wait for a slow source have a thread each.
constexpr unsigned kLeastWaiting = 64;

unsigned ThreadsOf(const MountOptions& options) {
  return options.threads != 0 ? options.threads
                              : std::max(2u, std::thread::hardware_concurrency());
}

// Descriptors that are not for open files: of stores and chunks that are read, of helpers, of
// connections, of the cache directory.
constexpr uint64_t kOwnDescriptors = 384;
// Open files take some hundred bytes each.
constexpr uint64_t kMostOpen = uint64_t{1} << 18;

// If each look at the source is a request, only files whose name is that of a store are looked
// into.
Scope ScopeOf(const MountOptions& options, const RemotePlace& place) {
  const auto detection =
      place.source->looks_are_requests() ? backends::Detection::kName : options.detection;
  return {.file = place.file,
          .detection = place.file.empty() ? detection : backends::Detection::kContent,
          .as = options.as,
          .shows_dot_files = options.shows_dot_files};
}

model::Result<RemotePlace> OpenPlace(const MountOptions& options, const SourcePaths& paths) {
  RemoteAccess access = options.remote;
  access.requests = options.fetches;
  const Freshness freshness = FreshnessOf(options);
  access.trusts_looks_for.reset();
  if (!freshness.immutable()) access.trusts_looks_for = freshness.interval();
  if (paths.url.empty()) {
    NDLFS_TRY(RemotePlace place, OpenLocal(paths.directory, options.allow_other, access),
              "source");
    place.file = paths.file;
    return place;
  }
  NDLFS_TRY(auto place, OpenUrl(paths.url, access), "source");
  return place;
}

// --cache-dir may be inside: its files have no names, so that nobody sees them. Of a source
// that is one file, nothing else in its directory is shown.
model::Result<void> CheckCachesOutside(const MountOptions& options, const SourcePaths& source) {
  if (!source.url.empty() || !source.file.empty()) return {};
  NDLFS_RETURN_IF_ERROR(
      CheckOutside("--decoded-cache", options.decoded_cache, source.directory));
  return CheckOutside("--block-cache", options.remote.block_cache, source.directory);
}

backends::OpenOptions OpenOptionsOf(const MountOptions& options, const RemotePlace& place,
                                    std::chrono::milliseconds answer_within) {
  return {.max_chunk_size = options.max_chunk_size,
          .shared = place.source->is_shared(),
          .search_holds = FreshnessOf(options).interval(),
          .answer_within = answer_within,
          .ref = options.remote.ref};
}

}  // namespace

model::Result<MountOptions> ResolveServedOptions(const MountOptions& given,
                                                 const SourcePaths& source) {
  MountOptions options = given;
  options.source = source.source;
  options.threads = ThreadsOf(given);
  // A process in the background works in "/".
  if (!given.log_file.empty()) {
    options.log_file = std::filesystem::absolute(given.log_file).lexically_normal();
  }
  options.cache_dir = std::filesystem::absolute(given.cache_dir).lexically_normal();
  std::error_code ignored;
  if (given.cache_dir != MountOptions().cache_dir &&
      !std::filesystem::is_directory(given.cache_dir, ignored)) {
    return model::BadInput("--cache-dir: {} is not a directory", model::Quote(given.cache_dir));
  }
  NDLFS_RETURN_IF_ERROR(CheckCachesOutside(given, source));
  NDLFS_RETURN_IF_ERROR(CheckBlockCache(given.remote));
  if (!given.decoded_cache.empty()) {
    // A process in the background could not tell a person.
    NDLFS_RETURN_IF_ERROR(backends::BlockCache::Open({.directory = given.decoded_cache}),
                          "--decoded-cache");
  }
  return options;
}

std::chrono::milliseconds AnswerWithin(const MountOptions& options) {
  const double seconds = std::clamp(options.timeout_seconds, 0.0, kLongestTime);
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

uint64_t MostOpenFiles() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kOwnDescriptors;
  const uint64_t all = limit.rlim_cur;
  return std::min(all - std::min(kOwnDescriptors, all / 2), kMostOpen);
}

model::Result<std::unique_ptr<ServedTree>> ServedTree::Open(
    const MountOptions& options, const SourcePaths& paths,
    std::chrono::milliseconds answer_within) {
  model::MemoryBudget::Begin(options.cache_size, options.max_chunk_size);
  NDLFS_TRY(auto place, OpenPlace(options, paths));
  std::unique_ptr<ServedTree> tree(new ServedTree(options, std::move(place), answer_within));
  NDLFS_RETURN_IF_ERROR(tree->KeepViews());
  return tree;
}

ServedTree::ServedTree(const MountOptions& options, RemotePlace place,
                       std::chrono::milliseconds answer_within)
    : options_(options),
      answer_within_(answer_within),
      place_(std::move(place)),
      context_(
          place_.source, options.cache_size,
          cache::LoadPace::Limits{.decoders = options.threads,
                                  .fetches = options.fetches,
                                  .is_remote = place_.source->looks_are_requests(),
                                  .received = place_.received},
          FreshnessOf(options), OpenOptionsOf(options, place_, answer_within),
          [](const backends::Hierarchy& hierarchy, std::string_view store_name,
             std::string_view path, const ReaderOf& reader_of, const TextSink& sink,
             const auto& refused) {
            return WriteDocument(hierarchy, store_name, path, reader_of, sink, nullptr,
                                 refused);
          },
          &LogWarning, options.cache_dir, options.cache_dir_size, ScopeOf(options, place_)) {
  context_.services.scan = {.max_bytes = options.max_scan, .threads = options.threads};
  context_.services.passes_stored_chunks = options.passes_stored_chunks;
  context_.services.listed_views = options.views;
  context_.services.mount_point = options.mountpoint;
}

model::Result<void> ServedTree::KeepViews() {
  if (options_.decoded_cache.empty()) return {};
  NDLFS_TRY(context_.decoded,
            DecodedCache::Open({.directory = options_.decoded_cache,
                                .capacity = options_.decoded_cache_size,
                                .warn = &LogWarning},
                               place_.source, FreshnessOf(options_)),
            "--decoded-cache");
  return {};
}

RequestQueue::Options ServedTree::QueueOptions() {
  return {.reads_at_once = options_.threads,
          .most_reads = [this] { return context_.cache.pace().UpdateWidth(); },
          .most_running = std::max({options_.fetches, options_.threads, kLeastWaiting}),
          .shared = place_.source->is_shared(),
          .timeout = answer_within_};
}

TreeNodePtr ServedTree::MakeRoot(FrontEnd front_end) {
  return fs::MakeRoot(context_, ControlFiles(std::move(front_end)));
}

std::vector<ControlFile> ServedTree::ControlFiles(FrontEnd front_end) {
  const auto statistics = [this, front_end] {
    auto all = CollectStatistics(context_, front_end.counts(), began_);
    if (place_.block_cache) AddBlockStatistics(*place_.block_cache, all);
    return all;
  };
  const auto details = [this, front_end] {
    DetailedStatistics all = {CollectRequests(front_end.counts().operations),
                              context_.cache.decode_times().totals(),
                              {}};
    if (place_.statistics) all.servers = place_.statistics();
    return all;
  };
  return {
      {"stats.json",
       [=] {
         const auto now = SlowRequests::Clock::now();
         const auto slow = front_end.slow_requests().Find(now);
         return StatisticsAsJson(statistics(), details(), slow, now);
       }},
      {"metrics",
       [=, this] {
         return WithLabels(StatisticsAsMetrics(statistics(), details()), options_);
       }},
      {"config.yaml", [this] { return OptionsAsYaml(options_); }},
      {"errors.log", [this] { return context_.problems.Text(); },
       options_.allow_other ? mode_t{0444} : mode_t{0440},
       /*grows=*/true},
  };
}

}  // namespace ndlfs::fs
