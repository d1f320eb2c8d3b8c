// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/path_walk.h"

#include "model/path_name.h"

namespace ndlfs::backends::hdf5 {
namespace {

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
  WalkedObject at;
  NDLFS_TRY(at.object, Checked(H5Gopen2(file, "/", H5P_DEFAULT), "cannot open the root group"));
  for (const std::string_view name : model::SplitPath(path)) {
    if (H5Iget_type(at.object.get()) != H5I_GROUP) {
      return model::NotFound("nothing below an array");
    }
    NDLFS_TRY(const haddr_t address, AddressOf(at.object.get()));
    at.ancestors.push_back(address);
    NDLFS_TRY(at.object, OpenChild(at.object.get(), std::string(name)));
  }
  return at;
}

model::Result<Handle> OpenObject(hid_t file, std::string_view path) {
  NDLFS_TRY(auto walked, WalkTo(file, path));
  return std::move(walked.object);
}

}  // namespace ndlfs::backends::hdf5
