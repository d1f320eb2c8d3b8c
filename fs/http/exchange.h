// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "fs/http/body.h"
#include "fs/http/reply.h"
#include "fs/http/site.h"
#include "fs/serve/request_queue.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// One request and its reply. Finds the reply in steps, each in the lane that it needs.
// Thread-safe.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  struct Client {
    uid_t user = 0;                    // for shares of the queue
    std::function<bool()> is_waiting;  // as QueuedRequest::IsWanted()
    backends::CallerPtr caller = {};   // for what may be read
  };

  Exchange(const RequestServices& services, HttpRequest request, Client client)
      : services_(services), request_(std::move(request)), client_(std::move(client)) {}

  // Begins to find the reply; calls `on_reply` once, on any thread, when there is one. `known`
  // is the reply of Site::AnswerKnown(), which still needs its body.
  void Begin(std::function<void()> on_reply, std::optional<HttpReply> known = std::nullopt);

  struct Found {
    HttpReply reply;
    std::shared_ptr<Body> body;  // null: reply.text
  };
  // The reply. Call it once, after `on_reply`.
  Found TakeReply() EXCLUDES(mutex_);

  // Nobody waits for the reply any more.
  void Abandon() { cancellation_->Abandon(); }

 private:
  class Step;

  void Enqueue(Lane lane);
  // Runs in `lane`.
  void Run(Lane lane) noexcept;
  void Find(Lane lane);
  // Makes the body of `reply_`, with its first block.
  void MakeBody(HttpReply reply);
  // Only the first reply counts.
  void Put(HttpReply reply, std::shared_ptr<Body> body) EXCLUDES(mutex_);
  void NoteTime();

  const RequestServices services_;
  const HttpRequest request_;
  const Client client_;
  const RequestQueue::Clock::time_point arrival_ = RequestQueue::Clock::now();
  const std::shared_ptr<backends::Cancellation> cancellation_ =
      std::make_shared<backends::Cancellation>(/*is_charged=*/true);
  // Used by one step after the other: a reply that still needs its body.
  std::optional<HttpReply> head_;
  std::optional<FoundNode> place_;  // of the target, found in another lane
  bool is_known_ = false;           // `head_` is of a file that was found by an earlier request

  model::Mutex mutex_;
  std::function<void()> on_reply_ GUARDED_BY(mutex_);
  Found found_ GUARDED_BY(mutex_);
  bool has_reply_ GUARDED_BY(mutex_) = false;
};

}  // namespace ndlfs::fs
