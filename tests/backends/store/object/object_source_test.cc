// SPDX-License-Identifier: MIT
//
// Object stores as sources: the suite of all sources for each of them, and what is the same for
// all by the example of S3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/store/azure/azure_source.h"
#include "backends/store/google/google_source.h"
#include "backends/store/partial_listing.h"
#include "backends/store/s3/s3_source.h"
#include "tests/support/fake_bucket.h"
#include "tests/support/result.h"
#include "tests/support/source_conformance.h"

namespace ndlfs::backends {
namespace {

using s3::OpenS3Source;
using test::FakeBucket;
using test::FakeTransport;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::shared_ptr<const Source> OpenBucket(const FakeBucket& fake, const std::string& url,
                                         std::chrono::nanoseconds remember, bool signs = true) {
  s3::BucketOptions bucket;
  bucket.endpoint = "http://localhost";
  bucket.signs = signs;
  bucket.variable = test::Variables(
      {{"AWS_ACCESS_KEY_ID", "k"}, {"AWS_SECRET_ACCESS_KEY", "s"}, {"HOME", "/nonexistent"}});
  const RemoteOptions options = {.trusts_looks_for = remember, .documents = {"zarr.json"}};
  return OpenS3Source(url, bucket, options, fake.client()).value();
}

// Opens "SCHEME://bucket/source" of a bucket.
using OpenTree = std::shared_ptr<const Source> (*)(const FakeBucket& bucket);

std::shared_ptr<const Source> OpenS3Tree(const FakeBucket& bucket) {
  return OpenBucket(bucket, "s3://bucket/source", std::chrono::seconds(0));
}

std::shared_ptr<const Source> OpenGoogleTree(const FakeBucket& bucket) {
  google::GoogleOptions google;
  google.endpoint = "http://localhost";
  google.variable = test::Variables({{"HOME", "/nonexistent"}});
  const RemoteOptions options = {.trusts_looks_for = std::chrono::seconds(0),
                                 .documents = {"zarr.json"}};
  return google::OpenGoogleSource("gs://bucket/source", google, options, bucket.client())
      .value();
}

std::shared_ptr<const Source> OpenAzureTree(const FakeBucket& bucket) {
  azure::AzureOptions azure;
  azure.endpoint = "http://localhost";
  azure.variable = test::Variables(
      {{"AZURE_STORAGE_ACCOUNT", "account"}, {"AZURE_STORAGE_KEY", "c2VjcmV0"}});
  const RemoteOptions options = {.trusts_looks_for = std::chrono::seconds(0),
                                 .documents = {"zarr.json"}};
  return azure::OpenAzureSource("az://bucket/source", azure, options, bucket.client()).value();
}

// The top is a prefix; keys outside of it must never be seen.
class ObjectTree final : public Tree {
 public:
  ObjectTree(FakeBucket::Kind kind, OpenTree open) : bucket_("bucket", kind) {
    bucket_.Put("secret", "outside");
    bucket_.Put("sourcex/b.bin", "outside");
    source_ = open(bucket_);
  }
  const Source& source() const override { return *source_; }
  void Put(const std::string& path, const std::string& text) override {
    bucket_.Put("source/" + path, text);
  }
  void Remove(const std::string& path) override { bucket_.Remove("source/" + path); }

 private:
  FakeBucket bucket_;
  std::shared_ptr<const Source> source_;
};

template <FakeBucket::Kind kind, OpenTree open>
std::unique_ptr<Tree> MakeTree() {
  return std::make_unique<ObjectTree>(kind, open);
}

INSTANTIATE_TEST_SUITE_P(
    Object, SourceConformanceTest,
    testing::Values(SourceKind{"S3", &MakeTree<FakeBucket::Kind::kS3, &OpenS3Tree>},
                    SourceKind{"Google", &MakeTree<FakeBucket::Kind::kGoogle, &OpenGoogleTree>},
                    SourceKind{"Azure", &MakeTree<FakeBucket::Kind::kAzure, &OpenAzureTree>}),
    [](const auto& info) { return info.param.name; });

class S3SourceTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Source> Open(
      bool signs = true, std::chrono::nanoseconds remember = std::chrono::hours(1)) {
    return OpenBucket(bucket_, "s3://bucket", remember, signs);
  }
  // The requests since the last call.
  size_t Requests() {
    const size_t before = seen_;
    seen_ = bucket_.requests();
    return seen_ - before;
  }

