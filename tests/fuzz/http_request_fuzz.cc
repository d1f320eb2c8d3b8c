// SPDX-License-Identifier: MIT
//
// The parts of a request: a target, and fields, one a line. What is accepted keeps its
// promises.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fs/http/parse/access.h"
#include "fs/http/parse/conditions.h"
#include "fs/http/parse/ranges.h"
#include "fs/http/parse/request_target.h"
#include "model/http_date.h"

namespace ndlfs {
namespace {

void Demand(bool holds) {
  if (!holds) std::abort();
}

std::string_view TakeLine(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  return line;
}

fs::RequestTarget ReadTarget(std::string_view text) {
  const auto target = fs::ParseRequestTarget(text, text.size() % 2 == 0 ? "" : "/data");
  if (!target) return {};
  for (const std::string& name : target->names) {
    Demand(!name.empty() && name != "." && name != "..");
    Demand(name.find('/') == name.npos && name.find('\0') == name.npos);
  }
  const fs::RequestTarget rest{.query = target->QueryWithout("token")};
  Demand(!rest.Parameter("token"));
  return *target;
}

void ReadRanges(std::string_view field) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, uint64_t{1000}, ~uint64_t{0}}) {
    const fs::RangeRequest ranges = fs::ParseRanges(field, size);
    Demand(ranges.parts.size() <= fs::kMostRanges);
    Demand((ranges.kind == fs::RangeRequest::Kind::kParts) == !ranges.parts.empty());
    uint64_t total = 0;
    for (const fs::FileRange& part : ranges.parts) {
      Demand(part.length != 0 && part.offset < size && part.length <= size - part.offset);
      Demand(part.length <= size - total);
      total += part.length;
    }
  }
}

void ReadConditions(const std::string& field) {
  const fs::Validators file = {.etag = "\"a\"", .mtime_seconds = 1'000'000'000};
  (void)fs::Evaluate({.if_match = field}, file);
  (void)fs::Evaluate({.if_none_match = field}, file);
  (void)fs::Evaluate({.if_unmodified_since = field, .if_range = field}, file);
  (void)fs::Evaluate({.if_modified_since = field}, {});
  if (const auto seconds = model::ParseHttpDate(field)) (void)model::FormatHttpDate(*seconds);
}

void Run(std::string_view bytes) {
  const fs::RequestTarget target = ReadTarget(TakeLine(bytes));
  ReadRanges(TakeLine(bytes));
  ReadConditions(std::string(TakeLine(bytes)));
  const std::string host(TakeLine(bytes));
  (void)fs::IsTrustedHost(host, {"example.org"});
  const std::string credentials(bytes);
  (void)fs::FindToken(target, {.authorization = credentials, .cookie = credentials},
                      {"0123456789", "ndlfs-1", "0123456789abcdef"});
}

}  // namespace
}  // namespace ndlfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
