// SPDX-License-Identifier: MIT
#include "fs/tree/source_tree.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "backends/store/caller.h"
#include "fs/tree/store_tree.h"
#include "fs/tree/view/folder_page.h"
#include "fs/tree/view/whole_files.h"
#include "model/secret_hash.h"

namespace ndlfs::fs {
namespace {

using backends::FileId;
using backends::FileKind;
using backends::FileStatus;
using backends::Follow;
using backends::Generation;
using backends::UniqueFd;
using model::IoError;
using Clock = std::chrono::steady_clock;

// The bits of S_IFMT; 0 where the kind is not known.
mode_t TypeOf(FileKind kind) {
  switch (kind) {
    case FileKind::kFile:
      return S_IFREG;
    case FileKind::kDirectory:
      return S_IFDIR;
    case FileKind::kSymlink:
      return S_IFLNK;
    case FileKind::kFifo:
      return S_IFIFO;
    case FileKind::kSocket:
      return S_IFSOCK;
    case FileKind::kCharacterDevice:
      return S_IFCHR;
    case FileKind::kBlockDevice:
      return S_IFBLK;
    case FileKind::kUnknown:
      break;
  }
  return 0;
}

// The metadata of Zarr v2 are parts of stores, which `.ndlfs/source` shows as they are.
bool IsHidden(const MountContext& context, Stores stores, std::string_view name) {
  const bool is_part = name == ".zarray" || name == ".zattrs" || name == ".zgroup" ||
                       name == ".zmetadata" || name == ".nczarr";
  return context.IsHidden(name) && !(is_part && stores == Stores::kAsTheyAre);
}

// The status of `path` itself; nullopt if there is nothing, or it cannot be looked at.
std::optional<FileStatus> StatOf(const MountContext& context, std::string_view path) {
  const auto status = context.source->Stat(path, Follow::kNo);
  return status ? *status : std::nullopt;
}

class DescriptorHandle final : public FileHandle {
 public:
  DescriptorHandle(std::string path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    NDLFS_TRY(const size_t count, backends::ReadFully(fd_.get(), offset, out), path_);
    return count;
  }

  int descriptor() const override { return fd_.get(); }

  // Moves the place in the file, too, which no read uses.
  model::Result<std::optional<uint64_t>> Seek(uint64_t offset, Content content) const override {
    const int whence = content == Content::kData ? SEEK_DATA : SEEK_HOLE;
    const off_t found = ::lseek(fd_.get(), static_cast<off_t>(offset), whence);
    if (found >= 0) return static_cast<uint64_t>(found);
    if (errno == ENXIO) return std::nullopt;
    return IoError(errno, path_);
  }

 private:
  const std::string path_;
  const UniqueFd fd_;
};

// A file of a source that has no descriptors.
class StoreHandle final : public FileHandle {
 public:
  StoreHandle(std::string path, std::shared_ptr<const backends::Store> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    NDLFS_TRY(const auto count, file_->ReadInto("", offset, out), path_);
    if (!count) return model::HasChanged(path_);
    return *count;
  }

 private:
  const std::string path_;
  const std::shared_ptr<const backends::Store> file_;
};

// One version of a plain file. A file that grows in place (a log) stays the same file for
// programs that have it open; the kernel drops its pages when stat() shows that it has grown. A
// file that replaces it is another node.
class PlainFile final : public TreeNode {
 public:
  PlainFile(MountContext& context, std::string path, const FileStatus& status, bool is_guess)
      : context_(context),
        path_(std::move(path)),
        is_guess_(is_guess),
        id_(status.id),
        version_(status.version),
        size_(status.size),
        attributes_(AttributesOf(status)) {}

  Relation Compare(const TreeNode& fresh) const override {
    const auto* other = dynamic_cast<const PlainFile*>(&fresh);
    return other != nullptr && other->version() == version() ? Relation::kSame
                                                             : Relation::kDifferent;
  }

