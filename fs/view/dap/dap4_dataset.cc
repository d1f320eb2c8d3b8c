// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap4_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "backends/format/netcdf3/layout.h"
#include "fs/view/dap/dap_request.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::hdf5::NewObject;
using model::Datatype;
using model::NotFound;
using model::Result;
using TypeKind = Datatype::Kind;

// The alignment of `type` in C, if it has no gaps; nullopt if it has some, or if DAP 4 has no
// such type in a Structure.
std::optional<size_t> AlignmentOf(const Datatype& type) {
  if (type.kind() != TypeKind::kCompound) {
    const bool is_number = type.kind() == TypeKind::kInteger || type.kind() == TypeKind::kFloat;
    if (!is_number || Dap4TypeName(type).empty()) return std::nullopt;
    return type.size();
  }
  if (!type.is_fixed_size() || type.members().empty()) return std::nullopt;
  size_t end = 0;
  size_t alignment = 1;
  for (const Datatype::Member& member : type.members()) {
    const auto own = AlignmentOf(member.type);
    if (!own || member.offset != end || end % *own != 0) return std::nullopt;
    // float16 is sent as another number.
    if (member.type.kind() == TypeKind::kFloat && member.type.size() < 4) return std::nullopt;
    end += member.type.size();
    alignment = std::max(alignment, *own);
  }
  if (end != type.size() || end % alignment != 0) return std::nullopt;
  return alignment;
}

// Why there is no such variable; empty if there is.
std::string_view ProblemOf(const Datatype& type) {
  switch (type.kind()) {
    case TypeKind::kCompound:
      return AlignmentOf(type) ? "" : "DAP 4 shows compounds of numbers without gaps only";
    case TypeKind::kEnum:
      return Dap4TypeName(type.base()).empty() ? "no such type in DAP 4" : "";
    case TypeKind::kOpaque:
      return type.size() == 0 ? "elements of 0 bytes" : "";
    default:
      return Dap4TypeName(type).empty() ? "no such type in DAP 4" : "";
  }
}

// The variables of a dataset in the order of a reply: those of a group come before those of the
// groups in it.
class Order {
 public:
  explicit Order(Dap4Dataset& dataset) : dataset_(dataset) {
    const auto& objects = dataset.objects();
    for (uint32_t i = 1; i < objects.size(); ++i) children_[objects[i].parent].push_back(i);
  }
  void Find() { FindIn(0); }

 private:
  void FindIn(uint32_t group) {
    const auto found = children_.find(group);
    if (found == children_.end()) return;
    for (const uint32_t child : found->second) AddVariable(child);
    for (const uint32_t child : found->second) {
      if (dataset_.objects()[child].kind == NewObject::Kind::kGroup) FindIn(child);
    }
  }
  void AddVariable(uint32_t number) {
    const NewObject& object = dataset_.objects()[number];
    if (object.kind != NewObject::Kind::kDataset) return;
    const std::string_view problem = ProblemOf(object.type);
    if (problem.empty()) {
      dataset_.variables.push_back({.object = number, .shape = object.shape});
      return;
    }
    if (!dataset_.left_out.empty()) dataset_.left_out += '\n';
    dataset_.left_out += fmt::format("{}: {}", model::OneLine(object.path), problem);
  }

  Dap4Dataset& dataset_;
  std::map<uint32_t, std::vector<uint32_t>> children_;
};

// The name in DAP 4 that an object would have, if no other had it.
std::string WantedName(const NewObject& object) {
  std::string_view name = object.name;
  const bool is_called_as_a_dimension =
      object.kind == NewObject::Kind::kDataset && name.starts_with(hdf5::kNoCoordinate);
  if (is_called_as_a_dimension) name.remove_prefix(hdf5::kNoCoordinate.size());
  return backends::netcdf3::ValidName(name);
}

// Gives objects the names that Dap4Dataset has. Objects whose names need no change keep them.
class Namer {
 public:
  explicit Namer(const std::vector<NewObject>& objects) : objects_(objects) {}

  std::vector<std::string> Run() {
    std::vector<std::string> names(objects_.size());
    std::vector<uint32_t> others;
    for (uint32_t i = 1; i < objects_.size(); ++i) {
      names[i] = WantedName(objects_[i]);
      if (names[i] != objects_[i].name || !Take(i, names[i])) others.push_back(i);
    }
    for (const uint32_t i : others) {
      const std::string wanted = names[i];
      int& next = next_.try_emplace({objects_[i].parent, wanted}, 2).first->second;
      while (!Take(i, names[i])) {
        const std::string suffix = fmt::format("_{}", next++);
        size_t end = std::min(wanted.size(), kLongest - suffix.size());
        while (end < wanted.size() && (wanted[end] & 0xC0) == 0x80) --end;
        names[i] = wanted.substr(0, end) + suffix;
      }
    }
    return names;
  }

 private:
  static constexpr size_t kLongest = 255;
  using Key = std::tuple<uint32_t, bool, std::string>;  // group, whether it is a dimension

