// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "fs/fuse/fuse.h"
#include "fs/fuse/operations.h"

namespace ndlfs::fs {

// A request of the kernel. Only the first answer is sent, because libfuse would not survive a
// second one.
class PendingRequest : public QueuedRequest {
 public:
  PendingRequest(fuse_req_t req, RequestTimes& times, Lane lane, uint64_t nodeid);
  // Continues `begun` in another lane, and takes over the right to answer. If there is an
  // answer already, this request counts as answered, too.
  PendingRequest(PendingRequest& begun, Lane lane);

  // Calls `reply` with the request, which it answers, unless there is an answer already. False
  // if the answer did not reach the kernel.
  template <typename Reply>
  bool Answer(const Reply& reply) {
    if (is_answered_.exchange(true)) return false;
    const auto now = Clock::now();
    times_.End(arrival(), now);
    if (fs_.slow_requests_.IsSlow(now - arrival(), now)) NoteSlow(now);
    return reply(req_) == 0;
  }
  bool AnswerError(int error) {
    return Answer([error](fuse_req_t req) { return fuse_reply_err(req, error); });
  }
  bool is_answered() const { return is_answered_; }

  void Refuse(int error) override;
  bool IsWanted() override;

  Filesystem& fs() const { return fs_; }
  const fuse_ctx& context() const { return context_; }
  const std::shared_ptr<backends::Cancellation>& cancellation() const { return cancellation_; }
  // The caller that opened the handle in use: as with any file, access is checked when it is
  // opened. If this is not set, the caller of the request counts.
  void set_opener(backends::CallerPtr opener) { opener_ = std::move(opener); }
  const std::optional<backends::CallerPtr>& opener() const { return opener_; }

 protected:
  // Tells the queue about signals that the caller gets.
  void ListenToInterrupts();

 private:
  PendingRequest(fuse_req_t req, const fuse_ctx& context, RequestTimes& times, Lane lane,
                 uint64_t nodeid, Clock::time_point arrival);

  void ReportDelay() noexcept;
  void NoteSlow(Clock::time_point now) noexcept;
  // Where it goes to in the mount: "/era5.zarr/t2m". For a lookup, the folder.
  std::string Path() const;

  Filesystem& fs_;
  const fuse_req_t req_;  // freed with the answer
  const fuse_ctx context_;
  RequestTimes& times_;
  const uint64_t nodeid_;
  std::optional<backends::CallerPtr> opener_;
  const std::shared_ptr<backends::Cancellation> cancellation_ =
      std::make_shared<backends::Cancellation>();
  std::atomic<bool> is_answered_{false};
};

}  // namespace ndlfs::fs
