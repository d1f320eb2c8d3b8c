// SPDX-License-Identifier: MIT
#include "fs/http/s3_gateway.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/cancellation.h"
#if NDLFS_WITH_HTTP
#include "backends/store/object/signature.h"
#endif
#include "fs/http/found_node.h"
#include "fs/http/listing.h"
#include "fs/view/base/html_text.h"
#include "model/cf_time.h"
#include "model/number_text.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr unsigned kBadArgument = 400;
constexpr size_t kMostKeys = 1000;    // in one answer
constexpr size_t kLongestKey = 1024;  // bytes, as in S3
constexpr size_t kMostFolders = 10'000;
constexpr size_t kMostInFolder = 100'000;
constexpr std::string_view kControlFolder = ".ndlfs/";

// What a client asks a list for.
struct ListRequest {
  std::string prefix;
  bool has_delimiter = false;
  std::string after;  // keys up to this one are left out
  size_t most = kMostKeys;
  bool encodes = false;
};

Result<ListRequest> ReadListRequest(const RequestTarget& target) {
  ListRequest out;
  out.prefix = target.Parameter("prefix").value_or("");
  const std::string delimiter = target.Parameter("delimiter").value_or("");
  if (!delimiter.empty() && delimiter != "/") return model::BadInput("the delimiter is no '/'");
  out.has_delimiter = !delimiter.empty();
  out.after = target.Parameter("continuation-token")
                  .value_or(target.Parameter("start-after").value_or(""));
  out.encodes = target.Parameter("encoding-type").value_or("") == "url";
  if (const auto most = target.Parameter("max-keys")) {
    const auto number = model::ParseNumber<uint32_t>(*most);
    if (!number) return model::BadInput("max-keys is no number");
    out.most = std::min<size_t>(*number, kMostKeys);
  }
  return out;
}

struct ListedKey {
  std::string key;  // ends in '/' if it stands for all keys that begin with it
  ListingEntry entry;
};

// The keys of a tree in the order of their bytes, page by page.
class KeyList {
 public:
  KeyList(const TreeNodePtr& root, const ListRequest& request)
      : root_(root), request_(request) {}

  Result<void> Find() {
    const size_t slash = request_.prefix.rfind('/');
    if (slash == std::string::npos) return Walk({}, root_, "");
    // Other folders have no key with this prefix.
    const std::string folder = request_.prefix.substr(0, slash + 1);
    std::vector<std::string> names;
    for (size_t begin = 0; begin < folder.size();) {
      const size_t end = folder.find('/', begin);
      names.push_back(folder.substr(begin, end - begin));
      if (names.back().empty() || names.back() == "." || names.back() == "..") return {};
      begin = end + 1;
    }
    const auto node = FindNodeAt(root_, names);
    if (!node) return {};
    NDLFS_TRY(const auto attributes, (*node)->Stat());
    return IsDirectory(attributes) ? Walk(names, *node, folder) : Result<void>();
  }

  const std::vector<ListedKey>& keys() const { return keys_; }
  bool has_more() const { return has_more_; }

 private:
  // `begin` is the beginning of the keys of the folder.
  Result<void> Walk(const std::vector<std::string>& path, const TreeNodePtr& folder,
                    const std::string& begin) {
    if (++folders_ > kMostFolders) return model::Limit("a list of too many folders");
    NDLFS_TRY(const Listing listing,
              ListDirectory(root_, path, folder, ListedSizes::kAll, kMostInFolder));
    std::vector<ListedKey> found;
    for (const ListingEntry& entry : listing) {
      found.push_back({begin + entry.name + (entry.is_directory ? "/" : ""), entry});
    }
    std::ranges::sort(found, {}, &ListedKey::key);
    for (const ListedKey& one : found) {
      NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
      if (one.key.size() > kLongestKey) continue;
      if (one.entry.is_directory) {
        NDLFS_RETURN_IF_ERROR(TakeFolder(path, folder, one));
      } else {
        TakeFile(one);
      }
      if (has_more_) break;
    }
    return {};
  }

  // A file whose size only decoding tells is left out, as is one that cannot be looked at.
  void TakeFile(const ListedKey& one) {
    const bool is_wanted = one.key.starts_with(request_.prefix) && one.key > request_.after;
    if (is_wanted && one.entry.size) Take(one);
  }

  Result<void> TakeFolder(const std::vector<std::string>& path, const TreeNodePtr& folder,
                          const ListedKey& one) {
    const std::string& key = one.key;
    const bool is_inside = key.starts_with(request_.prefix);
    if (!is_inside && !request_.prefix.starts_with(key)) return {};
    if (key == kControlFolder && request_.prefix.size() < key.size()) return {};
    const bool is_begun = request_.after.starts_with(key);
    if (key < request_.after && !is_begun) return {};
    if (request_.has_delimiter && is_inside && key.size() > request_.prefix.size()) {
      if (!is_begun) Take(one);
      return {};
    }
    const auto node = FindEntry(root_, path, folder, one.entry.name);
    if (!node) return {};
    std::vector<std::string> inner = path;
    inner.push_back(one.entry.name);
    return Walk(inner, *node, key);
  }

  void Take(ListedKey one) {
    has_more_ = keys_.size() >= request_.most;
    if (!has_more_) keys_.push_back(std::move(one));
  }

