// SPDX-License-Identifier: MIT
#include "backends/store/http/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/fake_http.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::AnswerWith;
using test::FakeAnswer;
using test::FakeTransport;
using ::testing::HasSubstr;
using ::testing::Not;
using Sent = FakeTransport::Sent;

constexpr std::string_view kUrl = "http://server/dir/file";

class Server {
 public:
  explicit Server(FakeTransport::Handler handler, HttpOptions options = {})
      : transport_(std::make_shared<FakeTransport>(std::move(handler))),
        client_(transport_, Quick(std::move(options))) {}

  const HttpClient& client() const { return client_; }
  std::vector<Sent> sent() const { return transport_->sent(); }
  model::Result<HttpResponse> Get(HttpRequest request = {}) const {
    if (request.url.empty()) request.url = kUrl;
    return client_.Send(request);
  }
  // The text at `range`, through memory of the caller.
  model::Result<std::string> Read(ByteRange range, bool from_end = false) const {
    std::string memory;
    HttpRequest request{.url = std::string(kUrl), .range = range, .from_end = from_end};
    request.reserve = [&](uint64_t total) -> model::Result<ByteSpan> {
      memory.resize(ReadOptions{range, from_end, {}}.Clip(total).length);
      return std::as_writable_bytes(std::span(memory));
    };
    NDLFS_TRY(const auto response, client_.Send(request));
    if (!response.is_success()) return fmt::format("status {}", response.status);
    return memory.substr(0, response.count);
  }

 private:
  static HttpOptions Quick(HttpOptions options) {
    options.first_pause = std::chrono::milliseconds(1);
    return options;
  }
  const std::shared_ptr<FakeTransport> transport_;
  const HttpClient client_;
};

FakeTransport::Handler Answers(std::vector<FakeAnswer> answers) {
  auto next = std::make_shared<size_t>(0);
  return [answers = std::move(answers), next](const Sent&) {
    return answers[std::min((*next)++, answers.size() - 1)];
  };
}

FakeAnswer Value(const std::string& text) {
  return {200, {{"content-length", std::to_string(text.size())}}, text, {}};
}

FakeAnswer Part(const std::string& content_range, const std::string& body) {
  return {206, {{"content-range", content_range}}, body, {}};
}

FakeAnswer To(const std::string& location, int status = 302) {
  return {status, {{"location", location}}, "", {}};
}

TEST(HttpClientTest, AnswersWithBytesSizeAndVersion) {
  const Server server([](const Sent& sent) { return AnswerWith(sent, "0123456789", "\"v\""); });
  const auto response = server.Get({.range = ByteRange{2, 3}});
  ASSERT_THAT(response, test::IsOk());
  EXPECT_EQ(response->status, 206);
  EXPECT_EQ(response->body, "234");
  EXPECT_EQ(response->count, 3u);
  EXPECT_EQ(response->total_size, 10u);
  EXPECT_EQ(response->etag, "\"v\"");
  EXPECT_EQ(server.sent().size(), 1u);
}

TEST(HttpClientTest, BytesGoToTheMemoryOfTheReader) {
  const Server server([](const Sent& sent) { return AnswerWith(sent, "0123456789"); });
  EXPECT_THAT(server.Read({4, 100}), test::IsOkAnd("456789"));
  EXPECT_THAT(server.Read({0, ByteRange::kToEnd}), test::IsOkAnd("0123456789"));
  EXPECT_THAT(server.Read({3, 2}, true), test::IsOkAnd("78"));
  EXPECT_THAT(server.Read({10, 1}), test::IsOkAnd("status 416"));
}

TEST(HttpClientTest, OtherStatusIsAnAnswerWithItsText) {
  const Server server(Answers({{404, {}, "no such file", {}}}));
  const auto response = server.Get();
  ASSERT_THAT(response, test::IsOk());
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "no such file");
  EXPECT_EQ(server.sent().size(), 1u);
}

TEST(HttpClientTest, RetriesTransientFailures) {
  const Server server(Answers({{503, {}, "SlowDown", {}},
                               {0, {}, "", {HttpEnd::Kind::kBroken, "reset"}},
                               {429, {{"retry-after", "0"}}, "", {}},
                               Value("data")}));
  EXPECT_THAT(server.Read({0, 4}), test::IsOkAnd("data"));
  EXPECT_EQ(server.sent().size(), 4u);
  EXPECT_EQ(server.client().stats().at("http://server").retries, 3u);
}

