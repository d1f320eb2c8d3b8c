// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/dimension_lengths.h"

#include <algorithm>
#include <unordered_set>

#include "backends/format/hdf5/group.h"
#include "backends/format/hdf5/object_index.h"
#include "backends/format/hdf5/scales.h"
#include "model/path_name.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

// A look at one object takes some twenty microseconds.
constexpr size_t kMaxObjects = 100'000;
constexpr size_t kMaxGroupDepth = 512;

bool IsUnlimitedScale(const std::vector<uint64_t>& max_shape) {
  return !max_shape.empty() && max_shape.front() == DatasetInfo::kUnlimited;
}

// Whether the group at `group` is the one that holds the object at `path`, or
// one around it.
bool IsAround(std::string_view group, std::string_view path) {
  return group == "/" ||
         (path.starts_with(group) && path.substr(group.size()).starts_with('/'));
}

// Whether netCDF-C finds all dimensions of the dataset at `path`, one of them
// unlimited.
bool HasRecords(const DatasetInfo& info, const std::string& path) {
  bool any_unlimited = false;
  for (const auto& scales : info.scales) {
    if (scales.empty() || !IsAround(model::ParentPath(scales.back().path), path)) return false;
    any_unlimited |= std::any_of(scales.begin(), scales.end(), [](const ScaleInfo& scale) {
      return IsUnlimitedScale(scale.max_shape);
    });
  }
  return any_unlimited;
}

}  // namespace

// One walk over the file, over hard links only; each object is met once.
class DimensionLengths::Walk {
 public:
  Walk(const Metadata& file, std::unordered_map<uint64_t, Dimension>& unlimited)
      : file_(file), unlimited_(unlimited) {}

  // Whether an object was left out because it cannot be read.
  bool has_skipped() const { return has_skipped_; }

  Result<void> Run() {
    groups_.push_back({"/", file_.root()});
    // A group comes after those around it, which may define its dimensions.
    while (!groups_.empty()) {
      const Group next = std::move(groups_.back());
      groups_.pop_back();
      const auto group = Object::Open(file_, next.address);
      if (!group) {
        has_skipped_ = true;
        continue;
      }
      NDLFS_RETURN_IF_ERROR(ReadGroup(*group, next.path));
    }
    return {};
  }

 private:
  struct Variable {
    std::string name;
    uint64_t address = kNowhere;
    std::vector<uint64_t> shape;
    bool is_scale = false;
  };

  Result<void> ReadGroup(const Object& group, const std::string& path) {
    const auto links = ListLinks(file_, group.header());
    if (!links) {
      has_skipped_ = true;
      return {};
    }
    group_names_.push_back(path);
    std::vector<Variable> variables;
    for (const LinkEntry& link : *links) {
      if (link.kind != LinkEntry::Kind::kHard || !IsLinkName(link.name)) continue;
      if (!met_.insert(link.address).second) continue;
      if (met_.size() > kMaxObjects) {
        return model::Limit(
            "how long the unlimited dimensions are is only known in files of up to {} objects",
            kMaxObjects);
      }
      const auto object = Object::Open(file_, link.address);
      if (!object) {
        has_skipped_ = true;
      } else if (object->kind() == Object::Kind::kGroup) {
        std::string child = model::JoinPath(path, link.name);
        if (model::SplitPath(child).size() < kMaxGroupDepth) {
          groups_.push_back({std::move(child), link.address});
        } else {
          has_skipped_ = true;
        }
      } else if (object->kind() == Object::Kind::kDataset) {
        ReadDataset(*object, path, link, variables);
      }
    }
    for (const Variable& variable : variables) {
      if (MayBeLonger(path, variable.shape)) Count(path, variable);
    }
    return {};
  }

  void ReadDataset(const Object& dataset, const std::string& group, const LinkEntry& link,
                   std::vector<Variable>& variables) {
    const auto extent = dataset.ReadExtent();
    if (!extent) has_skipped_ = true;
    if (!extent || extent->shape.empty()) return;
    const bool is_scale = IsScale(dataset);
    if (is_scale) AddScale(dataset, group, link.address, *extent);
    if (is_scale && IsDimensionOnly(dataset)) return;
    variables.push_back({link.name, link.address, extent->shape, is_scale});
  }

  // Finding out which dimensions a variable has takes longer than finding out its shape.
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

  void AddScale(const Object& dataset, const std::string& group, uint64_t address,
                const Extent& extent) {
    scales_.emplace(address, group_names_.size() - 1);
    if (IsUnlimitedScale(extent.max_shape)) unlimited_.emplace(address, Dimension{group, 0});
    const auto id = dataset.Integers("_Netcdf4Dimid");
    if (id.size() == 1) by_id_.emplace(id[0], address);
  }

  // If a dimension has several scales, netCDF-C takes the last.
  static std::vector<std::optional<uint64_t>> LastScales(const Object& dataset, size_t rank) {
    std::vector<std::optional<uint64_t>> scales;
    const auto lists = ReadDimensionList(dataset, rank);
    if (!lists) return scales;
    for (const auto& list : *lists) {
      scales.push_back(list.empty() ? std::nullopt : std::optional<uint64_t>(list.back()));
    }
    return scales;
  }

