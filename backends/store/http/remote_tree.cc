// SPDX-License-Identifier: MIT
#include "backends/store/http/remote_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <utility>

#include "backends/store/answer_age.h"
#include "backends/store/file_name.h"
#include "backends/store/keys.h"

namespace ndlfs::backends {
namespace {

// How many names to list when looking at a directory: a store has no more files than that,
// except for its chunks.
constexpr unsigned kNamesOfLook = 100;
// More directories than this in one directory are not looked into before somebody asks, and
// longer lists are not read then: most directories of a store are arrays, and hold their
// chunks.
constexpr size_t kMostAhead = 16;
constexpr uint64_t kLongestListAhead = 256 << 10;
// Nobody calls a file so.
constexpr std::string_view kNobodysName = "no-such-file.ndlfs";
// How long it is taken for granted that a store can, or cannot, be read.
constexpr std::chrono::seconds kReadableHolds{5};
constexpr std::chrono::seconds kUnreadableHolds{1};
constexpr size_t kMostReadable = 1 << 12;
constexpr size_t kMostTimes = 1 << 14;
// A chunk is so many folders below the document of its array at most, with that of the group.
constexpr size_t kMostFoldersAround = 12;
constexpr size_t kMostAskedAround = 4;
// An older lead of a clock does not count any more when a smaller one is told.
constexpr std::chrono::minutes kClockHolds{1};

std::vector<std::string> DocumentsIn(const std::string& path,
                                     std::span<const std::string_view> names) {
  std::vector<std::string> paths;
  for (const std::string_view name : names) paths.push_back(JoinKey(path, name));
  return paths;
}
std::vector<std::string> DocumentsIn(const std::string& path,
                                     const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  return DocumentsIn(path, views);
}

}  // namespace

// Some requests that are sent together.
class RemoteTree::Round {
 public:
  explicit Round(const RemoteTree& tree) : tree_(tree), begun_(tree.memory_.Now()) {}

