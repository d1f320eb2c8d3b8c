// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "backends/store/http/http_transport.h"

namespace ndlfs::backends {

struct CurlOptions {
  unsigned max_requests = 64;  // under way at once; others wait
  std::string ca_file = {};    // PEM certificates to trust; empty: those of the system
  // An exchange ends with kTimeout if less than a KiB a second comes for this long.
  std::chrono::seconds stall{10};
};

// Requests by libcurl, on one thread of its own, which starts with the first request: the
// process may fork before that. Connections are kept for later requests. TLS is verified.
// Proxies come from the usual environment variables, and basic authentication from ~/.netrc,
// which no redirect to another host or port takes along.
// Nothing but http and https is spoken, and link-local addresses are refused.
std::shared_ptr<HttpTransport> MakeCurlTransport(CurlOptions options);

}  // namespace ndlfs::backends
