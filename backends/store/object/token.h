// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/store/http/http_client.h"
#include "backends/store/object/environment.h"
#include "model/error.h"

namespace ndlfs::backends::object {

// A text that proves to a server what its holder may do. Secret: it must not get into messages,
// logs or control files.
struct AccessToken {
  std::string text;
  int64_t expires_s = 0;  // since 1970; 0: unknown, or never
  bool operator==(const AccessToken&) const = default;
};

// Where tokens come from. Thread-safe.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // As the functions of Renewed.
  virtual model::Result<AccessToken> Current() = 0;
  virtual bool Refuse(const AccessToken& refused) = 0;
};

// Tokens that `load` gets, and that are renewed before they end.
std::shared_ptr<TokenSource> MakeTokenSource(std::function<model::Result<AccessToken>()> load,
                                             GetTime now_s);
// The token that is in the file at each moment, so that another program can renew it.
std::shared_ptr<TokenSource> MakeFileTokens(std::string path);

// How a token gets into a request, and which answers refuse it.
struct TokenUse {
  std::function<void(HttpAttempt& attempt, const std::string& token)> apply;
  std::function<bool(const HttpResponse& response)> is_refusal;
};
// "Authorization: Bearer TOKEN"; status 401 refuses it.
const TokenUse& BearerUse();

// Sets the hooks of `request`: each attempt carries the current token, but no redirect to
// another server does. If the server refuses the token, the request is sent once more with a
// new one.
void UseTokens(HttpRequest& request, std::shared_ptr<TokenSource> tokens, const TokenUse& use);

// The token in the answer of an OAuth 2.0 server (RFC 6749, section 5.1) that came at `now_s`.
// `expires_in` may be a text. Messages do not quote the answer.
model::Result<AccessToken> ParseTokenAnswer(std::string_view json, int64_t now_s);

// The body of a good answer to a request for a secret. Follows no redirect, and takes 64 KiB at
// most. Waits 20 seconds at most, or as long as the client does if that is less. Messages quote
// nothing but the code of an error (RFC 6749, section 5.2, or "status" as Google has it).
model::Result<std::string> AskForSecret(const HttpClient& client, HttpRequest request);
// A POST of a form. Values are encoded here.
using FormFields = std::vector<std::pair<std::string_view, std::string>>;
HttpRequest FormRequest(const std::string& url, const FormFields& form);

// Whether secrets may be sent to `url`: it is https, or a server of this machine.
bool IsSafeForSecrets(const std::string& url);

}  // namespace ndlfs::backends::object
