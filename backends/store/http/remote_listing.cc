// SPDX-License-Identifier: MIT
#include "backends/store/http/remote_listing.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/store/keys.h"

namespace ndlfs::backends {
namespace {

// A list in several pages with more names is not remembered.
constexpr size_t kMostNames = 10'000;
// A page may be empty although others follow.
constexpr size_t kMostEmptyPages = 100;

// Gathers the pages of a list, to remember it when it is complete.
class Gatherer {
 public:
  Gatherer(const RemoteTree& tree, const std::string& path)
      : tree_(tree), path_(path), begun_(tree.memory().Now()) {}

  void Add(const std::optional<ListPage>& page) {
    if (!page) return tree_.memory().NoteNames(path_, {false, {}}, begun_);
    is_long_ |= (page->next || pages_ > 0) && names_.size() + page->objects.size() > kMostNames;
    ++pages_;
    if (is_long_) {
      names_ = {};
      return;
    }
    names_.insert(names_.end(), page->objects.begin(), page->objects.end());
    if (page->next || !page->is_directory) return;
    std::sort(names_.begin(), names_.end(),
              [](const ListedObject& a, const ListedObject& b) { return a.name < b.name; });
    tree_.memory().NoteNames(path_, {true, std::move(names_)}, begun_);
  }

 private:
  const RemoteTree& tree_;
  const std::string path_;
  const std::chrono::steady_clock::time_point begun_;
  size_t pages_ = 0;
  bool is_long_ = false;
  std::vector<ListedObject> names_;
};

class RemoteListing final : public DirectoryListing {
 public:
  RemoteListing(std::shared_ptr<const RemoteTree> tree, std::string path)
      : tree_(std::move(tree)), path_(std::move(path)), gatherer_(*tree_, path_) {
    starts_.emplace_back();
  }

  // Reads the first page: whether it shows that there is such a directory.
  model::Result<bool> Begin() {
    if (const auto known = tree_->memory().FindNames(path_)) {
      objects_ = known->objects;
      page_ = 0;
      return known->is_listed;
    }
    NDLFS_RETURN_IF_ERROR(Load(0));
    return is_directory_;
  }

  model::Result<const Entry*> Next() override {
    for (size_t empty = 0;; ++empty) {
      if (page_ != wanted_page_) NDLFS_RETURN_IF_ERROR(Load(wanted_page_));
      if (index_ < objects_.size()) break;
      if (page_ + 1 >= starts_.size()) return nullptr;
      if (empty > kMostEmptyPages) return model::BadInput("the list has no end");
      wanted_page_ = page_ + 1;
      index_ = 0;
    }
    const ListedObject& object = objects_[index_++];
    entry_ = {object.name, object.kind,
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
    if (tree_->memory().remembers() && index_ > 0 && index_ <= objects_.size()) {
      const ListedObject& object = objects_[index_ - 1];
      if (object.is_directory()) {
        return StatusOf(*tree_, path, {.kind = Look::Kind::kDirectory});
      }
      if (object.kind == FileKind::kFile && object.info) {
        return StatusOf(*tree_, path, {.kind = Look::Kind::kFile, .info = *object.info});
      }
    }
    NDLFS_TRY(const Look look, tree_->LookAt(path));
    if (look.kind == Look::Kind::kAbsent) return std::nullopt;
    return StatusOf(*tree_, path, look);
  }

 private:
  // A page has at most 64 MiB, and each name takes some bytes of it.
  static constexpr unsigned kIndexBits = 23;

  model::Result<void> Load(size_t page) {
    NDLFS_TRY(auto read, tree_->ReadPage(path_, starts_[page]));
    const bool is_new = page == pages_read_;
    if (is_new) gatherer_.Add(read);
    is_directory_ = read && read->is_directory;
    objects_ = read ? std::move(read->objects) : std::vector<ListedObject>();
    page_ = wanted_page_ = page;
    if (!is_new) return {};
    ++pages_read_;
    if (read && read->next) starts_.push_back(*std::move(read->next));
    return {};
  }

  const std::shared_ptr<const RemoteTree> tree_;
  const std::string path_;
  Gatherer gatherer_;
  std::vector<PageStart> starts_;  // of all pages that are known
  size_t pages_read_ = 0;          // from the first one on
  size_t page_ = SIZE_MAX;         // whose names are here
  bool is_directory_ = false;
  std::vector<ListedObject> objects_;
  size_t wanted_page_ = 0;
  size_t index_ = 0;  // of the next name in the wanted page
  Entry entry_;
};

}  // namespace

model::Result<std::unique_ptr<DirectoryListing>> ListDirectory(
    const std::shared_ptr<const RemoteTree>& tree, const std::string& path) {
  auto listing = std::make_unique<RemoteListing>(tree, path);
  NDLFS_TRY(const bool is_there, listing->Begin());
  if (is_there || path.empty()) return listing;
  NDLFS_TRY(const Look look, tree->LookAt(path));
  if (look.kind == Look::Kind::kAbsent) return model::IoError(ENOENT, tree->Describe(path));
  if (look.kind == Look::Kind::kFile) return model::IoError(ENOTDIR, tree->Describe(path));
  return listing;
}

model::Result<std::vector<ListedObject>> ListNames(const RemoteTree& tree,
                                                   const std::string& path, size_t limit) {
  std::vector<ListedObject> objects;
  if (const auto known = tree.memory().FindNames(path)) {
    const auto count = std::min(limit, known->objects.size());
    objects.assign(known->objects.begin(),
                   known->objects.begin() + static_cast<std::ptrdiff_t>(count));
    return objects;
  }
  Gatherer gatherer(tree, path);
  const auto most = static_cast<unsigned>(std::min<size_t>(limit, kPageNames));
  PageStart start;
  for (size_t empty = 0; empty < kMostEmptyPages;) {
    auto read = tree.ReadPage(path, start, most);
    const bool is_refused = !read && read.error().code() == model::ErrorCode::kDenied;
    // As where a server has no lists: metadata tell what there is.
    if (is_refused && tree.RefusesAbsentFiles(path)) return objects;
    NDLFS_TRY(auto page, std::move(read));
    gatherer.Add(page);
    if (!page) return objects;
    empty = page->objects.empty() ? empty + 1 : 0;
    std::move(page->objects.begin(), page->objects.end(), std::back_inserter(objects));
    if (!page->next || objects.size() >= limit) {
      std::sort(objects.begin(), objects.end(),
                [](const ListedObject& a, const ListedObject& b) { return a.name < b.name; });
      objects.resize(std::min(limit, objects.size()));
      return objects;
    }
    start = *std::move(page->next);
  }
  return model::BadInput("{}: the list has no end", tree.Describe(path));
}

FileStatus StatusOf(const RemoteTree& tree, std::string_view path, const Look& look) {
  FileStatus status;
  const std::hash<std::string_view> hash;
  status.id = {hash(tree.service().name()), hash(path)};
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

}  // namespace ndlfs::backends
