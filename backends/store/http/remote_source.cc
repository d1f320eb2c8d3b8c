// SPDX-License-Identifier: MIT
#include "backends/store/http/remote_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "backends/store/file_name.h"
#include "backends/store/keys.h"

namespace ndlfs::backends {
namespace {

constexpr uint64_t kMaxLooks = 1 << 16;
constexpr uint64_t kNamesBytes = 64 << 20;
constexpr uint64_t kDocumentsBytes = 32 << 20;
constexpr uint64_t kMaxDocument = 4 << 20;
constexpr size_t kMaxNames = 4 << 20;
// Short reads of a file read, and keep, a block of it.
constexpr uint64_t kBlock = 128 << 10;
constexpr uint64_t kShortRead = 32 << 10;
constexpr uint64_t kBlocksBytes = 16 << 20;
constexpr uint64_t kMaxPage = 64 << 20;
// Reading on costs less than another request, up to such a gap.
constexpr uint64_t kMaxGap = 1 << 20;
constexpr uint64_t kMaxJoined = 16 << 20;

bool IsRedirect(int status) { return status >= 300 && status < 400; }

// Pages for people: sites send one, with status 200, for a file that they do not have.
model::Result<void> RefuseHtml(const HttpResponse& head) {
  if (!head.Find("content-type").starts_with("text/html")) return {};
  return model::Corrupt("the server answers with a page of HTML");
}

HttpRequest ForFile(HttpRequest request, std::string_view path) {
  request.is_file = true;
  if (!path.ends_with(".html") && !path.ends_with(".htm")) request.check_head = &RefuseHtml;
  return request;
}

std::string ParentOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(path.substr(0, slash == path.npos ? 0 : slash));
}

bool IsWhole(const ReadOptions& options) {
  return options.range.offset == 0 && !options.from_end &&
         options.range.length == ByteRange::kToEnd;
}

// What answers to requests for one key, one after the other, have to be about: one version.
void RefuseMixtures(std::span<const ReadRequest> requests,
                    std::vector<model::Result<std::optional<Value>>>& answers) {
  const std::optional<Value>* first = nullptr;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i > 0 && requests[i].key != requests[i - 1].key) first = nullptr;
    if (!answers[i]) continue;
    const std::optional<Value>& answer = *answers[i];
    const bool is_same =
        first == nullptr || (answer.has_value() == first->has_value() &&
                             (!answer || answer->info.generation == (*first)->info.generation));
    if (!is_same) {
      answers[i] = model::Stale("changed since it was read first");
    } else if (first == nullptr) {
      first = &answer;
    }
  }
}

// A weak ETag cannot be used in If-Match, nor can what stands for one that is missing.
bool IsStrongTag(std::string_view tag) { return tag.starts_with('"'); }

}  // namespace

// Some requests that are sent together.
class RemoteSource::Round {
 public:
  explicit Round(const RemoteSource& source) : source_(source) {}

  // Asks for the file at `path`. The result is the number of the request.
  size_t AddLook(const std::string& path) {
    HttpRequest request = ForFile(source_.service_->FileRequest(path), path);
    Bytes& bytes = documents_.emplace_back();
    if (source_.IsDocument(path) && !source_.HasDocument(path)) {
      request.reserve = [&bytes](uint64_t total) -> model::Result<ByteSpan> {
        bytes = Bytes(std::min(total, kMaxDocument));
        return bytes.span();
      };
    } else {
      request.method = HttpMethod::kHead;
    }
    return Add(std::move(request), path);
  }
  size_t AddList(const std::string& path) {
    documents_.emplace_back();
    HttpRequest request = source_.service_->ListRequest(path, "");
    request.limit = kMaxPage;
    return Add(std::move(request), path);
  }
  void Send() { answers_ = source_.client_->SendMany(requests_); }

  model::Result<HttpResponse>& answer(size_t i) { return answers_[i]; }

