// SPDX-License-Identifier: MIT
//
// Decides when a request runs, on which thread, and how long its caller waits at most. Knows
// nothing of FUSE.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "model/mutex.h"

namespace ndlfs::fs {

class RequestQueue;

// The resources that a request needs, and so which other requests it waits for.
enum class Lane {
  kLook,  // mostly a few system calls: names, attributes, listings, opening a store
  kRead,  // decodes as much as a read does
  kScan,  // decodes very much
};
inline constexpr size_t kLanes = 3;

// A request of a user that has to be answered.
class QueuedRequest {
 public:
  using Clock = std::chrono::steady_clock;

  QueuedRequest(uid_t user, Lane lane, Clock::time_point arrival)
      : user_(user), lane_(lane), arrival_(arrival) {}
  virtual ~QueuedRequest() = default;
  QueuedRequest(const QueuedRequest&) = delete;
  QueuedRequest& operator=(const QueuedRequest&) = delete;

  // Does the work and answers. Called once at most. Must not throw.
  virtual void Run() = 0;
  // Answers with `error` unless there is an answer already. May be called while Run() runs, and
  // more than once; End() calls it under the lock of the queue. Must be quick. Must not throw.
  virtual void Refuse(int error) = 0;
  // Whether the caller still waits. Called now and then, without a lock.
  virtual bool IsWanted() { return true; }
  // What Run() has cost. Called after it, under the lock of the queue: must be quick.
  virtual Clock::duration TakeCharge() { return {}; }

  uid_t user() const { return user_; }
  Lane lane() const { return lane_; }
  Clock::time_point arrival() const { return arrival_; }

 private:
  friend class RequestQueue;
  using List = std::list<std::shared_ptr<QueuedRequest>>;
  enum class State { kNew, kWaiting, kRunning, kDone };

  const uid_t user_;
  const Lane lane_;
  const Clock::time_point arrival_;
  // The mutex of the queue guards all members below.
  State state_ = State::kNew;
  bool is_open_ = false;                  // in RequestQueue::open_: not refused, and not done
  List::iterator place_;                  // its place there
  List::iterator turn_;                   // its place among the waiting requests of its user
  Clock::time_point checked_ = arrival_;  // when IsWanted() was last asked
  size_t number_ = 0;                     // while it runs: its index in RequestQueue::running_
  bool is_here_ = false;                  // runs on the thread that brought it
  // Whether, at the last look, the thread that runs it seemed to do hardly any work.
  bool is_stuck_ = false;
  clockid_t thread_clock_ = CLOCK_MONOTONIC;
  std::optional<std::pair<Clock::time_point, int64_t>> sample_;  // of the thread's time
};
using QueuedRequestPtr = std::shared_ptr<QueuedRequest>;

// Runs requests, so that no user waits for the requests of another user, and every request gets
// an answer in time. Thread-safe.
//
// A look runs at once, on the thread that brings it, unless its user has many looks under way.
// Only some reads run at the same time, because a read needs a core and memory; the others wait
// without a thread. A user with no read under way may always start one. Users take turns: a
// hundred waiting reads of one user delay another user by one read. If requests tell what they
// cost, the turn is that of the user who has cost least. A read that does no work, because the
// source is slow, leaves its place to another read. The same holds for scans, but only one of
// them runs at a time.
class RequestQueue {
 public:
  using Clock = QueuedRequest::Clock;

  struct Options {
    // Reads that may use a core at the same time.
    unsigned reads_at_once = 2;
    // How many reads may run at once now, because they wait for a slow source. Called by any
    // thread, and under a lock: must be quick. May be empty.
    std::function<unsigned()> most_reads = {};
    // The most requests of a lane that run at once, even if all are stuck. On a shared mount,
    // one user gets three quarters of these at most.
    unsigned most_running = 64;
    // Several users share the mount.
    bool shared = false;
    // After this time a request is refused with ETIMEDOUT; zero: never.
    Clock::duration timeout = {};
    // The threads that bring requests have other things to do: none of them runs a request,
    // unless the system has no thread for it.
    bool only_on_own_threads = false;
    // A caller that has waited for so long is looked at, and then as often.
    Clock::duration check_caller = std::chrono::milliseconds(250);
    // How many requests of one user on a shared mount may wait. More are refused with EBUSY.
    size_t most_waiting = 4096;
  };

  struct Stats {
    uint64_t waiting = 0;       // now
    uint64_t running = 0;       // now
    uint64_t abandoned = 0;     // those of `running` that were refused already
    uint64_t waited = 0;        // requests that had to wait for their turn
    double waited_seconds = 0;  // the sum of their waiting times
    uint64_t timed_out = 0;
    uint64_t interrupted = 0;
    uint64_t crowded_out = 0;    // refused because too many of their user waited
    double charged_seconds = 0;  // what requests have cost
  };

