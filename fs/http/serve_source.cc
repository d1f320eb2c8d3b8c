// SPDX-License-Identifier: MIT
#include "fs/http/serve_source.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "backends/base/capabilities.h"
#include "fs/http/listener.h"
#include "fs/http/server.h"
#include "fs/serve/last_resort.h"
#include "fs/serve/logging.h"
#include "fs/serve/served_tree.h"
#include "fs/serve/service.h"
#include "fs/serve/signals_blocked.h"
#include "fs/serve/source_check.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using model::BadInput;
using model::Result;

constexpr const char* kTokenVariable = "NDLFS_TOKEN";

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string UserName() {
  const passwd* const user = ::getpwuid(::geteuid());
  return user == nullptr ? fmt::format("user {}", ::geteuid()) : user->pw_name;
}

Result<std::string> MakeToken() {
  std::array<unsigned char, 16> random;
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return model::IoError(errno, "getrandom");
  }
  std::string token;
  for (const unsigned char byte : random) token += fmt::format("{:02x}", byte);
  return token;
}

// Such a token needs no quotes in a cookie and no encoding in a URL.
Result<void> CheckToken(const std::string& token) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  if (token.size() < 8 || token.find_first_not_of(kLetters) != token.npos) {
    return BadInput("--token: at least 8 letters, digits or characters of -._~ are needed");
  }
  return {};
}

struct Token {
  std::string text = {};
  bool is_made_up = false;
};

// The token of the options or of the environment, or a new one, unless only users whom a Unix
// socket lets in can ask. A proxy passes on what strangers ask.
Result<Token> FindServedToken(const ServeOptions& options, const Listener& listener) {
  std::string text = options.token.empty() ? Variable(kTokenVariable) : options.token;
  if (!text.empty()) {
    if (options.without_token) return BadInput("--token and --no-token exclude each other");
    NDLFS_RETURN_IF_ERROR(CheckToken(text));
    return Token{std::move(text), false};
  }
  if (listener.is_unix && options.proxies.empty()) return Token{};
  if (options.without_token) {
    const std::string_view readers = !options.proxies.empty() ? "client of the proxies"
                                     : listener.is_local ? "user and program of this machine"
                                                         : "machine that reaches this address";
    LogWarning(
        fmt::format("--no-token: every {} can read what {} serves", readers, UserName()));
    return Token{};
  }
  if (StandardErrorIsJournal()) {
    return BadInput(
        "clients need a token, and a new one would stand in the journal: set {}, or give "
        "--no-token",
        kTokenVariable);
  }
  NDLFS_TRY(std::string made, MakeToken());
  return Token{std::move(made), true};
}

// Before anything of the source is opened, and before any thread is started.
Result<void> BecomeUser(const std::string& name) {
  if (name.empty()) return {};
  const passwd* const user = ::getpwnam(name.c_str());
  if (user == nullptr) return BadInput("--as-user: there is no user {}", model::Quote(name));
  if (::initgroups(user->pw_name, user->pw_gid) != 0 ||
      ::setresgid(user->pw_gid, user->pw_gid, user->pw_gid) != 0 ||
      ::setresuid(user->pw_uid, user->pw_uid, user->pw_uid) != 0) {
    return model::IoError(errno, "--as-user");
  }
  return {};
}

Result<mode_t> SocketModeOf(const ServeOptions& options) {
  if (options.socket_mode.empty()) return options.mount.allow_other ? 0666 : 0600;
  const auto mode = model::ParseNumber<uint32_t>(options.socket_mode, 8);
  if (!mode || *mode > 0777) {
    return BadInput("--socket-mode: {} is not an octal number from 0 to 0777",
                    model::Quote(options.socket_mode));
  }
  return static_cast<mode_t>(*mode);
}

// "https://a.example:8080" each, as browsers send it.
Result<std::vector<std::string>> OriginsOf(const ServeOptions& options) {
  if (options.cors) return std::vector<std::string>{"*"};
  for (const std::string& origin : options.origins) {
    const size_t scheme_end = origin.find("://");
    const bool is_origin = scheme_end != origin.npos && scheme_end + 3 < origin.size() &&
                           origin.find('/', scheme_end + 3) == origin.npos;
    if (!is_origin) {
      return BadInput("--cors-origin: {} is no origin such as https://example.org",
                      model::Quote(origin));
    }
  }
  return options.origins;
}

// "/data" for "data/", "/data/" and the like.
Result<std::string> CheckBase(std::string_view base) {
  while (base.ends_with('/')) base.remove_suffix(1);
  while (base.starts_with('/')) base.remove_prefix(1);
  if (base.empty()) return std::string();
  constexpr std::string_view kRefused = "?#%\"<>\\ ";
  if (base.find_first_of(kRefused) != base.npos) {
    return BadInput("--base: {} is no path of a URL", model::Quote(base));
  }
  return '/' + std::string(base);
}