TEST(HttpClientTest, GivesUpAfterSomeAttempts) {
  const Server server(Answers({{503, {}, "", {}}}), {.max_attempts = 3});
  const auto response = server.Get();
  EXPECT_THAT(response, test::IsErrno(EIO));
  EXPECT_THAT(response.error().message(),
              "http://server/dir/file: the server answers with status 503");
  EXPECT_EQ(server.sent().size(), 3u);
}

TEST(HttpClientTest, WaitsNoLongerThanItMay) {
  const Server server(Answers({{503, {{"retry-after", "3600"}}, "", {}}}));
  EXPECT_THAT(server.Get(), test::IsErrno(ETIMEDOUT));
  EXPECT_EQ(server.sent().size(), 1u);
}

TEST(HttpClientTest, WholeValueHasTimeForItsBytes) {
  const std::string text(256 << 10, 'x');
  FakeAnswer late = Value(text);
  late.body.resize(1000);
  late.end = {HttpEnd::Kind::kTimeout, "late", std::chrono::milliseconds(1500)};
  const Server server(Answers({late, Value(text)}),
                      {.timeout = std::chrono::milliseconds(1000)});
  EXPECT_THAT(server.Read({0, ByteRange::kToEnd}), test::IsOkAnd(text))
      << "a second, and two for the bytes";
}

TEST(HttpClientTest, PermanentErrorsAreNotTriedAgain) {
  const Server server(Answers({{0, {}, "", {HttpEnd::Kind::kRefused, "certificate expired"}}}));
  EXPECT_THAT(server.Get(), test::IsError(ErrorCode::kIo, HasSubstr("certificate expired")));
  EXPECT_EQ(server.sent().size(), 1u);
  for (const int status : {400, 401, 403, 404, 412, 416}) {
    const Server other(Answers({{status, {}, "", {}}}));
    EXPECT_EQ(other.Get()->status, status);
    EXPECT_EQ(other.sent().size(), 1u);
  }
}

TEST(HttpClientTest, BodyCutShortIsNoData) {
  FakeAnswer cut = Value("0123456789");
  cut.body.resize(4);
  const Server server(Answers({cut}), {.max_attempts = 2});
  EXPECT_THAT(server.Read({0, 10}),
              test::IsError(ErrorCode::kIo, HasSubstr("4 bytes instead of 10")));
  EXPECT_EQ(server.sent().size(), 2u);
  const Server well_again(Answers({cut, Value("0123456789")}));
  EXPECT_THAT(well_again.Read({0, 10}), test::IsOkAnd("0123456789"));
}

TEST(HttpClientTest, LongerBodyThanAnnouncedIsNoData) {
  FakeAnswer longer = Value("0123456789");
  longer.body += "x";
  EXPECT_THAT(Server(Answers({longer})).Read({0, 10}),
              test::IsError(ErrorCode::kCorrupt, HasSubstr("more than the 10 bytes")));
}

TEST(HttpClientTest, OtherRangesAreNoData) {
  for (const auto& [range, why] : std::vector<std::pair<std::string, std::string>>{
           {"bytes 3-5/10", "sends bytes 3-5 of 10, and was asked for bytes 2-4"},
           {"bytes 2-3/10", "sends bytes 2-3 of 10"},
           {"bytes 2-5/10", "sends bytes 2-5 of 10"},
           {"bytes 2-4/*", "does not tell the size"},
           {"bytes 2-4/3", "Content-Range: \"bytes 2-4/3\""},
           {"bytes 4-2/10", "Content-Range"},
           {"bytes */10", "Content-Range"},
           {"pages 2-4/10", "Content-Range"},
           {"", "Content-Range"}}) {
    EXPECT_THAT(Server(Answers({Part(range, "234")})).Read({2, 3}),
                test::IsError(ErrorCode::kCorrupt, HasSubstr(why)))
        << range;
  }
  EXPECT_THAT(Server(Answers({Part("bytes 0-2/10", "012")})).Get(),
              test::IsError(ErrorCode::kCorrupt, HasSubstr("asked for all")));
}

TEST(HttpClientTest, WholeValueIsTakenForAPartOnlyIfItIsSmall) {
  const std::string text = "0123456789";
  EXPECT_THAT(Server(Answers({Value(text)})).Read({2, 3}), test::IsOkAnd("234"));
  EXPECT_THAT(Server(Answers({Value(text)}), {.max_unasked = 9}).Read({2, 3}),
              test::IsError(ErrorCode::kUnsupported, HasSubstr("ignores ranges")));
}

