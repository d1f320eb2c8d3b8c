// SPDX-License-Identifier: MIT
#include "backends/store/s3/assumed_role.h"

#include "backends/store/object/xml_answers.h"
#include "backends/xml/xml.h"

namespace ndlfs::backends::s3 {

model::Result<object::Credentials> ParseAssumedRole(std::string_view document) {
  object::Credentials credentials;
  const auto add = [&](const XmlElement& element) -> model::Result<void> {
    constexpr std::string_view kPath =
        "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/";
    if (!element.path.starts_with(kPath)) return {};
    const std::string_view name = element.path.substr(kPath.size());
    if (name == "AccessKeyId") credentials.access_key = element.text;
    if (name == "SecretAccessKey") credentials.secret_key = element.text;
    if (name == "SessionToken") credentials.session_token = element.text;
    if (name == "Expiration") {
      credentials.expires_s = object::ParseUtcTime(element.text).value_or(0) / 1'000'000'000;
    }
    return {};
  };
  NDLFS_RETURN_IF_ERROR(WalkXml(document, add), "the answer of STS");
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    return model::BadInput("the answer of STS has no keys");
  }
  return credentials;
}

}  // namespace ndlfs::backends::s3
