// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/store/http/http_client.h"
#include "backends/store/http/key_answer.h"
#include "backends/store/s3/aws_profile.h"
#include "backends/store/s3/credentials.h"
#include "backends/store/s3/signature.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::s3 {

// "s3://bucket/a/b"
struct Location {
  std::string bucket;
  std::string prefix;  // "a/b", without '/' at the ends; empty: the whole bucket
};
// kBadInput if `text` is no such URL, or the name of its bucket or its prefix is impossible.
model::Result<Location> ParseLocation(std::string_view text);

struct BucketOptions {
  // The URL of the server; empty: from the settings of the AWS tools, else AWS.
  std::string endpoint = {};
  // Empty: from the settings of the AWS tools, else where the bucket is.
  std::string region = {};
  bool signs = true;  // false: anonymous, for public buckets
  bool requester_pays = false;
  GetVariable variable = GetEnvironmentVariable;
  std::function<int64_t()> now_s = {};  // seconds since 1970; empty: the clock of the system
};

// A bucket of S3, or of a server that speaks its protocol. Makes URLs, signs requests, and does
// what answers of S3 demand: goes to another region, uses the server's clock, renews expired
// credentials; each once for a request. Thread-safe.
//
// AWS has the bucket in the host's name ("virtual-host style"), if the name of the bucket
// allows that. With other endpoints the bucket is in the path ("path style").
class Bucket {
 public:
  // Sends nothing. kBadInput for an endpoint that is no URL, a region that is none, or a
  // profile that is not there.
  static model::Result<std::unique_ptr<Bucket>> Open(std::string name,
                                                     const BucketOptions& options,
                                                     std::shared_ptr<const HttpClient> client);

  const std::string& name() const { return name_; }
  // URL of the server, without '/' at its end; empty: AWS.
  const std::string& endpoint() const { return endpoint_; }
  bool is_anonymous() const { return credentials_ == nullptr; }

  // A GET of the object `key`; of the bucket itself if `key` is empty. `query` is
  // percent-encoded. A redirect is not followed unless it names a region. The caller may set
  // method, range, If-Match and memory, but must leave URL, headers and hooks. The bucket must
  // outlive the request.
  HttpRequest RequestFor(std::string key, std::string query = {}) const;

  // As ObjectService::StateOf(). Status 403 may stand for a missing key only with the code
  // AccessDenied, or without a code: other codes are about the credentials.
  KeyState StateOf(const HttpRequest& request, const HttpResponse& response) const;

  // The error for an answer without a value: EACCES for status 401 and 403, kStale for 412 in
  // the words of S3, EIO for others. The message has the status, code and text of the error
  // document, and advice. A bucket that does not exist is an error, too.
  model::Failure ToError(const HttpResponse& response) const;
  static bool IsMissingKey(const HttpResponse& response);

 private:
  class Round;  // one request on its way

  Bucket(std::string name, const BucketOptions& options,
         std::shared_ptr<const HttpClient> client);

  std::string region() const EXCLUDES(mutex_);
  std::string UrlOf(const std::string& key, const std::string& query,
                    const std::string& region) const;
  // Whether the request may succeed now, because something was learned from this answer.
  bool Learn(const HttpResponse& response, const std::string& used_region,
             int64_t used_offset_s, const std::optional<Credentials>& used) const
      EXCLUDES(mutex_);
  bool LearnRegion(const HttpResponse& response, const std::string& named,
                   const std::string& used) const EXCLUDES(mutex_);
  bool LearnTime(const HttpResponse& response, int64_t server_time_s,
                 int64_t used_offset_s) const;

  const std::string name_;
  const std::shared_ptr<const HttpClient> client_;
  const std::function<int64_t()> now_s_;
  const bool requester_pays_;
  std::string endpoint_;
  std::unique_ptr<CredentialProvider> credentials_;  // null: anonymous
  mutable std::atomic<int64_t> clock_offset_s_ = 0;  // server minus this machine
  mutable model::Mutex mutex_;
  mutable std::string region_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::backends::s3
