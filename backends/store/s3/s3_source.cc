// SPDX-License-Identifier: MIT
#include "backends/store/s3/s3_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "backends/store/keys.h"
#include "backends/store/s3/folder_list.h"
#include "backends/store/s3/look_memory.h"
#include "backends/store/s3/s3_store.h"
#include "backends/store/s3/tree.h"

namespace ndlfs::backends::s3 {
namespace {

using TreePtr = std::shared_ptr<const Tree>;

class Listing final : public DirectoryListing {
 public:
  Listing(TreePtr tree, std::string path)
      : tree_(std::move(tree)),
        path_(std::move(path)),
        begun_(std::chrono::steady_clock::now()) {
    starts_.push_back({});
  }

  // Reads the first page: whether there is such a directory.
  model::Result<bool> Begin() {
    if (const FolderNames known = tree_->memory().FindNames(path_)) {
      names_ = *known;
      page_ = 0;
      return true;
    }
    NDLFS_RETURN_IF_ERROR(Load(0));
    return !names_.empty() || starts_.size() > 1;
  }

  model::Result<const Entry*> Next() override {
    // A page may be empty although others follow.
    for (size_t empty = 0;; ++empty) {
      if (page_ != wanted_page_) NDLFS_RETURN_IF_ERROR(Load(wanted_page_));
      if (index_ < names_.size()) break;
      if (page_ + 1 >= starts_.size()) return nullptr;
      if (empty > kMostEmptyPages) return model::BadInput("the list has no end");
      wanted_page_ = page_ + 1;
      index_ = 0;
    }
    const ListedName& name = names_[index_++];
    entry_ = {name.name, name.kind,
              static_cast<int64_t>((static_cast<uint64_t>(page_) << kIndexBits) + index_)};
    return &entry_;
  }

  void Seek(int64_t position) override {
    const auto number = static_cast<uint64_t>(position);
    wanted_page_ = std::min<size_t>(number >> kIndexBits, starts_.size() - 1);
    index_ = number & ((1u << kIndexBits) - 1);
  }

  model::Result<std::optional<FileStatus>> StatEntry() override {
    const std::string path = JoinKey(path_, entry_.name);
    if (tree_->remembers() && index_ > 0 && index_ <= names_.size()) {
      if (const auto status = StatusOf(names_[index_ - 1], path)) return status;
    }
    return tree_->Stat(path);
  }

 private:
  // A page has at most 8 MiB, and each name takes some bytes of it.
  static constexpr unsigned kIndexBits = 23;
  static constexpr size_t kMostEmptyPages = 100;

  model::Result<void> Load(size_t page) {
    NDLFS_TRY(NamePage read,
              ReadNamePage(tree_->bucket(), tree_->FolderKey(path_), starts_[page]),
              tree_->Describe(path_));
    names_ = std::move(read.names);
    page_ = wanted_page_ = page;
    if (page != pages_read_) return {};
    ++pages_read_;
    Gather(read.next.has_value());
    if (read.next) starts_.push_back(*std::move(read.next));
    return {};
  }

  // Remembers the whole list, if it is not too long.
  void Gather(bool goes_on) {
    if (gathered_.size() + names_.size() > LookMemory::kMostNames) is_long_ = true;
    if (is_long_) {
      gathered_ = {};
      return;
    }
    gathered_.insert(gathered_.end(), names_.begin(), names_.end());
    if (goes_on || (gathered_.empty() && !path_.empty())) return;
    std::sort(gathered_.begin(), gathered_.end(),
              [](const ListedName& a, const ListedName& b) { return a.name < b.name; });
    tree_->memory().NoteNames(
        path_, std::make_shared<std::vector<ListedName>>(std::move(gathered_)), begun_);
  }

  const TreePtr tree_;
  const std::string path_;
  const std::chrono::steady_clock::time_point begun_;
  std::vector<PageStart> starts_;  // of all pages that are known
  size_t pages_read_ = 0;          // from the first one on
  size_t page_ = SIZE_MAX;         // whose names are here
  std::vector<ListedName> names_;
  size_t wanted_page_ = 0;
  size_t index_ = 0;  // of the next name in the wanted page
  std::vector<ListedName> gathered_;
  bool is_long_ = false;
  Entry entry_;
};

class S3Source final : public Source {
 public:
  explicit S3Source(TreePtr tree) : tree_(std::move(tree)) {}

  const std::string& name() const override { return tree_->name(); }
  // Buckets of different servers may have one name.
  std::string identity() const override {
    const std::string& endpoint = tree_->bucket().endpoint();
    return endpoint.empty() ? name() : endpoint + " " + name();
  }
  bool looks_are_requests() const override { return true; }

  model::Result<std::optional<FileStatus>> Stat(std::string_view path, Follow) const override {
    return tree_->Stat(std::string(path));
  }

  model::Result<std::unique_ptr<DirectoryListing>> List(std::string_view path) const override {
    if (!path.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(path));
    auto listing = std::make_unique<Listing>(tree_, std::string(path));
    NDLFS_TRY(const bool is_there, listing->Begin());
    if (is_there || path.empty()) return listing;
    NDLFS_TRY(const auto status, tree_->Stat(std::string(path)));
    if (!status) return model::IoError(ENOENT, tree_->Describe(path));
    if (!status->is_directory()) return model::IoError(ENOTDIR, tree_->Describe(path));
    return listing;
  }

  std::shared_ptr<const Store> OpenStore(const std::string& path) const override {
    return MakeDirectoryStore(tree_, path);
  }
  using Source::OpenFile;
  std::shared_ptr<const Store> OpenFile(const std::string& path, Follow) const override {
    return MakeFileStore(tree_, path);
  }

 private:
  const TreePtr tree_;
};

}  // namespace

model::Result<std::shared_ptr<const Source>> OpenS3Source(
    const std::string& url, const S3SourceOptions& options,
    std::shared_ptr<const HttpClient> client) {
  NDLFS_TRY(const Location location, ParseLocation(url));
  NDLFS_TRY(auto bucket, Bucket::Open(location.bucket, options.bucket, std::move(client)));
  return std::make_shared<S3Source>(
      std::make_shared<Tree>(std::move(bucket), location, options.remember));
}

}  // namespace ndlfs::backends::s3
