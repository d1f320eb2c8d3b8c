// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <cerrno>

#include "backends/store/keys.h"
#include "backends/store/local/descriptor_cache.h"
#include "backends/store/local/paths.h"
#include "backends/store/local/source_root.h"
#include "model/mutex.h"

namespace ndlfs::backends {
namespace {

class FileStore final : public Store {
 public:
  FileStore(std::shared_ptr<const SourceRoot> root, std::string path, bool may_be_link)
      : root_(std::move(root)), path_(std::move(path)), may_be_link_(may_be_link) {}
  ~FileStore() override { DescriptorCache::Global().DropAll(owner_); }

  model::Result<std::optional<uint64_t>> Size(std::string_view key) const override {
    if (!key.empty()) return std::nullopt;
    NDLFS_TRY(const auto file, Open());
    if (!file) return std::nullopt;
    return file->stamp.size;
  }

  model::Result<std::optional<size_t>> ReadInto(std::string_view key, uint64_t offset,
                                                ByteSpan out) const override {
    const auto reserve = [&](uint64_t) -> model::Result<ByteSpan> { return out; };
    NDLFS_TRY(const auto result, ReadOnce(key, offset, reserve));
    if (!result) return std::nullopt;
    return result->count;
  }

  model::Result<std::optional<ReadResult>> ReadOnce(std::string_view key, uint64_t offset,
                                                    const Reserve& reserve) const override {
    if (!key.empty()) return std::nullopt;
    NDLFS_TRY(const auto file, Open());
    if (!file) return std::nullopt;
    NDLFS_TRY(const auto result, ReadOpened(*file, offset, reserve));
    if (!result) return Changed();
    return result;
  }

  bool ReadsInParts() const override { return true; }

  model::Result<std::optional<FileStamp>> Stat(std::string_view key) const override {
    if (!key.empty()) return std::nullopt;
    if (may_be_link_) return StatFile(*root_, path_);
    const auto fd = root_->OpenFound(path_, O_PATH);
    if (!fd) {
      if (IsAbsent(fd.error())) return std::nullopt;
      return model::Propagate(fd.error());
    }
    struct ::stat status;
    if (::fstat(fd->get(), &status) != 0) return model::IoError(errno, "stat");
    if (S_ISDIR(status.st_mode)) return std::nullopt;
    if (!S_ISREG(status.st_mode)) return model::IoError(ENXIO, "stat");
    return StampOf(status);
  }

  model::Result<std::vector<StoreEntry>> List(std::string_view) const override {
    return std::vector<StoreEntry>();
  }

  std::string Describe(std::string_view key) const override {
    return JoinKey(DescribePath(*root_, path_), key);
  }

 private:
  // The version that was opened first, or an error.
  model::Result<DescriptorCache::Handle> Open() const {
    if (auto file = DescriptorCache::Global().Find(owner_, {})) return file;
    NDLFS_TRY(auto file, OpenFile(*root_, path_, may_be_link_));
    if (!IsTheFirst(file)) return Changed();
    if (file) DescriptorCache::Global().Keep(owner_, {}, file);
    return file;
  }

  // No file is an answer, unless there was one.
  bool IsTheFirst(const DescriptorCache::Handle& file) const {
    model::MutexLock lock(mutex_);
    if (!file) return !first_;
    if (!first_) first_ = file->stamp;
    return IsSameVersion(*first_, file->stamp);
  }

  static model::Failure Changed() {
    return model::IoError(ESTALE, "changed since it was opened");
  }

  const std::shared_ptr<const SourceRoot> root_;
  const std::string path_;
  const bool may_be_link_;
  const uint64_t owner_ = DescriptorCache::NewOwner();
  mutable model::Mutex mutex_;
  mutable std::optional<FileStamp> first_ GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<const Store> MakeFileStore(std::shared_ptr<const SourceRoot> root,
                                           std::string path, bool may_be_link) {
  return std::make_shared<FileStore>(std::move(root), std::move(path), may_be_link);
}

}  // namespace ndlfs::backends