  model::Result<Attributes> Stat() const override {
    if (context_.services.freshness.immutable()) return WithAllocated(attributes_);
    const auto status = StatOf(context_, path_);
    const bool is_same = status && status->is_file() && status->id == id_;
    return WithAllocated(is_same ? AttributesOf(*status) : attributes_);
  }
  model::Result<Attributes> StatWhenFound() const override {
    return WithAllocated(attributes_);
  }
  bool DependsOnCaller() const override { return is_guess_; }

  model::Result<OpenedFile> Open() override {
    if (!context_.local) return OpenInStore();
    NDLFS_TRY(auto fd, context_.local->OpenFound(path_, O_NOFOLLOW), path_);
    struct ::stat status;
    if (::fstat(fd.get(), &status) != 0) return IoError(errno, path_);
    if (!IsThisVersion(backends::StatusOf(status))) return model::HasChanged(path_);
    return OpenedFile{.handle = std::make_shared<const DescriptorHandle>(path_, std::move(fd))};
  }
  std::optional<FileVersion> Version() const override {
    const model::MutexLock lock(mutex_);
    return FileVersion{version_.hash(model::SecretHash("file version")), size_};
  }

 private:
  // Looks for holes in files of some size, for which they matter.
  Attributes WithAllocated(Attributes attributes) const {
    constexpr uint64_t kWorthALook = uint64_t{64} << 10;
    if (!context_.local || *attributes.size < kWorthALook) return attributes;
    const auto fd = context_.local->OpenFound(path_, O_PATH | O_NOFOLLOW);
    struct ::stat status;
    if (!fd || ::fstat(fd->get(), &status) != 0) return attributes;
    const bool is_same = status.st_ino == id_.inode && status.st_dev == id_.device;
    if (is_same) attributes.allocated = static_cast<uint64_t>(status.st_blocks) * 512;
    return attributes;
  }

  model::Result<OpenedFile> OpenInStore() {
    const auto status = StatOf(context_, path_);
    if (!status || !status->is_file() || !IsThisVersion(*status)) {
      return model::HasChanged(path_);
    }
    auto file = context_.source->OpenFile(path_);
    // The first read, of nothing: from now on the store keeps to one version.
    NDLFS_TRY(const auto opened, file->Get("", 0, {.range = {0, 0}}), path_);
    if (!opened || opened->info.generation != status->version) return model::HasChanged(path_);
    return OpenedFile{std::make_shared<const StoreHandle>(path_, std::move(file)), false};
  }

  Generation version() const {
    model::MutexLock lock(mutex_);
    return version_;
  }
  // As long as the kernel has no page of it, a file that has grown since it
  // was looked up may take the place of what it was: else a file that is
  // written all the time could not be opened.
  bool IsThisVersion(const FileStatus& now) {
    model::MutexLock lock(mutex_);
    const bool grown = !served_ && now.id == id_ && now.size >= size_;
    if (now.version != version_ && !grown) return false;
    version_ = now.version;
    size_ = now.size;
    served_ = true;
    return true;
  }

  MountContext& context_;
  const std::string path_;
  const bool is_guess_;
  const FileId id_;
  mutable model::Mutex mutex_;
  Generation version_ GUARDED_BY(mutex_);
  uint64_t size_ GUARDED_BY(mutex_);
  bool served_ GUARDED_BY(mutex_) = false;
  const Attributes attributes_;
};

// FIFOs, sockets and devices: the kernel handles them, or refuses to.
class SpecialFile final : public TreeNode {
 public:
  explicit SpecialFile(const FileStatus& status)
      : version_(status.version), attributes_(AttributesOf(status)) {}

  Relation Compare(const TreeNode& fresh) const override {
    const auto* other = dynamic_cast<const SpecialFile*>(&fresh);
    const bool is_same = other != nullptr && other->version_ == version_;
    return is_same ? Relation::kSame : Relation::kDifferent;
  }
  model::Result<Attributes> Stat() const override { return attributes_; }

