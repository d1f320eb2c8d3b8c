// SPDX-License-Identifier: MIT
#include "fs/view/container/hdf5_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/base/checked.h"
#include "backends/base/utf32_text.h"
#include "cache/array_reader.h"
#include "fs/view/container/group_children.h"
#include "fs/view/container/hdf5_types.h"
#include "fs/view/container/name_table.h"
#include "fs/view/elements/converted_elements.h"
#include "model/memory_budget.h"
#include "model/path_name.h"
#include "model/utf8.h"

namespace ndlfs::fs::hdf5 {
namespace {

using backends::hdf5::NewFile;
using backends::hdf5::NewObject;
using model::Datatype;
using model::Result;

constexpr uint32_t kNone = UINT32_MAX;

bool IsTransient(const model::Error& error) { return error.is_transient(); }

// `name` as HDF5 and netCDF-4 can have it. netCDF-C looks for composed characters, whatever
// form a program asks for.
std::string SoundName(std::string_view name) {
  constexpr size_t kMaxBytes = 255;
  std::string sound = backends::ComposeCharacters(name);
  std::ranges::replace(sound, '\0', '_');
  std::ranges::replace(sound, '/', '_');
  if (sound.empty() || sound == "." || sound == "..") return sound + "_";
  if (sound.size() <= kMaxBytes) return sound;
  size_t end = kMaxBytes;
  while (end > 0 && (static_cast<unsigned char>(sound[end]) & 0xC0) == 0x80) --end;
  return sound.substr(0, end);
}

// An array that is to be a dataset.
struct FoundArray {
  uint32_t group = 0;  // the number of its group
  std::string path;    // NDL path name
  std::string name;    // in the file
  // The facts about its node, which is not kept.
  bool is_coordinate = false;
  model::Shape dimensions;
  std::vector<std::string> dimension_names;
  std::vector<backends::hdf5::NewAttribute> attributes;
  size_t rank = 0;  // without the inner dimensions
  FlatType type;
  std::vector<uint64_t> shape;  // with the inner dimensions
  std::optional<std::vector<std::byte>> fill;
  std::shared_ptr<const ElementSource> elements;  // as they are in the file
  // Only if elements are of variable size.
  std::optional<ArrayInput> input;
  // Its elements as a stream, where they are of variable size.
  std::optional<std::vector<std::byte>> data = {};
  bool is_left_out = false;
  bool is_scale = false;
  bool is_unlimited = false;  // as a scale
  uint32_t object = kNone;    // its number in the file
};

struct FoundLink {
  uint32_t group = 0;
  std::string name;  // in the file
  std::string path;
  std::string target;
};

// A dimension without a variable.
struct FoundDimension {
  uint32_t group = 0;
  std::string name;
  uint64_t length = 0;
  bool is_unlimited = false;
  uint32_t object = kNone;
};

struct FoundGroup {
  uint32_t parent = 0;
  std::string path;
  std::string name = {};
  std::shared_ptr<const GroupInput> input = {};  // null for the root
  const model::Group* entity = nullptr;
  NameTable names = NameTable(&SoundName);
  // Its dimensions by name and length: as numbers of dimensions_.
  std::map<std::pair<std::string, uint64_t>, size_t> dimensions = {};
  uint32_t object = kNone;
};

// The scale of one dimension of an array: a dimension coordinate, or a dimension.
struct Scale {
  std::optional<size_t> array = {};
  std::optional<size_t> dimension = {};
};

class Builder {
 public:
  Builder(const GroupInput& root, const Limits& limits)
      : root_(root),
        limits_(limits),
        outer_(root, /*holds_subgroups=*/true),
        file_(std::make_shared<NewFile>()) {}

  Result<Content> Build() {
    groups_.push_back({.path = root_.path(), .entity = EntityOf(root_)});
    NDLFS_RETURN_IF_ERROR(Walk(root_, 0, 0));
    AddOuterArrays();
    NDLFS_RETURN_IF_ERROR(ReadVariableElements());
    FindScaleArrays();
    DeclareDimensions();
    for (size_t i = 0; i < arrays_.size(); ++i) scales_.push_back(ScalesOf(i));
    AddGroups();
    AddScales();
    for (size_t i = 0; i < arrays_.size(); ++i) {
      if (!arrays_[i].is_left_out) AddDataset(i);
    }
    AddLinks();
    file_->left_out = std::move(left_out_);
    file_->properties = "version=2,ndlfs=1";
    content_.elements.resize(file_->objects.size());
    content_.file = std::move(file_);
    return std::move(content_);
  }

