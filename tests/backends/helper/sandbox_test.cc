// SPDX-License-Identifier: MIT
//
// What a helper can do, should a file take it over.
#include "backends/helper/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <ostream>
#include <string>

namespace ndlfs::backends::helper {
namespace {

// Something that is tried: yields less than 0, and errno, if it is refused.
using Attempt = long (*)();

// What comes of it in a process that has gone into the sandbox: an errno, or 0.
int ErrnoInside(Attempt attempt) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    EnterSandbox();
    ::_exit(attempt() < 0 ? errno : 0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  return WEXITSTATUS(status);
}

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

long OpenBySystemCall(const char* path, uint64_t flags) {
  open_how how = {};
  how.flags = flags;
  return ::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

// What the process may have from before: its program, and a socket.
const int kProgram = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
const int kOtherSocket = [] {
  int ends[2] = {-1, -1};
  return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 ? ends[0] : -1;
}();

long MapAFile() {
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, kProgram, 0);
  return page == MAP_FAILED ? -1 : 0;
}

long ReadADescriptor() {
  char byte;
  return ::read(kProgram, &byte, 1);
}

long ReadAnywhereInADescriptor() {
  char byte;
  return ::pread(kProgram, &byte, 1, 0);
}

long SendToAnotherSocket() { return ::send(kOtherSocket, "x", 1, 0); }

long StatByName() {
  struct ::stat status;
  return ::fstatat(AT_FDCWD, "/etc/passwd", &status, 0);
}

const ForbiddenCall kForbiddenCalls[] = {
    {"Socket", [] { return long{::socket(AF_INET, SOCK_STREAM, 0)}; }, 0},
    {"Fork", &Fork, 0},
    {"Execute", &Execute, EACCES},  // by Landlock
    {"OpenByName", [] { return long{::open("/etc/passwd", O_RDONLY)}; }, EACCES},
    {"OpenBySystemCall", [] { return OpenBySystemCall("/etc/passwd", O_RDONLY); }, EACCES},
    {"OpenByHandle", [] { return ::syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, 0); },
     EFAULT},
    {"ListADirectory", [] { return OpenBySystemCall("/", O_RDONLY | O_DIRECTORY); }, EACCES},
    {"ReadLink",
     [] {
       char target[16];
       return long{::readlinkat(AT_FDCWD, "/proc/self/exe", target, sizeof(target))};
     },
     0},
    {"MakeAFile", [] { return OpenBySystemCall("/tmp", O_WRONLY | O_TMPFILE); }, EACCES},
    {"MapAFile", &MapAFile, 0},
    {"ReadADescriptor", &ReadADescriptor, 0},
    {"ReadAnywhereInADescriptor", &ReadAnywhereInADescriptor, 0},
    {"WriteToStandardOutput", [] { return long{::write(STDOUT_FILENO, "", 0)}; }, 0},
    {"SendToAnotherSocket", &SendToAnotherSocket, 0},
    {"StatByName", &StatByName, 0},
    {"MapCode", &MapCode, 0},
    {"TurnIntoCode", &TurnIntoCode, 0},
    {"SendADescriptor", &SendADescriptor, EBADF},
    {"SignalAnother", [] { return long{::kill(::getppid(), 0)}; }, 0},
    {"SignalAThreadOfAnother",
     [] { return ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0); }, 0},
};

class ForbiddenCallTest : public ::testing::TestWithParam<ForbiddenCall> {};

TEST_P(ForbiddenCallTest, IsNotThereInTheSandbox) {
  if (!RefusesSystemCalls() && GetParam().otherwise == EACCES) {
    ASSERT_TRUE(HasLandlock())
        << "nothing refuses files here: this kernel has no Landlock, and "
           "this build does without seccomp";
  }
  EXPECT_EQ(ErrnoInside(GetParam().attempt),
            RefusesSystemCalls() ? ENOSYS : GetParam().otherwise);
}

INSTANTIATE_TEST_SUITE_P(, ForbiddenCallTest, ::testing::ValuesIn(kForbiddenCalls),
                         [](const auto& test) { return std::string(test.param.name); });

// What comes of opening `name` with `flags` in a process that may read `folder`: an errno, or 0
// if its first byte can be read.
int ErrnoOfReading(const std::string& folder, const std::string& name, int flags = O_RDONLY) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    EnterSandbox({{folder, folder + "/absent"}});
    const int fd = ::open((folder + name).c_str(), flags, 0600);
    char byte;
    ::_exit(fd < 0 || ::read(fd, &byte, 1) != 1 ? errno : 0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SandboxTest, FoldersMayBeReadAndNothingElse) {
  if (!HasLandlock()) GTEST_SKIP() << "this kernel has no Landlock";
  const std::string folder = ::testing::TempDir() + "readable_" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  std::ofstream(folder + "/file") << "text";
  EXPECT_EQ(ErrnoOfReading(folder, "/file"), 0);
  EXPECT_EQ(ErrnoOfReading(folder, "/absent"), ENOENT);
  EXPECT_EQ(ErrnoOfReading(folder, "/../../../../../etc/passwd"), EACCES);
  const int refused = RefusesSystemCalls() ? ENOSYS : EACCES;
  EXPECT_EQ(ErrnoOfReading(folder, "/file", O_RDWR), refused);
  EXPECT_EQ(ErrnoOfReading(folder, "/new", O_RDONLY | O_CREAT), refused);
  ::unlink((folder + "/file").c_str());
  ::rmdir(folder.c_str());
}

TEST(SandboxTest, SaysWhatIsOutOfReach) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Confinement confinement = EnterSandbox({{"/usr"}});
    ::_exit((confinement.is_of_files ? 1 : 0) + (confinement.is_of_calls ? 2 : 0));
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), (HasLandlock() ? 1 : 0) + (RefusesSystemCalls() ? 2 : 0));
}

TEST(SandboxTest, AnAbortIsAnAbort) {
  EXPECT_EXIT(
      {
        EnterSandbox();
        std::abort();
      },
      ::testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace ndlfs::backends::helper
