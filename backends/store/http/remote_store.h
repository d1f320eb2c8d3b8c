// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/store/http/remote_reader.h"
#include "backends/store/http/remote_tree.h"
#include "backends/store/store.h"

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

}  // namespace ndlfs::backends
