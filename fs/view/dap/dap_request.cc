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
  explicit NameFinder(const DapDataset& dataset) : dataset_(dataset) {
    for (size_t i = 0; i < dataset.variables.size(); ++i) {
      const std::string& name = dataset.variables[i].name;
      variables_.try_emplace(name, i);
      longest_ = std::max(longest_, name.size());
    }
  }

  // A decoded name may have dots of its own, so the name of a Grid ends at any of the dots that
  // come early enough.
  std::optional<Named> Find(std::string_view path) const {
    if (const auto whole = FindVariable(path)) return Named{*whole};
    for (size_t dot = path.find('.'); dot <= longest_; dot = path.find('.', dot + 1)) {
      const auto grid = FindVariable(path.substr(0, dot));
      const auto member = grid ? FindMember(*grid, path.substr(dot + 1)) : std::nullopt;
      if (member) return Named{*grid, member};
    }
    return std::nullopt;
  }

 private:
  // Clients write names as the DDS does, or decoded: these are not longer.
  std::optional<size_t> FindVariable(std::string_view name) const {
    if (name.size() > longest_) return std::nullopt;
    auto found = variables_.find(name);
    if (found == variables_.end()) found = variables_.find(DapName(name));
    return found == variables_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<size_t> FindMember(size_t grid, std::string_view name) const {
    const DapVariable& variable = dataset_.variables[grid];
    if (!variable.is_grid() || name.size() > longest_) return std::nullopt;
    std::vector<size_t> members = variable.maps;
    members.push_back(grid);
    for (const size_t member : members) {
      const std::string& own = dataset_.variables[member].name;
      if (own == name || own == DapName(name)) return member;
    }
    return std::nullopt;
  }

  const DapDataset& dataset_;
  std::map<std::string, size_t, std::less<>> variables_;  // the first of each name
  size_t longest_ = 0;
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