  FakeBucket bucket_;
  size_t seen_ = 0;
};

TEST_F(S3SourceTest, KeysThatAreNoPathsAreNotShown) {
  for (const char* key : {"d/", "d//x", "d/./x", "d/../x", "/x", "d/ok"}) bucket_.Put(key, "1");
  const auto source = Open();
  EXPECT_THAT(NamesIn(*source, ""), ElementsAre("d"));
  EXPECT_THAT(NamesIn(*source, "d"), ElementsAre("ok"));
}

TEST_F(S3SourceTest, AMarkerAloneIsAnEmptyDirectory) {
  bucket_.Put("d/", "");
  const auto source = Open();
  EXPECT_TRUE(source->Stat("d", Follow::kNo).value()->is_directory());
  EXPECT_THAT(NamesIn(*source, "d"), IsEmpty());
}

TEST_F(S3SourceTest, APrefixHidesTheObjectOfItsName) {
  bucket_.Put("a", "text");
  bucket_.Put("a-b", "text");
  bucket_.Put("a/b", "text");
  for (const size_t page_size : {1, 2, 1000}) {
    bucket_.set_page_size(page_size);
    const auto source = Open(true, std::chrono::seconds(0));
    EXPECT_TRUE(source->Stat("a", Follow::kNo).value()->is_directory());
    EXPECT_THAT(NamesIn(*source, ""), ElementsAre("a", "a-b")) << page_size;
  }
}

TEST_F(S3SourceTest, NamesOfAllKinds) {
  const std::vector<std::string> names = {"a b",    "a+b",  "a%20b", "\xC3\xA4",
                                          "&<>\"'", "\x01", "?#=&"};
  for (const std::string& name : names) bucket_.Put("d/" + name, name);
  const auto source = Open();
  EXPECT_THAT(NamesIn(*source, "d"), testing::UnorderedElementsAreArray(names));
  for (const std::string& name : names) {
    EXPECT_EQ(ReadText(*source->OpenFile("d/" + name), ""), name);
  }
}

TEST_F(S3SourceTest, LongListsComeInPages) {
  bucket_.set_page_size(7);
  std::set<std::string> names;
  for (int i = 0; i < 100; ++i) {
    names.insert(std::to_string(i));
    bucket_.Put(std::to_string(i), "x");
  }
  const auto source = Open();
  const auto listed = NamesIn(*source, "");
  EXPECT_EQ(std::set<std::string>(listed.begin(), listed.end()), names);
  EXPECT_EQ(listed.size(), names.size());
  EXPECT_EQ(Requests(), 15u);
  EXPECT_EQ(NamesIn(*source, "").size(), 100u);
  EXPECT_EQ(Requests(), 0u) << "the list is remembered";
}

TEST_F(S3SourceTest, ListingGoesBackToAnyPage) {
  bucket_.set_page_size(3);
  for (char c = 'a'; c < 'k'; ++c) bucket_.Put(std::string(1, c), "x");
  const auto source = Open();
  const auto listing = source->List("").value();
  std::vector<std::pair<std::string, int64_t>> seen;
  int64_t position = 0;
  while (const auto* entry = listing->Next().value()) {
    seen.emplace_back(entry->name, position);
    position = entry->next;
  }
  ASSERT_EQ(seen.size(), 10u);
  for (const auto& [name, at] : {seen[9], seen[0], seen[5], seen[3]}) {
    listing->Seek(at);
    EXPECT_EQ(listing->Next().value()->name, name);
  }
  listing->Seek(seen[9].second);
  ASSERT_NE(listing->Next().value(), nullptr);
  EXPECT_EQ(listing->Next().value(), nullptr);
  EXPECT_EQ(NamesIn(*source, "").size(), 10u) << "what is remembered is whole";
}

TEST_F(S3SourceTest, AListAnswersForItsNames) {
  bucket_.Put("d/a", "12345");
  bucket_.Put("d/e/f", "1");
  const auto source = Open();
  EXPECT_EQ(NamesIn(*source, "d").size(), 2u);
  Requests();
  EXPECT_EQ(source->Stat("d/a", Follow::kNo).value()->size, 5u);
  EXPECT_TRUE(source->Stat("d/e", Follow::kNo).value()->is_directory());
  EXPECT_EQ(source->Stat("d/none", Follow::kNo).value(), std::nullopt);
  const auto store = source->OpenStore("d");
  EXPECT_EQ(store->Stat("a").value()->size, 5u);
  EXPECT_EQ(Requests(), 0u);
  EXPECT_EQ(ReadText(*store, "none"), "absent");
  EXPECT_EQ(Requests(), 1u) << "a chunk may have come since then";
}

TEST_F(S3SourceTest, NothingIsAskedForBelowWhatIsNotListed) {
  bucket_.Put("d/a", "1");
  const auto source = Open();
  EXPECT_THAT(NamesIn(*source, "d"), ElementsAre("a"));
  Requests();
  const auto store = source->OpenStore("d");
  EXPECT_EQ(store->Stat("none/zarr.json").value(), std::nullopt);
  EXPECT_EQ(store->Stat("a/b/c").value(), std::nullopt) << "below a file";
  EXPECT_EQ(Requests(), 0u);
  EXPECT_EQ(ReadText(*store, "none/c/0"), "absent");
  EXPECT_EQ(Requests(), 1u) << "a chunk may have come since then";
}

TEST_F(S3SourceTest, DocumentsAndTheNamesBesideThemAreOneRound) {
  bucket_.Put("d/s/zarr.json", "{}");
  bucket_.Put("d/s/t/zarr.json", "{}");
  const auto source = Open();
  source->LookTogether("d", std::vector<std::string>{"zarr.json"});
  EXPECT_EQ(Requests(), 2u) << "lists of the top and of the folder";
  EXPECT_EQ(source->OpenStore("")->Stat("zarr.json").value(), std::nullopt);
  EXPECT_TRUE(source->OpenStore("d")->Stat("s/zarr.json").value());
  EXPECT_EQ(Requests(), 2u) << "the document, and a list";
  EXPECT_TRUE(source->Stat("d/s/t", Follow::kNo).value()->is_directory());
  EXPECT_EQ(ReadText(*source->OpenStore("d"), "s/zarr.json"), "{}");
  EXPECT_EQ(Requests(), 0u);
}

TEST_F(S3SourceTest, AListWithoutNamesShowsNoDirectory) {
  bucket_.Put("file.txt", "1");
  const auto source = Open();
  source->LookTogether("file.txt", std::vector<std::string>{"zarr.json"});
  EXPECT_TRUE(source->Stat("file.txt", Follow::kNo).value()->is_file());
  source->LookTogether("none", std::vector<std::string>{"zarr.json"});
  EXPECT_EQ(source->Stat("none", Follow::kNo).value(), std::nullopt);
}

TEST_F(S3SourceTest, WhatIsNoObjectMayBeADirectory) {
  bucket_.Put("d/e/f", "1");
  const auto source = Open();
  const auto store = source->OpenStore("d");
  EXPECT_EQ(store->Stat("e").value(), std::nullopt);
  EXPECT_EQ(ReadText(*store, "e"), "absent");
  EXPECT_TRUE(source->Stat("d/e", Follow::kNo).value()->is_directory());
}

TEST_F(S3SourceTest, LooksAtObjectsAreRemembered) {
  bucket_.Put("d/a", "12345");
  const auto store = Open()->OpenStore("d");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(store->Stat("a").value()->size, 5u);
    EXPECT_EQ(store->Stat("none").value(), std::nullopt);
  }
  EXPECT_EQ(Requests(), 2u);
}

