// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "backends/base/new_id.h"
#include "backends/store/file_name.h"
#include "backends/store/keys.h"
#include "backends/store/local/descriptor_cache.h"
#include "backends/store/local/file_clock.h"
#include "backends/store/local/source_root.h"
#include "backends/store/partial_listing.h"

namespace ndlfs::backends {
namespace {

class DirectoryStore final : public Store, public PartialListing {
 public:
  DirectoryStore(std::shared_ptr<const SourceRoot> root, std::string path)
      : root_(std::move(root)), path_(std::move(path)) {}
  ~DirectoryStore() override { DescriptorCache::Global().DropAll(owner_); }

  StoreTraits traits() const override { return {.reads_in_parts = true}; }

  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    NDLFS_RETURN_IF_ERROR(CheckKey(key));
    NDLFS_TRY(const auto status, StatFile(*root_, PathOf(key)));
    DropIfChanged(key, status);
    return status ? std::optional(InfoOf(*status)) : std::nullopt;
  }

  // A folder is opened once for those of its files that follow each other.
  std::vector<model::Result<std::optional<ValueInfo>>> StatMany(
      std::span<const std::string_view> keys) const override {
    // An open folder tells of its files although the caller may not enter it.
    if (root_->is_shared()) return Store::StatMany(keys);
    std::vector<model::Result<std::optional<ValueInfo>>> answers;
    answers.reserve(keys.size());
    std::optional<Folder> folder;
    for (const std::string_view key : keys) {
      const std::string_view name = FileNameOf(key);
      const std::string_view prefix = key.substr(0, key.size() - name.size());
      if (!folder || folder->prefix != prefix) folder = OpenFolder(prefix);
      answers.push_back(StatIn(*folder, key, name));
    }
    return answers;
  }

  // One system call for each name, from the folder that the entries are in. If a link replaces
  // one of them meanwhile, the answer tells at most that something has that name elsewhere.
  std::vector<bool> KnownToHold(std::string_view prefix, std::span<const StoreEntry> entries,
                                std::span<const std::string_view> names) const override {
    std::vector<bool> known(entries.size());
    if (root_->is_shared() || (!prefix.empty() && !CheckKey(prefix))) return known;
    const auto folder = root_->OpenFolder(PathOf(prefix));
    if (!folder) return known;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!entries[i].is_prefix || entries[i].is_link) continue;
      known[i] = std::ranges::any_of(names, [&](std::string_view name) {
        struct ::stat status;
        return ::fstatat((*folder)->fd.get(), JoinKey(entries[i].name, name).c_str(), &status,
                         AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISREG(status.st_mode) && status.st_dev == (*folder)->status.st_dev;
      });
    }
    return known;
  }

