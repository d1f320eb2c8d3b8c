// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include "backends/store/source_root.h"
#include "cache/chunk_cache.h"
#include "cache/prefetcher.h"
#include "fs/catalog.h"
#include "fs/document_cache.h"
#include "fs/mounted_store.h"
#include "fs/problem_log.h"

namespace ndlfs::fs {

// What the nodes of one mount share. Outlives them. Thread-safe.
struct MountContext {
  MountContext(std::shared_ptr<const backends::SourceRoot> source, uint64_t cache_bytes,
               unsigned prefetch_threads, Freshness freshness,
               backends::OpenOptions open_options, DocumentWriter document_writer,
               ProblemLog::Sink sink)
      : root(std::move(source)),
        cache(cache_bytes),
        prefetcher(cache, prefetch_threads),
        problems(std::move(sink)),
        services{root, std::move(freshness), cache, problems, open_options, DetectIn(root)},
        catalog(services),
        documents(services.freshness, std::move(document_writer)) {}

  const std::shared_ptr<const backends::SourceRoot> root;
  cache::ChunkCache cache;
  cache::Prefetcher prefetcher;
  ProblemLog problems;
  StoreServices services;
  Catalog catalog;
  DocumentCache documents;
};

}  // namespace ndlfs::fs
