// SPDX-License-Identifier: MIT
#include "backends/store/local/confined_open.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(int fd) {
  std::string text(100, '\0');
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  return text.substr(0, size < 0 ? 0 : static_cast<size_t>(size));
}

// The error, or which file it is and how it is open.
std::string Outcome(int top, const std::string& path, int flags, const ConfinedOpen& how) {
  const auto opened = OpenConfined(top, path, flags, how);
  if (!opened) return "errno " + std::to_string(opened.error().sys_errno());
  struct ::stat status;
  if (::fstat(opened->get(), &status) != 0) return "no status";
  return std::to_string(status.st_ino) + " flags " +
         std::to_string(::fcntl(opened->get(), F_GETFL) & ~O_NOFOLLOW) + " closes " +
         std::to_string(::fcntl(opened->get(), F_GETFD));
}

class ConfinedOpenTest : public ::testing::Test {
 protected:
  ConfinedOpenTest() {
    fs::create_directories(directory_ / "outside/deep");
    test::WriteFile(directory_ / "outside/secret", "secret");
    fs::create_directories(directory_ / "top/a/b");
    test::WriteFile(directory_ / "top/f", "file");
    test::WriteFile(directory_ / "top/a/f", "inner");
    top_ = UniqueFd(::open((directory_ / "top").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    is_old_ = FindConfinement(top_.get()) == Confinement::kByParts;
  }
  void Link(const std::string& target, const std::string& name) {
    fs::create_symlink(target, directory_.path() / "top" / name);
  }
  // Both ways, for one path.
  void ExpectSame(int top, const std::string& path) {
    const int kinds[] = {O_RDONLY | O_NONBLOCK,
                         O_RDONLY | O_NONBLOCK | O_NOFOLLOW,
                         O_RDONLY | O_DIRECTORY,
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
                         O_PATH,
                         O_PATH | O_NOFOLLOW,
                         O_PATH | O_DIRECTORY,
                         O_PATH | O_DIRECTORY | O_NOFOLLOW};
    for (const int flags : kinds) {
      for (const bool follows : {true, false}) {
        for (const bool crosses : {true, false}) {
          const ConfinedOpen by_parts{Confinement::kByParts, follows, crosses};
          const ConfinedOpen by_kernel{Confinement::kByKernel, follows, crosses};
          EXPECT_EQ(Outcome(top, path, flags, by_parts), Outcome(top, path, flags, by_kernel))
              << path << " flags " << flags << " follows " << follows << " crosses " << crosses;
        }
      }
    }
  }

  test::TemporaryDirectory directory_;
  UniqueFd top_;
  bool is_old_ = false;
};

TEST_F(ConfinedOpenTest, ByPartsIsWhatTheKernelDoes) {
  if (is_old_) GTEST_SKIP() << "no openat2 to compare with";
  Link("a", "to_folder");
  Link("a/", "to_slash");
  Link("f", "to_file");
  Link("f/", "to_file_slash");
  Link("../../f", "a/b/up");
  Link("../../../outside", "a/b/out");
  Link(directory_ / "top/f", "absolute");
  Link("loop", "loop");
  Link("a/b/up", "twice");
  Link("none", "dangling");
  Link("..", "parent");
  Link("a/..", "around");
  ASSERT_EQ(::mkfifo((directory_ / "top/fifo").c_str(), 0600), 0);
  const std::vector<std::string> names = {".",        "..",
                                          "a",        "b",
                                          "f",        "up",
                                          "out",      "to_folder",
                                          "to_slash", "none",
                                          "to_file",  "twice",
                                          "loop",     "absolute",
                                          "around",   "parent",
                                          "fifo",     "",
                                          "deep",     "to_file_slash",
                                          "dangling", std::string(300, 'x')};
  for (const std::string& first : names) {
    ExpectSame(top_.get(), first);
    for (const std::string& second : names) {
      ExpectSame(top_.get(), first + "/" + second);
      // What most paths of three parts begin with leads nowhere.
      if (second != "b" && second != ".." && second != "a" && second != "around") continue;
      for (const std::string& third : names) {
        ExpectSame(top_.get(), first + "/" + second + "/" + third);
      }
    }
  }
  ExpectSame(top_.get(), "a/b/../../a/./b//../f");
  ExpectSame(top_.get(), "a/b/../../../top/f");
  ExpectSame(top_.get(), std::string(5000, '/'));
  ExpectSame(top_.get(), "./" + std::string(4093, 'x'));
}

TEST_F(ConfinedOpenTest, ByPartsIsWhatTheKernelDoesWithOtherMounts) {
  if (is_old_) GTEST_SKIP() << "no openat2 to compare with";
  const UniqueFd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const char* path :
       {"proc", "proc/.", "proc/uptime", "proc/mounts", "dev/null", "proc/..", "proc/sys"}) {
    ExpectSame(root.get(), path);
  }
  const ConfinedOpen how{Confinement::kByParts, true, /*crosses_mounts=*/false};
  EXPECT_THAT(OpenConfined(root.get(), "proc/uptime", O_RDONLY, how), test::IsErrno(EXDEV));
  EXPECT_THAT(OpenConfined(root.get(), "proc", O_PATH, how), test::IsErrno(EXDEV));
}

// Links of /proc lead anywhere, whatever their text says.
TEST_F(ConfinedOpenTest, MagicLinksAreNotFollowed) {
  const UniqueFd secret(::open((directory_ / "outside/secret").c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const Confinement way : {Confinement::kByKernel, Confinement::kByParts}) {
    if (is_old_ && way == Confinement::kByKernel) continue;
    for (const std::string& path :
         {"self/fd/" + std::to_string(secret.get()), std::string("self/root/etc/passwd"),
          std::string("self/ns/mnt"), std::string("self/exe")}) {
      EXPECT_FALSE(OpenConfined(proc.get(), path, O_RDONLY, {.confinement = way})) << path;
    }
  }
}

TEST_F(ConfinedOpenTest, AFolderWithoutThePermissionToPassHasNoWayBack) {
  if (::geteuid() == 0) GTEST_SKIP() << "root passes everywhere";
  fs::permissions(directory_ / "top/a", fs::perms::owner_read);
  EXPECT_THAT(OpenConfined(top_.get(), "a/../f", O_RDONLY, {Confinement::kByParts}),
              test::IsErrno(EACCES));
  fs::permissions(directory_ / "top/a", fs::perms::owner_all);
}

// A folder moves out of the source and back, while paths lead through it and back up.
TEST_F(ConfinedOpenTest, AFolderThatIsMovedOutNeverLeadsOut) {
  test::WriteFile(directory_ / "outside/f", "secret");
  const std::jthread mover([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::error_code ignored;
      fs::rename(directory_ / "top/a", directory_ / "outside/a", ignored);
      fs::rename(directory_ / "outside/a", directory_ / "top/a", ignored);
    }
  });
  for (const Confinement way : {Confinement::kByKernel, Confinement::kByParts}) {
    if (is_old_ && way == Confinement::kByKernel) continue;
    for (int i = 0; i < 2000; ++i) {
      const auto opened =
          OpenConfined(top_.get(), "a/b/../../f", O_RDONLY, {.confinement = way});
      if (opened) {
        ASSERT_EQ(ReadAll(opened->get()), "file");
      }
      if (opened) continue;
      const int error = opened.error().sys_errno();
      ASSERT_TRUE(error == ENOENT || error == EXDEV || error == EAGAIN) << error;
    }
  }
}

// A name that is now a folder, now a link that leads out.
TEST_F(ConfinedOpenTest, AFolderThatBecomesALinkNeverLeadsOut) {
  test::WriteFile(directory_ / "outside/f", "secret");
  fs::create_directory_symlink("../outside", directory_ / "top/link");
  const std::jthread mover([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ::renameat2(top_.get(), "a", top_.get(), "link", RENAME_EXCHANGE);
    }
  });
  for (int i = 0; i < 2000; ++i) {
    const auto opened = OpenConfined(top_.get(), "a/f", O_RDONLY, {Confinement::kByParts});
    if (opened) {
      ASSERT_EQ(ReadAll(opened->get()), "inner");
    }
  }
}

// Each way back up is gone again from the top.
TEST_F(ConfinedOpenTest, APathThatGoesUpAndDownForeverEnds) {
  std::string path;
  for (int i = 0; i < 200; ++i) path += "d/";
  fs::create_directories(directory_.path() / "top" / path);
  while (path.size() < 4000) path += "../d/";
  EXPECT_THAT(OpenConfined(top_.get(), path, O_RDONLY, {Confinement::kByParts}),
              test::IsErrno(ELOOP));
}

}  // namespace
}  // namespace ndlfs::backends
