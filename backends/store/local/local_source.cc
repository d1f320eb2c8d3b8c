// SPDX-License-Identifier: MIT
#include "backends/store/local/local_source.h"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>

namespace ndlfs::backends {
namespace {

FileKind KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return FileKind::kFile;
    case S_IFDIR:
      return FileKind::kDirectory;
    case S_IFLNK:
      return FileKind::kSymlink;
    case S_IFIFO:
      return FileKind::kFifo;
    case S_IFSOCK:
      return FileKind::kSocket;
    case S_IFCHR:
      return FileKind::kCharacterDevice;
    case S_IFBLK:
      return FileKind::kBlockDevice;
    default:
      return FileKind::kUnknown;
  }
}

class LocalListing final : public DirectoryListing {
 public:
  LocalListing(DirectoryStream stream, bool is_shared)
      : stream_(std::move(stream)), is_shared_(is_shared) {}

  model::Result<const Entry*> Next() override {
    NDLFS_TRY(const auto* found, stream_.Next());
    if (found == nullptr) return nullptr;
    entry_ = {found->name, KindOf(DTTOIF(found->type)), found->next};
    return &entry_;
  }
  void Seek(int64_t position) override {
    entry_ = {};
    stream_.Seek(position);
  }

  model::Result<std::optional<FileStatus>> StatEntry() override {
    // A caller that may list a directory need not be allowed to enter it.
    if (is_shared_) return model::IoError(EACCES, "stat");
    struct ::stat status;
    const std::string name(entry_.name);
    if (::fstatat(stream_.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      return StatusOf(status);
    }
    if (errno == ENOENT) return std::nullopt;
    return model::IoError(errno, "stat");
  }

 private:
  DirectoryStream stream_;
  const bool is_shared_;
  Entry entry_;
};

}  // namespace

model::Result<std::shared_ptr<const LocalSource>> LocalSource::Open(const std::string& path,
                                                                    bool shared) {
  NDLFS_TRY(auto root, SourceRoot::Open(path, shared));
  return std::make_shared<const LocalSource>(std::move(root));
}

model::Result<std::optional<FileStatus>> LocalSource::Stat(std::string_view path,
                                                           Follow follow) const {
  const auto status = root_->StatForOthers(path, follow == Follow::kYes);
  if (status) return StatusOf(*status);
  if (status.error().is_no_such_file()) return std::nullopt;
  return model::Propagate(status.error());
}

model::Result<std::unique_ptr<DirectoryListing>> LocalSource::List(
    std::string_view path) const {
  NDLFS_TRY(auto stream, DirectoryStream::Open(*root_, path, /*may_be_link=*/false));
  return std::make_unique<LocalListing>(std::move(stream), root_->is_shared());
}

model::Result<std::string> LocalSource::ReadLink(std::string_view path) const {
  return root_->ReadLink(path);
}

std::shared_ptr<const Store> LocalSource::OpenStore(const std::string& path) const {
  return MakeDirectoryStore(root_, path);
}

std::shared_ptr<const Store> LocalSource::OpenFile(const std::string& path,
                                                   Follow follow) const {
  return MakeFileStore(root_, path, /*may_be_link=*/follow == Follow::kYes);
}

std::shared_ptr<const SourceRoot> LocalRootOf(const Source& source) {
  const auto* local = dynamic_cast<const LocalSource*>(&source.base());
  return local != nullptr ? local->root() : nullptr;
}

FileStatus StatusOf(const struct ::stat& status) {
  return {.kind = KindOf(status.st_mode),
          .mode = status.st_mode & 07777,
          .uid = status.st_uid,
          .gid = status.st_gid,
          .device_number = status.st_rdev,
          .size = static_cast<uint64_t>(status.st_size),
          .mtime_ns = ModifiedNs(status),
          .ctime_ns = ChangedNs(status),
          .id = {status.st_dev, status.st_ino},
          .version = GenerationOf(status)};
}

}  // namespace ndlfs::backends