  model::Result<Look> TakeLook(size_t i) {
    NDLFS_TRY(HttpResponse response, std::move(answers_[i]));
    if (IsRedirect(response.status) && !source_.service_->lists_are_complete()) {
      return source_.Keep(paths_[i], {.kind = Look::Kind::kDirectory});
    }
    // Some servers have no HEAD, or do not tell the size.
    const bool has_no_head = response.status == 405 || response.status == 501 ||
                             (response.status == 200 && !response.total_size);
    if (has_no_head && requests_[i].method == HttpMethod::kHead) {
      NDLFS_TRY(response, source_.AskForFirstByte(paths_[i]));
    }
    NDLFS_TRY(const bool is_absent, source_.service_->IsAbsent(response));
    if (is_absent) return source_.Keep(paths_[i], {});
    const ValueInfo info = InfoOf(response);
    if (requests_[i].reserve && response.count == info.size) {
      source_.KeepDocument(paths_[i],
                           {std::make_shared<const Bytes>(std::move(documents_[i])), info});
    }
    return source_.Keep(paths_[i], {.kind = Look::Kind::kFile, .info = info});
  }

 private:
  size_t Add(HttpRequest request, const std::string& path) {
    requests_.push_back(std::move(request));
    paths_.push_back(path);
    return requests_.size() - 1;
  }

  const RemoteSource& source_;
  std::vector<HttpRequest> requests_;
  std::vector<std::string> paths_;
  std::deque<Bytes> documents_;
  std::vector<model::Result<HttpResponse>> answers_;
};

class RemoteSource::Listing final : public DirectoryListing {
 public:
  Listing(std::shared_ptr<const RemoteSource> source, std::string path, NamesPtr names)
      : source_(std::move(source)), path_(std::move(path)), names_(std::move(names)) {}

  model::Result<const Entry*> Next() override {
    if (next_ >= names_->objects.size()) return nullptr;
    const ListedObject& object = names_->objects[next_++];
    entry_ = {object.name, object.is_directory ? FileKind::kDirectory : FileKind::kFile,
              static_cast<int64_t>(next_)};
    return &entry_;
  }
  void Seek(int64_t position) override { next_ = static_cast<size_t>(position); }
  model::Result<std::optional<FileStatus>> StatEntry() override {
    return source_->Stat(JoinKey(path_, entry_.name), Follow::kNo);
  }

 private:
  const std::shared_ptr<const RemoteSource> source_;
  const std::string path_;
  const NamesPtr names_;
  size_t next_ = 0;
  Entry entry_;
};

// The files below a directory.
class RemoteSource::RemoteStore final : public Store {
 public:
  RemoteStore(std::shared_ptr<const RemoteSource> source, std::string path)
      : source_(std::move(source)), path_(std::move(path)) {}

  bool looks_are_requests() const override { return true; }

  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    return StatMany({&key, 1}).front();
  }

  std::vector<model::Result<std::optional<ValueInfo>>> StatMany(
      std::span<const std::string_view> keys) const override {
    std::vector<model::Result<std::optional<ValueInfo>>> answers;
    std::vector<std::string> paths;
    for (const std::string_view key : keys) {
      const auto checked = CheckKey(key);
      if (!checked) {
        for (const std::string_view each : keys) answers.push_back(StatAlone(each));
        return answers;
      }
      paths.push_back(JoinKey(path_, key));
    }
    for (const auto& look : source_->LookAtFiles(paths)) answers.push_back(ToInfo(look));
    return answers;
  }

  std::vector<model::Result<std::optional<Value>>> ReadMany(
      std::span<const ReadRequest> requests) const override {
    const bool are_sound =
        std::all_of(requests.begin(), requests.end(), [](const auto& request) {
          return CheckKey(request.key).has_value() && request.options.range.length != 0;
        });
    if (!are_sound) return Store::ReadMany(requests);
    return source_->ReadTogether(
        *this, requests, [this](const std::string& key) { return JoinKey(path_, key); });
  }

  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    if (!prefix.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(prefix));
    NDLFS_TRY(const auto names, source_->ListNames(JoinKey(path_, prefix)));
    std::vector<StoreEntry> entries;
    entries.reserve(names->objects.size());
    for (const ListedObject& object : names->objects) {
      entries.push_back({object.name, object.is_directory});
    }
    return entries;
  }

  std::string Describe(std::string_view key) const override {
    return JoinKey(source_->Describe(path_), key);
  }

 private:
  static model::Result<std::optional<ValueInfo>> ToInfo(const model::Result<Look>& look) {
    if (!look) return model::Propagate(look.error());
    if (look->kind != Look::Kind::kFile) return std::nullopt;
    return look->info;
  }
  model::Result<std::optional<ValueInfo>> StatAlone(std::string_view key) const {
    NDLFS_RETURN_IF_ERROR(CheckKey(key));
    return Stat(key);
  }
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    NDLFS_RETURN_IF_ERROR(CheckKey(key));
    return source_->ReadFile(JoinKey(path_, key), options, reserve);
  }

  const std::shared_ptr<const RemoteSource> source_;
  const std::string path_;
};

