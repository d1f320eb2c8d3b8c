// SPDX-License-Identifier: MIT
#include "backends/store/s3/s3_store.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backends/store/keys.h"
#include "backends/store/partial_listing.h"
#include "backends/store/s3/folder_list.h"
#include "backends/store/s3/objects.h"
#include "model/mutex.h"

namespace ndlfs::backends::s3 {
namespace {

using TreePtr = std::shared_ptr<const Tree>;
using Info = model::Result<std::optional<ValueInfo>>;
using Answer = model::Result<std::optional<Value>>;

class DirectoryStore final : public Store, public PartialListing {
 public:
  DirectoryStore(TreePtr tree, std::string path)
      : tree_(std::move(tree)), path_(std::move(path)) {}

  bool looks_are_requests() const override { return true; }
  bool ReadsInParts() const override { return true; }

  Info Stat(std::string_view key) const override {
    return std::move(StatMany({&key, 1}).front());
  }

  std::vector<Info> StatMany(std::span<const std::string_view> keys) const override {
    std::vector<std::string> paths;
    for (const std::string_view key : keys) {
      if (auto checked = CheckKey(key); !checked) {
        return std::vector<Info>(keys.size(), model::Propagate(std::move(checked).error()));
      }
      paths.push_back(PathOf(key));
    }
    std::vector<Info> infos = tree_->StatObjects(paths);
    for (const Info& info : infos) NoteSuccess(info && *info);
    for (Info& info : infos) {
      if (!info && IsAbsentHere(info.error())) info = std::nullopt;
    }
    return infos;
  }

  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    return ListSome(prefix, SIZE_MAX);
  }

  model::Result<std::vector<StoreEntry>> ListSome(std::string_view prefix,
                                                  size_t limit) const override {
    if (!prefix.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(prefix));
    const std::string path = PathOf(prefix);
    std::vector<StoreEntry> entries;
    if (const FolderNames known = tree_->memory().FindNames(path)) {
      for (const ListedName& name : *known) Add(name, limit, entries);
      return entries;
    }
    NDLFS_RETURN_IF_ERROR(ListPages(path, limit, entries), tree_->Describe(path));
    std::sort(entries.begin(), entries.end(),
              [](const StoreEntry& a, const StoreEntry& b) { return a.name < b.name; });
    return entries;
  }

  std::vector<Answer> ReadMany(std::span<const ReadRequest> requests) const override {
    std::vector<ReadRequest> of_keys;
    for (const ReadRequest& request : requests) {
      if (!CheckKey(request.key)) return Store::ReadMany(requests);
      of_keys.push_back(request);
      of_keys.back().key = tree_->KeyOf(PathOf(request.key));
    }
    auto answers = ReadObjects(tree_->bucket(), of_keys);
    for (const Answer& answer : answers) NoteSuccess(answer && *answer);
    for (Answer& answer : answers) {
      if (!answer && IsAbsentHere(answer.error())) answer = std::nullopt;
    }
    return answers;
  }

  std::string Describe(std::string_view key) const override {
    return tree_->Describe(PathOf(key));
  }

 private:
  static constexpr size_t kMostEmptyPages = 100;

  std::string PathOf(std::string_view key) const { return JoinKey(path_, key); }

  static void Add(const ListedName& name, size_t limit, std::vector<StoreEntry>& entries) {
    if (entries.size() == limit) return;
    entries.push_back({name.name, name.kind == FileKind::kDirectory});
  }

  model::Result<void> ListPages(const std::string& path, size_t limit,
                                std::vector<StoreEntry>& entries) const {
    const auto most = static_cast<unsigned>(std::min<size_t>(limit, kPageNames));
    const auto begun = std::chrono::steady_clock::now();
    std::vector<ListedName> all;
    PageStart start;
    for (size_t empty = 0; empty < kMostEmptyPages;) {
      NDLFS_TRY(NamePage page,
                ReadNamePage(tree_->bucket(), tree_->FolderKey(path), start, most));
      empty = page.names.empty() ? empty + 1 : 0;
      for (ListedName& name : page.names) {
        Add(name, limit, entries);
        if (all.size() <= LookMemory::kMostNames) all.push_back(std::move(name));
      }
      if (!page.next) {
        Remember(path, std::move(all), begun);
        return {};
      }
      if (entries.size() >= limit) return {};
      start = *std::move(page.next);
    }
    return model::BadInput("the list has no end");
  }

