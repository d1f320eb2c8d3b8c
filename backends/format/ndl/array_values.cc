// SPDX-License-Identifier: MIT
#include "backends/format/ndl/array_values.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "backends/base/json.h"
#include "backends/format/block_shape.h"

namespace ndlfs::backends::ndl {
namespace {

using model::Datatype;
using model::Result;
using model::Value;

// Appends elements, one after the other, as backends/format/array_source.h says. The
// values have been read for their types: what does not fit is our own mistake.
class Encoder {
 public:
  Encoder(const Datatype& type, uint64_t max_bytes) : type_(type), max_bytes_(max_bytes) {}

  // The elements of lists nested `depth` deep.
  Result<void> AddElements(const Value& value, size_t depth) {
    if (depth == 0) {
      if (!type_.is_fixed_size()) starts_.push_back(bytes_.size());
      return Add(type_, value);
    }
    if (!value.list()) return Mismatch("a list");
    for (const Value& item : *value.list()) {
      NDLFS_RETURN_IF_ERROR(AddElements(item, depth - 1));
    }
    return {};
  }

  uint64_t size() const { return bytes_.size() + starts_.size() * sizeof(uint64_t); }
  std::vector<std::byte> TakeBytes() { return std::move(bytes_); }
  // Where each element begins, if they are not all of one size.
  std::vector<uint64_t> TakeStarts() { return std::move(starts_); }

 private:
  static model::Failure Mismatch(std::string_view what) {
    return model::Internal("a value that is not {}", what);
  }

  Result<void> Add(const Datatype& type, const Value& value) {
    switch (type.kind()) {
      case Datatype::Kind::kString:
        if (!value.text()) return Mismatch("text");
        return AddText(*value.text());
      case Datatype::Kind::kOpaque:
        return AddOpaque(type, value);
      case Datatype::Kind::kObjectRef:
        return AddText(value.text() ? *value.text() : "");
      case Datatype::Kind::kRegionRef:
        return AddText(value.region() ? RegionText(*value.region()) : "");
      case Datatype::Kind::kCompound:
        return AddCompound(type, value);
      case Datatype::Kind::kVlen:
        return AddVlen(type, value);
      case Datatype::Kind::kArray:
        return AddArray(type.base(), value, type.shape().size());
      default:
        NDLFS_TRY(std::byte * out, Grow(type.size()));
        return model::EncodeElement(type, value, std::span(out, type.size()));
    }
  }

  // Room for `count` bytes more, which are zero.
  Result<std::byte*> Grow(uint64_t count) {
    if (count > max_bytes_ || size() > max_bytes_ - count) {
      return model::Limit("values that take more than {} bytes", max_bytes_);
    }
    bytes_.resize(bytes_.size() + count);
    return bytes_.data() + (bytes_.size() - count);
  }

  Result<void> AddCount(uint64_t count) {
    const auto word = static_cast<uint32_t>(count);
    NDLFS_TRY(std::byte * out, Grow(sizeof(word)));
    std::memcpy(out, &word, sizeof(word));
    return {};
  }

  Result<void> AddText(std::string_view text) {
    NDLFS_RETURN_IF_ERROR(AddCount(text.size()));
    NDLFS_TRY(std::byte * out, Grow(text.size()));
    if (!text.empty()) std::memcpy(out, text.data(), text.size());
    return {};
  }

  // What is shorter than the type is filled up with zeros.
  Result<void> AddOpaque(const Datatype& type, const Value& value) {
    if (!value.blob() || value.blob()->size() > type.size()) return Mismatch("binary");
    NDLFS_TRY(std::byte * out, Grow(type.size()));
    if (!value.blob()->empty()) {
      std::memcpy(out, value.blob()->data(), value.blob()->size());
    }
    return {};
  }

  static std::string RegionText(const model::Region& region) {
    Json json;
    json["target"] = region.target;
    if (region.selection == Datatype::Selection::kBlock) {
      json["start"] = region.points.at(0);
      json["opposite"] = region.points.at(1);
    } else {
      json["elements"] = region.points;
    }
    return CompactJson(json);
  }

  Result<void> AddCompound(const Datatype& type, const Value& value) {
    const auto& members = type.members();
    if (!value.map() || value.map()->size() != members.size()) return Mismatch("a map");
    for (size_t i = 0; i < members.size(); ++i) {
      NDLFS_RETURN_IF_ERROR(Add(members[i].type, (*value.map())[i].second));
    }
    return {};
  }

  Result<void> AddVlen(const Datatype& type, const Value& value) {
    if (!value.list()) return Mismatch("a list");
    NDLFS_RETURN_IF_ERROR(AddCount(value.list()->size()));
    return AddArray(type.base(), value, 1);
  }

  Result<void> AddArray(const Datatype& base, const Value& value, size_t depth) {
    if (depth == 0) return Add(base, value);
    if (!value.list()) return Mismatch("a list");
    for (const Value& item : *value.list()) {
      NDLFS_RETURN_IF_ERROR(AddArray(base, item, depth - 1));
    }
    return {};
  }

  const Datatype& type_;
  const uint64_t max_bytes_;
  std::vector<std::byte> bytes_;
  std::vector<uint64_t> starts_;
};

}  // namespace

std::vector<uint64_t> ExtentOfValue(const model::Ndarray& array) {
  // Lists without elements need not show all extents.
  const bool has_none = std::any_of(array.shape.begin(), array.shape.end(),
                                    [](const auto& d) { return d.size == uint64_t{0}; });
  std::vector<uint64_t> extent;
  const Value* value = &*array.value;
  for (const model::Dimension& dimension : array.shape) {
    const Value::List* list = value ? value->list() : nullptr;
    const bool is_shown = list && !(has_none && dimension.size);
    extent.push_back(is_shown ? list->size() : dimension.size.value_or(0));
    value = list && !list->empty() ? &list->front() : nullptr;
  }
  return extent;
}

Result<ArrayValues> ArrayValues::Make(const model::Ndarray& array, uint64_t max_bytes) {
  const bool is_fixed = array.type.is_fixed_size();
  if (is_fixed && array.type.size() == 0) return model::Unsupported("elements of 0 bytes");
  Encoder encoder(array.type, max_bytes);
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
