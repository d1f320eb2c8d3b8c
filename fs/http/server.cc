// SPDX-License-Identifier: MIT
#include "fs/http/server.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/store/caller.h"
#include "fs/http/acceptor.h"
#include "fs/http/body.h"
#include "fs/http/client_address.h"
#include "fs/http/exchange.h"
#include "fs/http/parse/fields.h"
#include "fs/serve/ticker.h"
#include "fs/serve/user_share.h"
#include "model/mutex.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using Method = HttpRequest::Method;
using model::MutexLock;

// Memory of a connection: the first line of a request and its fields have to fit into it.
// libmicrohttpd writes to all of it after a reply. So a connection that waits for its next
// request still takes this memory.
constexpr size_t kConnectionMemory = size_t{16} << 10;
// What libmicrohttpd takes for a parameter of a target, beside its text.
constexpr size_t kMemoryOfParameter = 64;
// While more connections are open, each is closed after its reply. So 16 MiB is the most that
// idle connections take in this way; one that has sent nothing takes a tenth.
constexpr uint64_t kMostKept = 1000;
// After so many seconds without a byte, a connection is closed.
constexpr unsigned kIdleSeconds = 60;
// libmicrohttpd copies a body in pieces of this size.
constexpr size_t kPiece = size_t{128} << 10;
constexpr uint64_t kBlocksOfClients = uint64_t{40} << 20;
constexpr uint64_t kLeastOpenBytes = uint64_t{32} << 20;
constexpr uint64_t kOpenShareOfCache = 8;
// A client that has left is noticed within twice this time.
constexpr std::chrono::milliseconds kLookAtClient{50};
// Bodies of requests are not used, except by PROPFIND, whose questions are short.
constexpr uint64_t kMostRequestBody = uint64_t{64} << 10;

// libmicrohttpd closes connections a moment after it was told to: so many more fit until then.
constexpr unsigned kLeaving = 64;

// A request of a connection, from its first line to the end of its reply. Only used by the
// thread that waits for connections.
struct Transaction {
  explicit Transaction(const char* uri) : target(uri), target_end(uri + target.size()) {}
  std::string target;
  const char* target_end;  // where it came
  HttpRequest request;
  std::shared_ptr<Exchange> exchange;  // may be null
  bool has_begun = false;              // its fields were read
  uint64_t body_size = 0;
};

// A connection, from the moment when it was accepted.
struct Connection {
  // After a request that it has no memory for, libmicrohttpd 0.9.75 closes the connection and
  // does not say that the request has ended: it ends with the connection at the latest.
  ~Connection() { EndRequest(); }
  void EndRequest() {
    is_busy = false;
    if (transaction && transaction->exchange) transaction->exchange->Abandon();
    transaction.reset();
  }

  int fd;
  uid_t client;
  backends::CallerPtr caller;         // of a Unix socket whose users are told apart
  std::atomic<bool> is_busy = false;  // with a request
  bool is_leaving = false;            // it does not count any more
  std::unique_ptr<Transaction> transaction = nullptr;  // the request that came last
};

// The connections by client. One thread opens them, another one closes them. Thread-safe.
class Connections {
 public:
  explicit Connections(uint64_t most) : most_(most) {}