// One version of a file: the one that it is read in first.
class RemoteSource::PinnedFile final : public Store {
 public:
  PinnedFile(std::shared_ptr<const RemoteSource> source, std::string path)
      : source_(std::move(source)), path_(std::move(path)) {}

  bool looks_are_requests() const override { return true; }

  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    if (!key.empty() || !CheckKey(path_)) return std::nullopt;
    NDLFS_TRY(const Look look, source_->LookAtFiles({&path_, 1}).front());
    if (look.kind != Look::Kind::kFile) return std::nullopt;
    return look.info;
  }
  std::vector<model::Result<std::optional<Value>>> ReadMany(
      std::span<const ReadRequest> requests) const override {
    const auto version = pinned();
    std::vector<ReadRequest> wanted(requests.begin(), requests.end());
    for (ReadRequest& request : wanted) {
      const bool is_plain = request.key.empty() && request.options.range.length != 0 &&
                            (!version || !request.options.if_match ||
                             *request.options.if_match == version->generation);
      if (!is_plain || !CheckKey(path_)) return Store::ReadMany(requests);
      if (version) request.options.if_match = version->generation;
    }
    auto answers = source_->ReadTogether(*this, wanted, [this](const auto&) { return path_; });
    for (auto& answer : answers) {
      if (!answer) continue;
      const auto found = *answer ? std::optional((*answer)->info) : std::nullopt;
      if (const auto same = Pin(found); !same) answer = model::Propagate(same.error());
    }
    return answers;
  }

  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    if (!prefix.empty()) return std::vector<StoreEntry>();
    NDLFS_TRY(const auto info, Stat(""));
    if (!info) return std::vector<StoreEntry>();
    return std::vector<StoreEntry>{{"", false}};
  }
  std::string Describe(std::string_view) const override { return source_->Describe(path_); }

 private:
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    if (!key.empty()) return std::nullopt;
    NDLFS_RETURN_IF_ERROR(CheckKey(path_));
    auto version = pinned();
    if (!version && BeginsInFirstBlock(options)) {
      NDLFS_TRY(const auto block, source_->ReadBlock(path_, 0, options.if_match));
      NDLFS_RETURN_IF_ERROR(Pin(block ? std::optional(block->info) : std::nullopt));
      if (!block) return std::nullopt;
      source_->KeepBlock(BlockKey(path_, block->info, 0), block->bytes);
      version = block->info;
    }
    if (version && options.if_match && *options.if_match != version->generation) {
      return model::Stale("changed since it was read first");
    }
    if (version) {
      const ByteRange range = options.Clip(version->size);
      if (range.length != 0 && range.length <= kShortRead) {
        return source_->ReadBlocks(path_, *version, range, reserve);
      }
    }
    ReadOptions wanted = options;
    if (version) wanted.if_match = version->generation;
    NDLFS_TRY(const auto result, source_->ReadFile(path_, wanted, reserve));
    NDLFS_RETURN_IF_ERROR(Pin(result ? std::optional(result->info) : std::nullopt));
    return result;
  }

  static bool BeginsInFirstBlock(const ReadOptions& options) {
    const ByteRange& range = options.range;
    return !options.from_end && range.length != 0 && range.length <= kShortRead &&
           range.offset <= kBlock - range.length;
  }

  std::optional<ValueInfo> pinned() const {
    const model::MutexLock lock(mutex_);
    return version_;
  }
  // Keeps the first version that is found (none: there is no file). kStale if it is another
  // one.
  model::Result<void> Pin(const std::optional<ValueInfo>& found) const {
    const model::MutexLock lock(mutex_);
    if (!version_) version_ = found;
    const bool is_same = version_.has_value() == found.has_value() &&
                         (!found || version_->generation == found->generation);
    if (is_same) return {};
    return model::Stale(found ? "changed since it was read first"
                              : "gone since it was read first");
  }

  const std::shared_ptr<const RemoteSource> source_;
  const std::string path_;
  mutable model::Mutex mutex_;
  mutable std::optional<ValueInfo> version_ GUARDED_BY(mutex_);
};