 private:
  const Generation version_;
  const Attributes attributes_;
};

// How long a listing may look into files. A look takes microseconds where the source is quick;
// where it is slow, the listing goes on without, and leaves the types open.
class LookTime {
 public:
  bool is_left() const { return spent_ <= kAtFirst + looks_ * kForEach; }
  void Add(Clock::duration spent) {
    spent_ += spent;
    ++looks_;
  }

 private:
  static constexpr Clock::duration kAtFirst = std::chrono::milliseconds(20);
  static constexpr Clock::duration kForEach = std::chrono::microseconds(200);
  Clock::duration spent_{};
  int64_t looks_ = 0;
};

class MirrorReader final : public DirectoryReader {
 public:
  MirrorReader(MountContext& context, std::string path,
               std::unique_ptr<backends::DirectoryListing> listing, Stores stores)
      : context_(context),
        path_(std::move(path)),
        listing_(std::move(listing)),
        stores_(stores) {}

  model::Result<std::optional<DirectoryEntry>> Next() override {
    const backends::DirectoryListing::Entry* entry = nullptr;
    do {
      NDLFS_TRY(entry, listing_->Next(), path_);
      if (entry == nullptr) return std::nullopt;
    } while (IsHidden(context_, stores_, entry->name));
    std::string name(entry->name);
    const mode_t type = ShownType(*entry);
    return DirectoryEntry{std::move(name), type};
  }
  void Rewind() override { listing_->Seek(0); }

 private:
  // 0 where a lookup has to tell.
  mode_t ShownType(const backends::DirectoryListing::Entry& entry) {
    const bool may_be_store = entry.kind == FileKind::kFile && stores_ == Stores::kFolders;
    if (!may_be_store) return TypeOf(entry.kind);
    if (backends::MayBeStoreFile(entry.name)) return 0;
    if (!context_.catalog.looks_into_files()) return S_IFREG;
    const auto status = listing_->StatEntry();
    if (!status || !*status || !(*status)->is_file()) return 0;
    if (context_.catalog.IsKnownPlain(**status)) return S_IFREG;
    return look_time_.is_left() ? TypeByContent(entry.name, **status) : mode_t{0};
  }

  // The type that a lookup would find, so that `find` and `ls` need no lookup for it.
  mode_t TypeByContent(std::string_view name, const FileStatus& status) {
    const auto begin = Clock::now();
    const auto store = context_.catalog.Find(JoinSourcePath(path_, name), status);
    look_time_.Add(Clock::now() - begin);
    if (!store) return 0;
    return *store ? S_IFDIR : S_IFREG;
  }

  MountContext& context_;
  const std::string path_;
  const std::unique_ptr<backends::DirectoryListing> listing_;
  const Stores stores_;
  LookTime look_time_;
};

// The page of a directory, as one caller sees it.
class FolderPage final : public TreeNode {
 public:
  FolderPage(std::string text, const Attributes& attributes)
      : text_(MakeTextNode(std::move(text), attributes)) {}

  Relation Compare(const TreeNode& fresh) const override {
    const auto* other = dynamic_cast<const FolderPage*>(&fresh);
    return other != nullptr ? text_->Compare(*other->text_) : Relation::kDifferent;
  }
  model::Result<Attributes> Stat() const override { return text_->Stat(); }
  bool DependsOnCaller() const override { return true; }
  model::Result<OpenedFile> Open() override { return text_->Open(); }
  std::optional<FileVersion> Version() const override { return text_->Version(); }

 private:
  const TreeNodePtr text_;
};

class MirrorDirectory final : public DirectoryNode {
 public:
  // `is_guess`: it may be a store for those who may look into it.
  MirrorDirectory(MountContext& context, std::string path, const FileStatus& status,
                  Stores stores, bool is_guess)
      : context_(context),
        path_(std::move(path)),
        stores_(stores),
        is_guess_(is_guess),
        attributes_(AttributesOf(status)) {}

