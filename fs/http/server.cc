// SPDX-License-Identifier: MIT
#include "fs/http/server.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "fs/http/body.h"
#include "fs/http/client_address.h"
#include "fs/http/exchange.h"
#include "fs/http/parse/fields.h"
#include "fs/serve/ticker.h"
#include "fs/serve/user_share.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

using Method = HttpRequest::Method;
using model::MutexLock;

// Memory of a connection: the first line of a request and its fields have to fit into it.
// libmicrohttpd writes to all of it after a reply. So a connection that waits for its next
// request still takes this memory.
constexpr size_t kConnectionMemory = size_t{16} << 10;
// While more connections are open, each is closed after its reply. So 16 MiB is the most that
// idle connections take in this way; one that has sent nothing takes a tenth.
constexpr uint64_t kMostKept = 1000;
// After so many seconds without a byte, a connection is closed.
constexpr unsigned kIdleSeconds = 60;
// libmicrohttpd copies a body in pieces of this size.
constexpr size_t kPiece = size_t{128} << 10;
constexpr uint64_t kBlocksOfClients = uint64_t{128} << 20;
// Bodies of requests are not used, except by PROPFIND, whose questions are short.
constexpr uint64_t kMostRequestBody = uint64_t{64} << 10;

constexpr unsigned kBadRequestStatus = 400;
constexpr unsigned kTooLarge = 413;
constexpr unsigned kVersionNotSupported = 505;

// Counts connections by client. Thread-safe.
class Connections {
 public:
  explicit Connections(uint64_t most) : most_(most) {}

  bool MayOpen(uid_t client) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const auto own = clients_.find(client);
    return HasShare(own == clients_.end() ? 0 : own->second, all_, most_);
  }
  void Open(uid_t client) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++clients_[client];
    ++all_;
  }
  void Close(uid_t client) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    --all_;
    const auto own = clients_.find(client);
    if (--own->second == 0) clients_.erase(own);
  }
  uint64_t count() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return all_;
  }

 private:
  const uint64_t most_;
  model::Mutex mutex_;
  uint64_t all_ GUARDED_BY(mutex_) = 0;
  std::map<uid_t, uint64_t> clients_ GUARDED_BY(mutex_);
};

Method MethodOf(std::string_view name) {
  if (name == "GET") return Method::kGet;
  if (name == "HEAD") return Method::kHead;
  if (name == "OPTIONS") return Method::kOptions;
  if (name == "PROPFIND") return Method::kPropfind;
  return Method::kOther;
}

// The fields of a request that count here.
class Fields {
 public:
  // Keeps all fields in `request` if `keeps_all`.
  Fields(HttpRequest& request, bool keeps_all) : request_(request), keeps_all_(keeps_all) {}

  void Take(std::string_view name, std::string_view value) {
    // A proxy may take "Range " for another field than "Range".
    has_odd_name_ = has_odd_name_ || !IsFieldName(name);
    if (keeps_all_) request_.all_fields.emplace_back(name, value);
    if (EqualsIgnoringCase(name, "Content-Length")) {
      ++lengths_;
      length_ = value;
    }
    if (EqualsIgnoringCase(name, "Transfer-Encoding")) ++encodings_;
    if (EqualsIgnoringCase(name, "Host")) ++hosts_;
    for (const auto& [known, place] : Known()) {
      if (EqualsIgnoringCase(name, known)) Join(*place, value);
    }
  }
  const std::optional<std::string>& forwarded_for() const { return forwarded_for_; }

  // Why the request is no sound one; empty otherwise. A request that says twice how long it is
  // may be two requests for the server in front of this one.
  std::string_view Flaw() const {
    if (has_odd_name_) return "a field whose name is none";
    if (lengths_ + encodings_ > 1) return "two lengths";
    const bool is_number = length_.find_first_not_of("0123456789") == std::string::npos;
    if (lengths_ == 1 && (length_.empty() || !is_number)) return "a length that is none";
    if (hosts_ > 1) return "two hosts";
    return {};
  }
  bool has_body() const { return encodings_ != 0 || (lengths_ != 0 && length_ != "0"); }

 private:
  using Place = std::optional<std::string>*;
  std::array<std::pair<std::string_view, Place>, 12> Known() {
    return {{{"If-Match", &request_.conditions.if_match},
             {"If-None-Match", &request_.conditions.if_none_match},
             {"If-Modified-Since", &request_.conditions.if_modified_since},
             {"If-Unmodified-Since", &request_.conditions.if_unmodified_since},
             {"If-Range", &request_.conditions.if_range},
             {"Range", &request_.range},
             {"Accept", &request_.accept},
             {"Host", &request_.host},
             {"Depth", &request_.depth},
             {"Authorization", &request_.credentials.authorization},
             {"Cookie", &request_.credentials.cookie},
             {"X-Forwarded-For", &forwarded_for_}}};
  }
  // A field that occurs twice is one list (RFC 9110, section 5.3), and cookies have ';' between
  // them.
  static void Join(std::optional<std::string>& place, std::string_view value) {
    if (!place) {
      place = value;
    } else {
      *place += fmt::format(", {}", value);
    }
  }