  // False if no room is left. Then the client with the most connections loses one to a client
  // with fewer. Waits while very many close.
  bool Open(int fd, uid_t client, backends::CallerPtr caller) EXCLUDES(mutex_) {
    std::unique_ptr<Connection> made(new Connection{fd, client, std::move(caller)});
    List node{made.get()};
    const MutexLock lock(mutex_);
    // Without memory for it, libmicrohttpd closes a connection that it has never told of.
    Drop(fd);
    while (leaving_ >= kLeaving) has_left_.Wait(mutex_);
    if (!MakeRoom(client)) return false;
    List& own = clients_[client];
    open_.emplace(fd, std::move(made));
    own.splice(own.end(), node);
    ++all_;
    return true;
  }
  // That with this descriptor, which is open.
  Connection& At(int fd) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return *open_.at(fd);
  }
  void Close(Connection& connection) EXCLUDES(mutex_) {
    std::unique_ptr<Connection> closed;
    const MutexLock lock(mutex_);
    closed = Drop(connection.fd);
    has_left_.NotifyAll();
  }
  uint64_t count() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return all_;
  }

 private:
  using List = std::list<Connection*>;  // the oldest first

  bool MakeRoom(uid_t client) REQUIRES(mutex_) {
    const auto found = clients_.find(client);
    const size_t own = found == clients_.end() ? 0 : found->second.size();
    if (HasShare(own, all_, most_)) return true;
    const auto largest = std::ranges::max_element(
        clients_, {}, [](const auto& entry) { return entry.second.size(); });
    if (largest == clients_.end() || largest->second.size() <= own + 1) return false;
    List& list = largest->second;
    const auto idle =
        std::ranges::find_if(list, [](const Connection* one) { return !one->is_busy; });
    Connection* const chosen = idle == list.end() ? list.front() : *idle;
    ::shutdown(chosen->fd, SHUT_RDWR);
    Remove(*chosen);
    return true;
  }
  std::unique_ptr<Connection> Drop(int fd) REQUIRES(mutex_) {
    const auto found = open_.find(fd);
    if (found == open_.end()) return nullptr;
    if (!found->second->is_leaving) Remove(*found->second);
    --leaving_;
    return std::move(open_.extract(found).mapped());
  }
  void Remove(Connection& connection) REQUIRES(mutex_) {
    connection.is_leaving = true;
    ++leaving_;
    --all_;
    const auto own = clients_.find(connection.client);
    std::erase(own->second, &connection);
    if (own->second.empty()) clients_.erase(own);
  }

  const uint64_t most_;
  model::Mutex mutex_;
  model::CondVar has_left_;
  uint64_t all_ GUARDED_BY(mutex_) = 0;
  unsigned leaving_ GUARDED_BY(mutex_) = 0;  // are not closed yet
  std::map<uid_t, List> clients_ GUARDED_BY(mutex_);
  std::unordered_map<int, std::unique_ptr<Connection>> open_ GUARDED_BY(mutex_);
};

// The user at the other end of a Unix socket. Nobody in particular if the kernel does not tell.
backends::CallerPtr CallerAt(int fd) {
  constexpr uid_t kNobody = 65534;
  ucred peer = {};
  socklen_t size = sizeof(peer);
  socklen_t groups_size = 0;
  ::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, nullptr, &groups_size);  // tells the size
  std::vector<gid_t> groups(groups_size / sizeof(gid_t));
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      ::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &groups_size) != 0) {
    return backends::FindCaller(kNobody, kNobody, {});
  }
  if (peer.uid == 0) return backends::SelfAsCaller();
  return backends::FindCaller(peer.uid, peer.gid, std::move(groups));
}

Method MethodOf(std::string_view name) {
  if (name == "GET") return Method::kGet;
  if (name == "HEAD") return Method::kHead;
  if (name == "OPTIONS") return Method::kOptions;
  if (name == "PROPFIND") return Method::kPropfind;
  return Method::kOther;
}

// libmicrohttpd up to 0.9.75 takes a NUL for the end of a value, joins lines, and passes over
// some. But it parses in place: the parts that it tells stand where they came, and all that is
// between them is one line end.
bool ParsesInPlace() {
  static const bool does = [] {
    std::string_view version = MHD_get_version();
    constexpr std::string_view kSeries = "0.9.";
    constexpr unsigned kLast = 75;
    if (!version.starts_with(kSeries)) return false;
    version.remove_prefix(kSeries.size());
    return model::ParseNumber<unsigned>(version).value_or(kLast + 1) <= kLast;
  }();
  return does;
}

// The fields of a request that count here.
class Fields {
 public:
  // Keeps all fields in `request` if `keeps_all`. `version` is in memory before the fields.
  Fields(HttpRequest& request, bool keeps_all, std::string_view version)
      : request_(request), keeps_all_(keeps_all), end_(version.data() + version.size()) {}

  void Take(std::string_view name, std::string_view value) {
    has_gap_ = has_gap_ || (ParsesInPlace() && name.data() != end_ + 2) ||
               value.data() == nullptr || value.find('\r') != value.npos;
    end_ = value.data() + value.size();
    // A proxy may take "Range " for another field than "Range".
    has_odd_name_ = has_odd_name_ || !IsFieldName(name);
    if (keeps_all_) request_.all_fields.emplace_back(name, value);
    if (EqualsIgnoringCase(name, "Content-Length")) {
      ++lengths_;
      length_ = value;
    }
    if (EqualsIgnoringCase(name, "Transfer-Encoding")) {
      ++encodings_;
      is_chunked_ = EqualsIgnoringCase(value, "chunked");
    }
    if (EqualsIgnoringCase(name, "Host")) ++hosts_;
    for (const auto& [known, place] : Known()) {
      if (EqualsIgnoringCase(name, known)) Join(*place, value);
    }
  }
  const std::optional<std::string>& forwarded_for() const { return forwarded_for_; }
  bool is_https() const { return forwarded_proto_ && *forwarded_proto_ == "https"; }

