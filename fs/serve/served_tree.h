// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fs/serve/mount_options.h"
#include "fs/serve/open_source.h"
#include "fs/serve/request_queue.h"
#include "fs/serve/slow_requests.h"
#include "fs/serve/source_check.h"
#include "fs/serve/statistics.h"
#include "fs/tree/control_tree.h"
#include "fs/tree/mount_context.h"

namespace ndlfs::fs {

// The options with absolute paths and a number of threads; or the error of an option that is
// wrong. `source` is as CheckSource() has resolved it.
model::Result<MountOptions> ResolveServedOptions(const MountOptions& given,
                                                 const SourcePaths& source);

// `options.timeout_seconds` as the longest time that a request may take.
std::chrono::milliseconds AnswerWithin(const MountOptions& options);

// Raises the limit of open descriptors as far as the system allows: many stores and chunks may
// be open at once.
void RaiseDescriptorLimit();
// Files, directories or connections that users may have open, after RaiseDescriptorLimit().
// Some descriptors are left for ndlfs itself.
uint64_t MostOpenFiles();

// The counts that the files in `.ndlfs/` show about a front end. Thread-safe functions.
struct FrontEnd {
  std::function<FrontEndCounts()> counts;
  std::function<const SlowRequests&()> slow_requests;
};

// The tree that a front end shows: the opened source, and what its nodes share. Must outlive
// the nodes. Thread-safe.
class ServedTree {
 public:
  // Opens the source. `options` are those of ResolveServedOptions(). May start threads: do not
  // call it before the process goes to the background.
  static model::Result<std::unique_ptr<ServedTree>> Open(
      const MountOptions& options, const SourcePaths& paths,
      std::chrono::milliseconds answer_within);

  // The root of the tree. `front_end` must outlive it.
  TreeNodePtr MakeRoot(FrontEnd front_end);

  // How requests for this tree should wait for each other. Refers to this object.
  RequestQueue::Options QueueOptions();

  MountContext& context() { return context_; }
  const backends::Source& source() const { return *place_.source; }
  const MountOptions& options() const { return options_; }

 private:
  ServedTree(const MountOptions& options, RemotePlace place,
             std::chrono::milliseconds answer_within);
  std::vector<ControlFile> ControlFiles(FrontEnd front_end);
  // With --decoded-cache.
  model::Result<void> KeepViews();

  const MountOptions options_;
  const std::chrono::milliseconds answer_within_;
  const RemotePlace place_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  MountContext context_;
};

}  // namespace ndlfs::fs
