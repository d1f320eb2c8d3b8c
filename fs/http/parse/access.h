// SPDX-License-Identifier: MIT
//
// Whether a client may read: the host that it thinks it talks to, and the token that it shows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/http/parse/request_target.h"

namespace ndlfs::fs {

// Whether a page of another site could not have sent a request with this `Host` field. A site
// can make its own name resolve to this machine (DNS rebinding), but cannot take an address, or
// "localhost". `names` are allowed as well.
bool IsTrustedHost(std::string_view host, const std::vector<std::string>& names);

// The fields in which clients show a token.
struct Credentials {
  std::optional<std::string> authorization = {};
  std::optional<std::string> cookie = {};
};

// What a client has to show, one or the other.
struct Secret {
  std::string token = {};
  // What browsers keep in the place of the token.
  std::string cookie_name = {};
  std::string cookie = {};
};

// In front of the name of a cookie that a browser sends by TLS only, and that no other host and
// no page of http can have set (RFC 6265bis, section 4.1.3.2).
inline constexpr std::string_view kHostPrefix = "__Host-";
// The parameter of a URL with the token.
inline constexpr std::string_view kTokenParameter = "token";

enum class TokenPlace {
  kNone,    // the token is missing or wrong
  kField,   // in `Authorization`: Bearer, token, or the user or password of Basic
  kCookie,  // the cookie, in the place of the token
  kUrl,     // in the query of the URL
};
TokenPlace FindToken(const RequestTarget& target, const Credentials& credentials,
                     const Secret& secret);

// Whether the first part of the path is the token. If so, takes it away: programs that send
// neither fields nor queries of their own show the token there.
bool TakeTokenOfPath(RequestTarget& target, std::string_view token);

// Whether `origin` ("https://example.org:8080") is that of the host `host`.
bool IsOriginOf(std::string_view origin, std::string_view host);

}  // namespace ndlfs::fs
