// SPDX-License-Identifier: MIT
#include "backends/store/s3/bucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_bucket.h"
#include "tests/support/result.h"

namespace ndlfs::backends::s3 {
namespace {

using model::ErrorCode;
using test::FakeBucket;
using test::FakeTransport;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kNow = 1369353600;  // 2013-05-24 00:00:00

BucketOptions Options(std::map<std::string, std::string> more = {}) {
  std::map<std::string, std::string> variables = {{"AWS_ACCESS_KEY_ID", "KEY"},
                                                  {"AWS_SECRET_ACCESS_KEY", "SECRET"},
                                                  {"HOME", "/nonexistent"}};
  variables.merge(more);
  BucketOptions options;
  options.variable = test::Variables(std::move(variables));
  options.now_s = [] { return kNow; };
  return options;
}

std::unique_ptr<Bucket> Open(const FakeBucket& fake, const BucketOptions& options = Options(),
                             const std::string& name = "bucket") {
  return std::move(Bucket::Open(name, options, fake.client())).value();
}

model::Result<HttpResponse> Get(const FakeBucket& fake, const Bucket& bucket,
                                const std::string& key) {
  return fake.client()->Send(bucket.RequestFor(key));
}

model::Result<HttpResponse> Head(const FakeBucket& fake, const Bucket& bucket,
                                 const std::string& key) {
  HttpRequest request = bucket.RequestFor(key);
  request.method = HttpMethod::kHead;
  return fake.client()->Send(request);
}

BucketOptions WithEndpoint(BucketOptions options = Options()) {
  options.endpoint = "http://localhost:9000/";
  return options;
}

std::string UrlOf(const BucketOptions& options, const std::string& name = "bucket") {
  FakeBucket fake(name);
  (void)Head(fake, *Open(fake, options, name), "a b/c+%\xC3\xA4");
  return fake.sent().at(0).url;
}

TEST(S3BucketTest, BucketIsInTheHostWithAwsAndInThePathElsewhere) {
  EXPECT_EQ(UrlOf(Options()), "https://bucket.s3.us-east-1.amazonaws.com/a%20b/c%2B%25%C3%A4");
  EXPECT_THAT(UrlOf(Options(), "dots.in.it"),
              StartsWith("https://s3.us-east-1.amazonaws.com/dots.in.it/a%20b"));
  EXPECT_EQ(UrlOf(WithEndpoint()), "http://localhost:9000/bucket/a%20b/c%2B%25%C3%A4");
}

TEST(S3BucketTest, RegionAndEndpointComeFromTheEnvironment) {
  EXPECT_THAT(UrlOf(Options({{"AWS_REGION", "cn-north-1"}})),
              StartsWith("https://bucket.s3.cn-north-1.amazonaws.com.cn/"));
  EXPECT_THAT(UrlOf(Options({{"AWS_DEFAULT_REGION", "eu-west-3"}})),
              StartsWith("https://bucket.s3.eu-west-3.amazonaws.com/"));
  EXPECT_THAT(UrlOf(Options({{"AWS_ENDPOINT_URL", "https://minio:9000"}})),
              StartsWith("https://minio:9000/bucket/"));
  BucketOptions options = Options({{"AWS_REGION", "eu-west-3"}});
  options.region = "eu-west-1";
  EXPECT_THAT(UrlOf(options), StartsWith("https://bucket.s3.eu-west-1.amazonaws.com/"));
}

TEST(S3BucketTest, EndpointAndRegionAreChecked) {
  FakeBucket fake;
  BucketOptions options = Options();
  options.endpoint = "file:///etc";
  EXPECT_THAT(Bucket::Open("bucket", options, fake.client()),
              test::IsError(ErrorCode::kBadInput, HasSubstr("endpoint")));
  options = Options();
  options.region = "evil.example.com/";
  EXPECT_THAT(Bucket::Open("bucket", options, fake.client()),
              test::IsError(ErrorCode::kBadInput, HasSubstr("is not a region")));
}

TEST(S3BucketTest, EachAttemptIsSigned) {
  FakeBucket fake;
  fake.Put("a", "text");
  int failures = 1;
  fake.set_special([&](const FakeTransport::Sent&) -> std::optional<test::FakeAnswer> {
    if (failures-- > 0) return FakeBucket::Error(503, "SlowDown");
    return std::nullopt;
  });
  EXPECT_EQ(Head(fake, *Open(fake, WithEndpoint()), "a")->status, 200);
  ASSERT_EQ(fake.requests(), 2u);
  for (const auto& sent : fake.sent()) {
    EXPECT_THAT(
        sent.Find("authorization"),
        StartsWith("AWS4-HMAC-SHA256 Credential=KEY/20130524/us-east-1/s3/aws4_request"));
  }
}

TEST(S3BucketTest, OnlyS3SaysThatAnObjectHasChanged) {
  FakeBucket fake;
  const auto bucket = Open(fake, WithEndpoint());
  HttpResponse response;
  response.status = 412;
  response.body = "<Error><Code>PreconditionFailed</Code></Error>";
  EXPECT_EQ(bucket->ToError(response).value().code(), ErrorCode::kStale);
  response.body = "Bad URL";  // as Swift says
  EXPECT_EQ(bucket->ToError(response).value().code(), ErrorCode::kIo);
  EXPECT_THAT(bucket->ToError(response).value().message(),
              AllOf(HasSubstr("status 412"), HasSubstr("signed"), Not(HasSubstr("changed"))));
}

TEST(S3BucketTest, AnonymousRequestsHaveNoSignature) {
  FakeBucket fake;
  BucketOptions options = WithEndpoint();
  options.signs = false;
  (void)Head(fake, *Open(fake, options), "a");
  EXPECT_EQ(fake.sent().at(0).Find("authorization"), "");
}

TEST(S3BucketTest, RequesterPaysIsSaidAndSigned) {
  FakeBucket fake;
  BucketOptions options = WithEndpoint();
  options.requester_pays = true;
  (void)Head(fake, *Open(fake, options), "a");
  EXPECT_EQ(fake.sent().at(0).Find("x-amz-request-payer"), "requester");
  EXPECT_THAT(fake.sent().at(0).Find("authorization"), HasSubstr(";x-amz-request-payer,"));
}

TEST(S3BucketTest, GoesToTheRegionThatARedirectNames) {
  FakeBucket fake;
  fake.set_special([](const FakeTransport::Sent& sent) -> std::optional<test::FakeAnswer> {
    if (sent.url.starts_with("https://bucket.s3.eu-west-1.")) return test::FakeAnswer{404};
    return test::FakeAnswer{301, {{"x-amz-bucket-region", "eu-west-1"}}};
  });
  const auto bucket = Open(fake);
  EXPECT_EQ(Head(fake, *bucket, "a")->status, 404);
  EXPECT_THAT(fake.sent().back().Find("authorization"), HasSubstr("/eu-west-1/s3/"));
  EXPECT_EQ(fake.requests(), 2u);
  EXPECT_EQ(Head(fake, *bucket, "a")->status, 404);
  EXPECT_EQ(fake.requests(), 3u) << "the region is remembered";
}

TEST(S3BucketTest, RedirectsInALoopEnd) {
  FakeBucket fake;
  fake.set_special([](const FakeTransport::Sent& sent) -> std::optional<test::FakeAnswer> {
    const bool is_a = sent.url.find("s3.a-1.") != std::string::npos;
    return test::FakeAnswer{301, {{"x-amz-bucket-region", is_a ? "b-1" : "a-1"}}};
  });
  EXPECT_EQ(Head(fake, *Open(fake), "a")->status, 301);
  EXPECT_LT(fake.requests(), 10u);
}

TEST(S3BucketTest, RegionFromAnAnswerNeverLeadsToAnotherHost) {
  for (const char* region : {"evil.example.com/", "x@evil", "../..", "EVIL", ""}) {
    FakeBucket fake;
    fake.set_special([&](const FakeTransport::Sent&) -> std::optional<test::FakeAnswer> {
      return test::FakeAnswer{
          307,
          {{"x-amz-bucket-region", region}, {"location", "https://evil.example.com/a"}},
          "<Error><Code>TemporaryRedirect</Code><Endpoint>evil.example.com</Endpoint></Error>"};
    });
    EXPECT_EQ(Head(fake, *Open(fake), "a")->status, 307);
    EXPECT_EQ(fake.requests(), 1u) << region;
  }
}

TEST(S3BucketTest, TheClockOfTheServerIsTakenOnce) {
  FakeBucket fake;
  fake.Put("a", "text");
  fake.set_special([](const FakeTransport::Sent& sent) -> std::optional<test::FakeAnswer> {
    if (sent.Find("x-amz-date").starts_with("20130524T01")) return std::nullopt;
    return FakeBucket::Error(403, "RequestTimeTooSkewed",
                             "<ServerTime>2013-05-24T01:00:00Z</ServerTime>");
  });
  const auto bucket = Open(fake, WithEndpoint());
  EXPECT_EQ(Get(fake, *bucket, "a")->status, 200);
  EXPECT_EQ(Get(fake, *bucket, "a")->status, 200);
  EXPECT_EQ(fake.requests(), 3u);
}

TEST(S3BucketTest, ARefusedHeadIsFollowedByAQuestionWhy) {
  FakeBucket fake;
  fake.Put("a", "");
  fake.set_special([](const FakeTransport::Sent& sent) -> std::optional<test::FakeAnswer> {
    if (sent.Find("x-amz-date").starts_with("20130524T01")) return std::nullopt;
    if (sent.method == HttpMethod::kHead) return test::FakeAnswer{403};
    return FakeBucket::Error(403, "RequestTimeTooSkewed",
                             "<ServerTime>2013-05-24T01:00:00Z</ServerTime>");
  });
  EXPECT_EQ(Head(fake, *Open(fake, WithEndpoint()), "a")->status, 200);
  EXPECT_EQ(fake.requests(), 3u);
}

TEST(S3BucketTest, ARefusedHeadTellsWhatTheQuestionHasFound) {
  FakeBucket fake;
  fake.set_special([](const FakeTransport::Sent& sent) -> std::optional<test::FakeAnswer> {
    if (sent.method == HttpMethod::kHead) return test::FakeAnswer{403};
    return FakeBucket::Error(403, "AccessDenied");
  });
  const auto bucket = Open(fake, WithEndpoint());
  EXPECT_THAT(bucket->ToError(*Head(fake, *bucket, "a")).value().message(),
              HasSubstr("AccessDenied"));
  EXPECT_EQ(fake.requests(), 2u);
}

TEST(S3BucketTest, AServerThatAlwaysComplainsAboutTheClockIsBelieved) {
  FakeBucket fake;
  fake.set_special([](const FakeTransport::Sent&) -> std::optional<test::FakeAnswer> {
    return FakeBucket::Error(403, "RequestTimeTooSkewed",
                             "<ServerTime>2013-05-24T01:00:00Z</ServerTime>");
  });
  EXPECT_EQ(Get(fake, *Open(fake, WithEndpoint()), "a")->status, 403);
  EXPECT_EQ(fake.requests(), 2u);
}

TEST(S3BucketTest, ErrorsTellStatusCodeAndTextButNoSecret) {
  FakeBucket fake;
  fake.set_special([](const FakeTransport::Sent&) -> std::optional<test::FakeAnswer> {
    return FakeBucket::Error(403, "SignatureDoesNotMatch",
                             "<StringToSign>AWS4 of KEY</StringToSign>");
  });
  const auto bucket = Open(fake, WithEndpoint());
  const auto error = bucket->ToError(*Get(fake, *bucket, "a")).value();
  EXPECT_EQ(error.sys_errno(), EACCES);
  EXPECT_THAT(error.message(),
              AllOf(HasSubstr("s3://bucket: status 403: SignatureDoesNotMatch (it says so)"),
                    Not(HasSubstr("SECRET")), Not(HasSubstr("AWS4"))));
}

TEST(S3BucketTest, AMissingBucketIsAnErrorAndAMissingKeyIsNone) {
  FakeBucket fake;
  const auto bucket = Open(fake, WithEndpoint(), "other");
  const auto response = Get(fake, *bucket, "a");
  ASSERT_THAT(response, test::IsOk());
  EXPECT_EQ(bucket->StateOf({}, *response), KeyState::kFailed);
  EXPECT_THAT(bucket->ToError(*response).value().message(),
              HasSubstr("s3://other: status 404: NoSuchBucket"));
  const auto existing = Open(fake, WithEndpoint());
  EXPECT_EQ(existing->StateOf({}, *Get(fake, *existing, "a")), KeyState::kAbsent);
}

}  // namespace
}  // namespace ndlfs::backends::s3
