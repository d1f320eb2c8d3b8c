// SPDX-License-Identifier: MIT
#include "backends/store/caller.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "backends/store/local/descriptor_cache.h"
#include "backends/store/local/source_root.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using ::testing::EndsWith;

constexpr uid_t kAlice = 5001;
constexpr uid_t kBob = 5002;
constexpr gid_t kStaff = 6001;

// A line of what the kernel says of the calling thread, such as "CapEff".
std::string StatusOfThread(const std::string& name) {
  std::ifstream status("/proc/thread-self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return line.substr(name.size() + 2);
  }
  return "";
}

std::string IdentityOfThread() {
  return StatusOfThread("Uid") + "|" + StatusOfThread("Gid") + "|" + StatusOfThread("Groups") +
         "|" + StatusOfThread("CapEff");
}

uint64_t EffectiveCapabilities() { return std::stoull(StatusOfThread("CapEff"), nullptr, 16); }

CallerPtr User(uid_t uid, std::vector<gid_t> groups = {}) {
  return FindCaller(uid, uid, std::move(groups));
}

TEST(FindCallerTest, OneIdentityIsOneObject) {
  EXPECT_EQ(User(kAlice, {1, 2}), User(kAlice, {2, 1, 2}));
  EXPECT_NE(User(kAlice)->id, User(kBob)->id);
  EXPECT_NE(User(kAlice, {1})->id, User(kAlice)->id);
  EXPECT_NE(FindCaller(kAlice, 1, {})->id, FindCaller(kAlice, 2, {})->id);
}

TEST(FindCallerTest, IdIsNotGivenAgain) {
  const uint64_t first = User(kAlice)->id;
  EXPECT_NE(User(kAlice)->id, first) << "nobody has held it meanwhile";
}

TEST(FindCallerTest, RootMayWhatThisProcessMay) {
  EXPECT_EQ(FindCaller(0, kStaff, {7}), SelfAsCaller());
  EXPECT_TRUE(SelfAsCaller()->is_self);
}

TEST(CallerScopeTest, EndsWithTheOneAround) {
  EXPECT_EQ(CallerScope::CurrentId(), 0u);
  {
    const CallerScope outer(User(kAlice));
    {
      const CallerScope inner(User(kBob));
      EXPECT_EQ(CallerScope::Current()->uid, kBob);
    }
    EXPECT_EQ(CallerScope::Current()->uid, kAlice);
    std::thread([] { EXPECT_EQ(CallerScope::Current(), nullptr); }).join();
  }
  EXPECT_EQ(CallerScope::Current(), nullptr);
}

// Becoming somebody else takes root.
class TakenIdentityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MayTakeIdentities() && ::geteuid() == 0) << "has to be run by root";
    ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
    for (const char* name : {"open", "alices", "staffs", "not_staffs"}) {
      test::WriteFile(directory_ / name, name);
    }
    Give("alices", kAlice, 0, 0600);
    Give("staffs", 0, kStaff, 0640);
    Give("not_staffs", 0, kStaff, 0604);
    root_ = SourceRoot::Open(directory_.path(), /*shared=*/true).value();
  }
  void Give(const std::string& name, uid_t uid, gid_t gid, mode_t mode) {
    const std::string path = directory_ / name;
    ASSERT_EQ(::chown(path.c_str(), uid, gid), 0);
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  // 0, or why it cannot be opened.
  int Open(const CallerPtr& caller, const std::string& name) {
    const CallerScope scope(caller);
    const auto fd = root_->OpenBeneath(name);
    return fd ? 0 : fd.error().sys_errno();
  }

  test::TemporaryDirectory directory_;
  std::shared_ptr<const SourceRoot> root_;
};

TEST_F(TakenIdentityTest, OpensWhatTheUserMayOpen) {
  EXPECT_EQ(Open(User(kAlice), "alices"), 0);
  EXPECT_EQ(Open(User(kBob), "alices"), EACCES);
  EXPECT_EQ(Open(User(kBob), "open"), 0);
  EXPECT_EQ(Open(SelfAsCaller(), "alices"), 0);
}

TEST_F(TakenIdentityTest, SupplementaryGroupsCount) {
  EXPECT_EQ(Open(User(kBob), "staffs"), EACCES);
  EXPECT_EQ(Open(User(kBob, {1, kStaff}), "staffs"), 0);
  EXPECT_EQ(Open(User(kBob), "not_staffs"), 0);
  EXPECT_EQ(Open(User(kBob, {kStaff}), "not_staffs"), EACCES);
}

TEST_F(TakenIdentityTest, FolderThatIsClosedIsNotPassed) {
  ASSERT_EQ(::mkdir((directory_ / "folder").c_str(), 0755), 0);
  test::WriteFile(directory_ / "folder/file", "x");
  EXPECT_EQ(Open(User(kBob), "folder/file"), 0);
  Give("folder", kAlice, kAlice, 0700);
  EXPECT_EQ(Open(User(kBob), "folder/file"), EACCES);
  const CallerScope scope(User(kBob));
  EXPECT_FALSE(root_->Stat("folder/file"));
  EXPECT_FALSE(DirectoryStream::Open(*root_, "folder"));
}

