// SPDX-License-Identifier: MIT
#include "backends/store/object/bucket.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "backends/store/http/url.h"
#include "backends/store/keys.h"

namespace ndlfs::backends::object {
namespace {

// A thousand keys of 1 KiB, each byte as "%XX", with the other facts about each object.
constexpr uint64_t kLargestPage = 8 << 20;

// The keys below a prefix of a bucket.
class BucketService final : public ObjectService {
 public:
  BucketService(std::shared_ptr<const Bucket> bucket, const std::string& prefix)
      : bucket_(std::move(bucket)),
        name_(prefix.empty() ? bucket_->name() : bucket_->name() + "/" + prefix),
        prefix_(prefix) {}

  const std::string& name() const override { return name_; }
  // Buckets of different servers may have one name.
  std::string identity() const override {
    const std::string server = bucket_->server();
    return server.empty() ? name_ : server + " " + name_;
  }

  HttpRequest FileRequest(std::string_view path) const override {
    return bucket_->ObjectRequest(JoinKey(prefix_, path));
  }
  void AskForVersion(HttpRequest& request, const Generation& version) const override {
    bucket_->AskForVersion(request, version);
  }
  bool AskUnlessVersion(HttpRequest& request, const Generation& version) const override {
    return bucket_->AskUnlessVersion(request, version);
  }

  bool takes_ranges_from_end() const override { return bucket_->takes_ranges_from_end(); }

  KeyState StateOf(const HttpRequest& request, const HttpResponse& response) const override {
    return bucket_->StateOf(request, response);
  }
  model::Error ToError(KeyState, const HttpResponse& response) const override {
    return bucket_->ToError(response).value();
  }
  ValueInfo InfoOf(const HttpResponse& response) const override {
    return bucket_->InfoOf(response);
  }

  HttpRequest ListRequest(std::string_view path, const PageStart& start,
                          unsigned most_names) const override {
    HttpRequest request = bucket_->ListRequest(FolderKey(path), start, most_names);
    request.limit = kLargestPage;
    return request;
  }

  model::Result<std::optional<ListPage>> ParseList(
      std::string_view path, const PageStart& start,
      const HttpResponse& response) const override {
    if (response.status != 200) return bucket_->ToError(response);
    const std::string folder = FolderKey(path);
    NDLFS_TRY(KeyPage list, bucket_->ParseList(response.body, folder), "list");
    if (!list.next_token.empty() && list.next_token == start.token) {
      return model::BadInput("list: it begins again");
    }
    const auto info_of = [this](const ListedKey& listed) { return bucket_->InfoOf(listed); };
    NDLFS_TRY(ListPage page, ToNamePage(std::move(list), folder, start, info_of), "list");
    return page;
  }

  bool lists_are_complete() const override { return true; }

 private:
  // The beginning of all keys below the folder at a path.
  std::string FolderKey(std::string_view path) const {
    std::string key = JoinKey(prefix_, path);
    if (!key.empty()) key += '/';
    return key;
  }

