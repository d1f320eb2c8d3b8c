// SPDX-License-Identifier: MIT
#include "fs/http/s3_gateway.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#if NDLFS_WITH_HTTP
#include "backends/store/object/signature.h"
#endif
#include "fs/http/found_node.h"
#include "fs/http/listing.h"
#include "fs/view/base/html_text.h"
#include "model/cf_time.h"
#include "model/number_text.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr size_t kMostKeys = 1000;    // in one answer
constexpr size_t kLongestKey = 1024;  // bytes, as in S3
constexpr size_t kMostFolders = 10'000;
// Names of a folder that one thread keeps.
constexpr size_t kMostBytesOfRun = size_t{2} << 20;
constexpr size_t kMostRuns = 4;
constexpr auto kLongestKept = std::chrono::seconds(30);
constexpr std::string_view kControlFolder = ".ndlfs/";

// What a client asks a list for.
struct ListRequest {
  std::string prefix;
  bool has_delimiter = false;
  std::string after;                      // keys up to this one are left out
  KeyRun::Clock::duration most_age = {};  // of what earlier requests have found
  size_t most = kMostKeys;
  bool encodes = false;

  std::string Shown(const std::string& key) const {
    return HtmlText(encodes ? backends::PercentEncode(key) : key);
  }
};

Result<ListRequest> ReadListRequest(const RequestTarget& target,
                                    KeyRun::Clock::duration trusted) {
  ListRequest out;
  out.prefix = target.Parameter("prefix").value_or("");
  const std::string delimiter = target.Parameter("delimiter").value_or("");
  if (!delimiter.empty() && delimiter != "/") return model::BadInput("the delimiter is no '/'");
  out.has_delimiter = !delimiter.empty();
  const auto token = target.Parameter("continuation-token");
  out.most_age =
      token ? kLongestKept : std::min<KeyRun::Clock::duration>(kLongestKept, trusted);
  out.after = token.value_or(target.Parameter("start-after").value_or(""));
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
  KeyList(const TreeNodePtr& root, const ListRequest& request, KeyRuns& runs)
      : root_(root), request_(request), runs_(runs) {}

  Result<void> Find() {
    const size_t slash = request_.prefix.rfind('/');
    if (slash == std::string::npos) return Walk({}, root_, "");
    // Other folders have no key with this prefix.
    const std::string folder = request_.prefix.substr(0, slash + 1);
    std::vector<std::string> names;
    for (const std::string_view name : model::SplitPath(folder)) {
      if (name == "." || name == "..") return {};
      names.emplace_back(name);
    }
    if (folder.starts_with('/') || folder.find("//") != folder.npos) return {};
    const auto node = FindNodeAt(root_, names);
    if (!node) return {};
    NDLFS_TRY(const auto attributes, node->node->Stat());
    return IsDirectory(attributes) ? Walk(names, node->node, folder) : Result<void>();
  }

  const std::vector<ListedKey>& keys() const { return keys_; }
  std::vector<ListedKey> TakeKeys() { return std::move(keys_); }
  bool has_more() const { return has_more_; }
  // Memory of the keys.
  size_t bytes() const {
    size_t bytes = 0;
    for (const ListedKey& one : keys_) bytes += sizeof(one) + 2 * one.key.size();
    return bytes;
  }

 private:
  // `begin` is the beginning of the keys of the folder.
  Result<void> Walk(const std::vector<std::string>& path, const TreeNodePtr& folder,
                    const std::string& begin) {
    if (++folders_ > kMostFolders) return model::Limit("a list of too many folders");
    std::string last;
    for (bool is_all = false; !is_all && !has_more_;) {
      NDLFS_TRY(const KeyRuns::Ptr run, FindRun(*folder, begin, last));
      NDLFS_RETURN_IF_ERROR(TakeRun(*run, path, folder, begin.size(), last));
      is_all = run->is_all;
      if (!is_all) last = run->entries.back().key;
    }
    return {};
  }

  Result<KeyRuns::Ptr> FindRun(const TreeNode& folder, const std::string& begin,
                               const std::string& last) {
    const auto place = fmt::format("{} {}{}{}", backends::CallerScope::CurrentId(), begin, '\0',
                                   request_.prefix);
    return runs_.FindOrMake(place, std::max(last, request_.after), request_.most_age,
                            [&] { return MakeRun(folder, begin, last); });
  }

  // The entries of a folder with the first keys after `last` that may be in the list. Looks at
  // all names, but keeps only as many as there is memory for.
  Result<KeyRuns::Ptr> MakeRun(const TreeNode& folder, const std::string& begin,
                               const std::string& last) {
    const auto run = std::make_shared<KeyRun>(KeyRun{.from = std::max(last, request_.after)});
    std::vector<KeyRun::Entry>& found = run->entries;  // a heap: the last key comes first
    const auto bytes_of = [](const KeyRun::Entry& one) {
      return sizeof(one) + one.key.capacity();
    };
    NDLFS_TRY(const auto reader, folder.OpenDirectory());
    for (size_t bytes = 0;;) {
      NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
      NDLFS_TRY(const auto entry, reader->Next());
      if (!entry) break;
      KeyRun::Entry one{begin + entry->name, entry->type};
      if (S_ISDIR(one.type)) one.key += '/';
      if (!Wants(one, last) || (!run->is_all && one.key > found.front().key)) continue;
      bytes += bytes_of(one);
      found.push_back(std::move(one));
      std::ranges::push_heap(found, {}, &KeyRun::Entry::key);
      for (; bytes > kMostBytesOfRun; run->is_all = false) {
        bytes -= bytes_of(found.front());
        std::ranges::pop_heap(found, {}, &KeyRun::Entry::key);
        found.pop_back();
      }
    }
    std::ranges::sort_heap(found, {}, &KeyRun::Entry::key);
    return run;
  }

  // Takes the keys of a run in their order. `begin` is the length of what all keys of the
  // folder begin with.
  Result<void> TakeRun(const KeyRun& run, const std::vector<std::string>& path,
                       const TreeNodePtr& folder, size_t begin, const std::string& last) {
    const EntryMaker maker(root_, path, folder, ListedSizes::kAll);
    // Those that turned out to be folders: their keys come after those of "name-1".
    std::map<std::string, ListedKey> folders;
    auto next = run.entries.begin();
    while (!has_more_ && (next != run.entries.end() || !folders.empty())) {
      const bool is_late =
          !folders.empty() && (next == run.entries.end() || folders.begin()->first < next->key);
      if (is_late) {
        const ListedKey one = std::move(folders.extract(folders.begin()).mapped());
        if (!run.is_all && one.key > run.entries.back().key) break;  // in the next run
        if (!Wants({one.key, S_IFDIR}, last)) continue;
        NDLFS_RETURN_IF_ERROR(TakeFolder(path, folder, one));
        continue;
      }
      const KeyRun::Entry& entry = *next++;
      if (!Wants(entry, last)) continue;
      const bool is_folder = S_ISDIR(entry.type);
      const size_t size = entry.key.size() - begin - (is_folder ? 1 : 0);
      ListedKey one{entry.key, {entry.key.substr(begin, size), entry.type}};
      if (is_folder) {
        NDLFS_RETURN_IF_ERROR(TakeFolder(path, folder, one));
        continue;
      }
      // Which of the two it is may take a look at the file.
      NDLFS_TRY(const auto shown, maker.Make(one.found, true));
      if (shown && shown->is_directory) {
        one.found.type = S_IFDIR;
        one.key += '/';
        folders.emplace(one.key, one);
      } else if (shown && shown->size && Wants({one.key, S_IFREG}, last)) {
        one.found.type = S_IFREG;
        one.entry = *shown;
        Take(std::move(one));  // one whose size only decoding tells is left out
      }
    }
    return {};
  }

  // Whether an entry may be in the list after the key `last`.
  bool Wants(const KeyRun::Entry& one, const std::string& last) const {
    const bool is_folder = S_ISDIR(one.type);
    if (one.key > last && MayBeListed(one.key, is_folder)) return true;
    return !is_folder && !S_ISREG(one.type) && Wants({one.key + '/', S_IFDIR}, last);
  }
  bool MayBeListed(const std::string& key, bool is_folder) const {
    const bool is_inside = key.starts_with(request_.prefix);
    if (!is_folder) return is_inside && key > request_.after;
    return (is_inside || request_.prefix.starts_with(key)) &&
           (key >= request_.after || request_.after.starts_with(key));
  }

  Result<void> TakeFolder(const std::vector<std::string>& path, const TreeNodePtr& folder,
                          const ListedKey& one) {
    const std::string& key = one.key;
    if (key.size() > kLongestKey) return {};
    if (key == kControlFolder && request_.prefix.size() < key.size()) return {};
    if (request_.has_delimiter && key.size() > request_.prefix.size()) {
      if (!request_.after.starts_with(key)) Take(one);
      return {};
    }
    const auto node = FindEntry(root_, path, folder, one.found.name);
    if (!node) return {};
    std::vector<std::string> inner = path;
    inner.push_back(one.found.name);
    auto walked = Walk(inner, node->node, key);
    // What a client may not read is not in the list.
    if (!walked && walked.error().code() == model::ErrorCode::kDenied) return {};
    return walked;
  }

  void Take(ListedKey one) {
    if (one.key.size() > kLongestKey) return;
    has_more_ = keys_.size() >= request_.most;
    if (!has_more_) keys_.push_back(std::move(one));
  }

  const TreeNodePtr& root_;
  const ListRequest& request_;
  KeyRuns& runs_;
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
  if (options.access_key.empty()) return std::nullopt;
  if (IsSigned(options, request, now_s)) return std::nullopt;
  return ErrorReply(kForbidden, "the request is not signed with the keys of this server");
}