TEST_F(S3SourceTest, NothingIsRememberedForLongerThanAllowed) {
  bucket_.Put("d/a", "1");
  const auto source = Open(true, std::chrono::seconds(0));
  EXPECT_EQ(NamesIn(*source, "d").size(), 1u);
  bucket_.Put("d/b", "1");
  EXPECT_TRUE(source->Stat("d/b", Follow::kNo).value());
  EXPECT_EQ(NamesIn(*source, "d").size(), 2u);
}

TEST_F(S3SourceTest, AReadIsOneRequest) {
  bucket_.Put("d/a", "0123456789");
  const auto store = Open()->OpenStore("d");
  EXPECT_EQ(ReadText(*store, "a", 3), "3456789");
  EXPECT_EQ(Requests(), 1u);
}

TEST_F(S3SourceTest, BytesBeyondTheEndAndOfAnEmptyObject) {
  bucket_.Put("d/a", "0123");
  bucket_.Put("d/e", "");
  const auto store = Open()->OpenStore("d");
  EXPECT_EQ(ReadText(*store, "a", 4), "");
  EXPECT_EQ(ReadText(*store, "a", 100), "");
  EXPECT_EQ(ReadText(*store, "e"), "");
  EXPECT_EQ(ReadText(*store, "e", 1), "");
  EXPECT_THAT(store->Size("e"), test::IsOkAnd(Optional(0u)));
  EXPECT_THAT(store->Size("a"), test::IsOkAnd(Optional(4u)));
  const auto last = store->Get("a", 10, {.range = {2, 2}, .from_end = true});
  EXPECT_EQ(AsText((*last)->bytes.span()), "23");
  const auto nothing = store->Get("a", 10, {.range = {0, 0}, .from_end = true});
  EXPECT_EQ((*nothing)->bytes.size(), 0u);
}

