// SPDX-License-Identifier: MIT
#include "backends/format/array_source.h"

#include <algorithm>

#include "backends/base/checked.h"
#include "backends/base/new_id.h"
#include "backends/format/stored_chunks.h"

namespace ndlfs::backends {
namespace {

// Chunks are known by one number.
model::Result<void> CheckCounts(const std::vector<uint64_t>& counts) {
  if (CheckedProduct(counts)) return {};
  return model::Limit("more than 2^64 chunks");
}

model::Result<void> CheckRank(size_t grid_rank, size_t array_rank) {
  if (grid_rank == array_rank) return {};
  return model::BadInput("chunks of {} dimensions in an array of {}", grid_rank, array_rank);
}

uint64_t DivideUp(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// Where the chunks of one dimension begin, and the end, as far as the array
// reaches; `largest` is the largest extent of these.
model::Result<std::vector<uint64_t>> MakeBounds(uint64_t array_extent,
                                                const std::vector<uint64_t>& extents,
                                                uint64_t& largest) {
  std::vector<uint64_t> bounds = {0};
  largest = 0;
  for (const uint64_t extent : extents) {
    if (extent == 0) return model::BadInput("a chunk of extent 0");
    if (bounds.back() >= array_extent) continue;
    largest = std::max(largest, extent);
    const auto end = CheckedAdd(bounds.back(), extent);
    if (!end) return model::Limit("the extents of the chunks add up to more than 2^64");
    bounds.push_back(*end);
  }
  if (bounds.back() < array_extent) {
    return model::BadInput("the chunks end at {}, the array at {}", bounds.back(),
                           array_extent);
  }
  return bounds;
}

}  // namespace

model::Result<ChunkGrid> ChunkGrid::Regular(std::vector<uint64_t> array_shape,
                                            std::vector<uint64_t> chunk_shape, Edge edge) {
  NDLFS_RETURN_IF_ERROR(CheckRank(chunk_shape.size(), array_shape.size()));
  ChunkGrid grid;
  for (size_t dim = 0; dim < array_shape.size(); ++dim) {
    if (chunk_shape[dim] == 0) return model::BadInput("chunks of extent 0");
    if (edge == Edge::kCropped && array_shape[dim] != 0) {
      chunk_shape[dim] = std::min(chunk_shape[dim], array_shape[dim]);
    }
    grid.counts_.push_back(DivideUp(array_shape[dim], chunk_shape[dim]));
  }
  NDLFS_RETURN_IF_ERROR(CheckCounts(grid.counts_));
  grid.edge_ = edge;
  grid.array_shape_ = std::move(array_shape);
  grid.chunk_shape_ = std::move(chunk_shape);
  return grid;
}

model::Result<ChunkGrid> ChunkGrid::Rectilinear(
    std::vector<uint64_t> array_shape, std::vector<std::vector<uint64_t>> chunk_extents) {
  NDLFS_RETURN_IF_ERROR(CheckRank(chunk_extents.size(), array_shape.size()));
  ChunkGrid grid;
  for (size_t dim = 0; dim < array_shape.size(); ++dim) {
    uint64_t largest;
    NDLFS_TRY(auto bounds, MakeBounds(array_shape[dim], chunk_extents[dim], largest),
              fmt::format("dimension {}", dim));
    grid.counts_.push_back(bounds.size() - 1);
    grid.chunk_shape_.push_back(largest);
    grid.bounds_.push_back(std::move(bounds));
  }
  NDLFS_RETURN_IF_ERROR(CheckCounts(grid.counts_));
  grid.array_shape_ = std::move(array_shape);
  return grid;
}

uint64_t ChunkGrid::ChunkOf(size_t dim, uint64_t coordinate) const {
  if (is_regular()) return coordinate / chunk_shape_[dim];
  const auto& bounds = bounds_[dim];
  return static_cast<uint64_t>(std::upper_bound(bounds.begin(), bounds.end(), coordinate) -
                               bounds.begin()) -
         1;
}

uint64_t ChunkGrid::Begin(size_t dim, uint64_t index) const {
  return is_regular() ? index * chunk_shape_[dim] : bounds_[dim][index];
}

uint64_t ChunkGrid::Extent(size_t dim, uint64_t index) const {
  if (!is_regular()) return bounds_[dim][index + 1] - bounds_[dim][index];
  if (edge_ == Edge::kFull) return chunk_shape_[dim];
  return std::min(chunk_shape_[dim], array_shape_[dim] - Begin(dim, index));
}

std::vector<uint64_t> ChunkGrid::ChunkShape(std::span<const uint64_t> index) const {
  std::vector<uint64_t> shape(index.size());
  for (size_t dim = 0; dim < index.size(); ++dim) shape[dim] = Extent(dim, index[dim]);
  return shape;
}

ArraySource::ArraySource() : id_(NewId()) {}

model::Result<std::optional<std::vector<uint64_t>>> FindStoredChunks(const ArraySource& source,
                                                                     uint64_t count) {
  constexpr uint64_t kWorthListing = 4096;
  constexpr size_t kMostStored = 1'000'000;
  const auto* const lists = dynamic_cast<const StoredChunks*>(&source);
  if (lists == nullptr || count < kWorthListing) return std::nullopt;
  return lists->ListChunks(kMostStored);
}

}  // namespace ndlfs::backends