Result<HttpReply> AnswerForBucket(const S3Options& options, const TreeNodePtr& root,
                                  const HttpRequest& request, KeyRuns& runs,
                                  KeyRun::Clock::duration trusted) {
  HttpReply reply;
  reply.fields.emplace_back("Content-Type", "application/xml");
  if (request.method == HttpRequest::Method::kHead) {
    // Without a length: to tell that of the list, the list would have to be made.
    reply.file = OpenText(std::make_shared<const std::string>()).handle;
    return reply;
  }
  if (request.target.Parameter("location")) {
    reply.text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<LocationConstraint "
        "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"/>\n";
    return reply;
  }
  // They say what is no part of a list. An answer of another kind would mislead the client.
  constexpr std::array<std::string_view, 11> kOthers = {
      "acl",         "cors",    "encryption", "lifecycle",  "object-lock", "policy",
      "replication", "tagging", "uploads",    "versioning", "versions"};
  for (const std::string_view other : kOthers) {
    if (!request.target.Parameter(other)) continue;
    return ErrorReply(kNotImplemented, fmt::format("?{} of a bucket is not served", other));
  }
  const auto list_request = ReadListRequest(request.target, trusted);
  if (!list_request) return ErrorReply(kBadRequest, list_request.error().message());
  KeyList list(root, *list_request, runs);
  if (list_request->most != 0) NDLFS_RETURN_IF_ERROR(list.Find());
  const KeptObjects kept = {{list.keys().data(), list.bytes()}};
  NDLFS_RETURN_IF_ERROR(
      SetText(reply, WriteList(options.bucket, *list_request, std::move(list)), kept));
  return reply;
}

