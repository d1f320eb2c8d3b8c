// SPDX-License-Identifier: MIT
#include "backends/store/http/remote_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_file_server.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::FakeAnswer;
using test::FakeTransport;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string ReadText(const Store& store, std::string_view key) {
  const auto bytes = store.Read(key, 1 << 20);
  if (!bytes) return "error: " + bytes.error().message();
  return *bytes ? std::string(AsText((*bytes)->span())) : "absent";
}

std::vector<std::string> NamesIn(const Source& source, std::string_view path) {
  std::vector<std::string> names;
  const auto listing = source.List(path);
  if (!listing) return {"error: " + listing.error().message()};
  while (const auto* entry = (*listing)->Next().value()) names.emplace_back(entry->name);
  return names;
}

class RemoteSourceTest : public ::testing::Test {
 protected:
  // What was asked since the last call: "GET /a".
  std::vector<std::string> Asked() {
    std::vector<std::string> asked;
    const auto sent = server_.transport()->sent();
    for (; seen_ < sent.size(); ++seen_) {
      asked.push_back(std::string(ToText(sent[seen_].method)) + " " +
                      sent[seen_].url.substr(std::string(test::FakeFileServer::kTop).size()));
    }
    return asked;
  }
  static RemoteOptions Trusting() {
    return {.trusts_looks_for = std::chrono::hours(1),
            .documents = {"zarr.json", ".zmetadata"}};
  }

  test::FakeFileServer server_;
  size_t seen_ = 0;
};

TEST_F(RemoteSourceTest, ReadIsOneRequest) {
  server_.Put("a", "0123456789");
  const auto store = server_.MakeSource()->OpenStore("");
  const auto value = store->Get("a", 100, {.range = {2, 3}});
  ASSERT_THAT(value, test::IsOk());
  EXPECT_EQ(AsText((*value)->bytes.span()), "234");
  EXPECT_EQ((*value)->info.size, 10u);
  EXPECT_THAT(Asked(), ElementsAre("GET /a"));
}

TEST_F(RemoteSourceTest, NamesAreEncoded) {
  server_.Put("a b/c+%?#\xc3\xa9", "x");
  EXPECT_EQ(ReadText(*server_.MakeSource()->OpenStore("a b"), "c+%?#\xc3\xa9"), "x");
  EXPECT_THAT(Asked(), ElementsAre("GET /a%20b/c%2B%25%3F%23%C3%A9"));
}

TEST_F(RemoteSourceTest, WantedVersionIsAskedFor) {
  server_.Put("a", "0123456789");
  const auto store = server_.MakeSource()->OpenStore("");
  const Generation version = store->Stat("a").value()->generation;
  ASSERT_THAT(store->Get("a", 100, {.if_match = version}), test::IsOk());
  EXPECT_EQ(server_.transport()->sent().back().Find("If-Match"), "\"1\"");
  server_.Put("a", "abcdefghij");
  EXPECT_THAT(store->Get("a", 100, {.if_match = version}), test::IsStale());
}

TEST_F(RemoteSourceTest, WeakAndMissingTagsAreComparedAfterwards) {
  for (const bool has_tags : {true, false}) {
    server_.has_weak_tags = true;
    server_.has_tags = has_tags;
    server_.Put("a", "0123456789");
    const auto store = server_.MakeSource()->OpenStore("");
    const Generation version = store->Stat("a").value()->generation;
    ASSERT_THAT(store->Get("a", 100, {.if_match = version}), test::IsOk());
    EXPECT_EQ(server_.transport()->sent().back().Find("If-Match"), "");
    server_.Put("a", "abcdefghij");
    EXPECT_THAT(store->Get("a", 100, {.if_match = version}), test::IsStale());
  }
}

TEST_F(RemoteSourceTest, AChunkThatWasAbsentIsAskedForAgain) {
  server_.Put("zarr.json", "{}");
  const auto store = server_.MakeSource(Trusting())->OpenStore("");
  EXPECT_EQ(ReadText(*store, "c/0"), "absent");
  server_.Put("c/0", "new");
  EXPECT_EQ(ReadText(*store, "c/0"), "new") << "chunks beside it may be new as well";
}

TEST_F(RemoteSourceTest, WhereNothingChangesAnAbsentChunkIsNotAskedForAgain) {
  RemoteOptions options = Trusting();
  options.trusts_looks_for = std::nullopt;
  const auto store = server_.MakeSource(options)->OpenStore("");
  EXPECT_EQ(ReadText(*store, "c/0"), "absent");
  Asked();
  EXPECT_EQ(ReadText(*store, "c/0"), "absent");
  EXPECT_THAT(Asked(), IsEmpty());
}

