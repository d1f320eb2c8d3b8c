// SPDX-License-Identifier: MIT
#include "fs/tree/view/decoded_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "backends/base/write_all.h"
#include "backends/store/answer_age.h"
#include "backends/store/block_cache/block_cache.h"
#include "backends/store/local/source_root.h"
#include "backends/store/source_clock.h"
#include "fs/tree/xattr.h"

namespace ndlfs::fs {
namespace {

using backends::ConstByteSpan;
using backends::Generation;
using backends::ReadSet;
using backends::UniqueFd;

// Bytes that have one checksum. The kernel mostly reads a multiple of it.
constexpr uint64_t kBlock = uint64_t{128} << 10;
constexpr uint64_t kMostSealBytes = uint64_t{256} << 20;
// Views that are written at a time, each with an open file.
constexpr size_t kMostWriters = 64;
// Kept files whose last look is remembered.
constexpr size_t kMostLookedAt = 1024;
// Files of the source in a seal: each of them is looked at again.
constexpr size_t kMostReads = 16'384;
// A younger file may be written once more without getting another time, which is that of a
// tick.
constexpr std::chrono::milliseconds kLeastAge{100};
// The time of use is set again when it is so old.
constexpr int64_t kUseHolds_s = 3600;

uint64_t ChecksumOf(ConstByteSpan block) {
  const uint64_t hash = XXH3_64bits(block.data(), block.size());
  return hash == 0 ? 1 : hash;  // 0 stands for none
}

uint64_t BlocksOf(uint64_t size) { return (size + kBlock - 1) / kBlock; }

std::string NameOfFile(const std::string& key) { return "view " + key; }
std::string NameOfSeal(const std::string& key) { return "seal " + key; }

// What changes when anybody writes to a file, or puts another one in its place.
struct FileFacts {
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  int64_t ctime_ns = 0;
  bool operator==(const FileFacts&) const = default;
};

std::optional<FileFacts> FactsOfFile(int fd) {
  struct ::stat status;
  if (::fstat(fd, &status) != 0) return std::nullopt;
  const auto ns = [](const timespec& time) {
    return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
  };
  return FileFacts{status.st_ino, static_cast<uint64_t>(status.st_size), ns(status.st_mtim),
                   ns(status.st_ctim)};
}

// The checksums of the blocks of a file that `checksums` has none for; nullopt if it is not
// readable, or shorter than `size`.
bool FillChecksums(int fd, uint64_t size, std::vector<uint64_t>& checksums) {
  backends::Bytes block(kBlock);
  for (size_t i = 0; i < checksums.size(); ++i) {
    if (checksums[i] != 0) continue;
    const uint64_t begin = i * kBlock;
    const auto bytes = block.span().first(std::min(kBlock, size - begin));
    const auto count = backends::ReadFully(fd, begin, bytes);
    if (!count || *count != bytes.size()) return false;
    checksums[i] = ChecksumOf(bytes);
  }
  return true;
}

class KeptFile final : public FileHandle {
 public:
  KeptFile(UniqueFd fd, uint64_t size) : fd_(std::move(fd)), size_(size) {}

  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    const uint64_t left = size_ - std::min(offset, size_);
    out = out.first(std::min<uint64_t>(out.size(), left));
    NDLFS_TRY(const size_t count, backends::ReadFully(fd_.get(), offset, out), "kept view");
    if (count != out.size()) return model::IoError(EIO, "kept view: the file has been cut");
    return count;
  }
  int descriptor() const override { return fd_.get(); }

 private:
  const UniqueFd fd_;
  const uint64_t size_;
};

}  // namespace

// On disk, these numbers, then the checksums, then the paths and versions with a zero byte
// after each; a file that was not there has an empty version.
struct DecodedCache::Seal {
  FileFacts file;
  std::vector<uint64_t> checksums;
  Reads reads;

