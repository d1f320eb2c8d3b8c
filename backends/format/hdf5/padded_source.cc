// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/padded_source.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "backends/format/hdf5/partial_chunk.h"
#include "backends/format/read_elements.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Datatype;
using model::Result;

// netCDF-C: NC_FILL_FLOAT and NC_FILL_DOUBLE; those of integers are the least
// value but one of signed, the greatest of unsigned ones, with exceptions.
constexpr double kFloatFill = 9.9692099683868690e+36;

uint64_t IntegerFill(const Datatype& type) {
  if (!type.is_signed()) {
    constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
    // NC_FILL_UINT64 is the greatest but one.
    return type.size() == 8 ? kMost - 1 : kMost >> (64 - 8 * type.size());
  }
  const uint64_t least = ~uint64_t{0} << (8 * type.size() - 1);
  return type.size() == 8 ? least + 2 : least + 1;
}

template <typename T>
std::vector<std::byte> BytesOf(T value, size_t size) {
  static_assert(std::endian::native == std::endian::little);
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), &value, size);
  return bytes;
}

class PaddedSource final : public ArraySource {
 public:
  PaddedSource(ArraySpec spec, std::shared_ptr<const ArraySource> stored)
      : spec_(std::move(spec)), stored_(std::move(stored)) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                               IndexCache& indexes) const override {
    const ArraySpec& stored = stored_->spec();
    StoredPart part;
    bool is_whole = true;
    for (size_t d = 0; d < index.size(); ++d) {
      const uint64_t begin = spec_.grid.Begin(d, index[d]);
      if (begin >= stored.shape[d]) return ChunkLocation::Absent();
      const uint64_t wanted = std::min(spec_.shape[d] - begin, spec_.grid.Extent(d, index[d]));
      part.extents.push_back(std::min(stored.shape[d] - begin, wanted));
      is_whole = is_whole && part.extents[d] == wanted;
    }
    NDLFS_TRY(ChunkLocation location, stored_->Locate(index, indexes));
    part.shape = stored.grid.ChunkShape(index);
    const std::vector<uint64_t> shape = spec_.grid.ChunkShape(index);
    if (location.absent() ? stored.fill == spec_.fill : is_whole && part.shape == shape) {
      return location;
    }
    part.fill = stored.fill;
    return Complete(std::move(location), std::move(part), shape);
  }

 private:
  // The same chunk with the fill value where nothing is stored. It still names the store that
  // is read.
  ChunkLocation Complete(ChunkLocation location, StoredPart part,
                         std::vector<uint64_t> shape) const {
    ChunkLocation complete;
    complete.store = location.store;
    complete.key = location.key;
    location.must_exist = true;
    complete.generate = [stored = stored_, type = spec_.dtype, fill = spec_.fill,
                         location = std::move(location), part = std::move(part),
                         shape = std::move(shape)](uint64_t limit) -> Result<Bytes> {
      NDLFS_TRY(Bytes chunk, ReadChunk(stored->spec().codecs, location, part.shape, limit));
      return CompleteChunk(type, part, shape, fill, std::move(chunk), limit);
    };
    return complete;
  }

  const ArraySpec spec_;
  const std::shared_ptr<const ArraySource> stored_;
};

Result<void> CheckSizes(const ArraySpec& spec) {
  const uint64_t item = spec.dtype.is_fixed_size() ? spec.dtype.size() : sizeof(uint64_t);
  if (CheckedProduct(spec.shape, item).value_or(kMaxViewSize) >= kMaxViewSize) {
    return model::Limit("the variable has more than 2^62 bytes");
  }
  return {};
}

}  // namespace

std::vector<std::byte> NetCdfFill(const Datatype& type) {
  switch (type.kind()) {
    case Datatype::Kind::kInteger:
      return BytesOf(IntegerFill(type), type.size());
    case Datatype::Kind::kEnum:
      return NetCdfFill(type.base());
    case Datatype::Kind::kFloat:
      if (type.keyword() == "float32") return BytesOf(static_cast<float>(kFloatFill), 4);
      if (type.keyword() == "float64") return BytesOf(kFloatFill, 8);
      break;
    default:
      break;
  }
  // Text, opaque, compounds: nothing, or zeros.
  return type.is_fixed_size() ? std::vector<std::byte>(type.size()) : ZeroElement(type);
}

model::Result<std::shared_ptr<const ArraySource>> MakePaddedSource(
    std::shared_ptr<const ArraySource> stored, const std::vector<uint64_t>& shape,
    std::vector<std::byte> fill) {
  ArraySpec spec = stored->spec();
  spec.shape = shape;
  spec.fill = std::move(fill);
  NDLFS_RETURN_IF_ERROR(CheckSizes(spec));
  std::vector<uint64_t> chunk = spec.grid.max_chunk_shape();
  for (uint64_t& extent : chunk) extent = std::max<uint64_t>(extent, 1);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(shape, chunk, ChunkGrid::Edge::kFull));
  return std::make_shared<PaddedSource>(std::move(spec), std::move(stored));
}

}  // namespace ndlfs::backends::hdf5
