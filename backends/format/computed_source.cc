// SPDX-License-Identifier: MIT
#include "backends/format/computed_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/base/checked.h"
#include "backends/format/block_shape.h"

namespace ndlfs::backends {
namespace {

using model::Result;

class ComputedSource final : public ArraySource {
 public:
  ComputedSource(ArraySpec spec, ElementAt value_at)
      : spec_(std::move(spec)), value_at_(std::move(value_at)) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    uint64_t count = 1;
    for (size_t d = 0; d < index.size(); ++d) count *= spec_.grid.Extent(d, index[d]);
    const uint64_t begin = FirstElement(spec_.shape, spec_.grid.max_chunk_shape(), index);
    ChunkLocation location;
    location.generate = [this, begin, count](uint64_t) -> Result<Bytes> {
      Bytes chunk(count * sizeof(double));
      for (uint64_t i = 0; i < count; ++i) {
        const double value = value_at_(begin + i);
        std::memcpy(chunk.data() + i * sizeof(double), &value, sizeof(double));
      }
      return chunk;
    };
    return location;
  }

 private:
  const ArraySpec spec_;
  const ElementAt value_at_;
};

class FilledSource final : public ArraySource {
 public:
  FilledSource(ArraySpec spec, FillElements fill_all)
      : spec_(std::move(spec)), fill_all_(std::move(fill_all)) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t>, IndexCache&) const override {
    ChunkLocation location;
    location.generate = [this](uint64_t limit) -> Result<Bytes> {
      const auto bytes = CheckedProduct(spec_.shape, sizeof(double));
      if (!bytes || *bytes > limit) return model::Limit("too many coordinates");
      Bytes chunk(*bytes);
      std::span<double> values(reinterpret_cast<double*>(chunk.data()),
                               *bytes / sizeof(double));
      NDLFS_RETURN_IF_ERROR(fill_all_(values));
      return chunk;
    };
    return location;
  }

 private:
  const ArraySpec spec_;
  const FillElements fill_all_;
};

// Without a grid.
Result<ArraySpec> SpecOf(std::vector<uint64_t> shape) {
  const auto bytes = CheckedProduct(shape, sizeof(double));
  if (!bytes || *bytes > kMaxViewSize) return model::Limit("too many coordinates");
  ArraySpec spec;
  spec.dtype = model::Datatype::Float64();
  spec.shape = std::move(shape);
  return spec;
}

}  // namespace

Result<std::shared_ptr<const ArraySource>> MakeComputedSource(std::vector<uint64_t> shape,
                                                              FillElements fill_all) {
  NDLFS_TRY(ArraySpec spec, SpecOf(std::move(shape)));
  std::vector<uint64_t> chunk = spec.shape;
  for (uint64_t& extent : chunk) extent = std::max<uint64_t>(extent, 1);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, chunk, ChunkGrid::Edge::kCropped));
  return std::make_shared<FilledSource>(std::move(spec), std::move(fill_all));
}

Result<std::shared_ptr<const ArraySource>> MakeComputedSource(std::vector<uint64_t> shape,
                                                              ElementAt value_at) {
  NDLFS_TRY(ArraySpec spec, SpecOf(std::move(shape)));
  const auto block = ContiguousBlockShape(spec.shape, sizeof(double), kBlockBytes);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, block, ChunkGrid::Edge::kCropped));
  return std::make_shared<ComputedSource>(std::move(spec), std::move(value_at));
}

bool IsComputed(const ArraySource& source) {
  return dynamic_cast<const ComputedSource*>(&source) != nullptr;
}

Result<void> CheckReadable(const ArraySource& source) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  const auto count = CheckedProduct(source.spec().shape);
  if (!IsComputed(source) || (count && *count <= kMost)) return {};
  return model::Limit("{} computed elements; up to {} are read", count.value_or(UINT64_MAX),
                      kMost);
}

}  // namespace ndlfs::backends
