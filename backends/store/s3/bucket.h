// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/store/http/http_client.h"
#include "backends/store/object/bucket.h"
#include "backends/store/object/environment.h"
#include "backends/store/object/signature.h"
#include "backends/store/s3/credentials.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::s3 {

struct BucketOptions {
  // The URL of the server; empty: from the settings of the AWS tools, else AWS.
  std::string endpoint = {};
  // Empty: from the settings of the AWS tools, else where the bucket is.
  std::string region = {};
  bool signs = true;  // false: anonymous, for public buckets
  bool requester_pays = false;
  bool asks_metadata_server = true;  // as in CredentialProvider::Options
  object::GetVariable variable = object::GetEnvironmentVariable;
  object::GetTime now_s = object::SystemTime;
};

// A bucket of S3, or of a server that speaks its protocol. Makes URLs, signs requests, and does
// what answers of S3 demand: goes to another region, uses the server's clock, renews expired
// credentials; each once for a request. Thread-safe.
//
// AWS has the bucket in the host's name ("virtual-host style"), if the name of the bucket
// allows that. With other endpoints the bucket is in the path ("path style").
class Bucket final : public object::Bucket {
 public:
  // Sends nothing. kBadInput for an endpoint that is no URL, a region that is none, or a
  // profile that is not there.
  static model::Result<std::unique_ptr<Bucket>> Open(std::string name,
                                                     const BucketOptions& options,
                                                     std::shared_ptr<const HttpClient> client);

  std::string name() const override { return "s3://" + name_; }
  // URL of the server, without '/' at its end; empty: AWS.
  std::string server() const override { return endpoint_; }

  // A GET of the object `key`; of the bucket itself if `key` is empty. `query` is
  // percent-encoded. A redirect is not followed unless it names a region. The caller may set
  // method, range, If-Match and memory, but must leave URL, headers and hooks. The bucket must
  // outlive the request.
  HttpRequest RequestFor(std::string key, std::string query = {}) const;

  HttpRequest ObjectRequest(std::string_view key) const override {
    return RequestFor(std::string(key));
  }
  HttpRequest ListRequest(std::string_view folder, const PageStart& start,
                          unsigned most_names) const override {
    return RequestFor("", object::ListQuery(folder, start, most_names));
  }

  // A bucket that does not exist is no missing key.
  KeyState StateOf(const HttpRequest& request, const HttpResponse& response) const override;
  model::Failure ToError(const HttpResponse& response) const override;

 private:
  class Round;  // one request on its way

  Bucket(std::string name, const BucketOptions& options,
         std::shared_ptr<const HttpClient> client);

  std::string region() const EXCLUDES(mutex_);
  std::string UrlOf(const std::string& key, const std::string& query,
                    const std::string& region) const;
  // Whether the request may succeed now, because something was learned from this answer.
  bool Learn(const HttpResponse& response, const std::string& used_region,
             int64_t used_offset_s, const std::optional<object::Credentials>& used) const
      EXCLUDES(mutex_);
  bool LearnRegion(const HttpResponse& response, const std::string& named,
                   const std::string& used) const EXCLUDES(mutex_);
  bool LearnTime(const HttpResponse& response, int64_t server_time_s,
                 int64_t used_offset_s) const;

  const std::string name_;
  const std::shared_ptr<const HttpClient> client_;
  const object::GetTime now_s_;
  const bool requester_pays_;
  std::string endpoint_;
  std::unique_ptr<CredentialProvider> credentials_;  // null: anonymous
  mutable std::atomic<int64_t> clock_offset_s_ = 0;  // server minus this machine
  mutable model::Mutex mutex_;
  mutable std::string region_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::backends::s3
