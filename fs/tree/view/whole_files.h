// SPDX-License-Identifier: MIT
//
// `--as`: stores that are shown as files instead of folders, `era5.nc` for `era5.zarr`.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fs/tree/store/freshness.h"
#include "fs/tree/tree_node.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {

struct MountContext;

// A file that stands for a store, or for one group of it.
struct WholeFile {
  std::string store_path;    // in the source
  std::string object;        // NDL path name: "/" for the store, or for the array that it is
  bool is_original = false;  // the store is such a file already, and shown byte for byte
};

// The files that one directory shows instead of its stores.
struct WholeFileNames {
  std::map<std::string, WholeFile, std::less<>> files;  // by the names that are shown
  // Stores of the source that have such files. All others are shown as without `--as`.
  std::set<std::string, std::less<>> replaced;
};

// A store that can be shown as files, for GiveNames().
struct NamedStore {
  std::string name;  // in the source: its own, or that of a symbolic link to it
  std::string path;
  std::vector<std::string> objects;  // "/" and others; not empty
  bool is_original = false;
  bool stays_folder = false;  // shown as a folder, too, because some files could not be made
};

// Gives names to the files of `stores`, which are sorted by name, next to things called
// `taken`.
//
// The file of a store has the store's name, with `extension` in place of its own extension; the
// file of a group also has the path of the group in front of it, with dots: "era5.nc",
// "era5.forecast.wind.nc". If several stores would get the same name, or the name is in
// `taken`, each of them keeps all of its own name, "era5.zarr.nc"; only a store whose own name
// is "era5.nc" keeps that. A name that is still taken gets a number: "era5.zarr_2.nc".
WholeFileNames GiveNames(const std::vector<NamedStore>& stores,
                         const std::set<std::string, std::less<>>& taken,
                         std::string_view extension);

// S_IFDIR if the files of the mount are small trees of files, else S_IFREG.
mode_t TypeOfWholeFiles(const MountContext& context);

// The files of all directories of a mount. A symbolic link to a store of the source has the
// files of that store, under the name of the link. Thread-safe.
class WholeFiles {
 public:
  using NamesPtr = std::shared_ptr<const WholeFileNames>;
  // The files in the directory `path` of the source. Looks at each entry of the directory, and
  // opens each store. The answer holds as long as other looks at the source, or twenty times as
  // long as it took to find.
  model::Result<NamesPtr> In(MountContext& context, const std::string& path);
  // The files of one store, if the mount shows only that store.
  model::Result<NamesPtr> OfStore(MountContext& context, const std::string& path);
  // Makes the node of a file. kNotFound if it turns out that there can be no such file: the
  // store's folder is shown again from now on, and its error.txt and the log say why.
  model::Result<TreeNodePtr> Find(MountContext& context, const WholeFile& file);

 private:
  struct Known {
    NamesPtr names;
    Freshness::Time found;
    Freshness::Duration took;
  };
  using Object =
      std::pair<std::string, std::string>;  // path of a store, and path of the object in it

  template <typename Look>
  model::Result<NamesPtr> Remember(const MountContext& context, const std::string& path,
                                   const Look& look) EXCLUDES(mutex_);
  // Fills in `objects`, and `stays_folder`.
  void FindObjects(MountContext& context, NamedStore& store) EXCLUDES(mutex_);
  bool HasFailed(MountContext& context, const Object& object) EXCLUDES(mutex_);
  void AddStore(MountContext& context, std::string name, const std::string& path_of_entry,
                std::vector<NamedStore>& stores, std::set<std::string, std::less<>>& taken);

  model::Mutex mutex_;
  std::unordered_map<std::string, Known> known_ GUARDED_BY(mutex_);  // by caller and path
  std::set<Object> failed_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