  const TreeNodePtr& root_;
  const ListRequest& request_;
  std::vector<ListedKey> keys_;
  size_t folders_ = 0;
  bool has_more_ = false;
};

std::string IsoTime(int64_t seconds) {
  return model::FormatTime(model::Calendar::kProlepticGregorian,
                           seconds * model::kNanosecondsOfSecond, 3) +
         'Z';
}

std::string WriteList(const std::string& bucket, const ListRequest& request,
                      const KeyList& list) {
  const auto shown = [&](const std::string& key) {
    return HtmlText(request.encodes ? backends::PercentEncode(key) : key);
  };
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>{}</Name><Prefix>{}</Prefix>"
      "<KeyCount>{}</KeyCount><MaxKeys>{}</MaxKeys><IsTruncated>{}</IsTruncated>",
      HtmlText(bucket), shown(request.prefix), list.keys().size(), request.most,
      list.has_more());
  if (request.has_delimiter) out += "<Delimiter>/</Delimiter>";
  if (request.encodes) out += "<EncodingType>url</EncodingType>";
  if (list.has_more() && !list.keys().empty()) {
    out += "<NextContinuationToken>" + HtmlText(list.keys().back().key) +
           "</NextContinuationToken>";
  }
  out += '\n';
  for (const ListedKey& one : list.keys()) {
    if (one.entry.is_directory) {
      out += "<CommonPrefixes><Prefix>" + shown(one.key) + "</Prefix></CommonPrefixes>\n";
      continue;
    }
    fmt::format_to(std::back_inserter(out),
                   "<Contents><Key>{}</Key><LastModified>{}</LastModified><Size>{}</Size>",
                   shown(one.key), IsoTime(one.entry.mtime_seconds.value_or(0)),
                   *one.entry.size);
    // Clients compare the tags of lists with those of objects.
    if (one.entry.version) out += "<ETag>" + HtmlText(EtagOf(*one.entry.version)) + "</ETag>";
    out += "<StorageClass>STANDARD</StorageClass></Contents>\n";
  }
  return out + "</ListBucketResult>\n";
}

bool IsSigned(const S3Options& options, const HttpRequest& request, int64_t now_s) {
#if NDLFS_WITH_HTTP
  const std::string_view target = request.target_as_sent;
  const size_t question = std::min(target.find('?'), target.size());
  backends::HttpHeaders headers;
  for (const auto& [name, value] : request.all_fields) {
    headers.push_back({backends::LowerText(name), value});
  }
  const backends::object::RequestToSign sent = {
      .method = request.method == HttpRequest::Method::kHead ? "HEAD" : "GET",
      .host = {},
      .path = target.substr(0, question),
      .query = target.substr(std::min(question + 1, target.size())),
      .headers = std::move(headers),
      .body = {}};
  return backends::object::IsSignedWith(
      sent, {.access_key = options.access_key, .secret_key = options.secret_key}, now_s);
#else
  (void)options, (void)request, (void)now_s;
  return false;
#endif
}

}  // namespace

bool IsForBucket(const S3Options& options, const RequestTarget& target) {
  return !options.bucket.empty() && !target.names.empty() && target.names[0] == options.bucket;
}

std::optional<HttpReply> RefuseUnsigned(const S3Options& options, const HttpRequest& request,
                                        int64_t now_s) {
  constexpr unsigned kForbidden = 403;
  if (options.access_key.empty()) return std::nullopt;
  if (IsSigned(options, request, now_s)) return std::nullopt;
  return ErrorReply(kForbidden, "the request is not signed with the keys of this server");
}

Result<HttpReply> AnswerForBucket(const S3Options& options, const TreeNodePtr& root,
                                  const HttpRequest& request) {
  HttpReply reply;
  reply.fields.emplace_back("Content-Type", "application/xml");
  if (request.method == HttpRequest::Method::kHead) return reply;
  if (request.target.Parameter("location")) {
    reply.text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<LocationConstraint "
        "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"/>\n";
    return reply;
  }
  const auto list_request = ReadListRequest(request.target);
  if (!list_request) return ErrorReply(kBadArgument, list_request.error().message());
  KeyList list(root, *list_request);
  if (list_request->most != 0) NDLFS_RETURN_IF_ERROR(list.Find());
  reply.text = WriteList(options.bucket, *list_request, list);
  return reply;
}

void DescribeS3Error(HttpReply& reply) {
  constexpr unsigned kFirstError = 400;
  if (reply.status < kFirstError) return;
  std::string_view code = "InternalError";
  switch (reply.status) {
    case kBadArgument:
      code = "InvalidArgument";
      break;
    case 403:
      code = "AccessDenied";
      break;
    case 404:
      code = "NoSuchKey";
      break;
    case 405:
      code = "MethodNotAllowed";
      break;
    case 412:
      code = "PreconditionFailed";
      break;
    case 416:
      code = "InvalidRange";
      break;
    case 503:
      code = "SlowDown";
      break;
    default:
      break;
  }
  std::erase_if(reply.fields, [](const auto& field) { return field.first == "Content-Type"; });
  reply.fields.emplace_back("Content-Type", "application/xml");
  reply.text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code><Message>{}</Message>"
      "</Error>\n",
      code, HtmlText(reply.text));
}

}  // namespace ndlfs::fs
