// SPDX-License-Identifier: MIT
#include "fs/cli/store/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>

#include "fs/view/base/html_text.h"
#include "model/error.h"

namespace ndlfs::fs {
namespace {

// An estimate from less would jump about.
constexpr double kSecondsUntilEstimate = 1;
// Seconds between lines of progress to a file or pipe.
constexpr double kPlainInterval = 10;

// The queue that the signal handler stops.
std::atomic<PartQueue*> running_queue{nullptr};

void OnStopSignal(int) {
  if (PartQueue* queue = running_queue.load()) queue->Stop();
}

}  // namespace

std::string FormatDuration(double seconds) {
  constexpr double kLongest = 1e9;
  const auto whole = static_cast<uint64_t>(std::lround(std::fmin(seconds, kLongest)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string FormatProgress(const PartQueue::Progress& work, std::string_view counts,
                           uint64_t bytes, double seconds, std::string_view problems) {
  const double part = work.total > 0 ? work.done / work.total : 0;
  const double rate = seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
  std::string out;
  if (work.all_found) out += fmt::format("{:.0f}%, ", std::floor(100 * part));
  out += fmt::format("{}, {}/s", counts, FormatBytes(rate));
  if (!problems.empty()) out += fmt::format(", {}", problems);
  if (!work.all_found) return out + ", looking for more";
  if (seconds >= kSecondsUntilEstimate && part > 0) {
    out += fmt::format(", {} left", FormatDuration(seconds / part - seconds));
  }
  return out;
}

ProgressDisplay::ProgressDisplay(std::string_view command)
    : command_(command),
      terminal_(::isatty(STDERR_FILENO) == 1),
      next_line_(terminal_ ? 0 : kPlainInterval) {}

double ProgressDisplay::Seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void ProgressDisplay::Show(const std::string& line) {
  next_line_ = Seconds() + kPlainInterval;
  Erase();
  const std::string text = terminal_ ? line : fmt::format("ndlfs {}: {}\n", command_, line);
  std::fputs(text.c_str(), stderr);
  shown_ = terminal_;
}

void ProgressDisplay::Erase() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

void ProgressDisplay::Tell(std::string_view text) {
  Erase();
  std::fputs(fmt::format("ndlfs: {}\n", model::OneLine(text)).c_str(), stderr);
}

StopOnSignal::StopOnSignal(PartQueue& queue) {
  running_queue = &queue;
  struct sigaction action = {};
  action.sa_handler = &OnStopSignal;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
}

StopOnSignal::~StopOnSignal() {
  for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
  running_queue = nullptr;
}

}  // namespace ndlfs::fs
