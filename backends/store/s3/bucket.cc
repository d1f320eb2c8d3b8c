// SPDX-License-Identifier: MIT
#include "backends/store/s3/bucket.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/http/url.h"
#include "backends/store/object/xml_answers.h"
#include "backends/store/s3/aws_profile.h"

namespace ndlfs::backends::s3 {
namespace {

using object::Credentials;
using object::ErrorAnswer;
using object::FirstNotEmpty;
using object::ParseErrorAnswer;
using object::RequestToSign;
using object::Sign;

constexpr std::string_view kAnyRegion = "us-east-1";
// A clock that is off by less is not what a server complains about.
constexpr int64_t kSmallestSkew_s = 60;

bool IsLowerAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// The region becomes part of a host's name: a server must not choose another domain by it.
bool IsRegion(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLowerAlnum(c) || c == '-'; });
}

// Whether the name can be one part of a host's name: certificates do not cover more parts.
bool IsHostPart(std::string_view name) {
  return name.size() <= 63 && name.front() != '-' && name.back() != '-' &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return IsLowerAlnum(c) || c == '-'; });
}

std::string AwsHost(const std::string& region) {
  return fmt::format("s3.{}.amazonaws.com{}", region, region.starts_with("cn-") ? ".cn" : "");
}

model::Result<std::string> ChooseEndpoint(const BucketOptions& options,
                                          const AwsProfile& profile) {
  const bool ignores = options.variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") == "true";
  std::string endpoint = options.endpoint;
  if (endpoint.empty() && !ignores) {
    endpoint = FirstNotEmpty({options.variable("AWS_ENDPOINT_URL_S3"),
                              options.variable("AWS_ENDPOINT_URL"),
                              profile.Find("s3.endpoint_url"), profile.Find("endpoint_url")});
  }
  if (endpoint.empty()) return endpoint;
  return object::CheckEndpoint(endpoint);
}

bool IsExpired(std::string_view code) {
  return code == "ExpiredToken" || code == "ExpiredTokenException" || code == "InvalidToken" ||
         code == "TokenRefreshRequired" || code == "InvalidAccessKeyId";
}

// Advice for a person about an error.
std::string_view CureOf(std::string_view code) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kCures = {{
      {"NoSuchBucket", ": there is no such bucket; check its name, and --endpoint"},
      {"SignatureDoesNotMatch", ": the secret key is wrong"},
      {"InvalidAccessKeyId", ": the access key is unknown there"},
      {"ExpiredToken", ": the session has ended, get new credentials"},
      {"AuthorizationHeaderMalformed", ": the region may be wrong, see --region"},
      {"IllegalLocationConstraintException", ": the region is wrong, see --region"},
      {"PermanentRedirect", ": the bucket is elsewhere, see --region and --endpoint"},
      {"RequestTimeTooSkewed", ": the clock of this machine is wrong"},
  }};
  for (const auto& [known, cure] : kCures) {
    if (known == code) return cure;
  }
  return "";
}

// A redirect to another region, or a signature for a wrong one.
bool IsOfRegion(int status) {
  return status == 301 || status == 307 || status == 302 || status == 400;
}

}  // namespace

model::Result<std::unique_ptr<Bucket>> Bucket::Open(std::string name,
                                                    const BucketOptions& options,
                                                    std::shared_ptr<const HttpClient> client) {
  AwsProfile profile;
  if (auto found = ReadAwsProfile(options.variable)) {
    profile = *std::move(found);
  } else if (options.signs) {
    return model::Propagate(std::move(found).error());
  }
  std::unique_ptr<Bucket> bucket(new Bucket(std::move(name), options, std::move(client)));
  NDLFS_TRY(bucket->endpoint_, ChooseEndpoint(options, profile));
  const std::string region = FirstNotEmpty({options.region, options.variable("AWS_REGION"),
                                            options.variable("AWS_DEFAULT_REGION"),
                                            profile.Find("region"), std::string(kAnyRegion)});
  if (!IsRegion(region)) return model::BadInput("{} is not a region", model::Quote(region));
  {
    model::MutexLock lock(bucket->mutex_);
    bucket->region_ = region;
  }
  if (options.signs) {
    bucket->credentials_ = std::make_unique<CredentialProvider>(
        CredentialProvider::Options{options.variable, bucket->now_s_, bucket->client_, region,
                                    options.asks_metadata_server});
  }
  return bucket;
}

Bucket::Bucket(std::string name, const BucketOptions& options,
               std::shared_ptr<const HttpClient> client)
    : name_(std::move(name)),
      client_(std::move(client)),
      now_s_(options.now_s),
      requester_pays_(options.requester_pays) {}

std::string Bucket::region() const {
  model::MutexLock lock(mutex_);
  return region_;
}

std::string Bucket::UrlOf(const std::string& key, const std::string& query,
                          const std::string& region) const {
  std::string url = endpoint_;
  bool bucket_in_path = true;
  if (endpoint_.empty()) {
    bucket_in_path = !IsHostPart(name_);
    url = bucket_in_path ? "https://" + AwsHost(region)
                         : "https://" + name_ + "." + AwsHost(region);
  }
  url += '/';
  if (bucket_in_path) url += PercentEncode(name_, false);
  if (!key.empty()) {
    if (bucket_in_path) url += '/';
    url += PercentEncode(key);
  }
  if (!query.empty()) url += "?" + query;
  return url;
}