  std::string ToBytes() const {
    const std::array<uint64_t, 5> head = {
        file.inode, file.size, static_cast<uint64_t>(file.mtime_ns),
        static_cast<uint64_t>(file.ctime_ns), checksums.size()};
    std::string bytes(reinterpret_cast<const char*>(head.data()), sizeof(head));
    bytes.append(reinterpret_cast<const char*>(checksums.data()), checksums.size() * 8);
    for (const auto& [path, version] : reads) ((bytes += path) += '\0') += version + '\0';
    return bytes;
  }

  static SealPtr FromBytes(std::string_view bytes) {
    std::array<uint64_t, 5> head;
    if (bytes.size() < sizeof(head)) return nullptr;
    std::memcpy(head.data(), bytes.data(), sizeof(head));
    bytes.remove_prefix(sizeof(head));
    auto seal = std::make_shared<Seal>();
    seal->file = {head[0], head[1], static_cast<int64_t>(head[2]),
                  static_cast<int64_t>(head[3])};
    if (head[4] != BlocksOf(head[1]) || bytes.size() / 8 < head[4]) return nullptr;
    seal->checksums.resize(head[4]);
    std::memcpy(seal->checksums.data(), bytes.data(), head[4] * 8);
    bytes.remove_prefix(head[4] * 8);
    const auto next = [&]() -> std::optional<std::string> {
      const size_t end = bytes.find('\0');
      if (end == bytes.npos) return std::nullopt;
      std::string text(bytes.substr(0, end));
      bytes.remove_prefix(end + 1);
      return text;
    };
    while (!bytes.empty()) {
      auto path = next();
      auto version = next();
      if (!path || !version) return nullptr;
      seal->reads.emplace_back(*std::move(path), *std::move(version));
    }
    return seal;
  }
};

model::Result<std::shared_ptr<DecodedCache>> DecodedCache::Open(
    Options options, std::shared_ptr<const backends::Source> source, Freshness freshness) {
  if (options.capacity / 2 < kLeastSize && options.warn) {
    options.warn(
        fmt::format("--decoded-cache-size {}: too small to keep anything; a kept file has at "
                    "least {} KiB and may take half of the size",
                    options.capacity, kLeastSize >> 10));
  }
  NDLFS_TRY(auto blocks, backends::BlockCache::Open({.directory = std::move(options.directory),
                                                     .capacity = options.capacity,
                                                     .warn = std::move(options.warn)}));
  return std::shared_ptr<DecodedCache>(
      new DecodedCache(std::move(blocks), std::move(source), std::move(freshness)));
}

DecodedCache::DecodedCache(std::shared_ptr<backends::BlockCache> blocks,
                           std::shared_ptr<const backends::Source> source, Freshness freshness)
    : blocks_(std::move(blocks)),
      source_(std::move(source)),
      root_(source_->OpenStore("")),
      freshness_(std::move(freshness)) {}

DecodedCache::~DecodedCache() {
  std::thread thread;
  {
    const model::MutexLock lock(mutex_);
    ends_ = true;
    thread.swap(thread_);
  }
  changed_.NotifyAll();
  if (thread.joinable()) thread.join();
}

std::shared_ptr<const FileHandle> DecodedCache::Look(const std::string& key, uint64_t version,
                                                     uint64_t size,
                                                     cache::ChunkLedger& ledger) {
  if (size < kLeastSize) return nullptr;
  UniqueFd file = blocks_->FindFile(NameOfFile(key));
  if (!file) return nullptr;
  const SealPtr seal = FindSeal(key);
  if (seal == nullptr) return nullptr;
  auto facts = FactsOfFile(file.get());
  if (!facts || facts->size != size || seal->file.size != size) {
    ++damaged_;
    Remove(key);
    return nullptr;
  }
  if (*facts != seal->file) {
    CheckLater(key, seal);
    return nullptr;
  }
  if (!IsCurrent(key, version, *seal) || !NoteIn(*seal, ledger)) return nullptr;
  if (std::time(nullptr) - facts->mtime_ns / 1'000'000'000 > kUseHolds_s &&
      ::futimens(file.get(), nullptr) == 0 && (facts = FactsOfFile(file.get()))) {
    PutSeal(key, {*facts, seal->checksums, seal->reads});
  }
  return std::make_shared<const KeptFile>(std::move(file), size);
}