Result<S3Options> CheckS3(const std::string& bucket) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789.-";
  S3Options out{.bucket = bucket,
                .access_key = Variable("NDLFS_S3_ACCESS_KEY"),
                .secret_key = Variable("NDLFS_S3_SECRET_KEY")};
  if (bucket.empty()) return S3Options();
  const bool is_name = bucket.size() >= 3 && bucket.size() <= 63 && bucket.front() != '.' &&
                       bucket.find_first_not_of(kLetters) == bucket.npos;
  if (!is_name) return BadInput("--s3: {} is no name of a bucket", model::Quote(bucket));
  if (out.access_key.empty() != out.secret_key.empty()) {
    return BadInput("NDLFS_S3_ACCESS_KEY and NDLFS_S3_SECRET_KEY belong together");
  }
  return out;
}

Result<Listener> OpenListener(const ServeOptions& options) {
  if (HasGivenSocket()) return TakeGivenSocket();
  NDLFS_TRY(const mode_t mode, SocketModeOf(options));
  return options.socket.empty() ? ListenAt(options.listen)
                                : ListenAtSocket(options.socket, mode);
}

// Waits for a signal that asks the process to end.
void WaitForEnd() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&signals, signal);
  int signal = 0;
  while (::sigwait(&signals, &signal) == EINTR) {
  }
}

void PrintUrl(const std::string& url, const Token& token, const std::string& base) {
  const std::string query = token.is_made_up ? "?token=" + token.text : "";
  fmt::print("{}{}/{}\n", url, base, query);
  if (token.is_made_up) {
    fmt::print("{}{}/{}/ for programs that cannot sign in; ndlfs(1) has other ways\n", url,
               base, token.text);
  }
  std::fflush(stdout);
}

// A socket of the file system goes with the server that made it.
class SocketFile {
 public:
  explicit SocketFile(std::string path) : path_(std::move(path)) {}
  ~SocketFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

 private:
  const std::string path_;
};

}  // namespace

Result<int> ServeSource(const ServeOptions& given) {
  NDLFS_TRY(const SourcePaths paths, CheckSource(given.mount));
  NDLFS_TRY(MountOptions options, ResolveServedOptions(given.mount, paths));
  options.shows_dot_files = given.dot_files;
  ServerOptions server_options{
      .site = {.hosts = given.hosts, .trusts_pages = given.trusts_pages}};
  NDLFS_TRY(server_options.site.origins, OriginsOf(given));
  NDLFS_TRY(server_options.proxies, Proxies::Parse(given.proxies));
  NDLFS_TRY(server_options.site.base, CheckBase(given.base));
  NDLFS_TRY(server_options.site.s3, CheckS3(given.s3_bucket));
  NDLFS_RETURN_IF_ERROR(StartLog(options.log_file, LogTarget::kStandardError, options.log_level,
                                 {options.source, ""}));
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  RaiseDescriptorLimit();
  server_options.most_connections = std::min(given.most_connections, MostOpenFiles());
  const bool is_given = HasGivenSocket();
  NDLFS_TRY(Listener listener, OpenListener(given));
  const SocketFile socket_file(listener.is_unix && !is_given ? given.socket : "");
  if (options.allow_other && !listener.is_unix) {
    return BadInput("--allow-other: only a Unix socket (--socket) tells users apart");
  }
  NDLFS_RETURN_IF_ERROR(BecomeUser(given.as_user));
  NDLFS_TRY(const Token token, FindServedToken(given, listener));
  server_options.site.token = token.text;
  // Without a token, the name of the host tells requests from pages of other sites. A browser
  // reaches a Unix socket, too, if `ssh -L` forwards a port to it.
  server_options.site.checks_host = token.text.empty();

  const SignalsBlocked blocked;
  NDLFS_TRY(const auto tree, ServedTree::Open(options, paths, AnswerWithin(options)));
  const uint64_t kept =
      backends::kReadAnyFile | (options.allow_other ? backends::kTakeIdentities : 0);
  NDLFS_RETURN_IF_ERROR(backends::DropCapabilities(kept, kept));
  const std::string url = listener.url;
  NDLFS_TRY(auto server, HttpServer::Start(*tree, std::move(listener), server_options));
  LogInfo("serving " + options.source + " at " + url);
  PrintUrl(url, token, server_options.site.base);
  NotifyManager("READY=1\nSTATUS=" + options.source + " is served");
  WaitForEnd();
  // Clients may ask again elsewhere: nobody waits for what is under way.
  LastResort::Begin([] {}, 0, std::chrono::milliseconds(900));
  server.reset();
  LogInfo("the server has ended");
  LastResort::Forget();
  return 0;
}

}  // namespace ndlfs::fs
