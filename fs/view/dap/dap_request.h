// SPDX-License-Identifier: MIT
//
// What a constraint asks for of a dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/dap/dap_dataset.h"
#include "fs/view/dap/parse/constraint.h"
#include "fs/view/elements/selection.h"
#include "model/error.h"

namespace ndlfs::fs {

// The elements of the variable `name` at `ranges`; all of them if there are no ranges.
// kNotFound for other dimensions than those of `extents`, or for an index beyond them.
model::Result<Selection> SelectElements(std::string_view name,
                                        std::span<const uint64_t> extents,
                                        const std::vector<DapRange>& ranges);

// For an error that says that there is no such variable: "; there are x, y and t2m".
std::string OfferNames(const std::vector<std::string>& names);

// A variable, or a member of a Grid, and the elements of it.
struct DapMember {
  size_t variable = 0;  // in DapDataset::variables
  Selection selection;  // one range for each dimension
};

// One declaration of a reply.
struct DapDeclaration {
  enum class Kind {
    kArray,      // one member
    kGrid,       // the array, and then its maps
    kStructure,  // some members of a Grid
  };
  Kind kind = Kind::kArray;
  size_t variable = 0;  // whose name it has
  std::vector<DapMember> members;
};

// All variables if there are no projections. The order is that of the dataset. kNotFound if the
// dataset lacks a variable, or an element of it.
model::Result<std::vector<DapDeclaration>> ResolveConstraint(
    const DapDataset& dataset, const std::vector<DapProjection>& projections);

}  // namespace ndlfs::fs
