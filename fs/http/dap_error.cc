// SPDX-License-Identifier: MIT
#include "fs/http/dap_error.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "fs/http/dap_target.h"
#include "fs/view/base/html_text.h"

namespace ndlfs::fs {
namespace {

// The numbers that libraries of DAP 2 know.
int CodeOf(unsigned status) {
  constexpr int kUnknown = 1001;
  constexpr int kNoSuchFile = 1003;
  constexpr int kMalformedExpression = 1005;
  constexpr int kNoAuthorization = 1006;
  constexpr int kCannotReadFile = 1007;
  constexpr unsigned kServerFault = 500;
  switch (status) {
    case 400:
      return kMalformedExpression;
    case 401:
    case 403:
      return kNoAuthorization;
    case 404:
      return kNoSuchFile;
    default:
      return status >= kServerFault ? kCannotReadFile : kUnknown;
  }
}

std::string QuotedForDap(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

bool IsForDap(const RequestTarget& target) { return !FindDapTargets(target).empty(); }

void DescribeDapError(const RequestTarget& target, HttpReply& reply) {
  const auto places = FindDapTargets(target);
  if (places.empty()) return;
  std::string_view reason = reply.text;
  if (reason.ends_with('\n')) reason.remove_suffix(1);
  std::erase_if(reply.fields, [](const auto& field) { return field.first == "Content-Type"; });
  if (places[0].version == "2.0") {
    reply.text = fmt::format("Error {{\n    code = {};\n    message = {};\n}};\n",
                             CodeOf(reply.status), QuotedForDap(reason));
    reply.fields.emplace_back("Content-Type", "text/plain; charset=utf-8");
    reply.fields.emplace_back("Content-Description", "dods-error");
  } else {
    reply.text = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error "
        "xmlns=\"http://xml.opendap.org/ns/DAP/4.0#\" httpcode=\"{}\"><Message>{}</Message>"
        "</Error>\n",
        reply.status, HtmlText(reason));
    reply.fields.emplace_back("Content-Type", "application/vnd.opendap.dap4.error+xml");
  }
  reply.fields.emplace_back("XDAP", places[0].version);
}

}  // namespace ndlfs::fs
