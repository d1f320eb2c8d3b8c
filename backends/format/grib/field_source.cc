// SPDX-License-Identifier: MIT
#include "backends/format/grib/field_source.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "backends/base/checked.h"
#include "backends/codec/grib/field_codec.h"
#include "backends/format/grib/header_check.h"
#include "backends/format/stored_chunks.h"

namespace ndlfs::backends::grib {
namespace {

using model::Result;

std::shared_ptr<const ArrayToBytesCodec> CodecOf(uint32_t field) {
  GribFieldOptions options;
  options.field = field;
  return MakeGribFieldCodec(options);
}

class FieldSource final : public ArraySource, public StoredChunks {
 public:
  FieldSource(std::shared_ptr<const Store> store, ArraySpec spec,
              std::vector<PlannedField> fields, const std::function<void()>& on_lie)
      : store_(std::move(store)),
        spec_(std::move(spec)),
        fields_(std::move(fields)),
        check_(store_, fields_, on_lie) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    // Along the dimensions of the grid there is one chunk.
    uint64_t cell = 0;
    for (size_t d = 0; d < index.size(); ++d) cell = cell * spec_.grid.counts()[d] + index[d];
    const auto found = std::ranges::lower_bound(fields_, cell, {}, &PlannedField::cell);
    if (found == fields_.end() || found->cell != cell) return ChunkLocation::Absent();
    NDLFS_RETURN_IF_ERROR(check_.Check(static_cast<size_t>(found - fields_.begin())));
    if (found->field != fields_.front().field) return Generated(*found, index);
    ChunkLocation location;
    location.store = store_;
    location.pieces = {{found->offset, found->size}};
    return location;
  }

  Result<std::optional<std::vector<uint64_t>>> ListChunks(size_t most) const override {
    if (fields_.size() > most) return std::nullopt;
    std::vector<uint64_t> cells;
    for (const PlannedField& field : fields_) cells.push_back(field.cell);
    return cells;
  }

 private:
  // A field that has another place in its message than those of the other chunks.
  Result<ChunkLocation> Generated(const PlannedField& field,
                                  std::span<const uint64_t> index) const {
    ChunkLocation location;
    location.generate = [store = store_, field, shape = spec_.grid.ChunkShape(index),
                         dtype = spec_.dtype](uint64_t limit) -> Result<Bytes> {
      NDLFS_TRY(const auto message, store->Read("", field.size, {field.offset, field.size}));
      if (!message) return model::HasChanged("the file");
      const auto size = CheckedProduct(shape, dtype.size());
      if (!size || *size > limit) return model::Limit("a chunk of too many bytes");
      Bytes chunk(*size);
      NDLFS_RETURN_IF_ERROR(
          CodecOf(field.field)->Decode(message->span(), {dtype, shape}, chunk.span()));
      return chunk;
    };
    return location;
  }

  const std::shared_ptr<const Store> store_;
  const ArraySpec spec_;
  const std::vector<PlannedField> fields_;
  const HeaderCheck check_;
};

template <typename T>
std::vector<std::byte> NanElement() {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &nan, sizeof(T));
  return bytes;
}

}  // namespace

Result<std::shared_ptr<const ArraySource>> MakeFieldSource(
    std::shared_ptr<const Store> store, const PlannedArray& array, uint64_t max_chunk_size,
    const std::function<void()>& on_lie) {
  const ArrayKind& kind = *array.kind;
  ArraySpec spec;
  spec.dtype = kind.is_wide ? model::Datatype::Float64() : model::Datatype::Float32();
  spec.fill = kind.is_wide ? NanElement<double>() : NanElement<float>();
  std::vector<uint64_t> chunk(kind.dims.size(), 1);
  for (size_t d = 0; d < kind.dims.size(); ++d) {
    spec.shape.push_back(kind.dims[d].size);
    if (d + kind.grid_dims >= kind.dims.size()) {
      chunk[d] = std::max<uint64_t>(kind.dims[d].size, 1);
    }
  }
  const auto all = CheckedProduct(spec.shape, spec.dtype.size());
  if (!all || *all > kMaxViewSize) return model::Limit("an array of too many elements");
  const auto size = CheckedProduct(chunk, spec.dtype.size());
  if (!size || *size > max_chunk_size) {
    return model::Limit("chunks of {} bytes; up to {} are read", size.value_or(UINT64_MAX),
                        max_chunk_size);
  }
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, chunk, ChunkGrid::Edge::kFull));
  NDLFS_TRY(spec.codecs, CodecChain::Make({spec.dtype, chunk, spec.fill}, {},
                                          CodecOf(array.fields.front().field), {}));
  return std::make_shared<FieldSource>(std::move(store), std::move(spec), array.fields, on_lie);
}

}  // namespace ndlfs::backends::grib