  // Asks for the file at `path`. The result is the number of the request.
  size_t AddLook(const std::string& path) {
    HttpRequest request = tree_.FileRequest(path);
    Bytes& bytes = documents_.emplace_back();
    const bool is_to_be_read = tree_.IsToBeRead(path);
    const auto known = is_to_be_read ? std::nullopt : tree_.AskUnlessKnown(path, request);
    if (known) unless_[requests_.size()] = *known;
    if (is_to_be_read || known) {
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
    return Add(tree_.service_->ListRequest(path, {}, kNamesOfLook), path);
  }
  // The same, of answers that are only to be remembered. Does not list a directory where a
  // pointer tells as much.
  void AddDirectories(std::span<const std::string> paths) {
    for (const std::string& path : paths) {
      if (const auto pointer = tree_.KnownPointer(path)) {
        pointers_along_[AddLook(*pointer)] = path;
      } else {
        lists_along_.push_back(AddList(path));
      }
    }
  }
  void AddListAhead(const std::string& path) {
    lists_along_.push_back(AddList(path));
    requests_.back().limit = kLongestListAhead;
  }
  // Asks for those files about which nothing is known, to remember the answers.
  void AddUnknown(std::span<const std::string> paths) {
    for (const std::string& path : paths) {
      if (!tree_.memory_.FindFile(path)) looks_along_.push_back(AddLook(path));
    }
  }
  // Asks for those documents that are there, as far as is known, and have not been read.
  void AddUnread(std::span<const std::string> paths) {
    for (const std::string& path : paths) {
      const auto known = tree_.memory_.FindFile(path);
      const bool is_unread =
          known && known->kind == Look::Kind::kFile && tree_.IsToBeRead(path);
      if (is_unread) looks_along_.push_back(AddLook(path));
    }
  }
  // The same of documents; has_document() tells after Send() whether there is one of them.
  void AddDocuments(std::span<const std::string> paths) {
    for (const std::string& path : paths) {
      const auto known = tree_.memory_.FindFile(path);
      if (!known) asked_documents_.push_back(AddLook(path));
      has_document_ |= known && known->kind == Look::Kind::kFile;
    }
  }
  bool has_document() const { return has_document_; }

  void Send() {
    answers_ = tree_.client_->SendMany(requests_);
    for (const size_t look : looks_along_) (void)TakeLook(look);
    for (const size_t document : asked_documents_) {
      const auto look = TakeLook(document);
      has_document_ |= look && look->kind == Look::Kind::kFile;
    }
    for (const auto& [pointer, folder] : pointers_along_) {
      const auto look = TakeLook(pointer);
      if (look && look->kind == Look::Kind::kFile) (void)tree_.NoteDirectory(folder, begun_);
    }
    for (const size_t list : lists_along_) {
      const auto page = TakeList(list);
      const bool is_directory =
          page && *page && ((*page)->is_directory || paths_[list].empty());
      if (is_directory) (void)tree_.NoteDirectory(paths_[list], begun_);
    }
  }

  model::Result<Look> TakeLook(size_t i) {
    const ObjectService& service = *tree_.service_;
    NDLFS_TRY(HttpResponse response, std::move(answers_[i]));
    HttpRequest request = std::move(requests_[i]);
    tree_.NoteClock(response);
    const auto unless = unless_.find(i);
    if (unless != unless_.end() && response.status == 304) {
      ValueInfo info = unless->second;
      info.modified_ns = std::max(info.modified_ns, response.modified_ns);
      info.is_settled = info.is_settled || IsSettled(response, info.modified_ns);
      const Look same = {.kind = Look::Kind::kFile, .info = tree_.WithTime(paths_[i], info)};
      return Keep(i, same);
    }
    KeyState state = service.StateOf(request, response);
    if (state == KeyState::kUntold) {
      NDLFS_TRY(response, tree_.AskForFirstByte(paths_[i]));
      request.method = HttpMethod::kGet;
      state = service.StateOf(request, response);
    }
    if (state == KeyState::kDirectory && !service.lists_are_complete()) {
      return Keep(i, {.kind = Look::Kind::kDirectory});
    }
    NDLFS_TRY(const bool is_absent, tree_.IsAbsent(paths_[i], request, response));
    if (is_absent) return Keep(i, {});
    const ValueInfo info = tree_.InfoOf(paths_[i], response);
    if (unless != unless_.end() && unless->second.generation == info.generation) {
      tree_.ignores_conditions_ = true;
    }
    if (request.reserve && response.count == info.size) {
      tree_.memory_.NoteDocument(
          paths_[i], {std::make_shared<const Bytes>(std::move(documents_[i])), info});
    } else if (unless != unless_.end()) {
      tree_.memory_.ForgetDocument(paths_[i]);  // it has become too large to be kept
    }
    return Keep(i, {.kind = Look::Kind::kFile, .info = info});
  }

  // Whether the server refuses to list what is there, or may be.
  bool is_refused(size_t list) const {
    const auto& answer = answers_[list];
    return answer && tree_.service_->StateOf(requests_[list], *answer) == KeyState::kRefused;
  }

  bool has_status(size_t i, int status) const {
    return answers_[i] && answers_[i]->status == status;
  }

  // Remembers the names if these are all, and that the server has no listing.
  model::Result<std::optional<ListPage>> TakeList(size_t i) {
    NDLFS_TRY(auto page, tree_.ToPage(paths_[i], {}, answers_[i]));
    if (!page) tree_.memory_.NoteNames(paths_[i], {false, {}}, begun_);
    if (!page || page->next || !page->is_directory) return page;
    tree_.memory_.NoteNames(paths_[i], {true, page->objects}, begun_);
    return page;
  }

 private:
  size_t Add(HttpRequest request, const std::string& path) {
    requests_.push_back(std::move(request));
    paths_.push_back(path);
    return requests_.size() - 1;
  }
  Look Keep(size_t i, const Look& look) {
    tree_.memory_.NoteFile(paths_[i], look, begun_);
    return look;
  }

  const RemoteTree& tree_;
  const std::chrono::steady_clock::time_point begun_;
  std::vector<HttpRequest> requests_;
  std::vector<std::string> paths_;
  std::map<size_t, ValueInfo> unless_;  // the versions not to be sent, by request
  std::vector<size_t> looks_along_;
  std::map<size_t, std::string> pointers_along_;  // to their directories
  std::vector<size_t> lists_along_;
  std::vector<size_t> asked_documents_;
  bool has_document_ = false;
  std::deque<Bytes> documents_;
  std::vector<model::Result<HttpResponse>> answers_;
};

RemoteTree::RemoteTree(std::shared_ptr<const HttpClient> client,
                       std::shared_ptr<const ObjectService> service, RemoteOptions options)
    : client_(std::move(client)),
      service_(std::move(service)),
      documents_(std::move(options.documents)),
      first_documents_(std::move(options.first_documents)),
      extension_(std::move(options.extension)),
      pointers_(std::move(options.pointers)),
      memory_({options.trusts_looks_for, std::move(options.clock)},
              service_->lists_are_complete()),
      times_(kMostTimes),
      readable_(kMostReadable) {}

std::string RemoteTree::Describe(std::string_view path) const {
  return DescribeIn(service_->name(), path);
}

std::optional<std::string> RemoteTree::FolderOfDocument(std::string_view path) const {
  for (const std::string_view document : documents_) {
    if (path == document) return "";
    if (!path.ends_with(document)) continue;
    const size_t folder = path.size() - document.size() - 1;
    if (path[folder] == '/') return std::string(path.substr(0, folder));
  }
  return std::nullopt;
}

HttpRequest RemoteTree::FileRequest(const std::string& path) const {
  HttpRequest request = service_->FileRequest(path);
  request.keeps_gzip = service_->lists_are_complete() && !IsDocument(path);
  return request;
}

model::Result<HttpResponse> RemoteTree::AskForFirstByte(const std::string& path) const {
  HttpRequest request = FileRequest(path);
  request.range = ByteRange{0, 1};
  NDLFS_TRY(auto response, client_->Send(request));
  if (service_->StateOf(request, response) != KeyState::kOutOfRange) return response;
  // An empty file. The answer does not tell its version.
  request.range.reset();
  request.limit = 0;
  return client_->Send(request);
}

model::Result<bool> RemoteTree::IsAbsent(const std::string& path, const HttpRequest& request,
                                         const HttpResponse& response) const {
  const KeyState state = service_->StateOf(request, response);
  switch (state) {
    case KeyState::kPresent:
    case KeyState::kOutOfRange:
      return false;
    case KeyState::kAbsent:
    case KeyState::kDirectory:
      return true;
    case KeyState::kPage:
      if (IsDocument(path) || IsNotListed(path)) return true;
      break;
    case KeyState::kRefused:
      if (IsNotListed(path) || RefusesAbsentFiles(std::string(FolderOf(path)))) return true;
      break;
    default:
      break;
  }
  return model::Propagate(service_->ToError(state, response));
}

// Index pages leave out names that begin with a dot.
bool RemoteTree::IsNotListed(const std::string& path) const {
  const auto names = memory_.FindNames(FolderOf(path));
  const std::string_view name = FileNameOf(path);
  const bool tells = service_->lists_are_complete() || !name.starts_with('.');
  return names && names->is_listed && tells && FindName(names->objects, name) == nullptr;
}

std::optional<bool> RemoteTree::KnownReadable(const std::string& folder) const {
  const Readable* const known = readable_.Find(folder);
  if (known == nullptr) return std::nullopt;
  const auto holds = known->is_readable ? kReadableHolds : kUnreadableHolds;
  if (memory_.Now() - known->when >= holds) return std::nullopt;
  return known->is_readable;
}

// The documents that are known to be there, if there are some, else all that may be.
std::vector<std::string> RemoteTree::DocumentsAround(std::string folder) const {
  std::vector<std::string> known;
  std::vector<std::string> possible;
  for (size_t i = 0; i < kMostFoldersAround; ++i, folder = FolderOf(folder)) {
    for (const std::string& document : DocumentsIn(folder, documents_)) {
      const auto look = memory_.FindFile(document);
      const bool is_there = look && look->kind == Look::Kind::kFile;
      if (is_there || memory_.FindDocument(document)) known.push_back(document);
      if (i < kMostAskedAround) possible.push_back(document);
    }
    if (!known.empty() || folder.empty()) break;
  }
  return known.empty() ? possible : known;
}

// The server is asked now, whatever is remembered: it may refuse everything since a moment ago,
// and then nothing is absent because of that. Nor is it where the server has another answer for
// a name that nobody gives a file.
bool RemoteTree::RefusesAbsentFiles(const std::string& folder) const {
  {
    const model::MutexLock lock(readable_mutex_);
    if (KnownReadable(folder) == std::optional(false)) return false;
    for (std::string above = folder;; above = FolderOf(above)) {
      if (KnownReadable(above) == std::optional(true)) return true;
      if (above.empty()) break;
    }
  }
  const auto documents = DocumentsAround(folder);
  std::vector<HttpRequest> requests;
  const auto add = [&](const std::string& path) {
    requests.push_back(FileRequest(path));
    requests.back().range = ByteRange{0, 1};
  };
  for (const std::string& document : documents) add(document);
  for (const std::string& document : documents) add(JoinKey(FolderOf(document), kNobodysName));
  const auto answers = client_->SendMany(requests);
  const auto has_state = [&](size_t i, KeyState state) {
    return answers[i] && service_->StateOf(requests[i], *answers[i]) == state;
  };
  const model::MutexLock lock(readable_mutex_);
  bool is_readable = false;
  for (size_t i = 0; i < documents.size(); ++i) {
    if (!has_state(i, KeyState::kPresent)) continue;
    if (!has_state(documents.size() + i, KeyState::kRefused)) continue;
    is_readable = true;
    readable_.Put(std::string(FolderOf(documents[i])), {true, memory_.Now()});
  }
  // A request that failed tells nothing about the folder.
  const bool have_all_answers =
      std::ranges::all_of(answers, [](const auto& answer) { return answer.has_value(); });
  if (!is_readable && have_all_answers) readable_.Put(folder, {false, memory_.Now()});
  return is_readable;
}

ValueInfo RemoteTree::InfoOf(const std::string& path, const HttpResponse& response) const {
  return WithTime(path, service_->InfoOf(response));
}

ValueInfo RemoteTree::WithTime(const std::string& path, ValueInfo info) const {
  if (service_->lists_are_complete() || info.modified_ns == 0) return info;
  const model::MutexLock lock(times_mutex_);
  Times* const known = times_.Find(path);
  if (known == nullptr || known->tag != info.generation) {
    times_.Put(path, {info.generation, info.modified_ns, info.modified_ns});
    return info;
  }
  // A young time may be that of each answer.
  if (info.is_settled) known->newest_ns = std::max(known->newest_ns, info.modified_ns);
  if (known->newest_ns != known->first_ns) {
    info.generation =
        Generation::OfTag(fmt::format("{} {}", info.generation.tag(), known->newest_ns));
  }
  return info;
}

std::optional<int64_t> RemoteTree::ClockNs() const {
  const model::MutexLock lock(clock_mutex_);
  if (!clock_lead_) return std::nullopt;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return clock_lead_->lead_ns +
         int64_t{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

// The date of an answer is that of a moment before it came: the largest lead is the nearest.
void RemoteTree::NoteClock(const HttpResponse& response) const {
  const auto clock = ServerClockNs(response);
  if (!clock) return;
  const auto now = std::chrono::steady_clock::now();
  const auto now_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  const int64_t lead = *clock - int64_t{now_ns};
  const model::MutexLock lock(clock_mutex_);
  const bool is_nearer =
      !clock_lead_ || lead > clock_lead_->lead_ns || now - clock_lead_->told_at > kClockHolds;
  if (is_nearer) clock_lead_ = {lead, now};
}

model::Result<void> RemoteTree::CheckTop() const {
  HttpRequest request = service_->ListRequest("", {}, 1);
  if (!service_->lists_are_complete()) request.method = HttpMethod::kHead;
  NDLFS_TRY(const HttpResponse response, client_->Send(request));
  if (!service_->lists_are_complete()) return {};  // that it answers is enough
  const KeyState state = service_->StateOf(request, response);
  // Stores are found by their names where no list may be had.
  if (state == KeyState::kRefused) return {};
  if (state != KeyState::kPresent) {
    return model::Propagate(service_->ToError(state, response));
  }
  NDLFS_RETURN_IF_ERROR(service_->ParseList("", {}, response));
  return {};
}

std::vector<model::Result<Look>> RemoteTree::LookAtFiles(
    std::span<const std::string> paths) const {
  std::vector<model::Result<Look>> looks;
  Round round(*this);
  std::vector<std::optional<size_t>> asked;
  std::vector<std::string> folders;
  for (const std::string& path : paths) {
    const auto known = memory_.FindFile(path);
    looks.emplace_back(known.value_or(Look()));
    asked.push_back(known ? std::nullopt : std::optional(round.AddLook(path)));
    const auto folder = known ? std::nullopt : FolderOfDocument(path);
    if (folder && (folders.empty() || folders.back() != *folder)) folders.push_back(*folder);
  }
  if (folders.size() == 1 && MayList(folders.front())) round.AddDirectories(folders);
  round.Send();
  for (size_t i = 0; i < paths.size(); ++i) {
    if (asked[i]) looks[i] = round.TakeLook(*asked[i]);
  }
  return looks;
}

// Whether a look at the file should be one at its content: it is a document, and nobody has
// read this version of it.
bool RemoteTree::IsToBeRead(const std::string& path) const {
  if (!IsDocument(path)) return false;
  const auto document = memory_.FindDocument(path);
  const auto look = memory_.FindFile(path);
  if (!look || look->kind != Look::Kind::kFile) return !document;
  return look->info.size <= kMaxDocument &&
         (!document || document->info.generation != look->info.generation);
}

bool RemoteTree::IsPointer(std::string_view path) const {
  return std::ranges::any_of(pointers_, [&](std::string_view pointer) {
    return path.ends_with(pointer) &&
           (path.size() == pointer.size() || path[path.size() - pointer.size() - 1] == '/');
  });
}

// Makes the request for a pointer that was read one for other versions of it. Returns the facts
// about the version that was read; nullopt if it is to be asked for in another way.
std::optional<ValueInfo> RemoteTree::AskUnlessKnown(const std::string& path,
                                                    HttpRequest& request) const {
  if (ignores_conditions_ || !IsPointer(path)) return std::nullopt;
  const auto document = memory_.FindDocument(path);
  if (!document) return std::nullopt;
  const bool can_ask = service_->AskUnlessVersion(request, document->info.generation);
  return can_ask ? std::optional(document->info) : std::nullopt;
}

// The pointer of the store in the directory, if it was read.
std::optional<std::string> RemoteTree::KnownPointer(const std::string& path) const {
  for (const std::string& pointer : DocumentsIn(path, pointers_)) {
    HttpRequest request;
    if (AskUnlessKnown(pointer, request)) return pointer;
  }
  return std::nullopt;
}

// The names in a directory whose documents are looked for the first time are asked for next.
// Not where the directory above is not known, as then it is looked for by its name.
bool RemoteTree::MayList(const std::string& path) const {
  if (memory_.FindNames(path) || memory_.FindOwn(path)) return false;
  if (!KnownDocumentsIn(path).empty()) return false;
  if (path.empty()) return !service_->lists_are_complete();
  const auto above = memory_.FindNames(FolderOf(path));
  return above && (above->is_listed || !service_->lists_are_complete());
}

void RemoteTree::LookAhead(const std::string& path, std::span<const std::string_view> names,
                           std::span<const std::string_view> names_below) const {
  const auto listed = memory_.FindNames(path);
  if (!listed || !listed->is_listed) return;
  Round round(*this);
  round.AddUnknown(DocumentsIn(path, names));
  round.AddUnread(DocumentsIn(path, names));
  std::vector<std::string> folders;
  for (const ListedObject& object : listed->objects) {
    if (object.is_directory()) folders.push_back(JoinKey(path, object.name));
  }
  if (names_below.empty() || folders.size() > kMostAhead) folders.clear();
  for (const std::string& folder : folders) {
    if (MayList(folder)) round.AddListAhead(folder);
    round.AddUnknown(DocumentsIn(folder, names_below));
  }
  round.Send();
}

// Where lists are complete, they tell which documents there are.
void RemoteTree::LookTogether(const std::string& path,
                              std::span<const std::string> documents) const {
  if (!memory_.remembers()) return;
  const bool is_known = path.empty() || memory_.Find(path);
  if (service_->lists_are_complete()) {
    Round round(*this);
    std::vector<std::string> folders;
    if (!is_known) folders.push_back(path);
    for (const std::string& document : documents) {
      const std::string folder =
          FolderOfDocument(document).value_or(std::string(FolderOf(document)));
      const bool is_asked = std::ranges::find(folders, folder) != folders.end();
      if (!is_asked && !memory_.Find(folder)) folders.push_back(folder);
    }
    round.AddDirectories(folders);
    return round.Send();
  }
  if (is_known) return (void)LookAtFiles(documents);
  (void)LookByName(path, documents);
}

std::vector<model::Result<Look>> RemoteTree::LookAgain(
    std::span<const std::string> paths) const {
  Round round(*this);
  for (const std::string& path : paths) round.AddLook(path);
  round.Send();
  std::vector<model::Result<Look>> looks;
  for (size_t i = 0; i < paths.size(); ++i) looks.push_back(round.TakeLook(i));
  return looks;
}

model::Result<Look> RemoteTree::LookAt(const std::string& path) const {
  const auto known = memory_.Find(path);
  if (service_->lists_are_complete()) {
    if (known) return *known;
    // Nobody has a directory with the name of a document.
    const auto file = IsDocument(path) ? memory_.FindFile(path) : std::nullopt;
    if (file && file->kind == Look::Kind::kFile) return *file;
    const AnswerAge age(memory_.Now());
    NDLFS_TRY(const Look look, LookByList(path), Describe(path));
    memory_.Note(path, look, age.since());
    return look;
  }
  if (path.empty()) return Look{.kind = Look::Kind::kDirectory};
  if (known && known->kind != Look::Kind::kAbsent) return *known;
  return LookByName(path);
}

// A file that is not listed may still exist. A directory may be known by its documents alone.
// `along`: documents to look for as well.
model::Result<Look> RemoteTree::LookByName(const std::string& path,
                                           std::span<const std::string> along) const {
  const AnswerAge age(memory_.Now());
  const auto listed = memory_.FindNames(FolderOf(path));
  if (listed && FindName(listed->objects, FileNameOf(path)) != nullptr) {
    return LookAtFiles({&path, 1}).front();
  }
  if (const auto store = LookForKnownStore(path, along)) return *store;
  if (!first_documents_.empty() && HasExtension(FileNameOf(path), extension_)) {
    if (const auto store = LookForStore(path, along)) return *store;
    along = {};
  }
  Round round(*this);
  round.AddUnknown(along);
  const size_t file = round.AddLook(path);
  const auto list = memory_.FindNames(path) ? std::nullopt : std::optional(round.AddList(path));
  round.AddDocuments(DocumentsIn(path, documents_));
  round.Send();
  model::Result<std::optional<ListPage>> page = std::nullopt;
  if (list) page = round.TakeList(*list);
  const bool is_listed = page && *page && (*page)->is_directory;
  if ((is_listed || round.has_document()) && round.has_status(file, 403)) {
    return NoteDirectory(path, age.since());
  }
  auto look = round.TakeLook(file);
  if (look && look->kind != Look::Kind::kAbsent) return look;
  if (is_listed || round.has_document()) return NoteDirectory(path, age.since());
  if (!look) return look;
  if (!page) return model::Propagate(page.error());
  return look;
}

// If the name is that of a store, its first documents may make all other requests unnecessary.
std::optional<Look> RemoteTree::LookForStore(const std::string& path,
                                             std::span<const std::string> along) const {
  const AnswerAge age(memory_.Now());
  Round round(*this);
  round.AddUnknown(along);
  round.AddDocuments(DocumentsIn(path, first_documents_));
  const size_t list = round.AddList(path);
  round.Send();
  const auto page = round.TakeList(list);
  const bool is_listed = page && *page && (*page)->is_directory;
  if (!is_listed && !round.has_document()) return std::nullopt;
  return NoteDirectory(path, age.since());
}

// The documents in the directory that were read at some time.
std::vector<std::string> RemoteTree::KnownDocumentsIn(const std::string& path) const {
  std::vector<std::string> known = DocumentsIn(path, documents_);
  std::erase_if(known,
                [&](const std::string& document) { return !memory_.FindDocument(document); });
  return known;
}

// Where documents were read before is still a directory if one of them is there.
std::optional<Look> RemoteTree::LookForKnownStore(const std::string& path,
                                                  std::span<const std::string> along) const {
  const auto known = KnownDocumentsIn(path);
  if (known.empty()) return std::nullopt;
  const AnswerAge age(memory_.Now());
  Round round(*this);
  round.AddUnknown(along);
  round.AddDocuments(known);
  round.Send();
  if (!round.has_document()) return std::nullopt;
  return NoteDirectory(path, age.since());
}

Look RemoteTree::NoteDirectory(const std::string& path, Trust::Time when) const {
  const Look directory = {.kind = Look::Kind::kDirectory};
  memory_.Note(path, directory, when);
  return directory;
}

// A directory hides a file of its name. In a bucket that may not be listed, files and stores
// are still found.
model::Result<Look> RemoteTree::LookByList(const std::string& path) const {
  const Look directory = {.kind = Look::Kind::kDirectory};
  if (const auto pointer = KnownPointer(path)) {
    const auto look = LookAgain({&*pointer, 1}).front();
    if (look && look->kind == Look::Kind::kFile) return directory;
  }
  if (!path.empty() && !KnownDocumentsIn(path).empty()) {  // most likely it still is one
    Round round(*this);
    const size_t list = round.AddList(path);
    round.Send();
    const auto page = round.TakeList(list);
    if (page && *page && (*page)->is_directory) return directory;
  }
  Round round(*this);
  const size_t list = round.AddList(path);
  const auto file = path.empty() ? std::nullopt : std::optional(round.AddLook(path));
  round.Send();
  const auto page = round.TakeList(list);
  if (page && *page && (*page)->is_directory) return directory;
  const bool is_refused = !page && round.is_refused(list);
  if (!page && !is_refused) return model::Propagate(page.error());
  // The top is there, though it has nothing yet: as a bucket without objects.
  if (!file) return directory;
  auto look = round.TakeLook(*file);
  if (look && look->kind == Look::Kind::kFile) return look;
  if (!is_refused) return look;
  for (const auto& document : LookAtFiles(DocumentsIn(path, documents_))) {
    if (document && document->kind == Look::Kind::kFile) return directory;
  }
  return model::Propagate(page.error());
}

model::Result<std::optional<ListPage>> RemoteTree::ReadPage(const std::string& path,
                                                            const PageStart& start,
                                                            unsigned most_names) const {
  return ToPage(path, start, client_->Send(service_->ListRequest(path, start, most_names)));
}

model::Result<std::optional<ListPage>> RemoteTree::ToPage(
    const std::string& path, const PageStart& start,
    const model::Result<HttpResponse>& response) const {
  if (!response) return model::Propagate(response.error());
  NDLFS_TRY(auto page, service_->ParseList(path, start, *response), Describe(path));
  return page;
}

}  // namespace ndlfs::backends
