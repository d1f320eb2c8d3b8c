// SPDX-License-Identifier: MIT
#include "backends/store/http/remote_tree.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

#include "backends/store/file_name.h"
#include "backends/store/keys.h"

namespace ndlfs::backends {
namespace {

constexpr uint64_t kMaxDocument = 4 << 20;
// A look at a directory lists so many names: all that a store has beside its chunks.
constexpr unsigned kNamesOfLook = 100;

bool IsRedirect(int status) { return status >= 300 && status < 400; }

}  // namespace

// Some requests that are sent together.
class RemoteTree::Round {
 public:
  explicit Round(const RemoteTree& tree) : tree_(tree), begun_(tree.memory_.Now()) {}

  // Asks for the file at `path`. The result is the number of the request.
  size_t AddLook(const std::string& path) {
    HttpRequest request = tree_.service_->FileRequest(path);
    Bytes& bytes = documents_.emplace_back();
    if (tree_.IsDocument(path) && !tree_.memory_.FindDocument(path)) {
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
  void Send() { answers_ = tree_.client_->SendMany(requests_); }

  model::Result<Look> TakeLook(size_t i) {
    const ObjectService& service = *tree_.service_;
    NDLFS_TRY(HttpResponse response, std::move(answers_[i]));
    if (IsRedirect(response.status) && !service.lists_are_complete()) {
      return Keep(i, {.kind = Look::Kind::kDirectory});
    }
    // Some servers have no HEAD, or do not tell the size.
    const bool has_no_head = response.status == 405 || response.status == 501 ||
                             (response.status == 200 && !response.total_size);
    if (has_no_head && requests_[i].method == HttpMethod::kHead) {
      NDLFS_TRY(response, tree_.AskForFirstByte(paths_[i]));
    }
    NDLFS_TRY(const bool is_absent, service.IsAbsent(response));
    if (is_absent) return Keep(i, {});
    const ValueInfo info = service.InfoOf(response);
    if (requests_[i].reserve && response.count == info.size) {
      tree_.memory_.NoteDocument(
          paths_[i], {std::make_shared<const Bytes>(std::move(documents_[i])), info});
    }
    return Keep(i, {.kind = Look::Kind::kFile, .info = info});
  }

  // Remembers the names, if these are all.
  model::Result<std::optional<ListPage>> TakeList(size_t i) {
    NDLFS_TRY(auto page, tree_.ToPage(paths_[i], {}, answers_[i]));
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
    tree_.memory_.NoteFile(paths_[i], look);
    return look;
  }

  const RemoteTree& tree_;
  const std::chrono::steady_clock::time_point begun_;
  std::vector<HttpRequest> requests_;
  std::vector<std::string> paths_;
  std::deque<Bytes> documents_;
  std::vector<model::Result<HttpResponse>> answers_;
};

RemoteTree::RemoteTree(std::shared_ptr<const HttpClient> client,
                       std::shared_ptr<const ObjectService> service, RemoteOptions options)
    : client_(std::move(client)),
      service_(std::move(service)),
      documents_(std::move(options.documents)),
      memory_({options.trusts_looks_for, service_->lists_are_complete(),
               std::move(options.clock)}) {}

std::string RemoteTree::Describe(std::string_view path) const {
  return DescribeIn(service_->name(), path);
}

bool RemoteTree::IsDocument(std::string_view path) const {
  return std::find(documents_.begin(), documents_.end(), FileNameOf(path)) != documents_.end();
}

model::Result<HttpResponse> RemoteTree::AskForFirstByte(const std::string& path) const {
  HttpRequest request = service_->FileRequest(path);
  request.range = ByteRange{0, 1};
  NDLFS_TRY(auto response, client_->Send(request));
  if (response.status != 416 || response.total_size != 0u) return response;
  response.status = 200;  // an empty file
  return response;
}

std::vector<model::Result<Look>> RemoteTree::LookAtFiles(
    std::span<const std::string> paths) const {
  std::vector<model::Result<Look>> looks;
  Round round(*this);
  std::vector<std::optional<size_t>> asked;
  for (const std::string& path : paths) {
    const auto known = memory_.FindFile(path);
    looks.emplace_back(known.value_or(Look()));
    asked.push_back(known ? std::nullopt : std::optional(round.AddLook(path)));
  }
  round.Send();
  for (size_t i = 0; i < paths.size(); ++i) {
    if (asked[i]) looks[i] = round.TakeLook(*asked[i]);
  }
  return looks;
}

model::Result<Look> RemoteTree::LookAgain(const std::string& path) const {
  Round round(*this);
  const size_t file = round.AddLook(path);
  round.Send();
  return round.TakeLook(file);
}

model::Result<Look> RemoteTree::LookAt(const std::string& path) const {
  const auto known = memory_.Find(path);
  if (service_->lists_are_complete()) {
    if (known) return *known;
    // Nobody has a directory with the name of a document.
    const auto file = IsDocument(path) ? memory_.FindFile(path) : std::nullopt;
    if (file && file->kind == Look::Kind::kFile) return *file;
    NDLFS_TRY(const Look look, LookByList(path), Describe(path));
    memory_.Note(path, look);
    return look;
  }
  if (path.empty()) return Look{.kind = Look::Kind::kDirectory};
  if (known && known->kind != Look::Kind::kAbsent) return *known;
  return LookByName(path);
}

std::vector<std::string> RemoteTree::DocumentsIn(const std::string& path) const {
  std::vector<std::string> paths;
  for (const std::string& name : documents_) paths.push_back(JoinKey(path, name));
  return paths;
}

// What is not listed may be there. A directory may be known by its documents alone.
model::Result<Look> RemoteTree::LookByName(const std::string& path) const {
  const size_t slash = path.rfind('/');
  const auto listed = memory_.FindNames(path.substr(0, slash == path.npos ? 0 : slash));
  if (listed && FindName(listed->objects, FileNameOf(path)) != nullptr) {
    return LookAtFiles({&path, 1}).front();
  }
  Round round(*this);
  const size_t file = round.AddLook(path);
  const size_t list = round.AddList(path);
  std::vector<size_t> documents;
  for (const std::string& document : DocumentsIn(path)) {
    documents.push_back(round.AddLook(document));
  }
  round.Send();
  bool is_directory = false;
  for (const size_t document : documents) {
    const auto look = round.TakeLook(document);
    is_directory |= look && look->kind == Look::Kind::kFile;
  }
  const auto page = round.TakeList(list);
  if (page && *page) is_directory |= (*page)->is_directory;
  auto look = round.TakeLook(file);
  if (look && look->kind != Look::Kind::kAbsent) return look;
  if (is_directory) {
    const Look directory = {.kind = Look::Kind::kDirectory};
    memory_.Note(path, directory);
    return directory;
  }
  if (!look) return look;
  if (!page) return model::Propagate(page.error());
  return look;
}

// A directory hides a file of its name. In a bucket that may not be listed, files and stores
// are still found.
model::Result<Look> RemoteTree::LookByList(const std::string& path) const {
  const Look directory = {.kind = Look::Kind::kDirectory};
  Round round(*this);
  const size_t list = round.AddList(path);
  const auto file = path.empty() ? std::nullopt : std::optional(round.AddLook(path));
  round.Send();
  const auto page = round.TakeList(list);
  if (page && *page && (*page)->is_directory) return directory;
  const bool is_refused = !page && page.error().sys_errno() == EACCES;
  if (!page && !is_refused) return model::Propagate(page.error());
  // The top is there, though it has nothing yet: as a bucket without objects.
  if (!file) return directory;
  auto look = round.TakeLook(*file);
  if (look && look->kind == Look::Kind::kFile) return look;
  if (!is_refused) return look;
  for (const auto& document : LookAtFiles(DocumentsIn(path))) {
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