  explicit RequestQueue(Options options) : options_(std::move(options)) {}
  ~RequestQueue() { End(); }
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  // Called when Tick() should be called within some time. Set it before the first Run().
  void set_wake(std::function<void(Clock::duration within)> wake) { wake_ = std::move(wake); }

  // Runs `request` on this thread, and then requests that have begun to wait meanwhile; or
  // leaves it to another thread. If Run() throws, for lack of memory, the queue has not run
  // `request`, and never will.
  void Run(QueuedRequestPtr request);

  // Tells that the caller of `request` got a signal. Has no effect unless it is an unanswered
  // request of the queue; the pointer is not dereferenced.
  void NoteInterrupt(const QueuedRequest* request) EXCLUDES(mutex_);

  // Refuses requests that have waited too long, or that nobody waits for, and starts others in
  // place of those that are stuck. Returns when to call it again; nullopt: not before the next
  // request.
  std::optional<Clock::duration> Tick(Clock::time_point now);

  // Refuses all requests with ENOTCONN, even those that were refused before and still run.
  // Waits for those that run on threads of the queue. Later requests are refused at once.
  void End() EXCLUDES(mutex_);

  Stats stats() const EXCLUDES(mutex_);

 private:
  using List = QueuedRequest::List;
  struct User {
    std::array<List, kLanes> waiting;
    std::array<unsigned, kLanes> running = {};
    size_t all_waiting = 0;
    // What requests of the user have cost; at the beginning, what those of others have.
    Clock::duration charged = {};
    bool is_idle() const { return all_waiting == 0 && running == decltype(running){}; }
  };

  bool MayRun(Lane lane, const User& user) const REQUIRES(mutex_);
  bool HasShare(Lane lane, const User& user) const REQUIRES(mutex_);
  // The request to run next in `lane`; null if there is none. It counts as running.
  QueuedRequestPtr TakeNext(Lane lane) REQUIRES(mutex_);
  void Begin(QueuedRequest& request, User& user) REQUIRES(mutex_);
  // Takes a request out of the lists that it waits in.
  void StopWaiting(QueuedRequest& request, User& user) REQUIRES(mutex_);
  void Open(List& node) REQUIRES(mutex_);
  void Close(QueuedRequest& request) REQUIRES(mutex_);
  void DropIfIdle(uid_t user) REQUIRES(mutex_);
  // Runs a request that counts as running, and then those that wait in its lane.
  void RunAll(QueuedRequestPtr request);
  // Called when `request` has run. Returns the next one in its lane.
  QueuedRequestPtr Finish(QueuedRequest& request) EXCLUDES(mutex_);
  // Leaves the request in `node`, which counts as running, to a thread of the queue. False if
  // the system has no thread.
  bool GiveToHelper(List& node) REQUIRES(mutex_);
  void Help() EXCLUDES(mutex_);
  // Refuses `request`, unless it has ended.
  void Abandon(const QueuedRequestPtr& request, int error) EXCLUDES(mutex_);
  void AbandonUnwanted(Clock::time_point now) EXCLUDES(mutex_);
  std::vector<QueuedRequestPtr> TakeLate(Clock::time_point now) REQUIRES(mutex_);
  void FindStuck(Clock::time_point now) REQUIRES(mutex_);
  void StartMore() EXCLUDES(mutex_);

  const Options options_;
  std::function<void(Clock::duration)> wake_;
  mutable model::Mutex mutex_;
  List open_ GUARDED_BY(mutex_);  // unanswered requests, by arrival
  std::vector<QueuedRequest*> running_ GUARDED_BY(mutex_);
  std::map<uid_t, User> users_ GUARDED_BY(mutex_);
  std::array<uid_t, kLanes> last_ GUARDED_BY(mutex_) = {};  // the user whose turn was last
  Clock::duration charged_ GUARDED_BY(mutex_) = {};  // User::charged of the users served last
  std::array<unsigned, kLanes> running_in_ GUARDED_BY(mutex_) = {};
  std::array<unsigned, kLanes> stuck_in_ GUARDED_BY(mutex_) = {};
  unsigned reads_here_ GUARDED_BY(mutex_) = 0;  // reads on threads that have brought them
  size_t waiting_ GUARDED_BY(mutex_) = 0;
  Stats stats_ GUARDED_BY(mutex_);

  // Threads of the queue.
  List ready_ GUARDED_BY(mutex_);  // requests for these threads to run
  // A condition for each thread that sleeps until there is a request, and has not been woken.
  // The thread that worked last is at the end.
  std::vector<model::CondVar*> sleepers_ GUARDED_BY(mutex_);
  std::list<std::thread> helpers_ GUARDED_BY(mutex_);
  std::list<std::thread> finished_ GUARDED_BY(mutex_);  // to be joined
  bool ended_ GUARDED_BY(mutex_) = false;
};

}  // namespace ndlfs::fs
