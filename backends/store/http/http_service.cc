// SPDX-License-Identifier: MIT
#include "backends/store/http/http_service.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <utility>

#include "backends/base/percent_encoding.h"
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

constexpr uint64_t kMaxPage = 64 << 20;
constexpr size_t kMaxNames = 4 << 20;

// Whether a file may be a page, by its name.
bool MayBePage(std::string_view path) {
  return path.ends_with(".html") || path.ends_with(".htm") || path.ends_with(".xhtml");
}

// A name that is listed twice counts once, and as a directory if it is one.
void SortNames(std::vector<ListedObject>& objects) {
  std::erase_if(objects, [](const ListedObject& object) { return !IsSoundName(object.name); });
  std::stable_sort(objects.begin(), objects.end(), [](const auto& a, const auto& b) {
    return std::pair(std::string_view(a.name), !a.is_directory()) <
           std::pair(std::string_view(b.name), !b.is_directory());
  });
  objects.erase(std::unique(objects.begin(), objects.end(),
                            [](const auto& a, const auto& b) { return a.name == b.name; }),
                objects.end());
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
    HttpRequest request = RequestFor("/" + PercentEncode(path));
    request.is_file = true;
    request.refuses_pages = !MayBePage(path);
    return request;
  }

  HttpRequest ListRequest(std::string_view path, const PageStart&, unsigned) const override {
    HttpRequest request = RequestFor(path.empty() ? "/" : "/" + PercentEncode(path) + "/");
    request.limit = kMaxPage;
    return request;
  }

  model::Result<std::optional<ListPage>> ParseList(
      std::string_view, const PageStart&, const HttpResponse& response) const override {
    if (response.status != 200) return std::nullopt;
    auto objects = ParseIndexPage(response.Find("content-type"), response.body, response.url);
    if (!objects) return std::nullopt;
    if (objects->size() > kMaxNames) return model::Limit("more than {} names", kMaxNames);
    SortNames(*objects);
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
