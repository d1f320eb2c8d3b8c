// SPDX-License-Identifier: MIT
//
// "Authorize with Shared Key" of Azure Storage, for the Blob service, version 2015-02-21 and
// later.
#pragma once

#include <string>
#include <string_view>

#include "backends/store/http/http_message.h"
#include "model/error.h"

namespace ndlfs::backends::azure {

// An account with its key. `key` is secret.
struct SharedKey {
  std::string account;
  std::string key;  // decoded
};

// `key` is base64, as the portal shows it. The message of an error does not quote it.
model::Result<SharedKey> MakeSharedKey(std::string account, std::string_view key);

// What is signed of a request without a body. `path` is percent-encoded, and `query` the part
// of the URL after '?'.
std::string StringToSign(std::string_view account, HttpMethod method, std::string_view path,
                         std::string_view query, const HttpHeaders& headers);

// The value of the header Authorization for a request that has all its other headers, x-ms-date
// among them.
std::string SignatureOf(const SharedKey& key, const HttpAttempt& attempt, std::string_view path,
                        std::string_view query);

}  // namespace ndlfs::backends::azure
