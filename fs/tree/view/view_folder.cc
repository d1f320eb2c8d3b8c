// SPDX-License-Identifier: MIT
#include "fs/tree/view/view_folder.h"

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fs/tree/store/store_attributes.h"
#include "fs/tree/view/view_file.h"
#include "fs/tree/xattr.h"

namespace ndlfs::fs {
namespace {

using StorePtr = std::shared_ptr<MountedStore>;

// Keeps the directory of the version that was there when the listing began.
class ViewFolderReader final : public DirectoryReader {
 public:
  explicit ViewFolderReader(ViewDirectoryPtr directory)
      : directory_(std::move(directory)), listing_(directory_->List()) {}

  KeptObjects kept() const override { return {{directory_.get(), directory_->held_bytes()}}; }
  model::Result<std::optional<DirectoryEntry>> Next() override {
    NDLFS_TRY(auto entry, listing_->Next());
    if (!entry) return std::nullopt;
    return DirectoryEntry{std::move(entry->name),
                          entry->is_directory ? mode_t{S_IFDIR} : mode_t{S_IFREG}};
  }
  void Rewind() override { listing_ = directory_->List(); }

 private:
  const ViewDirectoryPtr directory_;
  std::unique_ptr<ViewListing> listing_;
};

// The view itself, or a directory below it.
class ViewFolder final : public DirectoryNode {
 public:
  // `below` is the path in the view; empty for the view itself.
  ViewFolder(MountContext& context, StorePtr store, std::string path, std::string name,
             std::string below, const Attributes& attributes)
      : context_(context),
        store_(std::move(store)),
        path_(std::move(path)),
        name_(std::move(name)),
        below_(std::move(below)),
        attributes_(attributes) {}

  model::Result<Attributes> Stat() const override { return attributes_; }
  bool DependsOnCaller() const override { return store_->is_shared(); }
  model::Result<TreeNodePtr> Lookup(std::string_view name) const override;
  // The whole view is made already, and knows the sizes of its files.
  bool ListsAttributesOf(mode_t type) const override {
    return S_ISREG(type) && !DependsOnCaller() && !context_.source->looks_are_requests();
  }
  std::optional<ListedFile> FindListed(std::string_view name) const override;
  model::Result<std::optional<std::string>> GetExtendedAttribute(
      std::string_view name) const override {
    if (name != kCostName) return std::nullopt;
    NDLFS_TRY(const Present present, Find());
    NDLFS_TRY(const auto cost, present.directory->FindCost(), name_);
    return cost ? std::optional(DescribeCost(*cost)) : std::nullopt;
  }
  model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override {
    NDLFS_TRY(const Present present, Find());
    return std::make_unique<ViewFolderReader>(present.directory);
  }

 private:
  // What is here now, as the calling thread's caller sees it.
  struct Present {
    StorePtr store;
    FoundView view;
    ViewDirectoryPtr directory;
  };

  model::Result<Present> Find() const {
    NDLFS_TRY(StorePtr store, context_.catalog.OfCaller(store_));
    NDLFS_TRY(FoundView view, FindViewAgain(store, path_, name_, below_));
    ViewDirectoryPtr directory = DirectoryOf(view.node);
    if (directory == nullptr) return model::HasChanged(path_);
    return Present{std::move(store), std::move(view), std::move(directory)};
  }

  MountContext& context_;
  const StorePtr store_;
  const std::string path_;  // NDL path name
  const std::string name_;  // of the view: the true one
  const std::string below_;
  const Attributes attributes_;
};

TreeNodePtr MakeNode(MountContext& context, StorePtr store, FoundView view, std::string below) {
  if (ViewPtr file = FileOf(view.node)) {
    return MakeViewFile(context, std::move(store), std::move(view.entity), std::move(view.made),
                        std::move(file), std::move(below));
  }
  Attributes attributes = FileAttributes(*store, *view.entity, *view.made);
  const mode_t readable = attributes.mode & 0444;
  attributes.mode = S_IFDIR | readable | readable >> 2;
  return std::make_shared<ViewFolder>(context, std::move(store), view.entity->path(),
                                      view.made->name, std::move(below), attributes);
}

model::Result<TreeNodePtr> ViewFolder::Lookup(std::string_view name) const {
  NDLFS_TRY(Present present, Find());
  NDLFS_TRY(present.view.node, present.directory->Find(name));
  std::string below = below_.empty() ? std::string(name) : below_ + '/' + std::string(name);
  return MakeNode(context_, std::move(present.store), std::move(present.view),
                  std::move(below));
}

std::optional<ListedFile> ViewFolder::FindListed(std::string_view name) const {
  const auto present = Find();
  if (!present) return std::nullopt;
  const auto node = present->directory->Find(name);
  const ViewPtr file = node ? FileOf(*node) : nullptr;
  // Only a lookup may decode to find a size.
  const FileSize size = file ? file->size() : FileSize();
  if (!size) return std::nullopt;
  const auto& [entity, made, directory] = present->view;
  return DescribeViewFile(*entity, FileAttributes(*present->store, *entity, *made), *size,
                          made.get());
}

}  // namespace

TreeNodePtr MakeViewNode(MountContext& context, StorePtr store, EntityPtr entity,
                         EntityViewPtr made) {
  FoundView view{std::move(entity), made, made->node};
  return MakeNode(context, std::move(store), std::move(view), {});
}

}  // namespace ndlfs::fs
