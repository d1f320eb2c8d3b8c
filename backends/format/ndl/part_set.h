// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/ndl/part_description.h"
#include "backends/format/ndl/part_stores.h"
#include "backends/store/read_set.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/value_source.h"

namespace ndlfs::backends::ndl {

// Looks at the files or directories at `paths`; at a sample if there are more than 1000, or if
// each look is a request. A part that cannot be looked at counts as absent.
ReadSet LookAtParts(const std::shared_ptr<const Source>& source,
                    std::span<const std::string> paths);

// The parts of a join, by the names that were found. Thread-safe.
class PartSet {
 public:
  // Fails if a part is absent, unless `fills_missing`. Does not look for the parts if each look
  // at a file is a request.
  static model::Result<std::shared_ptr<const PartSet>> Make(
      std::shared_ptr<const PartStores> stores, const model::FileSet& files,
      bool fills_missing);

  const PartStores& stores() const { return *stores_; }
  size_t size() const { return paths_.size(); }
  const std::string& path(size_t i) const { return paths_[i]; }
  bool is_present(size_t i) const { return is_present_[i]; }
  // The part that all others are compared with: the first one that is present. kNotFound if
  // there is none.
  model::Result<size_t> First() const;
  // A number that changes if LookAtParts() finds that a part was replaced.
  uint64_t Fingerprint() const;

  // Loads the array `name` of part `i`, if it is like that of the first part in all respects
  // that `rules` demand. Remembers which coordinates were compared.
  model::Result<std::shared_ptr<const Node>> LoadLike(size_t i, std::string_view name,
                                                      const PartDescription& first,
                                                      const PartRules& rules) const;

  // The sizes of all parts along rules.along, in their order. Compares all parts with the first
  // one, several at a time. Remembers the size of each part with the version of its file.
  // kNotFound if a part is absent, because nobody knows its size.
  model::Result<std::vector<uint64_t>> FindSizes(std::string_view name,
                                                 const PartDescription& first,
                                                 const PartRules& rules) const;

  // Compares the array `name` of the parts with `first` and `source`, the array in the first
  // part, and fails if they differ. Opens all parts if `opens`, and otherwise does
  // nothing.
  model::Result<void> CheckSame(std::string_view name, const PartDescription& first,
                                const ArraySource& source, double tolerance, bool opens) const;

 private:
  PartSet(std::shared_ptr<const PartStores> stores, std::vector<std::string> paths);
  model::Result<void> FindPresent(bool fills_missing);
  model::Result<uint64_t> FindSize(size_t i, std::string_view name,
                                   const PartDescription& first, const PartRules& rules,
                                   std::optional<uint64_t> signature) const;
  model::Result<void> CompareCoordinates(size_t i, std::string_view name,
                                         const PartDescription& first,
                                         const PartRules& rules) const;
  model::Result<std::shared_ptr<const std::optional<PartCoordinate>>> FirstCoordinate(
      std::string_view name, const std::string& dimension, uint64_t size) const;

  const std::shared_ptr<const PartStores> stores_;
  const std::vector<std::string> paths_;
  std::vector<bool> is_present_;

  mutable model::Mutex mutex_;
  // The coordinates of the first part, by the group of the array and the dimension.
  using CoordinateKey = std::pair<std::string, std::string>;
  mutable std::map<CoordinateKey, std::shared_ptr<const std::optional<PartCoordinate>>>
      first_coordinates_ GUARDED_BY(mutex_);
  // Parts whose coordinates are like those of the first one.
  mutable std::map<CoordinateKey, std::vector<bool>> compared_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::backends::ndl