  // The scales of a variable's dimensions, by netCDF's numbers of the dimensions
  // where they are not attached.
  std::vector<std::optional<uint64_t>> ScalesOf(const Variable& variable) const {
    const size_t rank = variable.shape.size();
    if (variable.is_scale && rank == 1) return {variable.address};
    const auto dataset = Object::Open(file_, variable.address);
    if (!dataset) return {};
    auto scales =
        variable.is_scale ? std::vector<std::optional<uint64_t>>() : LastScales(*dataset, rank);
    if (!scales.empty()) return scales;
    for (const int64_t id : dataset->Integers("_Netcdf4Coordinates")) {
      const auto found = by_id_.find(id);
      scales.push_back(found == by_id_.end() ? std::nullopt : std::optional(found->second));
    }
    return scales.size() == rank ? scales : std::vector<std::optional<uint64_t>>();
  }

  // Whether netCDF-C finds the dimension of a scale for the variable at `path`.
  bool Finds(const std::optional<uint64_t>& scale, const std::string& path) const {
    const auto found = scale ? scales_.find(*scale) : scales_.end();
    return found != scales_.end() && IsAround(group_names_[found->second], path);
  }

  // A variable counts only if all its dimensions are found.
  void Count(const std::string& path, const Variable& variable) {
    const auto scales = ScalesOf(variable);
    const std::string own_path = model::JoinPath(path, variable.name);
    const bool all_found = std::all_of(scales.begin(), scales.end(), [&](const auto& scale) {
      return Finds(scale, own_path);
    });
    if (!all_found) return;
    for (size_t dim = 0; dim < scales.size(); ++dim) {
      const auto found = unlimited_.find(*scales[dim]);
      if (found == unlimited_.end()) continue;
      Dimension& dimension = found->second;
      dimension.length = std::max(dimension.length, variable.shape[dim]);
    }
  }

  struct Group {
    std::string path;
    uint64_t address;
  };

  const Metadata& file_;
  std::unordered_map<uint64_t, Dimension>& unlimited_;
  std::vector<Group> groups_;  // still to be read
  std::unordered_set<uint64_t> met_;
  std::vector<std::string> group_names_;         // that were read
  std::unordered_map<uint64_t, size_t> scales_;  // in which of group_names_
  std::unordered_map<int64_t, uint64_t> by_id_;
  bool has_skipped_ = false;
};

model::Result<void> DimensionLengths::Load(const Metadata& file) {
  if (loaded_) return {};
  unlimited_.clear();
  const ReadFailures failures;
  Walk walk(file, unlimited_);
  const auto walked = walk.Run();
  NDLFS_RETURN_IF_ERROR(failures.Check());
  loaded_ = true;
  has_skipped_ = walk.has_skipped();
  if (!walked) error_ = walked.error();
  return {};
}

model::Result<bool> DimensionLengths::LoadFor(const Metadata& file, ObjectInfo& info) {
  NDLFS_RETURN_IF_ERROR(Load(file));
  if (error_) {
    info.notes.push_back("shown with as many records as it is stored with: " +
                         error_->message());
    return false;
  }
  if (has_skipped_) {
    info.notes.push_back(
        "an object of the file cannot be read, which may have more records of an unlimited "
        "dimension");
  }
  return true;
}

std::optional<uint64_t> DimensionLengths::Find(uint64_t scale, const std::string& path) const {
  const auto found = unlimited_.find(scale);
  if (found == unlimited_.end() || !IsAround(found->second.group, path)) return std::nullopt;
  return found->second.length;
}

void DimensionLengths::CompleteScales(const Metadata& file, const std::string& path,
                                      DatasetInfo& info, std::vector<uint64_t>& shape) const {
  for (size_t dim = 0; dim < info.scales.size(); ++dim) {
    for (ScaleInfo& scale : info.scales[dim]) {
      if (!IsUnlimitedScale(scale.max_shape)) continue;
      const auto header = HeaderAt(file, scale.path);
      const auto length = header ? Find((*header)->address(), path) : std::nullopt;
      if (!length) continue;
      if (scale.shape.size() == 1) scale.shape = {*length};
      if (&scale == &info.scales[dim].back()) shape[dim] = std::max(shape[dim], *length);
    }
  }
}

model::Result<void> DimensionLengths::Complete(const Object& dataset, const std::string& path,
                                               ObjectInfo& info) {
  DatasetInfo& described = *info.dataset;
  if (described.is_null || described.shape.empty()) return {};
  const bool is_record_coordinate = described.is_scale && !described.is_dimension_only &&
                                    described.shape.size() == 1 &&
                                    IsUnlimitedScale(described.max_shape);
  // Walks only over files that netCDF-C could read.
  const bool has_records = HasRecords(described, path);
  if (!is_record_coordinate && !has_records) return {};
  const model::MutexLock lock(mutex_);
  NDLFS_TRY(const bool is_known, LoadFor(dataset.file(), info));
  if (!is_known) return {};
  std::vector<uint64_t> shape = described.shape;
  if (is_record_coordinate) {
    const auto length = Find(dataset.address(), path);
    if (length) shape[0] = std::max(shape[0], *length);
  }
  if (has_records) CompleteScales(dataset.file(), path, described, shape);
  if (shape != described.shape) described.netcdf_shape = std::move(shape);
  return {};
}

}  // namespace ndlfs::backends::hdf5
