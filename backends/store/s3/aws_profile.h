// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "backends/store/object/environment.h"
#include "backends/store/object/signature.h"
#include "model/error.h"

namespace ndlfs::backends::s3 {

// The settings of one profile in the files of the AWS tools, ~/.aws/credentials and
// ~/.aws/config (or the files that AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name). May
// contain secrets.
struct AwsProfile {
  std::string name;
  // By name. A setting inside of a nested section has the name "s3.endpoint_url".
  std::map<std::string, std::string, std::less<>> settings;

  // Empty if there is no such setting.
  std::string Find(std::string_view setting) const;
};

// The profile that AWS_PROFILE names, or "default". If both files have a setting, that of
// `credentials` counts. A missing file is like an empty one; but a profile that AWS_PROFILE
// names has to be in one of them (kBadInput). Messages never quote a line.
model::Result<AwsProfile> ReadAwsProfile(const object::GetVariable& variable);

// Credentials out of the answer of STS to AssumeRoleWithWebIdentity. Messages do not quote the
// answer.
model::Result<object::Credentials> ParseAssumedRole(std::string_view document);

}  // namespace ndlfs::backends::s3
