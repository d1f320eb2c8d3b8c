// SPDX-License-Identifier: MIT
#include "fs/serve/daemonize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using ndlfs::test::IsError;
using ndlfs::test::IsOk;
using ::testing::HasSubstr;

// What the process in the background writes when it has worked.
std::string WaitForFile(const std::string& path) {
  for (int i = 0; i < 500; ++i) {
    if (std::string text = ndlfs::test::ReadFile(path); text.ends_with('\n')) return text;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return "nothing";
}

TEST(RunInBackgroundTest, ReturnsWhenTheWorkSucceedsAndLetsItGoOn) {
  const ndlfs::test::TemporaryDirectory directory;
  const std::string path = directory / "out";
  const auto result = RunInBackground([&](Starter& starter) {
    starter.Succeed();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ndlfs::test::WriteFile(
        path + ".new",
        std::filesystem::current_path().string() + " " +
            (::isatty(STDIN_FILENO) ? "tty" : "no tty") + " " +
            (::getsid(0) == ::getpid() ? "own session" : "session of the caller") + "\n");
    std::filesystem::rename(path + ".new", path);
    ::_exit(0);  // not through the test framework
    return 0;
  });
  EXPECT_THAT(result, IsOk());
  EXPECT_EQ(WaitForFile(path), "/ no tty own session\n");
}

TEST(RunInBackgroundTest, PassesTheReasonOn) {
  EXPECT_THAT(RunInBackground([](Starter& starter) {
                starter.Fail("no\nroom " + std::string(100'000, 'x'));
                ::_exit(1);
                return 1;
              }),
              IsError(model::ErrorCode::kBadInput, ::testing::StartsWith("no\nroom xxx")));
}

TEST(RunInBackgroundTest, SaysSoWhenTheProcessJustEnds) {
  EXPECT_THAT(RunInBackground([](Starter&) {
                ::_exit(0);
                return 0;
              }),
              IsError(model::ErrorCode::kInternal, HasSubstr("without a word")));
}

TEST(RunInBackgroundTest, SaysSoWhenTheProcessCrashes) {
  EXPECT_THAT(RunInBackground([](Starter&) {
                ::raise(SIGKILL);
                return 0;
              }),
              IsError(model::ErrorCode::kInternal, HasSubstr("without a word")));
}

}  // namespace
}  // namespace ndlfs::fs
