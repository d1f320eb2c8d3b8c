// SPDX-License-Identifier: MIT
#include "fs/tree/control_tree.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "backends/detection.h"
#include "backends/store/caller.h"
#include "fs/tree/source_tree.h"
#include "fs/tree/store_tree.h"

namespace ndlfs::fs {
namespace {

constexpr std::string_view kControlName = ".ndlfs";
constexpr std::string_view kMirrorName = "source";

// The file belongs to the user who mounts, and is as old as the mount.
Attributes ControlAttributes(mode_t mode) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t time = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return {.mode = mode,
          .size = 0,
          .uid = ::getuid(),
          .gid = ::getgid(),
          .mtime_ns = time,
          .ctime_ns = time};
}

// A log, as it is at each read.
class LogHandle final : public FileHandle {
 public:
  explicit LogHandle(std::function<std::string()> text) : text_(std::move(text)) {}

  bool is_light() const override { return true; }
  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    const std::string text = text_();
    if (offset >= text.size()) return 0;
    const size_t count = std::min<uint64_t>(out.size(), text.size() - offset);
    std::memcpy(out.data(), text.data() + offset, count);
    return count;
  }

 private:
  const std::function<std::string()> text_;
};

class ControlNode final : public TreeNode {
 public:
  explicit ControlNode(ControlFile file)
      : file_(std::move(file)), attributes_(ControlAttributes(S_IFREG | file_.mode)) {}

  Relation Compare(const TreeNode& fresh) const override {
    return &fresh == this ? Relation::kSame : Relation::kDifferent;
  }
  model::Result<Attributes> Stat() const override {
    Attributes attributes = attributes_;
    if (file_.grows) attributes.size = file_.text().size();
    return attributes;
  }
  bool IsVolatile() const override { return true; }
  model::Result<OpenedFile> Open() override {
    // --uid may show it as the file of another user.
    const auto& caller = backends::CallerScope::Current();
    const bool for_others = (file_.mode & S_IROTH) != 0;
    if (!for_others && caller && !caller->is_self) return model::IoError(EACCES, file_.name);
    if (file_.grows) return OpenedFile{std::make_shared<const LogHandle>(file_.text), true};
    OpenedFile opened = OpenText(std::make_shared<const std::string>(file_.text()));
    opened.size_unknown = true;
    return opened;
  }
  const std::string& name() const { return file_.name; }

 private:
  const ControlFile file_;
  const Attributes attributes_;
};

// The mirror of the source is found by its name only: otherwise a program that lists or copies
// the whole mount would go through the source twice.
class ControlDirectory final : public DirectoryNode {
 public:
  ControlDirectory(MountContext& context, std::vector<ControlFile> files) : context_(context) {
    for (ControlFile& file : files) {
      files_.push_back(std::make_shared<ControlNode>(std::move(file)));
    }
  }

  model::Result<Attributes> Stat() const override { return attributes_; }
  model::Result<TreeNodePtr> Lookup(std::string_view name) const override {
    if (name == kMirrorName) return FindSourceMirror(context_);
    for (const auto& file : files_) {
      if (file->name() == name && context_.shows_dot_files) return file;
    }
    return model::NotFound("{}", name);
  }
  model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override {
    if (!context_.shows_dot_files) return model::NotFound("{}", kControlName);
    std::vector<DirectoryEntry> entries;
    for (const auto& file : files_) entries.push_back({file->name(), S_IFREG});
    return MakeListReader(std::move(entries));
  }

 private:
  MountContext& context_;
  std::vector<std::shared_ptr<ControlNode>> files_;
  const Attributes attributes_ = ControlAttributes(S_IFDIR | 0555);
};

// The control folder first, then what is really there; something of the same
// name in the source is hidden by it.
class RootReader final : public DirectoryReader {
 public:
  explicit RootReader(std::unique_ptr<DirectoryReader> source) : source_(std::move(source)) {}

  model::Result<std::optional<DirectoryEntry>> Next() override {
    if (!std::exchange(began_, true)) {
      return DirectoryEntry{std::string(kControlName), S_IFDIR};
    }
    NDLFS_TRY(auto entry, source_->Next());
    if (entry && entry->name == kControlName) return source_->Next();
    return entry;
  }
  void Rewind() override {
    began_ = false;
    source_->Rewind();
  }
  KeptObjects kept() const override { return source_->kept(); }

 private:
  const std::unique_ptr<DirectoryReader> source_;
  bool began_ = false;
};

