// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/format/array_source.h"
#include "backends/format/hierarchy.h"
#include "model/cf_time.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::ndl {

class PartStores;

// The common form of the elements of all parts of a join: floats that are not packed, or times
// in the units of one part.
struct Unpacking {
  model::Datatype type;
  // For times: their scale and their units.
  std::optional<model::TimeScale> scale;
  std::string units;
};

// Whether the elements are packed numbers, by an attribute, or times.
bool MayUnpack(const Node& array);

// Chooses the common form of parts like `first`. `described` is the array in the document, or
// null. If it has a type, that is the type, and its units are those of times. Otherwise the
// units are those of the first part, and the type is float32 if that holds its numbers, else
// float64.
model::Result<Unpacking> ChooseUnpacking(const Node& first, const model::Ndarray* described);

// Returns `array`, which is `name` of the store at `path`, with units and calendar. Bounds of
// cells get those of their coordinate (CF conventions, section 7.1), which has the name of the
// first dimension. Other arrays are returned as they are.
model::Result<std::shared_ptr<const Node>> WithUnits(const PartStores& stores,
                                                     const std::string& path,
                                                     std::string_view name,
                                                     std::shared_ptr<const Node> array);

// Converts the elements of `part` to that form; null if they have it already. Fails if an
// attribute of the part cannot be understood.
model::Result<std::shared_ptr<const ElementConverter>> ConverterOf(const Unpacking& unpacking,
                                                                   const Node& part);

// Adapts the description of an array whose elements are unpacked: removes the attributes that
// are no longer true, and sets the type. Floats that are no times get the _FillValue NaN.
void DescribeUnpacked(const Unpacking& unpacking, model::Ndarray& array);

}  // namespace ndlfs::backends::ndl
