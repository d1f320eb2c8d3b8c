// SPDX-License-Identifier: MIT
//
// The requests to an HTTP server, and its answers.
#pragma once

#include <cctype>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// `text` with its ASCII letters in lower case, for names that HTTP and HTML compare without
// case.
inline std::string LowerText(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

struct HttpHeader {
  std::string name;  // of an answer: in lower case
  std::string value;
  bool operator==(const HttpHeader&) const = default;
};
using HttpHeaders = std::vector<HttpHeader>;

// The value of the first header called `name`, which is in lower case; empty if there is none.
std::string_view FindHeader(const HttpHeaders& headers, std::string_view name);

enum class HttpMethod : uint8_t { kGet, kHead, kPut, kPost };
std::string_view ToText(HttpMethod method);

// One attempt to send a request, before it is sent.
struct HttpAttempt {
  HttpMethod method = HttpMethod::kGet;
  std::string url;  // may be the target of a redirect
  // All headers except Host, Content-Length and those that libcurl adds for the connection.
  HttpHeaders headers;
  std::string_view body;
  unsigned number = 0;  // 0 is the first one
  // Whether `url` has the same scheme, host and port as the request. Credentials belong only
  // there.
  bool same_origin = true;
};

// Completes an attempt: adds headers, such as a signature with the present time. An error ends
// the request. HttpClient calls it on the thread that sends the request, before each attempt
// and each redirect; it may send requests of its own.
using PrepareAttempt = std::function<model::Result<void>(HttpAttempt&)>;

struct HttpRequest;
struct HttpResponse;

// Looks at an answer, whatever its status is, and tells whether to send the request again; then
// it has changed `request` as the answer demands. HttpClient calls it on the thread that sends
// the request, a few times at most; it may send requests of its own.
using CorrectRequest = std::function<bool(HttpRequest& request, const HttpResponse& answer)>;

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string url = {};  // absolute, percent-encoded; "http" or "https"
  HttpHeaders headers =
      {};  // in addition; Authorization, Cookie and X-Amz-* stay with the origin
  std::string body = {};

  // Which bytes to ask for (GET only); all of them if not set. `range.length` is not 0. If the
  // server encodes the value (gzip), these are bytes of the decoded value.
  std::optional<ByteRange> range = std::nullopt;
  bool from_end = false;  // as in ReadOptions
  // A strong ETag with its quotes: any other version of the value is status 412.
  std::string if_match = {};

  // Where the bytes of an answer with status 200 or 206 go. Called at most once, on the thread
  // that sends the request, with the size of the whole value; not called for other answers. If
  // it is not set, the bytes go to HttpResponse::body.
  Reserve reserve = nullptr;
  // The most bytes of a body without `reserve`. A longer one is kLimit.
  uint64_t limit = 64 << 20;

  PrepareAttempt prepare = nullptr;  // may be empty
  CorrectRequest correct = nullptr;  // may be empty

  // Whether a page for people cannot be the value. The body of a page is then not read: see
  // key_answer.h.
  bool refuses_pages = false;
  // Whether a body with the encoding gzip is the value itself, and not to be decoded.
  bool keeps_gzip = false;
  // Whether the URL is that of a file: then a redirect to the same URL with '/' at its end is
  // not followed, because servers send it for directories.
  bool is_file = false;

  // Whether to follow an answer 301, 302, 303, 307 or 308. If not, the redirect is the answer.
  bool follow_redirects = true;
  // Whether a link-local address may be connected to: the metadata service of a cloud.
  bool allow_link_local = false;
  // The most time in all, with retries; HttpOptions::timeout if not set. A request for many
  // bytes has more time, see HttpOptions.
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;
};

// An answer of a server, whatever its status is. Its range and length have been checked.
struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
  std::string etag;         // as sent, with quotes and perhaps W/; empty if there is none
  int64_t modified_ns = 0;  // Last-Modified, since 1970; 0: unknown
  // Bytes that went to the memory of `reserve`, or the size of `body`.
  uint64_t count = 0;
  // The size in bytes of the whole value (status 200, 206, 416 and HEAD), if the server tells.
  std::optional<uint64_t> total_size;
  // The body, if the request has no `reserve`; else the first 64 KiB of an answer that is not
  // 2xx.
  std::string body = {};
  std::string url;  // the URL that answered, after redirects, without user and password

  bool is_success() const { return status >= 200 && status < 300; }
  std::string_view Find(std::string_view name) const { return FindHeader(headers, name); }
};

// "bytes 0-99/1234" or "bytes */1234".
struct ContentRange {
  std::optional<ByteRange> range;      // none: "*"
  std::optional<uint64_t> total_size;  // none: "*"
};
// nullopt if `text` is no such header, or contradicts itself.
std::optional<ContentRange> ParseContentRange(std::string_view text);

// A date in a header (model/http_date.h) as nanoseconds since 1970; nullopt if `text` is no
// date, or one before that.
std::optional<int64_t> ParseHttpDate(std::string_view text);

// The number if `text` is nothing but decimal digits.
std::optional<uint64_t> ParseDecimal(std::string_view text);

}  // namespace ndlfs::backends
