// SPDX-License-Identifier: MIT
//
// What has to be the same in all parts of a join.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hierarchy.h"
#include "backends/format/ndl/part_stores.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::backends::ndl {

// The coordinates along one dimension of a part.
struct PartCoordinate {
  model::Datatype type;
  Bytes elements;
  std::string units;
};

// One array in one part.
struct PartDescription {
  std::string label;  // "1992/001.nc: /sst", for messages
  model::Datatype type;
  std::vector<uint64_t> shape;
  // One for each dimension; "" where it has no name.
  std::vector<std::string> dimensions;
  // Those that say what the numbers mean, sorted by name.
  std::vector<model::Attribute> attributes;
  std::optional<model::Value> fill;
};

// Describes the array `node`, called `name` in the store at `path`.
PartDescription DescribePart(const PartStores& stores, const std::string& path,
                             std::string_view name, const Node& node);

struct PartRules {
  std::optional<size_t> along;  // the dimension whose sizes may differ
  bool unpack = false;          // types, packing and times may differ
  double tolerance = 0;         // of coordinates
};

// What differs, with the names of both parts; nullopt if nothing does. Does not compare
// coordinates.
std::optional<std::string> FindDifference(const PartDescription& first,
                                          const PartDescription& other, const PartRules& rules);

// The element of `other` that is missing there, where `first` does not call any element so: an
// attribute that one writer adds and another leaves out. nullopt where there is none.
std::optional<model::Value> OwnMissing(const PartDescription& first,
                                       const PartDescription& other);

// The coordinates along dimension `dimension` of the array `array` in the store at `path`: an
// array of that name in the same group or around it. nullopt if there is none.
model::Result<std::optional<PartCoordinate>> ReadCoordinate(const PartStores& stores,
                                                            const std::string& path,
                                                            std::string_view array,
                                                            std::string_view dimension,
                                                            uint64_t size);

// What differs in the coordinates along `dimension` of the parts `first` and `other`.
std::optional<std::string> FindDifference(std::string_view dimension,
                                          std::string_view first_path,
                                          const std::optional<PartCoordinate>& first,
                                          std::string_view other_path,
                                          const std::optional<PartCoordinate>& other,
                                          double tolerance);

// What differs in the elements of two arrays of the same shape, called `first_label` and
// `other_label`. Arrays of more than `most_bytes` are not compared.
inline constexpr uint64_t kMostCompared = uint64_t{1} << 20;
std::optional<std::string> FindElementDifference(std::string_view first_label,
                                                 const ArraySource& first,
                                                 std::string_view other_label,
                                                 const ArraySource& other, double tolerance,
                                                 uint64_t most_bytes = kMostCompared);

}  // namespace ndlfs::backends::ndl