 private:
  static const model::Group* EntityOf(const GroupInput& group) {
    return std::get_if<model::Group>(&group.node().entity);
  }

  void LeaveOut(std::string_view path, std::string_view reason) {
    if (!left_out_.empty()) left_out_ += '\n';
    left_out_ += fmt::format("{}: {}", model::OneLine(path), reason);
  }

  // Adds the objects of the group, and those below it.
  Result<void> Walk(const GroupInput& group, uint32_t number, size_t depth) {
    if (depth > limits_.depth) {
      LeaveOut(group.path(), "its groups are nested too deep");
      return {};
    }
    NDLFS_TRY(auto names, group.List(), group.path());
    objects_ += names.size();
    if (objects_ > limits_.objects)
      return model::Limit("more than {} objects", limits_.objects);
    NDLFS_RETURN_IF_ERROR(TakeLinks(group, number, names));
    for (const std::string& name : names) groups_[number].names.Keep(name);
    const size_t first = groups_.size();
    constexpr uint64_t kOfEach = uint64_t{6} << 10;  // here, and in the process that writes it
    NDLFS_RETURN_IF_ERROR(held_.Grow(names.size() * kOfEach), "the file has very many arrays");
    NDLFS_RETURN_IF_ERROR(
        LoadEach(group, names, [&](const std::string& name, Result<GroupChild> child) {
          return TakeChild(group, number, name, std::move(child));
        }));
    const size_t end = groups_.size();
    for (size_t i = first; i < end; ++i) {
      const auto input = groups_[i].input;
      NDLFS_RETURN_IF_ERROR(Walk(*input, static_cast<uint32_t>(i), depth + 1));
    }
    return {};
  }

  // Those among the children of the group, which leave `names`.
  Result<void> TakeLinks(const GroupInput& group, uint32_t number,
                         std::vector<std::string>& names) {
    std::vector<std::string> others;
    for (std::string& name : names) {
      const std::string path = model::JoinPath(group.path(), name);
      NDLFS_TRY(const auto link, group.GetLink(name), path);
      if (link) {
        links_.push_back({number, name, path, TargetOf(*link, group.path())});
      } else {
        others.push_back(std::move(name));
      }
    }
    names = std::move(others);
    return {};
  }

  Result<void> TakeChild(const GroupInput& group, uint32_t number, const std::string& name,
                         Result<GroupChild> child) {
    const std::string path = model::JoinPath(group.path(), name);
    if (!child && IsTransient(child.error())) {
      return model::Propagate(std::move(child).error(), path);
    }
    if (!child) {
      LeaveOut(path, child.error().message());
    } else if (child->group) {
      AddGroup(std::move(child->group), number, name);
    } else {
      AddArray(number, path, name, *child);
      if (child->array) return outer_.AddOf(*child->array);
    }
    return {};
  }

  // As a path name of the store; empty if it leads out.
  static std::string TargetOf(const backends::Link& link, std::string_view group) {
    if (link.kind == backends::Link::Kind::kExternal) return {};
    if (link.target.starts_with('/')) return link.target;
    return model::JoinPath(group, link.target);
  }

  void AddGroup(std::shared_ptr<const GroupInput> group, uint32_t parent,
                const std::string& name) {
    groups_.push_back({.parent = parent,
                       .path = group->path(),
                       .name = groups_[parent].names.Take(name),
                       .input = group,
                       .entity = EntityOf(*group)});
  }

