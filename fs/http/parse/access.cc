// SPDX-License-Identifier: MIT
#include "fs/http/parse/access.h"

#include <arpa/inet.h>

#include <algorithm>

#include "fs/http/parse/fields.h"
#include "model/base64.h"

namespace ndlfs::fs {
namespace {

// The host without its port.
std::string_view WithoutPort(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  const size_t colon = host.rfind(':');
  const bool has_port =
      colon != host.npos && host.find_first_not_of("0123456789", colon + 1) == host.npos;
  return has_port ? host.substr(0, colon) : host;
}

bool IsAddress(const std::string& host) {
  in6_addr address;
  if (host.starts_with('[') && host.ends_with(']')) {
    return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1;
  }
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

// Takes as long whatever the first difference is.
bool EqualsInConstantTime(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^
                  static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

// "Bearer X", "token X", or "Basic" with X as the user or the password.
bool ShowsToken(std::string_view authorization, std::string_view token) {
  authorization = TrimBlanks(authorization);
  const size_t blank = std::min(authorization.find(' '), authorization.size());
  const std::string_view scheme = authorization.substr(0, blank);
  const std::string_view rest = TrimBlanks(authorization.substr(blank));
  if (EqualsIgnoringCase(scheme, "Bearer") || EqualsIgnoringCase(scheme, "token")) {
    return EqualsInConstantTime(rest, token);
  }
  const auto decoded = model::DecodeBase64(rest);
  if (!EqualsIgnoringCase(scheme, "Basic") || !decoded) return false;
  const std::string_view pair(reinterpret_cast<const char*>(decoded->data()), decoded->size());
  const size_t colon = pair.find(':');
  if (colon == pair.npos) return false;
  const bool is_user = EqualsInConstantTime(pair.substr(0, colon), token);
  return EqualsInConstantTime(pair.substr(colon + 1), token) || is_user;
}

// "a=1; b=2"
bool HasCookie(std::string_view cookies, const Secret& secret) {
  while (!cookies.empty()) {
    const size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view pair = TrimBlanks(cookies.substr(0, end));
    if (pair.starts_with(kHostPrefix)) pair.remove_prefix(kHostPrefix.size());
    const size_t equals = pair.find('=');
    if (equals != pair.npos && pair.substr(0, equals) == secret.cookie_name &&
        EqualsInConstantTime(pair.substr(equals + 1), secret.cookie)) {
      return true;
    }
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
  }
  return false;
}

}  // namespace

bool IsTrustedHost(std::string_view host, const std::vector<std::string>& names) {
  const std::string name(WithoutPort(TrimBlanks(host)));
  if (IsAddress(name) || EqualsIgnoringCase(name, "localhost")) return true;
  return std::any_of(names.begin(), names.end(), [&](const std::string& allowed) {
    return EqualsIgnoringCase(name, allowed);
  });
}

TokenPlace FindToken(const RequestTarget& target, const Credentials& credentials,
                     const Secret& secret) {
  if (credentials.authorization && ShowsToken(*credentials.authorization, secret.token)) {
    return TokenPlace::kField;
  }
  if (credentials.cookie && HasCookie(*credentials.cookie, secret)) return TokenPlace::kCookie;
  const auto parameter = target.Parameter(kTokenParameter);
  return parameter && EqualsInConstantTime(*parameter, secret.token) ? TokenPlace::kUrl
                                                                     : TokenPlace::kNone;
}

bool TakeTokenOfPath(RequestTarget& target, std::string_view token) {
  if (token.empty() || target.names.empty()) return false;
  if (!EqualsInConstantTime(target.names[0], token)) return false;
  target.names.erase(target.names.begin());
  return true;
}

bool IsOriginOf(std::string_view origin, std::string_view host) {
  const size_t scheme_end = origin.find("://");
  return scheme_end != origin.npos &&
         EqualsIgnoringCase(origin.substr(scheme_end + 3), TrimBlanks(host));
}

}  // namespace ndlfs::fs
