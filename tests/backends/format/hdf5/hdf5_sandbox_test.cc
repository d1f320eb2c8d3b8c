// SPDX-License-Identifier: MIT
//
// What the process of libhdf5 can do, should a file take it over.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ostream>
#include <string>

#include "backends/format/hdf5/sandbox.h"
#include "backends/store/local/source_root.h"
#include "tests/support/python.h"

namespace ndlfs::backends::hdf5 {
namespace {

// Something that is tried: yields less than 0, and errno, if it is refused.
using Attempt = long (*)();

// What comes of it in a process that has gone into the sandbox: an errno, or 0.
int ErrnoInside(const std::string& root, Attempt attempt) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    EnterSandbox(::open(root.c_str(), O_RDONLY | O_DIRECTORY));
    ::_exit(attempt() < 0 ? errno : 0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  return WEXITSTATUS(status);
}

// Where the kernel has none, nothing but the library's driver confines it.
bool HasLandlock() {
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >
         0;
}

struct ForbiddenCall {
  const char* name;
  Attempt attempt;
  // In a build that refuses no system calls.
  int otherwise;
};

void PrintTo(const ForbiddenCall& call, std::ostream* out) { *out << call.name; }

constexpr int kNoFile = 99;

long Execute() {
  char program[] = "/bin/true";
  char* arguments[] = {program, nullptr};
  return ::execv(program, arguments);
}

long Fork() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  return pid;
}

long MapCode() {
  void* const page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? -1 : 0;
}

long TurnIntoCode() {
  void* const page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) ::_exit(kNoFile);
  return ::mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

long SendADescriptor() {
  msghdr message = {};
  return ::sendmsg(kNoFile, &message, 0);
}

long StatByName() {
  struct ::stat status;
  return ::fstatat(AT_FDCWD, "/etc/passwd", &status, 0);
}

const ForbiddenCall kForbiddenCalls[] = {
    {"Socket", [] { return long{::socket(AF_INET, SOCK_STREAM, 0)}; }, 0},
    {"Fork", &Fork, 0},
    {"Execute", &Execute, EACCES},  // by Landlock
    {"OpenByName", [] { return long{::open("/etc/passwd", O_RDONLY)}; }, EACCES},
    {"StatByName", &StatByName, 0},
    {"MapCode", &MapCode, 0},
    {"TurnIntoCode", &TurnIntoCode, 0},
    {"SendADescriptor", &SendADescriptor, EBADF},
    {"SignalAnother", [] { return long{::kill(::getppid(), 0)}; }, 0},
    {"SignalAThreadOfAnother",
     [] { return ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0); }, 0},
};

class Hdf5ForbiddenCallTest : public ::testing::TestWithParam<ForbiddenCall> {};

TEST_P(Hdf5ForbiddenCallTest, IsNotThereInTheSandbox) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(ErrnoInside(directory.path(), GetParam().attempt),
            RefusesSystemCalls() ? ENOSYS : GetParam().otherwise);
}

INSTANTIATE_TEST_SUITE_P(, Hdf5ForbiddenCallTest, ::testing::ValuesIn(kForbiddenCalls),
                         [](const auto& test) { return std::string(test.param.name); });

long OpenBySystemCall(const char* path) {
  open_how how = {};
  how.flags = O_RDONLY;
  return ::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

TEST(Hdf5SandboxTest, FilesElsewhereCannotBeOpened) {
  const test::TemporaryDirectory directory;
  const auto attempt = [] { return OpenBySystemCall("/etc/passwd"); };
  EXPECT_EQ(ErrnoInside(directory.path(), attempt), HasLandlock() ? EACCES : 0);
}

TEST(Hdf5SandboxTest, FilesBeneathTheRootCanBeReadButNotWritten) {
  const test::TemporaryDirectory directory;
  test::WriteFile(directory / "file", "text");
  static std::string path;
  path = directory / "file";
  const auto read = [] {
    char text[4];
    const long fd = OpenBySystemCall(path.c_str());
    return fd < 0 ? fd : ::pread(static_cast<int>(fd), text, 4, 0) - 4;
  };
  EXPECT_EQ(ErrnoInside(directory.path(), read), 0);
  const auto write = [] {
    open_how how = {};
    how.flags = O_WRONLY;
    return ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how));
  };
  EXPECT_EQ(ErrnoInside(directory.path(), write), HasLandlock() ? EACCES : 0);
}

TEST(Hdf5SandboxTest, AnAbortIsAnAbort) {
  const test::TemporaryDirectory directory;
  EXPECT_EXIT(
      {
        EnterSandbox(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY));
        std::abort();
      },
      ::testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace ndlfs::backends::hdf5
