// SPDX-License-Identifier: MIT
//
// An HTTP server for unit tests: a function from requests to answers, without a network.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/store/http/http_transport.h"

namespace ndlfs::test {

struct FakeAnswer {
  int status = 200;
  backends::HttpHeaders headers = {};  // names in lower case; Content-Length is not added
  std::string body = {};
  // How the exchange ends after the body. Without a head if `status` is 0.
  backends::HttpEnd end = {};
};

// Answers on the thread that sends. Keeps all requests.
class FakeTransport final : public backends::HttpTransport {
 public:
  struct Sent {
    backends::HttpMethod method;
    std::string url;
    backends::HttpHeaders headers;
    std::string body;
    std::string Find(std::string_view name) const {
      for (const auto& header : headers) {
        if (header.name == name) return header.value;
      }
      return "";
    }
  };
  using Handler = std::function<FakeAnswer(const Sent&)>;

  explicit FakeTransport(Handler handler) : handler_(std::move(handler)) {}

  void Start(std::shared_ptr<backends::HttpExchange> exchange) override {
    const auto& attempt = exchange->attempt;
    const Sent sent = {attempt.method, attempt.url, attempt.headers, std::string(attempt.body)};
    {
      const std::scoped_lock lock(mutex_);
      sent_.push_back(sent);
    }
    FakeAnswer answer = handler_(sent);
    using Next = backends::HttpExchange::Next;
    if (answer.status != 0 && exchange->OnHead(answer.status, answer.headers) == Next::kStop) {
      exchange->OnEnd({backends::HttpEnd::Kind::kStopped});
      return;
    }
    Deliver(exchange, answer.body, answer.end);
  }

  void Resume(const std::shared_ptr<backends::HttpExchange>& exchange) override {
    Rest rest;
    {
      const std::scoped_lock lock(mutex_);
      const auto found = paused_.find(exchange.get());
      if (found == paused_.end()) return;
      rest = std::move(found->second);
      paused_.erase(found);
    }
    Deliver(exchange, rest.body, rest.end);
  }

  std::vector<Sent> sent() const {
    const std::scoped_lock lock(mutex_);
    return sent_;
  }

 private:
  struct Rest {
    std::string body;
    backends::HttpEnd end;
  };

  void Deliver(const std::shared_ptr<backends::HttpExchange>& exchange, const std::string& body,
               const backends::HttpEnd& end) {
    const size_t piece_size = std::max<size_t>(7, body.size() / 1000);
    using Next = backends::HttpExchange::Next;
    for (size_t at = 0; at < body.size(); at += piece_size) {
      const auto piece = std::string_view(body).substr(at, piece_size);
      const Next next = exchange->OnData(backends::AsBytes(piece));
      if (next == Next::kGoOn) continue;
      if (next == Next::kStop) {
        exchange->OnEnd({backends::HttpEnd::Kind::kStopped});
        return;
      }
      const std::scoped_lock lock(mutex_);
      paused_[exchange.get()] = {body.substr(at), end};
      return;
    }
    exchange->OnEnd(end);
  }

  const Handler handler_;
  mutable std::mutex mutex_;
  std::vector<Sent> sent_;
  std::map<const backends::HttpExchange*, Rest> paused_;
};

// What a good server answers for a value: honours Range, If-Match, If-None-Match and HEAD.
inline FakeAnswer AnswerWith(const FakeTransport::Sent& request, const std::string& value,
                             const std::string& etag = "\"1\"") {
  const std::string if_match = request.Find("If-Match");
  if (!if_match.empty() && if_match != etag) return {.status = 412};
  if (request.Find("If-None-Match") == etag) return {304, {{"etag", etag}}, "", {}};
  FakeAnswer answer{200, {{"etag", etag}}, value, {}};
  const std::string range = request.Find("Range");
  if (!range.empty()) {
    const size_t dash = range.find('-');
    const std::string first = range.substr(6, dash - 6);
    const std::string last = range.substr(dash + 1);
    size_t begin = first.empty()
                       ? value.size() - std::min(value.size(), size_t{std::stoul(last)})
                       : std::stoul(first);
    const size_t end = first.empty() || last.empty()
                           ? value.size()
                           : std::min(value.size(), size_t{std::stoul(last)} + 1);
    if (begin >= value.size()) {
      return {416, {{"content-range", "bytes */" + std::to_string(value.size())}}, "", {}};
    }
    answer.status = 206;
    answer.headers.push_back({"content-range", "bytes " + std::to_string(begin) + "-" +
                                                   std::to_string(end - 1) + "/" +
                                                   std::to_string(value.size())});
    answer.body = value.substr(begin, end - begin);
  }
  answer.headers.push_back({"content-length", std::to_string(answer.body.size())});
  if (request.method == backends::HttpMethod::kHead) answer.body.clear();
  return answer;
}

}  // namespace ndlfs::test
