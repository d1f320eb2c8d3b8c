// SPDX-License-Identifier: MIT
#include "backends/store/s3/s3_source.h"

#include <optional>
#include <string_view>
#include <utility>

#include "backends/store/http/object_service.h"
#include "backends/store/keys.h"
#include "backends/store/s3/answers.h"
#include "backends/store/s3/folder_list.h"

namespace ndlfs::backends::s3 {
namespace {

// A thousand keys of 1 KiB, each byte as "%XX", with what else is told of an object.
constexpr uint64_t kLargestPage = 8 << 20;

std::string NameOf(const Location& location) {
  const std::string name = "s3://" + location.bucket;
  return location.prefix.empty() ? name : name + "/" + location.prefix;
}

// The keys below a prefix of a bucket.
class S3Service final : public ObjectService {
 public:
  S3Service(std::unique_ptr<const Bucket> bucket, const Location& location)
      : bucket_(std::move(bucket)), name_(NameOf(location)), prefix_(location.prefix) {}

  const std::string& name() const override { return name_; }
  // Buckets of different servers may have one name.
  std::string identity() const override {
    const std::string& endpoint = bucket_->endpoint();
    return endpoint.empty() ? name_ : endpoint + " " + name_;
  }

  HttpRequest FileRequest(std::string_view path) const override {
    return bucket_->RequestFor(JoinKey(prefix_, path));
  }

  KeyState StateOf(const HttpRequest& request, const HttpResponse& response) const override {
    return bucket_->StateOf(request, response);
  }
  model::Error ToError(KeyState, const HttpResponse& response) const override {
    return bucket_->ToError(response).value();
  }
  ValueInfo InfoOf(const HttpResponse& response) const override {
    ValueInfo info =
        ObjectInfo(response.etag, response.total_size.value_or(0), response.modified_ns);
    info.is_settled = info.is_settled || IsSettled(response, info.modified_ns);
    return info;
  }

  HttpRequest ListRequest(std::string_view path, const PageStart& start,
                          unsigned most_names) const override {
    HttpRequest request =
        bucket_->RequestFor("", ListQuery(FolderKey(path), start, most_names));
    request.limit = kLargestPage;
    return request;
  }

  model::Result<std::optional<ListPage>> ParseList(
      std::string_view path, const PageStart& start,
      const HttpResponse& response) const override {
    if (response.status != 200) return bucket_->ToError(response);
    const std::string folder = FolderKey(path);
    NDLFS_TRY(KeyPage list, ParseListPage(response.body, folder), "list");
    if (!list.next_token.empty() && list.next_token == start.token) {
      return model::BadInput("list: it begins again");
    }
    NDLFS_TRY(ListPage page, ToNamePage(std::move(list), folder, start), "list");
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

  const std::unique_ptr<const Bucket> bucket_;
  const std::string name_;
  const std::string prefix_;  // without '/' at the end
};

}  // namespace

model::Result<std::shared_ptr<const RemoteSource>> OpenS3Source(
    const std::string& url, const BucketOptions& bucket_options, RemoteOptions options,
    std::shared_ptr<const HttpClient> client) {
  NDLFS_TRY(const Location location, ParseLocation(url));
  NDLFS_TRY(auto bucket, Bucket::Open(location.bucket, bucket_options, client));
  return std::make_shared<const RemoteSource>(
      std::move(client), std::make_shared<const S3Service>(std::move(bucket), location),
      std::move(options));
}

}  // namespace ndlfs::backends::s3
