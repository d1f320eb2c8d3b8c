// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

// A joined array, and the facts about it that its parts tell.
struct Join {
  std::shared_ptr<const ArraySource> source;
  // The array in the first part; null for flat files.
  std::shared_ptr<const Node> first;
  // The names of the dimensions; "" for one without a name.
  std::vector<std::string> dimensions;
  size_t along = 0;
  // Set if elements of the parts have to be converted.
  std::optional<Unpacking> unpacking;
};

// Joins the arrays `name` of the stores in `parts`, as `spec` says. `described` is the array in
// the document, or null; its type and shape, as far as it has them, must be those of the parts.
// Fails if the parts that it opens differ. If spec.sizes are given, opens only the first part;
// others are compared with it when they are read.
model::Result<Join> JoinStores(std::shared_ptr<const PartSet> parts, std::string_view name,
                               const model::ValueSource& spec, const model::Ndarray* described);

// Opens part `i` of a join, as JoinedArray::OpenPart() does.
using PartOpener = std::function<model::Result<JoinedPart>(size_t)>;

// Returns NamesParts::PartFile(). Null: the parts do not lie in one file each.
using NameOfPart = std::function<std::string(size_t)>;

// The array of all parts along `dim`, which begin at `bounds`. `spec` has its type, shape and
// fill value. The chunks of the parts have about the shape `chunk`, in the rank of the join.
// `is_plain` is as in JoinedArray.
model::Result<std::shared_ptr<const ArraySource>> MakeJoinSource(
    ArraySpec spec, size_t dim, std::vector<uint64_t> bounds,
    const std::vector<uint64_t>& chunk, bool is_plain, PartOpener open,
    NameOfPart name = nullptr);

// JoinedArray::bounds() of parts of these sizes.
model::Result<std::vector<uint64_t>> JoinBounds(const std::vector<uint64_t>& sizes);

// The element that stands for missing parts: the one that the attributes of `array` call
// missing, or else that of its store.
std::vector<std::byte> FillOfMissing(const Node& array);

// Joins flat files with arrays of the type and shape that `described` has.
model::Result<Join> JoinFiles(std::shared_ptr<const PartSet> parts,
                              const model::ValueSource& spec, const model::Ndarray& described);

// Where the elements of `array` lie in the flat file at `path`.
FlatLayout LayoutOf(const PartStores& stores, const std::string& path,
                    const model::FlatFile& flat, const model::Ndarray& array);

}  // namespace ndlfs::backends::ndl
