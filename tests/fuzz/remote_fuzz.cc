// SPDX-License-Identifier: MIT
//
// What servers send, URLs, and settings for them. The first byte chooses: an index page in JSON
// (j) or HTML (h), a list (l) or another document (d) of S3, a list of Azure (a), credentials
// (k), settings (y), a URL (u), a header (t), a signature (s). Lists have sound names, each
// once; URLs and names come back as they were.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "backends/base/percent_encoding.h"
#include "backends/store/azure/account.h"
#include "backends/store/azure/blob_list.h"
#include "backends/store/azure/credentials.h"
#include "backends/store/http/http_message.h"
#include "backends/store/http/index_page.h"
#include "backends/store/http/url.h"
#include "backends/store/object/folder_list.h"
#include "backends/store/object/signature.h"
#include "backends/store/object/token.h"
#include "backends/store/object/xml_answers.h"
#include "backends/store/s3/aws_profile.h"
#include "backends/store/schemes/url_rules.h"

namespace ndlfs::backends {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void RunIndexPage(std::string_view content_type, std::string_view page) {
  const auto objects = ParseIndexPage(content_type, page, "http://host/a%20dir/");
  if (!objects) return;
  for (const ListedObject& object : *objects) Require(!object.info);
}

void CheckPage(const ListPage& page) {
  for (size_t i = 0; i < page.objects.size(); ++i) {
    Require(IsSoundName(page.objects[i].name));
    Require(i == 0 || page.objects[i - 1].name < page.objects[i].name);
  }
}

// The same list again as the next page goes back in the order.
void RunList(std::string_view document) {
  const auto list = object::ParseListPage(document, "");
  if (!list) return;
  const auto page = object::ToNamePage(*list, "", {}, object::InfoByTag);
  Require(page.has_value());
  CheckPage(*page);
  if (!page->next) return;
  const auto next = object::ToNamePage(*list, "", *page->next, object::InfoByTag);
  Require(!next || (list->objects.empty() && list->prefixes.empty()));
}

void RunBlobList(std::string_view document) {
  const auto list = azure::ParseBlobList(document, "");
  if (!list) return;
  const auto page = object::ToNamePage(*list, "", {}, object::InfoByTag);
  Require(page.has_value());
  CheckPage(*page);
}

// Answers of token servers, signatures and places.
void RunCredentials(std::string_view text) {
  const auto token = object::ParseTokenAnswer(text, 0);
  Require(!token || (!token->text.empty() && token->expires_s >= 0));
  const auto sas = azure::ParseSas(text);
  Require(!sas || sas->text.find_first_of("# \n") == sas->text.npos);
  const auto place = azure::ParseBlobUrl(std::string(text));
  if (!place) return;
  Require(place->endpoint.empty() || azure::IsBlobHost(ParseUrl(place->endpoint)->host));
}

void RunRules(std::string_view text) {
  const auto rules = UrlRules::Parse(text, "urls.yaml", "/home/me");
  if (!rules) return Require(rules.error().message().find('\n') == std::string::npos);
  for (const UrlRule& rule : rules->all()) Require(rules->Find(rule.prefix) != nullptr);
}

void RunUrl(std::string_view text) {
  (void)UrlForMessages(text);
  const auto decoded = PercentDecode(text);
  if (decoded) Require(PercentDecode(PercentEncode(*decoded)) == decoded);
  const auto base = ParseUrl("https://user:pass@host:8443/a/b?q");
  const auto resolved = ResolveUrl(*base, text);
  if (resolved) (void)IsWithin(*resolved, *base);
  const auto url = ParseUrl(text);
  if (!url) return;
  const auto again = ParseUrl(url->ToText());
  Require(again.has_value() && again->ToText() == url->ToText());
  Require(again->origin() == url->origin());
  Require(IsWithin(*again, *url));
}

void RunHeader(std::string_view text) {
  (void)ParseHttpDate(text);
  (void)ParseDecimal(text);
  (void)object::ParseUtcTime(text);
  const auto range = ParseContentRange(text);
  if (!range || !range->range) return;
  Require(range->range->length != 0);
  if (range->total_size) {
    Require(range->range->offset < *range->total_size);
    Require(range->range->length <= *range->total_size - range->range->offset);
  }
}

// A request for the target in the first line: what Sign() adds is accepted, and no other text,
// which follows.
void RunSignature(std::string_view bytes) {
  const size_t line = std::min(bytes.find('\n'), bytes.size());
  const std::string_view target = bytes.substr(0, line);
  const size_t question = std::min(target.find('?'), target.size());
  object::RequestToSign request = {
      .method = "GET",
      .host = "host:80",
      .path = target.substr(0, question),
      .query = target.substr(std::min(question + 1, target.size())),
      .headers = {},
      .body = {}};
  const object::Credentials keys = {.access_key = "key", .secret_key = "secret"};
  constexpr int64_t kNow = 1'369'353'600;
  HttpHeaders headers = object::Sign(request, keys, {.region = "r"}, kNow);
  headers.push_back({"host", "host:80"});
  request.headers = headers;
  Require(object::IsSignedWith(request, keys, kNow));
  for (HttpHeader& header : request.headers) {
    const std::string_view shown = bytes.substr(std::min(line + 1, bytes.size()));
    if (header.name == "authorization") header.value = shown;
  }
  Require(!object::IsSignedWith(request, {.access_key = "key", .secret_key = "other"}, kNow));
}

void Run(char kind, std::string_view bytes) {
  switch (kind) {
    case 'j':
      return RunIndexPage("application/json", bytes);
    case 'h':
      return RunIndexPage("text/html", bytes);
    case 'l':
      return RunList(bytes);
    case 'd':
      (void)object::ParseErrorAnswer(bytes);
      (void)s3::ParseAssumedRole(bytes);
      return;
    case 'a':
      return RunBlobList(bytes);
    case 'k':
      return RunCredentials(bytes);
    case 'y':
      return RunRules(bytes);
    case 'u':
      return RunUrl(bytes);
    case 't':
      return RunHeader(bytes);
    case 's':
      return RunSignature(bytes);
    default:
      return;
  }
}

}  // namespace
}  // namespace ndlfs::backends

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ndlfs::backends::Run(bytes[0], bytes.substr(1));
  return 0;
}