  model::Result<Attributes> Stat() const override {
    if (context_.services.freshness.immutable()) return attributes_;
    const auto status = StatOf(context_, path_);
    if (!status || !status->is_directory()) return model::HasChanged(path_);
    return AttributesOf(*status);
  }
  model::Result<Attributes> StatWhenFound() const override { return attributes_; }
  bool DependsOnCaller() const override {
    return is_guess_ || (has_whole_files() && context_.source->is_shared());
  }
  bool IsGuess() const override { return is_guess_; }
  model::Result<TreeNodePtr> Lookup(std::string_view name) const override {
    if (IsHidden(context_, stores_, name)) return model::NotFound("{}", name);
    if (has_whole_files()) {
      NDLFS_TRY(const auto names, context_.whole_files.In(context_, path_));
      const auto file = names->files.find(name);
      if (file != names->files.end()) return context_.whole_files.Find(context_, file->second);
      if (names->replaced.contains(name)) return model::NotFound("{}", name);
    }
    auto found = FindSourceNode(context_, JoinSourcePath(path_, name), stores_);
    if (name == kPageName && !found && found.error().code() == model::ErrorCode::kNotFound) {
      return FindPage();
    }
    return found;
  }
  model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override {
    if (has_whole_files()) return ListWholeFiles();
    auto listing = context_.source->List(path_);
    if (!listing) return model::Propagate(listing.error(), path_);
    return std::make_unique<MirrorReader>(context_, path_, *std::move(listing), stores_);
  }

 private:
  bool has_whole_files() const { return stores_ == Stores::kFolders && !context_.as.empty(); }
  // By its name only, where folders stand for stores and the source has no file of this name.
  model::Result<TreeNodePtr> FindPage() const {
    if (stores_ != Stores::kFolders || has_whole_files()) {
      return model::NotFound("{}", kPageName);
    }
    NDLFS_TRY(std::string page, WriteFolderPage(context_, path_));
    Attributes attributes = attributes_;
    attributes.mode = S_IFREG | (attributes_.mode & 0444);
    if (context_.source->is_shared()) {
      return std::make_shared<FolderPage>(std::move(page), attributes);
    }
    return MakeTextNode(std::move(page), attributes);
  }
  // The files that stand for stores, and all else as it is.
  model::Result<std::unique_ptr<DirectoryReader>> ListWholeFiles() const {
    NDLFS_TRY(const auto names, context_.whole_files.In(context_, path_));
    NDLFS_TRY(auto listing, context_.source->List(path_), path_);
    MirrorReader reader(context_, path_, std::move(listing), stores_);
    std::vector<DirectoryEntry> entries;
    for (;;) {
      NDLFS_TRY(auto entry, reader.Next());
      if (!entry) break;
      const bool is_hidden =
          names->replaced.contains(entry->name) || names->files.contains(entry->name);
      if (!is_hidden) entries.push_back(*std::move(entry));
    }
    for (const auto& [name, file] : names->files) {
      if (!context_.IsHidden(name)) entries.push_back({name, TypeOfWholeFiles(context_)});
    }
    return MakeListReader(std::move(entries));
  }

  MountContext& context_;
  const std::string path_;
  const Stores stores_;
  const bool is_guess_;
  const Attributes attributes_;
};

// The files that stand for the one store that the mount shows.
class WholeFileDirectory final : public DirectoryNode {
 public:
  WholeFileDirectory(MountContext& context, std::string path, const FileStatus& status)
      : context_(context), path_(std::move(path)), attributes_(AttributesOf(status)) {
    const mode_t readable = attributes_.mode & 0444;
    attributes_.mode = S_IFDIR | readable | (readable >> 2);
  }

