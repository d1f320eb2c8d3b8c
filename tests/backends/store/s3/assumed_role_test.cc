// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backends/store/s3/aws_profile.h"
#include "tests/support/result.h"

namespace ndlfs::backends::s3 {
namespace {

using model::ErrorCode;
using object::Credentials;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(S3AssumedRoleTest, KeysAndTime) {
  const std::string begin =
      "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
      "<AssumeRoleWithWebIdentityResult><Credentials><SessionToken>t/oken</SessionToken>"
      "<SecretAccessKey>secret</SecretAccessKey>";
  const std::string end =
      "<Expiration>2013-05-24T00:00:00Z</Expiration></Credentials>"
      "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
  const auto credentials = ParseAssumedRole(begin + "<AccessKeyId>key</AccessKeyId>" + end);
  EXPECT_THAT(credentials,
              test::IsOkAnd(testing::Eq(Credentials{"key", "secret", "t/oken", 1369353600})));
  EXPECT_THAT(ParseAssumedRole(begin + end),
              test::IsError(ErrorCode::kBadInput,
                            AllOf(HasSubstr("no keys"), Not(HasSubstr("secret")))));
}

}  // namespace
}  // namespace ndlfs::backends::s3
