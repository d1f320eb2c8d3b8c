// SPDX-License-Identifier: MIT
#include "fs/tree/source_tree.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "fs/tree/store_tree.h"

namespace ndlfs::fs {
namespace {

using backends::FileStamp;
using backends::UniqueFd;
using model::IoError;

bool IsAbsent(const model::Error& error) {
  return error.sys_errno() == ENOENT || error.sys_errno() == ENOTDIR;
}

bool IsSameInode(const struct ::stat& status, const FileStamp& stamp) {
  return status.st_dev == stamp.device && status.st_ino == stamp.inode;
}

class PlainFileHandle final : public FileHandle {
 public:
  PlainFileHandle(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    NDLFS_TRY(const size_t count, backends::ReadFully(fd_.get(), offset, out), path_);
    return count;
  }

 private:
  const std::string path_;
  const UniqueFd fd_;
};

// One version of a plain file. What grows in place (a log) stays the same file
// for who has it open, and the kernel drops its pages when stat() shows that;
// what was replaced does not show through.
class PlainFile final : public TreeNode {
 public:
  PlainFile(MountContext& context, std::string path, const struct ::stat& status)
      : context_(context),
        path_(std::move(path)),
        stamp_(backends::StampOf(status)),
        attributes_(AttributesOf(status)) {}

  Relation Compare(const Object& fresh) const override {
    const auto* other = dynamic_cast<const PlainFile*>(&fresh);
    return other != nullptr && other->stamp() == stamp() ? Relation::kSame
                                                         : Relation::kDifferent;
  }

  model::Result<Attributes> Stat() const override {
    if (context_.services.freshness.immutable()) return attributes_;
    const auto status = context_.root->StatForOthers(path_, /*follow=*/false);
    return status && IsSameInode(*status) ? AttributesOf(*status) : attributes_;
  }

  model::Result<OpenedFile> Open() override {
    NDLFS_TRY(auto fd, context_.root->OpenFound(path_, O_NOFOLLOW), path_);
    struct ::stat status;
    if (::fstat(fd.get(), &status) != 0) return IoError(errno, path_);
    if (!IsThisVersion(status)) return IoError(ESTALE, path_);
    return OpenedFile{std::make_shared<const PlainFileHandle>(path_, std::move(fd)), false};
  }

 private:
  FileStamp stamp() const {
    model::MutexLock lock(mutex_);
    return stamp_;
  }
  bool IsSameInode(const struct ::stat& status) const {
    model::MutexLock lock(mutex_);
    return S_ISREG(status.st_mode) && fs::IsSameInode(status, stamp_);
  }
  // As long as the kernel has no page of it, a file that has grown since it
  // was looked up may take the place of what it was: else a file that is
  // written all the time could not be opened.
  bool IsThisVersion(const struct ::stat& status) {
    const FileStamp now = backends::StampOf(status);
    model::MutexLock lock(mutex_);
    const bool grown = !served_ && now.device == stamp_.device && now.inode == stamp_.inode &&
                       now.size >= stamp_.size;
    if (now != stamp_ && !grown) return false;
    stamp_ = now;
    served_ = true;
    return true;
  }

  MountContext& context_;
  const std::string path_;
  mutable model::Mutex mutex_;
  FileStamp stamp_ GUARDED_BY(mutex_);
  bool served_ GUARDED_BY(mutex_) = false;
  const Attributes attributes_;
};

// FIFOs, sockets and devices: the kernel handles them, or refuses to.
class SpecialFile final : public TreeNode {
 public:
  explicit SpecialFile(const struct ::stat& status)
      : stamp_(backends::StampOf(status)), attributes_(AttributesOf(status)) {}

  Relation Compare(const Object& fresh) const override {
    const auto* other = dynamic_cast<const SpecialFile*>(&fresh);
    return other != nullptr && other->stamp_ == stamp_ ? Relation::kSame : Relation::kDifferent;
  }
  model::Result<Attributes> Stat() const override { return attributes_; }

 private:
  const FileStamp stamp_;
  const Attributes attributes_;
};

class MirrorReader final : public DirectoryReader {
 public:
  // `directory` is the same that `stream` lists; without it the types of files
  // that may be stores are left open.
  MirrorReader(const Catalog& catalog, std::string path, backends::DirectoryStream stream,
               UniqueFd directory, Stores stores)
      : catalog_(catalog),
        path_(std::move(path)),
        stream_(std::move(stream)),
        directory_(std::move(directory)),
        stores_(stores) {}

  model::Result<std::optional<DirectoryEntry>> Next() override {
    NDLFS_TRY(const auto* entry, stream_.Next(), path_);
    if (entry == nullptr) return std::nullopt;
    return DirectoryEntry{std::string(entry->name), TypeOf(*entry)};
  }
  void Rewind() override { stream_.Seek(0); }