TEST(HttpClientTest, ValueOfUnknownSizeIsReadAsAWhole) {
  const FakeAnswer chunked{200, {}, "0123456789", {}};
  EXPECT_THAT(Server(Answers({chunked})).Read({0, ByteRange::kToEnd}),
              test::IsOkAnd("0123456789"));
  EXPECT_THAT(Server(Answers({chunked})).Read({2, 3}), test::IsOkAnd("234"));
  EXPECT_THAT(Server(Answers({chunked}), {.max_unasked = 9}).Read({2, 3}),
              test::IsError(ErrorCode::kUnsupported, HasSubstr("does not tell their size")));
}

TEST(HttpClientTest, SizeOfAValueIsNotThatOfTheAnswerToHead) {
  const auto head = [](const FakeAnswer& answer) {
    return Server(Answers({answer})).Get({.method = HttpMethod::kHead})->total_size;
  };
  EXPECT_EQ(head({200, {}, "", {}}), std::nullopt);
  EXPECT_EQ(head({200, {{"content-length", "7"}}, "", {}}), 7u);
  EXPECT_EQ(head({200, {{"content-length", "7"}, {"content-encoding", "gzip"}}, "", {}}),
            std::nullopt);
}

// "0123456789" as gzip makes it.
constexpr std::string_view kGzip(
    "\x1f\x8b\x08\0\0\0\0\0\0\x03\x33\x30\x34\x32\x36\x31\x35\x33\xb7\xb0\x04\0\xc6\xc7\x84"
    "\xa6\x0a\0\0\0",
    30);

FakeAnswer EncodedBy(const char* coding, std::string_view body) {
  FakeAnswer answer = Value(std::string(body));
  answer.headers.push_back({"content-encoding", coding});
  return answer;
}

TEST(HttpClientTest, GzippedValueIsDecoded) {
  const FakeAnswer all = EncodedBy("gzip", kGzip);
  EXPECT_THAT(Server(Answers({all})).Read({0, ByteRange::kToEnd}), test::IsOkAnd("0123456789"));
  EXPECT_THAT(Server(Answers({all})).Read({2, 3}), test::IsOkAnd("234"));
  EXPECT_EQ(Server(Answers({all})).Get()->body, "0123456789");
  EXPECT_EQ(Server(Answers({all})).Get()->total_size, 10u);
  FakeAnswer part = Part("bytes 2-4/30", std::string(kGzip.substr(2, 3)));
  part.headers.push_back({"content-encoding", "gzip"});
  const Server server(Answers({part, all}));
  EXPECT_THAT(server.Read({2, 3}), test::IsOkAnd("234")) << "a part cannot be decoded";
  EXPECT_EQ(server.sent().back().Find("Range"), "");
  EXPECT_THAT(Server(Answers({EncodedBy("gzip", kGzip.substr(0, 20))})).Read({0, 10}),
              test::IsError(ErrorCode::kCorrupt, HasSubstr("not gzip")));
  EXPECT_THAT(Server(Answers({EncodedBy("gzip", "0123456789")})).Read({0, 10}),
              test::IsError(ErrorCode::kCorrupt, HasSubstr("not gzip")));
}

TEST(HttpClientTest, ChunksOfAnUploadAreNoEncoding) {
  EXPECT_THAT(Server(Answers({EncodedBy("aws-chunked", "0123456789")})).Read({0, 10}),
              test::IsOkAnd("0123456789"));
}

TEST(HttpClientTest, OtherEncodingsAreRefused) {
  EXPECT_THAT(Server(Answers({EncodedBy("br", "0123456789")})).Read({0, 10}),
              test::IsError(ErrorCode::kUnsupported, HasSubstr("\"br\"")));
}

TEST(HttpClientTest, PageInPlaceOfAFileIsNotRead) {
  FakeAnswer page = Value("<html>not here</html>");
  page.headers.push_back({"content-type", "text/html"});
  const auto answer = Server(Answers({page})).Get({.refuses_pages = true});
  ASSERT_THAT(answer, test::IsOk());
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "");
}

TEST(HttpClientTest, BodyBeyondTheLimitIsRefused) {
  EXPECT_THAT(Server(Answers({Value("0123456789")})).Get({.limit = 9}),
              test::IsError(ErrorCode::kLimit, HasSubstr("10 bytes")));
  EXPECT_THAT(Server(Answers({{200, {}, "0123456789", {}}})).Get({.limit = 9}),
              test::IsError(ErrorCode::kLimit, HasSubstr("more than 9 bytes")));
}

