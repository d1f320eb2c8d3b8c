// SPDX-License-Identifier: MIT
#include "backends/store/http/curl_transport.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "backends/store/http/certificates.h"
#include "backends/store/http/url.h"
#include "model/mutex.h"

namespace ndlfs::backends {
namespace {

using std::chrono::nanoseconds;
using ExchangePtr = std::shared_ptr<HttpExchange>;

constexpr size_t kMaxHeadBytes = 256 << 10;  // of all headers of an answer
constexpr long kBufferSize = 256 << 10;
constexpr long kConnectTimeoutMs = 10'000;
constexpr long kSlowBytesPerSecond = 1024;
constexpr size_t kMaxIdleHandles = 64;

bool IsLinkLocal(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.sa_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
  } else if (address.sa_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
  }
  return IsLinkLocalHost(text);
}

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using EasyHandle = std::unique_ptr<CURL, FreeEasy>;

struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
using MultiHandle = std::unique_ptr<CURLM, FreeMulti>;

// One exchange as libcurl sees it. Lives on the thread of the transport.
class Transfer {
 public:
  Transfer(ExchangePtr exchange, EasyHandle easy)
      : exchange_(std::move(exchange)), easy_(std::move(easy)) {
    error_[0] = '\0';
  }
  ~Transfer() { curl_slist_free_all(headers_); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // `ca_file`: as in CurlOptions.
  void SetUp(const CurlOptions& options, const std::string& ca_file) {
    CURL* easy = easy_.get();
    const HttpAttempt& attempt = exchange_->attempt;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_URL, attempt.url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    // libcurl looks for the host alone: another port of it may be somebody else's.
    if (attempt.same_origin) {
      curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    }
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "ndlfs");
    // The streams of one connection share its bandwidth.
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                     static_cast<long>(exchange_->is_large ? CURL_HTTP_VERSION_1_1
                                                           : CURL_HTTP_VERSION_2TLS));
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kBufferSize);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    SetTimeout();
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall.count()));
    if (!ca_file.empty()) {
      curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file.c_str());
      curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
    }
    SetMethod(attempt);
    AddHeaders(attempt);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::OnWrite);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &Transfer::OnOpenSocket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
  }

  void SetTimeout() {
    curl_easy_setopt(easy(), CURLOPT_TIMEOUT_MS, static_cast<long>(exchange_->timeout.count()));
  }

  CURL* easy() const { return easy_.get(); }
  EasyHandle TakeHandle() { return std::move(easy_); }
  const ExchangePtr& exchange() const { return exchange_; }

  void End(CURLcode code) {
    HttpEnd end = Describe(code);
    curl_off_t total = 0;
    curl_easy_getinfo(easy(), CURLINFO_TOTAL_TIME_T, &total);
    end.elapsed = std::chrono::microseconds(total);
    curl_off_t first = 0;
    curl_easy_getinfo(easy(), CURLINFO_STARTTRANSFER_TIME_T, &first);
    end.head_after = std::chrono::microseconds(first);
    exchange_->OnEnd(std::move(end));
  }

 private:
  void SetMethod(const HttpAttempt& attempt) {
    CURL* easy = easy_.get();
    if (attempt.method == HttpMethod::kHead) curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    if (attempt.method != HttpMethod::kPut && attempt.method != HttpMethod::kPost) return;
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(attempt.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, attempt.body.data());
    if (attempt.method == HttpMethod::kPut) {
      curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "PUT");
    }
  }

  void AddHeaders(const HttpAttempt& attempt) {
    const auto add = [&](const std::string& line) {
      if (curl_slist* more = curl_slist_append(headers_, line.c_str())) headers_ = more;
    };
    const bool chooses_encoding = std::ranges::any_of(
        attempt.headers,
        [](const HttpHeader& header) { return LowerText(header.name) == "accept-encoding"; });
    if (!chooses_encoding) add("Accept-Encoding: identity");
    add("Expect:");
    if (!attempt.body.empty()) add("Content-Type:");
    for (const HttpHeader& header : attempt.headers) add(header.name + ": " + header.value);
    curl_easy_setopt(easy_.get(), CURLOPT_HTTPHEADER, headers_);
  }

  // The head is complete with an empty line. There may be others before the last one: 1xx.
  static size_t OnHeader(char* text, size_t size, size_t count, void* self) {
    return static_cast<Transfer*>(self)->TakeHeader({text, size * count}) ? size * count : 0;
  }

  bool TakeHeader(std::string_view line) {
    head_bytes_ += line.size();
    if (head_bytes_ > kMaxHeadBytes) {
      problem_ = "the server sends more than 256 KiB of headers";
      return false;
    }
    const size_t end = line.find_last_not_of("\r\n");
    line = line.substr(0, end == line.npos ? 0 : end + 1);
    if (line.starts_with("HTTP/")) {
      head_.clear();
      return true;
    }
    if (line.empty()) return EndHead();
    const size_t colon = line.find(':');
    if (colon == line.npos) return true;
    std::string name = LowerText(line.substr(0, colon));
    line.remove_prefix(colon + 1);
    const size_t begin = line.find_first_not_of(" \t");
    const size_t last = line.find_last_not_of(" \t");
    head_.push_back({std::move(name), begin == line.npos
                                          ? std::string()
                                          : std::string(line.substr(begin, last - begin + 1))});
    return true;
  }

  bool EndHead() {
    long status = 0;
    curl_easy_getinfo(easy(), CURLINFO_RESPONSE_CODE, &status);
    if (status < 200 || has_head_) return true;
    has_head_ = true;
    is_stopped_ = exchange_->OnHead(static_cast<int>(status), std::move(head_)) ==
                  HttpExchange::Next::kStop;
    return !is_stopped_;
  }

  static size_t OnWrite(char* bytes, size_t size, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    const auto next = transfer->exchange_->OnData(AsBytes({bytes, size * count}));
    if (next == HttpExchange::Next::kPause) return CURL_WRITEFUNC_PAUSE;
    if (next == HttpExchange::Next::kGoOn) return size * count;
    transfer->is_stopped_ = true;
    return size * count + 1;  // an error
  }

  static curl_socket_t OnOpenSocket(void* self, curlsocktype, curl_sockaddr* address) {
    auto* transfer = static_cast<Transfer*>(self);
    if (!transfer->exchange_->allow_link_local && IsLinkLocal(address->addr)) {
      transfer->problem_ = "the host has a link-local address, which is not connected to";
      return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }

  HttpEnd Describe(CURLcode code) const {
    using Kind = HttpEnd::Kind;
    if (code == CURLE_OK) return {Kind::kComplete};
    if (is_stopped_) return {Kind::kStopped};
    if (!problem_.empty()) return {Kind::kRefused, problem_};
    const std::string message = model::OneLine(error_[0] ? error_ : curl_easy_strerror(code));
    switch (code) {
      case CURLE_OPERATION_TIMEDOUT:
        return {Kind::kTimeout, message};
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_RESOLVE_PROXY:
        return {Kind::kNoHost, message};
      case CURLE_COULDNT_CONNECT:
      case CURLE_PARTIAL_FILE:
      case CURLE_GOT_NOTHING:
      case CURLE_SEND_ERROR:
      case CURLE_RECV_ERROR:
      case CURLE_HTTP2:
      case CURLE_HTTP2_STREAM:
      case CURLE_SSL_CONNECT_ERROR:
      case CURLE_AGAIN:
        return {Kind::kBroken, message};
      case CURLE_SSL_CACERT_BADFILE:
        return {Kind::kRefused,
                message + "; install ca-certificates, or name a file with --ca-file"};
      default:
        return {Kind::kRefused, message};
    }
  }

  const ExchangePtr exchange_;
  EasyHandle easy_;
  curl_slist* headers_ = nullptr;
  HttpHeaders head_;
  size_t head_bytes_ = 0;
  bool has_head_ = false;
  bool is_stopped_ = false;
  std::string problem_;
  char error_[CURL_ERROR_SIZE];
};

