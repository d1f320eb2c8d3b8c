// SPDX-License-Identifier: MIT
#include "fs/tree/store/versions_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/versioned.h"
#include "fs/tree/store/store_attributes.h"
#include "fs/tree/store_tree.h"
#include "model/path_name.h"
#include "model/reserved_names.h"

namespace ndlfs::fs {
namespace {

using backends::Versioned;
using backends::VersionNames;
using model::Result;
using StorePtr = std::shared_ptr<MountedStore>;
using Names = std::vector<std::string>;

constexpr std::string_view kLogName = "log.txt";

struct VersionKind {
  std::string_view folder;
  std::string_view key;        // in OpenOptions::ref
  Names VersionNames::*names;  // null: found by name only, and the name is a time
  bool is_fixed;
};
constexpr std::array<VersionKind, 4> kVersionKinds = {{
    {"branches", "branch", &VersionNames::branches, false},
    {"tags", "tag", &VersionNames::tags, true},
    {"snapshots", "snapshot", &VersionNames::snapshots, true},
    {"at", "at", nullptr, false},
}};

// The store that is open. As long as `hierarchy` is there, so is `versioned`.
struct OpenVersioned {
  HierarchyPtr hierarchy;
  const Versioned* versioned;
};
Result<OpenVersioned> OpenStoreOf(MountedStore& store) {
  NDLFS_TRY(HierarchyPtr hierarchy, store.Hierarchy());
  const auto* versioned = dynamic_cast<const Versioned*>(hierarchy.get());
  if (versioned == nullptr) return model::HasChanged(store.Describe());
  return OpenVersioned{std::move(hierarchy), versioned};
}

// `branches`, `tags`, `snapshots` or `at`.
class VersionList final : public DirectoryNode {
 public:
  VersionList(MountContext& context, StorePtr store, const VersionKind& kind,
              const Attributes& attributes)
      : context_(context), store_(std::move(store)), kind_(kind), attributes_(attributes) {}

  Result<Attributes> Stat() const override { return attributes_; }
  bool DependsOnCaller() const override { return store_->is_shared(); }
  Result<TreeNodePtr> Lookup(std::string_view file_name) const override;
  Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override;

 private:
  Result<std::string> NameOf(MountedStore& store, std::string_view file_name) const;
  Result<std::string> RefOf(MountedStore& store, const std::string& name) const;
  Result<void> Check(MountedStore& store, const std::string& name,
                     const StoreVersion& version) const;

  MountContext& context_;
  const StorePtr store_;
  const VersionKind& kind_;
  const Attributes attributes_;
};

Result<TreeNodePtr> VersionList::Lookup(std::string_view file_name) const {
  NDLFS_TRY(const StorePtr store, context_.catalog.OfCaller(store_));
  NDLFS_TRY(const std::string name, NameOf(*store, file_name));
  StoreVersion version;
  NDLFS_TRY(version.ref, RefOf(*store, name));
  version.folder = fmt::format("{}/{}/{}", model::kVersionsFolderName, kind_.folder, file_name);
  version.is_fixed = kind_.is_fixed;
  StorePtr found = context_.catalog.FindVersion(store, version);
  if (!found->IsSettled()) NDLFS_RETURN_IF_ERROR(Check(*store, name, version));
  return MakeStoreFolder(context_, std::move(found));
}

// The name of the version whose folder is called `file_name`.
Result<std::string> VersionList::NameOf(MountedStore& store, std::string_view file_name) const {
  if (kind_.names == nullptr) return std::string(file_name);
  std::string name = model::DecodeFileName(file_name);
  if (!name.empty()) return name;
  if (!model::IsShortenedFileName(file_name)) return model::NotFound("{}", file_name);
  NDLFS_TRY(const auto names, store.Versions());
  for (const std::string& known : (*names).*kind_.names) {
    if (model::EncodeFileName(known) == file_name) return known;
  }
  return model::NotFound("{}", file_name);
}

Result<std::string> VersionList::RefOf(MountedStore& store, const std::string& name) const {
  if (kind_.names != nullptr) return std::string(kind_.key) + '=' + name;
  NDLFS_TRY(const OpenVersioned open, OpenStoreOf(store));
  return open.versioned->RefAt(name);
}

// After a listing, the names are known, and need no look each.
Result<void> VersionList::Check(MountedStore& store, const std::string& name,
                                const StoreVersion& version) const {
  if (kind_.names != nullptr) {
    const auto known = store.KnownVersions();
    if (known && std::ranges::count((*known).*kind_.names, name) != 0) return {};
  }
  NDLFS_TRY(const OpenVersioned open, OpenStoreOf(store));
  auto found = open.versioned->Check(version.ref);
  if (found || found.error().code() != model::ErrorCode::kBadInput) return found;
  context_.problems.Report(fmt::format("{}/{}: {}", model::OneLine(store.Describe()),
                                       model::OneLine(version.folder),
                                       found.error().message()));
  return model::NotFound("{}", version.folder);
}

Result<std::unique_ptr<DirectoryReader>> VersionList::OpenDirectory() const {
  std::vector<DirectoryEntry> entries;
  if (kind_.names == nullptr) return MakeListReader(std::move(entries));
  NDLFS_TRY(const StorePtr store, context_.catalog.OfCaller(store_));
  NDLFS_TRY(const auto names, store->Versions());
  const Names& listed = (*names).*kind_.names;
  entries.reserve(listed.size());
  for (const std::string& name : listed) {
    entries.push_back({model::EncodeFileName(name), S_IFDIR});
  }
  return MakeListReader(std::move(entries));
}

class VersionsFolder final : public DirectoryNode {
 public:
  VersionsFolder(MountContext& context, StorePtr store, const Attributes& attributes)
      : context_(context), store_(std::move(store)), attributes_(attributes) {}

  Result<Attributes> Stat() const override { return attributes_; }
  bool DependsOnCaller() const override { return store_->is_shared(); }
  Result<TreeNodePtr> Lookup(std::string_view name) const override {
    if (name == kLogName) return MakeLog();
    for (const VersionKind& kind : kVersionKinds) {
      if (kind.folder != name) continue;
      return std::make_shared<VersionList>(context_, store_, kind, attributes_);
    }
    return model::NotFound("{}", name);
  }
  Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override {
    std::vector<DirectoryEntry> entries = {{std::string(kLogName), S_IFREG}};
    for (const VersionKind& kind : kVersionKinds) {
      entries.push_back({std::string(kind.folder), S_IFDIR});
    }
    return MakeListReader(std::move(entries));
  }

 private:
  Result<TreeNodePtr> MakeLog() const {
    NDLFS_TRY(const StorePtr store, context_.catalog.OfCaller(store_));
    NDLFS_TRY(const OpenVersioned open, OpenStoreOf(*store));
    NDLFS_TRY(std::string text, open.versioned->Log(), store->Describe());
    return MakeTextNode(std::move(text), FileAttributes(*store));
  }

  MountContext& context_;
  const StorePtr store_;
  const Attributes attributes_;
};

}  // namespace

Result<TreeNodePtr> FindVersionsFolder(MountContext& context, const StorePtr& store) {
  if (!store->version().ref.empty()) return nullptr;
  const auto hierarchy = store->Hierarchy();
  if (!hierarchy && hierarchy.error().is_momentary()) {
    return model::Propagate(hierarchy.error());
  }
  const bool has_versions =
      hierarchy && dynamic_cast<const Versioned*>(hierarchy->get()) != nullptr;
  if (!has_versions) return nullptr;
  return std::make_shared<VersionsFolder>(context, store, FolderAttributes(store->status(), 0));
}

}  // namespace ndlfs::fs