std::shared_ptr<const FileHandle> DecodedCache::Find(const std::string& key, uint64_t version,
                                                     uint64_t size,
                                                     cache::ChunkLedger& ledger) {
  auto file = Look(key, version, size, ledger);
  if (file) ++hits_;
  return file;
}

std::string_view DecodedCache::StateOf(const std::string& key, uint64_t version, uint64_t size,
                                       cache::ChunkLedger& ledger) {
  if (size < kLeastSize) return kKeptNever;
  {
    const model::MutexLock lock(mutex_);
    if (finishing_.contains(key)) return kKeptSoon;
  }
  return Look(key, version, size, ledger) ? kKeptYes : kKeptNot;
}

DecodedCache::SealPtr DecodedCache::FindSeal(const std::string& key) {
  // Another process may have put another file, and its seal, into the place of the known one.
  const auto bytes = blocks_->Get(NameOfSeal(key), kMostSealBytes);
  return bytes ? Seal::FromBytes(backends::AsText(bytes->span())) : nullptr;
}

void DecodedCache::PutSeal(const std::string& key, const Seal& seal) {
  const std::string bytes = seal.ToBytes();
  (void)blocks_->Put(NameOfSeal(key), backends::AsBytes(bytes));
}

void DecodedCache::Remove(const std::string& key) { blocks_->RemoveFile(NameOfFile(key)); }

bool DecodedCache::IsCurrent(const std::string& key, uint64_t version, const Seal& seal) {
  {
    const model::MutexLock lock(mutex_);
    const auto known = known_.find(key);
    if (known != known_.end() && known->second.ctime_ns == seal.file.ctime_ns &&
        known->second.version == version && freshness_.MayUse(known->second.looked_at)) {
      return true;
    }
  }
  const backends::AnswerAge age(freshness_.Now());
  std::vector<ReadSet::Read> reads;
  reads.reserve(seal.reads.size());
  for (const auto& [path, version] : seal.reads) {
    auto generation = Generation::FromText(version);
    if (!version.empty() && !generation) return false;
    reads.push_back({root_, path, std::move(generation)});
  }
  const auto change = backends::FindChange(reads);
  if (!change) return false;  // nobody can tell at this moment
  if (*change) {
    Remove(key);
    return false;
  }
  const model::MutexLock lock(mutex_);
  if (known_.size() >= kMostLookedAt) known_.clear();
  known_[key] = {seal.file.ctime_ns, version, age.since()};
  return true;
}

bool DecodedCache::NoteIn(const Seal& seal, cache::ChunkLedger& ledger) const {
  const uint64_t unnoted = ledger.unnoted_reads();
  for (const auto& [path, version] : seal.reads) {
    // Another view of the array, or this one, may have noted it already.
    if (!version.empty() && ledger.Expect(root_, path).version) continue;
    if (!ledger.Note(root_, path)) return false;
  }
  return ledger.unnoted_reads() == unnoted && !ledger.has_changed();
}

void DecodedCache::CheckLater(const std::string& key, SealPtr seal) {
  {
    const model::MutexLock lock(mutex_);
    if (!checking_.insert(key).second) return;
  }
  RunLater([this, key, seal = std::move(seal)] {
    Check(key, *seal);
    const model::MutexLock lock(mutex_);
    checking_.erase(key);
  });
}

void DecodedCache::Check(const std::string& key, const Seal& seal) {
  const UniqueFd file = blocks_->FindFile(NameOfFile(key));
  const auto facts = file ? FactsOfFile(file.get()) : std::nullopt;
  if (!facts) return;
  std::vector<uint64_t> checksums(seal.checksums.size());
  if (!FillChecksums(file.get(), seal.file.size, checksums)) return;
  // Another process may have put another file there, which has a seal of its own.
  const SealPtr present = FindSeal(key);
  if (present == nullptr || present->ToBytes() != seal.ToBytes()) return;
  if (checksums != seal.checksums) {
    ++damaged_;
    Remove(key);
    return;
  }
  // Nobody has written to it meanwhile.
  if (FactsOfFile(file.get()) == facts) PutSeal(key, {*facts, checksums, seal.reads});
}