  void Remember(const std::string& path, std::vector<ListedName> all,
                std::chrono::steady_clock::time_point begun) const {
    if (all.size() > LookMemory::kMostNames) return;
    std::sort(all.begin(), all.end(),
              [](const ListedName& a, const ListedName& b) { return a.name < b.name; });
    tree_->memory().NoteNames(path, std::make_shared<std::vector<ListedName>>(std::move(all)),
                              begun);
  }

  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    NDLFS_RETURN_IF_ERROR(CheckKey(key));
    const std::string path = PathOf(key);
    if (const auto known = tree_->memory().FindObject(path); known && !*known) {
      return std::nullopt;
    }
    auto result = ReadObject(tree_->bucket(), tree_->KeyOf(path), options, reserve);
    NoteSuccess(result && *result);
    if (!result && IsAbsentHere(result.error())) return std::nullopt;
    if (result && !*result) tree_->memory().NoteObject(path, std::nullopt);
    return result;
  }

  void NoteSuccess(bool is_value) const {
    if (is_value) has_values_.store(true, std::memory_order_relaxed);
  }

  // A bucket that may be read by everybody but not listed answers 403 for keys that it does not
  // have. It may mean that only where something of the store could be read.
  bool IsAbsentHere(const model::Error& error) const {
    return error.sys_errno() == EACCES && tree_->bucket().is_anonymous() &&
           has_values_.load(std::memory_order_relaxed);
  }

  const TreePtr tree_;
  const std::string path_;
  mutable std::atomic<bool> has_values_ = false;
};

// One version of one object.
class FileStore final : public Store {
 public:
  FileStore(TreePtr tree, std::string path) : tree_(std::move(tree)), path_(std::move(path)) {}

  bool looks_are_requests() const override { return true; }
  bool ReadsInParts() const override { return true; }

  Info Stat(std::string_view key) const override {
    if (!key.empty()) return std::nullopt;
    NDLFS_RETURN_IF_ERROR(CheckKey(path_));
    return std::move(tree_->StatObjects({&path_, 1}).front());
  }

  model::Result<std::vector<StoreEntry>> List(std::string_view) const override {
    return std::vector<StoreEntry>();
  }

  std::vector<Answer> ReadMany(std::span<const ReadRequest> requests) const override {
    const bool plain =
        std::all_of(requests.begin(), requests.end(),
                    [](const ReadRequest& request) { return request.key.empty(); });
    const auto version = first();
    if (!plain || !version || *version == std::nullopt) return Store::ReadMany(requests);
    std::vector<ReadRequest> pinned;
    for (const ReadRequest& request : requests) {
      if (request.options.if_match && request.options.if_match != **version) {
        return Store::ReadMany(requests);
      }
      pinned.push_back(request);
      pinned.back().key = tree_->KeyOf(path_);
      pinned.back().options.if_match = **version;
    }
    auto answers = ReadObjects(tree_->bucket(), pinned);
    for (Answer& answer : answers) {
      if (answer && !*answer) answer = model::HasChanged(tree_->Describe(path_));
    }
    return answers;
  }

  std::string Describe(std::string_view key) const override {
    return tree_->Describe(JoinKey(path_, key));
  }

 private:
  // The version that was read first; nullopt in it: there was none.
  using First = std::optional<std::optional<Generation>>;

  First first() const {
    model::MutexLock lock(mutex_);
    return first_;
  }

  // False if another thread has read another version before.
  bool SetFirst(const std::optional<Generation>& found) const {
    model::MutexLock lock(mutex_);
    if (!first_) first_ = found;
    return *first_ == found;
  }

  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    if (!key.empty()) return std::nullopt;
    NDLFS_RETURN_IF_ERROR(CheckKey(path_));
    ReadOptions pinned = options;
    const First version = first();
    if (version && *version && !pinned.if_match) pinned.if_match = **version;
    NDLFS_TRY(const auto result,
              ReadObject(tree_->bucket(), tree_->KeyOf(path_), pinned, reserve));
    std::optional<Generation> found;
    if (result) found = result->info.generation;
    if (!SetFirst(found)) return model::HasChanged(tree_->Describe(path_));
    return result;
  }

  const TreePtr tree_;
  const std::string path_;
  mutable model::Mutex mutex_;
  mutable First first_ GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<const Store> MakeDirectoryStore(TreePtr tree, std::string path) {
  return std::make_shared<DirectoryStore>(std::move(tree), std::move(path));
}

std::shared_ptr<const Store> MakeFileStore(TreePtr tree, std::string path) {
  return std::make_shared<FileStore>(std::move(tree), std::move(path));
}

}  // namespace ndlfs::backends::s3