  void AddArray(uint32_t group, const std::string& path, const std::string& name,
                const GroupChild& child) {
    if (!child.array) {
      const bool is_known = child.node && child.node->error;
      return LeaveOut(path, is_known ? child.node->error->message() : "it cannot be read");
    }
    const ElementConversion times = ToCfTimes(child.array->dtype);
    const Datatype& dtype = times.converter ? times.type : child.array->dtype;
    auto flat = Flatten(dtype);
    if (!flat) return LeaveOut(path, flat.error().message());
    if (HasWideFloat(dtype)) {
      return LeaveOut(path, "netCDF-C fails on a file with floats of more than 64 bits");
    }
    FoundArray array;
    array.group = group;
    array.path = path;
    const ArrayInput& input = *child.array;
    const model::Ndarray& ndarray = child.node->array();
    array.is_coordinate = std::holds_alternative<model::DimCoord>(child.node->entity);
    array.dimensions = ndarray.shape;
    array.dimension_names = ndarray.dimension_names;
    array.rank = input.shape.size();
    array.shape = input.shape;
    array.shape.insert(array.shape.end(), flat->inner.begin(), flat->inner.end());
    array.type = *std::move(flat);
    constexpr size_t kMaxRank = 32;
    if (array.shape.size() > kMaxRank) {
      return LeaveOut(path,
                      fmt::format("{} dimensions; HDF5 has {}", array.shape.size(), kMaxRank));
    }
    const bool is_fixed = array.type.type.is_fixed_size();
    array.elements = ElementsInFile(input);
    if (is_fixed && !array.elements) return LeaveOut(path, "it is too large");
    array.attributes = MakeAttributes(*child.node, dtype);
    array.fill = FillOf(input, array.type.type, times);
    if (!is_fixed) array.input = input;
    array.name = groups_[group].names.Take(name);
    const size_t number = arrays_.size();
    by_path_.emplace(path, number);
    by_name_.emplace(std::pair(group, array.name), number);
    arrays_.push_back(std::move(array));
  }

  // The arrays from groups around the root of the file.
  void AddOuterArrays() {
    for (OuterArray& outer : outer_.Take()) {
      AddArray(0, outer.path, outer.name, {outer.array.node, outer.array, nullptr});
    }
  }

  // The array's own word counts: a link to the coordinates may have another name than they.
  static std::string_view DimensionName(const FoundArray& array, size_t d) {
    if (d < array.dimension_names.size() && !array.dimension_names[d].empty()) {
      return array.dimension_names[d];
    }
    if (d < array.dimensions.size()) return model::BaseName(array.dimensions[d].dimcoord);
    return {};
  }

  bool Declares(uint32_t group, std::string_view name, uint64_t length) const {
    if (groups_[group].entity == nullptr) return false;
    return std::ranges::any_of(
        groups_[group].entity->dimensions, [&](const model::NamedDimension& dimension) {
          return dimension.name == name && dimension.size.value_or(length) == length;
        });
  }

  // The group that defines a dimension without coordinates for an array of `group`.
  uint32_t ScopeOf(uint32_t group, std::string_view name, uint64_t length) const {
    for (uint32_t outer = group;; outer = groups_[outer].parent) {
      if (Declares(outer, name, length)) return outer;
      if (outer == 0) return group;
    }
  }

  // Dimension coordinates, and what netCDF calls coordinate variables of several
  // dimensions: those that are called as their first one.
  void FindScaleArrays() {
    for (FoundArray& array : arrays_) {
      const size_t rank = array.rank;
      if (rank == 0 || array.is_left_out) continue;
      const bool has_own = rank == 1 && array.is_coordinate;
      const bool is_called =
          DimensionName(array, 0) == model::BaseName(array.path) &&
          (array.dimensions.empty() || array.dimensions[0].dimcoord.empty()) &&
          ScopeOf(array.group, DimensionName(array, 0), array.shape[0]) == array.group;
      array.is_scale = has_own || is_called;
    }
  }

  void DeclareDimensions() {
    for (uint32_t group = 0; group < groups_.size(); ++group) {
      if (groups_[group].entity == nullptr) continue;
      for (const model::NamedDimension& dimension : groups_[group].entity->dimensions) {
        if (dimension.size) FindDimension(group, dimension.name, *dimension.size);
      }
    }
  }

