// SPDX-License-Identifier: MIT
//
// Finds the array stores of a source, without a mount.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/detection.h"
#include "backends/format/format.h"
#include "backends/store/source.h"
#include "fs/serve/remote_access.h"
#include "model/error.h"

namespace ndlfs::fs {

// A store, or an unreadable directory, that was found in a source.
struct FoundStore {
  std::shared_ptr<const backends::Source> source;
  std::string path;      // in `source`
  std::string location;  // for a person: as the source was named, and the path
  // Null if a directory cannot be read; `error` says why then.
  const backends::Format* format = nullptr;
  std::optional<model::Error> error;
  // For a folder inside a mount: where it is in the store, as SourcePath says.
  std::vector<std::string> folders;
  // For the same: the version of the store, as SourcePath says.
  std::string ref = {};
};

// Calls `visit` for `source` if it is a store, by its content; otherwise for each store in the
// directory, recognized as `detection` says, in the order of names. `source` may be a URL, for
// which `access` is; files there are recognized by their names. A path inside a mount stands
// for the part of the source that it shows. Symbolic links are not followed, except `source`
// itself. Stops when `visit` returns false. Fails if there is no such file or directory, or it
// is a file and no store.
model::Result<void> WalkStores(const std::string& source,
                               const std::function<bool(FoundStore)>& visit,
                               backends::Detection detection = backends::Detection::kContent,
                               const RemoteAccess& access = {});

}  // namespace ndlfs::fs
