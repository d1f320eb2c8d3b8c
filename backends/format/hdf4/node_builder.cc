// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/node_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/computed_source.h"
#include "backends/format/hdf4/calibration.h"
#include "backends/format/hdf4/eos_grid.h"
#include "backends/format/hdf4/number_type.h"
#include "backends/store/cancellation.h"
#include "model/attributes.h"
#include "model/path_name.h"
#include "model/utf8.h"

namespace ndlfs::backends::hdf4 {
namespace {

using model::Result;

constexpr size_t kMostDepth = 32;
constexpr std::string_view kX = "XDim", kY = "YDim";

Result<model::Attribute> MakeAttribute(const AttributeInfo& info) {
  if (IsText(info.number_type)) {
    // Many are written with the NUL that ends a C string.
    const std::string_view text = info.values;
    return model::MakeTextAttribute(info.name, text.substr(0, text.find_last_not_of('\0') + 1));
  }
  const auto stored = TypeOf(info.number_type);
  if (!stored) return model::Unsupported("numbers of type {}", info.number_type);
  const auto type = stored->WithOrder(model::ByteOrder::kLittle);
  if (info.count > info.values.size() || info.count * type.size() != info.values.size()) {
    return model::Corrupt("{} values in {} bytes", info.count, info.values.size());
  }
  model::Attribute made;
  made.name = info.name;
  made.type = type;
  model::Value::List values;
  for (uint64_t i = 0; i < info.count; ++i) {
    const auto bytes = AsBytes(info.values).subspan(i * type.size(), type.size());
    NDLFS_TRY(auto value, model::DecodeElement(type, bytes));
    values.push_back(std::move(value));
  }
  if (values.size() == 1) {
    made.value = std::move(values.front());
  } else {
    made.shape = {info.count};
    made.value = std::move(values);
  }
  return made;
}

// Attributes that cannot be shown are left out; `error` says why.
std::vector<model::Attribute> MakeAttributes(const std::vector<AttributeInfo>& infos,
                                             std::optional<model::Error>& error) {
  std::vector<model::Attribute> made;
  std::set<std::string_view> names;
  model::AttributeRoom room;
  for (const AttributeInfo& info : infos) {
    const bool is_text = IsText(info.number_type);
    if (auto fits =
            room.Take(info.name, is_text ? 1 : info.count, is_text ? info.values.size() : 0);
        !fits) {
      error = std::move(fits).error();
      continue;
    }
    if (!names.insert(info.name).second) continue;
    auto attribute = MakeAttribute(info);
    if (attribute) {
      made.push_back(*std::move(attribute));
    } else {
      error = std::move(attribute).error().In(model::Quote(info.name));
    }
  }
  return made;
}

// Names that programs give to dimensions without one.
bool IsInvented(std::string_view name) {
  constexpr std::string_view kBegin = "fakeDim";
  return name.starts_with(kBegin) &&
         name.find_first_not_of("0123456789", kBegin.size()) == name.npos;
}

// A name as a part of a path.
std::string PartOf(std::string_view name, std::string_view otherwise) {
  std::string part = model::IsUtf8(name) ? std::string(name) : model::Latin1ToUtf8(name);
  std::ranges::replace(part, '/', '_');
  return part.empty() ? std::string(otherwise) : part;
}

// The texts StructMetadata.0, .1 ... one after the other: each has 32,000 bytes at most.
std::string StructMetadataOf(const std::vector<AttributeInfo>& attributes) {
  std::map<std::string_view, std::string_view> parts;
  for (const AttributeInfo& attribute : attributes) {
    const std::string_view values = attribute.values;
    parts.emplace(attribute.name, values.substr(0, values.find('\0')));
  }
  std::string text;
  for (size_t i = 0;; ++i) {
    const auto found = parts.find(fmt::format("StructMetadata.{}", i));
    if (found == parts.end()) return text;
    text += found->second;
  }
}

class Builder {
 public:
  Builder(const OpenedFile& file, FileInfo info, const OpenOptions& options)
      : file_(file), info_(std::move(info)), options_(options) {}