TEST_F(RemoteSourceTest, ADocumentThatIsKnownTellsSinceWhen) {
  server_.Put("zarr.json", "{}");
  const auto store = server_.MakeSource(Trusting())->OpenStore("");
  ASSERT_THAT(store->Get("zarr.json", 100), test::IsOk());
  ASSERT_TRUE(store->Stat("zarr.json").value());
  const auto known = store->Get("zarr.json", 100);
  ASSERT_THAT(known, test::IsOk());
  EXPECT_TRUE((*known)->info.told_at);
}

TEST_F(RemoteSourceTest, LooksAreKeptForAWhile) {
  server_.Put("a", "x");
  auto now = std::chrono::steady_clock::time_point();
  RemoteOptions options = {.trusts_looks_for = std::chrono::seconds(2)};
  options.clock = [&] { return now; };
  const auto source = server_.MakeSource(options);
  const auto store = source->OpenStore("");
  EXPECT_TRUE(*store->Stat("a"));
  EXPECT_FALSE(*store->Stat("b"));
  EXPECT_THAT(Asked(), SizeIs(2));
  server_.Put("b", "x");
  EXPECT_TRUE(*store->Stat("a"));
  EXPECT_FALSE(*store->Stat("b"));
  EXPECT_THAT(Asked(), IsEmpty());
  now += std::chrono::seconds(2);
  EXPECT_TRUE(*store->Stat("b"));
  EXPECT_THAT(Asked(), ElementsAre("HEAD /b"));
}

TEST_F(RemoteSourceTest, ManyLooksAreOneRound) {
  server_.Put("d/a", "x");
  const auto store = server_.MakeSource(Trusting())->OpenStore("d");
  const std::vector<std::string_view> keys = {"a", "b", "zarr.json"};
  const auto answers = store->StatMany(keys);
  EXPECT_TRUE(*answers[0]);
  EXPECT_FALSE(*answers[1]);
  EXPECT_FALSE(*answers[2]);
  EXPECT_THAT(Asked(), UnorderedElementsAre("HEAD /d/a", "HEAD /d/b", "GET /d/zarr.json"));
}

TEST_F(RemoteSourceTest, DocumentsAreReadWhenTheyAreLookedFor) {
  server_.Put("d/zarr.json", "{}");
  const auto store = server_.MakeSource(Trusting())->OpenStore("d");
  const auto info = store->Stat("zarr.json");
  ASSERT_TRUE(*info);
  EXPECT_EQ(ReadText(*store, "zarr.json"), "{}");
  const auto value = store->Get("zarr.json", 100, {.if_match = (*info)->generation});
  EXPECT_THAT(value, test::IsOk());
  EXPECT_THAT(Asked(), ElementsAre("GET /d/zarr.json"));
}

TEST_F(RemoteSourceTest, DirectoryIsKnownByItsListOrItsDocuments) {
  server_.Put("listed/x", "1");
  server_.Put("store/.zmetadata", "{}");
  server_.has_lists = true;
  EXPECT_TRUE(
      server_.MakeSource(Trusting())->Stat("listed", Follow::kNo).value()->is_directory());
  server_.has_lists = false;
  const auto source = server_.MakeSource(Trusting());
  Asked();
  EXPECT_TRUE(source->Stat("store", Follow::kNo).value()->is_directory());
  EXPECT_THAT(Asked(), UnorderedElementsAre("HEAD /store", "GET /store/",
                                            "GET /store/zarr.json", "GET /store/.zmetadata"));
  EXPECT_THAT(NamesIn(*source, "store"), IsEmpty());
  EXPECT_THAT(source->List("none"), test::IsErrno(ENOENT));
}

TEST_F(RemoteSourceTest, WhatIsCalledLikeAStoreIsLookedForByItsFirstDocuments) {
  server_.has_lists = false;
  server_.Put("a.zarr/.zmetadata", "{}");
  server_.Put("b.zarr", "a ZIP archive");
  server_.Put("c.zarr/.zgroup", "{}");
  RemoteOptions options = Trusting();
  options.documents = {"zarr.json", ".zmetadata", ".zgroup"};
  options.first_documents = {"zarr.json", ".zmetadata"};
  options.extension = ".zarr";
  const auto source = server_.MakeSource(options);
  EXPECT_TRUE(source->Stat("a.zarr", Follow::kNo).value()->is_directory());
  EXPECT_THAT(Asked(), UnorderedElementsAre("GET /a.zarr/", "GET /a.zarr/zarr.json",
                                            "GET /a.zarr/.zmetadata"));
  EXPECT_TRUE(source->Stat("b.zarr", Follow::kNo).value()->is_file());
  EXPECT_TRUE(source->Stat("c.zarr", Follow::kNo).value()->is_directory());
  EXPECT_FALSE(source->Stat("d.zarr", Follow::kNo).value());
}

