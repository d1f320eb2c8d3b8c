// SPDX-License-Identifier: MIT
#include "fs/fuse/pending_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "fs/fuse/caller_state.h"

namespace ndlfs::fs {

PendingRequest::PendingRequest(fuse_req_t req, RequestTimes& times, Lane lane, uint64_t nodeid)
    : PendingRequest(req, *fuse_req_ctx(req), times, lane, nodeid, Clock::now()) {
  times_.Begin();
}

PendingRequest::PendingRequest(PendingRequest& begun, Lane lane)
    : PendingRequest(begun.req_, begun.context_, begun.times_, lane, begun.nodeid_,
                     begun.arrival()) {
  is_answered_ = begun.is_answered_.exchange(true);
}

PendingRequest::PendingRequest(fuse_req_t req, const fuse_ctx& context, RequestTimes& times,
                               Lane lane, uint64_t nodeid, Clock::time_point arrival)
    : QueuedRequest(context.uid, lane, arrival),
      fs_(*static_cast<Filesystem*>(fuse_req_userdata(req))),
      req_(req),
      context_(context),
      times_(times),
      nodeid_(nodeid) {}

void PendingRequest::Refuse(int error) {
  // After a timeout, the chunk that is being decoded is completed, because another try will
  // find it.
  if (error != ETIMEDOUT) {
    cancellation_->Abandon();
  } else if (lane() == Lane::kRead) {
    cancellation_->Cancel();
  }
  if (AnswerError(error) && error == ETIMEDOUT) ReportDelay();
}

bool PendingRequest::IsWanted() { return LookAtCaller(context_.pid) == CallerState::kWaits; }

void PendingRequest::ListenToInterrupts() {
  if (is_answered()) return;
  const auto note = [](fuse_req_t req, void* request) {
    static_cast<Filesystem*>(fuse_req_userdata(req))
        ->queue()
        .NoteInterrupt(static_cast<const QueuedRequest*>(request));
  };
  fuse_req_interrupt_func(req_, note, static_cast<QueuedRequest*>(this));
}

std::string PendingRequest::Path() const {
  const auto names = fs_.table_.PathOf(nodeid_);
  std::string path;
  if (names) {
    for (const std::string& name : *names) (path += '/') += name;
  }
  return path;
}

// If it was refused before it ran, it is not known whose it is: only the user who mounts sees
// it.
void PendingRequest::NoteSlow(Clock::time_point now) noexcept {
  try {
    const auto is_kind = [&](const OperationCounts::Kind& kind) {
      return &(fs_.counts_.*kind.times) == &times_;
    };
    const auto kind =
        std::find_if(OperationCounts::kKinds.begin(), OperationCounts::kKinds.end(), is_kind);
    std::string path = Path();
    if (path.empty()) path.push_back('/');
    fs_.slow_requests_.Note({.kind = kind->name,
                             .path = std::move(path),
                             .time = now - arrival(),
                             .answered = now,
                             .caller = backends::CallerScope::Current()});
  } catch (...) {  // no memory for it
  }
}

// Only the user who mounts gets to see it: the path may be one that the caller may not know.
void PendingRequest::ReportDelay() noexcept {
  try {
    const std::string path = Path();
    fs_.Complain(
        fmt::format("{}: no answer within {} s (--timeout)",
                    model::OneLine(path.substr(path.empty() ? 0 : 1)),
                    std::chrono::duration<double>(fs_.options_.queue.timeout).count()));
  } catch (...) {  // no memory to complain with
  }
}

}  // namespace ndlfs::fs
