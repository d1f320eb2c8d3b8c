// SPDX-License-Identifier: MIT
#include "backends/store/http/http_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <exception>
#include <optional>
#include <random>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/cancellation.h"
#include "backends/store/http/http_answer.h"
#include "model/base64.h"
#include "model/spelling.h"

namespace ndlfs::backends {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// The least that a slow link brings.
constexpr uint64_t kBytesPerMillisecond = 128;
milliseconds TimeFor(uint64_t bytes) { return milliseconds(bytes / kBytesPerMillisecond); }
// Answers of more bytes get a connection of their own.
constexpr uint64_t kLarge = 128 << 10;
constexpr milliseconds kLongestPause{5'000};
// The name of a host may be wrong, and then nobody should wait for long.
constexpr unsigned kMaxNameAttempts = 2;
// Signatures hold for a minute at least.
constexpr std::chrono::seconds kTargetHolds{30};
constexpr size_t kMostTargets = 1 << 10;
// Region, clock and credentials of S3, each with a question why.
constexpr int kMaxCorrections = 6;

bool IsPassing(int status) {
  constexpr std::array<int, 6> kPassing = {408, 429, 500, 502, 503, 504};
  return std::find(kPassing.begin(), kPassing.end(), status) != kPassing.end();
}

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Another port is another server, but that of TLS in place of the usual one is the same.
bool IsSameServer(const Url& target, const Url& origin) {
  if (target.host != origin.host) return false;
  const bool adds_tls = origin.scheme == "http" && target.scheme == "https";
  return target.port == origin.port ||
         (adds_tls && origin.port == "80" && target.port == "443");
}

bool IsSecret(const HttpHeader& header) {
  constexpr std::string_view kAmazon = "x-amz-";
  return model::EqualsIgnoringCase(header.name, "authorization") ||
         model::EqualsIgnoringCase(header.name, "cookie") ||
         model::EqualsIgnoringCase(header.name.substr(0, kAmazon.size()), kAmazon);
}

// HTTP cannot ask for a part of the end, only for all of it.
std::string RangeHeader(const ByteRange& range, bool from_end) {
  if (from_end) return fmt::format("bytes=-{}", range.offset);
  const bool to_end = range.length > ByteRange::kToEnd - range.offset;
  if (to_end) return fmt::format("bytes={}-", range.offset);
  return fmt::format("bytes={}-{}", range.offset, range.offset + range.length - 1);
}

// Seconds or a date; zero if there is none.
milliseconds RetryAfter(const HttpHeaders& headers) {
  const std::string_view text = FindHeader(headers, "retry-after");
  constexpr uint64_t kMost = 86'400;
  if (const auto seconds = ParseDecimal(text)) {
    return milliseconds(1000 * std::min(*seconds, kMost));
  }
  const auto date = ParseHttpDate(text);
  if (!date) return milliseconds(0);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto wait = std::chrono::duration_cast<milliseconds>(nanoseconds(*date) - now);
  return std::clamp(wait, milliseconds(0), milliseconds(1000 * kMost));
}

milliseconds RandomPause(milliseconds first, unsigned attempt) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const milliseconds longest = std::min(first * (1 << std::min(attempt, 16u)), kLongestPause);
  std::uniform_int_distribution<int64_t> part(longest.count() / 2, longest.count());
  return milliseconds(part(random));
}

}  // namespace

// Through it the exchanges of one call of SendMany() report to the thread that waits for them.
class HttpClient::Batch {
 public:
  struct Event {
    size_t operation;
    bool has_ended;  // otherwise it needs memory
  };

  void Post(Event event) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    events_.push_back(event);
    wake_.NotifyAll();
  }

  // The next event; none if there is none until `time`.
  std::optional<Event> Wait(std::optional<Clock::time_point> time) EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    while (events_.empty()) {
      if (!time) {
        wake_.Wait(mutex_);
        continue;
      }
      const auto left = *time - Clock::now();
      if (left <= nanoseconds(0)) return std::nullopt;
      wake_.WaitFor(mutex_, left);
    }
    const Event event = events_.front();
    events_.pop_front();
    return event;
  }

 private:
  model::Mutex mutex_;
  model::CondVar wake_;
  std::deque<Event> events_ GUARDED_BY(mutex_);
};

