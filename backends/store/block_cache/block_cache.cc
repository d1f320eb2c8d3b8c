// SPDX-License-Identifier: MIT
#include "backends/store/block_cache/block_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>
#include <vector>

#include "backends/base/interrupted.h"
#include "backends/base/new_id.h"
#include "backends/base/write_all.h"
#include "model/secret_hash.h"

namespace ndlfs::backends {
namespace {

constexpr std::string_view kMagic = "ndlblk1\n";
constexpr std::string_view kTemporary = "new.";
constexpr std::string_view kClaim = "room.";
constexpr const char* kLockName = "lock";
constexpr size_t kLongestKey = 16 << 10;
// A time of use is written again when it is so old.
constexpr int64_t kTouchAfter_s = 60;
// A temporary file that is so old belongs to nobody.
constexpr int64_t kAbandoned_s = 3600;
constexpr std::chrono::seconds kPauseAfterFailure{60};
// The part of the capacity that stays in use when blocks are removed.
constexpr double kKeptPart = 0.9;
// After writing this part of the capacity, a process looks at what others have written.
constexpr uint64_t kCountEvery = 8;
// The part of the capacity that files of a process may take while they are not complete.
constexpr uint64_t kUnclaimedPart = 8;
// Room for such a file is taken in steps of this part of the capacity.
constexpr uint64_t kStepsOfRoom = 64;
constexpr int64_t kBlockOnDisk = 512;  // the unit of st_blocks
// What the smallest file mostly takes on a disk.
constexpr uint64_t kLeastOnDisk = 4096;

// At the begin of each file, in the byte order of the machine: the directory is for this
// machine.
struct Header {
  std::array<char, 8> magic;
  uint64_t key_size;
  uint64_t block_size;
  uint64_t checksum;  // XXH3 of the block, seeded with that of the key
};

uint64_t Checksum(std::string_view key, ConstByteSpan block) {
  return XXH3_64bits_withSeed(block.data(), block.size(), XXH3_64bits(key.data(), key.size()));
}

// The room that a file of `size` bytes takes.
uint64_t OnDisk(uint64_t size) {
  return (size + kLeastOnDisk - 1) / kLeastOnDisk * kLeastOnDisk;
}

// "3f" and "09a8...": a folder, and a name in it.
struct FileName {
  std::string folder;
  std::string name;
};
FileName NameOf(std::string_view key) {
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  const std::string name = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  return {name.substr(0, 2), name.substr(2)};
}

// A folder of the cache. One that is a link leads out of the cache, and is none.
UniqueFd OpenFolder(int directory, const std::string& folder) {
  return UniqueFd(Uninterrupted([&] {
    return ::openat(directory, folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }));
}

// The same, made if there is none. A link of its name goes, as a damaged block does.
UniqueFd MakeFolder(int directory, const std::string& folder) {
  UniqueFd opened = OpenFolder(directory, folder);
  if (opened) return opened;
  struct ::stat status;
  const bool is_link =
      ::fstatat(directory, folder.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(status.st_mode);
  if (is_link) ::unlinkat(directory, folder.c_str(), 0);
  if (::mkdirat(directory, folder.c_str(), 0700) != 0 && errno != EEXIST) return UniqueFd();
  return OpenFolder(directory, folder);
}

bool ReadAll(int fd, std::array<iovec, 2> parts, size_t total) {
  size_t done = 0;
  while (done < total) {
    const ssize_t count = Uninterrupted([&] {
      return ::preadv(fd, parts.data(), static_cast<int>(parts.size()),
                      static_cast<off_t>(done));
    });
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
    auto left = static_cast<size_t>(count);
    for (iovec& part : parts) {
      const size_t used = std::min(left, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + used;
      part.iov_len -= used;
      left -= used;
    }
  }
  return true;
}

struct BlockFile {
  std::string folder;
  std::string name;
  uint64_t bytes = 0;
  timespec used = {};
};

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using DirectoryPtr = std::unique_ptr<DIR, CloseDirectory>;

bool IsBlockName(std::string_view name) {
  return name.size() == 30 && name.find_first_not_of("0123456789abcdef") == name.npos;
}

// Adds the blocks of a folder, and removes temporary files that nobody will complete.
void CountFolder(int directory, const std::string& folder, std::vector<BlockFile>& files) {
  UniqueFd opened = OpenFolder(directory, folder);
  if (!opened) return;
  const DirectoryPtr listing(::fdopendir(opened.get()));
  if (!listing) return;
  const int fd = opened.release();  // the listing closes it
  const time_t now = std::time(nullptr);
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    const bool is_temporary = name.starts_with(kTemporary);
    struct ::stat status;
    if ((!is_temporary && !IsBlockName(name)) ||
        ::fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
      continue;
    }
    if (is_temporary && now - status.st_mtim.tv_sec > kAbandoned_s) {
      ::unlinkat(fd, entry->d_name, 0);
      continue;
    }
    files.push_back({folder, entry->d_name,
                     static_cast<uint64_t>(
                         std::max<int64_t>(status.st_size, status.st_blocks * kBlockOnDisk)),
                     status.st_mtim});
  }
}

// The bytes of a claim; 0 if there is none of that name, or its process has ended.
uint64_t CountClaim(int directory, const char* name) {
  const UniqueFd file(
      ::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct ::stat status;
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  if (::flock(file.get(), LOCK_SH | LOCK_NB) != 0) return static_cast<uint64_t>(status.st_size);
  ::unlinkat(directory, name, 0);
  return 0;
}

// The room that is claimed for files without a name; those are written by any process.
uint64_t CountClaims(int directory) {
  UniqueFd opened(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return 0;
  const DirectoryPtr listing(::fdopendir(opened.get()));
  if (!listing) return 0;
  opened.release();  // the listing closes it
  uint64_t bytes = 0;
  while (const dirent* entry = ::readdir(listing.get())) {
    if (std::string_view(entry->d_name).starts_with(kClaim)) {
      bytes += std::min(CountClaim(directory, entry->d_name), UINT64_MAX - bytes);
    }
  }
  return bytes;
}

struct Contents {
  std::vector<BlockFile> files;
  uint64_t claimed = 0;  // bytes of files without a name
  uint64_t total = 0;    // bytes of all
};

Contents CountAll(int directory) {
  Contents all;
  // First: a file that gets its name meanwhile counts twice, and not never.
  all.claimed = CountClaims(directory);
  for (int i = 0; i < 256; ++i) CountFolder(directory, fmt::format("{:02x}", i), all.files);
  all.total = all.claimed;
  for (const BlockFile& file : all.files) all.total += file.bytes;
  return all;
}

// Removes those that were used longest ago until `most` bytes are left, or only claims are;
// returns how many bytes are.
uint64_t RemoveOldest(int directory, Contents all, uint64_t most) {
  auto& [files, claimed, total] = all;
  std::sort(files.begin(), files.end(), [](const BlockFile& a, const BlockFile& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const BlockFile& file : files) {
    if (total <= most) break;
    if (const UniqueFd folder = OpenFolder(directory, file.folder)) {
      ::unlinkat(folder.get(), file.name.c_str(), 0);
    }
    total -= file.bytes;
  }
  return total;
}

int64_t SteadyNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

struct BlockCache::Found {
  UniqueFd folder;
  UniqueFd file;
  std::string name;
  uint64_t block_size = 0;

  void Remove() const { ::unlinkat(folder.get(), name.c_str(), 0); }
};

model::Result<std::shared_ptr<BlockCache>> BlockCache::Open(BlockCacheOptions options) {
  const std::string& path = options.directory;
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST && errno != EROFS &&
      errno != ENOSPC) {
    if (errno != ENOENT) return model::IoError(errno, path);
    return model::BadInput("{}: there is no directory {} to make it in", model::Quote(path),
                           model::Quote(std::filesystem::path(path).parent_path().string()));
  }
  const int fd =
      Uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) return model::IoError(errno, path);
  UniqueFd directory(fd);
  struct ::stat status;
  if (::fstat(fd, &status) != 0) return model::IoError(errno, path);
  if (status.st_uid != ::geteuid()) {
    return model::BadInput("{} belongs to another user", model::Quote(path));
  }
  if ((status.st_mode & 077) != 0) {
    return model::BadInput("{} may be entered by other users: chmod 700 it first",
                           model::Quote(path));
  }
  return std::shared_ptr<BlockCache>(new BlockCache(std::move(options), std::move(directory)));
}

BlockCache::BlockCache(BlockCacheOptions options, UniqueFd directory)
    : options_(std::move(options)),
      directory_(std::move(directory)),
      id_(model::SecretHash(NewId(), "block cache")) {}

BlockCache::Found BlockCache::OpenBlock(std::string_view key) {
  Found found;
  const FileName file_name = NameOf(key);
  found.name = file_name.name;
  found.folder = OpenFolder(directory_.get(), file_name.folder);
  if (!found.folder) return found;
  // A FIFO has no end that anybody would wait for.
  const int fd = Uninterrupted([&] {
    return ::openat(found.folder.get(), found.name.c_str(),
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  });
  struct ::stat status;
  if (fd < 0) return found;
  UniqueFd file(fd);
  if (::fstat(fd, &status) != 0) return found;
  if (!S_ISREG(status.st_mode)) {
    ++damaged_;
    found.Remove();
    return found;
  }
  const uint64_t head = sizeof(Header) + key.size();
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size < head) {
    ++damaged_;
    found.Remove();
    return found;
  }
  if (std::time(nullptr) - status.st_mtim.tv_sec > kTouchAfter_s) ::futimens(fd, nullptr);
  found.block_size = size - head;
  found.file = std::move(file);
  return found;
}

bool BlockCache::Check(std::string_view key, const Found& found, ConstByteSpan head,
                       ConstByteSpan block) {
  Header header;
  std::memcpy(&header, head.data(), sizeof(header));
  const std::string_view stored_key = AsText(head.subspan(sizeof(header)));
  if (std::string_view(header.magic.data(), header.magic.size()) == kMagic &&
      stored_key == key && header.key_size == key.size() && header.block_size == block.size() &&
      header.checksum == Checksum(key, block)) {
    ++hits_;
    hit_bytes_ += block.size();
    return true;
  }
  ++misses_;
  ++damaged_;
  found.Remove();
  return false;
}

bool BlockCache::Has(std::string_view key, uint64_t size) {
  const FileName name = NameOf(key);
  const UniqueFd folder = OpenFolder(directory_.get(), name.folder);
  struct ::stat status;
  const bool is_there =
      folder && ::fstatat(folder.get(), name.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(status.st_mode) &&
      static_cast<uint64_t>(status.st_size) == sizeof(Header) + key.size() + size;
  if (!is_there) ++misses_;
  return is_there;
}

bool BlockCache::Get(std::string_view key, ByteSpan out) {
  const Found found = OpenBlock(key);
  if (!found.file || found.block_size != out.size()) {
    ++misses_;
    return false;
  }
  Bytes head(sizeof(Header) + key.size());
  if (!ReadAll(found.file.get(),
               {iovec{head.data(), head.size()}, iovec{out.data(), out.size()}},
               head.size() + out.size())) {
    ++misses_;
    return false;
  }
  return Check(key, found, head.span(), out);
}

std::optional<Bytes> BlockCache::Get(std::string_view key, size_t limit) {
  const Found found = OpenBlock(key);
  if (!found.file || found.block_size > limit) {
    ++misses_;
    return std::nullopt;
  }
  Bytes block(found.block_size);
  Bytes head(sizeof(Header) + key.size());
  if (!ReadAll(found.file.get(),
               {iovec{head.data(), head.size()}, iovec{block.data(), block.size()}},
               head.size() + block.size())) {
    ++misses_;
    return std::nullopt;
  }
  if (!Check(key, found, head.span(), block.span())) return std::nullopt;
  return block;
}

bool BlockCache::MayWrite() const { return SteadyNow() >= no_writes_until_ns_; }

bool BlockCache::Put(std::string_view key, ConstByteSpan block) {
  const uint64_t size = sizeof(Header) + key.size() + block.size();
  if (key.size() > kLongestKey || size > options_.capacity / 2 || !MayWrite()) {
    return false;
  }
  (void)MakeRoom(OnDisk(size), Room::kForBlock);
  if (auto written = Write(key, block); !written) {
    NoteFailure(written.error());
    return false;
  }
  ++stored_;
  stored_bytes_ += block.size();
  return true;
}

model::Result<void> BlockCache::Write(std::string_view key, ConstByteSpan block) {
  const FileName name = NameOf(key);
  const UniqueFd folder = MakeFolder(directory_.get(), name.folder);
  if (!folder) return model::IoError(errno, "mkdir");
  const std::string temporary = NewName(kTemporary);
  const int fd = Uninterrupted([&] {
    return ::openat(folder.get(), temporary.c_str(),
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  });
  if (fd < 0) return model::IoError(errno, "create");
  const UniqueFd file(fd);
  Header header = {{}, key.size(), block.size(), Checksum(key, block)};
  std::copy(kMagic.begin(), kMagic.end(), header.magic.begin());
  auto written = WriteAll(fd, std::as_bytes(std::span(&header, 1)), "write");
  if (written) written = WriteAll(fd, AsBytes(key), "write");
  if (written) written = WriteAll(fd, block, "write");
  if (written &&
      ::renameat(folder.get(), temporary.c_str(), folder.get(), name.name.c_str()) != 0) {
    written = model::IoError(errno, "rename");
  }
  if (!written) ::unlinkat(folder.get(), temporary.c_str(), 0);
  return written;
}

std::string BlockCache::NewName(std::string_view kind) {
  // Processes of other namespaces may have the same number, and a fork has the same id.
  return fmt::format("{}{}.{:016x}.{}", kind, ::getpid(), id_, next_name_++);
}

BlockCache::NewFile::~NewFile() {
  if (!claim_) return;  // moved from
  GiveBackUnclaimed();
  ::unlinkat(cache_->directory_.get(), name_.c_str(), 0);
}

void BlockCache::NewFile::GiveBackUnclaimed() {
  cache_->unclaimed_ -= std::exchange(unclaimed_, 0);
}

std::optional<BlockCache::NewFile> BlockCache::MakeFile(uint64_t size) {
  if (size > options_.capacity / 2 || !MayWrite()) return std::nullopt;
  std::string name = NewName(kClaim);
  auto claim = Claim(name);
  if (!claim) {
    NoteFailure(claim.error());
    return std::nullopt;
  }
  NewFile file(*this, size, *std::move(claim), std::move(name));
  file.file_ = UniqueFd(::openat(directory_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.file_) return file;
  NoteFailure(model::IoError(errno, "create").value());
  return std::nullopt;
}

bool BlockCache::TakeRoom(NewFile& file, uint64_t bytes) {
  if (bytes <= file.room() || file.room() == file.size_) return true;
  // Not for each read of a program.
  const uint64_t step = options_.capacity / kStepsOfRoom;
  uint64_t more = std::min(bytes + step, file.size_) - file.room();
  const uint64_t taken = TakeUnclaimed(more);
  file.unclaimed_ += taken;
  return taken == more || ClaimMore(file, more - taken);
}

uint64_t BlockCache::TakeUnclaimed(uint64_t bytes) {
  const uint64_t most = options_.capacity / kUnclaimedPart;
  uint64_t before = unclaimed_;
  uint64_t taken;
  do {
    taken = std::min(bytes, most - std::min(most, before));
  } while (!unclaimed_.compare_exchange_weak(before, before + taken));
  return taken;
}

bool BlockCache::ClaimMore(NewFile& file, uint64_t bytes) {
  const auto size = static_cast<off_t>(file.claimed_ + bytes);
  if (::ftruncate(file.claim_.get(), size) != 0) {
    NoteFailure(model::IoError(errno, "claim").value());
    return false;
  }
  file.claimed_ += bytes;
  return MakeRoom(bytes, Room::kClaimed);
}

model::Result<UniqueFd> BlockCache::Claim(const std::string& name) {
  // It has its lock before others can see it.
  UniqueFd claim(::openat(directory_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const bool is_locked = claim && ::flock(claim.get(), LOCK_EX | LOCK_NB) == 0;
  if (!is_locked) return model::IoError(errno, "create");
  const std::string path = fmt::format("/proc/self/fd/{}", claim.get());
  if (::linkat(AT_FDCWD, path.c_str(), directory_.get(), name.c_str(), AT_SYMLINK_FOLLOW) !=
      0) {
    return model::IoError(errno, "link");
  }
  return claim;
}

bool BlockCache::KeepFile(std::string_view key, NewFile& complete) {
  if (!ClaimMore(complete, complete.size_ - complete.claimed_)) return false;
  complete.GiveBackUnclaimed();
  const int file = complete.get();
  const FileName name = NameOf(key);
  model::Result<void> done;
  struct ::stat status = {};
  if (::fchmod(file, 0400) != 0 || ::fsync(file) != 0 || ::fstat(file, &status) != 0) {
    done = model::IoError(errno, "write");
  }
  const UniqueFd folder = done ? MakeFolder(directory_.get(), name.folder) : UniqueFd();
  if (done && !folder) done = model::IoError(errno, "mkdir");
  if (done) done = Name(folder.get(), file, name.name);
  if (!done) {
    NoteFailure(done.error());
    return false;
  }
  (void)::fsync(folder.get());  // without its name it is lost, and nothing worse
  // The file counts by itself from now on.
  if (::ftruncate(complete.claim_.get(), 0) == 0) complete.claimed_ = 0;
  ++stored_;
  stored_bytes_ += static_cast<uint64_t>(status.st_size);
  return true;
}

model::Result<void> BlockCache::Name(int folder, int file, const std::string& name) {
  const std::string temporary = NewName(kTemporary);
  const std::string path = fmt::format("/proc/self/fd/{}", file);
  if (::linkat(AT_FDCWD, path.c_str(), folder, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return model::IoError(errno, "link");
  }
  if (::renameat(folder, temporary.c_str(), folder, name.c_str()) == 0) return {};
  const int error = errno;
  ::unlinkat(folder, temporary.c_str(), 0);
  return model::IoError(error, "rename");
}

UniqueFd BlockCache::FindFile(std::string_view key) {
  const FileName name = NameOf(key);
  const UniqueFd folder = OpenFolder(directory_.get(), name.folder);
  if (!folder) return {};
  UniqueFd file(::openat(folder.get(), name.name.c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct ::stat status;
  if (!file || ::fstat(file.get(), &status) != 0) return {};
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) {
    ++damaged_;
    ::unlinkat(folder.get(), name.name.c_str(), 0);
    return {};
  }
  return file;
}

void BlockCache::RemoveFile(std::string_view key) {
  const FileName name = NameOf(key);
  if (const UniqueFd folder = OpenFolder(directory_.get(), name.folder)) {
    ::unlinkat(folder.get(), name.name.c_str(), 0);
  }
}

void BlockCache::NoteFailure(const model::Error& error) {
  no_writes_until_ns_ = SteadyNow() + std::chrono::nanoseconds(kPauseAfterFailure).count();
  {
    model::MutexLock lock(mutex_);
    if (std::exchange(has_warned_, true)) return;
  }
  if (options_.warn) {
    options_.warn(fmt::format("block cache {}: {}; nothing new is kept in it",
                              options_.directory, error.message()));
  }
}

bool BlockCache::IsCountDue() const {
  return !is_counted_ || since_count_ > options_.capacity / kCountEvery ||
         counted_bytes_ + since_count_ > options_.capacity;
}

bool BlockCache::MakeRoom(uint64_t size, Room room) {
  const uint64_t more = room == Room::kClaimed ? 0 : size;
  {
    model::MutexLock lock(mutex_);
    since_count_ += size;
    if (!IsCountDue()) return true;
    if (room == Room::kForBlock && is_counting_) return true;
    const uint64_t before = counts_;
    while (is_counting_) counted_.Wait(mutex_);
    // A count that began after the claim has seen it.
    if (counts_ != before && counted_bytes_ <= options_.capacity) return true;
    ++counts_;
    is_counting_ = true;
    since_count_ = more;
  }
  const uint64_t total = CountAndRemove(more);
  model::MutexLock lock(mutex_);
  counted_bytes_ = total;
  is_counted_ = true;
  is_counting_ = false;
  counted_.NotifyAll();
  return total + more <= options_.capacity;
}

uint64_t BlockCache::CountAndRemove(uint64_t more) {
  Contents all = CountAll(directory_.get());
  if (all.total + more <= options_.capacity) return all.total;
  // One process at a time removes files; the others would remove as many again.
  const UniqueFd lock_file(
      ::openat(directory_.get(), kLockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (lock_file && ::flock(lock_file.get(), LOCK_EX | LOCK_NB) != 0) return all.total;
  const auto most = static_cast<uint64_t>(static_cast<double>(options_.capacity) * kKeptPart);
  return RemoveOldest(directory_.get(), std::move(all), most - std::min(most, more));
}

BlockCacheStats BlockCache::stats() const {
  return {hits_, misses_, hit_bytes_, stored_, stored_bytes_, damaged_};
}

}  // namespace ndlfs::backends
