// SPDX-License-Identifier: MIT
#include "backends/store/http/key_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <string>

#include "backends/store/http/http_message.h"
#include "backends/store/source_clock.h"

namespace ndlfs::backends {
namespace {

constexpr std::chrono::seconds kYoungOfServer{3};

std::string_view WithoutBlanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool IsWeakTag(std::string_view tag) { return tag.starts_with("W/") || tag.starts_with("w/"); }

// An empty text between the quotes is that of all versions.
bool IsEmptyTag(std::string_view tag) {
  if (IsWeakTag(tag)) tag.remove_prefix(2);
  return WithoutBlanks(tag).empty() || tag == "\"\"";
}

bool IsRedirectStatus(int status) {
  return status == 301 || status == 302 || status == 307 || status == 308;
}

KeyState StateOfValue(const HttpRequest& request, const HttpResponse& response) {
  if (IsPage(request, response.status, response.headers)) return KeyState::kPage;
  // Applications leave the size out of answers to HEAD, or have that of an empty body.
  const bool is_untold =
      request.method == HttpMethod::kHead && response.total_size.value_or(0) == 0;
  return is_untold ? KeyState::kUntold : KeyState::kPresent;
}

}  // namespace

KeyState StateOf(const HttpRequest& request, const HttpResponse& response) {
  const int status = response.status;
  if (status == 200 || status == 206) return StateOfValue(request, response);
  if (IsRedirectStatus(status)) return KeyState::kDirectory;
  const bool may_lack_head = status == 400 || status == 403 || status == 405 || status == 501;
  if (request.method == HttpMethod::kHead && may_lack_head) return KeyState::kUntold;
  switch (status) {
    case 404:
    case 410:
      return KeyState::kAbsent;
    case 401:
      return KeyState::kForbidden;
    case 403:
      return KeyState::kRefused;
    case 412:
      return KeyState::kOtherVersion;
    case 416:
      return KeyState::kOutOfRange;
    default:
      return response.is_success() ? KeyState::kPresent : KeyState::kFailed;
  }
}

ContentCoding CodingOf(const HttpHeaders& headers) {
  ContentCoding coding = ContentCoding::kNone;
  for (const HttpHeader& header : headers) {
    if (header.name != "content-encoding") continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(','), rest.size());
      const std::string token = LowerText(WithoutBlanks(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      // Stores keep "aws-chunked" of the upload, and send the bytes without it.
      if (token.empty() || token == "identity" || token == "aws-chunked") continue;
      const bool is_gzip = token == "gzip" || token == "x-gzip";
      // A body that is encoded twice is not decoded here.
      coding = is_gzip && coding == ContentCoding::kNone ? ContentCoding::kGzip
                                                         : ContentCoding::kOther;
    }
  }
  return coding;
}

bool IsPage(const HttpRequest& request, int status, const HttpHeaders& headers) {
  if (!request.refuses_pages || (status != 200 && status != 206)) return false;
  const std::string type = LowerText(FindHeader(headers, "content-type"));
  return type.starts_with("text/html") || type.starts_with("application/xhtml+xml");
}

bool IsStrongTag(std::string_view tag) {
  return tag.starts_with('"') && tag.size() > 2 && tag.ends_with('"');
}

std::optional<int64_t> ServerClockNs(const HttpResponse& response) {
  const auto date = ParseHttpDate(response.Find("date"));
  if (!date) return std::nullopt;
  // A cache on the way sends the date of the server, and tells how long ago that was.
  constexpr uint64_t kMostAge = 365 * 86'400;
  const uint64_t age = ParseDecimal(response.Find("age")).value_or(0);
  return *date + static_cast<int64_t>(std::min(age, kMostAge)) * 1'000'000'000;
}

bool IsSettled(const HttpResponse& response, int64_t modified_ns) {
  return modified_ns != 0 && IsOlderThan(modified_ns, kYoungOfServer, ServerClockNs(response));
}

ValueInfo InfoOfAnswer(const HttpResponse& response) {
  ValueInfo info;
  info.size = response.total_size.value_or(0);
  info.modified_ns = response.modified_ns;
  info.is_settled = IsSettled(response, response.modified_ns);
  const std::string_view modified = response.Find("last-modified");
  std::string tag(response.etag);
  if (IsEmptyTag(tag)) {
    tag = fmt::format("{} {}", modified, info.size);
  } else if (IsWeakTag(tag)) {
    if (!modified.empty()) tag += fmt::format(" {}", modified);
  } else if (response.modified_ns == 0) {
    info.is_settled = true;
  }
  info.generation = Generation::OfTag(std::move(tag));
  return info;
}

}  // namespace ndlfs::backends