std::vector<std::string> Texts(
    const std::vector<model::Result<std::optional<Value>>>& answers) {
  std::vector<std::string> texts;
  for (const auto& answer : answers) {
    texts.push_back(!answer    ? "error: " + answer.error().message()
                    : !*answer ? "absent"
                               : std::string(AsText((**answer).bytes.span())));
  }
  return texts;
}

TEST_F(S3SourceTest, NeighbouringRangesAreOneRequest) {
  bucket_.Put("d/a", "0123456789");
  bucket_.Put("d/b", "abcdefghij");
  const auto store = Open()->OpenStore("d");
  const std::vector<ReadRequest> requests = {
      {"a", {.range = {1, 2}}}, {"a", {.range = {6, 2}}}, {"a", {.range = {7, 100}}},
      {"b", {.range = {0, 1}}}, {"c", {.range = {0, 1}}}, {"a", {.range = {0, 1}}}};
  EXPECT_THAT(Texts(store->ReadMany(requests)),
              ElementsAre("12", "67", "789", "a", "absent", "0"));
  EXPECT_EQ(Requests(), 4u);
}

TEST_F(S3SourceTest, ALimitHoldsForEachRequest) {
  bucket_.Put("d/a", "0123456789");
  const std::vector<ReadRequest> requests = {{"a", {.range = {0, 5}}, 4},
                                             {"a", {.range = {5, 2}}, 4}};
  const auto texts = Texts(Open()->OpenStore("d")->ReadMany(requests));
  EXPECT_THAT(texts[0], HasSubstr("more than the limit of 4"));
  EXPECT_EQ(texts[1], "56");
}

TEST_F(S3SourceTest, AnObjectThatChangesBetweenTwoRangesIsStale) {
  bucket_.Put("d/a", std::string(10'000'000, 'x'));
  int gets = 0;
  bucket_.set_special([&](const FakeTransport::Sent& sent) -> std::optional<test::FakeAnswer> {
    if (sent.method == HttpMethod::kGet && ++gets == 2) {
      return test::AnswerWith(sent, std::string(10'000'000, 'y'), "\"other\"");
    }
    return std::nullopt;
  });
  const std::vector<ReadRequest> requests = {{"a", {.range = {0, 5}}},
                                             {"a", {.range = {9'000'000, 2}}}};
  const auto answers = Open()->OpenStore("d")->ReadMany(requests);
  EXPECT_THAT(answers[0], test::IsOk());
  EXPECT_THAT(answers[1], test::IsStale());
}

TEST_F(S3SourceTest, AnObjectOfAnotherVersionIsStale) {
  bucket_.Put("d/a", "0123456789");
  const auto store = Open(true, std::chrono::seconds(0))->OpenStore("d");
  const Generation before = store->Stat("a").value()->generation;
  bucket_.Put("d/a", "abcdefghij");
  EXPECT_THAT(store->Get("a", 100, {.if_match = before}), test::IsStale());
  // The last request is a look at the version that is there.
  EXPECT_EQ(bucket_.sent().at(bucket_.requests() - 2).Find("If-Match"), "\"1\"");
}

