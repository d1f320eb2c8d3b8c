// SPDX-License-Identifier: MIT
#include "fs/http/parse/request_target.h"

#include <algorithm>

#include "backends/base/percent_encoding.h"
#include "fs/http/parse/fields.h"

namespace ndlfs::fs {
namespace {

using model::BadInput;
using model::Result;

// Splits "http://host/path" off, and leaves "/path" in `target`.
Result<std::optional<std::string>> TakeHost(std::string_view& target) {
  if (target.starts_with('/')) return std::nullopt;
  const size_t scheme_end = target.find("://");
  const std::string_view scheme = target.substr(0, scheme_end);
  const bool is_web = EqualsIgnoringCase(scheme, "http") || EqualsIgnoringCase(scheme, "https");
  if (scheme_end == target.npos || !is_web) {
    return BadInput("the target {} is no path", model::Quote(target));
  }
  target.remove_prefix(scheme_end + 3);
  const size_t host_end = std::min(target.find_first_of("/?"), target.size());
  std::string host(target.substr(0, host_end));
  if (host.empty() || host.find('@') != host.npos) return BadInput("a URL without a host");
  target.remove_prefix(host_end);
  return host;
}

Result<std::string> DecodeName(std::string_view part) {
  auto name = backends::PercentDecode(part);
  if (!name) return BadInput("a '%' without two hexadecimal digits in {}", model::Quote(part));
  if (name->find('\0') != name->npos) return BadInput("a NUL in a name");
  if (name->find('/') != name->npos) return BadInput("a '/' in a name");
  if (*name == "." || *name == "..") return BadInput("the name {}", model::Quote(*name));
  return *std::move(name);
}

// Calls `take` with each "key=value" of a query.
template <typename Take>
void VisitParameters(std::string_view query, const Take& take) {
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    if (end != 0) take(query.substr(0, end));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
}

std::string_view KeyOf(std::string_view parameter) {
  return parameter.substr(0, parameter.find('='));
}

}  // namespace

std::optional<std::string> RequestTarget::Parameter(std::string_view key) const {
  std::optional<std::string> value;
  VisitParameters(query, [&](std::string_view parameter) {
    if (value || KeyOf(parameter) != key) return;
    const size_t begin = std::min(key.size() + 1, parameter.size());
    value = backends::PercentDecodeLeniently(parameter.substr(begin));
  });
  return value;
}

std::string RequestTarget::QueryWithout(std::string_view key) const {
  std::string rest;
  VisitParameters(query, [&](std::string_view parameter) {
    if (KeyOf(parameter) == key) return;
    if (!rest.empty()) rest += '&';
    rest += parameter;
  });
  return rest;
}

Result<RequestTarget> ParseRequestTarget(std::string_view target, std::string_view base) {
  RequestTarget out;
  NDLFS_TRY(out.host, TakeHost(target));
  if (target.find('#') != target.npos) return BadInput("a '#' in the target");
  const size_t question = target.find('?');
  std::string_view path = target.substr(0, question);
  if (question != target.npos) out.query = target.substr(question + 1);
  if (path.empty()) path = "/";
  const bool is_below =
      path.starts_with(base) && (path.size() == base.size() || path[base.size()] == '/');
  if (!is_below) return model::NotFound("{}: not below {}", model::OneLine(path), base);
  path.remove_prefix(base.size());
  out.ends_in_slash = path.ends_with('/');
  if (!path.empty()) path.remove_prefix(1);
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    if (end == 0) return BadInput("an empty name in the path");
    NDLFS_TRY(std::string name, DecodeName(path.substr(0, end)));
    out.names.push_back(std::move(name));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return out;
}

}  // namespace ndlfs::fs
