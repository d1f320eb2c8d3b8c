// SPDX-License-Identifier: MIT
//
// The source that HDF5 files are in, as far as they refer to each other: by
// external files, sources of virtual datasets and external links.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/store/local/source_root.h"
#include "backends/store/store.h"

namespace ndlfs::backends::hdf5 {

// Paths are relative to the source. Thread-safe.
class SourceFiles {
 public:
  virtual ~SourceFiles() = default;

  // The store of the file at `path`, which need not be there: its bytes are the
  // value "". It keeps to the version of the file that it reads first.
  // `may_be_link`: the path is not one that was found step by step.
  virtual std::shared_ptr<const Store> Open(std::string_view path, bool may_be_link) const = 0;

  // The path of what the file at `file_path` calls `name`: relative to its
  // folder, or absolute. nullopt where that leads out of the source by its
  // words alone; links are not looked at.
  virtual std::optional<std::string> Resolve(std::string_view file_path,
                                             std::string_view name) const = 0;
};

// The files beneath `root`: the same object as long as somebody holds it.
// What is opened stays beneath the root, as SourceRoot says.
std::shared_ptr<const SourceFiles> FilesOf(const std::shared_ptr<const SourceRoot>& root);

}  // namespace ndlfs::backends::hdf5
