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
#include "fs/tree/document_cache.h"
#include "fs/tree/mounted_store.h"
#include "fs/tree/problem_log.h"
#include "fs/tree/whole_files.h"

namespace ndlfs::fs {

// What a mount shows of its source, and what of that as stores.
struct Scope {
  // The name of the one file that is shown, a store, as the root of the mount;
  // "" for the directory and all that is in it.
  std::string file;
  backends::Detection detection = backends::Detection::kContent;
  // The short name of the view of groups that stores are shown as, such as "nc"; "": as
  // folders.
  std::string as = {};
};

// What the nodes of one mount share. Outlives them. Thread-safe.
struct MountContext {
  MountContext(std::shared_ptr<const backends::Source> shown, uint64_t cache_bytes,
               unsigned prefetch_threads, Freshness freshness,
               backends::OpenOptions open_options, DocumentWriter document_writer,
               ProblemLog::Sink sink, const std::string& spill_directory = "",
               uint64_t spill_bytes = 0, const Scope& scope = {})
      : source(std::move(shown)),
        local(backends::LocalRootOf(*source)),
        file(scope.file),
        as(scope.as),
        problems(std::move(sink)),
        spill(spill_directory, spill_bytes,
              [this](std::string_view line) { problems.Report(line); }),
        cache(cache_bytes, &spill),
        prefetcher(cache, prefetch_threads),
        services{source,         std::move(freshness), cache,
                 problems,       open_options,         DetectIn(source, scope.detection),
                 scope.detection},
        catalog(services),
        documents(services.freshness, std::move(document_writer)) {}

  // Where the mount shows what is at `path` of the source.
  std::string_view PlaceOf(std::string_view path) const { return path == file ? "" : path; }

  const std::shared_ptr<const backends::Source> source;
  // The same as a directory of this machine; null if it is none. For descriptors,
  // and for who may read what.
  const std::shared_ptr<const backends::SourceRoot> local;
  const std::string file;  // as Scope has it, and
  const std::string as;
  ProblemLog problems;  // outlives all that report to it
  cache::SpillSpace spill;
  cache::ChunkCache cache;
  cache::Prefetcher prefetcher;
  StoreServices services;
  Catalog catalog;
  DocumentCache documents;
  WholeFiles whole_files;
};

}  // namespace ndlfs::fs