  // Why the request is no sound one; empty otherwise. A request that says twice how long it is
  // may be two requests for the server in front of this one.
  std::string_view Flaw() const {
    const auto has_more = [&] {  // behind the last field and the empty line
      return std::string_view(end_, 4).find_first_not_of('\0') != std::string_view::npos;
    };
    if (has_gap_ || (ParsesInPlace() && has_more())) {
      return "a NUL, a line end that is not CR LF, or a field on several lines";
    }
    if (has_odd_name_) return "a field whose name is none";
    if (lengths_ + encodings_ > 1) return "two lengths";
    const bool is_number = length_.find_first_not_of("0123456789") == std::string::npos;
    if (encodings_ == 1 && !is_chunked_) return "a transfer encoding that is not chunked";
    if (lengths_ == 1 && (length_.empty() || !is_number)) return "a length that is none";
    if (hosts_ > 1) return "two hosts";
    return {};
  }
  bool is_too_long() const {
    return lengths_ != 0 &&
           model::ParseNumber<uint64_t>(length_).value_or(UINT64_MAX) > kMostRequestBody;
  }
  bool has_body() const { return encodings_ != 0 || (lengths_ != 0 && length_ != "0"); }

 private:
  using Place = std::optional<std::string>*;
  std::array<std::pair<std::string_view, Place>, 14> Known() {
    return {{{"If-Match", &request_.conditions.if_match},
             {"If-None-Match", &request_.conditions.if_none_match},
             {"If-Modified-Since", &request_.conditions.if_modified_since},
             {"If-Unmodified-Since", &request_.conditions.if_unmodified_since},
             {"If-Range", &request_.conditions.if_range},
             {"Range", &request_.range},
             {"Accept", &request_.accept},
             {"Host", &request_.host},
             {"Origin", &request_.origin},
             {"Depth", &request_.depth},
             {"Authorization", &request_.credentials.authorization},
             {"Cookie", &request_.credentials.cookie},
             {"X-Forwarded-For", &forwarded_for_},
             {"X-Forwarded-Proto", &forwarded_proto_}}};
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
  const char* end_;  // of what was told last
  bool has_gap_ = false;
  std::optional<std::string> forwarded_for_;
  std::optional<std::string> forwarded_proto_;
  std::string length_;
  bool has_odd_name_ = false;
  int lengths_ = 0;
  int encodings_ = 0;
  bool is_chunked_ = false;
  int hosts_ = 0;
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
        proxies_(options.proxies),
        // Connections are the limit: each has one file open.
        files_({.shared = true,
                .most_open = 4 * options.most_connections,
                .most_bytes =
                    std::max(tree.options().cache_size / kOpenShareOfCache, kLeastOpenBytes)}),
        queue_(QueueOptionsOf(tree)),
        ticker_([this](RequestQueue::Clock::time_point now) { return Tick(now); }) {
    queue_.set_wake([this](RequestQueue::Clock::duration within) { ticker_.Wake(within); });
  }

  ~Server() override {
    if (daemon_ == nullptr) return;
    acceptor_.reset();
    // All that wait get an answer: libmicrohttpd demands that no connection is suspended.
    queue_.End();
    MHD_stop_daemon(daemon_);
  }

  model::Result<void> Begin(Listener listener, uint64_t most_connections) {
    const unsigned flags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET;
    daemon_ = MHD_start_daemon(
        flags, 0, nullptr, nullptr, &Server::OnRequest, this,                                 //
        MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(most_connections + 2 * kLeaving),  //
        MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds,                                          //
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory,                                //
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, size_t{1024},                                 //
#if MHD_VERSION >= 0x01000000
        MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1,
#else
        MHD_OPTION_STRICT_FOR_CLIENT, 1,  //
#endif
        MHD_OPTION_URI_LOG_CALLBACK, &Server::OnTarget, this,     //
        MHD_OPTION_NOTIFY_COMPLETED, &Server::OnCompleted, this,  //
        MHD_OPTION_NOTIFY_CONNECTION, &Server::OnConnection, this, MHD_OPTION_END);
    if (daemon_ == nullptr) return model::IoError(errno, "libmicrohttpd");
    try {
      acceptor_.emplace(std::move(listener.socket),
                        [this](backends::UniqueFd socket, const sockaddr_storage& address,
                               socklen_t size) { Accept(std::move(socket), address, size); });
    } catch (const std::system_error& error) {
      return model::IoError(error.code().value(), "a thread");
    }
    return {};
  }

 private:
  static RequestQueue::Options QueueOptionsOf(ServedTree& tree) {
    RequestQueue::Options options = tree.QueueOptions();
    options.shared = true;
    options.only_on_own_threads = true;
    options.check_caller = kLookAtClient;
    return options;
  }

  static SiteOptions SiteOptionsOf(ServedTree& tree, const ServerOptions& options) {
    SiteOptions out = options.site;
    out.trusted = tree.context().services.freshness.interval();
    out.is_immutable = tree.context().services.freshness.immutable();
    out.is_per_user = tree.source().is_shared();
    return out;
  }

  std::optional<RequestQueue::Clock::duration> Tick(RequestQueue::Clock::time_point now) {
    const auto again = queue_.Tick(now);
    const auto drop = site_.DropOld(now);
    return again && drop ? std::min(*again, *drop) : (again ? again : drop);
  }

  FrontEndCounts CountsNow() {
    return {counts_, queue_.stats(), files_.stats(), 0,
            static_cast<size_t>(connections_.count())};
  }

  static Server& Of(void* server) { return *static_cast<Server*>(server); }

  void Accept(backends::UniqueFd socket, const sockaddr_storage& address, socklen_t size) {
    const auto* const from = reinterpret_cast<const sockaddr*>(&address);
    const int fd = socket.get();
    try {
      auto caller = site_.options().is_per_user ? CallerAt(fd) : nullptr;
      const uid_t client = caller ? caller->uid : ClientOf(from);
      if (!connections_.Open(fd, client, std::move(caller))) return;
    } catch (const std::bad_alloc&) {
      return;
    }
    // Closes the socket if it fails.
    socket.release();
    if (MHD_add_connection(daemon_, fd, from, size) != MHD_YES) {
      connections_.Close(connections_.At(fd));
    }
  }

  static const sockaddr* AddressOf(MHD_Connection* connection) {
    const auto* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info == nullptr ? nullptr : info->client_addr;
  }
  static int DescriptorOf(MHD_Connection* connection) {
    const auto* const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == nullptr ? -1 : info->connect_fd;
  }
  static Connection& ConnectionOf(MHD_Connection* connection) {
    return *static_cast<Connection*>(
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
            ->socket_context);
  }

  static void OnConnection(void* server, MHD_Connection* connection, void** context,
                           MHD_ConnectionNotificationCode code) {
    Connections& all = Of(server).connections_;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      *context = &all.At(DescriptorOf(connection));
    } else {
      all.Close(*static_cast<Connection*>(*context));
    }
  }

