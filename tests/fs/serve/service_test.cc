// SPDX-License-Identifier: MIT
#include "fs/serve/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "tests/support/python.h"

namespace ndlfs::fs {
namespace {

using backends::UniqueFd;

// A socket that listens at `path`.
UniqueFd Listen(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

std::string Receive(const UniqueFd& fd) {
  std::string text(4096, '\0');
  const ssize_t size = ::recv(fd.get(), text.data(), text.size(), MSG_DONTWAIT);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

TEST(JournalTest, SendsFieldsWithEachMessage) {
  const ndlfs::test::TemporaryDirectory directory;
  const std::string path = directory / "journal";
  const UniqueFd listener = Listen(path);
  const auto journal =
      Journal::Open({{"NDLFS_SOURCE", "/data"}, {"NDLFS_MOUNTPOINT", "/a\nb"}}, path);
  ASSERT_TRUE(journal);
  EXPECT_TRUE(journal->Send(4, "chunk 0.1 is corrupt"));
  // A value of several lines has its size, eight bytes, before it.
  EXPECT_EQ(
      Receive(listener),
      "MESSAGE=chunk 0.1 is corrupt\nPRIORITY=4\nSYSLOG_IDENTIFIER=ndlfs\nNDLFS_SOURCE=/data\n"
      "NDLFS_MOUNTPOINT\n" +
          std::string("\4\0\0\0\0\0\0\0", 8) + "/a\nb\n");
}

TEST(JournalTest, IsNoneWhereNobodyListens) {
  const ndlfs::test::TemporaryDirectory directory;
  EXPECT_FALSE(Journal::Open({}, directory / "journal"));
  EXPECT_FALSE(Journal::Open({}, std::string(200, 'x')));
}

}  // namespace
}  // namespace ndlfs::fs