// Whether a path is right shows when the file there is looked at; but where no file was read,
// there must be no doubt.
std::optional<std::string> DecodedCache::PathOf(const ReadSet::Read& read) const {
  const std::string top = source_->Describe("");
  std::string path = read.store->Describe(read.key);
  if (read.store->Describe("") != top) return path;
  // The store is the top itself, unless something in it has the same name.
  const auto namesake = source_->Stat(top, backends::Follow::kNo);
  if (!namesake || *namesake) return std::nullopt;
  if (path.starts_with(top + "/")) path.erase(0, top.size() + 1);
  return path;
}

std::optional<DecodedCache::Reads> DecodedCache::NoteReads(const AllReads& all) const {
  if (!IsOldEnough({.modified_ns = all.metadata_ns}, all.began_ns)) return std::nullopt;
  if (all.reads.size() > kMostReads) return std::nullopt;
  Reads noted;
  std::vector<std::string> paths;
  for (const ReadSet::Read& read : all.reads) {
    auto path = PathOf(read);
    if (!path || path->find('\0') != path->npos) return std::nullopt;
    noted.emplace_back(*path, read.version ? read.version->ToText() : "");
    paths.push_back(*std::move(path));
  }
  const std::vector<std::string_view> keys(paths.begin(), paths.end());
  const auto found = root_->StatMany(keys);
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i] || backends::VersionOf(*found[i]) != all.reads[i].version)
      return std::nullopt;
    if (*found[i] && !IsOldEnough(**found[i], all.began_ns)) return std::nullopt;
  }
  return noted;
}

bool DecodedCache::IsOldEnough(const backends::ValueInfo& info, int64_t began_ns) const {
  if (!info.is_settled || root_->traits().is_remote) return info.is_settled;
  const int64_t newest = std::max(info.modified_ns, info.placed_ns);
  const bool is_our_clock = root_->ClockNs().has_value();
  return backends::IsOlderThan(newest, kLeastAge,
                               is_our_clock ? std::optional(began_ns) : std::nullopt);
}

void DecodedCache::FinishLater(const std::shared_ptr<Writer>& writer) {
  {
    const model::MutexLock lock(mutex_);
    finishing_.insert(writer->key_);
  }
  RunLater([this, writer] {
    Finish(*writer);
    const model::MutexLock lock(mutex_);
    finishing_.erase(writer->key_);
  });
}

void DecodedCache::Finish(Writer& writer) {
  std::optional<backends::BlockCache::NewFile> file;
  std::vector<uint64_t> checksums;
  {
    const model::MutexLock lock(writer.mutex_);
    file.swap(writer.file_);
    checksums.swap(writer.checksums_);
  }
  const backends::CallerScope scope(writer.caller_);
  const auto all = writer.reads_();
  const auto reads = all ? NoteReads(*all) : std::nullopt;
  if (!reads || !FillChecksums(file->get(), writer.size_, checksums)) return;
  // Without a seal nobody takes the new file for a damaged one of the old seal, also if this
  // process ends before it has put the new one.
  blocks_->RemoveFile(NameOfSeal(writer.key_));
  if (!blocks_->KeepFile(NameOfFile(writer.key_), *file)) return;
  const auto facts = FactsOfFile(file->get());
  if (!facts) return;
  PutSeal(writer.key_, {*facts, std::move(checksums), *reads});
  ++kept_;
  kept_bytes_ += writer.size_;
}

