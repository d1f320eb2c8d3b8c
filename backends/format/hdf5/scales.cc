// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/scales.h"

#include <algorithm>

#include "backends/base/checked.h"
#include "backends/format/hdf5/group.h"
#include "model/path_name.h"

namespace ndlfs::backends::hdf5 {
namespace {

// More than this many scales of one dimension are no use to anybody.
constexpr size_t kMaxScales = 64;

constexpr size_t kMaxKnownScales = 1000;
constexpr size_t kMaxKnownGroups = 8;

// Groups with more are not looked through for dimensions.
constexpr size_t kMaxVariables = 5000;

constexpr std::string_view kDimensionOnly =
    "This is a netCDF dimension but not a netCDF variable";

std::optional<ScaleInfo> DescribeScale(const Object& dataset, std::string path) {
  if (dataset.kind() != Object::Kind::kDataset) return std::nullopt;
  const auto extent = dataset.ReadExtent();
  if (!extent) return std::nullopt;
  return ScaleInfo{std::move(path), extent->shape, extent->max_shape, IsDimensionOnly(dataset)};
}

// Calls `use(scale, link)` for each scale in a group.
template <typename Use>
void ForEachScale(const Metadata& file, const std::vector<LinkEntry>& links, const Use& use) {
  for (const LinkEntry& link : links) {
    if (link.kind != LinkEntry::Kind::kHard || !IsLinkName(link.name)) continue;
    const auto object = Object::Open(file, link.address);
    if (!object || object->kind() != Object::Kind::kDataset) continue;
    if (IsScale(*object)) use(*object, link);
  }
}

bool ReadAttachedScales(const Object& dataset, const std::string& path, ObjectIndex& index,
                        KnownScales& known, DatasetInfo& info) {
  const auto lists = ReadDimensionList(dataset, info.shape.size());
  if (!lists) return false;
  bool all_found = true;
  const std::string group(model::ParentPath(path));
  info.scales.resize(lists->size());
  for (size_t dim = 0; dim < lists->size(); ++dim) {
    for (const uint64_t address : (*lists)[dim]) {
      auto described = known.Attached(dataset.file(), address, group, index);
      all_found = all_found && described;
      if (described) info.scales[dim].push_back(*std::move(described));
    }
  }
  return all_found;
}

// By netCDF-4's numbers of dimensions, for the scales of the group and those around it: the
// other way in which its files name them.
std::optional<ScaleInfo> FindNumbered(const Metadata& file, std::string group, int64_t id,
                                      KnownScales& known) {
  for (;; group = std::string(model::ParentPath(group))) {
    const auto scales = known.In(file, group);
    if (const auto found = scales.find(id); found != scales.end()) return found->second;
    if (group == "/") return std::nullopt;
  }
}

void ReadNumberedScales(const Object& dataset, const std::string& path, KnownScales& known,
                        DatasetInfo& info) {
  const auto ids = dataset.Integers("_Netcdf4Coordinates");
  if (ids.empty() || ids.size() != info.shape.size()) return;
  info.scales.resize(ids.size());
  // A coordinate has its own number: no walk has to find it.
  const auto own = info.is_scale ? dataset.Integers("_Netcdf4Dimid") : std::vector<int64_t>();
  for (size_t dim = 0; dim < ids.size(); ++dim) {
    auto scale = own == std::vector{ids[dim]}
                     ? DescribeScale(dataset, path)
                     : FindNumbered(dataset.file(), std::string(model::ParentPath(path)),
                                    ids[dim], known);
    if (scale) info.scales[dim] = {*std::move(scale)};
  }
}

}  // namespace

std::optional<ScaleInfo> KnownScales::Attached(const Metadata& file, uint64_t address,
                                               const std::string& group, ObjectIndex& index) {
  const std::pair key(address, group);
  {
    const model::MutexLock lock(mutex_);
    const auto found = attached_.find(key);
    if (found != attached_.end()) return found->second;
  }
  const auto scale = Object::Open(file, address);
  const auto path = scale ? index.PathNear(file, address, group) : std::nullopt;
  auto described = path ? DescribeScale(*scale, *path) : std::nullopt;
  if (!described) return std::nullopt;
  const model::MutexLock lock(mutex_);
  if (attached_.size() >= kMaxKnownScales) attached_.clear();
  attached_.emplace(key, *described);
  return described;
}

KnownScales::Numbered KnownScales::In(const Metadata& file, const std::string& group) {
  {
    const model::MutexLock lock(mutex_);
    const auto found = numbered_.find(group);
    if (found != numbered_.end()) return found->second;
  }
  Numbered scales;
  const ReadFailures failures;
  const auto header = HeaderAt(file, group);
  const auto links = header ? ListLinks(file, **header) : std::vector<LinkEntry>();
  if (links) {
    ForEachScale(file, *links, [&](const Object& object, const LinkEntry& link) {
      // Variables have the number of their first dimension there.
      const auto id = object.Integers("_Netcdf4Dimid");
      if (id.size() != 1) return;
      auto scale = DescribeScale(object, model::JoinPath(group, link.name));
      if (scale) scales.emplace(id[0], *std::move(scale));
    });
  }
  if (!failures.Check()) return scales;
  const model::MutexLock lock(mutex_);
  if (numbered_.size() >= kMaxKnownGroups) numbered_.clear();
  numbered_.emplace(group, scales);
  return scales;
}

void KnownScales::Clear() {
  const model::MutexLock lock(mutex_);
  attached_.clear();
  numbered_.clear();
}

bool IsScale(const Object& dataset) { return dataset.Text("CLASS") == "DIMENSION_SCALE"; }

std::optional<ReferenceLists> ReadDimensionList(const Object& dataset, size_t rank) {
  const auto raw = dataset.Attribute("DIMENSION_LIST");
  if (!raw || raw->error) return std::nullopt;
  const Metadata& file = dataset.file();
  const auto type = ReadElementType(file, raw->type);
  const auto extent = ParseExtent(file, raw->space);
  const bool is_list = type && type->form.kind == Form::Kind::kVlen &&
                       type->form.base->kind == Form::Kind::kObjectReference;
  if (!is_list || !extent || extent->shape != std::vector<uint64_t>{rank}) return std::nullopt;
  const size_t address_bytes = file.offset_bytes();
  ReferenceLists lists(rank);
  Cursor in(raw->data);
  for (std::vector<uint64_t>& list : lists) {
    const uint64_t count = std::min<uint64_t>(in.Number(4), kMaxScales);
    const auto addresses = ReadGlobal(file, in, count * address_bytes, kMaxScales * 32);
    if (!addresses) return std::nullopt;
    Cursor next(*addresses);
    while (list.size() < count && next.left() >= address_bytes) {
      list.push_back(next.Address(address_bytes));
    }
  }
  return lists;
}

bool IsDimensionOnly(const Object& dataset) {
  const auto name = dataset.Text("NAME");
  return name && name->starts_with(kDimensionOnly) && IsScale(dataset);
}

std::vector<ScaleInfo> ReadDimensions(const Object& group, const std::string& path) {
  // netCDF-4 always has the library keep the order of its variables.
  if (!TracksLinkOrder(group.header())) return {};
  const auto links = ListLinks(group.file(), group.header());
  if (!links || links->size() > kMaxVariables) return {};
  std::vector<ScaleInfo> dimensions;
  ForEachScale(group.file(), *links, [&](const Object& object, const LinkEntry& link) {
    auto scale = DescribeScale(object, model::JoinPath(path, link.name));
    if (!scale || scale->shape.empty()) return;
    // Named after a variable of several dimensions, it is the first of these.
    if (!scale->is_dimension_only && scale->shape.size() == 1) return;
    scale->shape.resize(1);
    scale->max_shape.resize(1);
    dimensions.push_back(*std::move(scale));
  });
  return dimensions;
}

std::vector<std::string> ReadScales(const Object& dataset, const std::string& path,
                                    ObjectIndex& index, KnownScales& known, DatasetInfo& info) {
  std::vector<std::string> told;
  info.is_scale = IsScale(dataset);
  if (info.is_scale) {
    info.is_attached = dataset.Attribute("REFERENCE_LIST").has_value();
    info.is_dimension_only = IsDimensionOnly(dataset);
    info.scale_name = dataset.Text("NAME").value_or("");
    // The reverse of the attributes of the datasets that use the scale.
    told.push_back("REFERENCE_LIST");
  }
  if (info.shape.empty()) return told;
  if (ReadAttachedScales(dataset, path, index, known, info)) {
    told.push_back("DIMENSION_LIST");
  } else if (info.scales.empty()) {
    ReadNumberedScales(dataset, path, known, info);
  }
  return told;
}

}  // namespace ndlfs::backends::hdf5
