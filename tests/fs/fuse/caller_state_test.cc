// SPDX-License-Identifier: MIT
#include "fs/fuse/caller_state.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace ndlfs::fs {
namespace {

// Masks are those of /proc: bit 0 is signal 1.
struct Signals {
  const char* of_thread = "0";
  const char* of_process = "0";
  const char* blocked = "0";
  const char* ignored = "0";
  const char* handled = "0";
};

std::string Status(const Signals& signals, const char* state = "D (disk sleep)") {
  return std::string("Name:\tcat\nUmask:\t0022\nState:\t") + state +
         "\nTgid:\t7\nSigQ:\t0/31381\nSigPnd:\t" + signals.of_thread + "\nShdPnd:\t" +
         signals.of_process + "\nSigBlk:\t" + signals.blocked + "\nSigIgn:\t" +
         signals.ignored + "\nSigCgt:\t" + signals.handled + "\nCapInh:\t0000000000000000\n";
}

TEST(CallerStateTest, WaitsWithoutSignals) {
  EXPECT_EQ(ParseCallerState(Status({})), CallerState::kWaits);
}

TEST(CallerStateTest, EndsWhenKilled) {
  EXPECT_EQ(ParseCallerState(Status({.of_thread = "0000000000000100"})), CallerState::kEnds);
  EXPECT_EQ(ParseCallerState(Status({.of_process = "0000000000000100"})), CallerState::kEnds);
}

TEST(CallerStateTest, EndsBySignalThatDumpsCore) {
  EXPECT_EQ(ParseCallerState(Status({.of_process = "0000000000000004"})), CallerState::kEnds);
}

TEST(CallerStateTest, IsAskedToEndWhereItHandlesTheSignal) {
  for (const char* signal : {"1", "2", "4", "4000"}) {
    EXPECT_EQ(ParseCallerState(Status({.of_process = signal, .handled = "ffff"})),
              CallerState::kIsAsked)
        << signal;
  }
}

// Profilers and runtimes send such signals to themselves all the time.
TEST(CallerStateTest, GoesOnWaitingWithHandledSignalsThatAskForNothing) {
  constexpr const char* kAlarm = "0000000000002000";
  constexpr const char* kUrgent = "0000000000400000";
  constexpr const char* kProfiler = "0000000004000000";
  for (const char* signal : {kAlarm, kUrgent, kProfiler}) {
    EXPECT_EQ(ParseCallerState(Status({.of_thread = signal, .handled = "ffffffffffffffff"})),
              CallerState::kWaits)
        << signal;
  }
}

TEST(CallerStateTest, GoesOnWaitingWithBlockedAndIgnoredSignals) {
  EXPECT_EQ(ParseCallerState(Status({.of_process = "2", .blocked = "2"})), CallerState::kWaits);
  EXPECT_EQ(ParseCallerState(Status({.of_process = "2", .ignored = "2"})), CallerState::kWaits);
}

TEST(CallerStateTest, GoesOnWaitingWithSignalsThatEndNothing) {
  EXPECT_EQ(ParseCallerState(Status({.of_process = "10000"})), CallerState::kWaits)
      << "SIGCHLD without a handler";
}

TEST(CallerStateTest, ZombieHasEnded) {
  EXPECT_EQ(ParseCallerState(Status({}, "Z (zombie)")), CallerState::kEnds);
  EXPECT_EQ(ParseCallerState(Status({}, "X (dead)")), CallerState::kEnds);
}

TEST(CallerStateTest, TextThatSaysNothingMeansWaiting) {
  for (const char* text : {"", "State:", "SigPnd:\t", "SigPnd:\tzz\nShdPnd:\t\n", "\n\n"}) {
    EXPECT_EQ(ParseCallerState(text), CallerState::kWaits) << text;
  }
}

TEST(CallerStateTest, UnknownThreadWaits) {
  EXPECT_EQ(LookAtCaller(0), CallerState::kWaits);
  EXPECT_EQ(LookAtCaller(-1), CallerState::kWaits);
}

// The read of a directory fails, as that of a process that ends after open() does.
TEST(CallerStateTest, FileThatOpensAndCannotBeReadIsEmpty) {
  EXPECT_EQ(ReadProcessFile("/proc/self"), "");
  EXPECT_EQ(ReadProcessFile("/proc/self/no such file"), "");
  EXPECT_NE(ReadProcessFile("/proc/self/status").find("\nUid:\t"), std::string::npos);
}

TEST(CallerStateTest, TellsProcessesThatRunFromThoseThatHaveEnded) {
  EXPECT_EQ(LookAtCaller(::gettid()), CallerState::kWaits);
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  EXPECT_EQ(LookAtCaller(child), CallerState::kWaits);
  ::kill(child, SIGKILL);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(LookAtCaller(child), CallerState::kEnds) << "nobody has waited for it";
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(LookAtCaller(child), CallerState::kEnds);
}

}  // namespace
}  // namespace ndlfs::fs