  HttpRequest& request_;
  const bool keeps_all_;
  std::optional<std::string> forwarded_for_;
  std::string length_;
  bool has_odd_name_ = false;
  int lengths_ = 0;
  int encodings_ = 0;
  int hosts_ = 0;
};

// A request of a connection, from its first line to the end of its reply. Only used by the
// thread that waits for connections.
struct Transaction {
  explicit Transaction(std::string uri) : target(std::move(uri)) {}
  std::string target;
  HttpRequest request;
  std::shared_ptr<Exchange> exchange;
  bool has_begun = false;  // its fields were read
  uint64_t body_size = 0;
  uid_t user = 0;
};

using ResponsePtr = std::unique_ptr<MHD_Response, decltype(&MHD_destroy_response)>;

class Server final : public HttpServer {
 public:
  Server(ServedTree& tree, const ServerOptions& options)
      : site_(tree.MakeRoot({[this] { return CountsNow(); },
                             [this]() -> const SlowRequests& { return slow_requests_; }}),
              SiteOptionsOf(tree, options),
              [this, &tree](std::string_view line) {
                counts_.failed.fetch_add(1, std::memory_order_relaxed);
                tree.context().problems.Report(line);
              }),
        connections_(options.most_connections),
        queue_(QueueOptionsOf(tree)),
        ticker_([this](RequestQueue::Clock::time_point now) { return Tick(now); }) {
    queue_.set_wake([this](RequestQueue::Clock::duration within) { ticker_.Wake(within); });
  }

  ~Server() override {
    if (daemon_ == nullptr) return;
    const MHD_socket listening = MHD_quiesce_daemon(daemon_);
    if (listening != MHD_INVALID_SOCKET) ::close(listening);
    // All that wait get an answer: libmicrohttpd demands that no connection is suspended.
    queue_.End();
    MHD_stop_daemon(daemon_);
  }

  model::Result<void> Begin(Listener listener, uint64_t most_connections) {
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    daemon_ = MHD_start_daemon(
        flags, 0, &Server::OnAccept, this, &Server::OnRequest, this, MHD_OPTION_LISTEN_SOCKET,
        listener.socket.get(),                                                 //
        MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(most_connections),  //
        MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,                           //
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory,                 //
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, size_t{1024},                  //
        MHD_OPTION_STRICT_FOR_CLIENT, 1,                                       //
        MHD_OPTION_URI_LOG_CALLBACK, &Server::OnTarget, this,                  //
        MHD_OPTION_NOTIFY_COMPLETED, &Server::OnCompleted, this,               //
        MHD_OPTION_NOTIFY_CONNECTION, &Server::OnConnection, this, MHD_OPTION_END);
    if (daemon_ == nullptr) return model::IoError(errno, "libmicrohttpd");
    listener.socket.release();
    return {};
  }

 private:
  static RequestQueue::Options QueueOptionsOf(ServedTree& tree) {
    RequestQueue::Options options = tree.QueueOptions();
    options.shared = true;
    options.only_on_own_threads = true;
    return options;
  }

  static SiteOptions SiteOptionsOf(ServedTree& tree, const ServerOptions& options) {
    SiteOptions out = options.site;
    out.trusted = tree.context().services.freshness.interval();
    return out;
  }

  std::optional<RequestQueue::Clock::duration> Tick(RequestQueue::Clock::time_point now) {
    const auto again = queue_.Tick(now);
    const auto drop = site_.DropOldFiles(now);
    return again && drop ? std::min(*again, *drop) : (again ? again : drop);
  }

  FrontEndCounts CountsNow() {
    return {counts_, queue_.stats(), {}, 0, static_cast<size_t>(connections_.count())};
  }

  static Server& Of(void* server) { return *static_cast<Server*>(server); }

  static MHD_Result OnAccept(void* server, const sockaddr* address, socklen_t) {
    return Of(server).connections_.MayOpen(ClientOf(address)) ? MHD_YES : MHD_NO;
  }

  static const sockaddr* AddressOf(MHD_Connection* connection) {
    const auto* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info == nullptr ? nullptr : info->client_addr;
  }

