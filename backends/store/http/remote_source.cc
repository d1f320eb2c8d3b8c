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
constexpr uint64_t kMaxPage = 64 << 20;

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
    ReadOptions wanted = options;
    {
      const model::MutexLock lock(mutex_);
      if (version_ && options.if_match && *options.if_match != *version_) {
        return model::Stale("changed since it was read first");
      }
      if (version_) wanted.if_match = version_;
    }
    NDLFS_TRY(const auto result, source_->ReadFile(path_, wanted, reserve));
    const model::MutexLock lock(mutex_);
    if (!result) {
      if (version_) return model::Stale("gone since it was read first");
      return std::nullopt;
    }
    if (!version_) version_ = result->info.generation;
    if (*version_ != result->info.generation) {
      return model::Stale("changed since it was read first");
    }
    return result;
  }

  const std::shared_ptr<const RemoteSource> source_;
  const std::string path_;
  mutable model::Mutex mutex_;
  mutable std::optional<Generation> version_ GUARDED_BY(mutex_);
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

model::Result<std::optional<ReadResult>> RemoteSource::ReadRemote(
    const std::string& path, const ReadOptions& options, const Reserve& reserve) const {
  HttpRequest request = ForFile(service_->FileRequest(path), path);
  const bool is_whole = options.range.offset == 0 && !options.from_end &&
                        options.range.length == ByteRange::kToEnd;
  if (!is_whole) {
    request.range = options.range;
    request.from_end = options.from_end;
  }
  if (options.if_match && IsStrongTag(options.if_match->tag())) {
    request.if_match = options.if_match->tag();
  }
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
  if (is_whole && IsDocument(path) && result.count == result.info.size &&
      result.count <= kMaxDocument) {
    KeepDocument(path, {std::make_shared<const Bytes>(Bytes::Copy(memory.first(result.count))),
                        result.info});
  }
  return result;
}

model::Result<std::optional<ReadResult>> RemoteSource::ReadNothing(
    const std::string& path, const Reserve& reserve) const {
  NDLFS_TRY(const HttpResponse response, AskForFirstByte(path));
  NDLFS_TRY(const bool is_absent, service_->IsAbsent(response));
  if (is_absent) return std::nullopt;
  const ValueInfo info = InfoOf(response);
  NDLFS_RETURN_IF_ERROR(reserve(info.size));
  return ReadResult{0, info};
}

}  // namespace ndlfs::backends
