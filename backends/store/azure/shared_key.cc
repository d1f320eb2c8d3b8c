// SPDX-License-Identifier: MIT
#include "backends/store/azure/shared_key.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/percent_encoding.h"
#include "model/base64.h"

namespace ndlfs::backends::azure {
namespace {

// The headers that are signed by their place; Date has x-ms-date instead.
constexpr std::array<std::string_view, 11> kStandardHeaders = {"content-encoding",
                                                               "content-language",
                                                               "content-length",
                                                               "content-md5",
                                                               "content-type",
                                                               "date",
                                                               "if-modified-since",
                                                               "if-match",
                                                               "if-none-match",
                                                               "if-unmodified-since",
                                                               "range"};

// Parameters by name, in lower case; several values of one name are sorted.
std::map<std::string, std::vector<std::string>> ParametersOf(std::string_view query) {
  std::map<std::string, std::vector<std::string>> parameters;
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(one.size() + 1, query.size()));
    const size_t equals = std::min(one.find('='), one.size());
    const std::string_view value = one.substr(std::min(equals + 1, one.size()));
    if (equals == 0) continue;
    auto& values = parameters[LowerText(PercentDecodeLeniently(one.substr(0, equals)))];
    values.push_back(PercentDecodeLeniently(value));
  }
  for (auto& [name, values] : parameters) std::sort(values.begin(), values.end());
  return parameters;
}

}  // namespace

model::Result<SharedKey> MakeSharedKey(std::string account, std::string_view key) {
  const auto bytes = model::DecodeBase64(key);
  if (!bytes || bytes->empty()) return model::BadInput("the key of the account is not base64");
  return SharedKey{std::move(account), std::string(AsText(*bytes))};
}

std::string StringToSign(std::string_view account, HttpMethod method, std::string_view path,
                         std::string_view query, const HttpHeaders& headers) {
  std::map<std::string, std::string> by_name;
  for (const HttpHeader& header : headers) by_name[LowerText(header.name)] = header.value;
  std::string text = fmt::format("{}\n", ToText(method));
  for (const std::string_view name : kStandardHeaders) {
    const auto found = by_name.find(std::string(name));
    text += (found == by_name.end() ? "" : found->second) + "\n";
  }
  for (const auto& [name, value] : by_name) {
    if (name.starts_with("x-ms-")) text += fmt::format("{}:{}\n", name, value);
  }
  text += fmt::format("/{}{}", account, path);
  for (const auto& [name, values] : ParametersOf(query)) {
    text += fmt::format("\n{}:{}", name, fmt::join(values, ","));
  }
  return text;
}

std::string SignatureOf(const SharedKey& key, const HttpAttempt& attempt, std::string_view path,
                        std::string_view query) {
  const std::string text =
      StringToSign(key.account, attempt.method, path, query, attempt.headers);
  std::array<unsigned char, 32> digest{};
  HMAC(EVP_sha256(), key.key.data(), static_cast<int>(key.key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
       nullptr);
  return fmt::format("SharedKey {}:{}", key.account,
                     model::EncodeBase64(std::as_bytes(std::span(digest))));
}

}  // namespace ndlfs::backends::azure
