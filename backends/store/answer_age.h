// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>

namespace ndlfs::backends {

// Since when the source is known to be as the calling thread has found it. Several memories may
// lie above each other, each of which trusts an answer for some time. What is kept of an answer
// out of a memory is as old as that answer: otherwise the times would add up.
//
//   const AnswerAge age(Clock::now());
//   auto found = ...;             // looks, some of them into memories
//   Keep(found, age.since());
//
// What a memory answers during the life of an AnswerAge counts for those around it, too. Only
// the thread that has made it may use it.
class AnswerAge {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `begin`: the time now, by the clock of whoever asks.
  explicit AnswerAge(Time begin);
  ~AnswerAge();
  AnswerAge(const AnswerAge&) = delete;
  AnswerAge& operator=(const AnswerAge&) = delete;

  // The source was asked for all that was found since this began at this time, or later.
  Time since() const { return std::min(begin_, oldest_); }

  // A memory gives an answer that the source was asked for at `when`.
  static void Note(Time when);

 private:
  const Time begin_;
  Time oldest_ = Time::max();  // of the answers out of memories
  AnswerAge* const outer_;
};

}  // namespace ndlfs::backends
