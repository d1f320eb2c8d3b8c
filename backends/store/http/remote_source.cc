// SPDX-License-Identifier: MIT
#include "backends/store/http/remote_source.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/store/http/remote_listing.h"
#include "backends/store/keys.h"
#include "backends/store/partial_listing.h"
#include "model/mutex.h"

namespace ndlfs::backends {
namespace {

RemoteFiles FilesOf(std::shared_ptr<const RemoteTree> tree) {
  auto reader = std::make_shared<const RemoteReader>(tree);
  return {std::move(tree), std::move(reader)};
}

constexpr StoreTraits kTraits = {.is_remote = true, .looks_are_requests = true};

// The files below a directory.
class RemoteStore final : public Store, public PartialListing {
 public:
  RemoteStore(RemoteFiles files, std::string path)
      : files_(std::move(files)), path_(std::move(path)) {}

  StoreTraits traits() const override { return kTraits; }
  std::optional<int64_t> ClockNs() const override { return files_.tree->ClockNs(); }

  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    return StatMany({&key, 1}).front();
  }

  std::vector<model::Result<std::optional<ValueInfo>>> StatMany(
      std::span<const std::string_view> keys) const override {
    std::vector<model::Result<std::optional<ValueInfo>>> answers;
    std::vector<std::string> paths;
    for (const std::string_view key : keys) {
      const auto checked = CheckKey(key);
      if (!checked) {
        for (const std::string_view each : keys) answers.push_back(StatAlone(each));
        return answers;
      }
      paths.push_back(JoinKey(path_, key));
    }
    for (const auto& look : files_.tree->LookAtFiles(paths)) {
      answers.push_back(ToInfo(look));
    }
    return answers;
  }

  void LookAhead(std::string_view prefix, std::span<const std::string_view> names,
                 std::span<const std::string_view> names_below) const override {
    const auto is_sound = [](std::string_view name) { return CheckKey(name).has_value(); };
    const bool are_sound = (prefix.empty() || is_sound(prefix)) &&
                           std::ranges::all_of(names, is_sound) &&
                           std::ranges::all_of(names_below, is_sound);
    if (are_sound) files_.tree->LookAhead(JoinKey(path_, prefix), names, names_below);
  }

  std::vector<model::Result<std::optional<Value>>> ReadMany(
      std::span<const ReadRequest> requests) const override {
    const bool are_sound =
        std::all_of(requests.begin(), requests.end(), [](const auto& request) {
          return CheckKey(request.key).has_value() && request.options.range.length != 0;
        });
    if (!are_sound) return Store::ReadMany(requests);
    return files_.reader->ReadTogether(
        *this, requests, [this](const std::string& key) { return JoinKey(path_, key); });
  }

  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    return ListSome(prefix, SIZE_MAX);
  }

  model::Result<std::vector<StoreEntry>> ListSome(std::string_view prefix,
                                                  size_t limit) const override {
    if (!prefix.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(prefix));
    NDLFS_TRY(const auto objects, ListNames(*files_.tree, JoinKey(path_, prefix), limit));
    std::vector<StoreEntry> entries;
    entries.reserve(objects.size());
    for (const ListedObject& object : objects) {
      entries.push_back({object.name, object.is_directory()});
    }
    return entries;
  }

  std::string Describe(std::string_view key) const override {
    return files_.tree->Describe(JoinKey(path_, key));
  }

 private:
  static model::Result<std::optional<ValueInfo>> ToInfo(const model::Result<Look>& look) {
    if (!look) return model::Propagate(look.error());
    if (look->kind != Look::Kind::kFile) return std::nullopt;
    return look->info;
  }
  model::Result<std::optional<ValueInfo>> StatAlone(std::string_view key) const {
    NDLFS_RETURN_IF_ERROR(CheckKey(key));
    return Stat(key);
  }
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    NDLFS_RETURN_IF_ERROR(CheckKey(key));
    return files_.reader->ReadFile(JoinKey(path_, key), options, reserve);
  }

  const RemoteFiles files_;
  const std::string path_;
};

// One version of a file: the one that it is read in first.
class PinnedFile final : public Store {
 public:
  PinnedFile(RemoteFiles files, std::string path)
      : files_(std::move(files)), path_(std::move(path)) {}