TEST_F(RemoteSourceTest, WhatWasLookedForTogetherIsNotAskedAgain) {
  server_.Put("d/x", "1");
  const auto source = server_.MakeSource(Trusting());
  const std::vector<std::string> documents = {"zarr.json", ".zmetadata"};
  source->LookTogether("d", documents);
  EXPECT_THAT(Asked(),
              UnorderedElementsAre("GET /zarr.json", "GET /.zmetadata", "HEAD /d", "GET /d/",
                                   "GET /d/zarr.json", "GET /d/.zmetadata"));
  EXPECT_TRUE(source->Stat("d", Follow::kNo).value()->is_directory());
  EXPECT_FALSE(*source->OpenStore("")->Stat(".zmetadata"));
  EXPECT_THAT(NamesIn(*source, "d"), ElementsAre("x"));
  source->LookTogether("../up", documents);
  EXPECT_THAT(Asked(), IsEmpty());
}

TEST_F(RemoteSourceTest, DocumentsInFoldersAreOfTheStoreAround) {
  server_.Put("d/x", "1");
  RemoteOptions options = Trusting();
  options.documents = {"zarr.json", "refs/main.json"};
  const auto source = server_.MakeSource(options);
  const std::vector<std::string_view> names = {"zarr.json", "refs/main.json"};
  EXPECT_TRUE(source->Stat("d", Follow::kNo).value()->is_directory());
  Asked();
  EXPECT_THAT(source->OpenStore("")->StatMany(names), SizeIs(2));
  EXPECT_THAT(Asked(), UnorderedElementsAre("GET /zarr.json", "GET /refs/main.json", "GET /"));
}

// A source that forgets its looks when `now` goes on, with pointers.
RemoteOptions WithPointers(std::chrono::steady_clock::time_point* now) {
  RemoteOptions options = {.trusts_looks_for = std::chrono::hours(1),
                           .documents = {"zarr.json", "repo", "refs/main.json"},
                           .pointers = {"repo", "refs/main.json"}};
  options.clock = [now] { return *now; };
  return options;
}

TEST_F(RemoteSourceTest, APointerThatWasReadIsAskedForByItsVersion) {
  server_.Put("d/repo", "one");
  server_.Put("d/refs/main.json", "{}");
  auto now = std::chrono::steady_clock::now();
  const auto source = server_.MakeSource(WithPointers(&now));
  const auto store = source->OpenStore("d");
  EXPECT_TRUE(source->Stat("d", Follow::kNo).value()->is_directory());
  const auto before = store->Stat("repo").value().value();
  now += std::chrono::hours(2);
  Asked();
  EXPECT_EQ(store->Stat("repo").value().value().generation, before.generation);
  EXPECT_THAT(Asked(), ElementsAre("GET /d/repo"));
  EXPECT_NE(server_.transport()->sent().back().Find("If-None-Match"), "");
  EXPECT_EQ(ReadText(*store, "repo"), "one");
  EXPECT_THAT(Asked(), IsEmpty());
  server_.Put("d/repo", "two");
  now += std::chrono::hours(2);
  EXPECT_NE(store->Stat("repo").value().value().generation, before.generation);
  EXPECT_EQ(ReadText(*store, "repo"), "two");
  EXPECT_THAT(Asked(), ElementsAre("GET /d/repo")) << "the answer has the bytes";
  server_.Remove("d/repo");
  now += std::chrono::hours(2);
  EXPECT_FALSE(*store->Stat("repo"));
}

TEST_F(RemoteSourceTest, AStoreWhoseDocumentIsKnownIsLookedForByThat) {
  server_.Put("d/zarr.json", "{}");
  RemoteOptions options = Trusting();
  auto now = std::chrono::steady_clock::now();
  options.clock = [&now] { return now; };
  const auto source = server_.MakeSource(options);
  EXPECT_TRUE(source->Stat("d", Follow::kNo).value()->is_directory());
  now += std::chrono::hours(2);
  Asked();
  EXPECT_TRUE(source->Stat("d", Follow::kNo).value()->is_directory());
  EXPECT_THAT(Asked(), ElementsAre("HEAD /d/zarr.json"));
  server_.Remove("d/zarr.json");
  now += std::chrono::hours(2);
  EXPECT_FALSE(source->Stat("d", Follow::kNo).value());
}

