// SPDX-License-Identifier: MIT
#include "backends/format/ndl/array_values.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/base/element_encoder.h"
#include "backends/format/block_shape.h"

namespace ndlfs::backends::ndl {

using model::Result;

std::vector<uint64_t> ExtentOfValue(const model::Ndarray& array) {
  // Lists without elements need not show all extents.
  const bool has_none = std::any_of(array.shape.begin(), array.shape.end(),
                                    [](const auto& d) { return d.size == uint64_t{0}; });
  std::vector<uint64_t> extent;
  const auto& stored = array.storage.shape;
  const bool is_stored = stored && stored->size() == array.shape.size();
  const model::Value* value = &*array.value;
  for (size_t i = 0; i < array.shape.size(); ++i) {
    const std::optional<uint64_t>& size = array.shape[i].size;
    const model::Value::List* list = value ? value->list() : nullptr;
    const bool is_shown = list && !(has_none && size);
    extent.push_back(is_shown ? list->size() : size.value_or(is_stored ? (*stored)[i] : 0));
    value = list && !list->empty() ? &list->front() : nullptr;
  }
  return extent;
}

Result<ArrayValues> ArrayValues::Make(const model::Ndarray& array, uint64_t max_bytes) {
  const bool is_fixed = array.type.is_fixed_size();
  if (is_fixed && array.type.size() == 0) return model::Unsupported("elements of 0 bytes");
  ElementEncoder encoder(array.type, max_bytes);
  NDLFS_RETURN_IF_ERROR(encoder.AddElements(*array.value, array.shape.size()));
  ArrayValues values;
  values.bytes_ = encoder.TakeBytes();
  values.starts_ = encoder.TakeStarts();
  const uint64_t element_bytes =
      is_fixed ? array.type.size()
               : values.bytes_.size() / std::max<uint64_t>(values.starts_.size(), 1);
  if (!is_fixed) values.starts_.push_back(values.bytes_.size());
  ArraySpec& spec = values.spec_;
  spec.dtype = array.type;
  spec.shape = ExtentOfValue(array);
  const auto block = ContiguousBlockShape(spec.shape, element_bytes, kBlockBytes);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, block, ChunkGrid::Edge::kCropped));
  return values;
}

Bytes ArrayValues::Chunk(std::span<const uint64_t> index) const {
  const uint64_t first = FirstElement(spec_.shape, spec_.grid.max_chunk_shape(), index);
  uint64_t count = 1;
  for (const uint64_t extent : spec_.grid.ChunkShape(index)) count *= extent;
  return starts_.empty() ? FixedChunk(first, count) : VariableChunk(first, count);
}

Bytes ArrayValues::FixedChunk(uint64_t first, uint64_t count) const {
  const size_t size = spec_.dtype.size();
  return Bytes::Copy(ConstByteSpan(bytes_).subspan(first * size, count * size));
}

Bytes ArrayValues::VariableChunk(uint64_t first, uint64_t count) const {
  const uint64_t begin = starts_[first];
  const uint64_t length = starts_[first + count] - begin;
  const uint64_t table = (count + 1) * sizeof(uint64_t);
  Bytes chunk(table + length);
  for (uint64_t i = 0; i <= count; ++i) {
    const uint64_t start = starts_[first + i] - begin;
    std::memcpy(chunk.data() + i * sizeof(start), &start, sizeof(start));
  }
  if (length != 0) std::memcpy(chunk.data() + table, bytes_.data() + begin, length);
  return chunk;
}

}  // namespace ndlfs::backends::ndl