const ListedObject* RemoteSource::Names::Find(std::string_view name) const {
  const auto found =
      std::lower_bound(objects.begin(), objects.end(), name,
                       [](const ListedObject& a, std::string_view b) { return a.name < b; });
  return found != objects.end() && found->name == name ? &*found : nullptr;
}

RemoteSource::RemoteSource(std::shared_ptr<const HttpClient> client,
                           std::shared_ptr<const ObjectService> service, RemoteOptions options)
    : client_(std::move(client)),
      service_(std::move(service)),
      options_(std::move(options)),
      looks_(kMaxLooks),
      names_(kNamesBytes),
      blocks_(kBlocksBytes),
      documents_(kDocumentsBytes) {}

bool RemoteSource::Holds(std::chrono::steady_clock::time_point seen) const {
  return !options_.trusts_looks_for || options_.clock() - seen < *options_.trusts_looks_for;
}

bool RemoteSource::IsDocument(std::string_view path) const {
  const auto& names = options_.documents;
  return std::find(names.begin(), names.end(), FileNameOf(path)) != names.end();
}

bool RemoteSource::HasDocument(std::string_view path) const {
  const model::MutexLock lock(mutex_);
  return documents_.Find(path) != nullptr;
}

FileStatus RemoteSource::StatusOf(std::string_view path, const Look& look) const {
  FileStatus status;
  const std::hash<std::string_view> hash;
  status.id = {hash(name()), hash(path)};
  if (look.kind == Look::Kind::kDirectory) {
    status.kind = FileKind::kDirectory;
    status.mode = 0555;
    return status;
  }
  status.kind = FileKind::kFile;
  status.mode = 0444;
  status.size = look.info.size;
  status.mtime_ns = status.ctime_ns = look.info.modified_ns;
  status.version = look.info.generation;
  return status;
}

std::optional<RemoteSource::Look> RemoteSource::KnownLook(std::string_view path) const {
  {
    const model::MutexLock lock(mutex_);
    const Look* known = looks_.Find(path);
    if (known != nullptr && Holds(known->seen)) return *known;
  }
  if (path.empty()) return std::nullopt;
  const auto names = KnownNames(ParentOf(path));
  if (!names || !names->is_listed) return std::nullopt;
  const ListedObject* object = names->Find(FileNameOf(path));
  if (object == nullptr) {
    return service_->lists_are_complete() ? std::optional(Look()) : std::nullopt;
  }
  if (object->is_directory) return Look{.kind = Look::Kind::kDirectory};
  if (!object->info) return std::nullopt;
  return Look{.kind = Look::Kind::kFile, .info = *object->info};
}

RemoteSource::NamesPtr RemoteSource::KnownNames(std::string_view path) const {
  const model::MutexLock lock(mutex_);
  const NamesPtr* known = names_.Find(path);
  return known != nullptr && Holds((*known)->seen) ? *known : nullptr;
}

RemoteSource::Look RemoteSource::Keep(const std::string& path, Look look) const {
  look.seen = options_.clock();
  const model::MutexLock lock(mutex_);
  looks_.Put(path, look);
  return look;
}

void RemoteSource::KeepDocument(const std::string& path, Document document) const {
  const uint64_t weight = document.info.size + 256;
  const model::MutexLock lock(mutex_);
  documents_.Put(path, std::move(document), weight);
}

std::optional<RemoteSource::Document> RemoteSource::KnownDocument(
    std::string_view path, const ReadOptions& options) const {
  if (!IsDocument(path)) return std::nullopt;
  std::optional<Generation> wanted = options.if_match;
  if (!wanted) {
    const auto look = KnownLook(path);
    if (!look || look->kind != Look::Kind::kFile) return std::nullopt;
    wanted = look->info.generation;
  }
  const model::MutexLock lock(mutex_);
  const Document* known = documents_.Find(path);
  if (known == nullptr || known->info.generation != *wanted) return std::nullopt;
  return *known;
}

