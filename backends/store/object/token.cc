// SPDX-License-Identifier: MIT
#include "backends/store/object/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "backends/base/json.h"
#include "backends/base/percent_encoding.h"
#include "backends/store/http/url.h"
#include "backends/store/object/renewed.h"

namespace ndlfs::backends::object {
namespace {

constexpr uint64_t kLargestAnswer = 64 << 10;
constexpr std::chrono::milliseconds kTimeout{20'000};
constexpr uint64_t kLongestLife_s = uint64_t{366} * 86'400;

class RenewedTokens final : public TokenSource {
 public:
  RenewedTokens(std::function<model::Result<AccessToken>()> load, GetTime now_s)
      : tokens_(std::move(load), std::move(now_s)) {}
  model::Result<AccessToken> Current() override { return tokens_.Current(); }
  bool Refuse(const AccessToken& refused) override { return tokens_.Refuse(refused); }

 private:
  Renewed<AccessToken> tokens_;
};

class FileTokens final : public TokenSource {
 public:
  explicit FileTokens(std::string path) : path_(std::move(path)) {}
  model::Result<AccessToken> Current() override {
    NDLFS_TRY(auto text, ReadTokenFile(path_), "token file");
    return AccessToken{std::move(text), 0};
  }
  bool Refuse(const AccessToken& refused) override {
    const auto now = Current();
    return now && *now != refused;
  }

 private:
  const std::string path_;
};

// The code of an error in a JSON document; empty if it is none that is safe to show.
std::string ErrorCodeIn(std::string_view text) {
  const auto json = ParseJson(text, 1000);
  if (!json || !json->is_object()) return "";
  auto found = json->find("error");
  if (found == json->end()) return "";
  if (found->is_object()) {
    const auto& error = *found;
    found = error.find("status");
    if (found == error.end()) return "";
  }
  if (!found->is_string()) return "";
  auto code = found->get<std::string>();
  const bool is_code = code.size() <= 64 && std::all_of(code.begin(), code.end(), [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
                       });
  return is_code ? code : "";
}

}  // namespace

std::shared_ptr<TokenSource> MakeTokenSource(std::function<model::Result<AccessToken>()> load,
                                             GetTime now_s) {
  return std::make_shared<RenewedTokens>(std::move(load), std::move(now_s));
}

std::shared_ptr<TokenSource> MakeFileTokens(std::string path) {
  return std::make_shared<FileTokens>(std::move(path));
}

const TokenUse& BearerUse() {
  static const TokenUse use = {
      [](HttpAttempt& attempt, const std::string& token) {
        attempt.headers.push_back({"Authorization", "Bearer " + token});
      },
      [](const HttpResponse& response) { return response.status == 401; }};
  return use;
}

void UseTokens(HttpRequest& request, std::shared_ptr<TokenSource> tokens, const TokenUse& use) {
  struct State {
    std::shared_ptr<TokenSource> tokens;
    std::optional<AccessToken> used;
    bool has_renewed = false;
  };
  const auto state = std::make_shared<State>();
  state->tokens = std::move(tokens);
  request.prepare = [state, use](HttpAttempt& attempt) -> model::Result<void> {
    if (!attempt.same_origin) return {};
    NDLFS_TRY(state->used, state->tokens->Current());
    use.apply(attempt, state->used->text);
    return {};
  };
  request.correct = [state, use](HttpRequest&, const HttpResponse& response) {
    if (!use.is_refusal(response) || !state->used || state->has_renewed) return false;
    state->has_renewed = true;
    return state->tokens->Refuse(*state->used);
  };
}

model::Result<AccessToken> ParseTokenAnswer(std::string_view text, int64_t now_s) {
  const auto json = ParseJson(text, 1000);
  if (!json || !json->is_object()) return model::BadInput("the answer is no JSON object");
  const auto token = json->find("access_token");
  if (token == json->end() || !token->is_string() || token->get<std::string>().empty()) {
    return model::BadInput("the answer has no access_token");
  }
  AccessToken answer = {token->get<std::string>(), 0};
  if (!IsToken(answer.text))
    return model::BadInput("the answer has an access_token that is none");
  const auto life = json->find("expires_in");
  if (life == json->end()) return answer;
  std::optional<uint64_t> seconds;
  if (life->is_string()) seconds = ParseDecimal(life->get<std::string>());
  if (life->is_number_unsigned()) seconds = life->get<uint64_t>();
  if (!seconds) return model::BadInput("the answer has an expires_in that is no number");
  answer.expires_s = now_s + static_cast<int64_t>(std::min(*seconds, kLongestLife_s));
  return answer;
}

model::Result<std::string> AskForSecret(const HttpClient& client, HttpRequest request) {
  request.follow_redirects = false;
  request.limit = kLargestAnswer;
  if (!request.timeout) request.timeout = std::min(kTimeout, client.options().timeout);
  NDLFS_TRY(HttpResponse response, client.Send(request));
  if (response.is_success()) return std::move(response.body);
  const std::string code = ErrorCodeIn(response.body);
  return model::IoError(
      EACCES, fmt::format("{}: status {}{}", UrlForMessages(request.url), response.status,
                          code.empty() ? "" : " (" + code + ")"));
}

HttpRequest FormRequest(const std::string& url, const FormFields& form) {
  HttpRequest request;
  request.method = HttpMethod::kPost;
  request.url = url;
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  for (const auto& [name, value] : form) {
    if (!request.body.empty()) request.body += '&';
    request.body += fmt::format("{}={}", name, PercentEncode(value, false));
  }
  return request;
}

bool IsSafeForSecrets(const std::string& text) {
  const auto url = ParseUrl(text);
  if (!url) return false;
  const bool is_here =
      url->host == "localhost" || url->host == "127.0.0.1" || url->host == "[::1]";
  return url->scheme == "https" || (url->scheme == "http" && is_here);
}

}  // namespace ndlfs::backends::object
