// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "backends/store/keys.h"
#include "backends/store/local/descriptor_cache.h"
#include "backends/store/local/partial_listing.h"
#include "backends/store/local/paths.h"
#include "backends/store/local/source_root.h"

namespace ndlfs::backends {
namespace {

class DirectoryStore final : public Store, public PartialListing {
 public:
  DirectoryStore(std::shared_ptr<const SourceRoot> root, std::string path)
      : root_(std::move(root)), path_(std::move(path)) {}
  ~DirectoryStore() override { DescriptorCache::Global().DropAll(owner_); }

  model::Result<std::optional<uint64_t>> Size(std::string_view key) const override {
    NDLFS_TRY(const auto stamp, Stat(key));
    if (!stamp) return std::nullopt;
    return stamp->size;
  }

  model::Result<std::optional<size_t>> ReadInto(std::string_view key, uint64_t offset,
                                                ByteSpan out) const override {
    NDLFS_RETURN_IF_ERROR(CheckKey(key));
    const auto reserve = [&](uint64_t) -> model::Result<ByteSpan> { return out; };
    NDLFS_TRY(const auto result,
              ReadFrom(DescriptorCache::Global().Find(owner_, key), key, offset, reserve));
    if (!result) return std::nullopt;
    return result->count;
  }

  model::Result<std::optional<ReadResult>> ReadOnce(std::string_view key, uint64_t offset,
                                                    const Reserve& reserve) const override {
    NDLFS_RETURN_IF_ERROR(CheckKey(key));
    // A file that was just opened is the one at its path. One that was kept open
    // may have got a successor.
    if (DescriptorCache::Global().Find(owner_, key)) NDLFS_RETURN_IF_ERROR(Stat(key));
    return ReadFrom(DescriptorCache::Global().Find(owner_, key), key, offset, reserve);
  }

  bool ReadsInParts() const override { return true; }

  model::Result<std::optional<FileStamp>> Stat(std::string_view key) const override {
    NDLFS_RETURN_IF_ERROR(CheckKey(key));
    NDLFS_TRY(const auto stamp, StatFile(*root_, PathOf(key)));
    DropIfChanged(key, stamp);
    return stamp;
  }

  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    return ListSome(prefix, SIZE_MAX);
  }

  model::Result<std::vector<StoreEntry>> ListSome(std::string_view prefix,
                                                  size_t limit) const override {
    if (!prefix.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(prefix));
    std::vector<StoreEntry> entries;
    auto stream = DirectoryStream::Open(*root_, PathOf(prefix));
    if (!stream) {
      if (IsAbsent(stream.error())) return entries;
      return model::Propagate(std::move(stream).error());
    }
    while (entries.size() < limit) {
      NDLFS_TRY(const auto* entry, stream->Next());
      if (entry == nullptr) break;
      if (auto listed = Classify(prefix, *entry)) entries.push_back(*std::move(listed));
    }
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return entries;
  }

  std::string Describe(std::string_view key) const override {
    return JoinKey(DescribePath(*root_, path_), key);
  }

 private:
  std::string PathOf(std::string_view key) const { return JoinKey(path_, key); }

  // From `file`, which is opened first where it is null.
  model::Result<std::optional<ReadResult>> ReadFrom(DescriptorCache::Handle file,
                                                    std::string_view key, uint64_t offset,
                                                    const Reserve& reserve) const {
    const bool opened = !file;
    if (opened) {
      NDLFS_TRY(file, OpenFile(*root_, PathOf(key)));
    }
    if (!file) return std::nullopt;
    NDLFS_TRY(const auto result, ReadOpened(*file, offset, reserve));
    if (!result) {
      DescriptorCache::Global().Drop(owner_, key);
      return model::IoError(ESTALE, "changed while it was read");
    }
    // The reader of a part of a file will want the next part.
    const bool whole = offset == 0 && result->count >= result->total_size;
    if (opened && !whole) DescriptorCache::Global().Keep(owner_, key, std::move(file));
    return result;
  }

  // So that what is read after Stat() is no older than what it told.
  void DropIfChanged(std::string_view key, const std::optional<FileStamp>& stamp) const {
    const auto file = DescriptorCache::Global().Find(owner_, key);
    if (!file) return;
    if (stamp && IsSameVersion(*stamp, file->stamp)) return;
    DescriptorCache::Global().Drop(owner_, key);
  }

  // Nullopt for what is neither file nor directory. A symbolic link counts as
  // what it leads to; one that leads nowhere is a value, and reading it says
  // why that cannot be.
  std::optional<StoreEntry> Classify(std::string_view prefix,
                                     const DirectoryStream::Entry& entry) const {
    std::string name(entry.name);
    if (entry.type == DT_DIR) return StoreEntry{std::move(name), true};
    if (entry.type == DT_REG) return StoreEntry{std::move(name), false};
    if (entry.type != DT_LNK && entry.type != DT_UNKNOWN) return std::nullopt;
    const auto status = root_->Stat(PathOf(JoinKey(prefix, name)));
    if (!status) return StoreEntry{std::move(name), false};
    if (!S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode)) return std::nullopt;
    return StoreEntry{std::move(name), S_ISDIR(status->st_mode)};
  }

  const std::shared_ptr<const SourceRoot> root_;
  const std::string path_;
  const uint64_t owner_ = DescriptorCache::NewOwner();
};

}  // namespace

std::shared_ptr<const Store> MakeDirectoryStore(std::shared_ptr<const SourceRoot> root,
                                                std::string path) {
  return std::make_shared<DirectoryStore>(std::move(root), std::move(path));
}

}  // namespace ndlfs::backends