  // The dimension of `group` with this name and length, made if need be. A variable with
  // its name is its coordinate, or gets another name.
  Scale FindDimension(uint32_t group, std::string_view name, uint64_t length) {
    const auto [known, is_new] =
        groups_[group].dimensions.try_emplace({std::string(name), length}, dimensions_.size());
    const std::string in_file = SoundName(name);
    const auto variable = by_name_.find({group, in_file});
    if (variable != by_name_.end() && arrays_[variable->second].is_scale &&
        arrays_[variable->second].shape[0] == length) {
      if (is_new) groups_[group].dimensions.erase(known);
      return {.array = variable->second};
    }
    if (!is_new) return {.dimension = known->second};
    NameTable& names = groups_[group].names;
    const bool gives_way = variable != by_name_.end() && !arrays_[variable->second].is_scale;
    if (gives_way) {
      FoundArray& array = arrays_[variable->second];
      array.name = names.Take(std::string(kNoCoordinate) + array.name);
      by_name_.erase(variable);
    }
    dimensions_.push_back({group, gives_way ? in_file : names.Take(name), length, false});
    return {.dimension = known->second};
  }

  bool IsAround(uint32_t outer, uint32_t group) const {
    while (group > outer) group = groups_[group].parent;
    return group == outer;
  }

  Scale ScaleOf(size_t i, size_t d) {
    const FoundArray& array = arrays_[i];
    const uint64_t length = array.shape[d];
    if (array.is_scale && d == 0) return {.array = i};
    const bool is_inner = d >= array.rank;
    if (!is_inner && d < array.dimensions.size()) {
      const auto found = by_path_.find(array.dimensions[d].dimcoord);
      if (found != by_path_.end()) {
        const FoundArray& scale = arrays_[found->second];
        if (scale.is_scale && scale.shape[0] == length && IsAround(scale.group, array.group)) {
          return {.array = found->second};
        }
      }
    }
    const std::string_view name = is_inner ? std::string_view() : DimensionName(array, d);
    if (!name.empty()) return FindDimension(ScopeOf(array.group, name, length), name, length);
    const bool is_text = array.type.type.kind() == Datatype::Kind::kString && is_inner &&
                         d + 1 == array.shape.size();
    const std::string own = is_text ? fmt::format("string{}", length)
                                    : fmt::format("{}_dim{}", model::BaseName(array.path), d);
    return FindDimension(array.group, own, length);
  }

  // A dimension is unlimited in netCDF-4 where its scale is.
  void MarkUnlimited(const Scale& scale) {
    if (scale.array) {
      FoundArray& array = arrays_[*scale.array];
      array.is_unlimited = array.type.type.is_fixed_size();
    } else {
      dimensions_[*scale.dimension].is_unlimited = true;
    }
  }

  // Empty where no dimension has a name.
  std::vector<Scale> ScalesOf(size_t i) {
    const size_t rank = arrays_[i].rank;
    if (arrays_[i].is_left_out) return {};
    bool is_named = arrays_[i].is_scale;
    for (size_t d = 0; d < rank; ++d) {
      is_named = is_named || !DimensionName(arrays_[i], d).empty();
    }
    std::vector<Scale> scales;
    for (size_t d = 0; is_named && d < arrays_[i].shape.size(); ++d) {
      scales.push_back(ScaleOf(i, d));
      const auto& dimensions = arrays_[i].dimensions;
      if (d < rank && d < dimensions.size() && !dimensions[d].size) {
        MarkUnlimited(scales.back());
      }
    }
    return scales;
  }

  // The number of the new object.
  uint32_t Add(NewObject object, std::shared_ptr<const ElementSource> elements = nullptr) {
    const auto number = static_cast<uint32_t>(file_->objects.size());
    file_->objects.push_back(std::move(object));
    content_.elements.push_back(std::move(elements));
    return number;
  }

  // The root, datatypes, and then the other groups.
  void AddGroups() {
    for (FoundGroup& group : groups_) {
      NewObject object;
      object.kind = NewObject::Kind::kGroup;
      object.parent = groups_[group.parent].object;
      object.name = group.name;
      object.path = group.path;
      if (group.entity) object.attributes = MakeAttributes(group.entity->attributes);
      const bool is_root = &group == &groups_.front();
      if (is_root) object.parent = 0;
      if (!is_root) AddTrueName(group.name, group.path, object);
      group.object = Add(std::move(object));
      if (is_root) AddTypes();
    }
  }

