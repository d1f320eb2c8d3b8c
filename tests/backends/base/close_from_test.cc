// SPDX-License-Identifier: MIT
#include "backends/base/close_from.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ndlfs::backends {
namespace {

// In a process of its own: how many of the descriptors above a few are open after `close`; -1
// if it fails or takes one that it shall keep.
int OpenAfter(bool (*close)(int)) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr int kFirst = 5;
    constexpr int kLast = 300;
    for (const int fd : {3, 4, 5, 6, 100, kLast}) ::dup2(STDERR_FILENO, fd);
    if (!close(kFirst)) ::_exit(100);
    for (int fd = 0; fd < kFirst; ++fd) {
      if (::fcntl(fd, F_GETFD) < 0) ::_exit(101);
    }
    int open = 0;
    for (int fd = kFirst; fd <= kLast; ++fd) open += ::fcntl(fd, F_GETFD) >= 0;
    ::_exit(open);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) < 100 ? WEXITSTATUS(status) : -1;
}

TEST(CloseFromTest, ClosesAllAndOnlyThoseFromThere) {
  EXPECT_EQ(OpenAfter(&CloseFrom), 0);
  EXPECT_EQ(OpenAfter(&CloseFromByLooking), 0) << "as before Linux 5.9";
}

}  // namespace
}  // namespace ndlfs::backends