// The keys and the region used for one request, and what an answer has told. The hooks of the
// request hold it.
class Bucket::Round {
 public:
  Round(const Bucket& bucket, std::string key, std::string query)
      : bucket_(bucket),
        key_(std::move(key)),
        query_(std::move(query)),
        region_(bucket.region()) {}

  std::string MakeUrl() const { return bucket_.UrlOf(key_, query_, region_); }

  // As CorrectRequest.
  bool Correct(HttpRequest& request, const HttpResponse& response) {
    if (asks_why_ && (response.is_success() || response.status == 416)) {
      AskWhy(request, false);  // it was something of the moment
      return true;
    }
    if (response.is_success()) return false;
    if (bucket_.Learn(response, region_, offset_s_, used_)) {
      region_ = bucket_.region();
      request.url = MakeUrl();
      if (asks_why_) AskWhy(request, false);
      return true;
    }
    const bool is_mute = request.method == HttpMethod::kHead &&
                         (response.status == 400 || response.status == 403);
    if (!is_mute || !used_ || has_asked_why_) return false;
    AskWhy(request, true);
    return true;
  }

  // As PrepareAttempt.
  model::Result<void> Complete(HttpAttempt& attempt) {
    if (bucket_.credentials_ == nullptr) return {};
    if (!attempt.same_origin) return model::Internal("a signature for another server");
    NDLFS_TRY(used_, bucket_.credentials_->Current());
    NDLFS_TRY(const Url url, ParseUrl(attempt.url));
    RequestToSign to_sign = {.method = ToText(attempt.method),
                             .host = {},
                             .path = url.path,
                             .query = url.query,
                             .headers = {},
                             .body = attempt.body};
    const std::string origin = url.origin();
    to_sign.host = std::string_view(origin).substr(origin.find("//") + 2);
    if (bucket_.requester_pays_)
      to_sign.headers.push_back({"x-amz-request-payer", "requester"});
    offset_s_ = bucket_.clock_offset_s_;
    const int64_t now = bucket_.now_s_() + offset_s_;
    for (HttpHeader& header : Sign(to_sign, *used_, {.region = region_}, now)) {
      attempt.headers.push_back(std::move(header));
    }
    return {};
  }

 private:
  // Answers to HEAD do not say why they refuse: a GET asks instead.
  void AskWhy(HttpRequest& request, bool asks) {
    asks_why_ = asks;
    has_asked_why_ |= asks;
    request.method = asks ? HttpMethod::kGet : HttpMethod::kHead;
    request.range = asks ? std::optional(ByteRange{0, 1}) : std::nullopt;
  }

  const Bucket& bucket_;
  const std::string key_;
  const std::string query_;
  std::string region_;
  int64_t offset_s_ = 0;
  std::optional<Credentials> used_;
  bool asks_why_ = false;
  bool has_asked_why_ = false;
};

HttpRequest Bucket::RequestFor(std::string key, std::string query) const {
  const auto round = std::make_shared<Round>(*this, std::move(key), std::move(query));
  HttpRequest request;
  request.url = round->MakeUrl();
  request.follow_redirects = false;
  if (requester_pays_) request.headers.push_back({"x-amz-request-payer", "requester"});
  request.prepare = [round](HttpAttempt& attempt) { return round->Complete(attempt); };
  request.correct = [round](HttpRequest& sent, const HttpResponse& response) {
    return round->Correct(sent, response);
  };
  return request;
}

bool Bucket::Learn(const HttpResponse& response, const std::string& used_region,
                   int64_t used_offset_s, const std::optional<Credentials>& used) const {
  const ErrorAnswer error = ParseErrorAnswer(response.body).value_or(ErrorAnswer{});
  if (IsOfRegion(response.status) && LearnRegion(response, error.region, used_region)) {
    return true;
  }
  if (error.code == "RequestTimeTooSkewed") {
    return LearnTime(response, error.server_time_s, used_offset_s);
  }
  return used && IsExpired(error.code) && credentials_->Refuse(*used);
}

bool Bucket::LearnRegion(const HttpResponse& response, const std::string& named,
                         const std::string& used) const {
  const std::string_view in_header = response.Find("x-amz-bucket-region");
  const std::string region = in_header.empty() ? named : std::string(in_header);
  if (!IsRegion(region) || region == used) return false;
  model::MutexLock lock(mutex_);
  region_ = region;
  return true;
}

bool Bucket::LearnTime(const HttpResponse& response, int64_t server_time_s,
                       int64_t used_offset_s) const {
  int64_t server = server_time_s;
  if (server == 0) {
    server = ParseHttpDate(response.Find("date")).value_or(0) / 1'000'000'000;
  }
  if (server == 0) return false;
  const int64_t offset = server - now_s_();
  clock_offset_s_ = offset;
  return std::abs(offset - used_offset_s) >= kSmallestSkew_s;
}

model::Failure Bucket::ToError(const HttpResponse& response) const {
  const auto code = object::CodeOf(response);
  // Swift answers so, in words of its own, to requests for objects that are not signed.
  if (response.status == 412 && code.empty() && !response.body.empty()) {
    return model::IoError(EIO, name() +
                                   ": status 412, not in the words of S3: the server may take "
                                   "signed requests only");
  }
  return object::ErrorOf(name(), response, code, CureOf(code));
}

KeyState Bucket::StateOf(const HttpRequest& request, const HttpResponse& response) const {
  const auto code = object::CodeOf(response);
  if (response.status == 404 && code == "NoSuchBucket") return KeyState::kFailed;
  return object::StateByStatus(request, response, code);
}

}  // namespace ndlfs::backends::s3