  void AddTypes() {
    std::vector<Datatype> types;
    for (const FoundArray& array : arrays_) AddCommitted(array.type.type, types);
    for (const Datatype& type : types) {
      NewObject object;
      object.kind = NewObject::Kind::kDatatype;
      object.name = groups_[0].names.Take(NameOfType(type));
      object.type = type;
      Add(std::move(object));
    }
  }

  static void AddTrueName(std::string_view name, std::string_view path, NewObject& object) {
    const std::string_view true_name = model::BaseName(path);
    const bool is_netcdf =
        name.starts_with(kNoCoordinate) && name.substr(kNoCoordinate.size()) == true_name;
    if (name == true_name || is_netcdf) return;
    object.attributes.push_back(MakeTextAttribute(std::string(kTrueName), true_name));
  }

  Result<void> ReadVariableElements() {
    uint64_t left = limits_.variable_bytes;
    for (FoundArray& array : arrays_) {
      if (array.type.type.is_fixed_size()) continue;
      auto read = ReadElements(array, left);
      if (!read && IsTransient(read.error())) {
        return model::Propagate(std::move(read).error(), array.path);
      }
      if (read) continue;
      array.data.reset();
      array.is_left_out = true;
      LeaveOut(array.path, read.error().message());
    }
    return {};
  }

  // Takes what they need from `left`.
  Result<void> ReadElements(FoundArray& array, uint64_t& left) const {
    const auto too_large = [&] {
      return model::Limit("elements of variable size take more than {} bytes in all arrays",
                          limits_.variable_bytes);
    };
    // In memory each has a pointer and a length.
    constexpr uint64_t kElement = 16;
    const auto reader = array.input ? array.input->reader : nullptr;
    if (reader == nullptr) return model::Unsupported("a part of an array");
    const auto table = backends::CheckedProduct(array.shape, kElement);
    if (!table || *table > left) return too_large();
    uint64_t room = left - *table;
    std::vector<std::byte> data;
    bool fits = true;
    NDLFS_RETURN_IF_ERROR(
        reader->Visit(0, reader->element_count(), [&](backends::ConstByteSpan element) {
          fits = element.size() <= room;
          if (!fits) return false;
          room -= element.size();
          data.insert(data.end(), element.begin(), element.end());
          return true;
        }));
    if (!fits) return too_large();
    left = room;
    array.data = std::move(data);
    return {};
  }

  // Coordinates come first: netCDF numbers dimensions in this order.
  void AddScales() {
    for (size_t i = 0; i < arrays_.size(); ++i) {
      if (arrays_[i].is_scale) arrays_[i].object = Add({});
    }
    for (FoundDimension& dimension : dimensions_) {
      NewObject object;
      object.kind = NewObject::Kind::kDimension;
      object.parent = groups_[dimension.group].object;
      object.name = dimension.name;
      object.shape = {dimension.length};
      object.is_unlimited = dimension.is_unlimited;
      dimension.object = Add(std::move(object));
    }
  }

  // One element as a fill value of the dataset; nullopt if the inner dimensions would need
  // different ones.
  static std::optional<std::vector<std::byte>> FillOf(const ArrayInput& input,
                                                      const Datatype& type,
                                                      const ElementConversion& conversion) {
    if (input.reader == nullptr || !type.is_fixed_size()) return std::nullopt;
    std::vector<std::byte> fill = input.reader->spec().fill;
    const size_t size = type.size();
    if (conversion.converter && !fill.empty()) {
      const std::vector<std::byte> stored = fill;
      if (!conversion.converter->Convert(stored, fill)) return std::nullopt;
    }
    if (fill.empty() || size == 0 || fill.size() % size != 0) return std::nullopt;
    for (size_t i = size; i < fill.size(); ++i) {
      if (fill[i] != fill[i - size]) return std::nullopt;
    }
    return std::vector<std::byte>(fill.begin(), fill.begin() + static_cast<ptrdiff_t>(size));
  }

