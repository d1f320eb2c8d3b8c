// SPDX-License-Identifier: MIT
#include "fs/http/serve_source.h"

#include <fmt/format.h>
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

namespace ndlfs::fs {
namespace {

using model::BadInput;
using model::Result;

constexpr const char* kTokenVariable = "NDLFS_TOKEN";

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
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

// The token of the options or of the environment, or a new one if `is_local` is false.
Result<Token> FindServedToken(const ServeOptions& options, bool is_local) {
  std::string text = options.token.empty() ? Variable(kTokenVariable) : options.token;
  if (!text.empty()) {
    if (options.without_token) return BadInput("--token and --no-token exclude each other");
    NDLFS_RETURN_IF_ERROR(CheckToken(text));
    return Token{std::move(text), false};
  }
  if (is_local || options.without_token) return Token{};
  if (StandardErrorIsJournal()) {
    return BadInput(
        "clients of other machines need a token, and a new one would stand in the journal: set "
        "{}, or give --no-token",
        kTokenVariable);
  }
  NDLFS_TRY(std::string made, MakeToken());
  return Token{std::move(made), true};
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
  return options.socket.empty() ? ListenAt(options.listen) : ListenAtSocket(options.socket);
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
  NDLFS_TRY(const MountOptions options, ResolveServedOptions(given.mount, paths));
  ServerOptions server_options{.site = {.hosts = given.hosts, .cors = given.cors}};
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
  NDLFS_TRY(const Token token, FindServedToken(given, listener.is_local));
  server_options.site.token = token.text;
  // Without a token, the name of the host tells requests from pages of other sites. No browser
  // reaches a Unix socket by itself.
  server_options.site.checks_host = token.text.empty() && !listener.is_unix;

  const SignalsBlocked blocked;
  NDLFS_TRY(const auto tree, ServedTree::Open(options, paths, AnswerWithin(options)));
  NDLFS_RETURN_IF_ERROR(
      backends::DropCapabilities(backends::kReadAnyFile, backends::kReadAnyFile));
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
