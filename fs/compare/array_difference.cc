// SPDX-License-Identifier: MIT
#include "fs/compare/array_difference.h"

#include <algorithm>
#include <utility>

#include "backends/format/computed_source.h"
#include "fs/compare/element_comparisons.h"

namespace ndlfs::fs {
namespace {

using cache::ArrayReader;
using model::Result;
using ReaderPtr = std::shared_ptr<const ArrayReader>;

// Finding and opening a chunk costs as much as comparing this.
constexpr uint64_t kLeastBlockCost = uint64_t{16} << 10;

void KeepLarger(const std::optional<LargestDifference>& other,
                std::optional<LargestDifference>& kept) {
  if (!other) return;
  const bool is_larger =
      !kept || other->size > kept->size || (other->size == kept->size && other->at < kept->at);
  if (is_larger) kept = other;
}

uint64_t BlocksOf(const ArrayReader& reader) {
  const uint64_t elements = reader.element_count();
  return elements / ArrayDifference::kBlockElements +
         (elements % ArrayDifference::kBlockElements != 0);
}

}  // namespace

void ElementDifferences::Add(const ElementDifferences& other) {
  count += other.count;
  nan_on_one_side += other.nan_on_one_side;
  if (other.first && (!first || other.first->at < first->at)) first = other.first;
  KeepLarger(other.absolute, absolute);
  KeepLarger(other.relative, relative);
}

Result<std::shared_ptr<ArrayDifference>> ArrayDifference::Make(ReaderPtr a, ReaderPtr b,
                                                               const Tolerance& tolerance) {
  NDLFS_RETURN_IF_ERROR(backends::CheckReadable(a->source()));
  NDLFS_TRY(auto comparison,
            MakeElementComparison(a->spec().dtype, b->spec().dtype, tolerance));
  return std::shared_ptr<ArrayDifference>(
      new ArrayDifference(std::move(a), std::move(b), std::move(comparison)));
}

ArrayDifference::ArrayDifference(ReaderPtr a, ReaderPtr b,
                                 std::unique_ptr<const ElementComparison> comparison)
    : a_(std::move(a)),
      b_(std::move(b)),
      comparison_(std::move(comparison)),
      block_count_(BlocksOf(*a_)),
      block_cost_(
          std::max(kLeastBlockCost, a_->byte_size() / std::max<uint64_t>(1, block_count_) +
                                        b_->byte_size() / std::max<uint64_t>(1, block_count_))),
      sweep_a_(*a_),
      sweep_b_(*b_) {}

Result<uint64_t> ArrayDifference::Run(uint64_t block) {
  const uint64_t begin = block * kBlockElements;
  const uint64_t end = std::min(begin + kBlockElements, a_->element_count());
  const uint64_t item_a = a_->spec().dtype.size();
  const uint64_t item_b = b_->spec().dtype.size();
  ElementDifferences found;
  for (uint64_t first = begin; first < end;) {
    const uint64_t count = std::min(comparison_->at_once(), end - first);
    sweep_a_.Prepare(first * item_a, (first + count) * item_a);
    sweep_b_.Prepare(first * item_b, (first + count) * item_b);
    NDLFS_TRY(const auto more, comparison_->Compare(*a_, *b_, first, count));
    found.Add(more);
    first += count;
  }
  sweep_a_.Finish(begin * item_a, end * item_a);
  sweep_b_.Finish(begin * item_b, end * item_b);
  const model::MutexLock lock(mutex_);
  found_.Add(found);
  return (end - begin) * (item_a + item_b);
}

ElementDifferences ArrayDifference::found() const {
  const model::MutexLock lock(mutex_);
  return found_;
}

}  // namespace ndlfs::fs
