// SPDX-License-Identifier: MIT
//
// Compares the elements of two arrays of the same shape.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cache/array_reader.h"
#include "cache/array_sweep.h"
#include "fs/compare/canonical_type.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {

// When two numbers a and b are equal: if |a - b| <= absolute + relative * |b|, as NumPy's
// isclose() has it. An infinity equals only itself.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  bool nan_differs = false;  // a NaN is not equal to a NaN
  bool by_bits = false;  // numbers of the same type are equal if their bits are, and not else
};

// Where the largest difference is.
struct LargestDifference {
  double size = 0;
  uint64_t at = 0;  // number of the element in C order
};

struct ElementDifferences {
  struct Pair {
    uint64_t at = 0;  // number of the element in C order
    std::string a;    // the values as text
    std::string b;
  };
  uint64_t count = 0;
  uint64_t nan_on_one_side = 0;  // of these
  std::optional<Pair> first = std::nullopt;
  // The largest differences of numbers that are finite in both arrays: |a - b|, and |a - b| /
  // max(|a|, |b|).
  std::optional<LargestDifference> absolute = std::nullopt;
  std::optional<LargestDifference> relative = std::nullopt;

  void Add(const ElementDifferences& other);
};

// Compares elements of one kind of types. Immutable and thread-safe.
class ElementComparison {
 public:
  virtual ~ElementComparison() = default;
  // Compares `count` elements of both arrays from number `first` on.
  virtual model::Result<ElementDifferences> Compare(const cache::ArrayReader& a,
                                                    const cache::ArrayReader& b, uint64_t first,
                                                    uint64_t count) const = 0;
  // How many elements are best compared at once.
  virtual uint64_t at_once() const = 0;
};

// Compares two arrays block by block. Thread-safe. The cache of the readers must outlive the
// object.
class ArrayDifference {
 public:
  static constexpr uint64_t kBlockElements = uint64_t{1} << 18;

  // The shapes must be equal. kUnsupported if elements of these types cannot be compared.
  static model::Result<std::shared_ptr<ArrayDifference>> Make(
      std::shared_ptr<const cache::ArrayReader> a, std::shared_ptr<const cache::ArrayReader> b,
      const Tolerance& tolerance);

  uint64_t block_count() const { return block_count_; }
  // The average work of a block, in bytes; never 0.
  uint64_t block_cost() const { return block_cost_; }
  // Compares a block; each block once. Threads should take them about in order. Returns the
  // bytes of both arrays. An error names the chunk.
  model::Result<uint64_t> Run(uint64_t block) EXCLUDES(mutex_);
  // What was found so far.
  ElementDifferences found() const EXCLUDES(mutex_);

 private:
  ArrayDifference(std::shared_ptr<const cache::ArrayReader> a,
                  std::shared_ptr<const cache::ArrayReader> b,
                  std::unique_ptr<const ElementComparison> comparison);

  const std::shared_ptr<const cache::ArrayReader> a_;
  const std::shared_ptr<const cache::ArrayReader> b_;
  const std::unique_ptr<const ElementComparison> comparison_;
  const uint64_t block_count_;
  const uint64_t block_cost_;
  cache::ArraySweep sweep_a_;
  cache::ArraySweep sweep_b_;
  mutable model::Mutex mutex_;
  ElementDifferences found_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::fs