  Result<Objects> Build() && {
    for (EosGrid& grid : ReadGrids(StructMetadataOf(info_.attributes))) {
      std::string name = grid.name;
      grids_.emplace(std::move(name), std::move(grid));
    }
    AddRoot();
    for (const ArrayInfo& array : info_.arrays) shapes_.push_back(array.shape);
    holds_.resize(info_.groups.size());
    for (size_t i = 0; i < info_.groups.size(); ++i) FindWhetherHolds(i, 0);
    std::vector<bool> is_child(info_.groups.size());
    for (size_t i = 0; i < info_.groups.size(); ++i) {
      for (const uint64_t child : info_.groups[i].groups) {
        if (child < is_child.size() && child != i) is_child[child] = true;
      }
    }
    is_placed_.resize(info_.groups.size());
    for (size_t i = 0; i < info_.groups.size(); ++i) {
      if (!is_child[i]) NDLFS_RETURN_IF_ERROR(AddGroup(i, "/", nullptr, 0));
    }
    // Groups in a ring.
    for (size_t i = 0; i < info_.groups.size(); ++i) {
      NDLFS_RETURN_IF_ERROR(AddGroup(i, "/", nullptr, 0));
    }
    for (size_t i = 0; i < info_.arrays.size(); ++i) {
      NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
      if (!paths_.contains(i)) AddArray(i, "/", nullptr);
    }
    return Finish();
  }

 private:
  using MutableNode = std::shared_ptr<Node>;

  void Put(const std::string& path, MutableNode node) {
    node->mtime_ns = file_.info.modified_ns;
    made_.emplace(path, std::move(node));
  }

  void AddRoot() {
    auto node = std::make_shared<Node>();
    model::Group root;
    root.attributes = MakeAttributes(info_.attributes, node->error);
    keeps_to_cf_ = KeepsToCf(root.attributes);
    if (!info_.tables.empty()) node->notes.push_back(NoteOnTables());
    node->entity = std::move(root);
    Put("/", std::move(node));
  }

  std::string NoteOnTables() const {
    constexpr size_t kNamed = 5;
    std::string names;
    for (size_t i = 0; i < std::min(info_.tables.size(), kNamed); ++i) {
      names += (i == 0 ? "" : ", ") + model::Quote(info_.tables[i]);
    }
    const bool is_all = info_.tables.size() <= kNamed;
    return fmt::format("tables (Vdata) are not shown: {}{}", names,
                       is_all ? "" : fmt::format(" and {} more", info_.tables.size() - kNamed));
  }

  // A name that nothing else has in the group.
  std::string FreePath(const std::string& group, const std::string& name) {
    const std::string first = model::JoinPath(group, name);
    if (!IsTaken(first)) return first;
    // There may be thousands of one name: each goes on where the last one has ended.
    for (size_t& i = suffixes_.try_emplace(first, 2).first->second;;) {
      std::string path = model::JoinPath(group, fmt::format("{}_{}", name, i++));
      if (!IsTaken(path)) return path;
    }
  }
  bool IsTaken(const std::string& path) const {
    return made_.contains(path) || links_.contains(path);
  }

  // Whether there is an array in the group, at any depth.
  bool FindWhetherHolds(size_t index, size_t depth) {
    if (holds_[index]) return *holds_[index];
    if (depth > kMostDepth) return false;
    const GroupInfo& group = info_.groups[index];
    holds_[index] = !group.arrays.empty();
    bool holds = *holds_[index];
    for (const uint64_t child : group.groups) {
      if (child < holds_.size() && FindWhetherHolds(child, depth + 1)) holds = true;
    }
    holds_[index] = holds;
    return holds;
  }

  // `grid`: the grid that the group is in, if any.
  Result<void> AddGroup(size_t index, const std::string& parent, const EosGrid* grid,
                        size_t depth) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    if (is_placed_[index] || !holds_[index].value_or(false) || depth > kMostDepth) return {};
    is_placed_[index] = true;
    const GroupInfo& info = info_.groups[index];
    const std::string path = FreePath(parent, PartOf(info.name, "group"));
    auto node = std::make_shared<Node>();
    model::Group group;
    group.name = model::BaseName(path);
    group.attributes = MakeAttributes(info.attributes, node->error);
    node->entity = std::move(group);
    const auto found = grids_.find(info.name);
    if (found != grids_.end()) {
      grid = &found->second;
      AddPlace(path, index, *grid, *node);
    }
    Put(path, std::move(node));
    for (const uint64_t array : info.arrays) {
      NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
      if (array < info_.arrays.size()) AddMember(array, path, grid);
    }
    for (const uint64_t child : info.groups) {
      if (child >= info_.groups.size()) continue;
      NDLFS_RETURN_IF_ERROR(AddGroup(child, path, grid, depth + 1));
    }
    return {};
  }

  // The first group that has an array has it; in others it is a second name.
  void AddMember(size_t index, const std::string& group, const EosGrid* grid) {
    const auto known = paths_.find(index);
    if (known == paths_.end()) return AddArray(index, group, grid);
    if (model::ParentPath(known->second) == group) return;
    links_.emplace(FreePath(group, std::string(model::BaseName(known->second))), known->second);
  }

