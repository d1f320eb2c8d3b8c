// SPDX-License-Identifier: MIT
#include "backends/format/ndl/array_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "backends/base/checked.h"
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

namespace {

std::vector<uint64_t> WholeShape(const model::Ndarray& array, const Lengths& lengths) {
  std::vector<uint64_t> shape = ExtentOfValue(array);
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto length = lengths.find(array.shape[d].dimcoord);
    const uint64_t known = length == lengths.end() ? 0 : length->second;
    shape[d] = std::max(shape[d], array.shape[d].size.value_or(known));
  }
  return shape;
}

// What is stored, and `fill` behind it along each dimension whose size is known.
model::Value FilledUp(const model::Value& value, std::span<const uint64_t> shape,
                      const model::Value& fill) {
  const auto* list = value.list();
  if (shape.empty()) return value;
  model::Value::List filled = list ? *list : model::Value::List();
  const model::Value none = shape.size() > 1 ? model::Value(model::Value::List()) : fill;
  filled.resize(shape.front(), none);
  for (model::Value& item : filled) item = FilledUp(item, shape.subspan(1), fill);
  return filled;
}

// The value of an array of which less may be stored than its `shape` says.
Result<model::Value> WholeValue(const model::Ndarray& array, const std::vector<uint64_t>& shape,
                                uint64_t max_bytes) {
  if (shape == ExtentOfValue(array)) return *array.value;
  const auto bytes = CheckedProduct(shape, sizeof(model::Value));
  if (!bytes || *bytes > max_bytes) {
    return model::Limit("[{}] elements are more than a document has", fmt::join(shape, ", "));
  }
  model::Value fill = array.storage.fillvalue.value_or(model::Value());
  if (!array.storage.fillvalue) {
    if (!array.type.is_fixed_size()) return model::Unsupported("no fill value");
    NDLFS_TRY(fill,
              model::DecodeElement(array.type, std::vector<std::byte>(array.type.size())));
  }
  return FilledUp(*array.value, shape, fill);
}

Result<model::Value> ValueOfType(const model::Value& value, const model::Datatype& type) {
  const double* real = value.real();
  if (type.kind() == model::Datatype::Kind::kFloat && value.integer()) {
    return model::Value(static_cast<double>(*value.integer()));
  }
  if (type.kind() == model::Datatype::Kind::kInteger && real != nullptr) {
    constexpr double kMost = 9007199254740992.0;  // 2^53
    const bool is_whole = std::floor(*real) == *real && std::abs(*real) <= kMost;
    if (!is_whole) return model::BadInput("{} is no {}", *real, type.keyword());
    return model::Value(static_cast<int64_t>(*real));
  }
  return value;
}

}  // namespace

Result<model::Value> ShapeValues(const model::Value::List& list, const model::Datatype& type,
                                 std::span<const uint64_t> shape) {
  if (CheckedProduct(shape) != list.size()) {
    return model::BadInput("{} values for the shape [{}]", list.size(), fmt::join(shape, ", "));
  }
  model::Value::List values;
  for (const model::Value& value : list) {
    NDLFS_TRY(values.emplace_back(), ValueOfType(value, type));
  }
  for (size_t d = shape.size(); d-- > 0;) {
    model::Value::List nested;
    const uint64_t extent = std::max<uint64_t>(shape[d], 1);
    for (size_t i = 0; i < values.size(); i += extent) {
      const auto begin = values.begin() + static_cast<ptrdiff_t>(i);
      nested.emplace_back(
          model::Value::List(std::make_move_iterator(begin),
                             std::make_move_iterator(begin + static_cast<ptrdiff_t>(extent))));
    }
    values = std::move(nested);
  }
  if (values.empty()) return model::Value(model::Value::List());
  return std::move(values.front());
}

Result<ArrayValues> ArrayValues::Make(const model::Ndarray& array, uint64_t max_bytes,
                                      const Lengths& lengths) {
  const bool is_fixed = array.type.is_fixed_size();
  if (is_fixed && array.type.size() == 0) return model::Unsupported("elements of 0 bytes");
  const std::vector<uint64_t> shape = WholeShape(array, lengths);
  NDLFS_TRY(const model::Value value, WholeValue(array, shape, max_bytes));
  ElementEncoder encoder(array.type, max_bytes);
  NDLFS_RETURN_IF_ERROR(encoder.AddElements(value, array.shape.size()));
  ArrayValues values;
  values.bytes_ = encoder.TakeBytes();
  values.starts_ = encoder.TakeStarts();
  const uint64_t element_bytes =
      is_fixed ? array.type.size()
               : values.bytes_.size() / std::max<uint64_t>(values.starts_.size(), 1);
  if (!is_fixed) values.starts_.push_back(values.bytes_.size());
  ArraySpec& spec = values.spec_;
  spec.dtype = array.type;
  spec.shape = shape;
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
