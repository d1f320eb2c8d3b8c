// SPDX-License-Identifier: MIT
#include "fs/http/webdav.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "fs/http/content_type.h"
#include "fs/http/parse/conditions.h"
#include "fs/http/parse/fields.h"
#include "fs/http/reply.h"
#include "fs/view/base/html_text.h"
#include "model/http_date.h"

namespace ndlfs::fs {
namespace {

// All properties, whatever the request asks for: they are few.
void WriteResponse(std::string& out, const std::string& href, std::string_view name,
                   const ListingEntry& entry) {
  out += "<D:response><D:href>" + href + "</D:href><D:propstat><D:prop>";
  out += "<D:displayname>" + HtmlText(name) + "</D:displayname>";
  if (entry.is_directory) {
    out += "<D:resourcetype><D:collection/></D:resourcetype>";
  } else {
    out += "<D:resourcetype/>";
    out += "<D:getcontenttype>" + ContentTypeOf(name) + "</D:getcontenttype>";
  }
  if (entry.size) {
    fmt::format_to(std::back_inserter(out), "<D:getcontentlength>{}</D:getcontentlength>",
                   *entry.size);
  }
  if (entry.mtime_seconds) {
    out += "<D:getlastmodified>" + model::FormatHttpDate(*entry.mtime_seconds) +
           "</D:getlastmodified>";
  }
  if (entry.version) out += "<D:getetag>" + HtmlText(EtagOf(*entry.version)) + "</D:getetag>";
  out += "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>\n";
}

}  // namespace

DavDepth ParseDepth(const std::optional<std::string>& field) {
  if (!field) return DavDepth::kInfinity;
  const std::string_view depth = TrimBlanks(*field);
  if (depth == "0") return DavDepth::kZero;
  return depth == "1" ? DavDepth::kOne : DavDepth::kInfinity;
}

NextPiece WriteMultistatus(std::string_view base, const std::vector<std::string>& path,
                           const ListingEntry& self, EntryReaderPtr entries) {
  std::string href(base);
  for (const std::string& name : path) href += '/' + UrlOfName(name);
  if (self.is_directory || href.empty()) href += '/';
  std::string out =
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n";
  WriteResponse(out, href, path.empty() ? std::string_view("/") : path.back(), self);
  const auto add = [href](const ListingEntry& entry, std::string& text) {
    WriteResponse(text, href + UrlOfName(entry.name) + (entry.is_directory ? "/" : ""),
                  entry.name, entry);
  };
  return TextOfItems(std::move(out), OneByOne(std::move(entries)), add,
                     [](size_t) { return "</D:multistatus>\n"; });
}

}  // namespace ndlfs::fs
