// SPDX-License-Identifier: MIT
#include "backends/format/foreign/coordinate_source.h"

#include <cstring>
#include <functional>
#include <utility>

#include "backends/base/checked.h"
#include "backends/format/block_shape.h"

namespace ndlfs::backends::foreign {
namespace {

using model::Result;

class CoordinateSource final : public ArraySource {
 public:
  using ValueAt = std::function<double(uint64_t)>;
  CoordinateSource(ArraySpec spec, ValueAt value_at)
      : spec_(std::move(spec)), value_at_(std::move(value_at)) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    ChunkLocation location;
    location.generate = [this, begin = spec_.grid.Begin(0, index[0]),
                         count = spec_.grid.Extent(0, index[0])](uint64_t) -> Result<Bytes> {
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
  const ValueAt value_at_;
};

Result<std::shared_ptr<const ArraySource>> Make(uint64_t size,
                                                CoordinateSource::ValueAt value_at) {
  const auto bytes = CheckedMultiply(size, sizeof(double));
  if (!bytes || *bytes > kMaxViewSize) return model::Limit("too many coordinates");
  ArraySpec spec;
  spec.dtype = model::Datatype::Float64();
  spec.shape = {size};
  const auto block = ContiguousBlockShape(spec.shape, sizeof(double), kBlockBytes);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, block, ChunkGrid::Edge::kCropped));
  return std::make_shared<CoordinateSource>(std::move(spec), std::move(value_at));
}

}  // namespace

Result<std::shared_ptr<const ArraySource>> MakeListedCoordinates(std::vector<double> values) {
  const uint64_t size = values.size();
  return Make(size, [values = std::move(values)](uint64_t i) { return values[i]; });
}

Result<std::shared_ptr<const ArraySource>> MakeRegularCoordinates(double first, double step,
                                                                  uint64_t size) {
  return Make(size, [=](uint64_t i) { return first + static_cast<double>(i) * step; });
}

}  // namespace ndlfs::backends::foreign
