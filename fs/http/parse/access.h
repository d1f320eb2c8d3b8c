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

// The name of the cookie with the token.
inline constexpr std::string_view kTokenCookie = "ndlfs-token";
// The parameter of a URL with the token.
inline constexpr std::string_view kTokenParameter = "token";

enum class TokenPlace {
  kNone,   // the token is missing or wrong
  kField,  // in `Authorization` (Bearer, token, or the password of Basic) or in the cookie
  kUrl,    // in the URL
};
TokenPlace FindToken(const RequestTarget& target, const Credentials& credentials,
                     std::string_view token);

}  // namespace ndlfs::fs
