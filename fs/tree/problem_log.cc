// SPDX-License-Identifier: MIT
#include "fs/tree/problem_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <utility>

#include "model/error.h"

namespace ndlfs::fs {
namespace {

constexpr size_t kMostLines = 2000;
constexpr size_t kLineLimit = 4096;
constexpr size_t kToldLimit = 10'000;
constexpr uint64_t kLinesPerWindow = 100;
constexpr auto kWindow = std::chrono::minutes(1);
constexpr auto kTellAgainAfter = std::chrono::hours(1);

std::string WithTime(std::string_view line, std::chrono::system_clock::time_point now) {
  const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(now);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ} {}", fmt::gmtime(seconds), line);
}

// Null for the user who mounts, and root.
backends::CallerPtr OtherCaller() {
  const auto& caller = backends::CallerScope::Current();
  return caller && !caller->is_self ? caller : nullptr;
}

}  // namespace

ProblemLog::ProblemLog(Sink sink, Clock clock)
    : sink_(std::move(sink)), clock_(std::move(clock)) {}

void ProblemLog::Report(std::string_view text) {
  const std::string line = model::OneLine(text.substr(0, kLineLimit));
  std::deque<std::string> out;
  {
    model::MutexLock lock(mutex_);
    ++reported_;
    const Time now = clock_();
    const size_t identity = std::hash<std::string_view>()(line);
    const auto caller = OtherCaller();
    const bool is_first = IsNews(identity, now);
    const bool is_news = caller ? IsNews(identity + caller->id, now) : is_first;
    if (!is_first && !is_news) return;
    kept_.push_back({WithTime(line, now), caller, is_first});
    if (kept_.size() > kMostLines) kept_.erase(kept_.begin(), kept_.begin() + kMostLines / 2);
    if (is_first) Throttle(line, now, out);
  }
  if (!sink_) return;
  for (const std::string& ready : out) sink_(ready);
}

bool ProblemLog::IsNews(size_t identity, Time now) {
  // Starting over now and then costs a repeated line; memory stays bounded.
  if (told_.size() >= kToldLimit) told_.clear();
  const auto [it, inserted] = told_.try_emplace(identity, now);
  if (inserted) return true;
  if (now - it->second < kTellAgainAfter) return false;
  it->second = now;
  return true;
}

void ProblemLog::Throttle(std::string_view line, Time now, std::deque<std::string>& out) {
  if (now - window_ >= kWindow || now < window_) {
    if (held_back_ > 0) {
      out.push_back(fmt::format("{} more problems; see .ndlfs/errors.log", held_back_));
    }
    window_ = now;
    in_window_ = held_back_ = 0;
  }
  if (++in_window_ > kLinesPerWindow) {
    ++held_back_;
    return;
  }
  out.emplace_back(line);
}

std::string ProblemLog::Text() const {
  const auto caller = OtherCaller();
  model::MutexLock lock(mutex_);
  std::string text;
  for (const Entry& entry : kept_) {
    if (caller ? entry.caller != caller : !entry.is_first) continue;
    text += entry.text;
    text += '\n';
  }
  return text;
}

uint64_t ProblemLog::reported() const {
  model::MutexLock lock(mutex_);
  return reported_;
}

}  // namespace ndlfs::fs
