// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/object_index.h"

#include <algorithm>

#include "backends/format/hdf5/library/driver.h"
#include "backends/format/hdf5/library/path_walk.h"
#include "model/path_name.h"

namespace ndlfs::backends::hdf5 {
namespace {

herr_t CollectLink(hid_t, const char* name, const H5L_info_t* info, void* data) noexcept {
  try {
    auto& links = *static_cast<std::vector<LinkEntry>*>(data);
    LinkEntry link{name, info->type, HADDR_UNDEF};
    if (info->type == H5L_TYPE_HARD) link.address = info->u.address;
    links.push_back(std::move(link));
    return 0;
  } catch (...) {
    return -1;
  }
}

bool IsGroup(hid_t parent, const std::string& name) {
  H5O_info_t info;
  const herr_t status =
      H5Oget_info_by_name2(parent, name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT);
  if (status < 0) H5Eclear2(H5E_DEFAULT);
  return status >= 0 && info.type == H5O_TYPE_GROUP;
}

}  // namespace

model::Result<std::vector<LinkEntry>> ListLinks(hid_t group) {
  std::vector<LinkEntry> links;
  NDLFS_RETURN_IF_ERROR(CheckStatus(
      H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, &CollectLink, &links),
      "cannot list the group"));
  return links;
}

model::Result<void> CheckLinks(hid_t group) {
  const auto stop = [](hid_t, const char*, const H5L_info_t*, void*) noexcept -> herr_t {
    return 1;
  };
  return CheckStatus(H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, stop, nullptr),
                     "cannot list the group");
}

void ObjectPrefetcher::Reach(size_t position) {
  constexpr size_t kBatch = 256;
  if (position < told_) return;
  std::vector<haddr_t> addresses;
  told_ = std::min(links_.size(), position + kBatch);
  for (size_t i = position; i < told_; ++i) {
    if (links_[i].type == H5L_TYPE_HARD) addresses.push_back(links_[i].address);
  }
  if (!addresses.empty()) PrefetchObjects(file_, addresses);
}

std::optional<std::string> ObjectIndex::PathOf(hid_t file, haddr_t address) {
  if (!walked_) Walk(file);
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return std::nullopt;
  return PathOfObject(found->second);
}

std::optional<std::string> ObjectIndex::PathNear(hid_t file, haddr_t address,
                                                 const std::string& group_path) {
  for (std::string_view group = group_path;; group = model::ParentPath(group)) {
    if (const GroupTable* table = TableOf(file, std::string(group))) {
      const auto found = table->names.find(address);
      if (found != table->names.end()) return model::JoinPath(group, found->second);
    }
    if (group == "/") break;
  }
  return PathOf(file, address);
}

void ObjectIndex::Clear() { *this = ObjectIndex(); }

// Breadth first and by name, so that of several paths the shortest and first
// is found; an object is entered once, so that loops end.
void ObjectIndex::Walk(hid_t file) {
  walked_ = true;
  const auto root = OpenObject(file, "/");
  H5O_info_t info;
  if (!root || H5Oget_info2(root->get(), &info, H5O_INFO_BASIC) < 0) {
    H5Eclear2(H5E_DEFAULT);
    return;
  }
  objects_.push_back({0, ""});
  by_address_.emplace(info.addr, 0);
  std::vector<size_t> groups = {0};
  for (size_t next = 0; next < groups.size(); ++next) {
    const size_t parent = groups[next];
    const auto group = OpenObject(file, PathOfObject(parent));
    auto links = group ? ListLinks(group->get()) : std::vector<LinkEntry>();
    if (!links) continue;
    std::sort(links->begin(), links->end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    ObjectPrefetcher prefetcher(file, *links);
    for (size_t i = 0; i < links->size(); ++i) {
      LinkEntry& link = (*links)[i];
      prefetcher.Reach(i);
      if (link.type != H5L_TYPE_HARD || by_address_.contains(link.address)) continue;
      if (objects_.size() >= kMaxObjects) return;
      if (IsGroup(group->get(), link.name)) groups.push_back(objects_.size());
      by_address_.emplace(link.address, objects_.size());
      objects_.push_back({parent, std::move(link.name)});
    }
  }
}

std::string ObjectIndex::PathOfObject(size_t object) const {
  std::vector<const std::string*> names;
  for (; object != 0; object = objects_[object].parent) names.push_back(&objects_[object].name);
  std::string path;
  for (auto name = names.rbegin(); name != names.rend(); ++name) path += "/" + **name;
  return path.empty() ? "/" : path;
}

const ObjectIndex::GroupTable* ObjectIndex::TableOf(hid_t file, const std::string& group_path) {
  const auto found = std::find_if(tables_.begin(), tables_.end(), [&](const GroupTable& table) {
    return table.path == group_path;
  });
  if (found != tables_.end()) {
    tables_.splice(tables_.begin(), tables_, found);
    return &tables_.front();
  }
  const auto group = OpenObject(file, group_path);
  const auto links = group ? ListLinks(group->get()) : std::vector<LinkEntry>();
  if (!group || !links || links->size() > kMaxObjects) return nullptr;
  GroupTable table{group_path, {}};
  for (const LinkEntry& link : *links) {
    if (link.type == H5L_TYPE_HARD) table.names.emplace(link.address, link.name);
  }
  tables_.push_front(std::move(table));
  if (tables_.size() > kKeptGroups) tables_.pop_back();
  return &tables_.front();
}

}  // namespace ndlfs::backends::hdf5