// Exchanges that wait. Batches take turns.
class Queue {
 public:
  void Push(ExchangePtr exchange) {
    const void* batch = exchange->batch;
    auto& waiting = waiting_[batch];
    if (waiting.empty()) turns_.push_back(batch);
    waiting.push_back(std::move(exchange));
  }
  bool empty() const { return turns_.empty(); }
  ExchangePtr Pop() {
    const void* batch = turns_.front();
    turns_.pop_front();
    const auto found = waiting_.find(batch);
    ExchangePtr first = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) {
      waiting_.erase(found);
    } else {
      turns_.push_back(batch);
    }
    return first;
  }

 private:
  std::map<const void*, std::deque<ExchangePtr>> waiting_;
  std::deque<const void*> turns_;
};

class CurlTransport final : public HttpTransport {
 public:
  explicit CurlTransport(CurlOptions options)
      : options_(std::move(options)), ca_file_(options_.ca_file) {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    if (ca_file_.empty()) {
      ca_file_ = FindCertificates(curl_version_info(CURLVERSION_NOW)->cainfo);
    }
    multi_.reset(curl_multi_init());
    const auto most = static_cast<long>(options_.max_requests);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, std::max(most, 16L));
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_CONCURRENT_STREAMS, 128L);
  }

  ~CurlTransport() override {
    {
      const model::MutexLock lock(mutex_);
      stopping_ = true;
    }
    if (!thread_.joinable()) return;
    curl_multi_wakeup(multi_.get());
    thread_.join();
  }

  void Start(ExchangePtr exchange) override {
    {
      const model::MutexLock lock(mutex_);
      queue_.Push(std::move(exchange));
      if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    }
    curl_multi_wakeup(multi_.get());
  }

  void Resume(const ExchangePtr& exchange) override {
    {
      const model::MutexLock lock(mutex_);
      resumed_.push_back(exchange);
    }
    curl_multi_wakeup(multi_.get());
  }

 private:
  void Run() {
    for (;;) {
      if (!TakeNews()) break;
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      const bool has_ended = EndTransfers();
      if (!has_ended) curl_multi_poll(multi_.get(), nullptr, 0, 1000, nullptr);
    }
    // Only here if nobody waits for an answer any more.
    for (auto& [exchange, transfer] : transfers_) {
      curl_multi_remove_handle(multi_.get(), transfer->easy());
    }
    transfers_.clear();
  }

  // Starts and resumes what others have asked for. False at the end.
  bool TakeNews() EXCLUDES(mutex_) {
    std::vector<ExchangePtr> started;
    std::vector<ExchangePtr> resumed;
    {
      const model::MutexLock lock(mutex_);
      if (stopping_) return false;
      resumed.swap(resumed_);
      while (!queue_.empty() && transfers_.size() + started.size() < options_.max_requests) {
        started.push_back(queue_.Pop());
      }
    }
    for (ExchangePtr& exchange : started) Begin(std::move(exchange));
    for (const ExchangePtr& exchange : resumed) {
      const auto found = transfers_.find(exchange.get());
      if (found == transfers_.end()) continue;
      found->second->SetTimeout();
      curl_easy_pause(found->second->easy(), CURLPAUSE_CONT);
    }
    return true;
  }

  void Begin(ExchangePtr exchange) {
    EasyHandle easy = NewHandle();
    if (!easy) {
      exchange->OnEnd({HttpEnd::Kind::kBroken, "libcurl is out of memory"});
      return;
    }
    const HttpExchange* key = exchange.get();
    auto transfer = std::make_unique<Transfer>(std::move(exchange), std::move(easy));
    transfer->SetUp(options_, ca_file_);
    CURL* handle = transfer->easy();
    transfers_[key] = std::move(transfer);
    curl_multi_add_handle(multi_.get(), handle);
  }

  bool EndTransfers() {
    bool has_ended = false;
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      curl_multi_remove_handle(multi_.get(), transfer->easy());
      const auto ended = transfers_.extract(transfer->exchange().get());
      transfer->End(code);
      Keep(transfer->TakeHandle());
      has_ended = true;
    }
    return has_ended;
  }

  EasyHandle NewHandle() {
    if (idle_.empty()) return EasyHandle(curl_easy_init());
    EasyHandle easy = std::move(idle_.back());
    idle_.pop_back();
    return easy;
  }

  void Keep(EasyHandle easy) {
    if (idle_.size() >= kMaxIdleHandles) return;
    curl_easy_reset(easy.get());
    idle_.push_back(std::move(easy));
  }

  const CurlOptions options_;
  std::string ca_file_;
  MultiHandle multi_;
  // Only the transport's own thread uses these.
  std::vector<EasyHandle> idle_;
  std::map<const HttpExchange*, std::unique_ptr<Transfer>> transfers_;

  model::Mutex mutex_;
  Queue queue_ GUARDED_BY(mutex_);
  std::vector<ExchangePtr> resumed_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<HttpTransport> MakeCurlTransport(CurlOptions options) {
  return std::make_shared<CurlTransport>(std::move(options));
}

}  // namespace ndlfs::backends
