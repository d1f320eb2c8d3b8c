// SPDX-License-Identifier: MIT
#include "fs/serve/request_queue.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fstream>

#include "backends/store/cancellation.h"
#include "fs/serve/user_share.h"

namespace ndlfs::fs {
namespace {

using model::MutexLock;
using std::chrono::milliseconds;

// Requests that wait may be able to run soon.
constexpr milliseconds kSoon{10};
// Callers that are looked at at once: more than requests run.
constexpr size_t kCheckedAtOnce = 256;
// A thread that has worked for less than a tenth of this time is stuck.
constexpr milliseconds kSample{50};
// How long a thread waits for another request before it ends.
constexpr milliseconds kIdle{1000};

// Added to the nice value of a thread.
constexpr int kLater = 5;

// Looks of one user that run at once.
constexpr unsigned kLooksOfUser = 16;
// Users that have no request under way find room for one beyond `most_running`.
constexpr unsigned kSpare = 64;

size_t IndexOf(Lane lane) { return static_cast<size_t>(lane); }

// The processor time of the calling thread, for other threads to look at.
clockid_t ClockOfThread() {
  thread_local const clockid_t of_thread = [] {
    clockid_t clock = CLOCK_MONOTONIC;
    ::pthread_getcpuclockid(::pthread_self(), &clock);
    return clock;
  }();
  return of_thread;
}

// How long the thread with this clock has worked, or was ready to and waited for a processor:
// on a busy machine, one that hardly works may not be stuck. The kernel makes the clock of a
// thread out of its number.
int64_t NanosecondsAtWork(clockid_t clock) {
  int64_t worked = 0;
  int64_t waited = 0;
  std::ifstream file(fmt::format("/proc/self/task/{}/schedstat", ~(clock >> 3)));
  if (file >> worked >> waited) return worked + waited;
  return backends::ProcessorTime(clock).count();
}

}  // namespace

bool RequestQueue::HasShare(Lane lane, const User& user) const {
  const unsigned all = running_in_[IndexOf(lane)];
  if (!options_.shared) return all < options_.most_running;
  return fs::HasShare(user.running[IndexOf(lane)], all, options_.most_running);
}

bool RequestQueue::MayRun(Lane lane, const User& user) const {
  const unsigned all = running_in_[IndexOf(lane)];
  const unsigned own = user.running[IndexOf(lane)];
  if (own == 0) return all < options_.most_running + kSpare;
  if (!HasShare(lane, user)) return false;
  if (lane == Lane::kLook) return !options_.shared || own < kLooksOfUser;
  const unsigned working = all - stuck_in_[IndexOf(lane)];
  if (lane == Lane::kScan) return working < 1;
  return working < options_.reads_at_once ||
         (options_.most_reads && all < options_.most_reads());
}

void RequestQueue::Run(QueuedRequestPtr request) {
  List node{request};
  List turn{request};
  int refusal = 0;
  bool is_here = false;
  bool waits = false;
  {
    const MutexLock lock(mutex_);
    running_.reserve(running_.size() + 1);
    User& user = users_[request->user_];
    user.charged = std::max(user.charged, charged_);
    const size_t lane = IndexOf(request->lane_);
    if (ended_) {
      refusal = ENOTCONN;
    } else if (MayRun(request->lane_, user)) {
      Begin(*request, user);
      // A thread that brings requests runs this one itself only if enough others remain that
      // bring them.
      const bool is_short =
          request->lane_ == Lane::kLook ||
          (request->lane_ == Lane::kRead && reads_here_ < options_.reads_at_once);
      is_here = (is_short && !options_.only_on_own_threads) || !GiveToHelper(turn);
      request->is_here_ = is_here;
      if (is_here) request->thread_clock_ = ClockOfThread();
      if (is_here && request->lane_ == Lane::kRead) ++reads_here_;
    } else if (options_.shared && user.all_waiting >= options_.most_waiting) {
      refusal = EBUSY;
      ++stats_.crowded_out;
    } else {
      waits = true;
      request->state_ = QueuedRequest::State::kWaiting;
      request->turn_ = turn.begin();
      user.waiting[lane].splice(user.waiting[lane].end(), turn);
      ++user.all_waiting;
      ++waiting_;
      ++stats_.waited;
    }
    if (refusal == 0) {
      Open(node);
    } else {
      DropIfIdle(request->user_);
    }
  }
  if (refusal != 0) {
    request->Refuse(refusal);
    return;
  }
  if (wake_) wake_(waits ? kSoon : options_.check_caller);
  if (is_here) RunAll(std::move(request));
}

void RequestQueue::Begin(QueuedRequest& request, User& user) {
  request.state_ = QueuedRequest::State::kRunning;
  request.number_ = running_.size();
  running_.push_back(&request);
  ++user.running[IndexOf(request.lane_)];
  ++running_in_[IndexOf(request.lane_)];
}

// In the place that its arrival gives it: a request may have been under way in another lane.
void RequestQueue::Open(List& node) {
  QueuedRequest& request = *node.front();
  auto place = open_.end();
  while (place != open_.begin() && (*std::prev(place))->arrival_ > request.arrival_) --place;
  request.place_ = node.begin();
  request.is_open_ = true;
  open_.splice(place, node);
}

void RequestQueue::Close(QueuedRequest& request) {
  if (!request.is_open_) return;
  request.is_open_ = false;
  open_.erase(request.place_);
}

void RequestQueue::StopWaiting(QueuedRequest& request, User& user) {
  user.waiting[IndexOf(request.lane_)].erase(request.turn_);
  --user.all_waiting;
  --waiting_;
  stats_.waited_seconds +=
      std::chrono::duration<double>(Clock::now() - request.arrival_).count();
}

void RequestQueue::DropIfIdle(uid_t user) {
  const auto found = users_.find(user);
  if (found != users_.end() && found->second.is_idle()) users_.erase(found);
}

QueuedRequestPtr RequestQueue::TakeNext(Lane lane) {
  if (waiting_ == 0) return nullptr;
  auto chosen = users_.end();
  auto turn = users_.upper_bound(last_[IndexOf(lane)]);
  for (size_t looked_at = 0; looked_at < users_.size(); ++looked_at, ++turn) {
    if (turn == users_.end()) turn = users_.begin();
    const User& user = turn->second;
    if (user.waiting[IndexOf(lane)].empty() || !MayRun(lane, user)) continue;
    if (chosen == users_.end() || user.charged < chosen->second.charged) chosen = turn;
    if (user.charged <= charged_) break;  // nobody has less
  }
  if (chosen == users_.end()) return nullptr;
  running_.reserve(running_.size() + 1);
  last_[IndexOf(lane)] = chosen->first;
  charged_ = std::max(charged_, chosen->second.charged);
  QueuedRequestPtr next = chosen->second.waiting[IndexOf(lane)].front();
  StopWaiting(*next, chosen->second);
  Begin(*next, chosen->second);
  return next;
}

void RequestQueue::RunAll(QueuedRequestPtr request) {
  while (request != nullptr) {
    request->Run();
    request = Finish(*request);
  }
}

QueuedRequestPtr RequestQueue::Finish(QueuedRequest& request) {
  const MutexLock lock(mutex_);
  const size_t lane = IndexOf(request.lane_);
  request.state_ = QueuedRequest::State::kDone;
  running_.back()->number_ = request.number_;
  std::swap(running_[request.number_], running_.back());
  running_.pop_back();
  if (request.is_stuck_) --stuck_in_[lane];
  --running_in_[lane];
  User& user = users_[request.user_];
  --user.running[lane];
  const Clock::duration charge = request.TakeCharge();
  user.charged += charge;
  stats_.charged_seconds += std::chrono::duration<double>(charge).count();
  if (waiting_ == 0) charged_ = std::max(charged_, user.charged);
  Close(request);
  DropIfIdle(request.user_);
  QueuedRequestPtr next = TakeNext(request.lane_);
  if (next != nullptr) {
    next->is_here_ = request.is_here_;
    next->thread_clock_ = ClockOfThread();
  } else if (request.is_here_ && request.lane_ == Lane::kRead) {
    --reads_here_;
  }
  return next;
}

bool RequestQueue::GiveToHelper(List& node) {
  if (sleepers_.empty()) {
    try {
      helpers_.emplace_back();
      helpers_.back() = std::thread([this] { Help(); });
    } catch (const std::exception&) {  // neither memory nor a thread
      if (!helpers_.empty() && !helpers_.back().joinable()) helpers_.pop_back();
      return false;
    }
  }
  ready_.splice(ready_.end(), node);
  // The one that has worked last: what it needs is in the caches of a core, and the others come
  // to their end when there is less to do.
  if (!sleepers_.empty()) {
    sleepers_.back()->NotifyAll();
    sleepers_.pop_back();
  }
  return true;
}

void RequestQueue::Help() {
  // However many of these threads work, the one that brings requests comes first.
  static const int priority = ::getpriority(PRIO_PROCESS, 0) + kLater;
  if (options_.only_on_own_threads) ::setpriority(PRIO_PROCESS, 0, priority);
  model::CondVar work;
  for (;;) {
    QueuedRequestPtr request;
    {
      const MutexLock lock(mutex_);
      const auto until = Clock::now() + kIdle;
      while (ready_.empty() && !ended_ && Clock::now() < until) {
        sleepers_.push_back(&work);
        work.WaitFor(mutex_, until - Clock::now());
        std::erase(sleepers_, &work);
      }
      if (ready_.empty()) {
        const auto self = std::find_if(
            helpers_.begin(), helpers_.end(),
            [](const auto& thread) { return thread.get_id() == std::this_thread::get_id(); });
        if (self != helpers_.end()) finished_.splice(finished_.end(), helpers_, self);
        return;
      }
      request = std::move(ready_.front());
      ready_.pop_front();
      request->thread_clock_ = ClockOfThread();
    }
    RunAll(std::move(request));
  }
}

void RequestQueue::NoteInterrupt(const QueuedRequest* request) {
  {
    const MutexLock lock(mutex_);
    for (const QueuedRequestPtr& open : open_) {
      if (open.get() != request) continue;
      open->checked_ = {};
    }
  }
  if (wake_) wake_({});
}

void RequestQueue::Abandon(const QueuedRequestPtr& request, int error) {
  {
    const MutexLock lock(mutex_);
    if (!request->is_open_) return;
    Close(*request);
    if (request->state_ == QueuedRequest::State::kWaiting) {
      StopWaiting(*request, users_[request->user_]);
      request->state_ = QueuedRequest::State::kDone;
      DropIfIdle(request->user_);
    }
    if (error == ETIMEDOUT) ++stats_.timed_out;
    if (error == EINTR) ++stats_.interrupted;
  }
  request->Refuse(error);
}

std::vector<QueuedRequestPtr> RequestQueue::TakeLate(Clock::time_point now) {
  std::vector<QueuedRequestPtr> late;
  if (options_.timeout <= Clock::duration::zero()) return late;
  for (const QueuedRequestPtr& request : open_) {
    if (now - request->arrival_ < options_.timeout) break;
    late.push_back(request);
  }
  return late;
}

void RequestQueue::AbandonUnwanted(Clock::time_point now) {
  std::vector<QueuedRequestPtr> to_ask;
  {
    const MutexLock lock(mutex_);
    for (const QueuedRequestPtr& request : open_) {
      if (to_ask.size() == kCheckedAtOnce) break;
      if (now - request->checked_ < options_.check_caller) continue;
      request->checked_ = now;
      to_ask.push_back(request);
    }
  }
  for (const QueuedRequestPtr& request : to_ask) {
    if (!request->IsWanted()) Abandon(request, EINTR);
  }
}

// Whether a request works shows only while others wait for it.
void RequestQueue::FindStuck(Clock::time_point now) {
  for (QueuedRequest* request : running_) {
    if (request->lane_ == Lane::kLook || request->thread_clock_ == CLOCK_MONOTONIC) continue;
    if (request->sample_ && now - request->sample_->first < kSample) continue;
    const int64_t used = NanosecondsAtWork(request->thread_clock_);
    if (request->sample_) {
      const auto passed = std::chrono::nanoseconds(now - request->sample_->first).count();
      const bool is_stuck = (used - request->sample_->second) * 10 < passed;
      stuck_in_[IndexOf(request->lane_)] += is_stuck ? 1 : 0;
      stuck_in_[IndexOf(request->lane_)] -= request->is_stuck_ ? 1 : 0;
      request->is_stuck_ = is_stuck;
    }
    request->sample_ = {now, used};
  }
}

void RequestQueue::StartMore() {
  const MutexLock lock(mutex_);
  for (const Lane lane : {Lane::kLook, Lane::kRead, Lane::kScan}) {
    while (QueuedRequestPtr next = TakeNext(lane)) {
      List node{next};
      if (GiveToHelper(node)) continue;
      // It goes back to the front of its user: another thread takes it later.
      User& user = users_[next->user_];
      running_.pop_back();
      --user.running[IndexOf(lane)];
      --running_in_[IndexOf(lane)];
      next->state_ = QueuedRequest::State::kWaiting;
      next->turn_ = node.begin();
      user.waiting[IndexOf(lane)].splice(user.waiting[IndexOf(lane)].begin(), node);
      ++user.all_waiting;
      ++waiting_;
      return;
    }
  }
}

std::optional<RequestQueue::Clock::duration> RequestQueue::Tick(Clock::time_point now) {
  std::vector<QueuedRequestPtr> late;
  std::list<std::thread> finished;
  {
    const MutexLock lock(mutex_);
    late = TakeLate(now);
    finished.swap(finished_);
    if (waiting_ != 0) FindStuck(now);
  }
  for (std::thread& thread : finished) thread.join();  // it does nothing any more
  for (const QueuedRequestPtr& request : late) Abandon(request, ETIMEDOUT);
  AbandonUnwanted(now);
  StartMore();
  const MutexLock lock(mutex_);
  if (waiting_ != 0) return kSoon;
  if (!open_.empty() || !finished_.empty()) return options_.check_caller;
  return std::nullopt;
}

void RequestQueue::End() {
  List refused;
  std::list<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    refused = open_;
    // Those that were refused because of their time go on, for another try: there is none now.
    for (QueuedRequest* request : running_) {
      if (!request->is_open_) request->Refuse(ENOTCONN);
    }
    threads.splice(threads.end(), helpers_);
    threads.splice(threads.end(), finished_);
    for (model::CondVar* sleeper : sleepers_) sleeper->NotifyAll();
  }
  for (const QueuedRequestPtr& request : refused) Abandon(request, ENOTCONN);
  for (std::thread& thread : threads) thread.join();
}

RequestQueue::Stats RequestQueue::stats() const {
  const MutexLock lock(mutex_);
  Stats stats = stats_;
  stats.waiting = waiting_;
  stats.running = running_.size();
  stats.abandoned = running_.size() + waiting_ - open_.size();
  return stats;
}

}  // namespace ndlfs::fs