model::Result<HttpResponse> RemoteSource::AskForFirstByte(const std::string& path) const {
  HttpRequest request = ForFile(service_->FileRequest(path), path);
  request.range = ByteRange{0, 1};
  NDLFS_TRY(auto response, client_->Send(request));
  if (response.status != 416 || response.total_size != 0u) return response;
  response.status = 200;  // an empty file
  return response;
}

std::vector<model::Result<RemoteSource::Look>> RemoteSource::LookAtFiles(
    std::span<const std::string> paths) const {
  std::vector<model::Result<Look>> looks;
  Round round(*this);
  std::vector<std::optional<size_t>> asked;
  for (const std::string& path : paths) {
    const auto known = KnownLook(path);
    looks.emplace_back(known.value_or(Look()));
    asked.push_back(known ? std::nullopt : std::optional(round.AddLook(path)));
  }
  round.Send();
  for (size_t i = 0; i < paths.size(); ++i) {
    if (asked[i]) looks[i] = round.TakeLook(*asked[i]);
  }
  return looks;
}

model::Result<RemoteSource::Look> RemoteSource::LookAt(const std::string& path) const {
  if (path.empty()) return Look{.kind = Look::Kind::kDirectory};
  if (const auto known = KnownLook(path); known && known->kind != Look::Kind::kAbsent) {
    return *known;
  }
  const auto listed = KnownNames(ParentOf(path));
  if (listed && listed->Find(FileNameOf(path)) != nullptr) {
    return LookAtFiles({&path, 1}).front();
  }
  Round round(*this);
  const size_t file = round.AddLook(path);
  const size_t list = round.AddList(path);
  std::vector<size_t> documents;
  if (!service_->lists_are_complete()) {
    for (const std::string& name : options_.documents) {
      documents.push_back(round.AddLook(JoinKey(path, name)));
    }
  }
  round.Send();
  bool is_directory = false;
  for (const size_t document : documents) {
    const auto look = round.TakeLook(document);
    is_directory |= look && look->kind == Look::Kind::kFile;
  }
  const auto names = FinishNames(path, std::move(round.answer(list)));
  if (names && (*names)->is_listed) {
    is_directory |= !service_->lists_are_complete() || !(*names)->objects.empty();
  }
  auto look = round.TakeLook(file);
  if (look && look->kind != Look::Kind::kAbsent) return look;
  if (is_directory) return Keep(path, {.kind = Look::Kind::kDirectory});
  if (!look) return look;
  if (!names) return model::Propagate(names.error());
  return look;
}

model::Result<RemoteSource::NamesPtr> RemoteSource::ListNames(const std::string& path) const {
  if (auto known = KnownNames(path)) return known;
  HttpRequest request = service_->ListRequest(path, "");
  request.limit = kMaxPage;
  return FinishNames(path, client_->Send(request));
}

model::Result<RemoteSource::NamesPtr> RemoteSource::FinishNames(
    const std::string& path, model::Result<HttpResponse> response) const {
  auto names = std::make_shared<Names>();
  names->seen = options_.clock();
  uint64_t weight = 256;
  for (;;) {
    if (!response) return model::Propagate(response.error());
    NDLFS_TRY(auto page, service_->ParseList(path, *response));
    if (!page) break;
    names->is_listed = true;
    for (ListedObject& object : page->objects) {
      weight += sizeof(ListedObject) + object.name.size();
      if (IsSoundName(object.name)) names->objects.push_back(std::move(object));
    }
    if (names->objects.size() > kMaxNames) {
      return model::Limit("{}: more than {} names", Describe(path), kMaxNames);
    }
    if (page->next.empty()) break;
    HttpRequest request = service_->ListRequest(path, page->next);
    request.limit = kMaxPage;
    response = client_->Send(request);
  }
  // A name that is listed twice counts once, and as a directory if it is one.
  auto& objects = names->objects;
  std::stable_sort(objects.begin(), objects.end(), [](const auto& a, const auto& b) {
    return std::pair(std::string_view(a.name), !a.is_directory) <
           std::pair(std::string_view(b.name), !b.is_directory);
  });
  objects.erase(std::unique(objects.begin(), objects.end(),
                            [](const auto& a, const auto& b) { return a.name == b.name; }),
                objects.end());
  const model::MutexLock lock(mutex_);
  names_.Put(path, names, weight);
  return names;
}

