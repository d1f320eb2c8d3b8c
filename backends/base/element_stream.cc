// SPDX-License-Identifier: MIT
#include "backends/base/element_stream.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "backends/base/checked.h"
#include "backends/base/json.h"
#include "model/utf8.h"

namespace ndlfs::backends {

using model::Corrupt;
using model::Datatype;
using model::Result;
using model::Value;

Result<ConstByteSpan> TakeBytes(ConstByteSpan& stream, uint64_t count) {
  if (count > stream.size()) {
    return Corrupt("an element needs {} bytes where {} are left", count, stream.size());
  }
  const ConstByteSpan taken = stream.first(count);
  stream = stream.subspan(count);
  return taken;
}

Result<uint32_t> TakeCount(ConstByteSpan& stream) {
  NDLFS_TRY(const ConstByteSpan bytes, TakeBytes(stream, sizeof(uint32_t)));
  uint32_t count;
  std::memcpy(&count, bytes.data(), sizeof(count));
  return count;
}

Result<std::string_view> TakeText(ConstByteSpan& stream) {
  NDLFS_TRY(const uint32_t length, TakeCount(stream));
  NDLFS_TRY(const ConstByteSpan bytes, TakeBytes(stream, length));
  return AsText(bytes);
}

std::string TextAsUtf8(const Datatype& type, std::string_view text) {
  const bool is_latin1 = type.charset() == model::Charset::kLatin1 || !model::IsUtf8(text);
  return is_latin1 ? model::Latin1ToUtf8(text) : std::string(text);
}

namespace {

Result<Value> TakeString(const Datatype& type, ConstByteSpan& stream) {
  NDLFS_TRY(const std::string_view text, TakeText(stream));
  return Value(TextAsUtf8(type, text));
}

Result<Value> TakeRegion(Datatype::Selection selection, ConstByteSpan& stream) {
  NDLFS_TRY(const std::string_view text, TakeText(stream));
  if (text.empty()) return Value();
  NDLFS_TRY(const Json json, ParseJson(text));
  model::Region region;
  region.selection = selection;
  NDLFS_TRY(const Json* target, RequireMember(json, "target"));
  if (!target->is_string()) return Corrupt("a region without a target");
  region.target = target->get<std::string>();
  if (selection == Datatype::Selection::kBlock) {
    for (const char* corner : {"start", "opposite"}) {
      NDLFS_TRY(const Json* point, RequireMember(json, corner));
      NDLFS_TRY(auto indices, JsonToSizes(*point));
      region.points.push_back(std::move(indices));
    }
  } else {
    NDLFS_TRY(const Json* elements, RequireMember(json, "elements"));
    for (const Json& point : *elements) {
      NDLFS_TRY(auto indices, JsonToSizes(point));
      region.points.push_back(std::move(indices));
    }
  }
  return Value(std::move(region));
}

Result<Value> TakeList(const Datatype& base, uint64_t count, ConstByteSpan& stream) {
  // Elements without bytes would allow a list of any length in a short stream.
  if (count > stream.size() && (!base.is_fixed_size() || base.size() == 0)) {
    return Corrupt("{} elements in {} bytes", count, stream.size());
  }
  Value::List list;
  for (uint64_t i = 0; i < count; ++i) {
    NDLFS_TRY(Value value, TakeElement(base, stream));
    list.push_back(std::move(value));
  }
  return Value(std::move(list));
}

// Reads lists nested as `shape` says.
Result<Value> TakeNested(const Datatype& base, std::span<const uint64_t> shape,
                         ConstByteSpan& stream) {
  if (shape.size() <= 1) return TakeList(base, shape.empty() ? 1 : shape[0], stream);
  Value::List list;
  for (uint64_t i = 0; i < shape[0]; ++i) {
    NDLFS_TRY(Value value, TakeNested(base, shape.subspan(1), stream));
    list.push_back(std::move(value));
  }
  return Value(std::move(list));
}

Result<Value> TakeCompound(const Datatype& type, ConstByteSpan& stream) {
  Value::Map map;
  for (const Datatype::Member& member : type.members()) {
    NDLFS_TRY(Value value, TakeElement(member.type, stream), member.name);
    map.emplace_back(member.name, std::move(value));
  }
  return Value(std::move(map));
}

void AppendZeroElement(const Datatype& type, std::vector<std::byte>& out) {
  switch (type.kind()) {
    case Datatype::Kind::kCompound:
      for (const auto& member : type.members()) AppendZeroElement(member.type, out);
      return;
    case Datatype::Kind::kArray:
      for (uint64_t i = 0; i < type.array_length(); ++i) AppendZeroElement(type.base(), out);
      return;
    default:
      out.resize(out.size() + (type.is_fixed_size() ? type.size() : sizeof(uint32_t)));
  }
}

}  // namespace

Result<Value> TakeElement(const Datatype& type, ConstByteSpan& stream) {
  switch (type.kind()) {
    case Datatype::Kind::kVlen: {
      NDLFS_TRY(const uint32_t count, TakeCount(stream));
      return TakeList(type.base(), count, stream);
    }
    case Datatype::Kind::kObjectRef: {
      NDLFS_TRY(const std::string_view path, TakeText(stream));
      return path.empty() ? Value() : Value(std::string(path));
    }
    case Datatype::Kind::kRegionRef:
      return TakeRegion(type.selection(), stream);
    case Datatype::Kind::kCompound:
      return TakeCompound(type, stream);
    case Datatype::Kind::kArray:
      return TakeNested(type.base(), type.shape(), stream);
    default:
      break;
  }
  if (!type.is_fixed_size()) return TakeString(type, stream);
  NDLFS_TRY(const ConstByteSpan bytes, TakeBytes(stream, type.size()));
  return model::DecodeElement(type, bytes);
}

std::vector<std::byte> ZeroElement(const Datatype& type) {
  std::vector<std::byte> out;
  AppendZeroElement(type, out);
  return out;
}

Result<ElementTable> ElementTable::Make(ConstByteSpan chunk, uint64_t count) {
  const auto entries = CheckedAdd(count, 1);
  const auto bytes = entries ? CheckedMultiply(*entries, 8) : std::nullopt;
  if (!bytes || *bytes > chunk.size()) {
    return Corrupt("{} bytes do not hold {} elements", chunk.size(), count);
  }
  const ElementTable table(chunk, count);
  uint64_t end = 0;
  for (uint64_t i = 0; i <= count; ++i) {
    if (table.Offset(i) < end)
      return Corrupt("element {} begins before the one before it ends", i);
    end = table.Offset(i);
  }
  if (end > chunk.size() - *bytes) return Corrupt("the elements end beyond their chunk");
  return table;
}

uint64_t ElementTable::Offset(uint64_t index) const {
  uint64_t offset;
  std::memcpy(&offset, chunk_.data() + 8 * index, sizeof(offset));
  return offset;
}

ConstByteSpan ElementTable::operator[](uint64_t index) const {
  const uint64_t base = 8 * (count_ + 1);
  return chunk_.subspan(base + Offset(index), Offset(index + 1) - Offset(index));
}

}  // namespace ndlfs::backends
