// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/scales.h"

#include <algorithm>
#include <map>
#include <optional>

#include "backends/format/hdf5/library/attributes.h"
#include "backends/format/hdf5/library/path_walk.h"
#include "model/path_name.h"

namespace ndlfs::backends::hdf5 {
namespace {

// More than this many scales of one dimension are no use to anybody.
constexpr size_t kMaxScales = 64;

constexpr size_t kMaxKnownScales = 1000;
constexpr size_t kMaxKnownGroups = 8;

// Groups with more are not looked through for dimensions.
constexpr hsize_t kMaxVariables = 5000;

constexpr std::string_view kDimensionOnly =
    "This is a netCDF dimension but not a netCDF variable";

std::optional<ScaleInfo> DescribeScale(hid_t dataset, std::string path) {
  if (H5Iget_type(dataset) != H5I_DATASET) return std::nullopt;
  const Handle space(H5Dget_space(dataset));
  if (!space) return std::nullopt;
  const auto extent = ReadExtent(space.get());
  if (!extent) return std::nullopt;
  return ScaleInfo{std::move(path), extent->shape, extent->max_shape, IsDimensionOnly(dataset)};
}

// Describes the scale that a reference leads to, as a dataset of `group` sees it. Most datasets
// of a group have the same few scales.
std::optional<ScaleInfo> FindScale(hid_t file, hobj_ref_t reference, const std::string& group,
                                   ObjectIndex& index, KnownScales& known) {
  const auto found = known.attached.find({reference, group});
  if (found != known.attached.end()) return found->second;
  const Handle scale(H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, &reference));
  const auto path = scale ? index.PathNear(file, reference, group) : std::nullopt;
  auto described = path ? DescribeScale(scale.get(), *path) : std::nullopt;
  if (!described) return std::nullopt;
  if (known.attached.size() >= kMaxKnownScales) known.attached.clear();
  return known.attached.emplace(std::pair(reference, group), *std::move(described))
      .first->second;
}

bool ReadAttachedScales(hid_t file, hid_t dataset, const std::string& path, ObjectIndex& index,
                        KnownScales& known, DatasetInfo& info) {
  const auto lists = ReadDimensionList(dataset, info.shape.size());
  if (!lists) return false;
  bool all_found = true;
  const std::string group(model::ParentPath(path));
  info.scales.resize(lists->size());
  for (size_t dim = 0; dim < lists->size(); ++dim) {
    for (const hobj_ref_t reference : (*lists)[dim]) {
      auto described = FindScale(file, reference, group, index, known);
      all_found = all_found && described;
      if (described) info.scales[dim].push_back(*std::move(described));
    }
  }
  return all_found;
}

// netCDF-4's numbers of dimensions, for the scales of one group and those
// around it: the other way in which its files name them.
class DimensionIds {
 public:
  DimensionIds(hid_t file, std::string_view group, KnownScales& known)
      : file_(file), group_(group), known_(known) {}

  std::optional<ScaleInfo> Find(int64_t id) {
    for (std::string group = group_;; group = std::string(model::ParentPath(group))) {
      const auto& scales = ScalesIn(group);
      if (const auto found = scales.find(id); found != scales.end()) return found->second;
      if (group == "/") return std::nullopt;
    }
  }

 private:
  const std::map<int64_t, ScaleInfo>& ScalesIn(const std::string& path) {
    const auto known = known_.numbered.find(path);
    if (known != known_.numbered.end()) return known->second;
    if (known_.numbered.size() >= kMaxKnownGroups) known_.numbered.clear();
    return known_.numbered.emplace(path, ReadGroup(path)).first->second;
  }

  std::map<int64_t, ScaleInfo> ReadGroup(const std::string& path) const {
    std::map<int64_t, ScaleInfo> scales;
    const auto group = OpenObject(file_, path);
    const auto links = group ? ListLinks(group->get()) : std::vector<LinkEntry>();
    if (!links) return scales;
    for (const LinkEntry& link : *links) {
      if (link.type != H5L_TYPE_HARD || !IsLinkName(link.name)) continue;
      const Handle object(H5Oopen(group->get(), link.name.c_str(), H5P_DEFAULT));
      if (!object || H5Iget_type(object.get()) != H5I_DATASET) continue;
      const auto id = ReadIntegerAttribute(object.get(), "_Netcdf4Dimid");
      // Variables have the number of their first dimension there.
      if (id.size() != 1 || !IsScale(object.get())) continue;
      auto scale = DescribeScale(object.get(), model::JoinPath(path, link.name));
      if (scale) scales.emplace(id[0], *std::move(scale));
    }
    return scales;
  }

  const hid_t file_;
  const std::string group_;
  KnownScales& known_;
};

void ReadNumberedScales(hid_t file, hid_t dataset, const std::string& path, KnownScales& known,
                        DatasetInfo& info) {
  const auto ids = ReadIntegerAttribute(dataset, "_Netcdf4Coordinates");
  if (ids.empty() || ids.size() != info.shape.size()) return;
  DimensionIds scales(file, model::ParentPath(path), known);
  info.scales.resize(ids.size());
  // A coordinate has its own number: no walk has to find it.
  const auto own =
      info.is_scale ? ReadIntegerAttribute(dataset, "_Netcdf4Dimid") : std::vector<int64_t>();
  for (size_t dim = 0; dim < ids.size(); ++dim) {
    if (own == std::vector{ids[dim]}) {
      if (auto scale = DescribeScale(dataset, path)) info.scales[dim] = {*std::move(scale)};
      continue;
    }
    if (auto scale = scales.Find(ids[dim])) info.scales[dim] = {*std::move(scale)};
  }
}

}  // namespace