  static void OnConnection(void* server, MHD_Connection* connection, void**,
                           MHD_ConnectionNotificationCode code) {
    const uid_t client = ClientOf(AddressOf(connection));
    Connections& connections = Of(server).connections_;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      connections.Open(client);
    } else {
      connections.Close(client);
    }
  }

  // The first call for each request, with its target as it was sent.
  static void* OnTarget(void*, const char* target, MHD_Connection*) {
    try {
      return new Transaction(target);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  static void OnCompleted(void*, MHD_Connection*, void** context, MHD_RequestTerminationCode) {
    const std::unique_ptr<Transaction> transaction(
        static_cast<Transaction*>(std::exchange(*context, nullptr)));
    if (transaction && transaction->exchange) transaction->exchange->Abandon();
  }

  static MHD_Result OnRequest(void* server, MHD_Connection* connection, const char*,
                              const char* method, const char* version, const char*,
                              size_t* upload_size, void** context) {
    if (*context == nullptr) return MHD_NO;
    auto& transaction = *static_cast<Transaction*>(*context);
    try {
      return Of(server).Handle(connection, method, version, *upload_size, transaction);
    } catch (const std::exception&) {  // no memory
      return MHD_NO;
    }
  }

  // Called when the fields of a request have come, for each piece of its body, at its end, and
  // when there is a reply.
  MHD_Result Handle(MHD_Connection* connection, const char* method, const char* version,
                    size_t& upload_size, Transaction& transaction) {
    if (!transaction.has_begun) {
      transaction.has_begun = true;
      auto refusal = ReadHead(connection, method, version, transaction);
      if (!refusal) return MHD_YES;
      return Send(connection, transaction, {*std::move(refusal), nullptr}, Then::kClose);
    }
    if (upload_size != 0) {
      transaction.body_size += std::exchange(upload_size, 0);
      return transaction.body_size <= kMostRequestBody ? MHD_YES : MHD_NO;
    }
    if (transaction.exchange) {
      return Send(connection, transaction, transaction.exchange->TakeReply(), Then::kKeep);
    }
    if (auto refusal = site_.Refuse(transaction.request)) {
      return Send(connection, transaction, {*std::move(refusal), nullptr}, Then::kKeep);
    }
    auto known = site_.AnswerKnown(transaction.request);
    const bool needs_body = known && known->file && transaction.request.method == Method::kGet;
    if (known && !needs_body) {
      return Send(connection, transaction, {*std::move(known), nullptr}, Then::kKeep);
    }
    Answer(connection, transaction, std::move(known));
    return MHD_YES;
  }

  // Returns a reply if the request is no sound one.
  std::optional<HttpReply> ReadHead(MHD_Connection* connection, std::string_view method,
                                    std::string_view version, Transaction& transaction) {
    HttpRequest& request = transaction.request;
    request.method = MethodOf(method);
    // The first reply of all that follows counts, but its form depends on the target.
    auto refusal = ReadTarget(transaction);
    if (version != MHD_HTTP_VERSION_1_1 && version != MHD_HTTP_VERSION_1_0) {
      return ErrorReply(kVersionNotSupported, "HTTP/1.1 is spoken here");
    }
    const bool has_bucket = !site_.options().s3.bucket.empty();
    if (has_bucket) request.target_as_sent = transaction.target;
    Fields fields(request, has_bucket);
    MHD_get_connection_values_n(
        connection, MHD_HEADER_KIND,
        [](void* into, MHD_ValueKind, const char* name, size_t name_size, const char* value,
           size_t value_size) {
          static_cast<Fields*>(into)->Take(
              {name, name_size},
              value == nullptr ? std::string_view() : std::string_view(value, value_size));
          return MHD_YES;
        },
        &fields);
    if (!fields.Flaw().empty()) {
      return ErrorReply(kBadRequestStatus, std::string(fields.Flaw()));
    }
    // Which method it is comes first: the answer to any other says which there are.
    if (request.method == Method::kOther) return site_.Refuse(request);
    if (fields.has_body() && request.method != Method::kPropfind) {
      return ErrorReply(kTooLarge, "a request with a body");
    }
    transaction.user = UserOf(connection, fields);
    return refusal;
  }

  std::optional<HttpReply> ReadTarget(Transaction& transaction) const {
    HttpRequest& request = transaction.request;
    if (transaction.target == "*" && request.method == Method::kOptions) return std::nullopt;
    auto target = ParseRequestTarget(transaction.target, site_.options().base);
    if (!target && target.error().code() == model::ErrorCode::kNotFound) {
      return ErrorReply(target.error());
    }
    if (!target) return ErrorReply(kBadRequestStatus, target.error().message());
    request.target = *std::move(target);
    return std::nullopt;
  }

  static uid_t UserOf(MHD_Connection* connection, const Fields& fields) {
    const sockaddr* const address = AddressOf(connection);
    std::optional<uid_t> behind;
    if (fields.forwarded_for()) behind = ClientBehindProxy(address, *fields.forwarded_for());
    return behind.value_or(ClientOf(address));
  }

  void Answer(MHD_Connection* connection, Transaction& transaction,
              std::optional<HttpReply> known) {
    transaction.exchange = std::make_shared<Exchange>(
        Exchange::Services{{site_, queue_, budget_, counts_}, slow_requests_},
        transaction.request, Exchange::Client{transaction.user, IsWaiting(connection)});
    // Until there is a reply, the connection is not looked at.
    MHD_suspend_connection(connection);
    transaction.exchange->Begin([connection] { MHD_resume_connection(connection); },
                                std::move(known));
  }

  // Whether the client of a connection is still there. After the end of the connection the
  // descriptor may be another one; the answer does not matter then.
  static std::function<bool()> IsWaiting(MHD_Connection* connection) {
    const auto* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return [] { return true; };
    return [fd = info->connect_fd] {
      pollfd look = {.fd = fd, .events = 0, .revents = 0};
      return ::poll(&look, 1, 0) == 0 || (look.revents & (POLLERR | POLLHUP)) == 0;
    };
  }

  enum class Then { kKeep, kClose };

  MHD_Result Send(MHD_Connection* connection, Transaction& transaction, Exchange::Found found,
                  Then then) {
    HttpReply& reply = found.reply;
    site_.Complete(transaction.request, reply);
    const ResponsePtr response(MakeResponse(connection, transaction.request, found),
                               &MHD_destroy_response);
    if (!response) return MHD_NO;
    for (const auto& [name, value] : reply.fields) {
      MHD_add_response_header(response.get(), name.c_str(), value.c_str());
    }
    if (then == Then::kClose || connections_.count() > kMostKept) {
      MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONNECTION, "close");
    }
    return MHD_queue_response(connection, reply.status, response.get());
  }

  MHD_Response* MakeResponse(MHD_Connection* connection, const HttpRequest& request,
                             Exchange::Found& found) {
    const HttpReply& reply = found.reply;
    const bool is_head = request.method == Method::kHead;
    if (found.body) {
      // The library sends it together with the fields.
      if (const auto whole = found.body->WholeInMemory(); !whole.empty()) {
        return MHD_create_response_from_buffer_with_free_callback_cls(
            whole.size(), const_cast<std::byte*>(whole.data()), &Server::FreeBody,
            new std::shared_ptr<Body>(std::move(found.body)));
      }
      auto* const stream = new Stream{connection, std::move(found.body)};
      const uint64_t length = stream->body->length().value_or(MHD_SIZE_UNKNOWN);
      return MHD_create_response_from_callback(length, std::min<uint64_t>(length, kPiece),
                                               &Stream::Read, stream, &Stream::Free);
    }
    if (is_head && reply.file) {
      return MHD_create_response_from_callback(reply.length.value_or(MHD_SIZE_UNKNOWN), 1,
                                               &Server::NoBody, nullptr, nullptr);
    }
    return MHD_create_response_from_buffer(
        reply.text.size(), const_cast<char*>(reply.text.data()), MHD_RESPMEM_MUST_COPY);
  }

  static void FreeBody(void* body) { delete static_cast<std::shared_ptr<Body>*>(body); }

  static ssize_t NoBody(void*, uint64_t, char*, size_t) {
    return MHD_CONTENT_READER_END_WITH_ERROR;
  }

  // The body of a reply, as libmicrohttpd asks for it.
  struct Stream {
    MHD_Connection* connection;
    std::shared_ptr<Body> body;

    static ssize_t Read(void* stream, uint64_t, char* out, size_t size) {
      const auto& self = *static_cast<Stream*>(stream);
      MHD_Connection* const connection = self.connection;
      const Body::Taken taken = self.body->Take(
          std::as_writable_bytes(std::span(out, size)),
          [=] { MHD_suspend_connection(connection); },
          [=] { MHD_resume_connection(connection); });
      switch (taken.state) {
        case Body::State::kBytes:
          return static_cast<ssize_t>(taken.count);
        case Body::State::kLater:
          return 0;
        case Body::State::kEnd:
          return MHD_CONTENT_READER_END_OF_STREAM;
        case Body::State::kFailure:
          break;
      }
      return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    static void Free(void* stream) {
      const std::unique_ptr<Stream> self(static_cast<Stream*>(stream));
      self->body->Abandon();
    }
  };

  OperationCounts counts_;
  SlowRequests slow_requests_;
  BlockBudget budget_{kBlocksOfClients};
  const Site site_;
  Connections connections_;
  RequestQueue queue_;
  Ticker ticker_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace

model::Result<std::unique_ptr<HttpServer>> HttpServer::Start(ServedTree& tree,
                                                             Listener listener,
                                                             const ServerOptions& options) {
  auto server = std::make_unique<Server>(tree, options);
  NDLFS_RETURN_IF_ERROR(server->Begin(std::move(listener), options.most_connections));
  return server;
}

std::string HttpLibraryVersion() { return fmt::format("libmicrohttpd {}", MHD_get_version()); }

}  // namespace ndlfs::fs