model::Result<std::optional<FileStatus>> RemoteSource::Stat(std::string_view path,
                                                            Follow) const {
  if (!path.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(path));
  NDLFS_TRY(const Look look, LookAt(std::string(path)));
  if (look.kind == Look::Kind::kAbsent) return std::nullopt;
  return StatusOf(path, look);
}

model::Result<std::unique_ptr<DirectoryListing>> RemoteSource::List(
    std::string_view path) const {
  if (!path.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(path));
  const std::string directory(path);
  NDLFS_TRY(const auto names, ListNames(directory));
  const bool is_seen =
      names->is_listed && (!names->objects.empty() || !service_->lists_are_complete());
  if (!is_seen) {
    NDLFS_TRY(const Look look, LookAt(directory));
    if (look.kind == Look::Kind::kAbsent) return model::IoError(ENOENT, "list");
    if (look.kind == Look::Kind::kFile) return model::IoError(ENOTDIR, "list");
  }
  return std::make_unique<Listing>(shared_from_this(), directory, names);
}

std::shared_ptr<const Store> RemoteSource::OpenStore(const std::string& path) const {
  return std::make_shared<RemoteStore>(shared_from_this(), path);
}

std::shared_ptr<const Store> RemoteSource::OpenFile(const std::string& path, Follow) const {
  return std::make_shared<PinnedFile>(shared_from_this(), path);
}

model::Result<std::optional<ReadResult>> RemoteSource::ReadFile(const std::string& path,
                                                                const ReadOptions& options,
                                                                const Reserve& reserve) const {
  if (options.range.length == 0) {
    NDLFS_TRY(const Look look, LookAtFiles({&path, 1}).front());
    if (look.kind != Look::Kind::kFile) return std::nullopt;
    NDLFS_RETURN_IF_ERROR(reserve(look.info.size));
    return ReadResult{0, look.info};
  }
  if (const auto document = KnownDocument(path, options)) {
    NDLFS_TRY(const ByteSpan out, reserve(document->info.size));
    const ByteRange range = options.Clip(document->info.size);
    const size_t count = std::min<uint64_t>(out.size(), range.length);
    const auto bytes = document->bytes->span().subspan(range.offset, count);
    std::copy(bytes.begin(), bytes.end(), out.begin());
    return ReadResult{count, document->info};
  }
  if (IsDocument(path) && !options.if_match) {
    const auto known = KnownLook(path);
    if (known && known->kind == Look::Kind::kAbsent) return std::nullopt;
  }
  return ReadRemote(path, options, reserve);
}

HttpRequest RemoteSource::ReadRequestFor(const std::string& path,
                                         const ReadOptions& options) const {
  HttpRequest request = ForFile(service_->FileRequest(path), path);
  if (!IsWhole(options)) {
    request.range = options.range;
    request.from_end = options.from_end;
  }
  if (options.if_match && IsStrongTag(options.if_match->tag())) {
    request.if_match = options.if_match->tag();
  }
  return request;
}

// Reads of one value that are close to each other, as one request.
class RemoteSource::JoinedRead {
 public:
  explicit JoinedRead(const ReadRequest& first)
      : options_(first.options), limit_(first.limit) {}

  // False if `next` has to be a request of its own.
  bool Add(const ReadRequest& next) {
    const ByteRange& a = options_.range;
    const ByteRange& b = next.options.range;
    const bool are_plain = !options_.from_end && !next.options.from_end &&
                           a.length <= kMaxJoined && b.length <= kMaxJoined &&
                           options_.if_match == next.options.if_match;
    if (!are_plain || b.offset < a.offset || b.offset - a.offset > a.length + kMaxGap) {
      return false;
    }
    const uint64_t length = std::max(a.length, b.offset - a.offset + b.length);
    if (length > kMaxJoined) return false;
    options_.range.length = length;
    limit_ = kMaxJoined;
    return true;
  }

