// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/path_walk.h"

#include <map>
#include <optional>
#include <unordered_map>

#include "model/path_name.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

// A hard link in a group.
struct LinkKey {
  haddr_t group;
  std::string name;
  bool operator==(const LinkKey&) const = default;
};
struct LinkHash {
  size_t operator()(const LinkKey& key) const {
    return std::hash<std::string>()(key.name) ^ (key.group * 0x9e3779b97f4a7c15u);
  }
};

// The links to groups that have been walked over in one file, and the addresses
// of these groups.
class WalkedLinks {
 public:
  std::optional<haddr_t> Find(haddr_t group, const std::string& name) const {
    const auto found = groups_.find({group, name});
    if (found == groups_.end()) return std::nullopt;
    return found->second;
  }
  void Add(haddr_t group, const std::string& name, haddr_t child) {
    if (groups_.size() >= kMaxLinks) groups_.clear();
    groups_.emplace(LinkKey{group, name}, child);
  }

 private:
  static constexpr size_t kMaxLinks = 20'000;
  std::unordered_map<LinkKey, haddr_t, LinkHash> groups_;
};

std::map<hid_t, WalkedLinks> walked_links;  // guarded by library_mutex

model::Result<haddr_t> AddressOf(hid_t object) {
  H5O_info_t info;
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Oget_info2(object, &info, H5O_INFO_BASIC), "cannot read the object"));
  return info.addr;
}

model::Result<Handle> OpenChild(hid_t group, const std::string& name) {
  const auto nothing = [&] { return model::NotFound("no object {}", model::Quote(name)); };
  if (!IsLinkName(name)) return nothing();
  const htri_t exists = H5Lexists(group, name.c_str(), H5P_DEFAULT);
  NDLFS_RETURN_IF_ERROR(CheckStatus(exists, "cannot look up a name"));
  if (!exists) return nothing();
  H5L_info_t link;
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT), "cannot read a link"));
  if (link.type != H5L_TYPE_HARD) return model::NotFound("{} is a link", model::Quote(name));
  return Checked(H5Oopen(group, name.c_str(), H5P_DEFAULT), "cannot open the object");
}

}  // namespace

bool IsLinkName(std::string_view name) {
  return !name.empty() && name != "." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

model::Result<WalkedObject> WalkTo(hid_t file, std::string_view path) {
  WalkedLinks& links = walked_links[file];
  const auto names = model::SplitPath(path);
  WalkedObject at;
  NDLFS_TRY(at.object, Checked(H5Gopen2(file, "/", H5P_DEFAULT), "cannot open the root group"));
  NDLFS_TRY(haddr_t address, AddressOf(at.object.get()));
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name(names[i]);
    const haddr_t parent = address;
    at.ancestors.push_back(parent);
    const auto known = i + 1 < names.size() ? links.Find(parent, name) : std::nullopt;
    if (known) {
      address = *known;
      at.object = Handle();  // not needed, unless something below is not known
      continue;
    }
    if (!at.object) {
      NDLFS_TRY(at.object, Checked(H5Oopen_by_addr(file, parent), "cannot open the group"));
    }
    if (H5Iget_type(at.object.get()) != H5I_GROUP) {
      return model::NotFound("nothing below an array");
    }
    NDLFS_TRY(at.object, OpenChild(at.object.get(), name));
    NDLFS_TRY(address, AddressOf(at.object.get()));
    if (H5Iget_type(at.object.get()) == H5I_GROUP) links.Add(parent, name, address);
  }
  return at;
}

void ForgetWalks(hid_t file) { walked_links.erase(file); }

model::Result<Handle> OpenObject(hid_t file, std::string_view path) {
  NDLFS_TRY(auto walked, WalkTo(file, path));
  return std::move(walked.object);
}

}  // namespace ndlfs::backends::hdf5
