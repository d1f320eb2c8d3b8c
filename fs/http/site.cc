// SPDX-License-Identifier: MIT
#include "fs/http/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "backends/base/percent_encoding.h"
#include "fs/http/content_type.h"
#include "fs/http/dap_error.h"
#include "fs/http/dap_target.h"
#include "fs/http/found_node.h"
#include "fs/http/listing.h"
#include "fs/http/search.h"
#include "fs/http/webdav.h"
#include "model/http_date.h"
#include "model/secret_hash.h"

namespace ndlfs::fs {
namespace {

using Method = HttpRequest::Method;
using model::Result;

constexpr unsigned kPartial = 206;
constexpr unsigned kMultistatus = 207;
constexpr unsigned kMoved = 301;
constexpr unsigned kNotModified = 304;
constexpr unsigned kBadRequest = 400;
constexpr unsigned kFirstError = kBadRequest;
constexpr unsigned kUnauthorized = 401;
constexpr unsigned kForbiddenDepth = 403;
constexpr unsigned kAbsent = 404;
constexpr unsigned kMethodNotAllowed = 405;
constexpr unsigned kPreconditionFailed = 412;
constexpr unsigned kMisdirected = 421;
constexpr unsigned kRangeNotSatisfiable = 416;
constexpr unsigned kServerFault = 500;

constexpr const char* kAllowed = "GET, HEAD, OPTIONS, PROPFIND";

// How often an answer begins anew because the source has changed meanwhile.
constexpr int kTries = 3;
// A page of so many entries takes some 100 MiB.
constexpr size_t kMostEntries = 500'000;
// The same for WebDAV, which says more about each entry.
constexpr size_t kMostDavEntries = 100'000;

// Finder and Explorer ask for such names in every folder. No store has them.
bool IsAskedByHabit(std::string_view name) {
  return name.starts_with("._") || name == ".DS_Store" || name == "desktop.ini" ||
         name == "Thumbs.db" || name == ".hidden" || name == ".Spotlight-V100" ||
         name == ".metadata_never_index";
}

bool Accepts(const HttpRequest& request, std::string_view type) {
  return request.accept && request.accept->find(type) != std::string::npos;
}

// Whether JSON is wanted rather than a page.
bool WantsJson(const HttpRequest& request) {
  const auto format = request.target.Parameter("format");
  if (format) return *format == "json";
  return Accepts(request, "application/json") && !Accepts(request, "text/html");
}

// The body of a folder: JSON or a page.
void SetText(HttpReply& reply, bool is_json, std::string text) {
  reply.text = std::move(text);
  reply.fields.emplace_back("Content-Type",
                            is_json ? "application/json" : "text/html; charset=utf-8");
  reply.fields.emplace_back("Cache-Control", "no-cache");
  reply.fields.emplace_back("Vary", "Accept");
}

// Whether a browser may run scripts of the reply.
bool IsPage(const HttpReply& reply) {
  return std::any_of(reply.fields.begin(), reply.fields.end(), [](const auto& field) {
    return field.first == "Content-Type" && (field.second.starts_with("text/html") ||
                                             field.second.find("xml") != std::string::npos);
  });
}

void AddContentRange(HttpReply& reply, const FileRange& range, uint64_t size) {
  reply.fields.emplace_back(
      "Content-Range",
      fmt::format("bytes {}-{}/{}", range.offset, range.offset + range.length - 1, size));
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
    add(fmt::format("{}--{}\r\nContent-Type: {}\r\nContent-Range: bytes {}-{}/{}\r\n\r\n",
                    reply.parts.empty() ? "" : "\r\n", boundary, type, range.offset,
                    range.offset + range.length - 1, size),
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
      AddContentRange(reply, ranges.parts[0], size);
      break;
  }
  reply.fields.emplace_back("Content-Type", type);
}

// The answer with a file. `dap` are the fields of an answer of DAP.
HttpReply ReplyWith(const HttpRequest& request, const FoundFile& file,
                    const std::vector<std::pair<std::string, std::string>>& dap) {
  HttpReply reply;
  const Validators& validators = file.validators;
  if (validators.etag) reply.fields.emplace_back("ETag", *validators.etag);
  reply.fields.emplace_back("Last-Modified", model::FormatHttpDate(validators.mtime_seconds));
  // Clients may keep the bytes, but ask whether they are still true.
  reply.fields.emplace_back("Cache-Control", "no-cache");
  switch (Evaluate(request.conditions, validators)) {
    case Verdict::kNotModified:
      reply.status = kNotModified;
      return reply;
    case Verdict::kFailed:
      return ErrorReply(kPreconditionFailed, "it has changed");
    case Verdict::kSend:
      break;
  }
  std::string type = ContentTypeOf(request.target.names.back());
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
  if (!options_.s3.access_key.empty() && IsForBucket(options_.s3, request.target)) {
    return RefuseUnsigned(options_.s3, request, ::time(nullptr));
  }
  if (options_.token.empty()) return std::nullopt;
  const TokenPlace place = FindToken(request.target, request.credentials, options_.token);
  if (place != TokenPlace::kNone) return std::nullopt;
  HttpReply reply = ErrorReply(
      kUnauthorized, "a token is needed: the URL that ndlfs serve has printed has it");
  reply.fields.emplace_back("WWW-Authenticate", "Basic realm=\"ndlfs\"");
  return reply;
}

void Site::Complete(const HttpRequest& request, HttpReply& reply) const {
  if (reply.status >= kFirstError) {
    if (IsForBucket(options_.s3, request.target)) {
      DescribeS3Error(reply);
    } else {
      DescribeDapError(request.target, reply);
    }
  }
  reply.fields.emplace_back("Server", "ndlfs");
  reply.fields.emplace_back("X-Content-Type-Options", "nosniff");
  // A page of the source may have a script of somebody else: it reads nothing of this site.
  if (IsPage(reply)) {
    reply.fields.emplace_back("Referrer-Policy", "no-referrer");
    reply.fields.emplace_back("Content-Security-Policy",
                              "default-src 'none'; img-src 'self' data:; style-src "
                              "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
                              "form-action 'self'; frame-ancestors 'none'");
  }
  if (options_.cors) {
    reply.fields.emplace_back("Access-Control-Allow-Origin", "*");
    reply.fields.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS");
    reply.fields.emplace_back("Access-Control-Allow-Headers",
                              "Range, If-Range, If-Match, If-None-Match, Authorization");
    reply.fields.emplace_back("Access-Control-Expose-Headers",
                              "Accept-Ranges, Content-Length, Content-Range, ETag");
  }
  if (options_.token.empty() || reply.status == kUnauthorized) return;
  if (FindToken(request.target, request.credentials, options_.token) == TokenPlace::kUrl) {
    reply.fields.emplace_back(
        "Set-Cookie", fmt::format("{}={}; Path={}/; HttpOnly; SameSite=Strict", kTokenCookie,
                                  options_.token, options_.base));
  }
}

void Site::Complain(const model::Error& error) const {
  const bool is_answer = error.code() == model::ErrorCode::kNotFound ||
                         error.code() == model::ErrorCode::kDenied || error.is_momentary();
  if (!is_answer && report_) report_(error.message());
}

std::variant<HttpReply, Lane> Site::Answer(const HttpRequest& request, Lane lane) const {
  const bool is_for_bucket = IsForBucket(options_.s3, request.target);
  for (int tries = 1;; ++tries) {
    auto answer = is_for_bucket ? TryForBucket(request, lane) : Try(request, lane);
    if (!answer && answer.error().code() == model::ErrorCode::kStale && tries < kTries)
      continue;
    if (!answer) {
      HttpReply reply = ErrorReply(answer.error());
      if (reply.status >= kServerFault) Complain(answer.error());
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
    NDLFS_TRY(HttpReply reply, AnswerForBucket(options_.s3, root_, request));
    return reply;
  }
  NDLFS_TRY(const TreeNodePtr node, FindNodeAt(root_, inner.target.names));
  if (inner.target.ends_in_slash) return model::NotFound("no file");
  return AnswerFileInLane(inner, node, lane);
}

Site::Answered Site::AnswerFileInLane(const HttpRequest& request, const TreeNodePtr& node,
                                      Lane lane) const {
  const Lane needed = LaneOf(*node, lane);
  if (lane == Lane::kLook && needed != lane) return needed;
  NDLFS_TRY(const Attributes attributes, node->StatWhenFound());
  if (IsDirectory(attributes)) return model::NotFound("no file");
  NDLFS_TRY(HttpReply reply, AnswerFile(request, *node));
  return reply;
}

Site::Answered Site::Try(const HttpRequest& request, Lane lane) const {
  const std::vector<std::string>& names = request.target.names;
  if (!names.empty() && IsAskedByHabit(names.back())) {
    return model::NotFound("{}", names.back());
  }
  const auto found = FindNode(request.target);
  if (!found && ErrorReply(found.error()).status == kAbsent) {
    const auto wrong = FindWrongConstraint(request.target);
    if (wrong) return ErrorReply(kBadRequest, *wrong);
  }
  NDLFS_TRY(const TreeNodePtr node, found);
  const Lane needed = LaneOf(*node, lane);
  if (lane == Lane::kLook && needed != lane) return needed;
  NDLFS_TRY(const Attributes attributes, node->StatWhenFound());
  if (request.method == Method::kPropfind) return AnswerPropfind(request, node, attributes);
  const bool searches = IsDirectory(attributes) && request.target.Parameter("q");
  if (searches && lane == Lane::kLook) return Lane::kScan;
  if (IsDirectory(attributes)) return AnswerDirectory(request, node);
  if (names.empty() || request.target.ends_in_slash) return model::NotFound("no directory");
  return AnswerFile(request, *node);
}

Result<TreeNodePtr> Site::FindNode(const RequestTarget& target) const {
  const std::vector<DapTarget> places = FindDapTargets(target);
  // A file of that name in the source comes first.
  auto found = places.empty() || target.query.empty()
                   ? FindNodeAt(root_, target.names)
                   : model::NotFound("{}", target.names.back());
  for (const DapTarget& place : places) {
    if (found || ErrorReply(found.error()).status != kAbsent) break;
    const auto group = FindNodeAt(root_, place.folder);
    found = group ? (*group)->Lookup(place.name) : model::Propagate(group.error());
  }
  return found;
}

std::optional<std::string> Site::FindWrongConstraint(const RequestTarget& target) const {
  if (target.query.empty()) return std::nullopt;
  for (const DapTarget& place : FindDapTargets(target)) {
    const auto group = FindNodeAt(root_, place.folder);
    if (!group || !(*group)->Lookup(place.description)) continue;
    const auto found = (*group)->Lookup(place.name);
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
    return reply;
  }
  if (const auto question = request.target.Parameter("q")) {
    NDLFS_TRY(const SearchResult found, Search(node, *question));
    const bool is_json = WantsJson(request);
    SetText(reply, is_json, is_json ? SearchAsJson(found) : SearchAsHtml(found, *question));
    return reply;
  }
  NDLFS_TRY(Listing listing,
            ListDirectory(root_, names, node, ListedSizes::kCheap, kMostEntries));
  const bool is_json = WantsJson(request);
  if (!is_json && Accepts(request, "text/html")) {
    NDLFS_RETURN_IF_ERROR(FindPictures(root_, names, node, listing));
  }
  SetText(reply, is_json, is_json ? ListingAsJson(listing) : ListingAsHtml(listing, names));
  return reply;
}

Result<HttpReply> Site::AnswerPropfind(const HttpRequest& request, const TreeNodePtr& node,
                                       const Attributes& attributes) const {
  const DavDepth depth = ParseDepth(request.depth);
  if (depth == DavDepth::kInfinity) {
    HttpReply reply = ErrorReply(kForbiddenDepth,
                                 "<?xml version=\"1.0\"?>\n<D:error "
                                 "xmlns:D=\"DAV:\"><D:propfind-finite-depth/></D:error>");
    reply.fields[0].second = "application/xml; charset=utf-8";
    return reply;
  }
  Listing entries;
  if (depth == DavDepth::kOne && IsDirectory(attributes)) {
    NDLFS_TRY(entries, ListDirectory(root_, request.target.names, node, ListedSizes::kAll,
                                     kMostDavEntries));
  }
  HttpReply reply{.status = kMultistatus};
  reply.text = WriteMultistatus(options_.base, request.target.names,
                                EntryOf("", *node, attributes), entries);
  reply.fields.emplace_back("Content-Type", "application/xml; charset=utf-8");
  return reply;
}

Result<HttpReply> Site::AnswerFile(const HttpRequest& request, TreeNode& node) const {
  NDLFS_TRY(const OpenedFile opened, node.Open());
  NDLFS_TRY(const Attributes attributes, node.Stat());
  const std::optional<FileVersion> version = node.Version();
  constexpr int64_t kSecond = 1'000'000'000;
  FoundFile file{.handle = opened.handle,
                 .validators = {.mtime_seconds = attributes.mtime_ns / kSecond},
                 .size = {}};
  if (version) file.validators.etag = EtagOf(*version);
  if (!opened.size_unknown) file.size = version ? FileSize(version->size) : attributes.size;
  HttpReply reply = ReplyWith(request, file, DapFieldsOf(request.target));
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
  HttpReply reply = ReplyWith(request, *file, {});
  const bool has_body = reply.file && request.method == Method::kGet;
  if (has_body && reply.length.value_or(UINT64_MAX) > kShort) return std::nullopt;
  return reply;
}

}  // namespace ndlfs::fs
