// SPDX-License-Identifier: MIT
//
// The habits of servers and gateways, asked of each kind of bucket: what their answers are
// taken for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "backends/store/azure/azure_source.h"
#include "backends/store/google/google_source.h"
#include "backends/store/http/url.h"
#include "backends/store/s3/s3_source.h"
#include "tests/support/fake_bucket.h"
#include "tests/support/fake_http.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::FakeAnswer;
using test::FakeBucket;
using test::FakeTransport;
using ::testing::HasSubstr;

constexpr const char* kOld = "Wed, 21 Oct 2015 07:28:00 GMT";
constexpr const char* kNew = "Wed, 21 Oct 2015 07:28:10 GMT";

class HabitsTest : public ::testing::TestWithParam<FakeBucket::Kind> {
 protected:
  HabitsTest() : bucket_("bucket", GetParam()) {
    bucket_.Put("a", "0123456789");
    source_ = Open();
  }

  // Without credentials, as habits are those of public buckets.
  std::shared_ptr<const Source> Open(const RemoteOptions& options = {
                                         .trusts_looks_for = std::chrono::seconds(0),
                                         .documents = {"zarr.json"}}) const {
    const std::string endpoint = "http://localhost";
    const auto none =
        test::Variables({{"HOME", "/nonexistent"}, {"AZURE_STORAGE_ACCOUNT", "acct"}});
    switch (GetParam()) {
      case FakeBucket::Kind::kGoogle: {
        google::GoogleOptions google;
        google.endpoint = endpoint;
        google.variable = none;
        return google::OpenGoogleSource("gs://bucket", google, options, bucket_.client())
            .value();
      }
      case FakeBucket::Kind::kAzure: {
        azure::AzureOptions azure;
        azure.endpoint = endpoint;
        azure.variable = none;
        return azure::OpenAzureSource("az://bucket", azure, options, bucket_.client()).value();
      }
      default: {
        s3::BucketOptions s3;
        s3.endpoint = endpoint;
        s3.variable = none;
        s3.signs = false;
        return s3::OpenS3Source("s3://bucket", s3, options, bucket_.client()).value();
      }
    }
  }

  // Answers requests for the object "a" in this way.
  template <typename Answer>
  void AnswerObjects(Answer answer) {
    bucket_.set_special([answer](const FakeTransport::Sent& sent) -> std::optional<FakeAnswer> {
      if (ParseUrl(sent.url)->path != "/bucket/a") return std::nullopt;
      return answer(sent);
    });
  }
  std::string Read(const std::string& key = "a", ReadOptions options = {}) const {
    const auto value = source_->OpenStore("")->Get(key, 100, options);
    if (!value) return value.error().message();
    return *value ? std::string(AsText((*value)->bytes.span())) : "absent";
  }
  ValueInfo Info() const { return source_->OpenStore("")->Stat("a").value().value(); }
  static FakeAnswer Without(FakeAnswer answer, std::string_view name) {
    std::erase_if(answer.headers,
                  [&](const HttpHeader& header) { return header.name == name; });
    return answer;
  }

  FakeBucket bucket_;
  std::shared_ptr<const Source> source_;
};

TEST_P(HabitsTest, AHeadWithoutALengthIsNoEmptyObject) {
  AnswerObjects([](const auto& sent) {
    auto answer = test::AnswerWith(sent, "0123456789");
    return sent.method == HttpMethod::kHead ? Without(std::move(answer), "content-length")
                                            : answer;
  });
  EXPECT_EQ(Info().size, 10u);
  EXPECT_EQ(Read(), "0123456789");
}

TEST_P(HabitsTest, APointerThatWasReadTellsThatItsDirectoryIsThere) {
  bucket_.Put("d/repo", "one");
  bucket_.Put("d/chunk", "1");
  auto now = std::chrono::steady_clock::now();
  RemoteOptions options = {.trusts_looks_for = std::chrono::hours(1),
                           .documents = {"zarr.json", "repo"},
                           .pointers = {"repo"}};
  options.clock = [&now] { return now; };
  source_ = Open(options);
  EXPECT_TRUE(source_->Stat("d", Follow::kNo).value()->is_directory());
  EXPECT_EQ(Read("d/repo"), "one");
  const auto before = source_->OpenStore("d")->Stat("repo").value().value();
  for (const char* text : {"one", "two", ""}) {
    const bool is_changed = std::string_view(text) != "one";
    if (is_changed) bucket_.Put("d/repo", text);
    now += std::chrono::hours(2);
    const size_t requests = bucket_.requests();
    EXPECT_TRUE(source_->Stat("d", Follow::kNo).value()->is_directory());
    const auto info = source_->OpenStore("d")->Stat("repo").value().value();
    EXPECT_EQ(info.generation != before.generation, is_changed);
    EXPECT_EQ(Read("d/repo"), text);
    EXPECT_EQ(bucket_.requests() - requests, 1u) << text;
  }
  bucket_.Remove("d/repo");
  now += std::chrono::hours(2);
  EXPECT_TRUE(source_->Stat("d", Follow::kNo).value()->is_directory());
  EXPECT_EQ(Read("d/repo"), "absent");
}

TEST_P(HabitsTest, AnswersInChunksHaveNoLength) {
  AnswerObjects([](const auto& sent) {
    return Without(test::AnswerWith(sent, "0123456789"), "content-length");
  });
  EXPECT_EQ(Info().size, 10u);
  EXPECT_EQ(Read(), "0123456789");
  EXPECT_EQ(Read("a", {.range = {2, 3}}), "234");
}

