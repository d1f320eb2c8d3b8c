// SPDX-License-Identifier: MIT
#include "fs/http/exchange.h"

#include <atomic>
#include <cerrno>
#include <exception>
#include <new>

#include "backends/store/request_context.h"

namespace ndlfs::fs {

using model::MutexLock;

class Exchange::Step final : public QueuedRequest {
 public:
  Step(std::shared_ptr<Exchange> exchange, Lane lane)
      : QueuedRequest(exchange->client_.user, lane, exchange->arrival_),
        exchange_(std::move(exchange)) {}

  void Run() override {
    runs_ = true;
    exchange_->Run(lane());
  }
  void Refuse(int error) override {
    EndWork(*exchange_->cancellation_, error);
    // Without a turn until now, it may come again.
    exchange_->Put(RefusalReply(error == ETIMEDOUT && !runs_ ? EBUSY : error), nullptr);
  }
  bool IsWanted() override { return exchange_->client_.is_waiting(); }
  Clock::duration TakeCharge() override { return exchange_->cancellation_->TakeCharge(); }

 private:
  const std::shared_ptr<Exchange> exchange_;
  std::atomic<bool> runs_{false};
};

void Exchange::Begin(std::function<void()> on_reply, std::optional<HttpReply> known) {
  {
    const MutexLock lock(mutex_);
    on_reply_ = std::move(on_reply);
  }
  services_.counts.open.Begin();
  is_known_ = known.has_value();
  head_ = std::move(known);
  Enqueue(is_known_ ? Lane::kRead : Lane::kLook);
}

void Exchange::Enqueue(Lane lane) {
  try {
    services_.queue.Run(std::make_shared<Step>(shared_from_this(), lane));
  } catch (const std::bad_alloc&) {
    Put(RefusalReply(ENOMEM), nullptr);
  }
}

void Exchange::Run(Lane lane) noexcept {
  try {
    const backends::RequestContext::Scope scope(
        {.caller = client_.caller, .cancellation = cancellation_});
    Find(lane);
  } catch (const std::bad_alloc&) {
    Put(RefusalReply(ENOMEM), nullptr);
  } catch (const std::exception& exception) {
    const auto failure = model::Internal("{}", exception.what());
    services_.site.Complain(failure.value());
    Put(ErrorReply(failure.value()), nullptr);
  }
}

void Exchange::Find(Lane lane) {
  if (head_) {
    MakeBody(*std::exchange(head_, std::nullopt));
    return;
  }
  auto answer = services_.site.Answer(request_, lane, place_);
  if (const Lane* const needed = std::get_if<Lane>(&answer)) {
    Enqueue(*needed);
    return;
  }
  auto& reply = std::get<HttpReply>(answer);
  const bool decodes = reply.file && request_.method != HttpRequest::Method::kHead &&
                       reply.length.value_or(1) != 0;
  // Lists and the state of the server do not wait behind what else their client reads.
  if (decodes && lane == Lane::kLook && !reply.file->is_light()) {
    head_ = std::move(reply);
    Enqueue(Lane::kRead);
  } else if (decodes) {
    MakeBody(std::move(reply));
  } else {
    Put(std::move(reply), nullptr);
  }
}

void Exchange::MakeBody(HttpReply reply) {
  HttpReply head{.status = reply.status,
                 .is_page = reply.is_page,
                 .fields = reply.fields,
                 .length = reply.length};
  const auto body = std::make_shared<Body>(services_, std::move(reply), client_.user,
                                           client_.is_waiting, client_.caller, cancellation_);
  const auto first = body->ReadFirst();
  if (first) {
    Put(std::move(head), body);
    return;
  }
  if (std::exchange(is_known_, false) && !cancellation_->is_cancelled()) {
    services_.site.ForgetKnown(request_);
    Enqueue(Lane::kLook);
    return;
  }
  services_.site.Complain(first.error());
  Put(ErrorReply(first.error()), nullptr);
}

void Exchange::Put(HttpReply reply, std::shared_ptr<Body> body) {
  std::function<void()> on_reply;
  {
    const MutexLock lock(mutex_);
    if (has_reply_) return;
    has_reply_ = true;
    found_ = {std::move(reply), std::move(body)};
    on_reply = std::exchange(on_reply_, nullptr);
  }
  NoteTime();
  if (on_reply) on_reply();
}

Exchange::Found Exchange::TakeReply() {
  const MutexLock lock(mutex_);
  return std::exchange(found_, {});
}

void Exchange::NoteTime() {
  const auto now = RequestQueue::Clock::now();
  services_.counts.open.End(arrival_, now);
  if (!services_.slow_requests.IsSlow(now - arrival_, now)) return;
  std::string path;
  for (const std::string& name : request_.target.names) (path += '/') += name;
  if (path.empty()) path = "/";
  services_.slow_requests.Note({.kind = "open",
                                .path = std::move(path),
                                .time = now - arrival_,
                                .answered = now,
                                .caller = nullptr});
}

}  // namespace ndlfs::fs
