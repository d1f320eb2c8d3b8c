// SPDX-License-Identifier: MIT
#include "backends/format/zip/zarr_zip.h"

#include <map>
#include <set>
#include <utility>

#include "backends/format/noted_hierarchy.h"
#include "backends/format/zarr/zarr_format.h"
#include "backends/format/zip/folder_hierarchy.h"
#include "backends/store/file_name.h"
#include "backends/store/zip/zip_store.h"

namespace ndlfs::backends {
namespace {

// The most folders with a hierarchy in one archive: if there are more, they are no hierarchies.
constexpr size_t kMaxFolders = 1000;

// The folder that a member called `name` makes a hierarchy of: "" for the root
// of the archive; nullopt if it does not.
std::optional<std::string_view> FolderOf(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    if (IsZarrMetadataName(name)) return "";
  } else if (IsZarrMetadataName(name.substr(slash + 1))) {
    return name.substr(0, slash);
  }
  return std::nullopt;
}

// Whether a member of this name, or of the one that is meant, makes a hierarchy.
bool IsOfZarr(std::string_view member) {
  if (FolderOf(member)) return true;
  const auto sound = SoundZipName(member, member.find('/') == member.npos);
  return sound && FolderOf(*sound);
}

// All such folders, at least one; only the root if that is one.
model::Result<std::set<std::string>> FindFolders(const ZipDirectory& directory) {
  std::set<std::string> folders;
  for (size_t i = 0; i < directory.size(); ++i) {
    const auto folder = FolderOf(directory.name(i));
    if (!folder) continue;
    if (folder->empty()) return std::set<std::string>{""};
    if (folders.size() < kMaxFolders) folders.emplace(*folder);
  }
  if (!folders.empty()) return folders;
  return model::BadInput("no Zarr metadata at its root, nor one folder down");
}

// Extensions that are for nothing else.
bool IsNamedAsZarr(std::string_view name) {
  return HasExtension(name, ".zarr.zip") || HasExtension(name, ".zarr");
}

class ZarrZip final : public Format {
 public:
  std::string_view name() const override { return "Zarr in ZIP"; }

  // Any archive; ConfirmFile() tells whether there is Zarr in it.
  bool ProbeContent(ConstByteSpan head) const override {
    return AsText(head).starts_with(kZipMemberSignature);
  }
  bool MatchesFileName(std::string_view name) const override {
    return HasExtension(name, ".zip") || HasExtension(name, ".zarr");
  }
  bool ProbeFile(std::string_view name, ConstByteSpan head) const override {
    return ProbeContent(head) || HasExtension(name, ".zarr.zip");
  }
  model::Result<bool> ConfirmFile(std::string_view name, const Store& file) const override {
    if (IsNamedAsZarr(name)) return true;
    NDLFS_TRY(const bool has_zarr, ZipDirectory::AnyName(file, &IsOfZarr));
    if (has_zarr) return true;
    // It may be cut short, and then has no directory. Its first member tells what it was.
    constexpr size_t kBeginning = 4096;
    NDLFS_TRY(const auto head, file.Get("", kBeginning, {.range = {0, kBeginning}}));
    return head && IsOfZarr(FirstZipName(AsText(head->bytes.span())));
  }

  model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const override {
    NDLFS_TRY(const auto store, ZipStore::Open(source->OpenFile(path)));
    NDLFS_TRY(const auto folders, FindFolders(store->directory()), store->Describe(""));
    const auto& notes = store->directory().notes();
    if (folders.begin()->empty()) {
      NDLFS_TRY(auto hierarchy, OpenZarr(store, "", ArrayName(path), options));
      return WithNotes(std::move(hierarchy), notes);
    }
    std::map<std::string, std::shared_ptr<const Hierarchy>> hierarchies;
    for (const std::string& folder : folders) {
      NDLFS_TRY(hierarchies[folder], OpenZarr(store, folder, folder, options));
    }
    return WithNotes(MakeFolderHierarchy("Zarr in ZIP", std::move(hierarchies),
                                         [store] { return store->InfoNow(); }),
                     notes);
  }

 private:
  // "a/lat.zarr.zip" -> "lat"
  static std::string ArrayName(const std::string& path) {
    const std::string name = StoreNameOf(path, ".zip");
    return StoreNameOf(name, ".zarr");
  }
};

}  // namespace

const Format& ZarrZipFormat() {
  static const ZarrZip format;
  return format;
}

}  // namespace ndlfs::backends