TEST_F(S3SourceTest, ForbiddenIsAbsentOnlyInAStoreOfWhichADocumentCanBeRead) {
  bucket_.Put("d/zarr.json", "{}");
  bucket_.set_special([&](const FakeTransport::Sent& sent) -> std::optional<test::FakeAnswer> {
    if (sent.url.ends_with("zarr.json")) return std::nullopt;
    return FakeBucket::Error(403, "AccessDenied");
  });
  for (const bool signs : {false, true}) {
    const auto store = Open(signs)->OpenStore("d");
    EXPECT_EQ(ReadText(*store, "zarr.json"), "{}");
    EXPECT_EQ(ReadText(*store, "c/0"), "absent");
    EXPECT_THAT(store->Stat("c/1"), test::IsOkAnd(Eq(std::nullopt)));
    EXPECT_THAT(Open(signs)->OpenStore("e")->Read("c/0", 100), test::IsErrno(EACCES));
  }
}

TEST_F(S3SourceTest, WrongCredentialsAreNeverAbsence) {
  bucket_.Put("d/zarr.json", "{}");
  for (const char* code : {"SignatureDoesNotMatch", "RequestExpired", "AccountProblem"}) {
    bucket_.set_special(
        [&](const FakeTransport::Sent& sent) -> std::optional<test::FakeAnswer> {
          if (sent.url.ends_with("zarr.json")) return std::nullopt;
          return FakeBucket::Error(403, code);
        });
    const auto store = Open()->OpenStore("d");
    EXPECT_EQ(ReadText(*store, "zarr.json"), "{}");
    EXPECT_THAT(store->Read("c/0", 100), test::IsErrno(EACCES)) << code;
    EXPECT_THAT(Open()->Stat("", Follow::kNo), test::IsErrno(EACCES)) << code;
  }
}

TEST_F(S3SourceTest, AnEncodedObjectHasTheBytesWithWhichItIsStored) {
  bucket_.Put("d/a", "not gzip");
  bucket_.set_special([&](const FakeTransport::Sent& sent) -> std::optional<test::FakeAnswer> {
    if (!sent.url.ends_with("/a")) return std::nullopt;
    auto answer = test::AnswerWith(sent, "not gzip");
    answer.headers.push_back({"content-encoding", "gzip"});
    return answer;
  });
  const auto source = Open();
  EXPECT_EQ(source->Stat("d/a", Follow::kNo).value()->size, 8u);
  EXPECT_EQ(ReadText(*source->OpenFile("d/a"), ""), "not gzip");
}

TEST_F(S3SourceTest, ABucketIsAskedForBeforeAnybodyUsesIt) {
  const auto check = [](const std::shared_ptr<const Source>& source) {
    return dynamic_cast<const RemoteSource&>(*source).CheckTop();
  };
  EXPECT_THAT(check(Open()), test::IsOk());
  EXPECT_THAT(check(OpenBucket(bucket_, "s3://another", std::chrono::seconds(1))),
              test::IsError(model::ErrorCode::kIo, HasSubstr("there is no such bucket")));
  bucket_.set_special([&](const FakeTransport::Sent&) -> std::optional<test::FakeAnswer> {
    return FakeBucket::Error(403, "SignatureDoesNotMatch");
  });
  EXPECT_THAT(check(Open()),
              test::IsError(model::ErrorCode::kDenied, HasSubstr("the secret key is wrong")));
  bucket_.set_special([&](const FakeTransport::Sent&) -> std::optional<test::FakeAnswer> {
    return FakeBucket::Error(403, "AccessDenied");
  });
  EXPECT_THAT(check(Open()), test::IsOk()) << "it may not be listed";
}

