// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "backends/store/local/local_source.h"
#include "backends/store/source.h"
#include "cache/chunk_cache.h"
#include "cache/prefetcher.h"
#include "cache/spill_space.h"
#include "fs/tree/catalog.h"
#include "fs/tree/problem_log.h"
#include "fs/tree/store/document_cache.h"
#include "fs/tree/store/mounted_store.h"
#include "fs/tree/view/whole_files.h"

namespace ndlfs::fs {

class DecodedCache;

// The part of the source that a mount shows, and how it detects stores there.
struct Scope {
  // The name of the one file, a store, that the mount shows as its root; "" if
  // it shows the whole directory.
  std::string file;
  backends::Detection detection = backends::Detection::kContent;
  // The short name of the view of groups in which stores are shown, such as "nc"; "": as
  // folders.
  std::string as = {};
  // Whether files and folders whose names begin with a dot are shown, and `.ndlfs`. Names
  // inside of stores are not concerned.
  bool shows_dot_files = true;
};

// The state that the nodes of one mount share. Must outlive them. Thread-safe.
struct MountContext {
  MountContext(std::shared_ptr<const backends::Source> shown, uint64_t cache_bytes,
               const cache::LoadPace::Limits& limits, Freshness freshness,
               backends::OpenOptions open_options, DocumentWriter document_writer,
               ProblemLog::Sink sink, const std::string& spill_directory = "",
               uint64_t spill_bytes = 0, const Scope& scope = {})
      : source(std::move(shown)),
        local(backends::LocalRootOf(*source)),
        file(scope.file),
        as(scope.as),
        shows_dot_files(scope.shows_dot_files),
        problems(std::move(sink)),
        spill(spill_directory, spill_bytes,
              [this](std::string_view line) { problems.Report(line); }),
        cache(cache_bytes, &spill, limits),
        prefetcher(cache, cache.pace().decoders()),
        services{source,         std::move(freshness), cache,
                 problems,       open_options,         DetectIn(source, scope.detection),
                 scope.detection},
        catalog(services),
        documents(services.freshness, std::move(document_writer)) {
    services.only_store = file;
  }

  // The path in the mount at which it shows `path` of the source.
  std::string_view PlaceOf(std::string_view path) const { return path == file ? "" : path; }
  // Whether the entry `name` of a directory of the source is not shown.
  bool IsHidden(std::string_view name) const {
    return !shows_dot_files && name.starts_with('.');
  }

  const std::shared_ptr<const backends::Source> source;
  // The source as a directory of this machine, for descriptors and permissions; null if it is
  // none.
  const std::shared_ptr<const backends::SourceRoot> local;
  const std::string file;  // as in Scope
  const std::string as;
  const bool shows_dot_files;
  ProblemLog problems;  // outlives all that report to it
  cache::SpillSpace spill;
  cache::ChunkCache cache;
  cache::Prefetcher prefetcher;
  StoreServices services;
  Catalog catalog;
  DocumentCache documents;
  WholeFiles whole_files;
  // Null if views are not kept. Set before the mount is used.
  std::shared_ptr<DecodedCache> decoded;
};

}  // namespace ndlfs::fs