  StoreTraits traits() const override { return kTraits; }
  std::optional<int64_t> ClockNs() const override { return files_.tree->ClockNs(); }

  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    if (!key.empty() || !CheckKey(path_)) return std::nullopt;
    NDLFS_TRY(const Look look, files_.tree->LookAtFiles({&path_, 1}).front());
    if (look.kind != Look::Kind::kFile) return std::nullopt;
    return look.info;
  }
  std::vector<model::Result<std::optional<Value>>> ReadMany(
      std::span<const ReadRequest> requests) const override {
    const auto version = pinned();
    std::vector<ReadRequest> wanted(requests.begin(), requests.end());
    for (ReadRequest& request : wanted) {
      const bool is_plain = request.key.empty() && request.options.range.length != 0 &&
                            (!version || !request.options.if_match ||
                             *request.options.if_match == version->generation);
      if (!is_plain || !CheckKey(path_)) return Store::ReadMany(requests);
      if (version) request.options.if_match = version->generation;
    }
    auto answers =
        files_.reader->ReadTogether(*this, wanted, [this](const auto&) { return path_; });
    for (auto& answer : answers) {
      if (!answer) continue;
      const auto found = *answer ? std::optional((*answer)->info) : std::nullopt;
      if (const auto same = Pin(found); !same) answer = model::Propagate(same.error());
    }
    return answers;
  }

  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    if (!prefix.empty()) return std::vector<StoreEntry>();
    NDLFS_TRY(const auto info, Stat(""));
    if (!info) return std::vector<StoreEntry>();
    return std::vector<StoreEntry>{{"", false}};
  }
  std::string Describe(std::string_view) const override { return files_.tree->Describe(path_); }

 private:
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    if (!key.empty()) return std::nullopt;
    NDLFS_RETURN_IF_ERROR(CheckKey(path_));
    auto version = pinned();
    if (!version && BeginsInFirstBlock(options)) {
      // Another look at the file may just have read it, to find out what it is.
      if (!options.if_match) version = files_.reader->KnownFirstBlock(path_);
      if (!version) {
        NDLFS_TRY(version, files_.reader->ReadFirstBlock(path_, options.if_match));
      }
      NDLFS_RETURN_IF_ERROR(Pin(version));
      if (!version) return std::nullopt;
    }
    if (version && options.if_match && *options.if_match != version->generation) {
      return model::Stale("changed since it was read first");
    }
    if (version) {
      const ByteRange range = options.Clip(version->size);
      if (range.length != 0 && range.length <= kShortRemoteRead) {
        return files_.reader->ReadBlocks(path_, *version, range, reserve);
      }
    }
    ReadOptions wanted = options;
    if (version) wanted.if_match = version->generation;
    NDLFS_TRY(const auto result, files_.reader->ReadFile(path_, wanted, reserve));
    NDLFS_RETURN_IF_ERROR(Pin(result ? std::optional(result->info) : std::nullopt));
    return result;
  }

  static bool BeginsInFirstBlock(const ReadOptions& options) {
    const ByteRange& range = options.range;
    return !options.from_end && range.length != 0 && range.length <= kShortRemoteRead &&
           range.offset <= kRemoteBlock - range.length;
  }

  std::optional<ValueInfo> pinned() const {
    const model::MutexLock lock(mutex_);
    return version_;
  }
  // Keeps the first version that is found (none: there is no file). kStale if it is another
  // one.
  model::Result<void> Pin(const std::optional<ValueInfo>& found) const {
    const model::MutexLock lock(mutex_);
    if (!version_) version_ = found;
    const bool is_same = version_.has_value() == found.has_value() &&
                         (!found || version_->generation == found->generation);
    if (is_same) return {};
    return model::Stale(found ? "changed since it was read first"
                              : "gone since it was read first");
  }

  const RemoteFiles files_;
  const std::string path_;
  mutable model::Mutex mutex_;
  mutable std::optional<ValueInfo> version_ GUARDED_BY(mutex_);
};

}  // namespace

RemoteSource::RemoteSource(std::shared_ptr<const HttpClient> client,
                           std::shared_ptr<const ObjectService> service, RemoteOptions options)
    : files_(FilesOf(std::make_shared<const RemoteTree>(std::move(client), std::move(service),
                                                        std::move(options)))) {}

model::Result<std::optional<FileStatus>> RemoteSource::Stat(std::string_view path,
                                                            Follow) const {
  if (!path.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(path));
  NDLFS_TRY(const Look look, files_.tree->LookAt(std::string(path)));
  if (look.kind == Look::Kind::kAbsent) return std::nullopt;
  return StatusOf(*files_.tree, path, look);
}

void RemoteSource::LookTogether(const std::string& path,
                                std::span<const std::string> documents) const {
  const auto is_sound = [](const std::string& each) { return CheckKey(each).has_value(); };
  if (!path.empty() && !is_sound(path)) return;
  if (std::ranges::all_of(documents, is_sound)) files_.tree->LookTogether(path, documents);
}

model::Result<std::unique_ptr<DirectoryListing>> RemoteSource::List(
    std::string_view path) const {
  if (!path.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(path));
  return ListDirectory(files_.tree, std::string(path));
}

std::shared_ptr<const Store> RemoteSource::OpenStore(const std::string& path) const {
  return MakeRemoteStore(files_, path);
}

std::shared_ptr<const Store> RemoteSource::OpenFile(const std::string& path, Follow) const {
  return MakeRemoteFile(files_, path);
}

std::shared_ptr<const Store> MakeRemoteStore(RemoteFiles files, std::string path) {
  return std::make_shared<RemoteStore>(std::move(files), std::move(path));
}

std::shared_ptr<const Store> MakeRemoteFile(RemoteFiles files, std::string path) {
  return std::make_shared<PinnedFile>(std::move(files), std::move(path));
}

}  // namespace ndlfs::backends
