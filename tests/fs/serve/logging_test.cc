// SPDX-License-Identifier: MIT
#include "fs/serve/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using ndlfs::test::IsError;
using ndlfs::test::IsOk;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StartLogTest : public ::testing::Test {
 protected:
  ~StartLogTest() override {
    EXPECT_THAT(StartLog("", LogTarget::kStandardError, "info"), IsOk());
  }
  const ndlfs::test::TemporaryDirectory directory_;
};

TEST_F(StartLogTest, AppendsLinesToTheFile) {
  const std::string file = directory_ / "log";
  ASSERT_THAT(StartLog(file, LogTarget::kSystemLog, "info"), IsOk());
  LogInfo("one {} %s");
  ASSERT_THAT(StartLog(file, LogTarget::kSystemLog, "info"), IsOk());
  LogWarning("two");
  EXPECT_THAT(ndlfs::test::ReadFile(file),
              AllOf(HasSubstr("[info] one {} %s\n"), EndsWith("[warning] two\n")));
}

TEST_F(StartLogTest, LeavesOutWhatIsBelowTheLevel) {
  const std::string file = directory_ / "log";
  ASSERT_THAT(StartLog(file, LogTarget::kSystemLog, "warn"), IsOk());
  LogInfo("one");
  EXPECT_THAT(ndlfs::test::ReadFile(file), IsEmpty());
  ASSERT_THAT(StartLog(file, LogTarget::kSystemLog, "off"), IsOk());
  LogWarning("two");
  EXPECT_THAT(ndlfs::test::ReadFile(file), IsEmpty());
}

TEST_F(StartLogTest, RefusesLevelsThatThereAreNot) {
  EXPECT_THAT(StartLog("", LogTarget::kStandardError, "loud"),
              IsError(model::ErrorCode::kBadInput,
                      "log level \"loud\": not one of trace, debug, info, warn, error, "
                      "critical, off"));
}

TEST_F(StartLogTest, SaysWhyTheFileCannotBeWritten) {
  EXPECT_THAT(StartLog(directory_.path().string(), LogTarget::kStandardError, "info"),
              IsError(model::ErrorCode::kBadInput,
                      AllOf(HasSubstr("log file \""), HasSubstr("Is a directory"))));
}

}  // namespace
}  // namespace ndlfs::fs