  // Must not move afterwards.
  HttpRequest ToRequest(const RemoteSource& source, const std::string& path) {
    HttpRequest request = source.ReadRequestFor(path, options_);
    request.reserve = [this](uint64_t total_size) -> model::Result<ByteSpan> {
      whole_ = options_.Clip(total_size);
      if (whole_.length > limit_) return BeyondLimit(whole_.length, limit_);
      bytes_ = Bytes(whole_.length);
      return bytes_.span();
    };
    return request;
  }

  // What `request` asks for, of an answer about a value that is `info`.
  model::Result<std::optional<Value>> Part(const ReadRequest& request,
                                           const ValueInfo& info) const {
    if (request.options.if_match && *request.options.if_match != info.generation) {
      return model::Stale("changed since it was read first");
    }
    const ByteRange part = request.options.Clip(info.size);
    if (part.length > request.limit) return BeyondLimit(part.length, request.limit);
    if (part.length == 0) return Value{Bytes(), info};
    return Value{Bytes::Copy(bytes_.span().subspan(part.offset - whole_.offset, part.length)),
                 info};
  }

 private:
  static model::Failure BeyondLimit(uint64_t size, uint64_t limit) {
    return model::Limit("{} bytes, more than the limit of {}", size, limit);
  }

  ReadOptions options_;
  uint64_t limit_;
  ByteRange whole_;
  Bytes bytes_;
};

std::vector<model::Result<std::optional<Value>>> RemoteSource::ReadTogether(
    const Store& store, std::span<const ReadRequest> requests,
    const std::function<std::string(const std::string& key)>& path_of) const {
  std::deque<JoinedRead> joined;
  std::vector<size_t> of;  // the number of the joined read, by request
  std::vector<HttpRequest> sent;
  for (size_t i = 0; i < requests.size(); ++i) {
    const bool joins = i > 0 && requests[i].key == requests[i - 1].key &&
                       requests[i].options.range.length != 0 && joined.back().Add(requests[i]);
    if (!joins) joined.emplace_back(requests[i]);
    of.push_back(joined.size() - 1);
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (of[i] == sent.size())
      sent.push_back(joined[of[i]].ToRequest(*this, path_of(requests[i].key)));
  }
  const auto responses = client_->SendMany(sent);
  std::vector<model::Result<std::optional<Value>>> answers;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& response = responses[of[i]];
    if (!response) {
      answers.push_back(model::Propagate(response.error()));
    } else if (response->status == 416) {  // one of several may be beyond the end
      answers.push_back(store.Get(requests[i].key, requests[i].limit, requests[i].options));
    } else if (const auto is_absent = service_->IsAbsent(*response); !is_absent) {
      answers.push_back(model::Propagate(is_absent.error()));
    } else if (*is_absent) {
      answers.push_back(std::nullopt);
    } else {
      answers.push_back(joined[of[i]].Part(requests[i], InfoOf(*response)));
    }
  }
  RefuseMixtures(requests, answers);
  return answers;
}

void RemoteSource::KeepBlock(const std::string& key, const Bytes& bytes) const {
  auto block = std::make_shared<const Bytes>(Bytes::Copy(bytes.span()));
  const model::MutexLock lock(mutex_);
  blocks_.Put(key, block, block->size() + 256);
}

std::string RemoteSource::BlockKey(const std::string& path, const ValueInfo& info, uint64_t i) {
  return fmt::format("{}\n{}\n{}\n{}", path, info.generation.tag(), info.size, i);
}

// The block with number `i` of the file, or of that version of it.
model::Result<std::optional<Value>> RemoteSource::ReadBlock(
    const std::string& path, uint64_t i, const std::optional<Generation>& version) const {
  Bytes bytes;
  const auto reserve = [&](uint64_t total_size) -> model::Result<ByteSpan> {
    bytes = Bytes(ReadOptions{{i * kBlock, kBlock}, false, {}}.Clip(total_size).length);
    return bytes.span();
  };
  NDLFS_TRY(const auto result,
            ReadFile(path, {.range = {i * kBlock, kBlock}, .if_match = version}, reserve));
  if (!result) return std::nullopt;
  if (version && result->info.generation != *version) {
    return model::Stale("changed since it was read first");
  }
  if (result->count != bytes.size()) return model::Corrupt("it was cut short while being read");
  return Value{std::move(bytes), result->info};
}

