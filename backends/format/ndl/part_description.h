// SPDX-License-Identifier: MIT
//
// Describes and compares the properties that all parts of a join must share.
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
  // One for each dimension; "" if it has no name.
  std::vector<std::string> dimensions;
  // The attributes that say what the numbers mean, sorted by name.
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

// Describes the difference, with the names of both parts; nullopt if there is none. Does not
// compare coordinates.
std::optional<std::string> FindDifference(const PartDescription& first,
                                          const PartDescription& other, const PartRules& rules);

// The element that `other` calls missing, if `first` calls none so: one writer adds such an
// attribute, and another leaves it out. nullopt if there is none.
std::optional<model::Value> OwnMissing(const PartDescription& first,
                                       const PartDescription& other);

// The coordinates along dimension `dimension` of the array `array` in the store at `path`: an
// array of that name in the same group or around it. nullopt if there is none.
model::Result<std::optional<PartCoordinate>> ReadCoordinate(const PartStores& stores,
                                                            const std::string& path,
                                                            std::string_view array,
                                                            std::string_view dimension,
                                                            uint64_t size);

// Describes the difference between the coordinates along `dimension` of the parts `first` and
// `other`.
std::optional<std::string> FindDifference(std::string_view dimension,
                                          std::string_view first_path,
                                          const std::optional<PartCoordinate>& first,
                                          std::string_view other_path,
                                          const std::optional<PartCoordinate>& other,
                                          double tolerance);

// Describes the difference between the elements of two arrays of the same shape, called
// `first_label` and `other_label`. Arrays of more than `most_bytes` are not compared.
inline constexpr uint64_t kMostCompared = uint64_t{1} << 20;
std::optional<std::string> FindElementDifference(std::string_view first_label,
                                                 const ArraySource& first,
                                                 std::string_view other_label,
                                                 const ArraySource& other, double tolerance,
                                                 uint64_t most_bytes = kMostCompared);

}  // namespace ndlfs::backends::ndl
