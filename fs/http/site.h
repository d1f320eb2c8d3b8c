// SPDX-License-Identifier: MIT
//
// Answers requests from a tree. Knows nothing of sockets and threads.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fs/http/found_node.h"
#include "fs/http/guess_limit.h"
#include "fs/http/known_files.h"
#include "fs/http/reply.h"
#include "fs/http/s3_gateway.h"
#include "fs/serve/request_queue.h"

namespace ndlfs::fs {

struct SiteOptions {
  // The path that all URLs begin with: "" or "/data".
  std::string base = {};
  // The text that every request has to show; empty: none.
  std::string token = {};
  // Whether the `Host` field is checked (IsTrustedHost), and the names that are allowed.
  bool checks_host = true;
  std::vector<std::string> hosts = {};
  // Sites whose pages may read the files ("https://example.org"); "*": all.
  std::vector<std::string> origins = {};
  // Pages, scripts and the like out of the source are sent as such, and browsers run them.
  bool trusts_pages = false;
  S3Options s3 = {};
  // How long a look at the source is trusted; zero: for one request.
  std::chrono::nanoseconds trusted = {};
  bool is_immutable = false;  // the source
  bool is_per_user = false;   // an answer depends on the user who asks
};

// Thread-safe.
class Site {
 public:
  // `report` is called for failures that a person should know about, in one line.
  Site(TreeNodePtr root, SiteOptions options, std::function<void(std::string_view)> report)
      : root_(std::move(root)),
        options_(std::move(options)),
        report_(std::move(report)),
        secret_(SecretOf(options_.token)),
        caching_(CachingOf(options_)),
        known_(options_.is_per_user ? std::chrono::nanoseconds() : options_.trusted) {}

  const SiteOptions& options() const { return options_; }

  // The answer to a request that may not go on, without any look at the tree; nullopt if it
  // may.
  std::optional<HttpReply> Refuse(const HttpRequest& request) const;

  // The answer to a request that Refuse() has let pass, without the body if that is a file.
  // `lane` is the lane of the calling thread. Returns another lane instead if the answer
  // decodes more than requests of `lane` usually do. What was looked up for it until then is in
  // `found`: give that to the next call.
  std::variant<HttpReply, Lane> Answer(const HttpRequest& request, Lane lane,
                                       std::optional<FoundNode>& found) const;

  // The answer to a request for a file that was found just before, if it has no body or a short
  // one; nullopt otherwise. Never blocks. Its file may turn out to have changed: then
  // ForgetKnown(), and ask Answer().
  std::optional<HttpReply> AnswerKnown(const HttpRequest& request) const;
  void ForgetKnown(const HttpRequest& request) const { known_.Forget(request.target.names); }
  // Gives up what was kept for the next requests for long enough. Returns when to call it
  // again; nullopt: not before the next Answer().
  std::optional<KnownFiles::Clock::duration> DropOld(KnownFiles::Clock::time_point now) const {
    const auto files = known_.DropOld(now);
    const auto runs = runs_.DropOld(now);
    return files ? files : runs;
  }

  // Adds the fields that every reply to `request` has, and gives errors the form that the
  // clients of its protocol read.
  void Complete(const HttpRequest& request, HttpReply& reply) const;

  // Reports `error` if it is trouble with the source, and not an answer.
  void Complain(const model::Error& error) const;

 private:
  using Answered = model::Result<std::variant<HttpReply, Lane>>;

  static Secret SecretOf(const std::string& token);
  // The field `Cache-Control` of answers out of the source.
  static std::string CachingOf(const SiteOptions& options);

  // The site whose pages may read the answer, as in a field; nullopt if none may.
  std::optional<std::string> AllowedOrigin(const HttpRequest& request) const;
  void AddBrowserFields(const HttpRequest& request, HttpReply& reply) const;
  std::optional<HttpReply> RefuseStranger(const HttpRequest& request) const;
  // The reply to a browser that shows the token: it gets the cookie, and goes on without the
  // token. nullopt for all other requests.
  std::optional<HttpReply> SignIn(const HttpRequest& request) const;
  TokenPlace FindTokenOf(const HttpRequest& request) const {
    return FindToken(request.target, request.credentials, secret_);
  }

  Answered Try(const HttpRequest& request, Lane lane, std::optional<FoundNode>& known) const;
  Answered TryForBucket(const HttpRequest& request, Lane lane) const;
  model::Result<FoundNode> FindNode(const RequestTarget& target) const;
  HttpReply RedirectTo(const HttpRequest& request, const std::vector<std::string>& names) const;
  // What is wrong with the constraint of a request of DAP, if its dataset is there; nullopt
  // otherwise. For a target that was not found.
  std::optional<std::string> FindWrongConstraint(const RequestTarget& target) const;
  // The fields of an answer of DAP; none if the target is a file that is only called like one.
  std::vector<std::pair<std::string, std::string>> DapFieldsOf(
      const RequestTarget& target) const;
  model::Result<HttpReply> AnswerDirectory(const HttpRequest& request,
                                           const TreeNodePtr& node) const;
  model::Result<HttpReply> AnswerPropfind(const HttpRequest& request, const TreeNodePtr& node,
                                          const Attributes& attributes) const;
  model::Result<HttpReply> AnswerFile(const HttpRequest& request, TreeNode& node) const;
  bool MayBeKnown(const RequestTarget& target) const;

  const TreeNodePtr root_;
  const SiteOptions options_;
  const std::function<void(std::string_view)> report_;
  const Secret secret_;
  const std::string caching_;
  mutable GuessLimit guesses_;
  mutable KnownFiles known_;
  mutable KeyRuns runs_;
};

}  // namespace ndlfs::fs