TEST_F(RemoteSourceTest, LookAheadIsAtAFewChildrenThatAreKnown) {
  server_.Put("s/zarr.json", "{}");
  server_.Put("s/t/zarr.json", "[1]");
  server_.Put("s/t/c/0", "x");
  for (int i = 0; i < 100; ++i) server_.Put(fmt::format("many/{}/zarr.json", i), "{}");
  const auto source = server_.MakeSource(Trusting());
  const std::vector<std::string_view> names = {"zarr.json"};
  const auto store = source->OpenStore("s");
  store->LookAhead("", names, names);
  EXPECT_THAT(Asked(), IsEmpty()) << "no names are known";
  ASSERT_THAT(store->List(""), test::IsOk());
  Asked();
  store->LookAhead("", names, names);
  EXPECT_THAT(Asked(),
              UnorderedElementsAre("GET /s/zarr.json", "GET /s/t/", "GET /s/t/zarr.json"));
  EXPECT_EQ(ReadText(*store, "t/zarr.json"), "[1]");
  EXPECT_THAT(Asked(), IsEmpty());
  ASSERT_THAT(source->OpenStore("many")->List(""), test::IsOk());
  Asked();
  source->OpenStore("many")->LookAhead("", names, names);
  EXPECT_THAT(Asked(), ElementsAre("GET /many/zarr.json"));
}

