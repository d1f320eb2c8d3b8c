// SPDX-License-Identifier: MIT
#include "backends/store/object/signature.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "model/cf_time.h"
#include "model/spelling.h"

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

constexpr size_t kDayLength = 8;
constexpr size_t kTimeLength = 16;

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
    name = model::LowerCase(name);
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

// What a signature is made of, but for the keys.
struct ToSign {
  std::string_view time;  // 20130524T000000Z
  std::string where;      // "20130524/us-east-1/s3/aws4_request"
  SignedHeaders headers;
  std::string_view body_hash;
};

std::string SignatureOf(const RequestToSign& request, const ToSign& parts,
                        const Credentials& credentials, const SigningScope& scope) {
  const std::string canonical = fmt::format(
      "{}\n{}\n{}\n{}\n{}\n{}", request.method, request.path.empty() ? "/" : request.path,
      CanonicalQuery(request.query), parts.headers.lines, parts.headers.names, parts.body_hash);
  const std::string to_sign = fmt::format("{}-HMAC-SHA256\n{}\n{}\n{}", scope.words.prefix,
                                          parts.time, parts.where, Hex(Sha256(canonical)));
  const std::string_view day = parts.time.substr(0, kDayLength);
  return Hex(HmacSha256(TextOf(SigningKey(credentials, day, scope)), to_sign));
}

// The parts of "AWS4-HMAC-SHA256 Credential=KEY/DAY/REGION/SERVICE/aws4_request,
// SignedHeaders=host;x-amz-date, Signature=HEX".
struct ShownSignature {
  std::string_view access_key;
  std::string_view where;
  SigningScope scope;
  std::vector<std::string_view> headers;
  std::string_view signature;
};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (bool more = true; more;) {
    const size_t end = std::min(text.find(separator), text.size());
    more = end < text.size();
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<ShownSignature> ParseAuthorization(std::string_view text) {
  constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256 ";
  if (!text.starts_with(kAlgorithm)) return std::nullopt;
  ShownSignature out;
  for (std::string_view part : Split(text.substr(kAlgorithm.size()), ',')) {
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view value = part.substr(std::min(equals + 1, part.size()));
    const std::string_view name = part.substr(0, equals);
    if (name == "Credential") {
      const auto fields = Split(value, '/');
      if (fields.size() != 5 || fields[4] != kAwsWords.end) return std::nullopt;
      out.access_key = fields[0];
      out.where = value.substr(fields[0].size() + 1);
      out.scope = {std::string(fields[2]), std::string(fields[3]), kAwsWords};
    } else if (name == "SignedHeaders") {
      out.headers = Split(value, ';');
    } else if (name == "Signature") {
      out.signature = value;
    }
  }
  return out;
}

// Takes as long whatever the first difference is.
bool IsSame(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// Whether `time` is the text of a time within 15 minutes of `now_s`.
bool IsNear(std::string_view time, int64_t now_s) {
  constexpr int64_t kMostOff = 15 * 60;
  std::tm parts{};
  const std::string text(time);
  const char* const end = ::strptime(text.c_str(), "%Y%m%dT%H%M%SZ", &parts);
  if (end != text.c_str() + text.size() || text.size() != kTimeLength) return false;
  const int64_t off = static_cast<int64_t>(::timegm(&parts)) - now_s;
  return off >= -kMostOff && off <= kMostOff;
}

}  // namespace

bool IsSignedWith(const RequestToSign& request, const Credentials& credentials, int64_t now_s) {
  const auto shown = ParseAuthorization(FindHeader(request.headers, "authorization"));
  const std::string_view time = FindHeader(request.headers, "x-amz-date");
  if (!shown || shown->access_key != credentials.access_key || !IsNear(time, now_s) ||
      !shown->where.starts_with(time.substr(0, kDayLength))) {
    return false;
  }
  HttpHeaders headers;
  for (const std::string_view name : shown->headers) {
    headers.push_back({std::string(name), std::string(FindHeader(request.headers, name))});
  }
  const bool has_host = std::ranges::find(shown->headers, "host") != shown->headers.end();
  const bool has_date = std::ranges::find(shown->headers, "x-amz-date") != shown->headers.end();
  if (!has_host || !has_date) return false;
  const std::string_view sent_hash = FindHeader(request.headers, "x-amz-content-sha256");
  const std::string hash =
      sent_hash.empty() ? Hex(Sha256(request.body)) : std::string(sent_hash);
  const std::string expected =
      SignatureOf(request, {time, std::string(shown->where), Canonical(headers), hash},
                  credentials, shown->scope);
  return IsSame(expected, shown->signature);
}

HttpHeaders Sign(const RequestToSign& request, const Credentials& credentials,
                 const SigningScope& scope, int64_t time_s) {
  const std::string time = TimeText(time_s);
  const std::string_view day = std::string_view(time).substr(0, kDayLength);
  const std::string body_hash = Hex(Sha256(request.body));
  const std::string begin(scope.words.headers);
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
  const ToSign parts = {
      time, fmt::format("{}/{}/{}/{}", day, scope.region, scope.service, scope.words.end),
      Canonical(std::move(all)), body_hash};
  added.push_back(
      {"authorization",
       fmt::format("{}-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
                   scope.words.prefix, credentials.access_key, parts.where, parts.headers.names,
                   SignatureOf(request, parts, credentials, scope))});
  return added;
}

}  // namespace ndlfs::backends::object