// Tells those that wait for it what a thread has made, or that it has failed.
class KeyRuns::OwnSearch {
 public:
  OwnSearch(KeyRuns& runs, std::string place, std::shared_ptr<Search> search)
      : runs_(runs), place_(std::move(place)), search_(std::move(search)) {}
  OwnSearch(const OwnSearch&) = delete;
  OwnSearch& operator=(const OwnSearch&) = delete;
  ~OwnSearch() {
    const model::MutexLock lock(runs_.mutex_);
    search_->run = run_;
    search_->has_ended = true;
    const auto known = runs_.searches_.find(place_);
    if (known != runs_.searches_.end() && known->second == search_)
      runs_.searches_.erase(known);
    runs_.has_ended_.NotifyAll();
  }
  void End(Ptr run) { run_ = std::move(run); }

 private:
  KeyRuns& runs_;
  const std::string place_;
  const std::shared_ptr<Search> search_;
  Ptr run_;
};

Result<KeyRuns::Ptr> KeyRuns::FindOrMake(const std::string& folder, const std::string& after,
                                         KeyRun::Clock::duration most_age, const Make& make) {
  constexpr auto kLookAtClient = std::chrono::milliseconds(50);
  const auto now = KeyRun::Clock::now();
  const auto since = now - most_age;
  const std::string place = folder + '\0' + after;
  const auto own = std::make_shared<Search>(Search{.began = now});
  {
    const model::MutexLock lock(mutex_);
    for (;;) {
      if (Ptr kept = Find(folder, after, since)) return kept;
      auto& known = searches_[place];
      const auto other = known;
      if (!other || other->began < since) {
        known = own;
        break;
      }
      while (!other->has_ended) {
        NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
        has_ended_.WaitFor(mutex_, kLookAtClient);
      }
      if (other->run) return other->run;
    }
  }
  OwnSearch search(*this, place, own);
  NDLFS_TRY(Ptr run, make());
  search.End(run);
  if (run->entries.size() > kMostKeys) {
    const model::MutexLock lock(mutex_);
    Keep(folder, run);
  }
  return run;
}