TEST(HttpClientTest, SizeThatChangesBetweenAttemptsIsStale) {
  FakeAnswer cut = Value("0123456789");
  cut.body.resize(4);
  EXPECT_THAT(Server(Answers({cut, Value("01234567890")})).Read({0, 4096}), test::IsStale());
}

TEST(HttpClientTest, ReaderMayRefuseTheSize) {
  const Server server(Answers({Value("0123456789")}));
  HttpRequest request;
  request.reserve = [](uint64_t size) -> model::Result<ByteSpan> {
    return model::Limit("{} is too much", size);
  };
  EXPECT_THAT(server.Get(request),
              test::IsError(ErrorCode::kLimit, HasSubstr("10 is too much")));
}

TEST(HttpClientTest, ExceptionOfTheReaderReachesTheCaller) {
  const Server server(Answers({Value("0123456789")}));
  HttpRequest request;
  request.reserve = [](uint64_t) -> model::Result<ByteSpan> { throw std::bad_alloc(); };
  EXPECT_THROW((void)server.Get(request), std::bad_alloc);
}

TEST(HttpClientTest, FollowsRedirectsOfTheSameHost) {
  const Server server([](const Sent& sent) {
    if (sent.url == kUrl) return To("../other?x=1");
    return AnswerWith(sent, sent.url);
  });
  const auto response = server.Get();
  ASSERT_THAT(response, test::IsOk());
  EXPECT_EQ(response->body, "http://server/other?x=1");
  EXPECT_EQ(response->url, "http://server/other?x=1");
}

TEST(HttpClientTest, RedirectToADirectoryIsTheAnswerForAFile) {
  const Server server(Answers({To("http://server/a[1].zarr/", 301)}));
  const auto response = server.Get({.url = "http://server/a%5B1%5D.zarr", .is_file = true});
  ASSERT_THAT(response, test::IsOk());
  EXPECT_EQ(response->status, 301);
}

TEST(HttpClientTest, RefusesOtherRedirects) {
  for (const auto& [location, why] : std::vector<std::pair<std::string, std::string>>{
           {"file:///etc/passwd", "is no URL with a host"},
           {"file://server/etc/passwd", "is no URL"},
           {"ftp://server/file", "which is not http or https"},
           {"http://169.254.169.254/latest", "link-local"},
           {"http://[fe80::1]/", "link-local"},
           {"http://[::ffff:169.254.169.254]/", "link-local"},
           {"http://other/file", "another server"},
           {"http://server.other/file", "another server"},
           {"http://server:8080/file", "another server"},
           {"https://server:8443/file", "another server"},
           {"http://server@other/file?token=secret", "another server"},
           {std::string(kUrl), "after 5 other redirects"}}) {
    const Server server(Answers({To(location)}));
    const auto response = server.Get();
    ASSERT_FALSE(response) << location;
    EXPECT_THAT(response.error().message(), HasSubstr(why));
    EXPECT_THAT(response.error().message(), Not(HasSubstr("secret")));
  }
  const Server secure(Answers({To("http://server/file")}));
  EXPECT_THAT(secure.Get({.url = "https://server/file"}),
              test::IsError(ErrorCode::kIo, HasSubstr("not encrypted")));
}

// As Earthdata, DANDI and Hugging Face send one to a store, with a signature for some minutes.
TEST(HttpClientTest, ASignedTargetThatIsRefusedIsAskedForAnew) {
  HttpOptions options;
  options.allow_urls = {ParseUrl("https://store.example/").value()};
  int signatures = 0;
  int valid = 2;
  const Server server(
      [&](const Sent& sent) -> FakeAnswer {
        if (sent.url == kUrl) {
          ++signatures;
          return {
              302,
              {{"location", "https://store.example/x?sig=hush" + std::to_string(signatures)}}};
        }
        EXPECT_EQ(sent.Find("Authorization"), "");
        if (sent.url == "https://store.example/x?sig=hush" + std::to_string(valid)) {
          return Value("text");
        }
        return {.status = 403};
      },
      options);
  HttpRequest request;
  request.headers = {{"Authorization", "Bearer hush"}};
  EXPECT_EQ(server.Get(request)->body, "text");
  EXPECT_EQ(server.sent().size(), 4u);
  valid = -1;
  const auto refused = server.Get(request);
  ASSERT_THAT(refused, test::IsOk());
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(UrlForMessages(refused->url), "https://store.example/x");
  EXPECT_EQ(server.sent().size(), 8u);
}