  std::optional<int64_t> ClockNs() const override { return clock_.NowNs(*root_, path_); }

  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    return ListSome(prefix, SIZE_MAX);
  }

  model::Result<std::vector<StoreEntry>> ListSome(std::string_view prefix,
                                                  size_t limit) const override {
    if (!prefix.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(prefix));
    std::vector<StoreEntry> entries;
    auto stream = DirectoryStream::Open(*root_, PathOf(prefix));
    if (!stream) {
      if (stream.error().is_no_such_file()) return entries;
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

  // A file that was just opened is the one at its path. One that was kept open may
  // have a successor there: this matters to all but those who want that version.
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    NDLFS_RETURN_IF_ERROR(CheckKey(key));
    auto file = DescriptorCache::Global().Find(owner_, key);
    if (file && options.if_match != file->generation) {
      NDLFS_RETURN_IF_ERROR(Stat(key));
      file = DescriptorCache::Global().Find(owner_, key);
    }
    const bool just_opened = !file;
    if (just_opened) {
      NDLFS_TRY(file, OpenFile(*root_, PathOf(key)));
    }
    if (!file) return std::nullopt;
    if (options.if_match && *options.if_match != file->generation) {
      return model::Stale("changed since it was read first");
    }
    NDLFS_TRY(const auto result, ReadOpened(*file, just_opened, options, reserve));
    if (!result) {
      DescriptorCache::Global().Drop(owner_, key);
      return model::Stale("changed while it was read");
    }
    // The reader of a part of a file will want the next part.
    const bool whole = result->count == result->info.size;
    if (just_opened && !whole) DescriptorCache::Global().Keep(owner_, key, std::move(file));
    return result;
  }

  struct Folder {
    std::string_view prefix;                           // of its keys, "a/b/"
    std::shared_ptr<const SourceRoot::Folder> opened;  // null where it cannot be opened
    bool is_absent = false;
  };

  Folder OpenFolder(std::string_view prefix) const {
    Folder folder{prefix, nullptr};
    const std::string_view key = prefix.substr(0, prefix.size() - (prefix.empty() ? 0 : 1));
    if (!key.empty() && !CheckKey(key)) return folder;
    auto opened = root_->OpenFolder(PathOf(key));
    folder.is_absent = !opened && opened.error().is_no_such_file();
    if (opened) folder.opened = *std::move(opened);
    return folder;
  }

  // Stat() of the file `name` in `folder`. Names that lead elsewhere (links, mounts)
  // are left to Stat(), which goes there by the rules.
  model::Result<std::optional<ValueInfo>> StatIn(const Folder& folder, std::string_view key,
                                                 std::string_view name) const {
    if (!CheckKey(key)) return Stat(key);
    if (folder.is_absent) {
      DropIfChanged(key, std::nullopt);
      return std::nullopt;
    }
    if (!folder.opened) return Stat(key);
    struct ::stat status;
    if (::fstatat(folder.opened->fd.get(), std::string(name).c_str(), &status,
                  AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) return Stat(key);
      DropIfChanged(key, std::nullopt);
      return std::nullopt;
    }
    if (!S_ISREG(status.st_mode) || status.st_dev != folder.opened->status.st_dev)
      return Stat(key);
    root_->KeepStatus(PathOf(key), status);
    DropIfChanged(key, status);
    return InfoOf(status);
  }

  // Drops the kept descriptor if its file is not the one that Stat() found. So a read after
  // Stat() returns no older version than Stat() told.
  void DropIfChanged(std::string_view key, const std::optional<struct ::stat>& status) const {
    const auto file = DescriptorCache::Global().Find(owner_, key);
    if (!file) return;
    if (status && GenerationOf(*status) == file->generation) return;
    DescriptorCache::Global().Drop(owner_, key);
  }

  // nullopt if the entry is neither a file nor a directory. A symbolic link counts as its
  // target. If it leads nowhere it counts as a value, and reading it fails with the reason.
  std::optional<StoreEntry> Classify(std::string_view prefix,
                                     const DirectoryStream::Entry& entry) const {
    std::string name(entry.name);
    if (entry.type == DT_DIR) return StoreEntry{std::move(name), true};
    if (entry.type == DT_REG) return StoreEntry{std::move(name), false};
    if (entry.type != DT_LNK && entry.type != DT_UNKNOWN) return std::nullopt;
    const auto status = root_->Stat(PathOf(JoinKey(prefix, name)));
    if (!status) return StoreEntry{std::move(name), false};
    if (!S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode)) return std::nullopt;
    return StoreEntry{std::move(name), S_ISDIR(status->st_mode), true};
  }

  const std::shared_ptr<const SourceRoot> root_;
  const std::string path_;
  const ClockOfPath clock_;
  const uint64_t owner_ = NewId();
};

}  // namespace

std::shared_ptr<const Store> MakeDirectoryStore(std::shared_ptr<const SourceRoot> root,
                                                std::string path) {
  return std::make_shared<DirectoryStore>(std::move(root), std::move(path));
}

}  // namespace ndlfs::backends
