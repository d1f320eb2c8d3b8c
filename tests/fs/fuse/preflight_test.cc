// SPDX-License-Identifier: MIT
#include "fs/fuse/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "fs/serve/mount_info.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::ErrorCode;
using ndlfs::test::IsError;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class CheckMountTest : public ::testing::Test {
 protected:
  CheckMountTest() {
    for (const char* name : {"source", "source/inside", "mount", "mount/below"}) {
      std::filesystem::create_directory(directory_.path() / name);
    }
    std::filesystem::create_directory(directory_.path() / "empty");
    ndlfs::test::WriteFile(directory_ / "file", "");
  }
  model::Result<MountPaths> Check(const std::string& source, const std::string& mountpoint) {
    MountOptions options;
    options.source = directory_ / source;
    options.mountpoint = directory_ / mountpoint;
    return CheckMount(options);
  }
  static auto Refused(const std::string& what) {
    return IsError(ErrorCode::kBadInput, HasSubstr(what));
  }

  const ndlfs::test::TemporaryDirectory directory_;
};

TEST_F(CheckMountTest, RefusesASourceThatIsNotThere) {
  EXPECT_THAT(
      Check("nothing", "empty"),
      IsError(ErrorCode::kBadInput, AllOf(HasSubstr("source \""),
                                          EndsWith("/nothing\": No such file or directory"))));
}

TEST_F(CheckMountTest, RefusesASourceThatIsNoDirectory) {
  EXPECT_THAT(Check("file", "empty"), Refused("file\": not a directory"));
}

TEST_F(CheckMountTest, RefusesAMountPointThatIsNotThere) {
  EXPECT_THAT(
      Check("source", "nothing"),
      IsError(ErrorCode::kBadInput, AllOf(HasSubstr("mount point \""),
                                          EndsWith("/nothing\": No such file or directory"))));
}

TEST_F(CheckMountTest, RefusesAMountPointThatIsNoDirectory) {
  EXPECT_THAT(Check("source", "file"), Refused("file\": not a directory"));
}

TEST_F(CheckMountTest, RefusesAMountPointThatIsNotEmpty) {
  EXPECT_THAT(Check("source", "mount"), Refused("mount\": not empty"));
}

TEST_F(CheckMountTest, RefusesAMountPointInsideTheSource) {
  EXPECT_THAT(Check("source", "source/inside"), Refused("inside\": inside the source "));
  EXPECT_THAT(Check("source", "source"), Refused("source\": inside the source "));
}

TEST_F(CheckMountTest, RefusesASourceInsideTheMountPoint) {
  EXPECT_THAT(Check("mount/below", "mount"), Refused("below\": inside the mount point "));
}

TEST_F(CheckMountTest, SeesThroughSymbolicLinks) {
  std::filesystem::create_directory_symlink("source", directory_.path() / "link");
  EXPECT_THAT(Check("link", "source/inside"), Refused("inside\": inside the source "));
  EXPECT_THAT(Check("source", "link/inside"), Refused("inside\": inside the source "));
}

TEST_F(CheckMountTest, DoesNotTakeANameThatBeginsAlikeForTheSame) {
  std::filesystem::create_directory(directory_.path() / "source2");
  const auto paths = Check("source", "source2");
  // Where this runs there may be no FUSE, which is looked at last.
  if (!paths) {
    EXPECT_THAT(paths.error().message(), HasSubstr("/dev/fuse"));
  } else {
    EXPECT_THAT(paths->mountpoint, EndsWith("/source2"));
  }
}

TEST(MountInfoTest, ReadsPlaceTypeAndSource) {
  const auto mounts = ParseMountInfo(
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "90 22 0:50 / /mnt/a\\040b ro,nosuid shared:3 master:2 - fuse.ndlfs /data\\134x ro\n"
      "91 22 0:51 / /mnt/c rw - tmpfs tmpfs rw\n"
      "a line that is none\n");
  ASSERT_THAT(mounts, SizeIs(3));
  EXPECT_EQ(mounts[1].mountpoint, "/mnt/a b");
  EXPECT_EQ(mounts[1].type, kFilesystemType);
  EXPECT_EQ(mounts[1].source, "/data\\x");
  EXPECT_EQ(mounts[1].device, "0:50");
  EXPECT_EQ(mounts[2].type, "tmpfs");
}

TEST(MountInfoTest, SeesTheMountsOfThisProcess) {
  bool root = false;
  for (const MountEntry& mount : CurrentMounts()) root = root || mount.mountpoint == "/";
  EXPECT_TRUE(root);
}

TEST(RunUnmountTest, RefusesWhatIsNoMountOfNdlfs) {
  const ndlfs::test::TemporaryDirectory directory;
  EXPECT_THAT(RunUnmount(directory.path().string()),
              IsError(ErrorCode::kBadInput, EndsWith(": nothing is mounted there")));
  EXPECT_THAT(
      RunUnmount("/proc"),
      IsError(ErrorCode::kBadInput, "\"/proc\": not a mount of ndlfs, but of type proc"));
}

}  // namespace
}  // namespace ndlfs::fs
