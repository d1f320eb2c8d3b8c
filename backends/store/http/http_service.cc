// SPDX-License-Identifier: MIT
#include "backends/store/http/http_service.h"

#include <array>
#include <cerrno>
#include <fstream>
#include <utility>

#include "backends/store/http/index_page.h"

namespace ndlfs::backends {
namespace {

// The first line of a short file.
model::Result<std::string> ReadToken(const std::string& path) {
  constexpr size_t kMostBytes = 16 << 10;
  std::ifstream file(path);
  if (!file) return model::IoError(errno, "token file " + model::Quote(path));
  std::string token(kMostBytes, '\0');
  file.read(token.data(), kMostBytes);
  token.resize(static_cast<size_t>(file.gcount()));
  token.resize(std::min(token.find_first_of("\r\n"), token.size()));
  const bool is_sound =
      !token.empty() && token.size() < kMostBytes &&
      token.find_first_not_of(
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/=") ==
          token.npos;
  if (!is_sound) return model::BadInput("token file {}: holds no token", model::Quote(path));
  return token;
}

class HttpService final : public ObjectService {
 public:
  HttpService(Url top, std::string token_file)
      : top_(std::move(top)), token_file_(std::move(token_file)) {
    while (top_.path.ends_with('/')) top_.path.pop_back();
    name_ = top_.origin() + top_.path;
  }

  const std::string& name() const override { return name_; }

  HttpRequest FileRequest(std::string_view path) const override {
    return RequestFor("/" + PercentEncode(path));
  }

  HttpRequest ListRequest(std::string_view path, const std::string&) const override {
    return RequestFor(path.empty() ? "/" : "/" + PercentEncode(path) + "/");
  }

  model::Result<std::optional<ListPage>> ParseList(
      std::string_view, const HttpResponse& response) const override {
    if (response.status != 200) return std::nullopt;
    auto objects = ParseIndexPage(response.Find("content-type"), response.body);
    if (!objects) return std::nullopt;
    return ListPage{*std::move(objects)};
  }

  // Index pages leave out names that begin with a dot.
  bool lists_are_complete() const override { return false; }

 private:
  HttpRequest RequestFor(const std::string& below) const {
    HttpRequest request;
    Url url = top_;
    url.path += below;
    request.url = WithUser(url);
    request.allow_link_local = IsLinkLocalHost(top_.host);
    if (token_file_.empty()) return request;
    request.prepare = [file = token_file_](HttpAttempt& attempt) -> model::Result<void> {
      if (!attempt.same_origin) return {};
      NDLFS_TRY(const std::string token, ReadToken(file));
      attempt.headers.push_back({"Authorization", "Bearer " + token});
      return {};
    };
    return request;
  }

  std::string WithUser(const Url& url) const {
    if (top_.user.empty()) return url.ToText();
    std::string text = url.ToText();
    const std::string user =
        PercentEncode(top_.user, false) + ":" + PercentEncode(top_.password, false) + "@";
    return text.insert(text.find("://") + 3, user);
  }

  Url top_;
  const std::string token_file_;
  std::string name_;
};

}  // namespace

std::shared_ptr<const ObjectService> MakeHttpService(const Url& top,
                                                     const std::string& token_file) {
  return std::make_shared<HttpService>(top, token_file);
}

}  // namespace ndlfs::backends
