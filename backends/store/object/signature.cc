// SPDX-License-Identifier: MIT
#include "backends/store/object/signature.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "model/cf_time.h"

namespace ndlfs::backends::object {
namespace {

using Digest = std::array<unsigned char, 32>;

std::string_view TextOf(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string Hex(const Digest& digest) {
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

Digest Sha256(std::string_view text) {
  Digest digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return digest;
}

Digest HmacSha256(std::string_view key, std::string_view text) {
  Digest digest{};
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
       nullptr);
  return digest;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Without blanks at the ends, and with one blank in place of several.
std::string Trimmed(std::string_view text) {
  std::string trimmed;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\t';
    if (!is_blank) {
      trimmed += c;
    } else if (!trimmed.empty() && trimmed.back() != ' ') {
      trimmed += ' ';
    }
  }
  if (trimmed.ends_with(' ')) trimmed.pop_back();
  return trimmed;
}

// The parameters sorted by name and value; one without '=' has an empty value.
std::string CanonicalQuery(std::string_view query) {
  std::vector<std::pair<std::string_view, std::string_view>> parameters;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view parameter = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (parameter.empty()) continue;
    const size_t equals = std::min(parameter.find('='), parameter.size());
    parameters.emplace_back(parameter.substr(0, equals),
                            parameter.substr(std::min(equals + 1, parameter.size())));
  }
  std::sort(parameters.begin(), parameters.end());
  std::string canonical;
  for (const auto& [name, value] : parameters) {
    if (!canonical.empty()) canonical += '&';
    canonical += fmt::format("{}={}", name, value);
  }
  return canonical;
}

// 20130524T000000Z
std::string TimeText(int64_t time_s) {
  std::string text = model::FormatTime(model::Calendar::kProlepticGregorian,
                                       time_s * model::kNanosecondsOfSecond, 0);
  std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
  return text + 'Z';
}

Digest SigningKey(const Credentials& credentials, std::string_view day,
                  const SigningScope& scope) {
  Digest key = HmacSha256(std::string(scope.words.prefix) + credentials.secret_key, day);
  key = HmacSha256(TextOf(key), scope.region);
  key = HmacSha256(TextOf(key), scope.service);
  return HmacSha256(TextOf(key), scope.words.end);
}

// All headers that are signed, sorted by name, and their names in one line.
struct SignedHeaders {
  std::string lines;
  std::string names;
};

SignedHeaders Canonical(HttpHeaders headers) {
  for (auto& [name, value] : headers) {
    name = Lower(name);
    value = Trimmed(value);
  }
  std::stable_sort(headers.begin(), headers.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  SignedHeaders canonical;
  for (const auto& [name, value] : headers) {
    canonical.lines += fmt::format("{}:{}\n", name, value);
    canonical.names += canonical.names.empty() ? name : ";" + name;
  }
  return canonical;
}

}  // namespace

HttpHeaders Sign(const RequestToSign& request, const Credentials& credentials,
                 const SigningScope& scope, int64_t time_s) {
  const std::string time = TimeText(time_s);
  const std::string_view day = std::string_view(time).substr(0, 8);
  const std::string body_hash = Hex(Sha256(request.body));
  const std::string begin(scope.words.headers);
  const std::string algorithm = fmt::format("{}-HMAC-SHA256", scope.words.prefix);
  HttpHeaders added = {{begin + "date", time}};
  if (scope.service == "s3" || scope.service == "storage") {
    added.push_back({begin + "content-sha256", body_hash});
  }
  if (!credentials.session_token.empty()) {
    added.push_back({begin + "security-token", credentials.session_token});
  }
  HttpHeaders all = request.headers;
  all.push_back({"host", std::string(request.host)});
  all.insert(all.end(), added.begin(), added.end());
  const SignedHeaders headers = Canonical(std::move(all));
  const std::string canonical = fmt::format(
      "{}\n{}\n{}\n{}\n{}\n{}", request.method, request.path.empty() ? "/" : request.path,
      CanonicalQuery(request.query), headers.lines, headers.names, body_hash);
  const std::string where =
      fmt::format("{}/{}/{}/{}", day, scope.region, scope.service, scope.words.end);
  const std::string to_sign =
      fmt::format("{}\n{}\n{}\n{}", algorithm, time, where, Hex(Sha256(canonical)));
  const Digest signature = HmacSha256(TextOf(SigningKey(credentials, day, scope)), to_sign);
  added.push_back({"authorization",
                   fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", algorithm,
                               credentials.access_key, where, headers.names, Hex(signature))});
  return added;
}

}  // namespace ndlfs::backends::object
