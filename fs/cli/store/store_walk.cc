// SPDX-License-Identifier: MIT
#include "fs/cli/store/store_walk.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "backends/store/keys.h"
#include "fs/cli/store/source_path.h"
#include "fs/serve/open_source.h"

namespace ndlfs::fs {
namespace {

using backends::Detection;
using backends::FileKind;
using backends::Follow;
using backends::Source;
using model::Result;

struct Name {
  std::string name;
  bool is_directory;
};

class Walk {
 public:
  Walk(std::shared_ptr<const Source> source, std::string prefix,
       const std::function<bool(FoundStore)>& visit, Detection detection)
      : source_(std::move(source)),
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
      const auto found = Detect(child, entry.is_directory);
      if (!found) {
        if (!visit_(At(child, nullptr, found.error()))) return false;
        continue;
      }
      const auto* format = *found;
      if (format != nullptr && !visit_(At(child, format))) return false;
      if (format == nullptr && entry.is_directory && !Enter(child)) return false;
    }
    return true;
  }

 private:
  Result<const backends::Format*> Detect(const std::string& path, bool is_directory) const {
    if (is_directory) return backends::DetectDirectory(*source_, path);
    backends::FileLook look = backends::LookIntoFile(*source_, path, detection_);
    if (look.error) return model::Propagate(*std::move(look.error));
    return look.format;
  }
  // Directories, and files that could be stores; sorted.
  Result<std::vector<Name>> List(const std::string& path) const {
    NDLFS_TRY(const auto listing, source_->List(path));
    std::vector<Name> names;
    for (;;) {
      NDLFS_TRY(const auto* entry, listing->Next());
      if (entry == nullptr) break;
      std::string name(entry->name);
      const FileKind kind = KindOf(*listing, *entry);
      const bool is_directory = kind == FileKind::kDirectory;
      if (!is_directory && !(kind == FileKind::kFile && MayBeStore(name))) continue;
      names.push_back({std::move(name), is_directory});
    }
    std::sort(names.begin(), names.end(),
              [](const Name& a, const Name& b) { return a.name < b.name; });
    return names;
  }

  bool MayBeStore(std::string_view file_name) const {
    return detection_ == Detection::kContent || backends::MayBeStoreFile(file_name);
  }

  static FileKind KindOf(backends::DirectoryListing& listing,
                         const backends::DirectoryListing::Entry& entry) {
    if (entry.kind != FileKind::kUnknown) return entry.kind;
    const auto status = listing.StatEntry();
    return status && *status ? (*status)->kind : FileKind::kUnknown;
  }

  FoundStore At(const std::string& path, const backends::Format* format,
                std::optional<model::Error> error = std::nullopt) const {
    const std::string in_root = prefix_ == "/" ? "/" + path : prefix_ + "/" + path;
    return {source_, path, path.empty() ? prefix_ : in_root, format, std::move(error), {}};
  }

  const std::shared_ptr<const Source> source_;
  const std::string prefix_;
  const std::function<bool(FoundStore)>& visit_;
  const Detection detection_;
};

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Result<void> WalkUrl(const std::string& url, const std::function<bool(FoundStore)>& visit,
                     const RemoteAccess& access) {
  const std::string shown = WithoutSlashes(ShownUrl(url));
  NDLFS_TRY(const auto place, OpenUrl(url, access));
  NDLFS_TRY(const auto* format, backends::DetectStore(*place.source, place.file), shown);
  if (format != nullptr) {
    visit({place.source, place.file, shown, format, std::nullopt, {}});
    return {};
  }
  if (!place.file.empty()) return model::Unsupported("{}: not an array store", shown);
  Walk(place.source, shown, visit, Detection::kName).Enter("");
  return {};
}

}  // namespace

Result<void> WalkStores(const std::string& source, const std::function<bool(FoundStore)>& visit,
                        Detection detection, const RemoteAccess& access) {
  if (IsUrl(source)) return WalkUrl(source, visit, access);
  NDLFS_TRY(SourcePath place, FindSourcePath(source));
  NDLFS_TRY(RemotePlace opened, OpenLocal(place.root, false, access), source);
  const auto& parent = opened.source;
  NDLFS_TRY(const auto status, parent->Stat(place.path, Follow::kYes), source);
  if (!status) return model::Propagate(model::IoError(ENOENT, "open").value(), source);
  NDLFS_TRY(const auto* format, backends::DetectStore(*parent, place.path), source);
  if (format != nullptr && format->describes_others()) {
    place = WidenForDescription(std::move(place));
    NDLFS_TRY(opened, OpenLocal(place.root, false, access), source);
  }
  if (format != nullptr) {
    visit({parent, place.path, WithoutSlashes(source), format, std::nullopt, place.folders,
           place.ref});
    return {};
  }
  if (!status->is_directory()) return model::Unsupported("{}: not an array store", source);
  NDLFS_TRY(const auto top, OpenLocal(place.root + "/" + place.path, false, access), source);
  Walk(top.source, WithoutSlashes(source), visit, detection).Enter("");
  return {};
}

}  // namespace ndlfs::fs
