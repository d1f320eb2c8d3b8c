// SPDX-License-Identifier: MIT
#include "backends/store/http/object_service.h"

#include <fmt/format.h>

#include <cerrno>

#include "backends/store/http/url.h"

namespace ndlfs::backends {

model::Error ObjectService::ToError(KeyState state, const HttpResponse& response) const {
  const std::string where = UrlForMessages(response.url);
  switch (state) {
    case KeyState::kOtherVersion:
      return model::Stale("changed since it was read first").value();
    case KeyState::kPage:
      return model::Corrupt("{}: the server answers with a page of HTML, not with the file",
                            where)
          .value();
    case KeyState::kForbidden:
    case KeyState::kRefused:
      return model::IoError(EACCES, fmt::format("{}: the server answers with status {}", where,
                                                response.status))
          .value();
    default:
      return model::IoError(EIO, fmt::format("{}: the server answers with status {}", where,
                                             response.status))
          .value();
  }
}

bool IsSoundName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

}  // namespace ndlfs::backends