KeyRuns::Ptr KeyRuns::Find(const std::string& folder, const std::string& after,
                           KeyRun::Clock::time_point since) {
  const auto kept = kept_.find(folder);
  if (kept == kept_.end()) return nullptr;
  const KeyRun& run = *kept->second;
  const bool has_next = run.is_all || after < run.entries.back().key;
  return run.made >= since && run.from <= after && has_next ? kept->second : nullptr;
}

void KeyRuns::Keep(const std::string& folder, Ptr run) {
  kept_.insert_or_assign(folder, std::move(run));
  if (kept_.size() <= kMostRuns) return;
  kept_.erase(std::ranges::min_element(kept_, {},
                                       [](const auto& entry) { return entry.second->made; }));
}

std::optional<KeyRun::Clock::duration> KeyRuns::DropOld(KeyRun::Clock::time_point now) {
  const model::MutexLock lock(mutex_);
  std::erase_if(kept_,
                [&](const auto& entry) { return now - entry.second->made > kLongestKept; });
  return kept_.empty() ? std::nullopt : std::optional(kLongestKept);
}

void DescribeS3Error(HttpReply& reply) {
  static const std::map<unsigned, std::string_view> codes = {
      {kBadRequest, "InvalidArgument"},
      {kForbidden, "AccessDenied"},
      {kAbsent, "NoSuchKey"},
      {kMethodNotAllowed, "MethodNotAllowed"},
      {kPreconditionFailed, "PreconditionFailed"},
      {kRangeNotSatisfiable, "InvalidRange"},
      {kTooManyRequests, "SlowDown"},
      {kNotImplemented, "NotImplemented"},
      {kUnavailable, "SlowDown"}};
  const auto code = codes.find(reply.status);
  SetContentType(reply, "application/xml");
  reply.text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{}</Code><Message>{}</Message>"
      "</Error>\n",
      code == codes.end() ? "InternalError" : code->second, HtmlText(reply.text));
}

}  // namespace ndlfs::fs
