// SPDX-License-Identifier: MIT
#include "fs/tree/view/whole_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "backends/store/caller.h"
#include "backends/store/file_name.h"
#include "fs/tree/mount_context.h"
#include "fs/tree/source_tree.h"
#include "fs/tree/store/store_views.h"
#include "fs/tree/store_tree.h"
#include "fs/view/all_views.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::FileStatus;
using backends::Follow;
using model::Result;
using NameSet = std::set<std::string, std::less<>>;

// Directories whose names are remembered.
constexpr size_t kMostKnown = 256;
// Objects of a store that are looked at to find its groups, and how deep these may nest.
constexpr size_t kMostObjects = 10'000;
constexpr int kMostLevels = 64;
// Links that lead from one to the next.
constexpr int kMostLinks = 40;

// "era5" and "/forecast/wind": "era5.forecast.wind.nc", with `mark` before the extension.
std::string FileNameOf(std::string_view base, std::string_view object, std::string_view mark,
                       std::string_view extension) {
  std::string name(base);
  for (const std::string_view part : model::SplitPath(object)) {
    name += '.' + model::EncodeFileName(part);
  }
  name = WithExtension(name.append(mark), extension);
  return name.size() > 255 ? model::EncodeFileName(name) : name;
}

// The path of the file or directory that the link at `path` leads to; `path` itself if there is
// no link, or if the link leads nowhere or out of the source.
std::string FollowLinks(const backends::Source& source, const std::string& path) {
  std::string place = path;
  for (int i = 0; i <= kMostLinks; ++i) {
    const auto status = source.Stat(place, Follow::kNo);
    if (!status || !*status) return path;
    if (!(*status)->is_symlink()) {
      if (i == 0) return path;
      // Resolve() does not look at links between, behind which ".." is another folder.
      const auto target = source.Stat(path, Follow::kYes);
      return target && *target && (*target)->id == (*status)->id ? place : path;
    }
    const auto link = source.ReadLink(place);
    const auto next = link ? source.Resolve(place, *link) : std::nullopt;
    if (!next) return path;
    place = *next;
  }
  return path;
}

// Null if there are no files of that name.
const GroupViewKind* KindOf(std::string_view view) {
  for (const GroupViewKind* kind : GroupViewKinds()) {
    if (ShortName(kind->file_name) == view) return kind;
  }
  return nullptr;
}

// Whether the file of a group holds all that is below it.
bool HoldsSubgroups(std::string_view view) {
  const GroupViewKind* kind = KindOf(view);
  return kind != nullptr && kind->holds_subgroups;
}

// Whether files of a format are what the view makes.
bool IsOriginal(const backends::Format& format, std::string_view view) {
  return (view == "nc" && format.name() == "netCDF classic") ||
         (view == "h5" && format.name() == "HDF5");
}

// The groups of a store that have arrays, in the order of their path names.
class GroupWalk {
 public:
  // `first_only`: Walk() ends with the first group.
  GroupWalk(const backends::Hierarchy& hierarchy, bool first_only)
      : hierarchy_(hierarchy), first_only_(first_only) {}

  std::vector<std::string> Walk() {
    const auto root = hierarchy_.Load("/");
    if (!root) return {};
    if (!(*root)->is_group()) return {"/"};
    Enter("/", 0);
    return std::move(found_);
  }

 private:
  void Enter(const std::string& path, int level) {
    const auto names = hierarchy_.List(path);
    if (!names || level > kMostLevels) return;
    std::vector<std::string> groups;
    bool has_arrays = false;
    for (const std::string& name : *names) {
      if (looks_++ == kMostObjects || (first_only_ && has_arrays)) break;
      std::string child = model::JoinPath(path, name);
      if (hierarchy_.GetLink(child)) continue;
      const auto node = hierarchy_.Load(child);
      if (node && (*node)->is_group())
        groups.push_back(std::move(child));
      else
        has_arrays = has_arrays || (node && (*node)->source != nullptr);
    }
    if (has_arrays) found_.push_back(path);
    for (const std::string& group : groups) {
      if (first_only_ && !found_.empty()) return;
      Enter(group, level + 1);
    }
  }

