// SPDX-License-Identifier: MIT
#include "fs/fuse/receivers.h"

#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <utility>

#include "fs/fuse/fuse.h"
#include "fs/serve/signals_blocked.h"

namespace ndlfs::fs {
namespace {

using model::MutexLock;
using std::chrono::milliseconds;

// Longer than a request that takes no time needs, and too short to be noticed.
constexpr milliseconds kNoneFree{5};
// More than the requests that RequestQueue runs on threads that bring them.
constexpr size_t kMost = 256;

// Makes a thread return from waiting for a request. Otherwise nobody uses this signal, and it
// is ignored unless there is a handler.
constexpr int kInterruption = SIGURG;

void HandleInterruptions() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  ::sigaction(kInterruption, &action, nullptr);
}

}  // namespace

Receivers::Receivers(fuse_session* session, unsigned least,
                     std::function<void(Clock::duration)> wake)
    : session_(session), least_(least), wake_(std::move(wake)) {
  ::sem_init(&ended_, 0, 0);
}

Receivers::~Receivers() {
  Join();
  ::sem_destroy(&ended_);
}

int Receivers::Run() {
  HandleInterruptions();
  for (unsigned i = 0; i < least_; ++i) {
    if (Start()) continue;
    if (i == 0) return -EAGAIN;
    break;  // Tick() tries again
  }
  // libfuse handles the signals that end the session, which interrupt sem_wait().
  while (fuse_session_exited(session_) == 0) ::sem_wait(&ended_);
  is_over_ = true;
  return error_;
}

bool Receivers::Start() {
  const SignalsBlocked blocked;
  const MutexLock lock(mutex_);
  if (is_over_ || receivers_.size() >= kMost) return false;
  try {
    Receiver& added = receivers_.emplace_back();
    ++size_;
    added.thread = std::thread([this, &added] { Serve(added); });
    return true;
  } catch (const std::exception&) {  // neither memory nor a thread
    if (!receivers_.empty() && !receivers_.back().thread.joinable()) {
      receivers_.pop_back();
      --size_;
    }
    return false;
  }
}

void Receivers::Serve(Receiver& self) {
  fuse_buf buffer = {};
  while (!is_over_ && fuse_session_exited(session_) == 0) {
    ++free_;
    const int received = fuse_session_receive_buf(session_, &buffer);
    const bool is_last = --free_ == 0;
    if (received == -EINTR) continue;
    if (received <= 0) {
      if (received < 0) {
        error_ = received;
        fuse_session_exit(session_);
      }
      break;
    }
    if (is_last) wake_(kNoneFree);
    fuse_session_process_buf(session_, &buffer);
    if (free_ >= least_) break;  // others were added while this one was busy
  }
  std::free(buffer.mem);
  --size_;
  self.has_ended = true;
  if (fuse_session_exited(session_) != 0) ::sem_post(&ended_);
}

std::optional<Receivers::Clock::duration> Receivers::Tick(Clock::time_point now) {
  JoinEnded();
  if (is_over_ || free_ != 0 || size_ == 0) {
    none_free_since_.reset();
    return std::nullopt;
  }
  if (!none_free_since_) none_free_since_ = now;
  if (now - *none_free_since_ >= kNoneFree) {
    Start();
    none_free_since_.reset();
  }
  return kNoneFree;
}

void Receivers::JoinEnded() {
  std::list<Receiver> ended;
  {
    const MutexLock lock(mutex_);
    for (auto it = receivers_.begin(); it != receivers_.end();) {
      const auto receiver = it++;
      if (receiver->has_ended) ended.splice(ended.end(), receivers_, receiver);
    }
  }
  for (Receiver& receiver : ended) receiver.thread.join();
}

void Receivers::Join() {
  is_over_ = true;
  std::list<Receiver> all;
  {
    const MutexLock lock(mutex_);
    all.swap(receivers_);
  }
  for (Receiver& receiver : all) {
    // It may be about to wait when the signal comes.
    while (!receiver.has_ended) {
      ::pthread_kill(receiver.thread.native_handle(), kInterruption);
      std::this_thread::sleep_for(milliseconds(1));
    }
    receiver.thread.join();
  }
}

}  // namespace ndlfs::fs
