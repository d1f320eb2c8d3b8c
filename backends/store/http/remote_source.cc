// SPDX-License-Identifier: MIT
#include "backends/store/http/remote_source.h"

#include <algorithm>
#include <utility>

#include "backends/store/http/remote_listing.h"
#include "backends/store/keys.h"

namespace ndlfs::backends {
namespace {

RemoteFiles FilesOf(std::shared_ptr<const RemoteTree> tree) {
  auto reader = std::make_shared<const RemoteReader>(tree);
  return {std::move(tree), std::move(reader)};
}

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

}  // namespace ndlfs::backends
