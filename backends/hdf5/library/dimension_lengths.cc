// SPDX-License-Identifier: MIT
#include "backends/hdf5/library/dimension_lengths.h"

#include <algorithm>
#include <unordered_set>

#include "backends/hdf5/library/attributes.h"
#include "backends/hdf5/library/object_index.h"
#include "backends/hdf5/library/path_walk.h"
#include "backends/hdf5/library/scales.h"
#include "model/path_name.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

// A look at one object takes some twenty microseconds.
constexpr size_t kMaxObjects = 100'000;
constexpr size_t kMaxDepth = 512;

bool IsUnlimitedScale(const std::vector<uint64_t>& max_shape) {
  return !max_shape.empty() && max_shape.front() == DatasetInfo::kUnlimited;
}

// Whether the group at `group` is the one that holds the object at `path`, or
// one around it.
bool IsAround(std::string_view group, std::string_view path) {
  return group == "/" ||
         (path.starts_with(group) && path.substr(group.size()).starts_with('/'));
}

std::optional<haddr_t> AddressOf(hid_t object) {
  H5O_info_t info;
  if (H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0) return std::nullopt;
  return info.addr;
}

}  // namespace

// One walk over the file, over hard links only; each object is met once.
class DimensionLengths::Walk {
 public:
  explicit Walk(std::unordered_map<haddr_t, Dimension>& unlimited) : unlimited_(unlimited) {}

  Result<void> Run(hid_t file) {
    groups_.push_back("/");
    // A group comes after those around it, which may define its dimensions.
    while (!groups_.empty()) {
      const std::string path = std::move(groups_.back());
      groups_.pop_back();
      const auto group = OpenObject(file, path);
      if (!group) continue;
      NDLFS_RETURN_IF_ERROR(ReadGroup(group->get(), path));
    }
    return {};
  }

 private:
  struct Variable {
    std::string name;
    haddr_t address = HADDR_UNDEF;
    std::vector<uint64_t> shape;
    bool is_scale = false;
  };

  Result<void> ReadGroup(hid_t group, const std::string& path) {
    const auto links = ListLinks(group);
    if (!links) return {};
    std::vector<Variable> variables;
    for (const LinkEntry& link : *links) {
      if (link.type != H5L_TYPE_HARD || !IsLinkName(link.name)) continue;
      if (!met_.insert(link.address).second) continue;
      if (met_.size() > kMaxObjects) {
        return model::Limit(
            "how long the unlimited dimensions are is only known in files of up to {} objects",
            kMaxObjects);
      }
      const Handle object(H5Oopen(group, link.name.c_str(), H5P_DEFAULT));
      if (!object) continue;
      if (H5Iget_type(object.get()) == H5I_GROUP) {
        std::string child = model::JoinPath(path, link.name);
        if (model::SplitPath(child).size() < kMaxDepth) groups_.push_back(std::move(child));
      } else if (H5Iget_type(object.get()) == H5I_DATASET) {
        ReadDataset(object.get(), path, link, variables);
      }
    }
    for (const Variable& variable : variables) {
      if (MayBeLonger(path, variable.shape)) Count(group, path, variable);
    }
    H5Eclear2(H5E_DEFAULT);
    return {};
  }

  void ReadDataset(hid_t dataset, const std::string& group, const LinkEntry& link,
                   std::vector<Variable>& variables) {
    const Handle space(H5Dget_space(dataset));
    const auto extent = space ? ReadExtent(space.get()) : LibraryError("no shape");
    if (!extent || extent->shape.empty()) return;
    const bool is_scale = IsScale(dataset);
    if (is_scale) AddScale(dataset, group, link.address, *extent);
    if (is_scale && IsDimensionOnly(dataset)) return;
    variables.push_back({link.name, link.address, extent->shape, is_scale});
  }

  // What dimensions a variable has takes longer to find out than its shape.
  bool MayBeLonger(const std::string& group, const std::vector<uint64_t>& shape) const {
    constexpr size_t kMany = 64;
    if (unlimited_.size() > kMany) return true;
    const uint64_t longest = *std::max_element(shape.begin(), shape.end());
    return std::any_of(unlimited_.begin(), unlimited_.end(), [&](const auto& item) {
      const Dimension& dimension = item.second;
      return dimension.length < longest &&
             (dimension.group == group || IsAround(dimension.group, group));
    });
  }

  void AddScale(hid_t dataset, const std::string& group, haddr_t address,
                const Extent& extent) {
    if (!IsUnlimitedScale(extent.max_shape)) return;
    unlimited_.emplace(address, Dimension{group, 0});
    const auto id = ReadIntegerAttribute(dataset, "_Netcdf4Dimid");
    if (id.size() == 1) by_id_.emplace(id[0], address);
  }

