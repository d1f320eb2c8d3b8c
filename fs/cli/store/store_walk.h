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

// Somewhere in a source.
struct FoundStore {
  std::shared_ptr<const backends::Source> source;
  std::string path;      // in `source`
  std::string location;  // for a person: as the source was named, and the path
  // Null where a directory cannot be read; `error` says why then.
  const backends::Format* format = nullptr;
  std::optional<model::Error> error;
  // Of a folder inside a mount: where it is in the store, as SourcePath says.
  std::vector<std::string> folders;
};

// Calls `visit` for the store that `source` is, known by its content, or else for
// each that is in the directory, known as `detection` says, in the order of names.
// `source` may be a URL, which `access` is about; files there are known by their names.
// A path inside a mount stands for what it shows of the source. Symbolic links are
// not followed, except `source` itself. Stops when `visit` returns false. The error:
// there is no such file or directory, or it is a file and no store.
model::Result<void> WalkStores(const std::string& source,
                               const std::function<bool(FoundStore)>& visit,
                               backends::Detection detection = backends::Detection::kContent,
                               const RemoteAccess& access = {});

}  // namespace ndlfs::fs
