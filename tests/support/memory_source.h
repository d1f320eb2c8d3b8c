// SPDX-License-Identifier: MIT
//
// A Source in memory, for tests: files are put and removed at will, and it notes
// what is read of them. Like a bucket it has no links, and no directories but
// those that a file is in.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/store/keys.h"
#include "backends/store/source.h"
#include "tests/support/python.h"

namespace ndlfs::test {

class MemorySource final : public backends::Source,
                           public std::enable_shared_from_this<MemorySource> {
 public:
  // Bytes of a file that somebody has read.
  struct Read {
    std::string path;
    uint64_t offset;
    uint64_t size;
  };

  static std::shared_ptr<MemorySource> Make() { return std::make_shared<MemorySource>(); }

  void Put(std::string_view path, std::string_view text) {
    const std::scoped_lock lock(mutex_);
    ++clock_;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const int64_t modified =
        has_clock_ ? std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()
                   : static_cast<int64_t>(clock_);
    files_[std::string(path)] = {std::string(text), clock_, modified};
  }
  // Files get their times from the clock of the system, from now on.
  void UseClock() { has_clock_ = true; }
  // Asked before each answer: the errno with which it fails; 0: it does not.
  void set_fault(std::function<int()> fault) { fault_ = std::move(fault); }
  // All files below a directory of this machine, below `path`.
  void PutTree(const std::string& path, const std::filesystem::path& directory) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
      if (!entry.is_regular_file()) continue;
      const std::string inside = entry.path().lexically_relative(directory).string();
      Put(backends::JoinKey(path, inside), ReadFile(entry.path().string()));
    }
  }
  void Remove(std::string_view path) {
    const std::scoped_lock lock(mutex_);
    files_.erase(std::string(path));
  }
  // Paths and contents.
  std::map<std::string, std::string> files() const {
    const std::scoped_lock lock(mutex_);
    std::map<std::string, std::string> all;
    for (const auto& [path, file] : files_) all.emplace(path, file.text);
    return all;
  }
  std::vector<Read> reads() const {
    const std::scoped_lock lock(mutex_);
    return reads_;
  }
  // How often Stat() was asked, and for what.
  std::vector<std::string> looks() const {
    const std::scoped_lock lock(mutex_);
    return looks_;
  }
  // Answers as a source behind a server does, from now on.
  void MakeLooksRequests() { looks_are_requests_ = true; }
  bool looks_are_requests() const override { return looks_are_requests_; }
  void ForgetReads() {
    const std::scoped_lock lock(mutex_);
    reads_.clear();
    looks_.clear();
  }

  const std::string& name() const override { return name_; }
  model::Result<std::optional<backends::FileStatus>> Stat(std::string_view path,
                                                          backends::Follow) const override {
    if (!path.empty()) NDLFS_RETURN_IF_ERROR(backends::CheckKey(path));
    NDLFS_RETURN_IF_ERROR(Fault());
    const std::scoped_lock lock(mutex_);
    looks_.emplace_back(path);
    return StatLocked(path);
  }
  model::Result<std::unique_ptr<backends::DirectoryListing>> List(
      std::string_view path) const override {
    NDLFS_TRY(const auto status, Stat(path, backends::Follow::kNo));
    if (!status) return model::IoError(ENOENT, "list");
    if (!status->is_directory()) return model::IoError(ENOTDIR, "list");
    return std::make_unique<Listing>(shared_from_this(), std::string(path), Names(path));
  }
  std::shared_ptr<const backends::Store> OpenStore(const std::string& path) const override {
    return std::make_shared<DirectoryStore>(shared_from_this(), path);
  }
  using Source::OpenFile;
  std::shared_ptr<const backends::Store> OpenFile(const std::string& path,
                                                  backends::Follow) const override {
    return std::make_shared<FileStore>(shared_from_this(), path);
  }

 private:
  struct File {
    std::string text;
    uint64_t version = 0;
    int64_t modified_ns = 0;
  };
  using SourcePtr = std::shared_ptr<const MemorySource>;

  static backends::ValueInfo InfoOf(const File& file) {
    return {backends::Generation::OfTag(std::to_string(file.version)), file.text.size(),
            file.modified_ns};
  }

  class Listing final : public backends::DirectoryListing {
   public:
    Listing(SourcePtr source, std::string path, std::map<std::string, bool> names)
        : source_(std::move(source)),
          path_(std::move(path)),
          names_(names.begin(), names.end()) {}

    model::Result<const Entry*> Next() override {
      if (next_ >= names_.size()) return nullptr;
      const auto& [name, is_directory] = names_[next_++];
      entry_ = {name, is_directory ? backends::FileKind::kDirectory : backends::FileKind::kFile,
                static_cast<int64_t>(next_)};
      return &entry_;
    }
    void Seek(int64_t position) override { next_ = static_cast<size_t>(position); }
    model::Result<std::optional<backends::FileStatus>> StatEntry() override {
      return source_->Stat(backends::JoinKey(path_, entry_.name), backends::Follow::kNo);
    }

   private:
    const SourcePtr source_;
    const std::string path_;
    const std::vector<std::pair<std::string, bool>> names_;
    size_t next_ = 0;
    Entry entry_;
  };

  // The files below `prefix_`.
  class DirectoryStore : public backends::Store {
   public:
    DirectoryStore(SourcePtr source, std::string prefix)
        : source_(std::move(source)), prefix_(std::move(prefix)) {}

    backends::StoreTraits traits() const override {
      return {.looks_are_requests = source_->looks_are_requests(), .reads_in_parts = true};
    }
    model::Result<std::optional<backends::ValueInfo>> Stat(
        std::string_view key) const override {
      NDLFS_RETURN_IF_ERROR(CheckIsBelow(key));
      NDLFS_RETURN_IF_ERROR(source_->Fault());
      return source_->InfoAt(PathOf(key));
    }
    model::Result<std::vector<backends::StoreEntry>> List(
        std::string_view prefix) const override {
      if (!prefix.empty()) NDLFS_RETURN_IF_ERROR(CheckIsBelow(prefix));
      NDLFS_RETURN_IF_ERROR(source_->Fault());
      std::vector<backends::StoreEntry> entries;
      for (const auto& [name, is_directory] : source_->Names(PathOf(prefix))) {
        entries.push_back({name, is_directory});
      }
      return entries;
    }
    std::string Describe(std::string_view key) const override {
      return source_->Describe(PathOf(key));
    }

   protected:
    virtual model::Result<void> CheckIsBelow(std::string_view key) const {
      return backends::CheckKey(key);
    }
    std::string PathOf(std::string_view key) const { return backends::JoinKey(prefix_, key); }
    model::Result<std::optional<backends::ReadResult>> DoRead(
        std::string_view key, const backends::ReadOptions& options,
        const backends::Reserve& reserve) const override {
      NDLFS_RETURN_IF_ERROR(CheckIsBelow(key));
      return source_->ReadAt(PathOf(key), options, reserve);
    }

    const SourcePtr source_;
    const std::string prefix_;
  };

  // One version of one file.
  class FileStore final : public DirectoryStore {
   public:
    using DirectoryStore::DirectoryStore;

    model::Result<std::optional<backends::ValueInfo>> Stat(
        std::string_view key) const override {
      if (!key.empty()) return std::nullopt;
      NDLFS_RETURN_IF_ERROR(source_->Fault());
      return source_->InfoAt(prefix_);
    }
    model::Result<std::vector<backends::StoreEntry>> List(std::string_view) const override {
      return std::vector<backends::StoreEntry>();
    }

   private:
    model::Result<std::optional<backends::ReadResult>> DoRead(
        std::string_view key, const backends::ReadOptions& options,
        const backends::Reserve& reserve) const override {
      NDLFS_TRY(const bool is_there, Open(key));
      if (!is_there) return std::nullopt;
      auto result = source_->ReadAt(prefix_, options, reserve);
      // It may have changed in between.
      const std::scoped_lock lock(mutex_);
      if (result && *result && (*result)->info != first_) {
        return model::Stale("changed since it was opened");
      }
      return result;
    }
    // Whether there is the version that was read first.
    model::Result<bool> Open(std::string_view key) const {
      if (!key.empty()) return false;
      const auto now = source_->InfoAt(prefix_);
      const std::scoped_lock lock(mutex_);
      if (!first_) first_ = now;
      if (now != first_) return model::Stale("changed since it was opened");
      return now.has_value();
    }

    mutable std::mutex mutex_;
    mutable std::optional<backends::ValueInfo> first_;
  };

  model::Result<void> Fault() const {
    const int error = fault_ ? fault_() : 0;
    if (error == 0) return {};
    return model::IoError(error, "a fault");
  }

  std::optional<backends::ValueInfo> InfoAt(std::string_view path) const {
    const std::scoped_lock lock(mutex_);
    const auto file = files_.find(path);
    if (file == files_.end()) return std::nullopt;
    return InfoOf(file->second);
  }

  model::Result<std::optional<backends::ReadResult>> ReadAt(
      std::string_view path, const backends::ReadOptions& options,
      const backends::Reserve& reserve) const {
    NDLFS_RETURN_IF_ERROR(Fault());
    const std::scoped_lock lock(mutex_);
    const auto file = files_.find(path);
    if (file == files_.end()) return std::nullopt;
    const std::string& text = file->second.text;
    NDLFS_TRY(const backends::ByteSpan out, reserve(text.size()));
    const backends::ByteRange range = options.Clip(text.size());
    const size_t count = std::min<uint64_t>(out.size(), range.length);
    if (count != 0) std::memcpy(out.data(), text.data() + range.offset, count);
    reads_.push_back({file->first, range.offset, count});
    return backends::ReadResult{count, InfoOf(file->second)};
  }

  std::optional<backends::FileStatus> StatLocked(std::string_view path) const {
    backends::FileStatus status;
    status.id = {1, std::hash<std::string_view>()(path)};
    const auto file = files_.find(path);
    if (file == files_.end()) {
      const std::string begin = path.empty() ? "" : std::string(path) + "/";
      const auto inside = files_.lower_bound(begin);
      const bool is_directory = inside != files_.end() && inside->first.starts_with(begin);
      if (!is_directory && !path.empty()) return std::nullopt;
      status.kind = backends::FileKind::kDirectory;
      status.mode = 0555;
      return status;
    }
    status.kind = backends::FileKind::kFile;
    status.mode = 0444;
    const backends::ValueInfo info = InfoOf(file->second);
    status.version = info.generation;
    status.size = info.size;
    status.mtime_ns = status.ctime_ns = info.modified_ns;
    return status;
  }

  // What is in the directory at `path`, and whether it is one, too.
  std::map<std::string, bool> Names(std::string_view path) const {
    const std::scoped_lock lock(mutex_);
    const std::string begin = path.empty() ? "" : std::string(path) + "/";
    std::map<std::string, bool> names;
    for (auto it = files_.lower_bound(begin); it != files_.end(); ++it) {
      if (!it->first.starts_with(begin)) break;
      const std::string rest = it->first.substr(begin.size());
      const size_t slash = rest.find('/');
      names[rest.substr(0, slash)] |= slash != rest.npos;
    }
    return names;
  }

  const std::string name_ = "memory://test/source";
  mutable std::mutex mutex_;
  std::map<std::string, File, std::less<>> files_;
  uint64_t clock_ = 1'700'000'000'000'000'000;
  mutable std::vector<Read> reads_;
  mutable std::vector<std::string> looks_;
  bool looks_are_requests_ = false;
  bool has_clock_ = false;
  std::function<int()> fault_;
};

}  // namespace ndlfs::test
