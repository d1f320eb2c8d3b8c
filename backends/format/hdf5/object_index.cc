// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/object_index.h"

#include <algorithm>

#include "backends/format/hdf5/group.h"
#include "model/path_name.h"

namespace ndlfs::backends::hdf5 {

using model::Result;

Result<std::shared_ptr<const ObjectHeader>> HeaderAt(const Metadata& file,
                                                     std::string_view path,
                                                     std::vector<uint64_t>* ancestors) {
  NDLFS_TRY(auto header, file.Header(file.root()));
  for (const std::string_view name : model::SplitPath(path)) {
    const auto nothing = [&] { return model::NotFound("no object {}", model::Quote(name)); };
    if (!IsGroup(*header)) return model::NotFound("nothing below an array");
    if (!IsLinkName(name)) return nothing();
    if (ancestors != nullptr) ancestors->push_back(header->address());
    NDLFS_TRY(const auto link, FindLink(file, *header, name));
    if (!link) return nothing();
    if (link->kind != LinkEntry::Kind::kHard) {
      return model::NotFound("{} is a link", model::Quote(name));
    }
    NDLFS_TRY(header, file.Header(link->address), "cannot open the object");
  }
  return header;
}

std::optional<std::string> ObjectIndex::PathOf(const Metadata& file, uint64_t address) {
  const model::MutexLock lock(mutex_);
  if (!walked_) {
    const ReadFailures failures;
    Walk(file);
    // Other threads are not to believe half of an index.
    if (!failures.Check()) Forget();
  }
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return std::nullopt;
  return PathOfObject(found->second);
}

std::optional<std::string> ObjectIndex::PathNear(const Metadata& file, uint64_t address,
                                                 const std::string& group_path) {
  {
    const model::MutexLock lock(mutex_);
    for (std::string_view group = group_path;; group = model::ParentPath(group)) {
      if (const GroupTable* table = TableOf(file, std::string(group))) {
        const auto found = table->names.find(address);
        if (found != table->names.end()) return model::JoinPath(group, found->second);
      }
      if (group == "/") break;
    }
  }
  return PathOf(file, address);
}

void ObjectIndex::Clear() {
  const model::MutexLock lock(mutex_);
  Forget();
}

void ObjectIndex::Forget() {
  walked_ = false;
  objects_.clear();
  by_address_.clear();
  tables_.clear();
  objects_bytes_ = tables_bytes_ = 0;
}

// Breadth first and by name, so that of several paths the shortest and first
// is found; an object is entered once, so that loops end.
void ObjectIndex::Walk(const Metadata& file) {
  walked_ = true;
  objects_.push_back({0, ""});
  by_address_.emplace(file.root(), 0);
  struct Group {
    size_t number;
    uint64_t address;
  };
  std::vector<Group> groups = {{0, file.root()}};
  size_t name_bytes = 0;
  for (size_t next = 0; next < groups.size(); ++next) {
    const size_t parent = groups[next].number;
    const auto header = file.Header(groups[next].address);
    auto links = header ? ListLinks(file, **header) : std::vector<LinkEntry>();
    if (!links) continue;
    std::ranges::sort(*links, {}, &LinkEntry::name);
    for (LinkEntry& link : *links) {
      if (link.kind != LinkEntry::Kind::kHard || by_address_.contains(link.address)) continue;
      name_bytes += link.name.size();
      if (objects_.size() >= kMaxObjects || name_bytes > kMaxNameBytes) return;
      const auto child = file.Header(link.address);
      if (child && IsGroup(**child)) groups.push_back({objects_.size(), link.address});
      by_address_.emplace(link.address, objects_.size());
      objects_bytes_ += sizeof(Entry) + link.name.size() + kBytesOfNode;
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

const ObjectIndex::GroupTable* ObjectIndex::TableOf(const Metadata& file,
                                                    const std::string& group_path) {
  const auto found = std::ranges::find(tables_, group_path, &GroupTable::path);
  if (found != tables_.end()) {
    tables_.splice(tables_.begin(), tables_, found);
    return &tables_.front();
  }
  const auto group = HeaderAt(file, group_path);
  const auto links = group ? ListLinks(file, **group) : std::vector<LinkEntry>();
  if (!group || !links) return nullptr;
  GroupTable table{group_path, {}};
  for (const LinkEntry& link : *links) {
    table.bytes += sizeof(link) + link.name.size();
    if (link.kind == LinkEntry::Kind::kHard) table.names.emplace(link.address, link.name);
  }
  if (table.bytes > kMaxTableBytes) table = {group_path, {}};
  tables_bytes_ += table.bytes;
  tables_.push_front(std::move(table));
  if (tables_.size() > kKeptGroups) {
    tables_bytes_ -= tables_.back().bytes;
    tables_.pop_back();
  }
  return &tables_.front();
}

}  // namespace ndlfs::backends::hdf5
