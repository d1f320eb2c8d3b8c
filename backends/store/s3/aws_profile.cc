// SPDX-License-Identifier: MIT
#include "backends/store/s3/aws_profile.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/store/object/xml_answers.h"
#include "backends/xml/xml.h"

namespace ndlfs::backends::s3 {
namespace {

using object::GetVariable;

constexpr std::string_view kBlanks = " \t\r";

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// "~/x" -> "/home/me/x"
std::string ExpandHome(std::string path, const GetVariable& variable) {
  if (path.starts_with("~/")) path.replace(0, 1, object::HomeDirectory(variable));
  return path;
}

// A value ends at a comment, which begins after a blank.
std::string_view WithoutComment(std::string_view value) {
  for (size_t i = 1; i < value.size(); ++i) {
    const bool is_comment = value[i] == '#' || value[i] == ';';
    if (is_comment && kBlanks.find(value[i - 1]) != kBlanks.npos) return value.substr(0, i);
  }
  return value;
}

// Reads the section `wanted` of a file. Settings that are there already stay as they are.
class SectionReader {
 public:
  SectionReader(std::string_view wanted, AwsProfile& profile)
      : wanted_(wanted), profile_(profile) {}

  // Whether the file has that section.
  bool Read(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      ReadLine(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return is_there_;
  }

 private:
  void ReadLine(std::string_view line) {
    const std::string_view trimmed = Trim(line);
    if (trimmed.empty() || trimmed[0] == '#' || trimmed[0] == ';') return;
    if (trimmed[0] == '[') {
      is_inside_ = Trim(trimmed.substr(1, trimmed.find(']') - 1)) == wanted_;
      is_there_ |= is_inside_;
      outer_.clear();
      return;
    }
    const size_t equals = trimmed.find('=');
    if (!is_inside_ || equals == trimmed.npos) return;
    std::string name(Trim(trimmed.substr(0, equals)));
    const std::string_view value = Trim(WithoutComment(trimmed.substr(equals + 1)));
    const bool is_indented = kBlanks.find(line[0]) != kBlanks.npos;
    if (is_indented && !outer_.empty()) {
      name = outer_ + "." + name;
    } else {
      outer_ = value.empty() ? name : "";
    }
    profile_.settings.emplace(std::move(name), value);
  }

  const std::string_view wanted_;
  AwsProfile& profile_;
  bool is_there_ = false;
  bool is_inside_ = false;
  std::string outer_;  // the setting that indented lines belong to
};

model::Result<bool> ReadFile(const char* path_variable, const char* usual_path,
                             std::string_view section, const GetVariable& variable,
                             AwsProfile& profile) {
  std::string path = variable(path_variable);
  if (path.empty()) path = usual_path;
  NDLFS_TRY(const auto text, object::ReadSmallFile(ExpandHome(std::move(path), variable)));
  if (!text) return false;
  return SectionReader(section, profile).Read(*text);
}

}  // namespace

std::string AwsProfile::Find(std::string_view setting) const {
  const auto found = settings.find(setting);
  return found == settings.end() ? "" : found->second;
}

model::Result<AwsProfile> ReadAwsProfile(const GetVariable& variable) {
  AwsProfile profile;
  profile.name = variable("AWS_PROFILE");
  if (profile.name.empty()) profile.name = variable("AWS_DEFAULT_PROFILE");
  const bool is_named = !profile.name.empty();
  if (!is_named) profile.name = "default";
  const std::string in_config =
      profile.name == "default" ? profile.name : "profile " + profile.name;
  NDLFS_TRY(const bool in_credentials_file,
            ReadFile("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials", profile.name,
                     variable, profile));
  NDLFS_TRY(const bool in_config_file,
            ReadFile("AWS_CONFIG_FILE", "~/.aws/config", in_config, variable, profile));
  if (is_named && !in_credentials_file && !in_config_file) {
    return model::BadInput("AWS_PROFILE: there is no profile {} in the files of the AWS tools",
                           model::Quote(profile.name));
  }
  return profile;
}

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
