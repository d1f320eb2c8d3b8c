// SPDX-License-Identifier: MIT
#include "fs/cli/store_walk.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "backends/store/keys.h"
#include "fs/cli/source_path.h"

namespace ndlfs::fs {
namespace {

using backends::Detection;
using backends::DirectoryStream;
using backends::SourceRoot;
using model::Result;

struct Name {
  std::string name;
  bool is_directory;
};

class Walk {
 public:
  Walk(std::shared_ptr<const SourceRoot> root, std::string prefix,
       const std::function<bool(FoundStore)>& visit, Detection detection)
      : root_(std::move(root)),
        prefix_(std::move(prefix)),
        visit_(visit),
        detection_(detection) {}

  // False once `visit` has had enough. A path is at most PATH_MAX long, and so
  // this does not recurse without bound.
  bool Enter(const std::string& path) const {
    const auto names = List(path);
    if (!names) return visit_(At(path, nullptr, names.error()));
    for (const Name& entry : *names) {
      const std::string child = backends::JoinKey(path, entry.name);
      const auto* format = entry.is_directory
                               ? backends::DetectDirectory(*root_, child)
                               : backends::LookIntoFile(*root_, child, detection_).format;
      if (format != nullptr && !visit_(At(child, format))) return false;
      if (format == nullptr && entry.is_directory && !Enter(child)) return false;
    }
    return true;
  }

 private:
  // Directories, and files that could be stores; sorted.
  Result<std::vector<Name>> List(const std::string& path) const {
    NDLFS_TRY(auto stream, DirectoryStream::Open(*root_, path));
    std::vector<Name> names;
    for (;;) {
      NDLFS_TRY(const auto* entry, stream.Next());
      if (entry == nullptr) break;
      const auto type = TypeOf(path, *entry);
      const bool is_directory = type == DT_DIR;
      if (!is_directory && !(type == DT_REG && MayBeStore(entry->name))) continue;
      names.push_back({std::string(entry->name), is_directory});
    }
    std::sort(names.begin(), names.end(),
              [](const Name& a, const Name& b) { return a.name < b.name; });
    return names;
  }

  bool MayBeStore(std::string_view file_name) const {
    return detection_ == Detection::kContent || backends::MayBeStoreFile(file_name);
  }

  uint8_t TypeOf(const std::string& path, const DirectoryStream::Entry& entry) const {
    if (entry.type != DT_UNKNOWN) return entry.type;
    const auto status = root_->Stat(backends::JoinKey(path, entry.name), /*follow=*/false);
    return status ? static_cast<uint8_t>(IFTODT(status->st_mode)) : uint8_t{DT_UNKNOWN};
  }

  FoundStore At(const std::string& path, const backends::Format* format,
                std::optional<model::Error> error = std::nullopt) const {
    const std::string in_root = prefix_ == "/" ? "/" + path : prefix_ + "/" + path;
    return {root_, path, path.empty() ? prefix_ : in_root, format, std::move(error), {}};
  }

  const std::shared_ptr<const SourceRoot> root_;
  const std::string prefix_;
  const std::function<bool(FoundStore)>& visit_;
  const Detection detection_;
};

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

Result<void> WalkStores(const std::string& source, const std::function<bool(FoundStore)>& visit,
                        Detection detection) {
  NDLFS_TRY(const SourcePath place, FindSourcePath(source));
  NDLFS_TRY(const auto parent, SourceRoot::Open(place.root), source);
  NDLFS_TRY(const auto status, parent->Stat(place.path), source);
  const bool is_directory = S_ISDIR(status.st_mode);
  const auto* format = is_directory ? backends::DetectDirectory(*parent, place.path)
                                    : backends::DetectFile(*parent, place.path);
  if (format != nullptr) {
    visit({parent, place.path, WithoutSlashes(source), format, std::nullopt, place.folders});
    return {};
  }
  if (!is_directory) return model::Unsupported("{}: not an array store", source);
  NDLFS_TRY(const auto root, SourceRoot::Open(place.root + "/" + place.path), source);
  Walk(root, WithoutSlashes(source), visit, detection).Enter("");
  return {};
}

}  // namespace ndlfs::fs