// One attempt. The thread that sends it looks at it only while it is paused, or has ended.
class HttpClient::Exchange final : public HttpExchange {
 public:
  Exchange(const HttpRequest& request, uint64_t max_unasked, bool asks_for_all,
           std::shared_ptr<Batch> to, size_t operation,
           std::shared_ptr<std::atomic<uint64_t>> received)
      : answer_(request, max_unasked, asks_for_all),
        received_(std::move(received)),
        batch_(std::move(to)),
        operation_(operation) {
    batch = batch_.get();
  }

  Next OnHead(int status, HttpHeaders headers) override {
    if (Check(answer_.OnHead(status, std::move(headers))) == Next::kStop) return Next::kStop;
    // The end of an answer to HEAD comes at once, and leaves the connection as it is.
    const bool ends = answer_.needs_no_body() && attempt.method != HttpMethod::kHead;
    return ends ? Next::kStop : Next::kGoOn;
  }

  Next OnData(ConstByteSpan bytes) override {
    if (error_) return Next::kStop;
    if (answer_.needs_memory()) {
      if (!asked_) batch_->Post({operation_, false});
      asked_ = true;
      return Next::kPause;
    }
    received_->fetch_add(bytes.size(), std::memory_order_relaxed);
    if (Check(answer_.OnData(bytes)) == Next::kStop) return Next::kStop;
    return answer_.can_stop() ? Next::kStop : Next::kGoOn;
  }

  void OnEnd(HttpEnd end) override {
    end_ = std::move(end);
    batch_->Post({operation_, true});
  }

  HttpAnswer& answer() { return answer_; }
  const HttpEnd& end() const { return end_; }
  // Why the answer is not used.
  const std::optional<model::Error>& error() const { return error_; }
  void Fail(model::Error error) { error_ = std::move(error); }

 private:
  Next Check(const model::Result<void>& status) {
    if (status) return Next::kGoOn;
    error_ = status.error();
    return Next::kStop;
  }

  HttpAnswer answer_;
  const std::shared_ptr<std::atomic<uint64_t>> received_;
  const std::shared_ptr<Batch> batch_;
  const size_t operation_;
  bool asked_ = false;
  std::optional<model::Error> error_;
  HttpEnd end_;
};

// One request with its attempts, on the thread that sends it.
class HttpClient::Operation {
 public:
  Operation(const HttpClient& client, const HttpRequest& request, std::shared_ptr<Batch> batch,
            size_t index)
      : client_(client), request_(&request), batch_(std::move(batch)), index_(index) {
    const HttpOptions& options = client.options_;
    left_ = request.timeout.value_or(options.timeout);
    knows_size_ = request.range && request.range->length != ByteRange::kToEnd;
    if (knows_size_) left_ += TimeFor(request.range->length);
  }

  // Begins. The operation may be done at once.
  void Begin() {
    auto url = ParseUrl(request_->url);
    if (!url) return Fail(url.error());
    if (url->scheme != "http" && url->scheme != "https") {
      return Fail(model::BadInput("{}: not http or https", url->ForMessages()).value());
    }
    origin_ = url_ = *std::move(url);
    if (const auto target = KeptTarget()) {
      url_ = *target;
      redirects_ = 1;
      has_kept_target_ = true;
    }
    Try();
  }

  void ProvideMemory() {
    Exchange& exchange = *exchange_;
    if (auto memory = Memory(exchange.answer().total_size())) {
      exchange.answer().SetMemory(*memory);
      if (!std::exchange(knows_size_, true)) {
        const milliseconds more = TimeFor(memory->size());
        left_ += more;
        exchange.timeout += more;
      }
    } else {
      refused_ = memory.error();
      exchange.Fail(memory.error());
    }
    client_.transport_->Resume(exchange_);
  }

  void End() {
    HttpEndpointStats stats{.requests = 1, .bytes = exchange_->answer().received()};
    const HttpEnd& end = exchange_->end();
    if (exchange_->answer().status() != 0) {
      stats.heads = 1;
      stats.head_ns = static_cast<uint64_t>(end.head_after.count());
    }
    client_.Note(url_.origin(), stats);
    left_ -= std::chrono::duration_cast<milliseconds>(end.elapsed);
    if (refused_) return FailWithout(*refused_);
    if (exchange_->error() && exchange_->error()->code() == model::ErrorCode::kLimit) {
      result_ = model::Propagate(*exchange_->error(), origin_.ForMessages());
      return;  // the answer is longer than wanted, which is no failure of the server
    }
    if (exchange_->error()) return Fail(*exchange_->error());
    switch (end.kind) {
      case HttpEnd::Kind::kRefused:
        return FailWith(EIO, end.message);
      case HttpEnd::Kind::kNoHost:
        return attempts_ < kMaxNameAttempts ? TryAgain(EIO, end.message)
                                            : FailWith(EIO, end.message);
      case HttpEnd::Kind::kTimeout:
        return TryAgain(ETIMEDOUT, end.message);
      case HttpEnd::Kind::kBroken:
        return TryAgain(EIO, end.message);
      case HttpEnd::Kind::kComplete:
      case HttpEnd::Kind::kStopped:
        return EndWithAnswer();
    }
  }