 private:
  // Of files that may be stores it is left open: nothing is opened for a listing.
  mode_t TypeOf(const backends::DirectoryStream::Entry& entry) const {
    const bool may_be_store = entry.type == DT_REG && stores_ == Stores::kFolders;
    if (!may_be_store) return DTTOIF(entry.type);
    if (backends::MayBeStoreFile(entry.name)) return 0;
    if (!catalog_.looks_into_files()) return S_IFREG;
    struct ::stat status;
    const std::string name(entry.name);
    const bool is_plain =
        ::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode) && catalog_.IsKnownPlain(status);
    return is_plain ? mode_t{S_IFREG} : mode_t{0};
  }

  const Catalog& catalog_;
  const std::string path_;
  backends::DirectoryStream stream_;
  const UniqueFd directory_;
  const Stores stores_;
};

class MirrorDirectory final : public DirectoryNode {
 public:
  MirrorDirectory(MountContext& context, std::string path, const struct ::stat& status,
                  Stores stores)
      : context_(context),
        path_(std::move(path)),
        stores_(stores),
        attributes_(AttributesOf(status)) {}

  model::Result<Attributes> Stat() const override {
    if (context_.services.freshness.immutable()) return attributes_;
    const auto status = context_.root->StatForOthers(path_, /*follow=*/false);
    if (!status || !S_ISDIR(status->st_mode)) return IoError(ESTALE, path_);
    return AttributesOf(*status);
  }
  model::Result<TreeNodePtr> Lookup(std::string_view name) const override {
    return FindSourceNode(context_, JoinSourcePath(path_, name), stores_);
  }
  model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override {
    auto stream = backends::DirectoryStream::Open(*context_.root, path_, /*may_be_link=*/false);
    auto directory = OpenToStat();
    if (!stream) return model::Propagate(stream.error(), path_);
    return std::make_unique<MirrorReader>(context_.catalog, path_, *std::move(stream),
                                          std::move(directory), stores_);
  }

 private:
  // Of this directory, for the stat() of what is listed; none where nobody asks
  // for that.
  UniqueFd OpenToStat() const {
    if (stores_ == Stores::kAsTheyAre || !context_.catalog.looks_into_files()) return {};
    auto fd = context_.root->OpenFound(path_, O_PATH | O_DIRECTORY);
    return fd ? *std::move(fd) : UniqueFd();
  }

  MountContext& context_;
  const std::string path_;
  const Stores stores_;
  const Attributes attributes_;
};

// The directory that the one file of the source is in, as if nothing else were.
class OneFileDirectory final : public DirectoryNode {
 public:
  explicit OneFileDirectory(MountContext& context) : context_(context) {}

  model::Result<Attributes> Stat() const override {
    NDLFS_TRY(const auto status, context_.root->StatForOthers(""));
    return AttributesOf(status);
  }
  model::Result<TreeNodePtr> Lookup(std::string_view name) const override {
    if (name != context_.file) return model::NotFound("{}", name);
    return FindSourceNode(context_, context_.file, Stores::kAsTheyAre);
  }
  model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override {
    return MakeListReader({{context_.file, 0}});
  }

 private:
  MountContext& context_;
};

model::Result<TreeNodePtr> MakeLink(MountContext& context, const std::string& path,
                                    const struct ::stat& status) {
  NDLFS_TRY(auto target, context.root->ReadLink(path), path);
  return MakeSymlinkNode(std::move(target), AttributesOf(status));
}

}  // namespace

Attributes AttributesOf(const struct ::stat& status) {
  const mode_t allowed = S_ISDIR(status.st_mode) ? 0555 : 0444;
  const FileStamp stamp = backends::StampOf(status);
  return {.mode = status.st_mode & (S_IFMT | allowed),
          .size = S_ISDIR(status.st_mode) ? 0 : stamp.size,
          .uid = status.st_uid,
          .gid = status.st_gid,
          .rdev = status.st_rdev,
          .mtime_ns = stamp.mtime_ns,
          .ctime_ns = stamp.ctime_ns};
}

std::string JoinSourcePath(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + '/' + std::string(name);
}

model::Result<TreeNodePtr> FindSourceNode(MountContext& context, const std::string& path,
                                          Stores stores) {
  const auto status = context.root->StatForOthers(path, /*follow=*/false);
  if (!status && IsAbsent(status.error())) return model::NotFound("{}", path);
  // What was a folder has become a link: the kernel follows that when it looks again.
  if (!status && status.error().sys_errno() == ELOOP) return IoError(ESTALE, path);
  if (!status) return model::Propagate(status.error(), path);
  if (S_ISLNK(status->st_mode)) return MakeLink(context, path, *status);
  if (stores == Stores::kFolders) {
    auto store = context.catalog.Find(path, *status);
    if (store) return MakeStoreFolder(context, std::move(store));
  }
  if (S_ISDIR(status->st_mode)) {
    return std::make_shared<MirrorDirectory>(context, path, *status, stores);
  }
  if (S_ISREG(status->st_mode)) return std::make_shared<PlainFile>(context, path, *status);
  return std::make_shared<SpecialFile>(*status);
}

model::Result<TreeNodePtr> FindSourceMirror(MountContext& context) {
  if (!context.file.empty()) return std::make_shared<OneFileDirectory>(context);
  return FindSourceNode(context, "", Stores::kAsTheyAre);
}

}  // namespace ndlfs::fs
