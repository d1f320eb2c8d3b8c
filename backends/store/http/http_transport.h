// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "backends/base/bytes.h"
#include "backends/store/http/http_message.h"

namespace ndlfs::backends {

// How one exchange with a server ended.
struct HttpEnd {
  enum class Kind : uint8_t {
    kComplete,  // the whole answer has come
    kStopped,   // OnHead() or OnData() returned kStop
    kTimeout,   // the time was over, or almost nothing came for some time
    kBroken,    // connection refused, reset or closed too early
    kNoHost,    // the name of the host has no address
    kRefused,   // will fail again: certificate, protocol, address that must not be connected to
  };
  Kind kind = Kind::kComplete;
  std::string message = {};  // one line, without the URL; empty if complete
  // Time since the request was sent: until the end, and until the head of the answer (0: none
  // came).
  std::chrono::nanoseconds elapsed{0};
  std::chrono::nanoseconds head_after{0};
};

// One request that is sent once, and the receiver of its answer. A transport calls the
// functions one at a time, on any thread, and OnEnd() last. They neither wait nor throw.
class HttpExchange {
 public:
  enum class Next : uint8_t {
    kGoOn,
    kPause,  // OnData() only: give me these bytes again after HttpTransport::Resume()
    kStop,   // end the exchange; OnEnd() is called with kStopped
  };

  virtual ~HttpExchange() = default;

  // The final status and all headers.
  virtual Next OnHead(int status, HttpHeaders headers) = 0;
  virtual Next OnData(ConstByteSpan bytes) = 0;
  virtual void OnEnd(HttpEnd end) = 0;

  // Set before the start, and not changed until OnEnd().
  HttpAttempt attempt;
  std::chrono::milliseconds timeout{0};  // from when it is sent; may change before Resume()
  bool allow_link_local = false;
  // The answer is likely to have many bytes and deserves a connection of its own.
  bool is_large = false;
  // Exchanges of one batch wait for each other; batches take turns.
  const void* batch = nullptr;
};

// Sends requests. Thread-safe. Follows no redirect, tries nothing again, decodes no content
// encoding.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;

  // Sends the request soon, and keeps the exchange until its OnEnd().
  virtual void Start(std::shared_ptr<HttpExchange> exchange) = 0;
  // Continues an exchange whose OnData() returned kPause. Does nothing if it has ended.
  virtual void Resume(const std::shared_ptr<HttpExchange>& exchange) = 0;
};

}  // namespace ndlfs::backends
