// SPDX-License-Identifier: MIT
#include "backends/store/schemes/url_rules.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "backends/base/interrupted.h"
#include "backends/base/unique_fd.h"
#include "backends/store/object/bucket.h"
#include "backends/store/object/token.h"
#include "model/ndl/diagnostic.h"
#include "model/ndl/yaml_text.h"
#include "model/ndl/yaml_tree.h"

namespace ndlfs::backends {
namespace {

using model::Result;
using model::YamlNode;

constexpr size_t kLargestFile = 1 << 20;
constexpr model::YamlLimits kLimits = {
    .bytes = kLargestFile, .nodes = 100'000, .depth = 8, .lookahead = 100'000};

// Words in the names of settings that would have a secret.
constexpr std::array<std::string_view, 6> kSecretWords = {"secret", "password", "token",
                                                          "key",    "sas",      "credential"};

struct TextSetting {
  std::string_view name;
  std::string UrlRule::*member;
  bool is_file = false;
};
constexpr std::array kTexts = {TextSetting{"endpoint", &UrlRule::endpoint},
                               TextSetting{"region", &UrlRule::region},
                               TextSetting{"project", &UrlRule::project},
                               TextSetting{"account", &UrlRule::account},
                               TextSetting{"token-file", &UrlRule::token_file, true},
                               TextSetting{"sas-server", &UrlRule::sas_server},
                               TextSetting{"ca-file", &UrlRule::ca_file, true}};
struct FlagSetting {
  std::string_view name;
  bool UrlRule::*member;
};
constexpr std::array kFlags = {FlagSetting{"anonymous", &UrlRule::anonymous},
                               FlagSetting{"requester-pays", &UrlRule::requester_pays},
                               FlagSetting{"metadata-server", &UrlRule::metadata_server},
                               FlagSetting{"allow", &UrlRule::allow}};

class RulesReader {
 public:
  RulesReader(const std::string& name, const std::string& home) : name_(name), home_(home) {}

  Result<std::vector<UrlRule>> ReadAll(const YamlNode& top) {
    if (!top.is_mapping()) return Wrong(top, "expected prefixes of URLs with their settings");
    for (size_t i = 0; i < top.size(); ++i) {
      NDLFS_RETURN_IF_ERROR(ReadRule(top.key(i), top.value(i)));
    }
    return std::move(rules_);
  }

  model::Failure Wrong(int line, int column, const std::string& message) const {
    return model::BadInput("{}", model::FormatDiagnostic(name_, {line, column, "", message}));
  }

 private:
  model::Failure Wrong(const YamlNode& at, const std::string& message) const {
    return Wrong(at.line(), at.column(), message);
  }

  Result<void> ReadRule(const YamlNode& key, const YamlNode& value) {
    if (!key.is_scalar()) return Wrong(key, "expected the prefix of a URL");
    const auto url = ParseUrl(key.text());
    if (!url) return Wrong(key, url.error().message());
    if (!url->user.empty() || !url->query.empty()) {
      return Wrong(key, "a prefix has no user and no query: they may be secret");
    }
    if (const auto known = CheckScheme(*url); !known)
      return Wrong(key, known.error().message());
    UrlRule rule = {.prefix = *url, .line = key.line()};
    const auto same = std::ranges::find_if(rules_, [&](const UrlRule& other) {
      return other.prefix.ToText() == rule.prefix.ToText();
    });
    if (same != rules_.end()) {
      return Wrong(key, "the same prefix is in line " + std::to_string(same->line));
    }
    if (!value.is_mapping()) return Wrong(value, "expected settings, such as region: NAME");
    for (size_t i = 0; i < value.size(); ++i) {
      NDLFS_RETURN_IF_ERROR(ReadSetting(value.key(i), value.value(i), rule));
    }
    NDLFS_RETURN_IF_ERROR(Check(key, rule));
    rules_.push_back(std::move(rule));
    return {};
  }