std::shared_ptr<DecodedCache::Writer> DecodedCache::Write(const std::string& key,
                                                          uint64_t version, uint64_t size,
                                                          FindReads reads) {
  if (size < kLeastSize || size > blocks_->options().capacity / 2) return nullptr;
  const model::MutexLock lock(mutex_);
  const auto known = writers_.find({key, version});
  if (known != writers_.end()) {
    if (auto writer = known->second.lock()) return writer;
  }
  if (writers_.size() >= kMostWriters) {
    std::erase_if(writers_, [](const auto& item) { return item.second.expired(); });
    if (writers_.size() >= kMostWriters) return nullptr;
  }
  auto writer = std::make_shared<Writer>(*this, key, size, std::move(reads));
  writers_[{key, version}] = writer;
  return writer;
}

void DecodedCache::RunLater(std::function<void()> job) {
  const model::MutexLock lock(mutex_);
  jobs_.push_back(std::move(job));
  if (!thread_.joinable()) thread_ = std::thread([this] { RunJobs(); });
  changed_.NotifyAll();
}

void DecodedCache::RunJobs() {
  while (true) {
    std::function<void()> job;
    {
      const model::MutexLock lock(mutex_);
      while (jobs_.empty() && !ends_) changed_.Wait(mutex_);
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    try {
      job();
    } catch (const std::bad_alloc&) {  // the view is not kept
    }
  }
}

DecodedCache::Writer::Writer(DecodedCache& cache, std::string key, uint64_t size,
                             FindReads reads)
    : cache_(cache),
      key_(std::move(key)),
      size_(size),
      reads_(std::move(reads)),
      caller_(backends::CallerScope::Current()),
      checksums_(BlocksOf(size)) {}

void DecodedCache::Writer::Add(uint64_t offset, ConstByteSpan bytes) {
  const uint64_t end = offset + bytes.size();
  if (bytes.empty() || end > size_) return;
  const int file = FileFor(offset, end);
  if (file < 0) return;
  // Whole blocks, while they are in the caches of the processor.
  std::vector<std::pair<size_t, uint64_t>> checksums;
  for (uint64_t block = BlocksOf(offset); block * kBlock < end; ++block) {
    const uint64_t begin = block * kBlock;
    const uint64_t count = std::min(kBlock, size_ - begin);
    if (begin + count > end) break;
    checksums.emplace_back(block, ChecksumOf(bytes.subspan(begin - offset, count)));
  }
  const auto done = backends::WriteAllAt(file, offset, bytes, "kept view");
  if (!done) cache_.blocks_->NoteFailure(done.error());
  const model::MutexLock lock(mutex_);
  --writing_;
  is_over_ = is_over_ || !done;
  for (const auto& [block, checksum] : checksums) checksums_[block] = checksum;
  NoteWritten(offset, end);
  if (writing_ != 0) return;  // the last one goes on
  if (is_over_) file_.reset();
  const bool is_complete =
      written_.size() == 1 && written_.begin()->first == 0 && written_.begin()->second == size_;
  if (is_over_ || !is_complete) return;
  is_over_ = true;
  cache_.FinishLater(shared_from_this());
}

int DecodedCache::Writer::FileFor(uint64_t begin, uint64_t end) {
  const model::MutexLock lock(mutex_);
  if (is_over_) return -1;
  const auto next = written_.upper_bound(begin);
  if (next != written_.begin() && std::prev(next)->second >= end) return -1;  // it is there
  if (!file_) {
    file_ = cache_.blocks_->MakeFile(size_);
    is_over_ = !file_;
  }
  if (!file_) return -1;
  room_ = std::min(room_ + end - begin, size_);
  if (!cache_.blocks_->TakeRoom(*file_, room_)) {
    is_over_ = true;
    if (writing_ == 0) file_.reset();
    return -1;
  }
  ++writing_;
  return file_->get();
}

void DecodedCache::Writer::NoteWritten(uint64_t begin, uint64_t end) {
  auto next = written_.upper_bound(begin);
  if (next != written_.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != written_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = written_.erase(next);
  }
  written_[begin] = end;
}

}  // namespace ndlfs::fs