  // When to try again; none if an attempt is under way or all is done.
  std::optional<Clock::time_point> pause_end() const { return pause_end_; }
  void Try() {
    pause_end_.reset();
    auto exchange =
        std::make_shared<Exchange>(*request_, client_.options_.max_unasked, asks_for_all_,
                                   batch_, index_, client_.received_);
    if (auto status = Prepare(*exchange); !status) return Fail(status.error());
    exchange_ = std::move(exchange);
    client_.transport_->Start(exchange_);
  }

  bool is_done() const { return result_.has_value(); }
  model::Result<HttpResponse> TakeResult() { return *std::move(result_); }
  const std::exception_ptr& thrown() const { return thrown_; }

 private:
  model::Result<void> Prepare(Exchange& exchange) {
    HttpAttempt& attempt = exchange.attempt;
    attempt.method = request_->method;
    attempt.url = url_.ToText();
    attempt.same_origin = url_.origin() == origin_.origin();
    attempt.number = attempts_++;
    attempt.body = request_->body;
    for (const HttpHeader& header : request_->headers) {
      if (attempt.same_origin || !IsSecret(header)) attempt.headers.push_back(header);
    }
    if (attempt.same_origin && !origin_.user.empty()) {
      const std::string both = origin_.user + ":" + origin_.password;
      attempt.headers.push_back(
          {"Authorization", "Basic " + model::EncodeBase64(AsBytes(both))});
    }
    if (request_->range && !asks_for_all_) {
      attempt.headers.push_back({"Range", RangeHeader(*request_->range, request_->from_end)});
    }
    if (!request_->if_match.empty())
      attempt.headers.push_back({"If-Match", request_->if_match});
    exchange.timeout = std::max(left_, milliseconds(1));
    exchange.allow_link_local = request_->allow_link_local && attempt.same_origin;
    exchange.is_large = request_->range && !asks_for_all_ && request_->range->length > kLarge;
    if (!request_->prepare) return {};
    try {
      return request_->prepare(attempt);
    } catch (...) {
      thrown_ = std::current_exception();
      return model::Internal("prepare");
    }
  }

  // The memory of the reader, asked for once.
  model::Result<ByteSpan> Memory(uint64_t total_size) {
    if (memory_) {
      if (total_size == told_size_) return *memory_;
      return model::Stale("its size has changed while it was read");
    }
    try {
      NDLFS_TRY(memory_, request_->reserve(total_size));
    } catch (...) {
      thrown_ = std::current_exception();
      return model::Internal("reserve");
    }
    told_size_ = total_size;
    return *memory_;
  }

  void EndWithAnswer() {
    HttpAnswer& answer = exchange_->answer();
    const int status = answer.status();
    if (IsPassing(status)) {
      return TryAgain(EIO, fmt::format("the server answers with status {}", status),
                      RetryAfter(answer.response().headers));
    }
    if (const std::string location(answer.response().Find("location"));
        IsFollowed(status, location)) {
      return Redirect(location);
    }
    if (RefusesRedirect(answer.response())) {
      asked_anew_ = true;
      has_kept_target_ = false;
      client_.NoteTarget(origin_.ToText(), std::nullopt);
      --attempts_;  // the server has answered
      url_ = origin_;
      redirects_ = 0;
      return Try();
    }
    if (answer.needs_all()) {
      asks_for_all_ = true;
      --attempts_;  // the server has answered
      return Try();
    }
    const auto finishes_late = answer.FinishesLate();
    if (!finishes_late) return Fail(finishes_late.error());
    if (*finishes_late || answer.needs_memory()) {
      const auto memory = Memory(answer.total_size());
      if (!memory) return FailWithout(memory.error());
      answer.SetMemory(*memory);
    }
    auto response = answer.Finish();
    if (!response) return TryAgain(EIO, response.error().message());
    if (request_->method == HttpMethod::kGet && redirects_ > 0 && response->is_success() &&
        url_.origin() != origin_.origin()) {
      client_.NoteTarget(origin_.ToText(), url_);
    }
    response->url = url_.ToText();
    if (IsCorrected(*response)) return Begin();
    result_ = std::move(response);
  }