TEST_F(RemoteSourceTest, LongListIsNotReadAhead) {
  server_.Put("s/t/zarr.json", "[1]");
  for (int i = 0; i < 10'000; ++i) server_.Put(fmt::format("s/t/chunk-{:09}", i), "x");
  const auto source = server_.MakeSource(Trusting());
  const std::vector<std::string_view> names = {"zarr.json"};
  const auto store = source->OpenStore("s");
  ASSERT_THAT(store->List(""), test::IsOk());
  store->LookAhead("", {}, names);
  Asked();
  const auto listed = store->List("t");
  ASSERT_THAT(listed, test::IsOk());
  EXPECT_EQ(listed->size(), 10'001u) << "it is read when somebody asks for it";
  EXPECT_THAT(Asked(), ElementsAre("GET /s/t/"));
}

TEST_F(RemoteSourceTest, NamesThatAreNotListedAreFound) {
  server_.Put("d/.hidden", "x");
  server_.Put("d/a", "x");
  const auto source = server_.MakeSource(Trusting());
  EXPECT_THAT(NamesIn(*source, "d"), ElementsAre("a"));
  EXPECT_TRUE(source->IsFile("d/.hidden"));
}

TEST_F(RemoteSourceTest, EmptyFilesAreRead) {
  server_.Put("a", "");
  const auto store = server_.MakeSource()->OpenStore("");
  EXPECT_EQ(ReadText(*store, "a"), "");
  const auto part = store->Get("a", 10, {.range = {0, 10}});
  ASSERT_THAT(part, test::IsOk());
  EXPECT_EQ((*part)->info.size, 0u);
}

TEST_F(RemoteSourceTest, ShortReadsOfAFileShareARequest) {
  std::string text(300'000, 'x');
  text.replace(200'000, 3, "abc");
  server_.Put("a", text);
  const auto file = server_.MakeSource()->OpenFile("a");
  const auto at = [&](uint64_t offset, uint64_t length) {
    const auto bytes = file->Read("", 1 << 20, {offset, length});
    return bytes ? std::string(AsText((*bytes)->span())) : bytes.error().message();
  };
  EXPECT_EQ(at(0, 8), "xxxxxxxx");
  EXPECT_EQ(at(100, 2), "xx");
  EXPECT_THAT(Asked(), ElementsAre("GET /a"));
  EXPECT_EQ(at(199'999, 5), "xabcx");
  EXPECT_EQ(at(200'001, 1), "b");
  EXPECT_THAT(Asked(), ElementsAre("GET /a"));
  EXPECT_EQ(at(131'071, 2), "xx") << "of two blocks";
  EXPECT_EQ(at(299'998, 9), "xx") << "at the end";
  EXPECT_THAT(Asked(), ElementsAre("GET /a"));
  server_.Put("a", std::string(300'000, 'y'));
  EXPECT_THAT(file->Read("", 1 << 20, {0, 100'000}), test::IsStale());
}

TEST_F(RemoteSourceTest, ManyReadsAreOneRoundAndNeighboursOneRequest) {
  std::string text;
  for (int i = 0; i < 400'000; ++i) text += fmt::format("{:09},", i);
  server_.Put("a", text);
  const auto file = server_.MakeSource()->OpenFile("a");
  const std::vector<ReadRequest> requests = {
      {"", {.range = {0, 10}}},         {"", {.range = {500'000, 10}}},
      {"", {.range = {3'000'000, 10}}}, {"", {.range = {10, 10}}},
      {"", {.range = {20, 10}}, 5},     {"", {.range = {9'000'000, 10}}}};
  const auto answers = file->ReadMany(requests);
  const auto text_of = [&](size_t i) {
    return answers[i] ? std::string(AsText((*answers[i])->bytes.span()))
                      : answers[i].error().message();
  };
  EXPECT_EQ(text_of(0), "000000000,");
  EXPECT_EQ(text_of(1), "000050000,");
  EXPECT_EQ(text_of(2), "000300000,");
  EXPECT_EQ(text_of(3), "000000001,");
  EXPECT_THAT(text_of(4), HasSubstr("limit of 5"));
  EXPECT_EQ(text_of(5), "") << "beyond the end";
  EXPECT_LE(Asked().size(), 6u);
}

TEST_F(RemoteSourceTest, ManyReadsAreOfOneVersion) {
  server_.Put("a", std::string(4 << 20, 'x'));
  const auto store = server_.MakeSource()->OpenStore("");
  // Each answer is of another version.
  const auto transport = std::make_shared<FakeTransport>(
      [n = std::make_shared<int>(0)](const FakeTransport::Sent& sent) {
        return test::AnswerWith(sent, std::string(4 << 20, 'x'), fmt::format("\"{}\"", ++*n));
      });
  const auto source = std::make_shared<const RemoteSource>(
      std::make_shared<const HttpClient>(transport),
      MakeHttpService(ParseUrl("http://test/source").value()));
  const std::vector<ReadRequest> requests = {{"a", {.range = {0, 10}}},
                                             {"a", {.range = {3 << 20, 10}}}};
  const auto answers = source->OpenStore("")->ReadMany(requests);
  EXPECT_THAT(answers[0], test::IsOk());
  EXPECT_THAT(answers[1], test::IsStale());
}

// A source on a server that answers everything with `answer`.
std::shared_ptr<const RemoteSource> SourceWith(const FakeAnswer& answer) {
  const auto transport =
      std::make_shared<FakeTransport>([answer](const FakeTransport::Sent&) { return answer; });
  return std::make_shared<const RemoteSource>(
      std::make_shared<const HttpClient>(transport),
      MakeHttpService(ParseUrl("http://test/source").value()));
}

TEST(RemoteSourceAnswersTest, PageOfHtmlIsNoData) {
  const auto source =
      SourceWith({200, {{"content-type", "text/html"}, {"content-length", "6"}}, "<html>", {}});
  EXPECT_THAT(source->OpenStore("")->Read("a", 100),
              test::IsError(ErrorCode::kCorrupt, HasSubstr("page of HTML")));
  EXPECT_THAT(source->OpenStore("")->Stat("a"),
              test::IsError(ErrorCode::kCorrupt, HasSubstr("page of HTML")));
  EXPECT_EQ(ReadText(*source->OpenStore(""), "a.html"), "<html>");
}

// A server with files, whose answers `change` changes.
class ChangedServer {
 public:
  using Change = std::function<void(const FakeTransport::Sent& sent, FakeAnswer& answer)>;
  ChangedServer(std::map<std::string, std::string> files, const Change& change,
                std::chrono::nanoseconds trust = std::chrono::seconds(0))
      : transport_(std::make_shared<FakeTransport>(
            [files = std::move(files), change](const FakeTransport::Sent& sent) {
              const auto file = files.find(sent.url.substr(std::string("http://test/").size()));
              FakeAnswer answer = {404, {}, "", {}};
              if (file != files.end()) answer = test::AnswerWith(sent, file->second);
              change(sent, answer);
              return answer;
            })),
        source_(std::make_shared<const RemoteSource>(
            std::make_shared<const HttpClient>(transport_),
            MakeHttpService(ParseUrl("http://test/").value()),
            RemoteOptions{.trusts_looks_for = trust, .documents = {"zarr.json", ".zgroup"}})) {}

  const RemoteSource& source() const { return *source_; }
  size_t requests() const { return transport_->sent().size(); }

 private:
  const std::shared_ptr<FakeTransport> transport_;
  const std::shared_ptr<const RemoteSource> source_;
};

TEST(RemoteSourceAnswersTest, SizeIsAskedForWhereHeadDoesNotTellIt) {
  for (const char* length : {"", "0"}) {
    const ChangedServer server({{"a", "0123456789"}, {"empty", ""}},
                               [&](const FakeTransport::Sent& sent, FakeAnswer& answer) {
                                 if (sent.method != HttpMethod::kHead) return;
                                 std::erase_if(answer.headers, [](const auto& h) {
                                   return h.name == "content-length";
                                 });
                                 if (*length)
                                   answer.headers.push_back({"content-length", length});
                               });
    EXPECT_EQ(server.source().Stat("a", Follow::kNo).value()->size, 10u);
    EXPECT_EQ(ReadText(*server.source().OpenFile("a"), ""), "0123456789");
    EXPECT_EQ(server.source().Stat("empty", Follow::kNo).value()->size, 0u);
    EXPECT_EQ(ReadText(*server.source().OpenFile("empty"), ""), "");
  }
}

TEST(RemoteSourceAnswersTest, SizeIsThatOfTheBodyWhereNoAnswerTellsIt) {
  const ChangedServer server({{"a", "0123456789"}}, [](const auto& sent, FakeAnswer& answer) {
    if (answer.status == 404) return;
    answer = {200, {}, sent.method == HttpMethod::kHead ? "" : "0123456789", {}};
  });
  EXPECT_EQ(server.source().Stat("a", Follow::kNo).value()->size, 10u);
  EXPECT_EQ(ReadText(*server.source().OpenFile("a"), ""), "0123456789");
}

TEST(RemoteSourceAnswersTest, PageInPlaceOfADocumentMeansThatThereIsNone) {
  const ChangedServer server({{"s/.zgroup", "{}"}}, [](const auto&, FakeAnswer& answer) {
    if (answer.status == 404) answer = {200, {{"content-type", "text/html"}}, "<html>", {}};
  });
  const auto store = server.source().OpenStore("s");
  EXPECT_THAT(store->Stat("zarr.json"), test::IsOkAnd(Eq(std::nullopt)));
  EXPECT_EQ(ReadText(*store, ".zgroup"), "{}");
  EXPECT_EQ(ReadText(*store, "zarr.json"), "absent");
  EXPECT_THAT(store->Read("a/0", 9), test::IsError(ErrorCode::kCorrupt, HasSubstr("page")))
      << "a chunk may be behind a page to log in";
}

TEST(RemoteSourceAnswersTest, RefusedIsAbsentWhereADocumentOfTheStoreCanBeRead) {
  bool refuses_all = false;
  const ChangedServer server({{"s/.zgroup", "{}"}, {"s/a/0", "x"}, {"t/0", "x"}},
                             [&](const auto&, FakeAnswer& answer) {
                               if (answer.status == 404 || refuses_all)
                                 answer = {403, {}, "", {}};
                             });
  const auto store = server.source().OpenStore("s");
  EXPECT_THAT(store->Stat("zarr.json"), test::IsOkAnd(Eq(std::nullopt)));
  EXPECT_EQ(ReadText(*store, "a/0"), "x");
  EXPECT_EQ(ReadText(*store, "a/1"), "absent");
  EXPECT_EQ(ReadText(*store, "b/c/0/0"), "absent");
  EXPECT_TRUE(server.source().Stat("s", Follow::kNo).value()->is_directory());
  const auto other = server.source().OpenStore("t");
  EXPECT_THAT(other->Read("1", 9), test::IsErrno(EACCES)) << "nothing tells that it is a store";
  EXPECT_THAT(server.source().Stat("none", Follow::kNo), test::IsErrno(EACCES));
}

TEST(RemoteSourceAnswersTest, RefusedIsNotAbsentWhereTheServerRefusesAll) {
  const ChangedServer server({{"s/.zgroup", "{}"}, {"s/a/0", "x"}},
                             [](const auto&, FakeAnswer& answer) {
                               answer = {403, {}, "", {}};
                             });
  EXPECT_THAT(server.source().OpenStore("s")->Read("a/0", 9), test::IsErrno(EACCES));
  const size_t before = server.requests();
  EXPECT_THAT(server.source().OpenStore("s")->Read("a/0", 9), test::IsErrno(EACCES));
  EXPECT_EQ(server.requests(), before + 1) << "that nothing can be read holds for a moment";
}

TEST(RemoteSourceAnswersTest, RefusedIsNotAbsentWhereTheServerTellsWhatIs) {
  const ChangedServer server({{"s/.zgroup", "{}"}, {"s/a/0", "x"}},
                             [](const FakeTransport::Sent& sent, FakeAnswer& answer) {
                               if (sent.url.ends_with("/0")) answer = {403, {}, "", {}};
                             });
  const auto store = server.source().OpenStore("s");
  EXPECT_EQ(ReadText(*store, ".zgroup"), "{}");
  EXPECT_EQ(ReadText(*store, "a/1"), "absent");
  EXPECT_THAT(store->Read("a/0", 9), test::IsErrno(EACCES)) << "a file that may not be read";
}

TEST(RemoteSourceAnswersTest, RefusedIsAbsentWhereTheDirectoryIsListedWithoutIt) {
  const ChangedServer server(
      {},
      [](const FakeTransport::Sent& sent, FakeAnswer& answer) {
        answer = {403, {}, "", {}};
        if (sent.url.ends_with("/d/")) {
          answer = {200,
                    {{"content-type", "application/json"}},
                    R"([{"name":"forbidden","type":"file"}])",
                    {}};
        }
      },
      std::chrono::hours(1));
  EXPECT_THAT(NamesIn(server.source(), "d"), ElementsAre("forbidden"));
  EXPECT_THAT(server.source().Stat("d/none", Follow::kNo), test::IsOkAnd(Eq(std::nullopt)));
  EXPECT_THAT(server.source().Stat("d/forbidden", Follow::kNo), test::IsErrno(EACCES));
  EXPECT_THAT(server.source().Stat("d/.hidden", Follow::kNo), test::IsErrno(EACCES));
}

TEST(RemoteSourceAnswersTest, ALaterTimeUnderTheSameTagIsAnotherVersion) {
  int minute = 0;
  const ChangedServer server({{"a", "x"}}, [&](const auto&, FakeAnswer& answer) {
    answer.headers.push_back({"date", "Thu, 01 Jan 2026 01:00:00 GMT"});
    answer.headers.push_back(
        {"last-modified", fmt::format("Thu, 01 Jan 2026 00:{:02}:00 GMT", minute)});
  });
  const auto version = [&](int at) {
    minute = at;
    return server.source().OpenStore("")->Stat("a").value()->generation;
  };
  const Generation first = version(1);
  EXPECT_EQ(version(1), first);
  EXPECT_EQ(version(0), first) << "another server that has the file";
  const Generation second = version(2);
  EXPECT_NE(second, first);
  EXPECT_EQ(version(1), second) << "no version comes back";
  EXPECT_NE(version(3), second);
}

TEST(RemoteSourceAnswersTest, ATimeThatIsThatOfTheAnswerIsNoVersion) {
  int second = 0;
  const ChangedServer server({{"a", "x"}}, [&](const auto&, FakeAnswer& answer) {
    const std::string now = fmt::format("Thu, 01 Jan 2026 00:00:{:02} GMT", second++);
    answer.headers.push_back({"date", now});
    answer.headers.push_back({"last-modified", now});
  });
  const auto store = server.source().OpenStore("");
  const Generation first = store->Stat("a").value()->generation;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(store->Stat("a").value()->generation, first);
}

TEST(RemoteSourceAnswersTest, ClockIsThatOfTheServer) {
  const ChangedServer server({{"a", "x"}}, [](const auto&, FakeAnswer& answer) {
    answer.headers.push_back({"date", "Thu, 01 Jan 2026 00:00:00 GMT"});
  });
  const auto store = server.source().OpenStore("");
  EXPECT_EQ(store->ClockNs(), std::nullopt) << "it has not been asked";
  ASSERT_THAT(store->Stat("a"), test::IsOk());
  const int64_t date = *ParseHttpDate("Thu, 01 Jan 2026 00:00:00 GMT");
  EXPECT_GE(store->ClockNs().value(), date);
  EXPECT_LT(store->ClockNs().value(), date + 600'000'000'000);
}

TEST(RemoteSourceAnswersTest, WhatDoesNotAnswerIsTold) {
  const ChangedServer missing({}, [](const auto&, FakeAnswer&) {});
  EXPECT_THAT(missing.source().CheckTop(), test::IsOk()) << "it answers";
  const auto refused = std::make_shared<FakeTransport>([](const FakeTransport::Sent&) {
    return FakeAnswer{0, {}, "", {HttpEnd::Kind::kRefused, "SSL certificate problem"}};
  });
  const RemoteSource source(std::make_shared<const HttpClient>(refused),
                            MakeHttpService(ParseUrl("https://test/").value()));
  EXPECT_THAT(source.CheckTop(), test::IsError(ErrorCode::kIo, HasSubstr("SSL certificate")));
}

TEST(RemoteSourceAnswersTest, StatusTellsWhatIsWrong) {
  EXPECT_EQ(ReadText(*SourceWith({404, {}, "", {}})->OpenStore(""), "a"), "absent");
  EXPECT_EQ(ReadText(*SourceWith({410, {}, "", {}})->OpenStore(""), "a"), "absent");
  EXPECT_THAT(SourceWith({403, {}, "", {}})->OpenStore("")->Stat("a"), test::IsErrno(EACCES));
  EXPECT_THAT(SourceWith({401, {}, "", {}})->OpenStore("")->Read("a", 9),
              test::IsErrno(EACCES));
  EXPECT_THAT(SourceWith({418, {}, "", {}})->OpenStore("")->Read("a", 9), test::IsErrno(EIO));
}

TEST(RemoteSourceAnswersTest, ListMayHoldUnsoundAndDoubleNames) {
  const std::string page = R"([{"name":"..","type":"directory"},{"name":"a","type":"file"},
    {"name":"a","type":"directory"},{"name":"b/c","type":"file"},{"name":"","type":"file"}])";
  const auto source = SourceWith({200, {{"content-type", "application/json"}}, page, {}});
  EXPECT_THAT(NamesIn(*source, ""), ElementsAre("a"));
  EXPECT_EQ(source->Stat("a", Follow::kNo).value()->kind, FileKind::kDirectory);
}

TEST(RemoteSourceAnswersTest, ManyNamesAreListed) {
  std::string page = "[";
  for (int i = 0; i < 100'000; ++i) {
    page += fmt::format("{}{{\"name\":\"{}\",\"type\":\"file\"}}", i == 0 ? "" : ",", i);
  }
  page += "]";
  const auto objects = SourceWith({200, {{"content-type", "application/json"}}, page, {}})
                           ->OpenStore("")
                           ->List("");
  ASSERT_THAT(objects, test::IsOk());
  EXPECT_EQ(objects->size(), 100'000u);
}

TEST(RemoteSourceAnswersTest, LongListIsRefused) {
  const FakeAnswer endless{
      200, {{"content-type", "application/json"}, {"content-length", "67108865"}}, "[", {}};
  EXPECT_THAT(SourceWith(endless)->OpenStore("")->List(""),
              test::IsError(ErrorCode::kLimit, HasSubstr("67108865 bytes")));
}

TEST(HttpServiceTest, TokenGoesToTheServerOnly) {
  const test::TemporaryDirectory directory;
  test::WriteFile(directory / "token", "abc.def\n");
  const auto service = MakeHttpService(ParseUrl("https://h/top/").value(), directory / "token");
  const HttpRequest request = service->FileRequest("a");
  EXPECT_EQ(request.url, "https://h/top/a");
  HttpAttempt attempt;
  ASSERT_THAT(request.prepare(attempt), test::IsOk());
  EXPECT_THAT(attempt.headers, ElementsAre(HttpHeader{"Authorization", "Bearer abc.def"}));
  HttpAttempt other;
  other.same_origin = false;
  ASSERT_THAT(request.prepare(other), test::IsOk());
  EXPECT_THAT(other.headers, IsEmpty());
}

TEST(HttpServiceTest, TokenHasToBeSound) {
  const test::TemporaryDirectory directory;
  test::WriteFile(directory / "token", "abc\r\nX: y");
  test::WriteFile(directory / "bad", "a b");
  test::WriteFile(directory / "empty", "");
  const auto prepare = [&](const std::string& name) {
    HttpAttempt attempt;
    return MakeHttpService(ParseUrl("https://h").value(), directory / name)
        ->FileRequest("a")
        .prepare(attempt);
  };
  EXPECT_THAT(prepare("token"), test::IsOk()) << "the first line";
  EXPECT_FALSE(prepare("bad"));
  EXPECT_FALSE(prepare("empty"));
  EXPECT_THAT(prepare("none"), test::IsErrno(ENOENT));
}

}  // namespace
}  // namespace ndlfs::backends