  const backends::Hierarchy& hierarchy_;
  const bool first_only_;
  size_t looks_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

WholeFileNames GiveNames(const std::vector<NamedStore>& stores, const NameSet& taken,
                         std::string_view extension) {
  const auto short_name = [&](const NamedStore& store) {
    return FileNameOf(StemOf(store.name), "/", "", extension);
  };
  std::map<std::string, int> wanted;
  NameSet own;  // names that stores have in the source already
  for (const NamedStore& store : stores) {
    ++wanted[short_name(store)];
    if (short_name(store) == store.name) own.insert(store.name);
  }
  WholeFileNames names;
  const auto is_free = [&](const std::string& name) {
    return !taken.contains(name) && !names.files.contains(name) && !own.contains(name);
  };
  const auto add = [&](const NamedStore& store, const std::string& base,
                       const std::string& object) {
    std::string name = FileNameOf(base, object, "", extension);
    const bool is_its_own = name == store.name && object == "/";
    for (int i = 2; !is_its_own && !is_free(name); ++i) {
      name = FileNameOf(base, object, "_" + std::to_string(i), extension);
    }
    names.files[name] = {store.path, object, store.is_original};
  };
  std::vector<std::string> bases;
  for (const NamedStore& store : stores) {
    const std::string name = short_name(store);
    const bool is_alone = wanted[name] == 1 && !taken.contains(name);
    bases.emplace_back(is_alone || name == store.name ? StemOf(store.name) : store.name);
    if (!store.stays_folder) names.replaced.insert(store.name);
  }
  // Whole stores choose before groups.
  for (const bool whole : {true, false}) {
    for (size_t i = 0; i < stores.size(); ++i) {
      for (const std::string& object : stores[i].objects) {
        if ((object == "/") == whole) add(stores[i], bases[i], object);
      }
    }
  }
  return names;
}

mode_t TypeOfWholeFiles(const MountContext& context) {
  const GroupViewKind* kind = KindOf(context.as);
  return kind != nullptr && kind->is_directory ? S_IFDIR : S_IFREG;
}

bool WholeFiles::HasFailed(MountContext& context, const Object& object) {
  {
    const model::MutexLock lock(mutex_);
    if (!failed_.contains(object)) return false;
  }
  // It may have been put right.
  if (!Find(context, {object.first, object.second, false})) return true;
  const model::MutexLock lock(mutex_);
  failed_.erase(object);
  return false;
}

void WholeFiles::FindObjects(MountContext& context, NamedStore& named) {
  const auto status = context.source->Stat(named.path, Follow::kNo);
  if (!status || !*status) return;
  const auto store = context.catalog.Find(named.path, **status);
  if (!store || !*store) return;
  const auto hierarchy = (*store)->Hierarchy();
  if (!hierarchy) return;
  // A file of a store without any array that can be read would show nothing.
  const bool is_one = HoldsSubgroups(context.as);
  named.objects = GroupWalk(**hierarchy, is_one).Walk();
  if (is_one && !named.objects.empty()) named.objects = {"/"};
  std::erase_if(named.objects, [&](const std::string& object) {
    const auto entity = (*store)->Get(object);
    if (!entity || !MayHaveView(*store, *entity, ViewPath::Whole(context.as).Name()))
      return true;
    const bool has_failed = HasFailed(context, {named.path, object});
    named.stays_folder = named.stays_folder || has_failed;
    return has_failed;
  });
}

void WholeFiles::AddStore(MountContext& context, std::string name,
                          const std::string& path_of_entry, std::vector<NamedStore>& stores,
                          NameSet& taken) {
  const std::string path = FollowLinks(*context.source, path_of_entry);
  const auto status = context.source->Stat(path, Follow::kNo);
  const auto found = status && *status ? context.catalog.Find(path, **status) : nullptr;
  // If nobody can tell at this moment what it is, it is shown unchanged.
  if (!found || !*found) {
    taken.insert(std::move(name));
    return;
  }
  NamedStore store = {std::move(name), path, {}, false};
  if ((*status)->is_file()) {
    const auto look = context.services.detect(path, /*is_directory=*/false);
    store.is_original = look.format != nullptr && IsOriginal(*look.format, context.as);
  }
  if (store.is_original) {
    store.objects = {"/"};
  } else {
    FindObjects(context, store);
  }
  if (store.objects.empty()) {
    taken.insert(std::move(store.name));
  } else {
    stores.push_back(std::move(store));
  }
}

template <typename Look>
Result<WholeFiles::NamesPtr> WholeFiles::Remember(const MountContext& context,
                                                  const std::string& path, const Look& look) {
  constexpr int kTimesAsLong = 20;
  const Freshness& freshness = context.services.freshness;
  const std::string key = path + '\0' + std::to_string(backends::CallerScope::CurrentId());
  const auto now = freshness.Now();
  {
    const model::MutexLock lock(mutex_);
    const auto it = known_.find(key);
    if (it != known_.end() && (freshness.Holds(it->second.found) ||
                               now - it->second.found < kTimesAsLong * it->second.took)) {
      return it->second.names;
    }
  }
  NDLFS_TRY(WholeFileNames found, look());
  auto names = std::make_shared<const WholeFileNames>(std::move(found));
  const auto end = freshness.Now();
  const model::MutexLock lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_[key] = {names, end, end - now};
  return names;
}

Result<WholeFiles::NamesPtr> WholeFiles::In(MountContext& context, const std::string& path) {
  return Remember(context, path, [&]() -> Result<WholeFileNames> {
    NDLFS_TRY(const auto listing, context.source->List(path), path);
    NameSet entries;
    for (;;) {
      NDLFS_TRY(const auto* entry, listing->Next(), path);
      if (entry == nullptr) break;
      entries.emplace(entry->name);
    }
    std::vector<NamedStore> stores;
    NameSet taken;
    for (const std::string& name : entries) {
      AddStore(context, name, JoinSourcePath(path, name), stores, taken);
    }
    return GiveNames(stores, taken, context.as);
  });
}

Result<WholeFiles::NamesPtr> WholeFiles::OfStore(MountContext& context,
                                                 const std::string& path) {
  return Remember(context, path, [&]() -> Result<WholeFileNames> {
    std::vector<NamedStore> stores;
    NameSet taken;
    const std::string place = context.source->Describe(path);
    AddStore(context, std::string(model::BaseName(place)), path, stores, taken);
    return GiveNames(stores, {}, context.as);
  });
}

Result<TreeNodePtr> WholeFiles::Find(MountContext& context, const WholeFile& file) {
  NDLFS_TRY(const auto status, context.source->Stat(file.store_path, Follow::kNo),
            file.store_path);
  if (!status) return model::NotFound("{}", file.store_path);
  if (file.is_original) {
    return FindSourceNode(context, file.store_path, Stores::kAsTheyAre);
  }
  NDLFS_TRY(auto store, context.catalog.Find(file.store_path, *status));
  if (!store) return model::NotFound("{}", file.store_path);
  auto node =
      MakeStoreFile(context, std::move(store), file.object, ViewPath::Whole(context.as).Name());
  if (!node && node.error().code() == model::ErrorCode::kNotFound) {
    const model::MutexLock lock(mutex_);
    failed_.emplace(file.store_path, file.object);
    known_.clear();
  }
  return node;
}

}  // namespace ndlfs::fs
