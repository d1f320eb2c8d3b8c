// SPDX-License-Identifier: MIT
#include "backends/store/http/object_service.h"

#include <fmt/format.h>

#include <cerrno>

#include "backends/store/http/url.h"

namespace ndlfs::backends {

model::Result<bool> ObjectService::IsAbsent(const HttpResponse& response) const {
  const int status = response.status;
  if (response.is_success()) return false;
  // A redirect that is not followed leads to a directory.
  if (status == 404 || status == 410 || status == 301 || status == 302 || status == 307 ||
      status == 308) {
    return true;
  }
  if (status == 412) return model::Stale("changed since it was read first");
  const std::string message = fmt::format("{}: the server answers with status {}",
                                          UrlForMessages(response.url), status);
  return model::IoError(status == 401 || status == 403 ? EACCES : EIO, message);
}

ValueInfo ObjectService::InfoOf(const HttpResponse& response) const {
  const uint64_t size = response.total_size.value_or(0);
  const std::string tag = response.etag.empty()
                              ? fmt::format("{} {}", response.Find("last-modified"), size)
                              : response.etag;
  return {Generation::OfTag(tag), size, response.modified_ns};
}

bool IsSoundName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

}  // namespace ndlfs::backends
