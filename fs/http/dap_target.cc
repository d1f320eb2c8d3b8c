// SPDX-License-Identifier: MIT
#include "fs/http/dap_target.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "fs/http/parse/access.h"
#include "fs/view/base/html_text.h"

namespace ndlfs::fs {
namespace {

struct Answer {
  std::string_view extension;    // of the URL
  std::string_view file;         // the extension of the file
  std::string_view version;      // of DAP
  std::string_view type;         // for the field `Content-Type`
  std::string_view description;  // for the field `Content-Description`; empty: none
};
constexpr std::string_view kTextType = "text/plain; charset=utf-8";
constexpr std::string_view kDmrType = "application/vnd.opendap.dap4.dataset-metadata+xml";
constexpr std::array<Answer, 7> kAnswers = {
    {{".dds", ".dds", "2.0", kTextType, "dods-dds"},
     {".das", ".das", "2.0", kTextType, "dods-das"},
     {".dods", ".dods", "2.0", "application/octet-stream", "dods-data"},
     {".ascii", ".ascii", "2.0", kTextType, "dods-ascii"},
     {".dmr.xml", ".dmr", "4.0", kDmrType, ""},
     {".dmr", ".dmr", "4.0", kDmrType, ""},
     {".dap", ".dap", "4.0", "application/vnd.opendap.dap4.data", ""}}};

// netCDF-C 4.9 encodes a constraint up to three times, in addition to what its user does.
std::string DecodeRepeatedly(std::string text) {
  constexpr int kMostTimes = 3;
  for (int i = 0; i < kMostTimes && text.find('%') != std::string::npos; ++i) {
    text = backends::PercentDecodeLeniently(text);
  }
  return text;
}

// What follows "data" in the name of the file.
std::string EndOf(const Answer& answer, const RequestTarget& target) {
  std::string constraint;
  std::string_view extension = answer.file;
  if (answer.version == "2.0") {
    constraint = backends::PercentDecodeLeniently(target.QueryWithout(kTokenParameter));
  } else {
    constraint = DecodeRepeatedly(target.Parameter("dap4.ce").value_or(""));
    const auto checksum = target.Parameter("dap4.checksum");
    if (extension == ".dap" && checksum && *checksum != "false") extension = ".checksums.dap";
  }
  return (constraint.empty() ? "" : fmt::format("[{}]", constraint)) + std::string(extension);
}

// The places of the file that ends in `end`, for a URL that ends in `extension`.
std::vector<DapTarget> PlacesOf(const RequestTarget& target, std::string_view extension,
                                const std::string& end) {
  constexpr std::string_view kNetcdf = ".nc";
  constexpr std::string_view kData = "data";
  std::string_view stem = target.names.back();
  stem.remove_suffix(extension.size());
  const std::vector<std::string> around(target.names.begin(), target.names.end() - 1);
  if (stem.empty() || stem == kData)
    return {{.folder = around, .name = std::string(kData) + end}};
  std::vector<std::string> folder = around;
  folder.emplace_back(stem);
  std::vector<DapTarget> out = {
      {.folder = std::move(folder), .name = std::string(kData) + end}};
  if (stem.ends_with(kNetcdf)) {
    // Files of a group may be called like the group.
    stem.remove_suffix(kNetcdf.size());
    out.push_back({.folder = around, .name = std::string(stem) + end});
  }
  return out;
}

// The numbers that libraries of DAP 2 know.
int CodeOf(unsigned status) {
  constexpr int kUnknown = 1001;
  constexpr int kNoSuchFile = 1003;
  constexpr int kMalformedExpression = 1005;
  constexpr int kNoAuthorization = 1006;
  constexpr int kCannotReadFile = 1007;
  switch (status) {
    case 400:
      return kMalformedExpression;
    case 401:
    case 403:
      return kNoAuthorization;
    case 404:
      return kNoSuchFile;
    default:
      return status >= kFirstFault ? kCannotReadFile : kUnknown;
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

std::vector<DapTarget> FindDapTargets(const RequestTarget& target) {
  if (target.names.empty() || target.ends_in_slash) return {};
  for (const Answer& answer : kAnswers) {
    if (!target.names.back().ends_with(answer.extension)) continue;
    const std::string end = EndOf(answer, target);
    std::vector<DapTarget> places = PlacesOf(target, answer.extension, end);
    for (DapTarget& place : places) {
      place.description = place.name.substr(0, place.name.size() - end.size()) +
                          (answer.version == "2.0" ? ".dds" : ".dmr");
      place.version = answer.version;
      place.fields = {{"Content-Type", std::string(answer.type)},
                      {"XDAP", std::string(answer.version)}};
      if (!answer.description.empty()) {
        place.fields.emplace_back("Content-Description", std::string(answer.description));
      }
    }
    return places;
  }
  return {};
}

bool IsForDap(const RequestTarget& target) { return !FindDapTargets(target).empty(); }

void DescribeDapError(const RequestTarget& target, HttpReply& reply) {
  const auto places = FindDapTargets(target);
  if (places.empty()) return;
  std::string_view reason = reply.text;
  if (reason.ends_with('\n')) reason.remove_suffix(1);
  if (places[0].version == "2.0") {
    reply.text = fmt::format("Error {{\n    code = {};\n    message = {};\n}};\n",
                             CodeOf(reply.status), QuotedForDap(reason));
    SetContentType(reply, "text/plain; charset=utf-8");
    reply.fields.emplace_back("Content-Description", "dods-error");
  } else {
    reply.text = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error "
        "xmlns=\"http://xml.opendap.org/ns/DAP/4.0#\" httpcode=\"{}\"><Message>{}</Message>"
        "</Error>\n",
        reply.status, HtmlText(reason));
    SetContentType(reply, "application/vnd.opendap.dap4.error+xml");
  }
  reply.fields.emplace_back("XDAP", places[0].version);
}

}  // namespace ndlfs::fs
