// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace ndlfs::fs {
namespace {

using Kind = DapDeclaration::Kind;
using model::NotFound;
using model::Result;

std::vector<uint64_t> ExtentsOf(const DapVariable& variable) {
  std::vector<uint64_t> out;
  for (const DapDimension& dimension : variable.dimensions) out.push_back(dimension.size);
  return out;
}

Result<Selection> SelectionOf(const DapVariable& variable,
                              const std::vector<DapRange>& ranges) {
  return SelectElements(variable.name, ExtentsOf(variable), ranges);
}

// The variable that a path names, and the member of its Grid.
struct Named {
  size_t variable = 0;
  std::optional<size_t> member = {};
};

class NameFinder {
 public:
  explicit NameFinder(const DapDataset& dataset) : dataset_(dataset) {}

  // Clients write names as the DDS does, or decoded.
  std::optional<Named> Find(const std::string& path) const {
    for (const std::string& name : {path, DapName(path)}) {
      for (size_t i = 0; i < dataset_.variables.size(); ++i) {
        const DapVariable& variable = dataset_.variables[i];
        if (variable.name == name) return Named{i};
      }
    }
    for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
      const auto outer = Find(path.substr(0, dot));
      if (!outer || outer->member) continue;
      const std::string inner = path.substr(dot + 1);
      const DapVariable& grid = dataset_.variables[outer->variable];
      if (!grid.is_grid()) continue;
      std::vector<size_t> members = grid.maps;
      members.push_back(outer->variable);
      for (const size_t member : members) {
        const std::string& name = dataset_.variables[member].name;
        if (name == inner || name == DapName(inner)) return Named{outer->variable, member};
      }
    }
    return std::nullopt;
  }

 private:
  const DapDataset& dataset_;
};

// A whole variable: an array, or a Grid with its maps cut as the array is.
DapDeclaration Declare(const DapDataset& dataset, size_t index, const Selection& selection) {
  const DapVariable& variable = dataset.variables[index];
  DapDeclaration out{.kind = variable.is_grid() ? Kind::kGrid : Kind::kArray,
                     .variable = index,
                     .members = {{index, selection}}};
  for (size_t d = 0; d < variable.maps.size(); ++d) {
    out.members.push_back({variable.maps[d], {selection[d]}});
  }
  return out;
}

// Declarations in the order of the dataset, as clients expect them, whatever the order of the
// projections is. If several projections have the same elements, the last one counts.
class Declarations {
 public:
  explicit Declarations(const DapDataset& dataset) : dataset_(dataset) {}

  void Add(size_t index, const Selection& selection) {
    list_[index] = Declare(dataset_, index, selection);
  }
  // Members of one Grid that are asked for one by one are one structure.
  void AddMember(size_t grid, DapMember member) {
    const auto [known, is_new] =
        list_.try_emplace(grid, DapDeclaration{Kind::kStructure, grid, {}});
    DapDeclaration& declaration = known->second;
    if (declaration.kind != Kind::kStructure) return;  // all of it is sent already
    std::erase_if(declaration.members,
                  [&](const DapMember& other) { return other.variable == member.variable; });
    const auto place = [&](const DapMember& one) {
      const std::vector<size_t>& maps = dataset_.variables[grid].maps;
      return one.variable == grid ? -1 : std::ranges::find(maps, one.variable) - maps.begin();
    };
    declaration.members.push_back(std::move(member));
    std::ranges::sort(declaration.members, {}, place);
  }
  std::vector<DapDeclaration> Take() {
    std::vector<DapDeclaration> out;
    for (auto& [index, declaration] : list_) out.push_back(std::move(declaration));
    return out;
  }

 private:
  const DapDataset& dataset_;
  std::map<size_t, DapDeclaration> list_;
};

std::vector<std::string> NamesOf(const DapDataset& dataset) {
  std::vector<std::string> out;
  for (const DapVariable& variable : dataset.variables) out.push_back(variable.name);
  return out;
}

}  // namespace

std::string OfferNames(const std::vector<std::string>& names) {
  constexpr size_t kMostNames = 20;
  if (names.empty()) return "; there are none";
  std::string out = "; there are ";
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    out += (i == 0 ? "" : ", ") + model::OneLine(names[i]);
  }
  if (names.size() > kMostNames) {
    out += fmt::format(" and {} more", names.size() - kMostNames);
  }
  return out;
}

Result<Selection> SelectElements(std::string_view name, std::span<const uint64_t> extents,
                                 const std::vector<DapRange>& ranges) {
  Selection out;
  if (ranges.empty()) {
    for (const uint64_t extent : extents) out.push_back(WholeRange(extent));
    return out;
  }
  if (ranges.size() != extents.size()) {
    return NotFound("{} has {} dimensions, not {}", name, extents.size(), ranges.size());
  }
  for (size_t d = 0; d < ranges.size(); ++d) {
    const DapRange& range = ranges[d];
    if (range.last == kDapEnd && range.first == 0 && range.stride == 1) {
      out.push_back(WholeRange(extents[d]));
      continue;
    }
    const uint64_t last =
        range.last == kDapEnd && extents[d] != 0 ? extents[d] - 1 : range.last;
    if (last >= extents[d] || range.first > last) {
      return NotFound("{}: index {} of dimension {}, which has the size {}", name,
                      std::max(range.first, last), d, extents[d]);
    }
    // A stride beyond the end is any stride.
    out.push_back(InclusiveRange(range.first, last, std::min(range.stride, extents[d])));
  }
  return out;
}

Result<std::vector<DapDeclaration>> ResolveConstraint(
    const DapDataset& dataset, const std::vector<DapProjection>& projections) {
  Declarations out(dataset);
  for (size_t i = 0; projections.empty() && i < dataset.variables.size(); ++i) {
    NDLFS_TRY(const Selection all, SelectionOf(dataset.variables[i], {}));
    out.Add(i, all);
  }
  const NameFinder names(dataset);
  for (const DapProjection& projection : projections) {
    const auto named = names.Find(projection.path);
    if (!named) {
      return NotFound("no variable {}{}", model::Quote(projection.path),
                      OfferNames(NamesOf(dataset)));
    }
    const size_t index = named->member.value_or(named->variable);
    NDLFS_TRY(Selection selection, SelectionOf(dataset.variables[index], projection.ranges));
    if (named->member) {
      out.AddMember(named->variable, {index, std::move(selection)});
    } else {
      out.Add(index, selection);
    }
  }
  return out.Take();
}

}  // namespace ndlfs::fs
