// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/array_source.h"
#include "backends/format/flat_source.h"
#include "backends/format/ndl/part_set.h"
#include "backends/format/ndl/unpacking.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::ndl {

// A joined array, and what its parts say about it.
struct Join {
  std::shared_ptr<const ArraySource> source;
  // The array in the first part; null for flat files.
  std::shared_ptr<const Node> first;
  // The names of the dimensions; "" where one has none.
  std::vector<std::string> dimensions;
  size_t along = 0;
  // Set if the elements are not those of the parts.
  std::optional<Unpacking> unpacking;
};

// Joins the arrays `name` of the stores in `parts`, as `spec` says. `described` is the array in
// the document, or null; its type and shape have to be those of the parts, as far as it has
// them. Fails if parts that are opened for it differ. If spec.sizes are given, opens only the
// first part; others are compared with it when they are read.
model::Result<Join> JoinStores(std::shared_ptr<const PartSet> parts, std::string_view name,
                               const model::ValueSource& spec, const model::Ndarray* described);

// Joins flat files with arrays of the type and shape that `described` has.
model::Result<Join> JoinFiles(std::shared_ptr<const PartSet> parts,
                              const model::ValueSource& spec, const model::Ndarray& described);

// Where the elements of `array` lie in the flat file at `path`.
FlatLayout LayoutOf(const PartStores& stores, const std::string& path,
                    const model::FlatFile& flat, const model::Ndarray& array);

}  // namespace ndlfs::backends::ndl
