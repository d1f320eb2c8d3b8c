// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "model/error.h"

namespace ndlfs::backends::google {

// What tokens are asked for: all that the account may do with storage.
inline constexpr const char* kScope = "https://www.googleapis.com/auth/cloud-platform";

// The key of a service account. `private_key` is secret.
struct ServiceAccount {
  std::string email;
  std::string key_id;       // may be empty
  std::string private_key;  // PEM, not encrypted
};

// A token that the account signs for itself (RFC 7519, RS256). It is valid from `now_s` for
// `life_s` seconds, an hour at most. Its holder may do with storage what the account may do.
// kBadInput if `private_key` is no key; the message does not quote it.
model::Result<std::string> SignToken(const ServiceAccount& account, int64_t now_s,
                                     int64_t life_s);

}  // namespace ndlfs::backends::google