  void AddArray(size_t index, const std::string& group, const EosGrid* grid) {
    ArrayInfo& info = info_.arrays[index];
    // A name with a unit or so, but without numbers.
    if (info.is_coordinate && info.pieces.empty() && info.chunks.empty()) return;
    const std::string path = FreePath(group, PartOf(info.name, "array"));
    paths_.emplace(index, path);
    auto node = std::make_shared<Node>();
    model::Ndarray array;
    array.name = model::BaseName(path);
    array.attributes = MakeAttributes(info.attributes, node->error);
    if (std::string note = SayCalibrationInCf(keeps_to_cf_, array.attributes); !note.empty()) {
      node->notes.push_back(std::move(note));
    }
    const auto stored = TypeOf(info.number_type);
    if (stored) DescribeElements(info, *stored, array);
    NameDimensions(info, grid, array);
    if (grid != nullptr) NamePlace(path, array);
    const bool is_coordinate = info.is_coordinate && array.shape.size() == 1 &&
                               array.dimension_names.size() == 1 &&
                               array.dimension_names[0] == array.name;
    auto source = MakeArraySource(file_, std::move(info), options_.max_chunk_size);
    if (source) {
      node->source = *std::move(source);
    } else {
      node->error = std::move(source).error();
    }
    if (is_coordinate) {
      model::DimCoord coordinate{std::move(array)};
      if (coordinate.storage.shape) coordinate.storage.size = coordinate.storage.shape->front();
      coordinate.storage.shape.reset();
      node->entity = std::move(coordinate);
    } else {
      node->entity = std::move(array);
    }
    Put(path, std::move(node));
  }

  static void DescribeElements(const ArrayInfo& info, const model::Datatype& stored,
                               model::Ndarray& array) {
    array.type = stored.WithOrder(model::ByteOrder::kLittle);
    for (const uint64_t extent : info.shape) array.shape.push_back({extent, {}});
    if (info.is_unlimited && !array.shape.empty()) {
      array.shape[0].size.reset();
      array.storage.shape = info.shape;
    }
    if (!info.chunk.empty()) array.storage.chunk = info.chunk;
    if (info.coding.kind != Coding::kNone) {
      array.storage.filter = {model::Filter{std::string(NameOf(info.coding)), {}}};
    }
    if (IsText(info.number_type)) {
      array.storage.charset = "iso-8859-1";
    } else if (stored.size() > 1) {
      array.storage.endian = stored.order();
    }
    const auto* fill = model::FindAttribute(array.attributes, "_FillValue");
    if (fill != nullptr && fill->shape.empty() && fill->type == array.type) {
      array.storage.fillvalue = fill->value;
    }
  }

  // HDF-EOS2 names a dimension "YDim:MOD_Grid_500m": its group says the rest.
  static void NameDimensions(const ArrayInfo& info, const EosGrid* grid,
                             model::Ndarray& array) {
    std::vector<std::string> names;
    for (const std::string& dimension : info.dimensions) {
      std::string name =
          IsInvented(dimension) && !info.is_coordinate ? std::string() : PartOf(dimension, "");
      const size_t colon = name.rfind(':');
      if (colon != name.npos && colon > 0) name.resize(colon);
      names.push_back(std::move(name));
    }
    if (grid != nullptr) NameRowsAndColumns(info, *grid, names);
    const bool has_any =
        std::ranges::any_of(names, [](const std::string& name) { return !name.empty(); });
    if (has_any && names.size() == info.shape.size()) array.dimension_names = std::move(names);
  }

  // Dimensions without names that are as long as those of the grid, one after the other.
  static void NameRowsAndColumns(const ArrayInfo& info, const EosGrid& grid,
                                 std::vector<std::string>& names) {
    for (size_t d = 0; d + 1 < names.size() && d + 1 < info.shape.size(); ++d) {
      const bool fits = info.shape[d] == grid.rows && info.shape[d + 1] == grid.columns;
      if (!fits || !names[d].empty() || !names[d + 1].empty()) continue;
      names[d] = kY;
      names[d + 1] = kX;
      return;
    }
  }

  // The coordinates of the grid in a group, and where it lies. The text may say any extents:
  // those are believed that an array of the grid has.
  void AddPlace(const std::string& group, size_t index, const EosGrid& grid,
                Node& node_of_group) {
    auto place = PlaceOf(grid);
    if (!place) return;
    const auto add = [&](std::string_view name, uint64_t count, const Line& line,
                         std::vector<model::Attribute>& attributes) {
      std::set<size_t> seen;
      if (HasExtent(index, count, 0, seen)) {
        AddCoordinate(group, std::string(name), count, line, std::move(attributes));
      } else {
        node_of_group.notes.push_back(fmt::format(
            "no coordinates {}: StructMetadata has {} of them, and no array of the grid is as "
            "long",
            name, count));
      }
    };
    add(kX, grid.columns, place->x, place->x_attributes);
    add(kY, grid.rows, place->y, place->y_attributes);
    auto node = std::make_shared<Node>();
    model::Ndarray variable;
    const std::string path = FreePath(group, "spatial_ref");
    variable.name = model::BaseName(path);
    variable.type = model::Datatype::Float64();
    variable.attributes = std::move(place->mapping);
    node->entity = std::move(variable);
    auto source = MakeComputedSource({}, [](uint64_t) { return 0.0; });
    if (source) node->source = *std::move(source);
    Put(path, std::move(node));
    mappings_[group] = path;
  }

