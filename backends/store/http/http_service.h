// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/store/http/object_service.h"
#include "backends/store/http/url.h"

namespace ndlfs::backends {

// The files below `top` on a plain HTTP server. Its listings are the index pages of the server,
// if it makes any. The query of `top` is sent with each request. If `token_file` is not empty,
// each request to the server of `top` carries the bearer token that is in the file at that
// moment.
std::shared_ptr<const ObjectService> MakeHttpService(const Url& top,
                                                     const std::string& token_file = "");

}  // namespace ndlfs::backends
