// SPDX-License-Identifier: MIT
#include "fs/store_argument.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "backends/store/source_root.h"
#include "model/path_name.h"

namespace ndlfs::fs {

model::Result<OpenedStore> OpenStore(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return model::IoError(error.value(), path);
  // The root is the directory that holds the store, so that messages name it.
  NDLFS_TRY(const auto root, backends::SourceRoot::Open(real.parent_path()), path);
  const std::string name = real.filename();
  NDLFS_TRY(const auto status, root->Stat(name), path);
  const backends::Format* format = S_ISDIR(status.st_mode)
                                       ? backends::DetectDirectory(*root, name)
                                       : backends::DetectFile(*root, name);
  if (!format) return model::Unsupported("{}: not an array store", path);
  NDLFS_TRY(auto hierarchy, format->Open(root, name, {}));
  return OpenedStore{name, std::move(hierarchy)};
}

std::string NormalizePathName(std::string_view path) {
  std::string normalized = "/";
  for (const std::string_view part : model::SplitPath(path)) {
    if (!part.empty()) normalized = model::JoinPath(normalized, part);
  }
  return normalized;
}

}  // namespace ndlfs::fs