TEST_P(HabitsTest, LastModifiedAloneIsAVersion) {
  std::string modified = kOld;
  AnswerObjects([&](const auto& sent) {
    auto answer = Without(test::AnswerWith(sent, "0123456789"), "etag");
    answer.headers.push_back({"last-modified", modified});
    return answer;
  });
  const auto before = Info().generation;
  EXPECT_EQ(Info().generation, before);
  modified = kNew;
  EXPECT_NE(Info().generation, before);
  EXPECT_THAT(source_->OpenStore("")->Get("a", 100, {.if_match = before}),
              test::IsError(ErrorCode::kStale, testing::_));
}

TEST_P(HabitsTest, WeakTagsAreNeverSent) {
  AnswerObjects([](const auto& sent) {
    auto answer = test::AnswerWith(sent, "0123456789", "W/\"1\"");
    answer.headers.push_back({"last-modified", kOld});
    return answer;
  });
  EXPECT_EQ(Read("a", {.if_match = Info().generation}), "0123456789");
  EXPECT_EQ(bucket_.sent().back().Find("If-Match"), "");
}

TEST_P(HabitsTest, AServerThatRefusesAllVersionsIsAskedWithoutThem) {
  std::string tag = "\"1\"";
  size_t refusals = 0;
  AnswerObjects([&](const auto& sent) {
    const bool names_version =
        !sent.Find("If-Match").empty() || sent.url.find("generation=") != std::string::npos;
    if (names_version) ++refusals;
    return names_version ? FakeBucket::Error(412, "PreconditionFailed")
                         : test::AnswerWith(sent, "0123456789", tag);
  });
  const auto before = Info().generation;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Read("a", {.range = {2, 3}, .if_match = before}), "234");
  }
  EXPECT_EQ(refusals, 1u);
  tag = "\"2\"";
  EXPECT_THAT(source_->OpenStore("")->Get("a", 100, {.if_match = before}),
              test::IsError(ErrorCode::kStale, testing::_));
}

TEST_P(HabitsTest, AwsChunkedIsNoEncoding) {
  AnswerObjects([](const auto& sent) {
    auto answer = test::AnswerWith(sent, "0123456789");
    answer.headers.push_back({"content-encoding", "aws-chunked"});
    return answer;
  });
  EXPECT_EQ(Read(), "0123456789");
}

TEST_P(HabitsTest, OtherEncodingsAreErrors) {
  AnswerObjects([](const auto& sent) {
    auto answer = test::AnswerWith(sent, "0123456789");
    answer.headers.push_back({"content-encoding", "br"});
    return answer;
  });
  EXPECT_THAT(Read(), HasSubstr("the content encoding"));
}

TEST_P(HabitsTest, GzipIsAsItIsStored) {
  AnswerObjects([](const auto& sent) {
    auto answer = test::AnswerWith(sent, "0123456789");
    answer.headers.push_back({"content-encoding", "gzip"});
    return answer;
  });
  EXPECT_EQ(Info().size, 10u);
  EXPECT_EQ(Read("a", {.range = {2, 3}}), "234");
}

TEST_P(HabitsTest, AbsentObjectsMayBeRefusedWhereNobodyMayList) {
  bucket_.Put("s/zarr.json", "{}");
  bool refuses_all = false;
  bucket_.set_special([&](const auto& sent) -> std::optional<FakeAnswer> {
    const bool is_list = sent.url.find("delimiter") != std::string::npos;
    if (is_list || refuses_all || !ParseUrl(sent.url)->path.ends_with("zarr.json")) {
      return FakeBucket::Error(403, "AccessDenied");
    }
    return std::nullopt;
  });
  EXPECT_EQ(Read("s/c/0"), "absent");
  refuses_all = true;
  source_ = Open();
  EXPECT_THAT(Read("s/c/0"), HasSubstr("AccessDenied"));
}

TEST_P(HabitsTest, OtherReasonsOf403AreNoAbsence) {
  bucket_.Put("s/zarr.json", "{}");
  bucket_.set_special([](const auto& sent) -> std::optional<FakeAnswer> {
    if (ParseUrl(sent.url)->path.ends_with("zarr.json")) return std::nullopt;
    return FakeBucket::Error(403, "SignatureDoesNotMatch");
  });
  const auto value = source_->OpenStore("")->Get("s/c/0", 100);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().sys_errno(), EACCES);
}

TEST_P(HabitsTest, AMissingBucketIsNoAbsence) {
  const bool is_azure = GetParam() == FakeBucket::Kind::kAzure;
  AnswerObjects([is_azure](const auto&) {
    return FakeBucket::Error(404, is_azure ? "ContainerNotFound" : "NoSuchBucket");
  });
  EXPECT_THAT(Read(), HasSubstr("there is no such"));
}

TEST_P(HabitsTest, AnObjectThatIsGoneIsAbsent) {
  AnswerObjects([](const auto&) { return FakeAnswer{.status = 404}; });
  EXPECT_EQ(Read(), "absent");
}

TEST_P(HabitsTest, AChangedVersionIsStale) {
  const auto before = Info().generation;
  bucket_.Put("a", "9876543210");
  EXPECT_THAT(source_->OpenStore("")->Get("a", 100, {.if_match = before}),
              test::IsError(ErrorCode::kStale, testing::_));
}

INSTANTIATE_TEST_SUITE_P(Object, HabitsTest,
                         testing::Values(FakeBucket::Kind::kS3, FakeBucket::Kind::kGoogle,
                                         FakeBucket::Kind::kAzure),
                         [](const auto& info) {
                           switch (info.param) {
                             case FakeBucket::Kind::kGoogle:
                               return "Google";
                             case FakeBucket::Kind::kAzure:
                               return "Azure";
                             default:
                               return "S3";
                           }
                         });

}  // namespace
}  // namespace ndlfs::backends
