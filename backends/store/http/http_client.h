// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/store/http/http_message.h"
#include "backends/store/http/http_transport.h"
#include "backends/store/http/url.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends {

struct HttpOptions {
  // The most time for a request and its retries; one second more for each 128 KiB that it asks
  // for. The time that it waits for requests sent before it does not count.
  std::chrono::milliseconds timeout{30'000};
  // How often a request is sent at most; 1: it is never sent again.
  unsigned max_attempts = 6;
  // The pause before the first retry; twice as long before each next one. A random part of it
  // is waited each time.
  std::chrono::milliseconds first_pause{100};
  unsigned max_redirects = 5;
  // A whole value of up to so many bytes is accepted when a part was asked for.
  uint64_t max_unasked = 1 << 20;
  // Prefixes of further URLs that redirects may lead to.
  std::vector<Url> allow_urls = {};
};

// Counts the requests to one server (scheme, host and port) since the client exists.
struct HttpEndpointStats {
  uint64_t requests = 0;  // attempts
  uint64_t bytes = 0;     // of bodies, received
  uint64_t retries = 0;
  uint64_t failures = 0;  // requests that ended with an error
  uint64_t heads = 0;     // answers whose head has come
  // The time from sending a request to the head of its answer, the sum of all `heads`.
  uint64_t head_ns = 0;
};

// Sends requests, and sends those again that may succeed later. Thread-safe; any number of
// threads may wait in it.
//
// Any status is an answer (HttpResponse) and not an error, except 408, 429, 500, 502, 503 and
// 504: the client sends these requests again, and they are an error when time or attempts are
// used up. So are broken connections, bodies that are too short, and time-outs. The client
// obeys Retry-After if time allows it.
//
// Errors are kBusy with ETIMEDOUT (time is over), or kIo with EIO; kCorrupt if an answer
// contradicts itself or the request: another range than the requested one, a body of another
// length; kUnsupported for an encoded body, or for a whole value that is too large when a part
// was requested; kLimit for a body that is too long; kStale if the size of the value changes
// between two attempts. Messages name the URL without user, password and query. The bytes of an
// answer are all from one attempt.
//
// The client follows a redirect to the same host and port, from port 80 to port 443 of that
// host with TLS, or to a URL that HttpOptions::allow_urls names. The scheme must be http or
// https, and not change from https to http. The address must not be link-local. Any other
// redirect is an error. The target gets no credentials. It gets the query that the server has
// given, which may be a signature; if the target refuses it (401, 403), the client asks the
// server once more. Reads of a version (`if_match`) go to the target at once for half a minute,
// because it cannot give them another version.
class HttpClient {
 public:
  explicit HttpClient(std::shared_ptr<HttpTransport> transport, HttpOptions options = {});

  // Waits for the answer.
  model::Result<HttpResponse> Send(const HttpRequest& request) const;

  // Sends all requests at once, and waits for all answers, which are in the same order. A
  // request that fails does not make others fail.
  std::vector<model::Result<HttpResponse>> SendMany(
      std::span<const HttpRequest> requests) const;

  const HttpOptions& options() const { return options_; }

  // By origin: "https://example.org".
  std::map<std::string, HttpEndpointStats> stats() const EXCLUDES(mutex_);
  // Bytes of all answers so far, including those under way.
  uint64_t received() const { return received_->load(std::memory_order_relaxed); }

 private:
  class Batch;
  class Operation;
  class Exchange;

  // Where a server has sent a request for a URL, with the signature that it has given.
  struct Target {
    Url url;
    std::chrono::steady_clock::time_point until;
  };

  void Note(const std::string& origin, const HttpEndpointStats& more) const EXCLUDES(mutex_);
  std::optional<Url> FindTarget(const std::string& url) const EXCLUDES(mutex_);
  // Keeps the target for a while; none: forgets it.
  void NoteTarget(const std::string& url, const std::optional<Url>& target) const
      EXCLUDES(mutex_);

  // Exchanges count their bytes here. They may outlive the client.
  const std::shared_ptr<std::atomic<uint64_t>> received_ =
      std::make_shared<std::atomic<uint64_t>>(0);
  const std::shared_ptr<HttpTransport> transport_;
  const HttpOptions options_;
  mutable model::Mutex mutex_;
  mutable std::map<std::string, HttpEndpointStats> stats_ GUARDED_BY(mutex_);
  mutable model::BoundedMap<std::string, Target> targets_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::backends
