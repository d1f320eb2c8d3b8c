// SPDX-License-Identifier: MIT
#include "backends/base/element_encoder.h"

#include <cstring>
#include <string>

#include "backends/base/json.h"

namespace ndlfs::backends {

using model::Datatype;
using model::Result;
using model::Value;

namespace {

model::Failure Mismatch(std::string_view what) {
  return model::Internal("a value that is not {}", what);
}

std::string RegionText(const model::Region& region) {
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

}  // namespace

Result<void> ElementEncoder::AddElements(const Value& value, size_t depth) {
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

Result<void> ElementEncoder::Add(const Datatype& type, const Value& value) {
  switch (type.kind()) {
    case Datatype::Kind::kString:
      if (type.is_fixed_size()) return AddFixed(type, value);
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
      return AddFixed(type, value);
  }
}

Result<std::byte*> ElementEncoder::Grow(uint64_t count) {
  if (count > max_bytes_ || size() > max_bytes_ - count) {
    return model::Limit("values that take more than {} bytes", max_bytes_);
  }
  bytes_.resize(bytes_.size() + count);
  return bytes_.data() + (bytes_.size() - count);
}

Result<void> ElementEncoder::AddFixed(const Datatype& type, const Value& value) {
  NDLFS_TRY(std::byte * out, Grow(type.size()));
  return model::EncodeElement(type, value, std::span(out, type.size()));
}

Result<void> ElementEncoder::AddCount(uint64_t count) {
  const auto word = static_cast<uint32_t>(count);
  NDLFS_TRY(std::byte * out, Grow(sizeof(word)));
  std::memcpy(out, &word, sizeof(word));
  return {};
}

Result<void> ElementEncoder::AddText(std::string_view text) {
  NDLFS_RETURN_IF_ERROR(AddCount(text.size()));
  NDLFS_TRY(std::byte * out, Grow(text.size()));
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  return {};
}

// Fills up a value that is shorter than the type with zeros.
Result<void> ElementEncoder::AddOpaque(const Datatype& type, const Value& value) {
  if (!value.blob() || value.blob()->size() > type.size()) return Mismatch("binary");
  NDLFS_TRY(std::byte * out, Grow(type.size()));
  if (!value.blob()->empty()) std::memcpy(out, value.blob()->data(), value.blob()->size());
  return {};
}

Result<void> ElementEncoder::AddCompound(const Datatype& type, const Value& value) {
  const auto& members = type.members();
  if (!value.map() || value.map()->size() != members.size()) return Mismatch("a map");
  for (size_t i = 0; i < members.size(); ++i) {
    NDLFS_RETURN_IF_ERROR(Add(members[i].type, (*value.map())[i].second));
  }
  return {};
}

Result<void> ElementEncoder::AddVlen(const Datatype& type, const Value& value) {
  if (!value.list()) return Mismatch("a list");
  NDLFS_RETURN_IF_ERROR(AddCount(value.list()->size()));
  return AddArray(type.base(), value, 1);
}

Result<void> ElementEncoder::AddArray(const Datatype& base, const Value& value, size_t depth) {
  if (depth == 0) return Add(base, value);
  if (!value.list()) return Mismatch("a list");
  for (const Value& item : *value.list()) {
    NDLFS_RETURN_IF_ERROR(AddArray(base, item, depth - 1));
  }
  return {};
}

}  // namespace ndlfs::backends