  // Whether an array in the group, at any depth, has a dimension with this extent. Groups that
  // share thousands of others are not looked through again and again.
  bool HasExtent(size_t index, uint64_t extent, size_t depth, std::set<size_t>& seen) {
    if (depth > kMostDepth || !seen.insert(index).second) return false;
    const GroupInfo& group = info_.groups[index];
    for (const uint64_t array : group.arrays) {
      if (looks_left_ == 0) return false;
      --looks_left_;
      if (array >= shapes_.size()) continue;
      const auto& shape = shapes_[array];
      if (std::ranges::find(shape, extent) != shape.end()) return true;
    }
    for (const uint64_t child : group.groups) {
      if (looks_left_ == 0) return false;
      --looks_left_;
      if (child < info_.groups.size() && HasExtent(child, extent, depth + 1, seen)) return true;
    }
    return false;
  }

  void AddCoordinate(const std::string& group, const std::string& name, uint64_t count,
                     const Line& line, std::vector<model::Attribute> attributes) {
    const std::string path = model::JoinPath(group, name);
    if (made_.contains(path)) return;
    auto node = std::make_shared<Node>();
    model::DimCoord coordinate;
    coordinate.name = name;
    coordinate.type = model::Datatype::Float64();
    coordinate.shape = {{count, {}}};
    coordinate.dimension_names = {name};
    coordinate.attributes = std::move(attributes);
    node->entity = std::move(coordinate);
    auto source = MakeComputedSource({count}, [line](uint64_t i) {
      return line.first + static_cast<double>(i) * line.step;
    });
    if (source) {
      node->source = *std::move(source);
    } else {
      node->error = std::move(source).error();
    }
    Put(path, std::move(node));
  }

  // An array of a grid, with its rows and columns: where they lie.
  void NamePlace(std::string_view path, model::Ndarray& array) const {
    const auto& names = array.dimension_names;
    const bool has_both = std::ranges::find(names, kX) != names.end() &&
                          std::ranges::find(names, kY) != names.end();
    if (!has_both || model::FindAttribute(array.attributes, "grid_mapping") != nullptr) return;
    while (path != "/") {
      path = model::ParentPath(path);
      const auto found = mappings_.find(path);
      if (found == mappings_.end()) continue;
      array.attributes.push_back(
          model::MakeTextAttribute("grid_mapping", model::BaseName(found->second)));
      return;
    }
  }

  Result<Objects> Finish() {
    Objects objects;
    for (auto& [path, node] : made_) {
      NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
      auto* array = std::get_if<model::Ndarray>(&node->entity);
      if (array == nullptr) continue;
      LinkDimensions(model::ParentPath(path), *array,
                     [&](std::string_view other) -> std::shared_ptr<const Node> {
                       const auto found = made_.find(other);
                       return found == made_.end() ? nullptr : found->second;
                     });
    }
    for (auto& [path, node] : made_) objects.nodes.emplace(path, std::move(node));
    objects.links = std::move(links_);
    return objects;
  }

  const OpenedFile& file_;
  FileInfo info_;
  const OpenOptions& options_;
  bool keeps_to_cf_ = false;
  std::map<std::string, EosGrid> grids_;
  std::vector<std::vector<uint64_t>> shapes_;  // of arrays, which may be made already
  size_t looks_left_ = 10'000'000;             // of HasExtent(); far more than a file needs
  std::vector<std::optional<bool>> holds_;
  std::vector<bool> is_placed_;
  std::map<size_t, std::string> paths_;     // of arrays
  std::map<std::string, size_t> suffixes_;  // the next one of a path that is taken
  std::map<std::string, MutableNode, std::less<>> made_;
  std::map<std::string, std::string, std::less<>> links_;
  std::map<std::string, std::string, std::less<>> mappings_;  // by the group of the grid
};

}  // namespace

Result<Objects> MakeObjects(const OpenedFile& file, FileInfo info, const OpenOptions& options) {
  return Builder(file, std::move(info), options).Build();
}

}  // namespace ndlfs::backends::hdf4
