// SPDX-License-Identifier: MIT
//
// The FUSE low-level operations over a tree of nodes. An operation finds its
// node, calls it, and replies. No exception leaves an operation, and each
// request is answered exactly once.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/store/local/source_root.h"
#include "fs/fuse/caller_state.h"
#include "fs/fuse/inode_table.h"
#include "fs/fuse/open_handles.h"
#include "fs/fuse/passthrough.h"
#include "fs/serve/lookup_habits.h"
#include "fs/serve/open_limits.h"
#include "fs/serve/operation_counts.h"
#include "fs/serve/request_queue.h"
#include "fs/serve/slow_requests.h"
#include "fs/serve/statistics.h"
#include "fs/tree/tree_node.h"

struct fuse_lowlevel_ops;
struct fuse_session;

namespace ndlfs::fs {

struct FilesystemOptions {
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  mode_t umask = 0;
  // How long the kernel may cache names and attributes, in seconds.
  double timeout = 1.0;
  // The source never changes, so the kernel may cache listings as well.
  bool immutable = false;
  // Inode numbers have 32 bits, for programs that know no others.
  bool inode32 = false;
  // How requests wait for each other. If `queue.shared`, users other than the one who mounts
  // may use the mount: each request then opens files of the source as its caller, so that the
  // caller gets only what it may read.
  RequestQueue::Options queue;
  // How many files all users of a shared mount may have open, and how much memory these may
  // keep: see OpenLimits::Options.
  uint64_t most_open = 1 << 16;
  uint64_t most_open_bytes = uint64_t{256} << 20;
  // The source, for statfs(), which describes its file system; null if it is no
  // directory of this machine.
  std::shared_ptr<const backends::SourceRoot> source;
};

// The `userdata` of a FUSE session. Thread-safe.
class Filesystem {
 public:
  // Reports a failure that a person should know about, in one line. Called on any thread.
  using Report = std::function<void(std::string_view line)>;

  Filesystem(TreeNodePtr root, FilesystemOptions options, Report report);

  static const fuse_lowlevel_ops& Operations();

  // `on_ready` is called once, on a thread of the session, when the kernel has
  // completed the FUSE handshake.
  void set_on_ready(std::function<void()> on_ready) { on_ready_ = std::move(on_ready); }
  // `on_first_open` is called once, before the first file is opened.
  void set_on_first_open(std::function<void()> action) { on_first_open_ = std::move(action); }

  // The open /dev/fuse of the session, once it is mounted. Without it, the kernel reads no file
  // of this machine by itself.
  void set_device(int device) { device_ = device; }

  // `wake` is called when Tick() should be called within some time. Set it before the first
  // request.
  void set_wake(const std::function<void(RequestQueue::Clock::duration within)>& wake) {
    wake_ = wake;
    queue_.set_wake(wake);
  }
  // Attends to requests that wait, and gives back memory. Returns when to call it again;
  // nullopt: when `wake` is called.
  std::optional<RequestQueue::Clock::duration> Tick(RequestQueue::Clock::time_point now);

  // `wake` is called when ForgetNames() should be called within some time. Set it before the
  // first request.
  void set_wake_forgetter(std::function<void(RequestQueue::Clock::duration within)> wake) {
    wake_forgetter_ = std::move(wake);
  }
  // Asks the kernel to forget names when those that it knows take much memory. Waits for
  // requests in their directories, so nothing else may wait for this. Returns as Tick() does.
  std::optional<RequestQueue::Clock::duration> ForgetNames(fuse_session* session);

  // The queue that decides when requests run. The session calls its End() before the session
  // itself ends, because requests need the session for their answers.
  RequestQueue& queue() { return queue_; }
  const RequestQueue& queue() const { return queue_; }

  const OperationCounts& counts() const { return counts_; }
  const SlowRequests& slow_requests() const { return slow_requests_; }
  FrontEndCounts CountsNow() const {
    return {counts_, queue_.stats(), open_limits_.stats(), table_.size(), files_.size()};
  }

 private:
  friend struct Handlers;
  friend class PendingRequest;

  // Counts a failure, and reports it.
  void Complain(std::string_view line) noexcept;
  // Call it after `count` more nodeids were forgotten.
  void NoteForgotten(size_t count);
  // Call it after names were found.
  void NoteFound() const;

  static constexpr std::chrono::milliseconds kUntilForgotten{5};
  static constexpr std::chrono::milliseconds kUntilMoreAreKnown{1000};

  const FilesystemOptions options_;
  const Report report_;
  std::function<void(RequestQueue::Clock::duration)> wake_;
  std::function<void(RequestQueue::Clock::duration)> wake_forgetter_;
  std::function<void()> on_ready_;
  std::function<void()> on_first_open_;
  std::once_flag first_open_;
  InodeTable table_;
  // The time until the kernel is asked to forget more names.
  std::atomic<std::chrono::milliseconds> until_forgotten_{kUntilForgotten};
  mutable std::atomic<uint64_t> charged_{0};  // of names, to model::MemoryBudget
  std::atomic<size_t> forgotten_{0};          // since memory was last given back
  OpenLimits open_limits_;
  int device_ = -1;
  Passthrough passthrough_;  // open files use it
  HandleSet<OpenFile> files_;
  HandleSet<DirectoryHandle> directories_;
  LookupHabits lookup_habits_;
  CallerFinder callers_;
  OperationCounts counts_;
  SlowRequests slow_requests_;
  RequestQueue queue_;  // the last member: requests use the others
};

}  // namespace ndlfs::fs
