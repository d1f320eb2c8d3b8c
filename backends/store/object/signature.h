// SPDX-License-Identifier: MIT
//
// Signature version 4, as S3 and STS take it, and Google with words of its own: a request
// carries headers that prove that its sender has a secret key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/store/http/http_message.h"

namespace ndlfs::backends::object {

// The keys of a signature. Secret: `secret_key` and `session_token` must not get into messages,
// logs or control files.
struct Credentials {
  std::string access_key = {};
  std::string secret_key = {};
  std::string session_token = {};  // empty for keys that do not expire
  int64_t expires_s = 0;           // seconds since 1970; 0: never
  bool operator==(const Credentials&) const = default;
};

// The words in which a provider has this signature.
struct SignatureWords {
  std::string_view prefix;   // of names: "AWS4"
  std::string_view end;      // of the scope: "aws4_request"
  std::string_view headers;  // the beginning of names of headers: "x-amz-"
};
inline constexpr SignatureWords kAwsWords = {"AWS4", "aws4_request", "x-amz-"};
inline constexpr SignatureWords kGoogleWords = {"GOOG4", "goog4_request", "x-goog-"};

// The places for which a signature is valid.
struct SigningScope {
  std::string region = {};     // "us-east-1"
  std::string service = "s3";  // "sts"; "storage" of Google
  SignatureWords words = kAwsWords;
};

// A request as it goes to the server.
struct RequestToSign {
  std::string_view method;  // "GET"
  // As in the header "Host": with the port, unless it is the default one of the scheme.
  std::string_view host;
  // Percent-encoded, from the first '/' on. It is signed as it is, because S3 does not encode
  // the path a second time.
  std::string_view path;
  // The part of the URL after '?', percent-encoded, in any order.
  std::string_view query;
  // Headers that are signed besides "host" and those that Sign() adds. Servers may refuse
  // requests with headers "x-amz-..." that are not signed.
  HttpHeaders headers;
  std::string_view body;
};

// Whether the header "authorization" of `request` is a signature by `credentials` of AWS, made
// within 15 minutes of `now_s`. `headers` are all headers of the request, among them "host"
// (`host` is not used). The region and the service may be any.
bool IsSignedWith(const RequestToSign& request, const Credentials& credentials, int64_t now_s);

// The headers to add to the request, with lower-case names: "authorization", "x-amz-date", for
// stores "x-amz-content-sha256", and with a session token "x-amz-security-token". `time_s` is
// the time of the request in seconds since 1970; servers refuse a time that is off by 15
// minutes.
HttpHeaders Sign(const RequestToSign& request, const Credentials& credentials,
                 const SigningScope& scope, int64_t time_s);

}  // namespace ndlfs::backends::object
