// SPDX-License-Identifier: MIT
//
// The body of a reply that is a file: read block by block, as fast as the client takes it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "backends/base/bytes.h"
#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "fs/http/reply.h"
#include "fs/http/site.h"
#include "fs/serve/open_limits.h"
#include "fs/serve/operation_counts.h"
#include "fs/serve/request_queue.h"
#include "fs/serve/slow_requests.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// The memory of replies that wait for slow clients, shared out among the addresses of these
// (user_share.h). Thread-safe.
class BlockBudget {
 public:
  explicit BlockBudget(uint64_t most) : most_(most) {}

  // How many bytes `user` may take for a block of at most `wanted` bytes: a half, a quarter ...
  // of it where others take the memory. Blocks of kLeast bytes are always granted: connections
  // are limited, too.
  size_t Take(uid_t user, size_t wanted) EXCLUDES(mutex_);
  void Return(uid_t user, size_t taken) EXCLUDES(mutex_);

  static constexpr size_t kLeast = size_t{16} << 10;

 private:
  const uint64_t most_;
  model::Mutex mutex_;
  uint64_t all_ GUARDED_BY(mutex_) = 0;
  std::map<uid_t, uint64_t> users_ GUARDED_BY(mutex_);
};

// Ends the work for a request that a queue refuses with `error`. After a timeout, the chunk
// that is being decoded is completed: another try will find it.
void EndWork(backends::Cancellation& work, int error);

// What the requests of a server share. All must outlive them.
struct RequestServices {
  const Site& site;
  RequestQueue& queue;
  BlockBudget& budget;
  OpenLimits& files;  // those that clients read for long
  OperationCounts& counts;
  SlowRequests& slow_requests;
};

// Reads one block ahead of the client: while the client takes a block, the next one is read. A
// slow client costs a block, and no thread. Thread-safe.
class Body : public std::enable_shared_from_this<Body> {
 public:
  // `is_wanted` as QueuedRequest::IsWanted(); `cancellation` is that of the request.
  Body(const RequestServices& services, HttpReply&& reply, uid_t user,
       std::function<bool()> is_wanted, backends::CallerPtr caller,
       std::shared_ptr<backends::Cancellation> cancellation);
  ~Body();

  std::optional<uint64_t> length() const { return length_; }

  // Reads the first block on this thread. A failure is an error that the reply can still tell:
  // kBusy if the client has too much memory in files that it reads.
  model::Result<void> ReadFirst() EXCLUDES(mutex_);

  enum class State {
    kBytes,    // `out` has got some
    kLater,    // `resume` will be called, on any thread, when there are more
    kEnd,      // all bytes have been taken
    kFailure,  // the body cannot be completed
  };
  struct Taken {
    State state = State::kEnd;
    size_t count = 0;
  };
  // Copies the next bytes. Calls `suspend` before it returns kLater, and before `resume`.
  Taken Take(backends::ByteSpan out, const std::function<void()>& suspend,
             std::function<void()> resume) EXCLUDES(mutex_);

  // All bytes, if ReadFirst() has read all, and Take() was not called; empty otherwise. They
  // live as long as the body.
  backends::ConstByteSpan WholeInMemory() const EXCLUDES(mutex_);

  // Takes memory for what the body is copied to, as BlockBudget::Take(). It is given back with
  // the body. Call it once at most.
  size_t TakeMemory(size_t wanted) { return copied_to_ = services_.budget.Take(user_, wanted); }

  // Nobody waits for the body any more.
  void Abandon();

 private:
  class ReadRequest;

  struct Block {
    backends::Bytes bytes;
    size_t taken = 0;  // of the budget
  };
  Taken Copy(backends::ByteSpan out) REQUIRES(mutex_);
  // The bytes of the file to read next; nullopt at the end of the body.
  std::optional<FileRange> NextRange() REQUIRES(mutex_);
  model::Result<Block> Read(const FileRange& range) const;
  // Begins to read the next block, unless there is none.
  void ReadAhead() EXCLUDES(mutex_);
  void Put(model::Result<Block> block) EXCLUDES(mutex_);
  void Drop(Block& block);

  const RequestServices services_;
  const std::shared_ptr<const FileHandle> file_;
  const std::vector<BodyPart> parts_;
  const std::optional<uint64_t> length_;
  const uid_t user_;
  const std::function<bool()> is_wanted_;
  const backends::CallerPtr caller_;
  const std::shared_ptr<backends::Cancellation> cancellation_;
  size_t copied_to_ = 0;                    // bytes of the budget
  std::optional<OpenLimits::Place> place_;  // of `file_`, if ReadFirst() has not read all of it

  mutable model::Mutex mutex_;
  // The part that is sent, how much of its text was taken, and of its range was read.
  size_t part_ GUARDED_BY(mutex_) = 0;
  size_t text_taken_ GUARDED_BY(mutex_) = 0;
  uint64_t range_read_ GUARDED_BY(mutex_) = 0;
  Block block_ GUARDED_BY(mutex_);  // bytes for the client
  size_t block_taken_ GUARDED_BY(mutex_) = 0;
  bool is_reading_ GUARDED_BY(mutex_) = false;
  std::optional<Block> next_ GUARDED_BY(mutex_);  // the block that was read ahead
  bool has_failed_ GUARDED_BY(mutex_) = false;
  bool has_ended_ GUARDED_BY(mutex_) = false;  // of a file of unknown size
  size_t block_size_ GUARDED_BY(mutex_);
  std::function<void()> resume_ GUARDED_BY(mutex_);  // of a client that waits
};

}  // namespace ndlfs::fs