model::Result<std::shared_ptr<const Bytes>> RemoteSource::Block(const std::string& path,
                                                                const ValueInfo& info,
                                                                uint64_t i) const {
  const std::string key = BlockKey(path, info, i);
  {
    const model::MutexLock lock(mutex_);
    for (;;) {
      if (const auto* known = blocks_.Find(key)) return *known;
      if (loading_.insert(key).second) break;
      loaded_.Wait(mutex_);  // somebody else reads it
    }
  }
  // Whoever waits has to be woken, even if there is no memory.
  struct Turn {
    const RemoteSource& source;
    const std::string& key;
    ~Turn() {
      const model::MutexLock lock(source.mutex_);
      source.loading_.erase(key);
      source.loaded_.NotifyAll();
    }
  } const turn{*this, key};
  auto value = ReadBlock(path, i, info.generation);
  if (!value) return model::Propagate(value.error());
  if (!*value) return model::Stale("gone since it was read first");
  auto block = std::make_shared<const Bytes>(std::move((*value)->bytes));
  const model::MutexLock lock(mutex_);
  blocks_.Put(key, block, block->size() + 256);
  return block;
}

model::Result<std::optional<ReadResult>> RemoteSource::ReadBlocks(
    const std::string& path, const ValueInfo& info, ByteRange range,
    const Reserve& reserve) const {
  std::vector<std::shared_ptr<const Bytes>> blocks;
  const uint64_t first = range.offset / kBlock;
  for (uint64_t i = first; i <= (range.offset + range.length - 1) / kBlock; ++i) {
    NDLFS_TRY(auto block, Block(path, info, i));
    blocks.push_back(std::move(block));
  }
  NDLFS_TRY(const ByteSpan out, reserve(info.size));
  const size_t count = std::min<uint64_t>(out.size(), range.length);
  for (size_t done = 0; done < count;) {
    const uint64_t at = range.offset + done;
    const auto block = blocks[at / kBlock - first]->span();
    const uint64_t within = at % kBlock;
    if (within >= block.size()) return model::Corrupt("it was cut short while being read");
    const auto part =
        block.subspan(within, std::min<uint64_t>(count - done, block.size() - within));
    std::copy(part.begin(), part.end(), out.subspan(done).begin());
    done += part.size();
  }
  return ReadResult{count, info};
}

model::Result<std::optional<ReadResult>> RemoteSource::ReadRemote(
    const std::string& path, const ReadOptions& options, const Reserve& reserve) const {
  HttpRequest request = ReadRequestFor(path, options);
  ByteSpan memory;
  request.reserve = [&](uint64_t total_size) -> model::Result<ByteSpan> {
    NDLFS_TRY(memory, reserve(total_size));
    return memory;
  };
  NDLFS_TRY(const HttpResponse response, client_->Send(request));
  if (response.status == 416) return ReadNothing(path, reserve);
  NDLFS_TRY(const bool is_absent, service_->IsAbsent(response));
  if (is_absent) return std::nullopt;
  const ReadResult result{response.count, InfoOf(response)};
  if (IsWhole(options) && IsDocument(path) && result.count == result.info.size &&
      result.count <= kMaxDocument) {
    KeepDocument(path, {std::make_shared<const Bytes>(Bytes::Copy(memory.first(result.count))),
                        result.info});
  }
  return result;
}

model::Result<std::optional<ReadResult>> RemoteSource::ReadNothing(
    const std::string& path, const Reserve& reserve) const {
  // The answer does not tell the version.
  Round round(*this);
  const size_t file = round.AddLook(path);
  round.Send();
  NDLFS_TRY(const Look look, round.TakeLook(file));
  if (look.kind != Look::Kind::kFile) return std::nullopt;
  NDLFS_RETURN_IF_ERROR(reserve(look.info.size));
  return ReadResult{0, look.info};
}

}  // namespace ndlfs::backends