  // The first call for each request, with its target as it was sent.
  static void* OnTarget(void*, const char* target, MHD_Connection* connection) {
    Connection& own = ConnectionOf(connection);
    try {
      own.transaction = std::make_unique<Transaction>(target);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    const std::string& text = own.transaction->target;
    const auto parameters = static_cast<size_t>(std::ranges::count(text, '&'));
    if (text.size() + (parameters * kMemoryOfParameter) <= kConnectionMemory * 3 / 4) {
      return own.transaction.get();
    }
    // Without memory for them, libmicrohttpd would wait for more of the request.
    constexpr std::string_view kReply =
        "HTTP/1.1 414 URI Too Long\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    (void)::send(own.fd, kReply.data(), kReply.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    ::shutdown(own.fd, SHUT_RDWR);
    return nullptr;
  }

  static void OnCompleted(void*, MHD_Connection* connection, void** context,
                          MHD_RequestTerminationCode) {
    *context = nullptr;
    ConnectionOf(connection).EndRequest();
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
    Fields fields(request, has_bucket, version);
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
    request.client = ClientOfRequest(connection, fields);
    request.is_encrypted = fields.is_https() && proxies_.Has(AddressOf(connection));
    if (ParsesInPlace() && version.data() != transaction.target_end + 1) {
      return ErrorReply(kBadRequest, "no request line");
    }
    if (!fields.Flaw().empty()) {
      return ErrorReply(kBadRequest, std::string(fields.Flaw()));
    }
    // Which method it is comes first: the answer to any other says which there are.
    if (request.method == Method::kOther) return site_.Refuse(request);
    if (fields.is_too_long() || (fields.has_body() && request.method != Method::kPropfind)) {
      return ErrorReply(kTooLarge, "a request with a body");
    }
    return refusal;
  }

  std::optional<HttpReply> ReadTarget(Transaction& transaction) const {
    HttpRequest& request = transaction.request;
    if (transaction.target == "*" && request.method == Method::kOptions) return std::nullopt;
    auto target = ParseRequestTarget(transaction.target, site_.options().base);
    if (!target && target.error().code() == model::ErrorCode::kNotFound) {
      return ErrorReply(target.error());
    }
    if (!target) return ErrorReply(kBadRequest, target.error().message());
    request.target = *std::move(target);
    request.base = site_.options().base;
    const std::string& token = site_.options().token;
    request.has_token_in_path = TakeTokenOfPath(request.target, token);
    if (request.has_token_in_path) request.base += '/' + token;
    return std::nullopt;
  }

  uid_t ClientOfRequest(MHD_Connection* connection, const Fields& fields) const {
    const Connection& own = ConnectionOf(connection);
    std::optional<uid_t> behind;
    if (fields.forwarded_for() && proxies_.Has(AddressOf(connection))) {
      behind = proxies_.ClientBehind(*fields.forwarded_for());
    }
    return behind.value_or(own.client);
  }

  void Answer(MHD_Connection* connection, Transaction& transaction,
              std::optional<HttpReply> known) {
    transaction.exchange = std::make_shared<Exchange>(
        RequestServices{site_, queue_, budget_, files_, counts_, slow_requests_},
        transaction.request,
        Exchange::Client{transaction.request.client, IsWaiting(connection),
                         ConnectionOf(connection).caller});
    ConnectionOf(connection).is_busy = true;
    // Until there is a reply, the connection is not looked at.
    MHD_suspend_connection(connection);
    transaction.exchange->Begin([connection] { MHD_resume_connection(connection); },
                                std::move(known));
  }

  // Whether the client of a connection is still there. One that sends no more has left: nothing
  // tells a closed connection from one that its client has closed halfway. After the end of the
  // connection the descriptor may be another one; the answer does not matter then.
  static std::function<bool()> IsWaiting(MHD_Connection* connection) {
    const int fd = DescriptorOf(connection);
    if (fd < 0) return [] { return true; };
    return [fd] {
      pollfd look = {.fd = fd, .events = POLLRDHUP, .revents = 0};
      return ::poll(&look, 1, 0) == 0;
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
            whole.size(), const_cast<std::byte*>(whole.data()),
            &Server::Delete<std::shared_ptr<Body>>,
            new std::shared_ptr<Body>(std::move(found.body)));
      }
      const auto length = found.body->length();
      // Without a length, libmicrohttpd copies the body to memory of the connection, except for
      // clients of HTTP/1.0.
      const size_t piece = found.body->TakeMemory(length ? std::min<uint64_t>(*length, kPiece)
                                                         : BlockBudget::kLeast);
      auto* const stream = new Stream{connection, std::move(found.body)};
      return MHD_create_response_from_callback(length.value_or(MHD_SIZE_UNKNOWN), piece,
                                               &Stream::Read, stream, &Stream::Free);
    }
    if (is_head && reply.file) {
      return MHD_create_response_from_callback(reply.length.value_or(MHD_SIZE_UNKNOWN), 1,
                                               &Server::NoBody, nullptr, nullptr);
    }
    auto* const text = new std::string(std::move(found.reply.text));
    return MHD_create_response_from_buffer_with_free_callback_cls(
        text->size(), text->data(), &Server::Delete<std::string>, text);
  }

  template <typename T>
  static void Delete(void* object) {
    delete static_cast<T*>(object);
  }

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
  const Proxies proxies_;
  OpenLimits files_;
  RequestQueue queue_;
  Ticker ticker_;
  MHD_Daemon* daemon_ = nullptr;
  std::optional<Acceptor> acceptor_;
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
