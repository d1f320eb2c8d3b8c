// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <cerrno>

#include "backends/base/new_id.h"
#include "backends/store/keys.h"
#include "backends/store/local/descriptor_cache.h"
#include "backends/store/local/file_clock.h"
#include "backends/store/local/source_root.h"
#include "model/mutex.h"

namespace ndlfs::backends {
namespace {

class FileStore final : public Store {
 public:
  FileStore(std::shared_ptr<const SourceRoot> root, std::string path, bool may_be_link)
      : root_(std::move(root)), path_(std::move(path)), may_be_link_(may_be_link) {}
  ~FileStore() override { DescriptorCache::Global().DropAll(owner_); }

  StoreTraits traits() const override { return {.reads_in_parts = true}; }

  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    if (!key.empty()) return std::nullopt;
    if (may_be_link_) {
      NDLFS_TRY(const auto status, StatFile(*root_, path_));
      return status ? std::optional(InfoOf(*status)) : std::nullopt;
    }
    const auto fd = root_->OpenFound(path_, O_PATH);
    if (!fd) {
      if (fd.error().is_no_such_file()) return std::nullopt;
      return model::Propagate(fd.error());
    }
    struct ::stat status;
    if (::fstat(fd->get(), &status) != 0) return model::IoError(errno, "stat");
    if (S_ISDIR(status.st_mode)) return std::nullopt;
    if (!S_ISREG(status.st_mode)) return model::IoError(ENXIO, "stat");
    return InfoOf(status);
  }

  std::optional<int64_t> ClockNs() const override { return clock_.NowNs(*root_, path_); }

  model::Result<std::vector<StoreEntry>> List(std::string_view) const override {
    return std::vector<StoreEntry>();
  }

  std::string Describe(std::string_view key) const override {
    return JoinKey(DescribePath(*root_, path_), key);
  }

 private:
  // The file, and the version that was opened first.
  struct Opened {
    DescriptorCache::Handle file;
    Generation generation;
    bool just_now;
  };

  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    if (!key.empty()) return std::nullopt;
    NDLFS_TRY(const auto opened, Open());
    if (!opened) return std::nullopt;
    if (options.if_match && *options.if_match != opened->generation) return Changed();
    NDLFS_TRY(auto result, ReadOpened(*opened->file, opened->just_now, options, reserve));
    if (!result) return Changed();
    // A new name of the file, or one less, makes no other version of it.
    result->info.generation = opened->generation;
    return result;
  }

  // nullopt where there is no file. Fails if there is another version.
  model::Result<std::optional<Opened>> Open() const {
    auto file = DescriptorCache::Global().Find(owner_, {});
    const bool just_now = !file;
    if (just_now) {
      NDLFS_TRY(file, OpenFile(*root_, path_, may_be_link_));
    }
    NDLFS_TRY(auto generation, NoteOpened(file.get()));
    if (!generation) return std::nullopt;
    if (just_now) DescriptorCache::Global().Keep(owner_, {}, file);
    return Opened{std::move(file), *std::move(generation), just_now};
  }

  // The generation of the version that was opened first, which `file` (null: there is none)
  // has to be; nullopt if there never was a file.
  model::Result<std::optional<Generation>> NoteOpened(const DescriptorCache::File* file) const {
    model::MutexLock lock(mutex_);
    if (file == nullptr && !first_) return std::nullopt;
    if (file == nullptr || (first_ && !IsSameVersion(*first_, file->status))) return Changed();
    if (!first_) first_ = file->status;
    return GenerationOf(*first_);
  }

  static model::Failure Changed() { return model::Stale("changed since it was opened"); }

  const std::shared_ptr<const SourceRoot> root_;
  const std::string path_;
  const bool may_be_link_;
  const ClockOfPath clock_;
  const uint64_t owner_ = NewId();
  mutable model::Mutex mutex_;
  mutable std::optional<struct ::stat> first_ GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<const Store> MakeFileStore(std::shared_ptr<const SourceRoot> root,
                                           std::string path, bool may_be_link) {
  return std::make_shared<FileStore>(std::move(root), std::move(path), may_be_link);
}

}  // namespace ndlfs::backends
