// SPDX-License-Identifier: MIT
//
// Which groups and arrays the messages of a file make.
//
// There is a group for each type of level and kind of step. It has an array for each parameter
// and grid, and for anything else that tells fields apart. Its dimensions are member, reference
// time, step and level, as far as they vary, and those of the grid. Those that do not vary are
// scalar coordinates. Each array has its own values along each dimension; arrays with the same
// share the dimension.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backends/format/computed_source.h"
#include "backends/format/grib/grid_axes.h"
#include "backends/format/grib/message_index.h"
#include "backends/format/grib/parameters.h"
#include "model/entities.h"

namespace ndlfs::backends::grib {

// A coordinate variable, or one that only has attributes.
struct PlannedCoordinate {
  std::vector<GridDimension> dims;
  std::variant<ElementAt, FillElements> values;
  std::vector<model::Attribute> attributes;
};

// One message of an array.
struct PlannedField {
  uint64_t cell = 0;  // in C order over the dimensions before those of the grid
  uint64_t offset = 0, size = 0;
  uint32_t field = 0;
  std::shared_ptr<const FieldHeader> expected;  // see IndexedField
};

// What is the same for many arrays, where a file has a field again and again.
struct ArrayKind {
  std::vector<GridDimension> dims;
  size_t grid_dims = 0;  // how many of them, at the end, are those of the grid
  bool is_wide = false;  // float64
  bool is_known = true;  // at least one packing can be decoded
  uint32_t grid = 0;     // of Plan::grids
  Parameter parameter;
  Product product;          // of the first field
  std::string coordinates;  // names, for the attribute of CF
  std::string mapping;      // the grid mapping variable; may be empty
  std::vector<std::string> notes;
  bool operator==(const ArrayKind&) const = default;
};

struct PlannedArray {
  std::shared_ptr<const ArrayKind> kind;
  std::vector<PlannedField> fields;  // by their cells
  uint32_t turn = 0;                 // see FieldSet
};

struct PlannedGroup {
  // Coordinates are few, and larger.
  using Planned = std::variant<std::unique_ptr<const PlannedCoordinate>, PlannedArray>;
  std::map<std::string, Planned, std::less<>> arrays;

  // Null if `name` is none.
  const PlannedCoordinate* FindCoordinate(std::string_view name) const {
    const auto found = arrays.find(name);
    const auto* planned =
        found == arrays.end()
            ? nullptr
            : std::get_if<std::unique_ptr<const PlannedCoordinate>>(&found->second);
    return planned == nullptr ? nullptr : planned->get();
  }
};

struct Plan {
  // By level type, and below it by kind of step.
  std::map<std::string, std::map<std::string, PlannedGroup, std::less<>>, std::less<>> levels;
  std::vector<GridAxes> grids;
  std::vector<model::Attribute> attributes;  // of the root
  uint64_t held_bytes = 0;
  // Called when a header is not as the sidecar says; may be null.
  std::function<void()> on_lie;
};

Plan MakePlan(MessageIndex index);

}  // namespace ndlfs::backends::grib