  Result<void> ReadSetting(const YamlNode& key, const YamlNode& value, UrlRule& rule) const {
    const std::string_view name = key.is_scalar() ? key.text() : std::string_view();
    for (const FlagSetting& flag : kFlags) {
      if (flag.name != name) continue;
      const auto is_on = value.is_plain() ? model::ParseYamlBool(value.text()) : std::nullopt;
      if (!is_on) return Wrong(value, "expected true or false");
      rule.*flag.member = *is_on;
      return {};
    }
    for (const TextSetting& text : kTexts) {
      if (text.name != name) continue;
      if (!value.is_scalar() || value.text().empty()) return Wrong(value, "expected a text");
      std::string given(value.text());
      if (text.is_file && given.starts_with("~/")) given.replace(0, 1, home_);
      if (text.is_file && !given.starts_with('/')) {
        return Wrong(value, "expected a path that begins with / or ~/");
      }
      rule.*text.member = std::move(given);
      return {};
    }
    const bool is_secret = std::ranges::any_of(
        kSecretWords, [&](std::string_view word) { return name.find(word) != name.npos; });
    // The name, too, may be a secret at a wrong place.
    if (is_secret)
      return Wrong(key, "a secret does not belong here; token-file names its file");
    return Wrong(key, "unknown setting " + model::Quote(name));
  }

  Result<void> Check(const YamlNode& at, const UrlRule& rule) const {
    for (const std::string& server : {rule.endpoint, rule.sas_server}) {
      if (server.empty()) continue;
      // The message has neither user nor query.
      const auto checked = object::CheckEndpoint(server);
      if (!checked) return Wrong(at, checked.error().message());
    }
    if (!rule.sas_server.empty() && !object::IsSafeForSecrets(rule.sas_server)) {
      return Wrong(at, "sas-server is not https");
    }
    return {};
  }

  const std::string& name_;
  const std::string& home_;
  std::vector<UrlRule> rules_;
};

// The text of a file that only this user, and root, may write to.
Result<std::string> ReadOwnFile(const std::string& path) {
  const UniqueFd file(
      Uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  struct stat facts = {};
  if (!file || ::fstat(file.get(), &facts) != 0) return model::IoError(errno, path);
  if (!S_ISREG(facts.st_mode)) return model::BadInput("{}: not a regular file", path);
  const bool is_own = facts.st_uid == ::geteuid() || facts.st_uid == 0;
  if (!is_own || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return model::BadInput("{}: other users may write to it", path);
  }
  std::string text(kLargestFile + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return model::IoError(errno, path);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > kLargestFile) return model::Limit("{}: more than {} bytes", path, kLargestFile);
  text.resize(size);
  return text;
}

}  // namespace

void UrlRule::ApplyTo(RemoteSettings& settings) const {
  const auto set = [](std::string& setting, const std::string& value) {
    if (setting.empty()) setting = value;
  };
  set(settings.endpoint, endpoint);
  set(settings.region, region);
  set(settings.project, project);
  set(settings.account, account);
  set(settings.token_file, token_file);
  set(settings.sas_server, sas_server);
  settings.signs &= !anonymous;
  settings.requester_pays |= requester_pays;
  settings.asks_metadata_server |= metadata_server;
}

Result<UrlRules> UrlRules::Parse(std::string_view text, const std::string& name,
                                 const std::string& home) {
  const auto tree = model::ParseYaml(text, kLimits);
  RulesReader reader(name, home);
  if (!tree) return reader.Wrong(tree.error().line, tree.error().column, tree.error().message);
  UrlRules rules;
  if (tree->root() == nullptr || tree->root()->is_null()) return rules;
  NDLFS_TRY(rules.rules_, reader.ReadAll(*tree->root()));
  return rules;
}

Result<UrlRules> UrlRules::Read(const std::string& path, const std::string& home) {
  NDLFS_TRY(const std::string text, ReadOwnFile(path));
  return Parse(text, path, home);
}

const UrlRule* UrlRules::Find(const Url& url) const {
  const UrlRule* longest = nullptr;
  for (const UrlRule& rule : rules_) {
    const bool is_longer =
        longest == nullptr || rule.prefix.path.size() > longest->prefix.path.size();
    if (is_longer && IsWithin(url, rule.prefix)) longest = &rule;
  }
  return longest;
}

}  // namespace ndlfs::backends
