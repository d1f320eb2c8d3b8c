// SPDX-License-Identifier: MIT
#include "backends/store/s3/tree.h"

#include <array>
#include <cerrno>
#include <utility>

#include "backends/store/keys.h"
#include "backends/store/s3/answers.h"
#include "backends/store/s3/folder_list.h"
#include "backends/store/s3/objects.h"

namespace ndlfs::backends::s3 {
namespace {

// A directory that has one of these is a store.
constexpr std::array<std::string_view, 4> kStoreFiles = {"zarr.json", ".zmetadata", ".zgroup",
                                                         ".zarray"};

bool IsDenied(const model::Error& error) { return error.sys_errno() == EACCES; }

// Whether a list has anything.
model::Result<bool> HasKeys(const Bucket& bucket, const HttpResponse& response,
                            std::string_view prefix) {
  if (response.status != 200) return bucket.ToError(response);
  NDLFS_TRY(const ListPage page, ParseListPage(response.body, prefix), "list");
  return !page.objects.empty();
}

std::string NameOf(const Location& location) {
  const std::string name = "s3://" + location.bucket;
  return location.prefix.empty() ? name : name + "/" + location.prefix;
}

}  // namespace

Tree::Tree(std::unique_ptr<Bucket> bucket, const Location& location,
           std::chrono::nanoseconds remember)
    : bucket_(std::move(bucket)),
      name_(NameOf(location)),
      prefix_(location.prefix),
      remembers_(remember > remember.zero()),
      memory_(remember) {}

std::string Tree::KeyOf(std::string_view path) const { return JoinKey(prefix_, path); }

std::string Tree::FolderKey(std::string_view path) const {
  std::string key = KeyOf(path);
  if (!key.empty()) key += '/';
  return key;
}

model::Result<std::optional<FileStatus>> Tree::Stat(const std::string& path) const {
  if (!path.empty()) NDLFS_RETURN_IF_ERROR(CheckKey(path));
  if (auto known = memory_.Find(path)) return *std::move(known);
  NDLFS_TRY(const Look look, Ask(path), Describe(path));
  memory_.Note(path, look);
  return look;
}

model::Result<Look> Tree::Ask(const std::string& path) const {
  const std::string folder = FolderKey(path);
  std::vector<BucketRequest> requests = {ProbePrefix(folder)};
  const bool may_be_object = !KeyOf(path).empty();
  if (may_be_object) requests.push_back(HeadRequest(KeyOf(path)));
  auto responses = bucket_->SendMany(requests);
  auto& listed = responses[0];
  if (!listed) return model::Propagate(std::move(listed).error());
  const auto has_keys = HasKeys(*bucket_, *listed, folder);
  if (has_keys && *has_keys) return FolderStatus(path);
  if (!has_keys && !IsDenied(has_keys.error())) return model::Propagate(has_keys.error());
  if (may_be_object) {
    if (!responses[1]) return model::Propagate(std::move(responses[1]).error());
    const auto info = ToInfo(*bucket_, *responses[1]);
    if (info && *info) return Look(ObjectStatus(**info, path));
    if (!info && has_keys) return model::Propagate(info.error());
  }
  if (!has_keys) {
    NDLFS_TRY(const Look look, LookForStore(path));
    if (look) return look;
    return model::Propagate(has_keys.error());
  }
  // The top is there, though it has nothing yet: as a bucket without objects.
  return path.empty() ? Look(FolderStatus(path)) : Look();
}

model::Result<Look> Tree::LookForStore(const std::string& path) const {
  if (path.empty()) return Look(FolderStatus(path));
  std::vector<BucketRequest> requests;
  for (const std::string_view name : kStoreFiles) {
    requests.push_back(HeadRequest(FolderKey(path) + std::string(name)));
  }
  for (const auto& response : bucket_->SendMany(requests)) {
    if (response && response->status == 200) return Look(FolderStatus(path));
  }
  return Look();
}

std::vector<model::Result<std::optional<ValueInfo>>> Tree::StatObjects(
    std::span<const std::string> paths) const {
  std::vector<model::Result<std::optional<ValueInfo>>> infos(paths.size(), std::nullopt);
  std::vector<BucketRequest> requests;
  std::vector<size_t> asked;
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto known = memory_.FindObject(paths[i]);
    if (!known) {
      requests.push_back(HeadRequest(KeyOf(paths[i])));
      asked.push_back(i);
    } else if (*known) {
      infos[i] = ValueInfo{(*known)->version, (*known)->size, (*known)->mtime_ns};
    }
  }
  const auto responses = bucket_->SendMany(requests);
  for (size_t j = 0; j < asked.size(); ++j) {
    const std::string& path = paths[asked[j]];
    if (!responses[j]) {
      infos[asked[j]] = model::Propagate(responses[j].error(), Describe(path));
      continue;
    }
    auto info = ToInfo(*bucket_, *responses[j]);
    if (!info) {
      infos[asked[j]] = model::Propagate(std::move(info).error(), Describe(path));
      continue;
    }
    memory_.NoteObject(path, *info ? Look(ObjectStatus(**info, path)) : Look());
    infos[asked[j]] = *info;
  }
  return infos;
}

}  // namespace ndlfs::backends::s3