TEST_F(TakenIdentityTest, LacksTheRightToReadAnyFileAndGetsItBack) {
  constexpr uint64_t kOverride = uint64_t{1} << 1 | uint64_t{1}
                                                        << 2;  // DAC_OVERRIDE, READ_SEARCH
  const uint64_t before = EffectiveCapabilities();
  ASSERT_NE(before & kOverride, 0u);
  {
    const auto identity = TakenIdentity::Take(*User(kBob));
    ASSERT_TRUE(identity);
    EXPECT_EQ(EffectiveCapabilities() & kOverride, 0u);
  }
  EXPECT_EQ(EffectiveCapabilities(), before);
}

TEST_F(TakenIdentityTest, ThreadIsItselfAgainAfterEachOpen) {
  const std::string before = IdentityOfThread();
  for (const char* name : {"open", "alices", "absent"}) {
    Open(User(kBob, {kStaff, 7, 8}), name);
    EXPECT_EQ(IdentityOfThread(), before) << name;
  }
}

TEST_F(TakenIdentityTest, IsOfOneThreadAlone) {
  std::promise<void> taken;
  std::string seen_by_other;
  std::thread other([&] {
    taken.get_future().wait();
    seen_by_other = IdentityOfThread();
  });
  const std::string before = IdentityOfThread();
  {
    const auto identity = TakenIdentity::Take(*User(kBob, {kStaff}));
    taken.set_value();
    other.join();
    ASSERT_TRUE(identity);
    EXPECT_EQ(StatusOfThread("Groups"), std::to_string(kStaff) + " ");
    EXPECT_THAT(StatusOfThread("Uid"), EndsWith("\t" + std::to_string(kBob)));
  }
  EXPECT_EQ(seen_by_other, before);
}

TEST_F(TakenIdentityTest, SharedRootOpensNothingForNobody) {
  const auto refused = root_->OpenBeneath("open");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().sys_errno(), EACCES);
  EXPECT_TRUE(SourceRoot::Open(directory_.path()).value()->OpenBeneath("open"));
}

TEST_F(TakenIdentityTest, KeptDescriptorIsNotAnothersToRead) {
  const auto store = MakeDirectoryStore(root_, "");
  std::byte first[2];
  const auto read = [&](uid_t uid) {
    const CallerScope scope(User(uid));
    return store->ReadInto("alices", 0, first);
  };
  const CallerPtr alice = User(kAlice);  // remembered, and with it what it has open
  EXPECT_TRUE(read(kAlice));
  const size_t kept = DescriptorCache::Global().size();
  EXPECT_FALSE(read(kBob));
  EXPECT_TRUE(read(kAlice));
  EXPECT_EQ(DescriptorCache::Global().size(), kept);
}

// Where an ordinary user mounts for others, modes are compared.
TEST_F(TakenIdentityTest, WhoCannotBecomeOthersShowsThemWhatModesGrant) {
  Give("alices", kAlice, kAlice, 0640);
  Give("staffs", kAlice, kStaff, 0640);
  Give("not_staffs", kAlice, kStaff, 0604);
  ASSERT_EQ(::mkdir((directory_ / "folder").c_str(), 0755), 0);
  ASSERT_EQ(::mkdir((directory_ / "folder/closed").c_str(), 0755), 0);
  test::WriteFile(directory_ / "folder/closed/file", "x");
  Give("folder", kAlice, kAlice, 0700);
  const auto as_alice = [&] {
    const bool done =
        ::setresgid(kAlice, kAlice, kAlice) == 0 && ::setresuid(kAlice, kAlice, kAlice) == 0;
    if (!done || MayTakeIdentities()) std::exit(100);
    root_ = SourceRoot::Open(directory_.path(), /*shared=*/true).value();
    const auto opens = [&](std::vector<gid_t> groups, const char* name) {
      return Open(User(kBob, std::move(groups)), name) == 0;
    };
    const std::array seen = {
        opens({}, "open"),
        !opens({}, "alices"),
        !opens({}, "staffs"),
        opens({kStaff}, "staffs"),
        opens({}, "not_staffs"),
        !opens({kStaff}, "not_staffs"),
        !opens({}, "folder"),
        !opens({}, "folder/closed"),
        !opens({}, "folder/closed/file"),
        !opens({}, "../secret"),
        opens({}, ""),
    };
    const CallerScope scope(User(kBob));
    if (root_->Stat("folder/closed/file")) std::exit(101);
    std::exit(static_cast<int>(std::find(seen.begin(), seen.end(), false) - seen.begin()));
  };
  EXPECT_EXIT(as_alice(), ::testing::ExitedWithCode(11), "");
}

TEST_F(TakenIdentityTest, RefusalsAreCounted) {
  const uint64_t before = CallerScope::denials();
  EXPECT_EQ(Open(User(kBob), "absent"), ENOENT);
  EXPECT_EQ(CallerScope::denials(), before);
  EXPECT_EQ(Open(User(kBob), "alices"), EACCES);
  EXPECT_EQ(CallerScope::denials(), before + 1);
}

}  // namespace
}  // namespace ndlfs::backends
