// SPDX-License-Identifier: MIT
#include "backends/store/http/http_message.h"

#include <algorithm>

#include "model/http_date.h"
#include "model/number_text.h"

namespace ndlfs::backends {

std::string_view FindHeader(const HttpHeaders& headers, std::string_view name) {
  const auto found =
      std::find_if(headers.begin(), headers.end(),
                   [&](const HttpHeader& header) { return header.name == name; });
  return found == headers.end() ? std::string_view() : found->value;
}

std::string_view ToText(HttpMethod method) {
  switch (method) {
    case HttpMethod::kGet:
      return "GET";
    case HttpMethod::kHead:
      return "HEAD";
    case HttpMethod::kPut:
      return "PUT";
    case HttpMethod::kPost:
      break;
  }
  return "POST";
}

std::optional<uint64_t> ParseDecimal(std::string_view text) {
  return model::ParseNumber<uint64_t>(text);
}

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  ContentRange parsed;
  if (const auto total = text.substr(slash + 1); total != "*") {
    parsed.total_size = ParseDecimal(total);
    if (!parsed.total_size) return std::nullopt;
  }
  const std::string_view range = text.substr(0, slash);
  if (range == "*") return parsed;
  const size_t dash = range.find('-');
  if (dash == range.npos) return std::nullopt;
  const auto first = ParseDecimal(range.substr(0, dash));
  const auto last = ParseDecimal(range.substr(dash + 1));
  if (!first || !last || *last < *first || *last == UINT64_MAX) return std::nullopt;
  if (parsed.total_size && *last >= *parsed.total_size) return std::nullopt;
  parsed.range = ByteRange{*first, *last - *first + 1};
  return parsed;
}

std::optional<int64_t> ParseHttpDate(std::string_view text) {
  constexpr int64_t kNanoseconds = 1'000'000'000;
  const auto seconds = model::ParseHttpDate(text);
  if (!seconds || *seconds <= 0 || *seconds > INT64_MAX / kNanoseconds) return std::nullopt;
  return *seconds * kNanoseconds;
}

}  // namespace ndlfs::backends