TEST_F(S3SourceTest, StoresAreFoundInABucketThatMayNotBeListed) {
  bucket_.Put("x/s.zarr/zarr.json", "{}");
  bucket_.set_special([&](const FakeTransport::Sent& sent) -> std::optional<test::FakeAnswer> {
    if (sent.url.ends_with("zarr.json")) return std::nullopt;
    return FakeBucket::Error(403, "AccessDenied");
  });
  const auto source = Open(false);
  EXPECT_TRUE(source->Stat("", Follow::kNo).value()->is_directory());
  EXPECT_TRUE(source->Stat("x/s.zarr", Follow::kNo).value()->is_directory());
  EXPECT_TRUE(source->Stat("x/s.zarr/zarr.json", Follow::kNo).value()->is_file());
  EXPECT_THAT(source->Stat("x/none", Follow::kNo), test::IsErrno(EACCES));
  EXPECT_THAT(source->List(""), test::IsErrno(EACCES));
}

TEST_F(S3SourceTest, ABucketThatDoesNotExist) {
  const auto source = OpenBucket(bucket_, "s3://another", std::chrono::seconds(1));
  EXPECT_THAT(source->Stat("", Follow::kNo),
              test::IsError(model::ErrorCode::kIo, HasSubstr("NoSuchBucket")));
  EXPECT_THAT(source->OpenFile("a")->Read("", 10),
              test::IsError(model::ErrorCode::kIo, HasSubstr("NoSuchBucket")));
}

TEST_F(S3SourceTest, AListWithoutEndIsAnError) {
  int count = 0;
  bucket_.set_special([&](const FakeTransport::Sent&) -> std::optional<test::FakeAnswer> {
    const std::string body =
        "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>" +
        std::to_string(++count) + "</NextContinuationToken></ListBucketResult>";
    return test::FakeAnswer{200, {}, body, {}};
  });
  EXPECT_THAT(NamesIn(*Open(), ""), ElementsAre(HasSubstr("the list has no end")));
  EXPECT_THAT(Open()->OpenStore("")->List(""),
              test::IsError(model::ErrorCode::kBadInput, HasSubstr("the list has no end")));
  EXPECT_LT(count, 300);
}

TEST_F(S3SourceTest, AListThatBeginsAgainIsAnError) {
  bucket_.set_special([&](const FakeTransport::Sent&) -> std::optional<test::FakeAnswer> {
    return test::FakeAnswer{
        200,
        {},
        "<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>a</Key>"
        "<Size>1</Size></Contents><NextContinuationToken>t"
        "</NextContinuationToken></ListBucketResult>",
        {}};
  });
  const auto store = Open()->OpenStore("");
  EXPECT_THAT(store->List(""),
              test::IsError(model::ErrorCode::kBadInput, HasSubstr("begins again")));
}

TEST_F(S3SourceTest, HtmlInPlaceOfAListIsAnError) {
  bucket_.set_special([&](const FakeTransport::Sent&) -> std::optional<test::FakeAnswer> {
    return test::FakeAnswer{200, {}, "<html>Welcome to the hotel</html>", {}};
  });
  EXPECT_THAT(Open()->Stat("d", Follow::kNo),
              test::IsError(model::ErrorCode::kBadInput, HasSubstr("not a list")));
}

TEST_F(S3SourceTest, VeryManyKeysTakeOneAnswerAtATime) {
  // More names than are remembered.
  int64_t count = 0;
  bucket_.set_special([&](const FakeTransport::Sent&) -> std::optional<test::FakeAnswer> {
    std::string body = "<ListBucketResult>";
    for (int i = 0; i < 1000; ++i) {
      const std::string name = std::to_string(10'000'000 + count++);
      body += "<Contents><Key>" + name + "</Key><Size>1</Size></Contents>";
    }
    const bool goes_on = count < 20'000;
    body += goes_on ? "<IsTruncated>true</IsTruncated><NextContinuationToken>" +
                          std::to_string(count) + "</NextContinuationToken>"
                    : "<IsTruncated>false</IsTruncated>";
    return test::FakeAnswer{200, {}, body + "</ListBucketResult>", {}};
  });
  const auto source = Open();
  EXPECT_EQ(NamesIn(*source, "").size(), 20'000u);
  EXPECT_EQ(Requests(), 20u);
  count = 0;
  const auto listing = source->List("").value();
  ASSERT_NE(listing->Next().value(), nullptr);
  EXPECT_EQ(Requests(), 1u) << "a long list is not remembered";
  EXPECT_EQ(ListSome(*source->OpenStore(""), "", 1)->size(), 1u);
  EXPECT_EQ(Requests(), 1u);
}

}  // namespace
}  // namespace ndlfs::backends
