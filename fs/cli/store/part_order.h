// SPDX-License-Identifier: MIT
//
// The order of the stores that `ndlfs join` joins.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ndlfs::fs {

// A store, and where it lies along the dimension of the join.
struct PartPlace {
  std::string name;  // relative to the folder of the document
  std::string path;  // in the source
  // The coordinates along the dimension; times in nanoseconds. nullopt if the store has none.
  std::optional<double> first = std::nullopt;
  std::optional<double> last = std::nullopt;
  // The distance of its neighbours; nullopt if it has less than two, or different distances.
  std::optional<double> step = std::nullopt;
  // The largest of these distances, which differ between months; 0 if there is none.
  double longest = 0;

  // Sets these. Coordinates that are not finite are none.
  void SetCoordinates(std::span<const double> coordinates);
};

struct PartOrder {
  // One line for each gap, duplicate and overlap, with the names of both parts.
  std::vector<std::string> notes;
  bool overlaps = false;  // some coordinates occur twice
};

// Sorts parts by their coordinates: downwards if these descend in the parts, else upwards.
// Leaves the order as it is if a part has no coordinates.
PartOrder SortParts(std::vector<PartPlace>& parts);

}  // namespace ndlfs::fs