bool IsScale(hid_t dataset) {
  return H5Aexists(dataset, "CLASS") > 0 &&
         ReadTextAttribute(dataset, "CLASS") == "DIMENSION_SCALE";
}

std::optional<ReferenceLists> ReadDimensionList(hid_t dataset, size_t rank) {
  const Handle attribute(H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT));
  const Handle type(attribute ? H5Aget_type(attribute.get()) : H5I_INVALID_HID);
  const Handle space(attribute ? H5Aget_space(attribute.get()) : H5I_INVALID_HID);
  if (!type || !space || H5Tget_class(type.get()) != H5T_VLEN) return std::nullopt;
  const Handle base(H5Tget_super(type.get()));
  const auto extent = ReadExtent(space.get());
  if (!base || H5Tequal(base.get(), H5T_STD_REF_OBJ) <= 0) return std::nullopt;
  if (!extent || extent->shape != std::vector<uint64_t>{rank}) return std::nullopt;
  const Handle memory(H5Tvlen_create(H5T_STD_REF_OBJ));
  std::vector<hvl_t> vlens(rank, hvl_t{0, nullptr});
  if (!memory || H5Aread(attribute.get(), memory.get(), vlens.data()) < 0) return std::nullopt;
  ReferenceLists lists(rank);
  for (size_t dim = 0; dim < rank; ++dim) {
    const auto* references = static_cast<const hobj_ref_t*>(vlens[dim].p);
    lists[dim].assign(references, references + std::min(vlens[dim].len, kMaxScales));
  }
  H5Dvlen_reclaim(memory.get(), space.get(), H5P_DEFAULT, vlens.data());
  return lists;
}

bool IsDimensionOnly(hid_t dataset) {
  const auto name = ReadTextAttribute(dataset, "NAME");
  return name && name->starts_with(kDimensionOnly) && IsScale(dataset);
}

std::vector<ScaleInfo> ReadDimensions(hid_t group, const std::string& path) {
  // netCDF-4 always has the library keep the order of its variables.
  const Handle properties(H5Gget_create_plist(group));
  unsigned order = 0;
  if (!properties || H5Pget_link_creation_order(properties.get(), &order) < 0 ||
      !(order & H5P_CRT_ORDER_TRACKED)) {
    return {};
  }
  H5G_info_t info;
  if (H5Gget_info(group, &info) < 0 || info.nlinks > kMaxVariables) return {};
  const auto links = ListLinks(group);
  std::vector<ScaleInfo> dimensions;
  for (const LinkEntry& link : links ? *links : std::vector<LinkEntry>()) {
    if (link.type != H5L_TYPE_HARD || !IsLinkName(link.name)) continue;
    const Handle object(H5Oopen(group, link.name.c_str(), H5P_DEFAULT));
    if (!object || H5Iget_type(object.get()) != H5I_DATASET) continue;
    if (!IsScale(object.get())) continue;
    auto scale = DescribeScale(object.get(), model::JoinPath(path, link.name));
    if (!scale || scale->shape.empty()) continue;
    // Named after a variable of several dimensions, it is the first of these.
    if (!scale->is_dimension_only && scale->shape.size() == 1) continue;
    scale->shape.resize(1);
    scale->max_shape.resize(1);
    dimensions.push_back(*std::move(scale));
  }
  H5Eclear2(H5E_DEFAULT);
  return dimensions;
}

std::vector<std::string> ReadScales(hid_t file, hid_t dataset, const std::string& path,
                                    const AttributeNames& names, ObjectIndex& index,
                                    KnownScales& known, DatasetInfo& info) {
  const auto has = [&](const char* name) {
    if (!names) return H5Aexists(dataset, name) > 0;
    return std::find(names->begin(), names->end(), name) != names->end();
  };
  std::vector<std::string> told;
  info.is_scale = has("CLASS") && IsScale(dataset);
  if (info.is_scale) {
    info.is_attached = has("REFERENCE_LIST");
    info.is_dimension_only = IsDimensionOnly(dataset);
    info.scale_name = ReadTextAttribute(dataset, "NAME").value_or("");
    // The reverse of the attributes of the datasets that use the scale.
    told.push_back("REFERENCE_LIST");
  }
  if (info.shape.empty()) return told;
  if (has("DIMENSION_LIST") && ReadAttachedScales(file, dataset, path, index, known, info)) {
    told.push_back("DIMENSION_LIST");
  } else if (info.scales.empty() && has("_Netcdf4Coordinates")) {
    ReadNumberedScales(file, dataset, path, known, info);
  }
  H5Eclear2(H5E_DEFAULT);
  return told;
}

}  // namespace ndlfs::backends::hdf5
