// SPDX-License-Identifier: MIT
#include <cerrno>
#include <mutex>

#include "backends/store/descriptor_cache.h"
#include "backends/store/keys.h"
#include "backends/store/source_root.h"

namespace ndlfs::backends {
namespace {

class FileStore final : public Store {
 public:
  FileStore(std::shared_ptr<const SourceRoot> root, std::string path)
      : root_(std::move(root)), path_(std::move(path)) {}
  ~FileStore() override { DescriptorCache::Global().DropAll(owner_); }

  model::Result<std::optional<uint64_t>> Size(std::string_view key) const override {
    if (!key.empty()) return std::nullopt;
    NDLFS_TRY(const auto file, Open());
    if (!file) return std::nullopt;
    struct ::stat status;
    if (::fstat(file->fd.get(), &status) != 0) return model::IoError(errno, "stat");
    return static_cast<uint64_t>(status.st_size);
  }

  model::Result<std::optional<size_t>> ReadInto(std::string_view key, uint64_t offset,
                                                ByteSpan out) const override {
    if (!key.empty()) return std::nullopt;
    NDLFS_TRY(const auto file, Open());
    if (!file) return std::nullopt;
    return ReadFully(file->fd.get(), offset, out);
  }

  model::Result<std::optional<FileStamp>> Stat(std::string_view key) const override {
    if (!key.empty()) return std::nullopt;
    return StatFile(*root_, path_);
  }

  model::Result<std::vector<StoreEntry>> List(std::string_view) const override {
    return std::vector<StoreEntry>();
  }

  std::string Describe(std::string_view key) const override {
    return JoinKey(DescribePath(*root_, path_), key);
  }

 private:
  model::Result<DescriptorCache::Handle> Open() const {
    if (auto file = DescriptorCache::Global().Find(owner_, {})) return file;
    NDLFS_TRY(auto file, OpenFile(*root_, path_));
    if (!file) return Gone();
    if (!IsTheFirst(file->stamp)) return model::IoError(ESTALE, "replaced");
    DescriptorCache::Global().Keep(owner_, {}, file);
    return file;
  }

  // No file is an answer, unless there was one.
  model::Result<DescriptorCache::Handle> Gone() const {
    const std::lock_guard lock(mutex_);
    if (first_) return model::IoError(ESTALE, "removed");
    return nullptr;
  }

  bool IsTheFirst(const FileStamp& stamp) const {
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = stamp;
    return IsSameFile(*first_, stamp);
  }

  const std::shared_ptr<const SourceRoot> root_;
  const std::string path_;
  const uint64_t owner_ = DescriptorCache::NewOwner();
  mutable std::mutex mutex_;
  mutable std::optional<FileStamp> first_;  // guarded by mutex_
};

}  // namespace

std::shared_ptr<const Store> MakeFileStore(std::shared_ptr<const SourceRoot> root,
                                           std::string path) {
  return std::make_shared<FileStore>(std::move(root), std::move(path));
}

}  // namespace ndlfs::backends