  const std::shared_ptr<const Bucket> bucket_;
  const std::string name_;
  const std::string prefix_;  // without '/' at the end
};

}  // namespace

ValueInfo Bucket::InfoOf(const HttpResponse& response) const {
  ValueInfo info =
      ObjectInfo(response.etag, response.total_size.value_or(0), response.modified_ns);
  info.is_settled = info.is_settled || IsSettled(response, info.modified_ns);
  return info;
}

void Bucket::AskForVersion(HttpRequest& request, const Generation& version) const {
  if (IsStrongTag(version.tag())) request.if_match = version.tag();
}

bool Bucket::AskUnlessVersion(HttpRequest& request, const Generation& version) const {
  if (!IsStrongTag(version.tag())) return false;
  request.headers.push_back({"If-None-Match", std::string(version.tag())});
  return true;
}

std::string CodeOf(const HttpResponse& response) {
  if (response.is_success()) return "";
  if (const auto header = response.Find("x-ms-error-code"); !header.empty()) {
    return std::string(header);
  }
  auto error = ParseErrorAnswer(response.body);
  return error ? std::move(error->code) : "";
}

KeyState StateByStatus(const HttpRequest& request, const HttpResponse& response,
                       std::string_view code) {
  const int status = response.status;
  const bool is_head = request.method == HttpMethod::kHead;
  switch (status) {
    case 200:
    case 206:
      return is_head && !response.total_size ? KeyState::kUntold : KeyState::kPresent;
    case 401:
      return KeyState::kForbidden;
    case 403:
      return code.empty() || code == "AccessDenied" ? KeyState::kRefused : KeyState::kForbidden;
    case 404:
      return KeyState::kAbsent;
    case 412:
      return KeyState::kOtherVersion;
    case 416:
      return KeyState::kOutOfRange;
    case 405:
    case 501:
      return is_head ? KeyState::kUntold : KeyState::kFailed;
    default:
      return KeyState::kFailed;
  }
}

model::Failure ErrorOf(std::string_view bucket, const HttpResponse& response,
                       std::string_view code, std::string_view advice) {
  std::string message = fmt::format("{}: status {}", bucket, response.status);
  const auto error = ParseErrorAnswer(response.body);
  if (!code.empty()) {
    message += fmt::format(": {}", model::OneLine(code));
    // Azure writes the number of the request and the time on lines of their own.
    const std::string_view text =
        error ? std::string_view(error->message).substr(0, error->message.find('\n')) : "";
    if (!text.empty()) message += fmt::format(" ({})", model::OneLine(text.substr(0, 200)));
  }
  message += advice;
  switch (response.status) {
    case 401:
    case 403:
      return model::Failure(
          model::Error(model::ErrorCode::kIo, message + ": permission denied", EACCES));
    case 412:
      return model::HasChanged(message);
    default:
      return model::Failure(model::Error(model::ErrorCode::kIo, std::move(message), EIO));
  }
}

bool IsBucketName(std::string_view text) {
  return text.size() >= 3 && text.size() <= 255 && text != "..." &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                  c == '-' || c == '.' || c == '_';
         });
}

model::Result<Location> SplitLocation(std::string_view text, std::string_view scheme) {
  const std::string begin = std::string(scheme) + "://";
  if (!text.starts_with(begin)) {
    return model::BadInput("{} is not {}BUCKET/PREFIX", model::Quote(text), begin);
  }
  const std::string_view rest = text.substr(begin.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  Location location = {std::string(rest.substr(0, slash)),
                       std::string(rest.substr(std::min(slash + 1, rest.size())))};
  while (location.prefix.ends_with('/')) location.prefix.pop_back();
  if (!location.prefix.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(location.prefix));
  return location;
}

model::Result<Location> ParseLocation(std::string_view text, std::string_view scheme) {
  NDLFS_TRY(Location location, SplitLocation(text, scheme));
  if (IsBucketName(location.bucket)) return location;
  return model::BadInput("{}: {} is not the name of a bucket", model::Quote(text),
                         model::Quote(location.bucket));
}

model::Result<std::string> CheckEndpoint(const std::string& endpoint) {
  NDLFS_TRY(const Url url, ParseUrl(endpoint), "endpoint");
  if ((url.scheme != "http" && url.scheme != "https") || !url.query.empty() ||
      !url.user.empty()) {
    return model::BadInput("endpoint: {} is not http://HOST or https://HOST",
                           model::Quote(url.ForMessages()));
  }
  std::string text = url.ToText();
  while (text.ends_with('/')) text.pop_back();
  return text;
}

std::shared_ptr<const ObjectService> MakeBucketService(std::shared_ptr<const Bucket> bucket,
                                                       const std::string& prefix) {
  return std::make_shared<const BucketService>(std::move(bucket), prefix);
}

}  // namespace ndlfs::backends::object