TEST(HttpClientTest, ReadsOfAVersionGoToTheKnownTargetAtOnce) {
  HttpOptions options;
  options.allow_urls = {ParseUrl("https://store.example/").value()};
  std::string etag = "\"1\"";
  std::string signature = "1";
  const Server server(
      [&](const Sent& sent) -> FakeAnswer {
        if (sent.url == kUrl) {
          return {302, {{"location", "https://store.example/x?sig=" + signature}}};
        }
        if (!sent.url.ends_with("sig=" + signature)) return {.status = 403};
        return AnswerWith(sent, "text", etag);
      },
      options);
  HttpRequest request;
  request.if_match = etag;
  auto requests = [&, seen = size_t{0}]() mutable {
    return server.sent().size() - std::exchange(seen, server.sent().size());
  };
  EXPECT_EQ(server.Get(request)->body, "text");
  EXPECT_EQ(requests(), 2u);
  EXPECT_EQ(server.Get(request)->body, "text");
  EXPECT_EQ(requests(), 1u);
  EXPECT_EQ(server.Get()->body, "text") << "of any version";
  EXPECT_EQ(requests(), 2u);
  signature = "2";
  EXPECT_EQ(server.Get(request)->body, "text") << "the kept one has ended";
  EXPECT_EQ(requests(), 3u);
  etag = "\"2\"";
  EXPECT_EQ(server.Get(request)->status, 412);
  EXPECT_EQ(requests(), 3u) << "the server may have another target for that version";
}

TEST(HttpClientTest, AKnownTargetWithAnotherVersionIsAskedForAnew) {
  HttpOptions options;
  options.allow_urls = {ParseUrl("https://store.example/").value()};
  std::string version = "1";
  const Server server(
      [&](const Sent& sent) -> FakeAnswer {
        if (sent.url == kUrl) return {302, {{"location", "https://store.example/" + version}}};
        FakeAnswer answer = Value("text");  // whatever If-Match says
        answer.headers.push_back({"etag", '"' + sent.url.substr(22) + '"'});
        return answer;
      },
      options);
  HttpRequest request;
  request.if_match = "\"1\"";
  EXPECT_EQ(server.Get(request)->etag, "\"1\"");
  version = "2";
  request.if_match = "\"2\"";
  EXPECT_EQ(server.Get(request)->etag, "\"2\"");
  EXPECT_EQ(server.sent().size(), 5u);
}

TEST(HttpClientTest, FollowsRedirectsToTlsOfTheSameHostAndToAllowedPorts) {
  const Server usual([](const Sent& sent) {
    return sent.url == kUrl ? To("https://server/file") : AnswerWith(sent, sent.url);
  });
  EXPECT_EQ(usual.Get()->body, "https://server/file");
  HttpOptions options;
  options.allow_urls.push_back(ParseUrl("http://server:8080/").value());
  const Server allowed(
      [](const Sent& sent) {
        return sent.url == kUrl ? To("http://server:8080/file") : AnswerWith(sent, sent.url);
      },
      options);
  EXPECT_EQ(allowed.Get()->body, "http://server:8080/file");
  const Server other(Answers({To("https://server/file")}));
  EXPECT_THAT(other.Get({.url = "http://server:8080/file"}),
              test::IsError(ErrorCode::kIo, HasSubstr("another server")));
}

TEST(HttpClientTest, CredentialsStayWithTheirServer) {
  HttpOptions options;
  options.allow_urls.push_back(ParseUrl("http://other/data/").value());
  const Server server(
      [](const Sent& sent) {
        if (sent.url == kUrl) return To("http://other/data/file");
        return AnswerWith(sent, "data");
      },
      options);
  HttpRequest request{.url = "http://user:pass@server/dir/file"};
  request.headers = {{"Authorization", "Bearer t"}, {"X-Amz-Date", "now"}, {"Accept", "*/*"}};
  ASSERT_THAT(server.Get(request), test::IsOk());
  ASSERT_EQ(server.sent().size(), 2u);
  EXPECT_EQ(server.sent()[0].Find("Authorization"), "Bearer t");
  EXPECT_EQ(server.sent()[0].url, kUrl);
  EXPECT_EQ(server.sent()[1].headers, (HttpHeaders{{"Accept", "*/*"}}));
}

