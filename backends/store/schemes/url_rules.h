// SPDX-License-Identifier: MIT
//
// The file urls.yaml: how a user reaches the servers behind URLs, by their beginnings.
//
//   s3://measurements/:                     # all of a bucket
//     endpoint: https://minio.example.org
//     region: eu-1
//   https://data.example.org/private/:
//     token-file: ~/.config/data.token
//     ca-file: /etc/ssl/example.pem
//     allow: true                           # references and redirects may lead there
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/http/url.h"
#include "backends/store/schemes/schemes.h"
#include "model/error.h"

namespace ndlfs::backends {

// One entry. A member that is not set says nothing.
struct UrlRule {
  Url prefix;
  int line = 0;  // in the file
  std::string endpoint = {};
  std::string region = {};
  std::string project = {};  // that pays
  std::string account = {};
  std::string token_file = {};
  std::string sas_server = {};
  std::string ca_file = {};
  bool anonymous = false;
  bool requester_pays = false;
  bool metadata_server = false;
  bool allow = false;  // references and redirects may lead there

  // Sets what `settings` leaves at its default.
  void ApplyTo(RemoteSettings& settings) const;
};

// Immutable.
class UrlRules {
 public:
  UrlRules() = default;

  // The rules in the text of a file; `home` stands for "~". Errors are kBadInput with one line,
  // "NAME:LINE:COLUMN: reason". Refuses unknown settings, prefixes that are no URLs or occur
  // twice, and impossible values. Also refuses secrets, because they belong in a file that
  // nobody else can read.
  static model::Result<UrlRules> Parse(std::string_view text, const std::string& name,
                                       const std::string& home);
  // The same of a file, which has to belong to this user or to root. Nobody else may be allowed
  // to write to it, because its text decides where credentials go.
  static model::Result<UrlRules> Read(const std::string& path, const std::string& home);

  // The rule with the longest prefix that `url` is below; null: there is none.
  const UrlRule* Find(const Url& url) const;
  const std::vector<UrlRule>& all() const { return rules_; }

 private:
  std::vector<UrlRule> rules_;
};

}  // namespace ndlfs::backends