class Root final : public DirectoryNode {
 public:
  Root(MountContext& context, std::vector<ControlFile> control_files)
      : context_(context),
        control_(std::make_shared<ControlDirectory>(context, std::move(control_files))) {}

  model::Result<Attributes> Stat() const override {
    // The kernel asks before each look at a name, and on a server all directories are the same.
    if (context_.file.empty() && context_.source->looks_are_requests()) {
      backends::FileStatus status;
      status.kind = backends::FileKind::kDirectory;
      status.mode = 0555;
      return AttributesOf(status);
    }
    NDLFS_TRY(const auto source, Source());
    NDLFS_TRY(const Attributes attributes, source->StatWhenFound());
    return attributes;
  }
  // Where the source itself is a store, names in it are those of its folder.
  bool DependsOnCaller() const override { return context_.source->is_shared(); }
  bool MayChange(std::string_view name) const override {
    if (name == kControlName) return false;
    // Only in the folder of a store there may be such files, and to find that out is to ask.
    const bool may_appear = name == kErrorName || name == ".";
    if (!may_appear && context_.source->looks_are_requests()) return false;
    const auto source = Source();
    return !source || (*source)->MayChange(name);
  }
  model::Result<TreeNodePtr> Lookup(std::string_view name) const override {
    if (name == kControlName) return control_;
    NDLFS_TRY(TreeNodePtr store, FindStoreOfServer(name));
    if (store) return store;
    if (context_.file.empty() && !context_.catalog.KnowsStore("")) {
      backends::LookForStores(*context_.source, "", name);
    }
    NDLFS_TRY(const auto source, Source());
    return source->Lookup(name);
  }
  model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override {
    NDLFS_TRY(const auto source, Source());
    NDLFS_TRY(auto reader, source->OpenDirectory());
    if (!context_.shows_dot_files) return reader;
    return std::make_unique<RootReader>(std::move(reader));
  }
  model::Result<ExtendedAttributes> GetExtendedAttributes() const override {
    NDLFS_TRY(const auto source, Source());
    return source->GetExtendedAttributes();
  }
  model::Result<std::vector<std::string>> ListExtendedAttributes() const override {
    NDLFS_TRY(const auto source, Source());
    return source->ListExtendedAttributes();
  }
  model::Result<std::optional<std::string>> GetExtendedAttribute(
      std::string_view name) const override {
    NDLFS_TRY(const auto source, Source());
    return source->GetExtendedAttribute(name);
  }

 private:
  // The store called `name` right below the top of a server; null if nothing is that for sure:
  // no store is known there, and the name is not that of one.
  // Whether the top is a store too, which the name of the top does not suggest, is left open
  // until somebody looks at the top: to find out takes more requests than to find the store.
  model::Result<TreeNodePtr> FindStoreOfServer(std::string_view name) const {
    const backends::Source& source = *context_.source;
    const bool may_be = context_.file.empty() && context_.as.empty() &&
                        !context_.IsHidden(name) && source.looks_are_requests() &&
                        !context_.catalog.KnowsStore("") &&
                        !backends::IsCalledLikeStore(source, "");
    const bool is_likely = backends::IsCalledLikeStore(source, name) ||
                           context_.catalog.KnowsStore(std::string(name));
    if (!may_be || !is_likely) return nullptr;
    auto node = FindSourceNode(context_, std::string(name));
    if (!node && node.error().code() == model::ErrorCode::kNotFound) return nullptr;
    if (!node) return node;
    return context_.catalog.KnowsStore(std::string(name)) ? node : nullptr;
  }
  // The kernel never looks the root up again: what it is now is found out
  // each time. A file that was a store when it was mounted need not be one now.
  model::Result<TreeNodePtr> Source() const {
    auto source = FindSourceNode(context_, context_.file);
    if (context_.file.empty()) return source;
    if (source) {
      NDLFS_TRY(const auto attributes, (*source)->Stat());
      if (IsDirectory(attributes)) return source;
    }
    const std::string reason =
        context_.file + ": " + (source ? "no longer an array store" : source.error().message());
    return MakeErrorFolder(reason, ControlAttributes(S_IFDIR | 0555));
  }

  MountContext& context_;
  const TreeNodePtr control_;
};

}  // namespace

TreeNodePtr MakeRoot(MountContext& context, std::vector<ControlFile> control_files) {
  return std::make_shared<Root>(context, std::move(control_files));
}

}  // namespace ndlfs::fs