  uint32_t ObjectOf(const Scale& scale) const {
    return scale.array ? arrays_[*scale.array].object : dimensions_[*scale.dimension].object;
  }

  void AddDataset(size_t i) {
    FoundArray& array = arrays_[i];
    NewObject object;
    object.kind = NewObject::Kind::kDataset;
    object.parent = groups_[array.group].object;
    object.name = array.name;
    object.path = array.path;
    object.attributes = std::move(array.attributes);
    AddTrueName(array.name, array.path, object);
    object.type = array.type.type;
    object.shape = array.shape;
    object.is_scale = array.is_scale;
    object.is_unlimited = array.is_scale && array.is_unlimited;
    for (const Scale& scale : scales_[i]) object.scales.push_back(ObjectOf(scale));
    object.fill = std::move(array.fill);
    std::shared_ptr<const ElementSource> elements;
    if (array.data) {
      object.data = std::move(array.data);
    } else {
      elements = std::move(array.elements);
    }
    if (array.object == kNone) array.object = Add({});
    file_->objects[array.object] = std::move(object);
    content_.elements[array.object] = std::move(elements);
  }

  // "/g/x" in the file.
  std::string PathInFile(const FoundArray& array) const {
    std::string path = "/" + array.name;
    for (uint32_t group = array.group; group != 0; group = groups_[group].parent) {
      path = "/" + groups_[group].name + path;
    }
    return path;
  }

  // Whether a group or one around it has all dimensions of an array: netCDF4-python refuses a
  // file with a variable that has others.
  bool HasDimensionsIn(uint32_t group, size_t i) const {
    return std::ranges::all_of(scales_[i], [&](const Scale& scale) {
      return IsAround(
          scale.array ? arrays_[*scale.array].group : dimensions_[*scale.dimension].group,
          group);
    });
  }

  // netCDF-C follows soft links, and refuses a file with one that leads nowhere, or runs
  // in circles over one to a group. A second dimension scale would be a second dimension.
  void AddLinks() {
    for (const FoundLink& link : links_) {
      const auto found = by_path_.find(link.target);
      const bool is_array = found != by_path_.end() && arrays_[found->second].object != kNone &&
                            !arrays_[found->second].is_scale &&
                            HasDimensionsIn(link.group, found->second);
      if (!is_array) {
        LeaveOut(link.path, "a link to " + (link.target.empty() ? "another file"
                                                                : model::OneLine(link.target)));
        continue;
      }
      NewObject object;
      object.kind = NewObject::Kind::kSoftLink;
      object.parent = groups_[link.group].object;
      object.name = groups_[link.group].names.Take(link.name);
      object.target = PathInFile(arrays_[found->second]);
      Add(std::move(object));
    }
  }

  const GroupInput& root_;
  const Limits limits_;
  model::MemoryBudget::Held held_;
  OuterArrays outer_;
  std::shared_ptr<NewFile> file_;
  Content content_;
  std::string left_out_;
  uint64_t objects_ = 0;
  std::vector<FoundGroup> groups_;  // outer ones first
  std::vector<FoundArray> arrays_;
  std::vector<FoundLink> links_;
  std::vector<FoundDimension> dimensions_;
  std::vector<std::vector<Scale>> scales_;  // of each array
  std::map<std::string, size_t> by_path_;   // arrays by their NDL path names
  std::map<std::pair<uint32_t, std::string>, size_t> by_name_;  // by group and name in the file
};

}  // namespace

std::shared_ptr<const ElementSource> ElementsInFile(const ArrayInput& input) {
  const Datatype& type = input.dtype;
  if (!input.elements) return nullptr;
  if (ElementConversion times = ToCfTimes(type); times.converter) {
    return ConvertElements(input.elements, std::move(times));
  }
  auto conversion = ToUtf8(type);
  if (!conversion) return nullptr;
  if (!conversion->converter) return input.elements;
  constexpr size_t kMaxElement = size_t{16} << 20;
  if (type.size() > kMaxElement) return nullptr;
  return ConvertElements(input.elements, *std::move(conversion));
}

Result<Content> MakeContent(const GroupInput& group, const Limits& limits) {
  return Builder(group, limits).Build();
}

}  // namespace ndlfs::fs::hdf5