  // A variable that is a dimension scale takes the name for both.
  bool Take(uint32_t number, const std::string& name) {
    const NewObject& object = objects_[number];
    const bool is_dimension = object.kind == NewObject::Kind::kDimension || object.is_scale;
    const bool is_other = object.kind != NewObject::Kind::kDimension;
    const Key of_dimension = {object.parent, true, name};
    const Key of_other = {object.parent, false, name};
    if (is_dimension && taken_.contains(of_dimension)) return false;
    if (is_other && taken_.contains(of_other)) return false;
    if (is_dimension) taken_.insert(of_dimension);
    if (is_other) taken_.insert(of_other);
    return true;
  }

  const std::vector<NewObject>& objects_;
  std::set<Key> taken_;
  // The numbers below this are taken for a name in a group: thousands may want the same one.
  std::map<std::pair<uint32_t, std::string>, int> next_;
};

// Finds variables by their names.
class Finder {
 public:
  explicit Finder(const Dap4Dataset& dataset) : dataset_(dataset) {
    const auto& objects = dataset.objects();
    for (uint32_t i = 1; i < objects.size(); ++i) {
      if (objects[i].kind == NewObject::Kind::kGroup) Add(i);
    }
    for (size_t i = 0; i < dataset.variables.size(); ++i) {
      variables_.emplace(KeyOf(dataset.variables[i].object), i);
    }
  }

  // The position in Dap4Dataset::variables.
  std::optional<size_t> Find(const std::vector<std::string>& path) const {
    uint32_t group = 0;
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      const auto found = groups_.find({group, path[i]});
      if (found == groups_.end()) return std::nullopt;
      group = found->second;
    }
    const auto found = variables_.find({group, path.back()});
    if (found == variables_.end()) return std::nullopt;
    return found->second;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> out;
    for (const Dap4Variable& variable : dataset_.variables) {
      out.push_back(Dap4PathOf(dataset_, variable.object));
    }
    return out;
  }

 private:
  using Key = std::pair<uint32_t, std::string>;
  Key KeyOf(uint32_t number) const {
    const NewObject& object = dataset_.objects()[number];
    return {object.parent, dataset_.names[number]};
  }
  void Add(uint32_t group) { groups_.emplace(KeyOf(group), group); }

  const Dap4Dataset& dataset_;
  std::map<Key, uint32_t> groups_;
  std::map<Key, size_t> variables_;
};

// Keeps only the variables that `projections` name. If several name the same variable, the last
// one counts.
Result<void> Project(Dap4Dataset& dataset, const std::vector<Dap4Projection>& projections) {
  const Finder finder(dataset);
  std::map<size_t, Dap4Variable> chosen;
  for (const Dap4Projection& projection : projections) {
    const auto position = finder.Find(projection.path);
    if (!position) {
      return NotFound("no variable {}{}",
                      model::Quote(fmt::format("/{}", fmt::join(projection.path, "/"))),
                      OfferNames(finder.Names()));
    }
    Dap4Variable variable = dataset.variables[*position];
    NDLFS_TRY(Selection selection,
              SelectElements(projection.path.back(), variable.shape, projection.ranges));
    variable.shape = ShapeOf(selection);
    variable.selection = std::move(selection);
    chosen.insert_or_assign(*position, std::move(variable));
  }
  dataset.variables.clear();
  for (auto& [position, variable] : chosen) dataset.variables.push_back(std::move(variable));
  return {};
}

}  // namespace

std::string Dap4PathOf(const Dap4Dataset& dataset, uint32_t object) {
  std::string path;
  for (uint32_t i = object; i != 0; i = dataset.objects()[i].parent) {
    std::string part = "/";
    for (const char c : dataset.names[i]) {
      if (c == '\\') part += c;
      part += c;
    }
    path.insert(0, part);
  }
  return path;
}

std::string_view Dap4TypeName(const Datatype& type) {
  const bool is_signed = type.is_signed();
  switch (type.kind()) {
    case TypeKind::kInteger:
      switch (type.size()) {
        case 1:
          return is_signed ? "Int8" : "UInt8";
        case 2:
          return is_signed ? "Int16" : "UInt16";
        case 4:
          return is_signed ? "Int32" : "UInt32";
        case 8:
          return is_signed ? "Int64" : "UInt64";
        default:
          return {};
      }
    case TypeKind::kFloat:
      if (type.size() > sizeof(double)) return {};
      return type.size() == sizeof(double) ? "Float64" : "Float32";
    case TypeKind::kString:
      return type.is_fixed_size() ? "Char" : "String";
    default:
      return {};
  }
}

Result<Dap4Dataset> DescribeDap4(const GroupInput& group,
                                 const std::vector<Dap4Projection>& projections) {
  Dap4Dataset out;
  NDLFS_TRY(out.content, hdf5::MakeContent(group));
  out.left_out = out.content.file->left_out;
  out.names = Namer(out.objects()).Run();
  Order(out).Find();
  out.is_whole = projections.empty();
  if (!out.is_whole) NDLFS_RETURN_IF_ERROR(Project(out, projections));
  return out;
}

}  // namespace ndlfs::fs
