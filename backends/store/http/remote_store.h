// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/store/http/remote_reader.h"
#include "backends/store/http/remote_tree.h"
#include "backends/store/store.h"

namespace ndlfs::backends {

// The files of a server; what a source and its stores share.
struct RemoteFiles {
  std::shared_ptr<const RemoteTree> tree;
  std::shared_ptr<const RemoteReader> reader;
};

// The files below the directory at `path`.
std::shared_ptr<const Store> MakeRemoteStore(RemoteFiles files, std::string path);

// One version of the file at `path`: the one that it is read in first.
std::shared_ptr<const Store> MakeRemoteFile(RemoteFiles files, std::string path);

}  // namespace ndlfs::backends
