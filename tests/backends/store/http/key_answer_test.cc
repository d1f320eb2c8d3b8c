// SPDX-License-Identifier: MIT
#include "backends/store/http/key_answer.h"

#include <gtest/gtest.h>

#include <string>

#include "backends/store/source_clock.h"

namespace ndlfs::backends {
namespace {

constexpr const char* kDate = "Thu, 01 Jan 2026 00:01:00 GMT";
constexpr const char* kOld = "Thu, 01 Jan 2026 00:00:00 GMT";
constexpr const char* kYoung = "Thu, 01 Jan 2026 00:00:59 GMT";

HttpResponse AnswerOf(int status, HttpHeaders headers = {}, std::optional<uint64_t> size = 10) {
  HttpResponse response;
  response.status = status;
  response.headers = std::move(headers);
  response.etag = response.Find("etag");
  response.modified_ns = ParseHttpDate(response.Find("last-modified")).value_or(0);
  response.total_size = size;
  return response;
}

KeyState StateOfHead(const HttpResponse& response) {
  return StateOf({.method = HttpMethod::kHead, .refuses_pages = true}, response);
}
KeyState StateOfGet(const HttpResponse& response) {
  return StateOf({.refuses_pages = true}, response);
}

TEST(KeyAnswerTest, StatusTellsTheState) {
  const std::vector<std::pair<int, KeyState>> states = {
      {200, KeyState::kPresent},      {206, KeyState::kPresent},    {301, KeyState::kDirectory},
      {308, KeyState::kDirectory},    {400, KeyState::kFailed},     {401, KeyState::kForbidden},
      {403, KeyState::kRefused},      {404, KeyState::kAbsent},     {410, KeyState::kAbsent},
      {412, KeyState::kOtherVersion}, {416, KeyState::kOutOfRange}, {418, KeyState::kFailed}};
  for (const auto& [status, state] : states) {
    EXPECT_EQ(StateOfGet(AnswerOf(status)), state) << status;
  }
}

TEST(KeyAnswerTest, AHeadThatTellsNoSizeTellsNothing) {
  EXPECT_EQ(StateOfHead(AnswerOf(200)), KeyState::kPresent);
  EXPECT_EQ(StateOfHead(AnswerOf(200, {}, std::nullopt)), KeyState::kUntold);
  EXPECT_EQ(StateOfHead(AnswerOf(200, {}, 0)), KeyState::kUntold);
  EXPECT_EQ(StateOfGet(AnswerOf(200, {}, 0)), KeyState::kPresent);
  for (const int status : {400, 403, 405, 501}) {
    EXPECT_EQ(StateOfHead(AnswerOf(status)), KeyState::kUntold) << status;
  }
  EXPECT_EQ(StateOfHead(AnswerOf(404)), KeyState::kAbsent);
}

TEST(KeyAnswerTest, APageInPlaceOfAFileIsNoValue) {
  for (const char* type : {"text/html", "Text/HTML; charset=utf-8", "application/xhtml+xml"}) {
    EXPECT_EQ(StateOfGet(AnswerOf(200, {{"content-type", type}})), KeyState::kPage) << type;
    EXPECT_EQ(StateOf({}, AnswerOf(200, {{"content-type", type}})), KeyState::kPresent);
    EXPECT_EQ(StateOfGet(AnswerOf(404, {{"content-type", type}})), KeyState::kAbsent);
  }
}

TEST(KeyAnswerTest, CodingsThatChangeNoByteAreNone) {
  const auto coding = [](const char* text) { return CodingOf({{"content-encoding", text}}); };
  for (const char* text :
       {"", "identity", "aws-chunked", "AWS-Chunked", "aws-chunked,identity"}) {
    EXPECT_EQ(coding(text), ContentCoding::kNone) << text;
  }
  for (const char* text : {"gzip", "x-gzip", "aws-chunked, GZIP", "gzip,aws-chunked"}) {
    EXPECT_EQ(coding(text), ContentCoding::kGzip) << text;
  }
  for (const char* text : {"br", "zstd", "deflate", "gzip, gzip", "gzip, br"}) {
    EXPECT_EQ(coding(text), ContentCoding::kOther) << text;
  }
  EXPECT_EQ(CodingOf({{"content-encoding", "gzip"}, {"content-encoding", "br"}}),
            ContentCoding::kOther);
}

// Whether blocks of a value with these validators may be kept on disk.
bool IsKept(const char* etag, const char* modified, const char* date = kDate) {
  HttpHeaders headers;
  if (etag != nullptr) headers.push_back({"etag", etag});
  if (modified != nullptr) headers.push_back({"last-modified", modified});
  if (date != nullptr) headers.push_back({"date", date});
  return InfoOfAnswer(AnswerOf(200, headers)).is_settled;
}

TEST(KeyAnswerTest, OnlyValidatorsThatTellVersionsApartAreTrusted) {
  EXPECT_TRUE(IsKept("\"a\"", kOld));
  EXPECT_TRUE(IsKept("\"a\"", nullptr));
  EXPECT_TRUE(IsKept("a", nullptr)) << "without quotes";
  EXPECT_TRUE(IsKept(nullptr, kOld));
  EXPECT_TRUE(IsKept("W/\"a\"", kOld));
  EXPECT_TRUE(IsKept("\"\"", kOld));
  EXPECT_FALSE(IsKept(nullptr, nullptr));
  EXPECT_FALSE(IsKept("\"\"", nullptr)) << "an empty tag is that of all versions";
  EXPECT_FALSE(IsKept("W/\"\"", nullptr));
  EXPECT_FALSE(IsKept("W/\"a\"", nullptr)) << "a weak tag may stay as it is";
  for (const char* etag : {"\"a\"", "W/\"a\"", "a"}) EXPECT_FALSE(IsKept(etag, kYoung)) << etag;
  EXPECT_FALSE(IsKept(nullptr, kYoung));
}

TEST(KeyAnswerTest, YoungIsWhatIsSoByTheClockOfTheServer) {
  EXPECT_FALSE(IsKept(nullptr, kYoung, kDate)) << "though it is old by the clock here";
  EXPECT_TRUE(IsKept(nullptr, kOld, nullptr)) << "more than a day old";
  const HttpResponse cached = AnswerOf(200, {{"date", kDate}, {"age", "60"}});
  EXPECT_EQ(ServerClockNs(cached), *ParseHttpDate(kDate) + 60'000'000'000);
  EXPECT_EQ(ServerClockNs(AnswerOf(200)), std::nullopt);
}

Generation VersionOf(const char* etag, const char* modified) {
  return InfoOfAnswer(AnswerOf(200, {{"etag", etag}, {"last-modified", modified}})).generation;
}

TEST(KeyAnswerTest, TheTimeTellsVersionsOfAWeakTagApart) {
  EXPECT_NE(VersionOf("W/\"a\"", kOld), VersionOf("W/\"a\"", kYoung));
  EXPECT_NE(VersionOf("\"\"", kOld), VersionOf("\"\"", kYoung));
  EXPECT_EQ(VersionOf("\"a\"", kOld), VersionOf("\"a\"", kYoung)) << "servers share files";
}

TEST(SourceClockTest, WithoutAClockADayMayBeWrong) {
  using std::chrono::seconds;
  EXPECT_TRUE(IsOlderThan(1, seconds(1), 2'000'000'002));
  EXPECT_FALSE(IsOlderThan(2, seconds(2), 2'000'000'001));
  const int64_t hour = 3'600'000'000'000;
  EXPECT_FALSE(IsOlderThan(MachineClockNs() - 23 * hour, seconds(2), std::nullopt));
  EXPECT_TRUE(IsOlderThan(MachineClockNs() - 25 * hour, seconds(2), std::nullopt));
}

}  // namespace
}  // namespace ndlfs::backends
