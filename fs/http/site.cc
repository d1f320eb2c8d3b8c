// SPDX-License-Identifier: MIT
#include "fs/http/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "backends/base/percent_encoding.h"
#include "fs/compare/sha256.h"
#include "fs/http/content_type.h"
#include "fs/http/dap_target.h"
#include "fs/http/found_node.h"
#include "fs/http/listing.h"
#include "fs/http/parse/fields.h"
#include "fs/http/search.h"
#include "fs/tree/source_tree.h"
#include "fs/view/base/html_text.h"
#include "model/base64.h"
#include "model/http_date.h"
#include "model/reserved_names.h"
#include "model/secret_hash.h"

namespace ndlfs::fs {
namespace {

using Method = HttpRequest::Method;
using model::Result;

constexpr const char* kAllowed = "GET, HEAD, OPTIONS, PROPFIND";

// How often an answer begins anew because the source has changed meanwhile.
constexpr int kTries = 3;

// Finder and Explorer ask for such names in every folder. No store has them.
bool IsAskedByHabit(std::string_view name) {
  return name.starts_with("._") || name == ".DS_Store" || name == "desktop.ini" ||
         name == "Thumbs.db" || name == ".hidden" || name == ".Spotlight-V100" ||
         name == ".metadata_never_index";
}

bool Accepts(const HttpRequest& request, std::string_view type) {
  return request.accept && request.accept->find(type) != std::string::npos;
}

// Of PROPFIND: "0" is the file or directory alone, "1" with its entries. All else is more.
std::string_view DepthOf(const HttpRequest& request) {
  return request.depth ? TrimBlanks(*request.depth) : "infinity";
}

// Whether JSON is wanted rather than a page.
bool WantsJson(const HttpRequest& request) {
  const auto format = request.target.Parameter("format");
  if (format) return *format == "json";
  return Accepts(request, "application/json") && !Accepts(request, "text/html");
}

// The fields of the body of a folder: JSON or a page.
void SetTextFields(HttpReply& reply, bool is_json, const std::string& caching) {
  reply.is_page = !is_json;
  reply.fields.emplace_back("Content-Type",
                            is_json ? "application/json" : "text/html; charset=utf-8");
  reply.fields.emplace_back("Cache-Control", caching);
  reply.fields.emplace_back("Vary", "Accept");
}

// Whether browsers show the reply as a document that may hold programs.
bool IsActive(const HttpReply& reply) {
  return std::ranges::any_of(reply.fields, [](const auto& field) {
    return field.first == "Content-Type" &&
           (field.second.find("xml") != std::string::npos || field.second.ends_with("/pdf"));
  });
}

std::string HashForPolicy(std::string_view text) {
  return "'sha256-" + model::EncodeBase64(Sha256Of(backends::AsBytes(text))) + '\'';
}

// For pages that ndlfs makes: nothing runs in them but the script that they all share, so that
// no text of the source can become one.
const std::string& PolicyOfPages() {
  static const std::string policy = fmt::format(
      "default-src 'none'; img-src 'self' data:; style-src {}; script-src {}; base-uri 'none'; "
      "form-action 'self'; frame-ancestors 'none'",
      HashForPolicy(StyleOfPages()), HashForPolicy(ScriptOfPages()));
  return policy;
}

std::string ContentRange(const FileRange& range, uint64_t size) {
  return fmt::format("bytes {}-{}/{}", range.offset, range.offset + range.length - 1, size);
}

// Several ranges in one body (RFC 9110, section 15.3.7.2).
void SetMultipart(HttpReply& reply, const std::vector<FileRange>& ranges, uint64_t size,
                  const std::string& type) {
  static const uint64_t secret = model::SecretHash("boundary");
  const std::string boundary = fmt::format("ndlfs-{:016x}", secret);
  uint64_t length = 0;
  const auto add = [&](std::string text, const FileRange& range) {
    length += text.size() + range.length;
    reply.parts.push_back({std::move(text), range});
  };
  for (const FileRange& range : ranges) {
    add(fmt::format("{}--{}\r\nContent-Type: {}\r\nContent-Range: {}\r\n\r\n",
                    reply.parts.empty() ? "" : "\r\n", boundary, type,
                    ContentRange(range, size)),
        range);
  }
  add(fmt::format("\r\n--{}--\r\n", boundary), {});
  reply.length = length;
  reply.fields.emplace_back("Content-Type", "multipart/byteranges; boundary=" + boundary);
}

// Sets the status and the body for a file of `size` bytes.
void SetBody(HttpReply& reply, const HttpRequest& request, const Validators& validators,
             uint64_t size, const std::string& type) {
  RangeRequest ranges;
  if (request.range && request.method == Method::kGet &&
      RangeCounts(request.conditions, validators)) {
    ranges = ParseRanges(*request.range, size);
  }
  switch (ranges.kind) {
    case RangeRequest::Kind::kUnsatisfiable:
      reply.status = kRangeNotSatisfiable;
      reply.file = nullptr;
      reply.fields.emplace_back("Content-Range", fmt::format("bytes */{}", size));
      return;
    case RangeRequest::Kind::kWhole:
      reply.parts = {{"", {0, size}}};
      reply.length = size;
      break;
    case RangeRequest::Kind::kParts:
      reply.status = kPartial;
      if (ranges.parts.size() > 1) {
        SetMultipart(reply, ranges.parts, size, type);
        return;
      }
      reply.parts = {{"", ranges.parts[0]}};
      reply.length = ranges.parts[0].length;
      reply.fields.emplace_back("Content-Range", ContentRange(ranges.parts[0], size));
      break;
  }
  reply.fields.emplace_back("Content-Type", type);
}

// The answer with a file. `dap` are the fields of an answer of DAP.
HttpReply ReplyWith(const HttpRequest& request, const FoundFile& file,
                    const std::vector<std::pair<std::string, std::string>>& dap,
                    const std::string& caching, bool trusts_pages) {
  HttpReply reply{.is_page = file.is_page};
  const Validators& validators = file.validators;
  if (validators.etag) reply.fields.emplace_back("ETag", *validators.etag);
  reply.fields.emplace_back("Last-Modified", model::FormatHttpDate(validators.mtime_seconds));
  // Without a tag, nobody can ask later whether the bytes are still true.
  reply.fields.emplace_back("Cache-Control", validators.etag ? caching : "no-store");
  switch (Evaluate(request.conditions, validators)) {
    case Verdict::kNotModified:
      reply.status = kNotModified;
      return reply;
    case Verdict::kFailed:
      return ErrorReply(kPreconditionFailed, "it has changed");
    case Verdict::kSend:
      break;
  }
  std::string type = ContentTypeOf(request.target.names.back(), file.is_page || trusts_pages);
  for (const auto& [name, value] : dap) {
    if (name == "Content-Type") {
      type = value;
    } else {
      reply.fields.emplace_back(name, value);
    }
  }
  reply.file = file.handle;
  if (!file.size) {
    reply.fields.emplace_back("Content-Type", type);
    return reply;
  }
  reply.fields.emplace_back("Accept-Ranges", "bytes");
  SetBody(reply, request, validators, *file.size, type);
  return reply;
}

// The lane in which the size of `node` is found; `lane` if any will do.
Lane LaneOf(const TreeNode& node, Lane lane) {
  const TreeNode::Cost cost = node.StatCost();
  if (cost == TreeNode::Cost::kNothing) return lane;
  return cost == TreeNode::Cost::kScan ? Lane::kScan : Lane::kRead;
}

}  // namespace

std::optional<HttpReply> Site::Refuse(const HttpRequest& request) const {
  const std::optional<std::string>& host =
      request.target.host ? request.target.host : request.host;
  if (options_.checks_host && host && !IsTrustedHost(*host, options_.hosts)) {
    return ErrorReply(kMisdirected,
                      fmt::format("the host {} is not allowed; see --host of ndlfs serve",
                                  model::Quote(*host)));
  }
  const bool only_reads = request.method == Method::kGet || request.method == Method::kHead ||
                          request.method == Method::kOptions;
  if (!only_reads && request.origin && !AllowedOrigin(request) &&
      !IsOriginOf(*request.origin, host.value_or(""))) {
    return ErrorReply(kForbidden, "a request of a page of another site");
  }
  if (request.method == Method::kOther) {
    HttpReply reply = ErrorReply(kMethodNotAllowed, "the files are only for reading");
    reply.fields.emplace_back("Allow", kAllowed);
    return reply;
  }
  if (request.method == Method::kOptions) {
    HttpReply reply{.status = 204};
    reply.fields.emplace_back("Allow", kAllowed);
    reply.fields.emplace_back("DAV", "1");
    // Microsoft's clients then use WebDAV and not FrontPage.
    reply.fields.emplace_back("MS-Author-Via", "DAV");
    return reply;
  }
  if (auto refusal = RefuseStranger(request)) return refusal;
  return SignIn(request);
}

std::optional<HttpReply> Site::RefuseStranger(const HttpRequest& request) const {
  // Nobody finds a text of this length by guessing: its owner is never made to wait.
  constexpr size_t kLong = 20;
  const bool is_signed =
      !options_.s3.access_key.empty() && IsForBucket(options_.s3, request.target);
  if (!is_signed && options_.token.empty()) return std::nullopt;
  const TokenPlace place = is_signed ? TokenPlace::kNone : FindTokenOf(request);
  if (place == TokenPlace::kCookie) return std::nullopt;
  const auto now = GuessLimit::Clock::now();
  const bool is_spent = guesses_.IsSpent(request.client, now);
  const size_t length = is_signed ? options_.s3.secret_key.size() : options_.token.size();
  std::optional<HttpReply> refusal;
  if (is_spent && length < kLong) {
    refusal = ErrorReply(kTooManyRequests, "too many requests without the token or the keys");
  } else if (is_signed) {
    refusal = RefuseUnsigned(options_.s3, request, ::time(nullptr));
  } else if (place == TokenPlace::kNone && !request.has_token_in_path) {
    refusal = ErrorReply(kUnauthorized,
                         "a token is needed: the URL that ndlfs serve has printed has it");
    refusal->fields.emplace_back("WWW-Authenticate", "Basic realm=\"ndlfs\"");
  }
  if (!refusal) return std::nullopt;
  if (is_spent) {
    refusal->status = kTooManyRequests;
    refusal->fields.emplace_back("Retry-After", "1");
  } else {
    guesses_.Note(request.client, now);
  }
  return refusal;
}

// A page that leads on, and no redirect: a browser that comes from a link on another site would
// follow a redirect without the cookie.
std::optional<HttpReply> Site::SignIn(const HttpRequest& request) const {
  const RequestTarget& target = request.target;
  std::string next;
  if (request.has_token_in_path && target.names.empty() && !target.ends_in_slash) {
    // Links in pages are relative to the folder.
    next = '.' + request.base.substr(request.base.rfind('/')) + '/';
    HttpReply reply{.status = kMoved};
    reply.fields.emplace_back("Location", std::move(next));
    reply.fields.emplace_back("Cache-Control", "no-store");
    return reply;
  }
  const bool is_sign_in = !options_.token.empty() && request.method == Method::kGet &&
                          Accepts(request, "text/html") &&
                          FindTokenOf(request) == TokenPlace::kUrl;
  if (!is_sign_in) return std::nullopt;
  next = target.names.empty() || target.ends_in_slash
             ? "./"
             : "./" + backends::PercentEncode(target.names.back(), false);
  const std::string query = target.QueryWithout(kTokenParameter);
  if (!query.empty()) next += '?' + query;
  HttpReply reply;
  SetTextFields(reply, false, "no-store");
  reply.text = BeginPage("Signed in") +
               fmt::format("<p><a href=\"{}\">Signed in</a></p>\n", HtmlText(next)) + EndPage();
  reply.fields.emplace_back("Refresh", "0; url=" + next);
  return reply;
}

std::optional<std::string> Site::AllowedOrigin(const HttpRequest& request) const {
  if (std::ranges::find(options_.origins, "*") != options_.origins.end()) return "*";
  const bool is_listed =
      request.origin &&
      std::ranges::find(options_.origins, *request.origin) != options_.origins.end();
  return is_listed ? request.origin : std::nullopt;
}

void Site::AddBrowserFields(const HttpRequest& request, HttpReply& reply) const {
  const auto origin = AllowedOrigin(request);
  reply.fields.emplace_back("X-Content-Type-Options", "nosniff");
  reply.fields.emplace_back("Referrer-Policy", "no-referrer");
  reply.fields.emplace_back("Cross-Origin-Resource-Policy",
                            origin == "*" ? "cross-origin" : "same-origin");
  if (reply.is_page) {
    reply.fields.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
    reply.fields.emplace_back("Content-Security-Policy", PolicyOfPages());
  } else if (!options_.trusts_pages) {
    // Data of somebody else: a browser runs nothing in it, and it reads nothing of this site.
    reply.fields.emplace_back("Content-Security-Policy",
                              "sandbox; default-src 'none'; frame-ancestors 'none'");
    if (IsActive(reply)) reply.fields.emplace_back("Content-Disposition", "attachment");
  }
  const bool has_list = !options_.origins.empty() && origin != "*";
  if (has_list) reply.fields.emplace_back("Vary", "Origin");
  if (!origin) return;
  reply.fields.emplace_back("Access-Control-Allow-Origin", *origin);
  reply.fields.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS");
  reply.fields.emplace_back("Access-Control-Allow-Headers",
                            "Range, If-Range, If-Match, If-None-Match, Authorization");
  reply.fields.emplace_back("Access-Control-Expose-Headers",
                            "Accept-Ranges, Content-Length, Content-Range, ETag");
}

void Site::Complete(const HttpRequest& request, HttpReply& reply) const {
  if (reply.status >= kFirstError) {
    reply.is_page = false;
    if (IsForBucket(options_.s3, request.target)) {
      DescribeS3Error(reply);
    } else {
      DescribeDapError(request.target, reply);
    }
  }
  reply.fields.emplace_back("Server", "ndlfs");
  AddBrowserFields(request, reply);
  const bool shows_token = !options_.token.empty() && reply.status < kFirstError &&
                           FindTokenOf(request) == TokenPlace::kUrl;
  if (!shows_token) return;
  reply.fields.emplace_back(
      "Set-Cookie",
      fmt::format("{}{}={}; Path={}; HttpOnly; SameSite=Strict{}",
                  request.is_encrypted ? kHostPrefix : "", secret_.cookie_name, secret_.cookie,
                  request.is_encrypted ? "/" : options_.base + '/',
                  request.is_encrypted ? "; Secure" : ""));
}

// Servers with the same token take each other's cookies, also after they were started again.
// The name tells servers at other ports of the same host apart.
Secret Site::SecretOf(const std::string& token) {
  const auto hash = [&](std::string_view use) {
    return HexOf(Sha256Of(backends::AsBytes(fmt::format("ndlfs {} {}", use, token))));
  };
  return {token, "ndlfs-" + hash("name").substr(0, 8), hash("cookie")};
}

std::string Site::CachingOf(const SiteOptions& options) {
  const bool is_private = !options.token.empty() || options.is_per_user;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(options.trusted).count();
  const std::string scope = is_private ? "private, " : "";
  if (options.is_immutable) return scope + "max-age=31536000, immutable";
  return seconds == 0 ? scope + "no-cache" : fmt::format("{}max-age={}", scope, seconds);
}

void Site::Complain(const model::Error& error) const {
  const bool is_answer = error.code() == model::ErrorCode::kNotFound ||
                         error.code() == model::ErrorCode::kDenied || error.is_momentary();
  if (!is_answer && report_) report_(error.message());
}

std::variant<HttpReply, Lane> Site::Answer(const HttpRequest& request, Lane lane,
                                           std::optional<FoundNode>& found) const {
  const bool is_for_bucket = IsForBucket(options_.s3, request.target);
  for (int tries = 1;; ++tries) {
    auto answer = is_for_bucket ? TryForBucket(request, lane) : Try(request, lane, found);
    if (!answer && answer.error().code() == model::ErrorCode::kStale && tries < kTries)
      continue;
    if (!answer) {
      HttpReply reply = ErrorReply(answer.error());
      if (reply.status >= kFirstFault) Complain(answer.error());
      answer = std::move(reply);
    }
    return *std::move(answer);
  }
}

Site::Answered Site::TryForBucket(const HttpRequest& request, Lane lane) const {
  if (request.method == Method::kPropfind) return ErrorReply(kMethodNotAllowed, "no WebDAV");
  HttpRequest inner = request;
  inner.target.names.erase(inner.target.names.begin());
  if (inner.target.names.empty()) {
    // Sizes in lists may take reads.
    if (lane == Lane::kLook && request.method == Method::kGet) return Lane::kRead;
    return AnswerForBucket(options_.s3, root_, request, runs_, options_.trusted);
  }
  NDLFS_TRY(const FoundNode found, FindNodeAt(root_, inner.target.names));
  const Lane needed = LaneOf(*found.node, lane);
  if (lane == Lane::kLook && needed != lane) return needed;
  NDLFS_TRY(const Attributes attributes, found.node->StatWhenFound());
  if (inner.target.ends_in_slash || IsDirectory(attributes)) return model::NotFound("no file");
  return AnswerFile(inner, *found.node);
}

Site::Answered Site::Try(const HttpRequest& request, Lane lane,
                         std::optional<FoundNode>& known) const {
  const std::vector<std::string>& names = request.target.names;
  if (!names.empty() && IsAskedByHabit(names.back())) {
    return model::NotFound("{}", names.back());
  }
  const auto found =
      known ? Result<FoundNode>(*std::exchange(known, std::nullopt)) : FindNode(request.target);
  if (!found && ErrorReply(found.error()).status == kAbsent) {
    const auto wrong = FindWrongConstraint(request.target);
    if (wrong) return ErrorReply(kBadRequest, *wrong);
    // A balancer asks whether the source can be looked at.
    if (names.size() == 1 && names[0] == "health" && root_->Stat())
      return ErrorReply(kOk, "ok");
  }
  NDLFS_TRY(const FoundNode place, found);
  // A link has no contents of its own: else a link to a folder above would be a folder without
  // end.
  if (place.is_by_link && request.method != Method::kPropfind) {
    return RedirectTo(request, place.names);
  }
  const TreeNodePtr& node = place.node;
  const auto later = [&](Lane other) {
    known = place;
    return other;
  };
  const Lane needed = LaneOf(*node, lane);
  if (lane == Lane::kLook && needed != lane) return later(needed);
  NDLFS_TRY(const Attributes attributes, node->StatWhenFound());
  if (request.method == Method::kPropfind) {
    const bool lists = IsDirectory(attributes) && DepthOf(request) == "1";
    if (lists && lane == Lane::kLook) return later(Lane::kRead);
    return AnswerPropfind(request, node, attributes);
  }
  const bool searches = IsDirectory(attributes) && request.target.Parameter("q");
  if (searches && lane == Lane::kLook) return later(Lane::kScan);
  if (IsDirectory(attributes)) return AnswerDirectory(request, node);
  if (names.empty() || request.target.ends_in_slash) return model::NotFound("no directory");
  return AnswerFile(request, *node);
}

HttpReply Site::RedirectTo(const HttpRequest& request,
                           const std::vector<std::string>& names) const {
  const RequestTarget& target = request.target;
  const size_t depth = target.names.size() - (target.ends_in_slash ? 0 : 1);
  std::string location = depth == 0 ? "./" : "";
  for (size_t i = 0; i < depth; ++i) location += "../";
  for (const std::string& name : names) location += backends::PercentEncode(name, false) + '/';
  if (!target.ends_in_slash && !names.empty()) location.pop_back();
  if (!target.query.empty()) location += '?' + target.query;
  HttpReply reply{.status = kElsewhere};
  reply.fields.emplace_back("Location", std::move(location));
  reply.fields.emplace_back("Cache-Control", caching_);
  return reply;
}

Result<FoundNode> Site::FindNode(const RequestTarget& target) const {
  const std::vector<DapTarget> places = FindDapTargets(target);
  // A file of that name in the source comes first.
  auto found = places.empty() || target.query.empty()
                   ? FindNodeAt(root_, target.names)
                   : model::NotFound("{}", target.names.back());
  for (const DapTarget& place : places) {
    if (found || ErrorReply(found.error()).status != kAbsent) break;
    const auto group = FindNodeAt(root_, place.folder);
    if (!group) {
      found = model::Propagate(group.error());
      continue;
    }
    auto file = group->node->Lookup(place.name);
    found = file ? Result<FoundNode>(FoundNode{*std::move(file), {}})
                 : model::Propagate(file.error());
  }
  return found;
}

std::optional<std::string> Site::FindWrongConstraint(const RequestTarget& target) const {
  if (target.query.empty()) return std::nullopt;
  for (const DapTarget& place : FindDapTargets(target)) {
    const auto group = FindNodeAt(root_, place.folder);
    if (!group || !group->node->Lookup(place.description)) continue;
    const auto found = group->node->Lookup(place.name);
    if (found) return std::nullopt;
    std::string reason = found.error().message();
    const std::string name = place.name + ": ";
    if (reason.starts_with(name)) reason.erase(0, name.size());
    return reason;
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> Site::DapFieldsOf(
    const RequestTarget& target) const {
  const std::vector<DapTarget> places = FindDapTargets(target);
  const bool is_plain_file =
      !places.empty() && target.query.empty() && FindNodeAt(root_, target.names);
  if (places.empty() || is_plain_file) return {};
  return places[0].fields;
}

Result<HttpReply> Site::AnswerDirectory(const HttpRequest& request,
                                        const TreeNodePtr& node) const {
  const std::vector<std::string>& names = request.target.names;
  HttpReply reply;
  if (!request.target.ends_in_slash && !names.empty()) {
    reply.status = kMoved;
    // Relative, so that it holds behind a proxy, too.
    std::string target = "./" + backends::PercentEncode(names.back(), false) + '/';
    if (!request.target.query.empty()) target += '?' + request.target.query;
    reply.fields.emplace_back("Location", std::move(target));
    reply.fields.emplace_back("Cache-Control", caching_);
    return reply;
  }
  const bool is_json = WantsJson(request);
  if (const auto question = request.target.Parameter("q")) {
    NDLFS_TRY(SearchResult found, Search(node, *question));
    SetTextFields(reply, is_json, caching_);
    const KeptObjects kept = {{found.hits.data(), found.bytes}};
    NDLFS_RETURN_IF_ERROR(SetText(
        reply,
        is_json ? SearchAsJson(std::move(found)) : SearchAsHtml(std::move(found), *question),
        kept));
    return reply;
  }
  SetTextFields(reply, is_json, caching_);
  NDLFS_TRY(const auto entries,
            EntryReader::Open(root_, names, node,
                              {.finds_pictures = !is_json && Accepts(request, "text/html"),
                               .leaves_out_linked_folders = is_json}));
  NDLFS_RETURN_IF_ERROR(
      SetText(reply, is_json ? ListingAsJson(entries) : ListingAsHtml(entries, names),
              entries->kept()));
  return reply;
}

Result<HttpReply> Site::AnswerPropfind(const HttpRequest& request, const TreeNodePtr& node,
                                       const Attributes& attributes) const {
  const std::string_view depth = DepthOf(request);
  if (depth != "0" && depth != "1") {
    HttpReply reply = ErrorReply(kForbidden,
                                 "<?xml version=\"1.0\"?>\n<D:error "
                                 "xmlns:D=\"DAV:\"><D:propfind-finite-depth/></D:error>");
    SetContentType(reply, "application/xml; charset=utf-8");
    return reply;
  }
  EntryReaderPtr entries;
  if (depth == "1" && IsDirectory(attributes)) {
    NDLFS_TRY(entries, EntryReader::Open(root_, request.target.names, node,
                                         {.sizes = ListedSizes::kAll}));
  }
  HttpReply reply{.status = kMultistatus};
  NDLFS_RETURN_IF_ERROR(SetText(reply,
                                ListingAsMultistatus(request.base, request.target.names,
                                                     EntryOf("", *node, attributes), entries),
                                entries ? entries->kept() : KeptObjects()));
  reply.fields.emplace_back("Content-Type", "application/xml; charset=utf-8");
  return reply;
}

Result<HttpReply> Site::AnswerFile(const HttpRequest& request, TreeNode& node) const {
  NDLFS_TRY(const OpenedFile opened, node.Open());
  NDLFS_TRY(const Attributes attributes, node.Stat());
  const std::optional<FileVersion> version = node.Version();
  FoundFile file{
      .handle = opened.handle,
      .validators = {.mtime_seconds = SecondsOf(attributes)},
      .size = {},
      .is_page = request.target.names.back() == model::kPageFileName && !IsPlainFile(node)};
  if (version) file.validators.etag = EtagOf(*version);
  if (!opened.size_unknown) file.size = version ? FileSize(version->size) : attributes.size;
  HttpReply reply =
      ReplyWith(request, file, DapFieldsOf(request.target), caching_, options_.trusts_pages);
  if (MayBeKnown(request.target) && file.size) {
    known_.Keep(request.target.names, std::move(file), opened.looked_at);
  }
  return reply;
}

// A query may mean another file, and a bucket has other paths.
bool Site::MayBeKnown(const RequestTarget& target) const {
  return !target.names.empty() && !target.ends_in_slash && target.query.empty() &&
         !IsForBucket(options_.s3, target) && !IsForDap(target);
}

std::optional<HttpReply> Site::AnswerKnown(const HttpRequest& request) const {
  // Longer bodies are worth a reader of their own, which reads ahead.
  constexpr uint64_t kShort = uint64_t{64} << 10;
  const bool is_read = request.method == Method::kGet || request.method == Method::kHead;
  if (!is_read || !MayBeKnown(request.target)) return std::nullopt;
  const auto file = known_.Find(request.target.names);
  if (!file) return std::nullopt;
  HttpReply reply = ReplyWith(request, *file, {}, caching_, options_.trusts_pages);
  const bool has_body = reply.file && request.method == Method::kGet;
  if (has_body && reply.length.value_or(UINT64_MAX) > kShort) return std::nullopt;
  return reply;
}

}  // namespace ndlfs::fs
