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
constexpr std::string_view kControlFolder = ".ndlfs/";

// What a client asks a list for.
struct ListRequest {
  std::string prefix;
  bool has_delimiter = false;
  std::string after;  // keys up to this one are left out
  size_t most = kMostKeys;
  bool encodes = false;

  std::string Shown(const std::string& key) const {
    return HtmlText(encodes ? backends::PercentEncode(key) : key);
  }
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
  DirectoryEntry found;
  ListingEntry entry = {};  // of files that were looked at

  bool is_folder() const { return S_ISDIR(found.type); }
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
    NDLFS_TRY(const auto attributes, node->node->Stat());
    return IsDirectory(attributes) ? Walk(names, node->node, folder) : Result<void>();
  }

  const std::vector<ListedKey>& keys() const { return keys_; }
  std::vector<ListedKey> TakeKeys() { return std::move(keys_); }
  bool has_more() const { return has_more_; }

 private:
  // `begin` is the beginning of the keys of the folder.
  Result<void> Walk(const std::vector<std::string>& path, const TreeNodePtr& folder,
                    const std::string& begin) {
    if (++folders_ > kMostFolders) return model::Limit("a list of too many folders");
    const EntryMaker maker(root_, path, folder, ListedSizes::kAll);
    std::string last;
    for (bool is_all = false; !is_all && !has_more_;) {
      NDLFS_TRY(const std::vector<ListedKey> next, FindNext(maker, *folder, begin, last));
      is_all = next.size() <= kMostKeys;
      if (!next.empty()) last = next.back().key;
      for (auto one = next.begin(); one != next.end() && !has_more_; ++one) {
        NDLFS_RETURN_IF_ERROR(one->is_folder() ? TakeFolder(path, folder, *one)
                                               : TakeFile(maker, *one));
      }
    }
    return {};
  }

  // The first keys of a folder after `last` that may be in the list, in their order, one more
  // than an answer has. Looks at all names, but keeps only these.
  Result<std::vector<ListedKey>> FindNext(const EntryMaker& maker, const TreeNode& folder,
                                          const std::string& begin, const std::string& last) {
    NDLFS_TRY(const auto reader, folder.OpenDirectory());
    std::vector<ListedKey> found;  // a heap: the last key comes first
    const auto is_before = [](const ListedKey& a, const ListedKey& b) { return a.key < b.key; };
    for (;;) {
      NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
      NDLFS_TRY(const auto entry, reader->Next());
      if (!entry) break;
      ListedKey one{.key = begin + entry->name, .found = *entry};
      const bool is_full = found.size() > kMostKeys;
      const auto is_next = [&](const std::string& key, bool is_folder) {
        return key > last && (!is_full || key < found.front().key) &&
               MayBeListed(key, is_folder);
      };
      // Which of the two it is may take a look at the file.
      if (!is_next(one.key, false) && !is_next(one.key + '/', true)) continue;
      NDLFS_TRY(const bool is_shown, FindKind(maker, one));
      if (!is_shown || !is_next(one.key, one.is_folder())) continue;
      found.push_back(std::move(one));
      std::ranges::push_heap(found, is_before);
      if (!is_full) continue;
      std::ranges::pop_heap(found, is_before);
      found.pop_back();
    }
    std::ranges::sort_heap(found, is_before);
    return found;
  }

  // Completes the key of a folder. False for what has no key.
  static Result<bool> FindKind(const EntryMaker& maker, ListedKey& one) {
    if (!S_ISREG(one.found.type) && !S_ISDIR(one.found.type)) {
      NDLFS_TRY(const auto entry, maker.Make(one.found, true));
      if (!entry) return false;
      one.found.type = entry->is_directory ? S_IFDIR : S_IFREG;
      one.entry = *entry;
    }
    if (one.is_folder()) one.key += '/';
    return one.key.size() <= kLongestKey;
  }

  bool MayBeListed(const std::string& key, bool is_folder) const {
    const bool is_inside = key.starts_with(request_.prefix);
    if (!is_folder) return is_inside && key > request_.after;
    return (is_inside || request_.prefix.starts_with(key)) &&
           (key >= request_.after || request_.after.starts_with(key));
  }

  // A file whose size only decoding tells is left out, as is one that cannot be looked at.
  Result<void> TakeFile(const EntryMaker& maker, ListedKey one) {
    if (one.entry.name.empty()) {
      NDLFS_TRY(auto entry, maker.Make(one.found, true));
      if (!entry || entry->is_directory) return {};
      one.entry = *std::move(entry);
    }
    if (one.entry.size) Take(std::move(one));
    return {};
  }

  Result<void> TakeFolder(const std::vector<std::string>& path, const TreeNodePtr& folder,
                          const ListedKey& one) {
    const std::string& key = one.key;
    if (key == kControlFolder && request_.prefix.size() < key.size()) return {};
    if (request_.has_delimiter && key.size() > request_.prefix.size()) {
      if (!request_.after.starts_with(key)) Take(one);
      return {};
    }
    const auto node = FindEntry(root_, path, folder, one.found.name);
    if (!node) return {};
    std::vector<std::string> inner = path;
    inner.push_back(one.found.name);
    return Walk(inner, node->node, key);
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

void WriteKey(const ListRequest& request, const ListedKey& one, std::string& out) {
  const std::string key = request.Shown(one.key);
  if (one.is_folder()) {
    out += "<CommonPrefixes><Prefix>" + key + "</Prefix></CommonPrefixes>\n";
    return;
  }
  fmt::format_to(std::back_inserter(out),
                 "<Contents><Key>{}</Key><LastModified>{}</LastModified><Size>{}</Size>", key,
                 IsoTime(one.entry.mtime_seconds.value_or(0)), *one.entry.size);
  // Clients compare the tags of lists with those of objects.
  if (one.entry.version) out += "<ETag>" + HtmlText(EtagOf(*one.entry.version)) + "</ETag>";
  out += "<StorageClass>STANDARD</StorageClass></Contents>\n";
}

NextPiece WriteList(const std::string& bucket, const ListRequest& request, KeyList list) {
  std::string begin = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>{}</Name><Prefix>{}</Prefix>"
      "<KeyCount>{}</KeyCount><MaxKeys>{}</MaxKeys><IsTruncated>{}</IsTruncated>",
      HtmlText(bucket), request.Shown(request.prefix), list.keys().size(), request.most,
      list.has_more());
  if (request.has_delimiter) begin += "<Delimiter>/</Delimiter>";
  if (request.encodes) begin += "<EncodingType>url</EncodingType>";
  if (list.has_more() && !list.keys().empty()) {
    begin += "<NextContinuationToken>" + HtmlText(list.keys().back().key) +
             "</NextContinuationToken>";
  }
  begin += '\n';
  const auto add = [request](const ListedKey& one, std::string& out) {
    WriteKey(request, one, out);
  };
  return TextOfItems(std::move(begin), OneByOne(list.TakeKeys()), add,
                     [](size_t) { return "</ListBucketResult>\n"; });
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
  const KeptObjects kept = {{list.keys().data(), list.keys().size() * kLongestKey}};
  NDLFS_RETURN_IF_ERROR(
      SetText(reply, WriteList(options.bucket, *list_request, std::move(list)), kept));
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