TEST(HttpClientTest, UserOfAUrlBecomesBasicAuthentication) {
  const Server server([](const Sent& sent) { return AnswerWith(sent, "data"); });
  ASSERT_THAT(server.Get({.url = "http://user:p%40ss@server/x"}), test::IsOk());
  EXPECT_EQ(server.sent()[0].Find("Authorization"), "Basic dXNlcjpwQHNz");
}

TEST(HttpClientTest, EachAttemptIsPrepared) {
  const Server server(Answers({{503, {}, "", {}}, To("/other"), Value("data")}));
  HttpRequest request;
  request.prepare = [](HttpAttempt& attempt) -> model::Result<void> {
    attempt.headers.push_back({"Signature", attempt.url});
    return {};
  };
  ASSERT_THAT(server.Get(request), test::IsOk());
  ASSERT_EQ(server.sent().size(), 3u);
  EXPECT_EQ(server.sent()[1].Find("Signature"), kUrl);
  EXPECT_EQ(server.sent()[2].Find("Signature"), "http://server/other");
}

TEST(HttpClientTest, CorrectedRequestIsSentInPlaceOfTheFirst) {
  const Server server([](const Sent& sent) {
    return sent.url == kUrl ? FakeAnswer{400} : AnswerWith(sent, "data");
  });
  std::string memory;
  HttpRequest request;
  request.reserve = [&](uint64_t total) -> model::Result<ByteSpan> {
    memory.resize(total);
    return std::as_writable_bytes(std::span(memory));
  };
  request.correct = [](HttpRequest& sent, const HttpResponse& answer) {
    if (answer.status != 400) return false;
    sent.url = "http://server/right";
    return true;
  };
  const auto response = server.Get(request);
  ASSERT_THAT(response, test::IsOk());
  EXPECT_EQ(response->url, "http://server/right");
  EXPECT_EQ(memory, "data");
  EXPECT_EQ(server.sent().size(), 2u);
}

TEST(HttpClientTest, CorrectionsWithoutEndEnd) {
  const Server server(Answers({{400, {}, "", {}}}));
  HttpRequest request;
  request.correct = [](HttpRequest&, const HttpResponse&) { return true; };
  EXPECT_EQ(server.Get(request)->status, 400);
  EXPECT_LT(server.sent().size(), 10u);
}

TEST(HttpClientTest, ExceptionOfACorrectionReachesTheCaller) {
  const Server server(Answers({{400, {}, "", {}}}));
  HttpRequest request;
  request.correct = [](HttpRequest&, const HttpResponse&) -> bool { throw std::bad_alloc(); };
  EXPECT_THROW((void)server.Get(request), std::bad_alloc);
}

TEST(HttpClientTest, RequestIsNotSentIfItCannotBePrepared) {
  const Server server(Answers({Value("data")}));
  HttpRequest request;
  request.prepare = [](HttpAttempt&) -> model::Result<void> {
    return model::BadInput("no credentials");
  };
  EXPECT_THAT(server.Get(request),
              test::IsError(ErrorCode::kBadInput, HasSubstr("no credentials")));
  EXPECT_TRUE(server.sent().empty());
}

TEST(HttpClientTest, AnswersComeInTheOrderOfTheirRequests) {
  const Server server([](const Sent& sent) {
    if (sent.url.ends_with("2")) return FakeAnswer{404, {}, "", {}};
    return AnswerWith(sent, sent.url.substr(sent.url.size() - 1));
  });
  std::vector<HttpRequest> requests(4);
  for (size_t i = 0; i < 4; ++i) requests[i].url = fmt::format("http://server/{}", i);
  requests[1].url = "file:///etc/passwd";
  const auto answers = server.client().SendMany(requests);
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[0]->body, "0");
  EXPECT_FALSE(answers[1]);
  EXPECT_EQ(answers[2]->status, 404);
  EXPECT_EQ(answers[3]->body, "3");
}

TEST(HttpClientTest, MessagesHaveNoCredentials) {
  const Server server(Answers({{0, {}, "", {HttpEnd::Kind::kRefused, "no"}}}));
  const auto response =
      server.Get({.url = "https://me:secret@server/a?X-Amz-Signature=secret"});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().message(), "https://server/a: no");
  const auto wrong = server.Get({.url = "https://me:secret@ser ver:x/a?secret"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace ndlfs::backends
