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

// What the elements of all parts of a join become: floats that are not packed, or times in the
// units of one part.
struct Unpacking {
  model::Datatype type;
  // For times: their scale and their units.
  std::optional<model::TimeScale> scale;
  std::string units;
};

// Whether elements are numbers that an attribute makes packed ones, or times.
bool MayUnpack(const Node& array);

// The common form of parts like `first`. `described` is the array in the document, or null; its
// type, if it has one, is the type, and its units are those of times. Without them they are
// those of the first part, and the type is float32 where that holds its numbers, and else
// float64.
model::Result<Unpacking> ChooseUnpacking(const Node& first, const model::Ndarray* described);

// `array`, which is `name` of the store at `path`, with units and calendar. Bounds of cells
// have those of their coordinate (CF conventions, section 7.1), which is called as the first
// dimension is. Others are returned as they are.
model::Result<std::shared_ptr<const Node>> WithUnits(const PartStores& stores,
                                                     const std::string& path,
                                                     std::string_view name,
                                                     std::shared_ptr<const Node> array);

// Makes that of the elements of `part`; null if they are that already. Fails if an attribute of
// the part cannot be understood.
model::Result<std::shared_ptr<const ElementConverter>> ConverterOf(const Unpacking& unpacking,
                                                                   const Node& part);

// What is no longer true of a node whose elements are unpacked: removes the attributes, and
// sets the type. Floats that are no times get the _FillValue NaN.
void DescribeUnpacked(const Unpacking& unpacking, model::Ndarray& array);

}  // namespace ndlfs::backends::ndl