  // Whether the URL that the server has sent us to is no longer valid, as a signed one is for a
  // time only. Once for a request, a new one is asked for.
  bool RefusesRedirect(const HttpResponse& response) const {
    if (redirects_ == 0 || asked_anew_) return false;
    if (response.status == 401 || response.status == 403) return true;
    // A kept one may be that of another version by now.
    return has_kept_target_ && (response.status >= 300 || response.etag != request_->if_match);
  }

  // The same read of the same URL has led there a moment ago.
  std::optional<Url> KeptTarget() const {
    const bool names_version =
        request_->method == HttpMethod::kGet && !request_->if_match.empty();
    if (!names_version || !request_->follow_redirects) return std::nullopt;
    return client_.FindTarget(origin_.ToText());
  }

  // Whether there is another request to send instead.
  bool IsCorrected(const HttpResponse& response) {
    if (!request_->correct || corrections_ == kMaxCorrections) return false;
    HttpRequest next = *request_;
    try {
      if (!request_->correct(next, response)) return false;
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
    ++corrections_;
    corrected_ = std::move(next);
    request_ = &corrected_;
    attempts_ = redirects_ = 0;
    return true;
  }

  bool IsFollowed(int status, const std::string& location) const {
    const bool may_be =
        request_->follow_redirects && IsRedirect(status) && !location.empty() &&
        (request_->method == HttpMethod::kGet || request_->method == HttpMethod::kHead);
    if (!may_be || !request_->is_file) return may_be;
    const auto target = ResolveUrl(url_, location);
    // Servers may encode other characters than we do.
    return !target || PercentDecode(target->path) != PercentDecode(url_.path + "/");
  }

  void Redirect(const std::string& location) {
    const auto target = ResolveUrl(url_, location);
    if (!target) return Fail(target.error());
    if (auto refusal = Refusal(*target); !refusal.empty()) {
      return FailWith(EIO, fmt::format("it redirects to {}, {}",
                                       model::Quote(target->ForMessages()), refusal));
    }
    url_ = *target;
    --attempts_;  // a redirect is none
    Try();
  }

  // Why a redirect is not followed; empty if it is.
  std::string Refusal(const Url& target) {
    if (++redirects_ > client_.options_.max_redirects) {
      return fmt::format("after {} other redirects", redirects_ - 1);
    }
    if (target.scheme != "http" && target.scheme != "https")
      return "which is not http or https";
    if (url_.scheme == "https" && target.scheme == "http") return "which is not encrypted";
    if (IsLinkLocalHost(target.host)) return "which is a link-local address";
    if (IsSameServer(target, origin_)) return {};
    const auto& allowed = client_.options_.allow_urls;
    const bool is_allowed = std::any_of(allowed.begin(), allowed.end(), [&](const Url& prefix) {
      return IsWithin(target, prefix);
    });
    return is_allowed ? "" : "which is another server, and not allowed by --allow-urls";
  }

  void TryAgain(int sys_errno, const std::string& why, milliseconds least = milliseconds(0)) {
    const auto pause =
        std::max(least, RandomPause(client_.options_.first_pause, attempts_ - 1));
    if (attempts_ >= client_.options_.max_attempts) return FailWith(sys_errno, why);
    if (pause >= left_) {
      return FailWith(ETIMEDOUT, fmt::format("{}; no time is left to try again", why));
    }
    HttpEndpointStats stats;
    stats.retries = 1;
    client_.Note(url_.origin(), stats);
    left_ -= pause;
    pause_end_ = Clock::now() + pause;
    url_ = origin_;  // what it redirects to may be valid for a short time only
    redirects_ = 0;
  }

  void Fail(const model::Error& error) {
    if (origin_.host.empty()) return FailWithout(error);  // the URL is none
    HttpEndpointStats stats;
    stats.failures = 1;
    client_.Note(origin_.origin(), stats);
    result_ = model::Propagate(error, origin_.ForMessages());
  }
  // Fails with an error of the reader, which knows what it reads.
  void FailWithout(const model::Error& error) { result_ = model::Propagate(error); }
  void FailWith(int sys_errno, const std::string& message) {
    Fail(model::Error(model::ErrorCode::kIo, message, sys_errno));
  }

  const HttpClient& client_;
  const HttpRequest* request_;  // given, or `corrected_`
  HttpRequest corrected_;
  int corrections_ = 0;
  const std::shared_ptr<Batch> batch_;
  const size_t index_;
  Url origin_;  // what was asked for
  Url url_;     // where redirects have led
  milliseconds left_{0};
  bool knows_size_ = false;  // `left_` has the time for the bytes
  unsigned attempts_ = 0;
  unsigned redirects_ = 0;
  bool asked_anew_ = false;  // after a redirect to a URL that was refused
  bool has_kept_target_ = false;
  bool asks_for_all_ = false;  // although the request has a range
  std::shared_ptr<Exchange> exchange_;
  std::optional<Clock::time_point> pause_end_;
  std::optional<ByteSpan> memory_;
  uint64_t told_size_ = 0;
  std::exception_ptr thrown_;
  std::optional<model::Error> refused_;  // what the reader says to the size
  std::optional<model::Result<HttpResponse>> result_;
};

HttpClient::HttpClient(std::shared_ptr<HttpTransport> transport, HttpOptions options)
    : transport_(std::move(transport)), options_(std::move(options)), targets_(kMostTargets) {}

model::Result<HttpResponse> HttpClient::Send(const HttpRequest& request) const {
  return std::move(SendMany({&request, 1}).front());
}

std::vector<model::Result<HttpResponse>> HttpClient::SendMany(
    std::span<const HttpRequest> requests) const {
  const auto batch = std::make_shared<Batch>();
  std::deque<Operation> operations;
  for (size_t i = 0; i < requests.size(); ++i) {
    CancellationScope::ChargeCall();
    operations.emplace_back(*this, requests[i], batch, i).Begin();
  }
  size_t left = 0;
  for (const Operation& operation : operations) left += !operation.is_done();
  std::multimap<Clock::time_point, Operation*> pauses;
  while (left > 0) {
    std::optional<Clock::time_point> next;
    if (!pauses.empty()) next = pauses.begin()->first;
    Operation* operation = nullptr;
    if (const auto event = batch->Wait(next)) {
      operation = &operations[event->operation];
      event->has_ended ? operation->End() : operation->ProvideMemory();
    } else {
      operation = pauses.extract(pauses.begin()).mapped();
      operation->Try();
    }
    if (operation->pause_end()) pauses.emplace(*operation->pause_end(), operation);
    left -= operation->is_done();
  }
  std::vector<model::Result<HttpResponse>> answers;
  answers.reserve(requests.size());
  for (Operation& operation : operations) {
    if (operation.thrown()) std::rethrow_exception(operation.thrown());
    answers.push_back(operation.TakeResult());
  }
  return answers;
}

std::map<std::string, HttpEndpointStats> HttpClient::stats() const {
  const model::MutexLock lock(mutex_);
  return stats_;
}

std::optional<Url> HttpClient::FindTarget(const std::string& url) const {
  const model::MutexLock lock(mutex_);
  const Target* const target = targets_.Find(url);
  if (target == nullptr || target->until < Clock::now()) return std::nullopt;
  return target->url;
}

void HttpClient::NoteTarget(const std::string& url, const std::optional<Url>& target) const {
  const model::MutexLock lock(mutex_);
  if (!target) return targets_.Erase(url);
  const Target* const known = targets_.Find(url);
  const auto now = Clock::now();
  // A read by a kept target must not make it hold for longer.
  const bool is_kept = known != nullptr && known->until >= now;
  if (is_kept && known->url.ToText() == target->ToText()) return;
  targets_.Put(url, {*target, now + kTargetHolds});
}

void HttpClient::Note(const std::string& origin, const HttpEndpointStats& more) const {
  const model::MutexLock lock(mutex_);
  HttpEndpointStats& stats = stats_[origin];
  stats.requests += more.requests;
  stats.bytes += more.bytes;
  stats.retries += more.retries;
  stats.failures += more.failures;
  stats.heads += more.heads;
  stats.head_ns += more.head_ns;
}

}  // namespace ndlfs::backends