  // Of several scales of one dimension, netCDF-C takes the last.
  static std::vector<std::optional<haddr_t>> LastScales(hid_t dataset, size_t rank) {
    std::vector<std::optional<haddr_t>> scales;
    if (H5Aexists(dataset, "DIMENSION_LIST") <= 0) return scales;
    const auto lists = ReadDimensionList(dataset, rank);
    if (!lists) return scales;
    for (const auto& list : *lists) {
      scales.push_back(list.empty() ? std::nullopt : std::optional<haddr_t>(list.back()));
    }
    return scales;
  }

  // The scales of a variable's dimensions, by netCDF's numbers of the dimensions
  // where they are not attached.
  std::vector<std::optional<haddr_t>> ScalesOf(hid_t group, const Variable& variable) const {
    const size_t rank = variable.shape.size();
    if (variable.is_scale && rank == 1) return {variable.address};
    const Handle dataset(H5Dopen2(group, variable.name.c_str(), H5P_DEFAULT));
    if (!dataset) return {};
    auto scales = variable.is_scale ? std::vector<std::optional<haddr_t>>()
                                    : LastScales(dataset.get(), rank);
    if (!scales.empty()) return scales;
    for (const int64_t id : ReadIntegerAttribute(dataset.get(), "_Netcdf4Coordinates")) {
      const auto found = by_id_.find(id);
      scales.push_back(found == by_id_.end() ? std::nullopt : std::optional(found->second));
    }
    return scales.size() == rank ? scales : std::vector<std::optional<haddr_t>>();
  }

  void Count(hid_t group, const std::string& path, const Variable& variable) {
    const auto scales = ScalesOf(group, variable);
    for (size_t dim = 0; dim < scales.size(); ++dim) {
      const auto found = scales[dim] ? unlimited_.find(*scales[dim]) : unlimited_.end();
      if (found == unlimited_.end()) continue;
      Dimension& dimension = found->second;
      if (!IsAround(dimension.group, model::JoinPath(path, variable.name))) continue;
      dimension.length = std::max(dimension.length, variable.shape[dim]);
    }
  }

  std::unordered_map<haddr_t, Dimension>& unlimited_;
  std::vector<std::string> groups_;  // still to be read
  std::unordered_set<haddr_t> met_;
  std::unordered_map<int64_t, haddr_t> by_id_;
};

model::Result<void> DimensionLengths::Load(hid_t file) {
  if (!loaded_) {
    loaded_ = true;
    if (auto walked = Walk(unlimited_).Run(file); !walked) error_ = walked.error();
    H5Eclear2(H5E_DEFAULT);
  }
  if (error_) return model::Propagate(*error_);
  return {};
}

std::optional<uint64_t> DimensionLengths::Find(haddr_t scale, const std::string& path) const {
  const auto found = unlimited_.find(scale);
  if (found == unlimited_.end() || !IsAround(found->second.group, path)) return std::nullopt;
  return found->second.length;
}

model::Result<void> DimensionLengths::Complete(hid_t file, hid_t dataset,
                                               const std::string& path, DatasetInfo& info) {
  if (info.is_null || info.shape.empty()) return {};
  std::vector<uint64_t> shape = info.shape;
  if (info.is_scale && !info.is_dimension_only && shape.size() == 1) {
    if (!IsUnlimitedScale(info.max_shape)) return {};
    NDLFS_RETURN_IF_ERROR(Load(file));
    const auto address = AddressOf(dataset);
    const auto length = address ? Find(*address, path) : std::nullopt;
    if (length) shape[0] = std::max(shape[0], *length);
  }
  bool all_found = true;
  for (size_t dim = 0; dim < info.scales.size(); ++dim) {
    const auto& scales = info.scales[dim];
    all_found =
        all_found && !scales.empty() && IsAround(model::ParentPath(scales.back().path), path);
    for (ScaleInfo& scale : info.scales[dim]) {
      if (!IsUnlimitedScale(scale.max_shape)) continue;
      NDLFS_RETURN_IF_ERROR(Load(file));
      const auto object = OpenObject(file, scale.path);
      const auto address = object ? AddressOf(object->get()) : std::nullopt;
      const auto length = address ? Find(*address, path) : std::nullopt;
      if (!length) continue;
      if (scale.shape.size() == 1) scale.shape = {*length};
      if (&scale == &scales.back()) shape[dim] = std::max(shape[dim], *length);
    }
  }
  if (all_found && shape != info.shape) info.netcdf_shape = std::move(shape);
  return {};
}

}  // namespace ndlfs::backends::hdf5
