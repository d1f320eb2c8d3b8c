// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backends/store/http/http_client.h"
#include "backends/store/http/object_service.h"
#include "backends/store/http/remote_reader.h"
#include "backends/store/http/remote_tree.h"
#include "backends/store/source.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// The objects that a source and its stores share to read the files of a server.
struct RemoteFiles {
  std::shared_ptr<const RemoteTree> tree;
  std::shared_ptr<const RemoteReader> reader;
};

// The files below the directory at `path`.
std::shared_ptr<const Store> MakeRemoteStore(RemoteFiles files, std::string path);

// The file at `path`, in the version that is read first.
std::shared_ptr<const Store> MakeRemoteFile(RemoteFiles files, std::string path);

// The files of a server. A look at a name is a request; looks, listings and small documents are
// kept for a while. Each read of a file goes to the server, and names the version that it
// wants. A path is a directory if the server lists it, or has a document there that makes it a
// store.
class RemoteSource final : public Source {
 public:
  RemoteSource(std::shared_ptr<const HttpClient> client,
               std::shared_ptr<const ObjectService> service, RemoteOptions options = {});

  const std::string& name() const override { return files_.tree->service().name(); }
  std::string identity() const override { return files_.tree->service().identity(); }
  bool looks_are_requests() const override { return true; }
  std::optional<int64_t> ClockNs() const override { return files_.tree->ClockNs(); }
  // As RemoteTree::CheckTop().
  model::Result<void> CheckTop() const { return files_.tree->CheckTop(); }
  model::Result<std::optional<FileStatus>> Stat(std::string_view path,
                                                Follow follow) const override;
  bool HasListed(std::string_view path) const override {
    return files_.tree->memory().FindNames(path) != nullptr;
  }
  void LookTogether(const std::string& path,
                    std::span<const std::string> documents) const override;
  // ENOENT if there is no such directory; a directory that the server does not list is empty.
  model::Result<std::unique_ptr<DirectoryListing>> List(std::string_view path) const override;
  std::shared_ptr<const Store> OpenStore(const std::string& path) const override;
  using Source::OpenFile;
  std::shared_ptr<const Store> OpenFile(const std::string& path, Follow follow) const override;

 private:
  const RemoteFiles files_;
};

}  // namespace ndlfs::backends