  model::Result<Attributes> Stat() const override { return attributes_; }
  bool DependsOnCaller() const override { return context_.source->is_shared(); }
  model::Result<TreeNodePtr> Lookup(std::string_view name) const override {
    NDLFS_TRY(const auto names, context_.whole_files.OfStore(context_, path_));
    const auto file = names->files.find(name);
    if (file == names->files.end()) return model::NotFound("{}", name);
    return context_.whole_files.Find(context_, file->second);
  }
  model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override {
    NDLFS_TRY(const auto names, context_.whole_files.OfStore(context_, path_));
    std::vector<DirectoryEntry> entries;
    for (const auto& [name, file] : names->files)
      entries.push_back({name, TypeOfWholeFiles(context_)});
    return MakeListReader(std::move(entries));
  }

 private:
  MountContext& context_;
  const std::string path_;
  Attributes attributes_;
};

// The directory that the one file of the source is in, as if nothing else were.
class OneFileDirectory final : public DirectoryNode {
 public:
  explicit OneFileDirectory(MountContext& context) : context_(context) {}

  model::Result<Attributes> Stat() const override {
    NDLFS_TRY(const auto status, context_.source->Stat("", Follow::kNo));
    if (!status) return model::HasChanged(context_.file);
    return AttributesOf(*status);
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
                                    const FileStatus& status) {
  NDLFS_TRY(auto target, context.source->ReadLink(path), path);
  return MakeSymlinkNode(std::move(target), AttributesOf(status));
}

}  // namespace

Attributes AttributesOf(const FileStatus& status) {
  const mode_t allowed = status.is_directory() ? 0555 : 0444;
  return {.mode = TypeOf(status.kind) | (status.mode & allowed),
          .size = status.is_directory() ? FileSize() : FileSize(status.size),
          .uid = status.uid,
          .gid = status.gid,
          .rdev = status.device_number,
          .mtime_ns = status.mtime_ns,
          .ctime_ns = status.ctime_ns};
}

std::string JoinSourcePath(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + '/' + std::string(name);
}

model::Result<TreeNodePtr> FindSourceNode(MountContext& context, const std::string& path,
                                          Stores stores) {
  const auto found = context.source->Stat(path, Follow::kNo);
  // A folder has become a link. The kernel follows it when it looks again.
  if (!found && found.error().reason() == model::SystemReason::kLinkLoop)
    return model::HasChanged(path);
  if (!found) return model::Propagate(found.error(), path);
  const std::optional<FileStatus>& status = *found;
  if (!status) return model::NotFound("{}", path);
  if (status->is_symlink()) return MakeLink(context, path, *status);
  const uint64_t denials = backends::CallerScope::denials();
  if (stores == Stores::kFolders) {
    NDLFS_TRY(auto store, context.catalog.Find(path, *status));
    if (store && !context.as.empty() && path == context.file) {
      NDLFS_TRY(const auto names, context.whole_files.OfStore(context, path));
      if (!names->files.empty()) {
        return std::make_shared<WholeFileDirectory>(context, path, *status);
      }
    }
    if (store) return MakeStoreFolder(context, std::move(store));
  }
  const bool is_guess =
      context.source->is_shared() && backends::CallerScope::denials() != denials;
  if (status->is_directory()) {
    return std::make_shared<MirrorDirectory>(context, path, *status, stores, is_guess);
  }
  if (status->is_file()) {
    return std::make_shared<PlainFile>(context, path, *status, is_guess);
  }
  return std::make_shared<SpecialFile>(*status);
}

bool IsPlainFile(const TreeNode& node) {
  return dynamic_cast<const PlainFile*>(&node) != nullptr;
}

model::Result<TreeNodePtr> FindSourceMirror(MountContext& context) {
  if (!context.file.empty()) return std::make_shared<OneFileDirectory>(context);
  return FindSourceNode(context, "", Stores::kAsTheyAre);
}

}  // namespace ndlfs::fs
