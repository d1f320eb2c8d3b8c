// SPDX-License-Identifier: MIT
//
// The examples that AWS publishes: "Signature Calculations for the Authorization Header" in the
// manual of S3, and the test suite of signature version 4.
#include "backends/store/object/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace ndlfs::backends::object {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kManualTime = 1369353600;  // 2013-05-24 00:00:00
constexpr int64_t kSuiteTime = 1440938160;   // 2015-08-30 12:36:00

std::string Header(const HttpHeaders& headers, std::string_view name) {
  return std::string(FindHeader(headers, name));
}

std::string ManualSignature(std::string_view path, std::string_view query,
                            HttpHeaders headers) {
  const Credentials credentials = {.access_key = "AKIAIOSFODNN7EXAMPLE",
                                   .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  const RequestToSign request = {.method = "GET",
                                 .host = "examplebucket.s3.amazonaws.com",
                                 .path = path,
                                 .query = query,
                                 .headers = std::move(headers),
                                 .body = ""};
  return Header(Sign(request, credentials, {.region = "us-east-1"}, kManualTime),
                "authorization");
}

HttpHeaders SuiteHeaders(std::string_view path, std::string_view query,
                         std::string_view method = "GET", std::string_view token = "") {
  const Credentials credentials = {.access_key = "AKIDEXAMPLE",
                                   .secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                                   .session_token = std::string(token)};
  const RequestToSign request = {.method = method,
                                 .host = "example.amazonaws.com",
                                 .path = path,
                                 .query = query,
                                 .headers = {},
                                 .body = ""};
  return Sign(request, credentials, {.region = "us-east-1", .service = "service"}, kSuiteTime);
}

std::string SuiteSignature(std::string_view path, std::string_view query) {
  return Header(SuiteHeaders(path, query), "authorization");
}

TEST(S3SignatureTest, ManualGetObjectWithRange) {
  EXPECT_EQ(
      ManualSignature("/test.txt", "", {{"Range", "bytes=0-9"}}),
      "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
      "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
      "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(S3SignatureTest, ManualParameterWithoutValue) {
  EXPECT_THAT(ManualSignature("/", "lifecycle", {}),
              EndsWith("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST(S3SignatureTest, ManualListObjects) {
  EXPECT_THAT(ManualSignature("/", "max-keys=2&prefix=J", {}),
              EndsWith("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(S3SignatureTest, SuiteGetVanilla) {
  EXPECT_THAT(SuiteSignature("/", ""),
              EndsWith("5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"));
}

TEST(S3SignatureTest, SuiteParametersAreSorted) {
  EXPECT_THAT(SuiteSignature("/", "Param2=value2&Param1=value1"),
              EndsWith("b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"));
}

TEST(S3SignatureTest, SuiteUtf8InPathIsEncodedOnce) {
  EXPECT_THAT(SuiteSignature("/%E1%88%B4", ""),
              EndsWith("8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"));
}

TEST(S3SignatureTest, SuiteUnreservedCharacters) {
  EXPECT_THAT(
      SuiteSignature("/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", ""),
      EndsWith("07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"));
}

TEST(S3SignatureTest, SuitePostWithSessionToken) {
  const std::string token =
      "AQoDYXdzEPT//////////"
      "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfp"
      "SPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/"
      "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQ"
      "DYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+"
      "xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+s"
      "cqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
  const HttpHeaders headers = SuiteHeaders("/", "", "POST", token);
  EXPECT_EQ(Header(headers, "x-amz-security-token"), token);
  EXPECT_THAT(Header(headers, "authorization"),
              EndsWith("85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"));
}

TEST(S3SignatureTest, OnlyS3GetsTheHashOfTheBodyAsAHeader) {
  EXPECT_EQ(Header(SuiteHeaders("/", ""), "x-amz-content-sha256"), "");
  EXPECT_THAT(ManualSignature("/", "", {}), HasSubstr("host;x-amz-content-sha256;x-amz-date"));
}

TEST(S3SignatureTest, SecretKeyIsInNoHeader) {
  for (const auto& [name, value] : SuiteHeaders("/", "")) {
    EXPECT_THAT(value, Not(HasSubstr("wJalrXUtnFEMI"))) << name;
  }
}

// The request of the manual that asks for a range, as a server gets it.
bool IsManualRequestSigned(std::string_view path, int64_t now_s, std::string_view secret,
                           HttpHeaders headers) {
  const RequestToSign request = {.method = "GET",
                                 .host = {},
                                 .path = path,
                                 .query = {},
                                 .headers = std::move(headers),
                                 .body = {}};
  return IsSignedWith(request,
                      {.access_key = "AKIAIOSFODNN7EXAMPLE", .secret_key = std::string(secret)},
                      now_s);
}

HttpHeaders ManualHeaders() {
  return {{"host", "examplebucket.s3.amazonaws.com"},
          {"range", "bytes=0-9"},
          {"user-agent", "is not signed"},
          {"x-amz-content-sha256",
           "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
          {"x-amz-date", "20130524T000000Z"},
          {"authorization", ManualSignature("/test.txt", "", {{"Range", "bytes=0-9"}})}};
}

TEST(S3SignatureTest, ServerKnowsTheSignatureOfTheManual) {
  constexpr std::string_view kSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  constexpr int64_t kMinute = 60;
  EXPECT_TRUE(IsManualRequestSigned("/test.txt", kManualTime, kSecret, ManualHeaders()));
  EXPECT_TRUE(
      IsManualRequestSigned("/test.txt", kManualTime + 14 * kMinute, kSecret, ManualHeaders()));
  EXPECT_FALSE(
      IsManualRequestSigned("/test.txt", kManualTime + 16 * kMinute, kSecret, ManualHeaders()));
  EXPECT_FALSE(IsManualRequestSigned("/text.txt", kManualTime, kSecret, ManualHeaders()));
  EXPECT_FALSE(IsManualRequestSigned("/test.txt", kManualTime, "other", ManualHeaders()));
  for (size_t changed = 0; changed < ManualHeaders().size(); ++changed) {
    HttpHeaders headers = ManualHeaders();
    const bool is_signed = headers[changed].name == "user-agent";
    headers[changed].value += '0';
    EXPECT_EQ(IsManualRequestSigned("/test.txt", kManualTime, kSecret, headers), is_signed)
        << headers[changed].name;
    headers.erase(headers.begin() + static_cast<ptrdiff_t>(changed));
    EXPECT_EQ(IsManualRequestSigned("/test.txt", kManualTime, kSecret, headers), is_signed);
  }
}

TEST(S3SignatureTest, OtherTextsAreNoSignatures) {
  for (const char* text :
       {"", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE",
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/r/s3/aws4_request",
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/r/s3/aws4_request,,=,",
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/r/s3/aws4_request, "
        "SignedHeaders=, Signature="}) {
    HttpHeaders headers = ManualHeaders();
    headers.back().value = text;
    EXPECT_FALSE(IsManualRequestSigned("/test.txt", kManualTime, "", headers)) << text;
  }
}

}  // namespace
}  // namespace ndlfs::backends::object
