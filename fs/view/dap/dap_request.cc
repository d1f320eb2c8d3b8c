// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap_request.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ndlfs::fs {
namespace {

using Kind = DapDeclaration::Kind;
using model::NotFound;
using model::Result;

Selection WholeOf(const DapVariable& variable) {
  Selection out;
  for (const DapDimension& dimension : variable.dimensions) {
    out.push_back(WholeRange(dimension.size));
  }
  return out;
}

Result<Selection> SelectionOf(const DapVariable& variable,
                              const std::vector<DapRange>& ranges) {
  if (ranges.empty()) return WholeOf(variable);
  if (ranges.size() != variable.dimensions.size()) {
    return NotFound("{} has {} dimensions, not {}", variable.name, variable.dimensions.size(),
                    ranges.size());
  }
  Selection out;
  for (size_t d = 0; d < ranges.size(); ++d) {
    const DapRange& range = ranges[d];
    const DapDimension& dimension = variable.dimensions[d];
    if (range.last >= dimension.size) {
      return NotFound("{}: index {} of {}, which has {}", variable.name, range.last,
                      dimension.name, dimension.size);
    }
    // A stride beyond the end is any stride.
    const uint64_t stride = std::min(range.stride, dimension.size);
    out.push_back(InclusiveRange(range.first, range.last, stride));
  }
  return out;
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

// Members of one Grid that are asked for one by one are one structure.
void AddMember(std::vector<DapDeclaration>& out, size_t grid, DapMember member) {
  const auto known = std::ranges::find_if(out, [&](const DapDeclaration& declaration) {
    return declaration.kind == Kind::kStructure && declaration.variable == grid;
  });
  if (known == out.end()) {
    out.push_back({Kind::kStructure, grid, {std::move(member)}});
  } else {
    known->members.push_back(std::move(member));
  }
}

}  // namespace

Result<std::vector<DapDeclaration>> ResolveConstraint(
    const DapDataset& dataset, const std::vector<DapProjection>& projections) {
  std::vector<DapDeclaration> out;
  if (projections.empty()) {
    for (size_t i = 0; i < dataset.variables.size(); ++i) {
      out.push_back(Declare(dataset, i, WholeOf(dataset.variables[i])));
    }
    return out;
  }
  const NameFinder names(dataset);
  for (const DapProjection& projection : projections) {
    const auto named = names.Find(projection.path);
    if (!named) return NotFound("no variable {}", model::Quote(projection.path));
    const size_t index = named->member.value_or(named->variable);
    NDLFS_TRY(Selection selection, SelectionOf(dataset.variables[index], projection.ranges));
    if (named->member) {
      AddMember(out, named->variable, {index, std::move(selection)});
    } else {
      out.push_back(Declare(dataset, index, selection));
    }
  }
  return out;
}

}  // namespace ndlfs::fs
