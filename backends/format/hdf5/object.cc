// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/object.h"

#include <algorithm>

#include "backends/base/checked.h"
#include "backends/format/hdf5/element_type.h"
#include "backends/format/hdf5/group.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

// The most bytes of the attributes of one object.
constexpr uint64_t kMaxAttributesBytes = uint64_t{64} << 20;

// The parts of an attribute message: a name, a datatype, a dataspace, and the elements.
Result<void> ParseAttribute(const Metadata& file, ConstByteSpan message, RawAttribute& raw) {
  constexpr uint64_t kTypeIsShared = 1;
  constexpr uint64_t kSpaceIsShared = 2;
  Cursor in(message);
  const uint64_t version = in.Number(1);
  const uint64_t flags = in.Number(1);
  const uint64_t name_bytes = in.Number(2);
  const uint64_t type_bytes = in.Number(2);
  const uint64_t space_bytes = in.Number(2);
  if (version == 3) in.Skip(1);  // the charset of the name
  const auto take = [&](uint64_t bytes) {
    const ConstByteSpan taken = in.Take(bytes);
    if (version == 1) in.Skip((8 - bytes % 8) % 8);
    return taken;
  };
  const std::string_view name = AsText(take(name_bytes));
  raw.name = name.substr(0, name.find('\0'));
  NDLFS_RETURN_IF_ERROR(in.Check("an attribute"));
  if (version == 0 || version > 3) {
    raw.error = model::Unsupported("an attribute of version {}", version).value();
    return {};
  }
  raw.type = take(type_bytes);
  raw.space = take(space_bytes);
  raw.data = in.Take(in.left());
  if (auto sound = in.Check("the attribute"); !sound) raw.error = std::move(sound).error();
  if (version == 1 || raw.error) return {};
  const auto follow = [&](MessageType type, ByteVector& holder, ConstByteSpan& part) {
    auto shared = file.Shared(type, part);
    if (!shared) {
      raw.error = std::move(shared).error();
      return;
    }
    holder = *std::move(shared);
    part = holder;
  };
  if (flags & kTypeIsShared) follow(MessageType::kDatatype, raw.shared_type, raw.type);
  if (flags & kSpaceIsShared) follow(MessageType::kDataspace, raw.shared_space, raw.space);
  return {};
}

// The heap that an attribute info message (IV.A.2.v) names.
uint64_t AddressOfDense(const Metadata& file, Cursor& in) {
  constexpr uint64_t kHasMaximum = 1;
  in.Skip(1);
  if (in.Number(1) & kHasMaximum) in.Skip(2);
  return in.Address(file.offset_bytes());
}

// The attributes that lie in a heap.
Result<void> ReadDense(const Metadata& file, ConstByteSpan info,
                       std::vector<RawAttribute>& attributes) {
  constexpr uint64_t kIsShared = 2;
  constexpr size_t kIdBytes = 8;
  Cursor in(info);
  const uint64_t heap_address = AddressOfDense(file, in);
  const uint64_t by_name = in.Address(file.offset_bytes());
  NDLFS_RETURN_IF_ERROR(in.Check("the attribute info"));
  if (heap_address == kNowhere) return {};
  NDLFS_TRY(const auto heap, file.Heap(heap_address));
  NDLFS_TRY(const auto tree, Tree2::Open(file, by_name));
  if (tree.record_bytes() < kIdBytes + 1 + 4)
    return model::Corrupt("attributes in another tree");
  uint64_t bytes = 0;
  return tree.ForEach(file, [&](ConstByteSpan record) -> Result<bool> {
    const ConstByteSpan id = record.first(kIdBytes);
    Cursor rest(record.subspan(kIdBytes));
    const bool is_shared = rest.Number(1) & kIsShared;
    RawAttribute raw;
    raw.order = rest.Number(4);
    NDLFS_TRY(raw.message,
              is_shared ? file.SharedObject(MessageType::kAttribute, id) : heap->Get(file, id));
    bytes += raw.message.size() + sizeof(raw);
    if (bytes > kMaxAttributesBytes) return model::Limit("attributes of too many bytes");
    NDLFS_RETURN_IF_ERROR(ParseAttribute(file, raw.message, raw));
    attributes.push_back(std::move(raw));
    return true;
  });
}

Result<std::vector<RawAttribute>> ReadAll(const Metadata& file, const ObjectHeader& header) {
  std::vector<RawAttribute> attributes;
  for (const HeaderMessage& message : header.messages()) {
    if (message.type == MessageType::kAttributeInfo) {
      NDLFS_RETURN_IF_ERROR(ReadDense(file, message.body, attributes));
    } else if (message.type == MessageType::kAttribute) {
      RawAttribute raw;
      raw.order = message.order;
      NDLFS_RETURN_IF_ERROR(ParseAttribute(file, message.body, raw));
      attributes.push_back(std::move(raw));
    }
  }
  if (header.tracks_attribute_order()) {
    std::ranges::stable_sort(attributes, {}, &RawAttribute::order);
  } else {
    std::ranges::stable_sort(attributes, {}, &RawAttribute::name);
  }
  return attributes;
}

}  // namespace

Result<Extent> ParseExtent(const Metadata& file, ConstByteSpan message) {
  constexpr uint64_t kMaxRank = 32;
  constexpr uint64_t kHasMaximum = 1;
  constexpr uint64_t kNull = 2;
  Cursor in(message);
  const uint64_t version = in.Number(1);
  const uint64_t rank = in.Number(1);
  const uint64_t flags = in.Number(1);
  if (version != 1 && version != 2) return model::Unsupported("a shape of version {}", version);
  Extent extent;
  if (version == 1) {
    in.Skip(5);
  } else {
    extent.is_null = in.Number(1) == kNull;
  }
  if (rank > kMaxRank) return model::Corrupt("a shape of {} dimensions", rank);
  for (uint64_t d = 0; d < rank; ++d) extent.shape.push_back(in.Number(file.length_bytes()));
  extent.max_shape = extent.shape;
  for (uint64_t d = 0; flags & kHasMaximum && d < rank; ++d) {
    extent.max_shape[d] = in.Address(file.length_bytes());
  }
  NDLFS_RETURN_IF_ERROR(in.Check("the shape"));
  if (extent.is_null) return Extent{.is_null = true, .shape = {}, .max_shape = {}};
  for (uint64_t d = 0; d < rank; ++d) {
    if (extent.max_shape[d] < extent.shape[d]) {
      return model::Corrupt("a dimension of {}, of at most {}", extent.shape[d],
                            extent.max_shape[d]);
    }
  }
  return extent;
}

Result<Object> Object::Open(const Metadata& file, uint64_t address) {
  NDLFS_TRY(auto header, file.Header(address));
  return Object(file, std::move(header));
}

Object::Kind Object::kind() const {
  if (IsGroup(*header_)) return Kind::kGroup;
  if (!header_->Find(MessageType::kDatatype)) return Kind::kOther;
  return header_->Find(MessageType::kDataspace) ? Kind::kDataset : Kind::kNamedDatatype;
}

const Result<std::vector<RawAttribute>>& Object::attributes() const {
  if (!attributes_) attributes_ = ReadAll(*file_, *header_);
  return *attributes_;
}

bool Object::MayHaveLargeAttributes() const {
  constexpr uint64_t kSmallHeader = uint64_t{64} << 10;
  if (header_->held_bytes() > kSmallHeader) return true;
  const HeaderMessage* info = header_->Find(MessageType::kAttributeInfo);
  if (info == nullptr) return false;
  Cursor in(info->body);
  return AddressOfDense(*file_, in) != kNowhere;
}

const RawAttribute* Object::Attribute(std::string_view name) const {
  const auto& all = attributes();
  if (!all) return nullptr;
  const auto found = std::ranges::find(*all, name, &RawAttribute::name);
  return found == all->end() ? nullptr : &*found;
}

std::optional<std::string> Object::Text(std::string_view name) const {
  constexpr uint64_t kMaxText = uint64_t{1} << 20;
  class NoReferences final : public ReferenceReader {
    std::string ObjectPath(uint64_t) override { return ""; }
    Result<std::string> RegionText(ConstByteSpan) override { return ""; }
  };
  const RawAttribute* raw = Attribute(name);
  if (raw == nullptr || raw->error) return std::nullopt;
  const auto type = ReadElementType(*file_, raw->type);
  const auto extent = ParseExtent(*file_, raw->space);
  if (!type || !extent || type->type.kind() != model::Datatype::Kind::kString ||
      extent->is_null || CheckedProduct(extent->shape) != uint64_t{1}) {
    return std::nullopt;
  }
  NoReferences none;
  ByteVector value;
  if (!ElementReader(*file_, none, kMaxText).Append(type->form, raw->data, 1, value)) {
    return std::nullopt;
  }
  std::string_view text = AsText(value);
  if (!type->type.is_fixed_size()) text.remove_prefix(sizeof(uint32_t));
  return std::string(text.substr(0, text.find('\0')));
}

std::vector<int64_t> Object::Integers(std::string_view name) const {
  constexpr uint64_t kMost = 64;
  const RawAttribute* raw = Attribute(name);
  if (raw == nullptr || raw->error) return {};
  const auto type = ReadElementType(*file_, raw->type);
  const auto extent = ParseExtent(*file_, raw->space);
  const auto count = extent ? CheckedProduct(extent->shape) : std::nullopt;
  if (!type || !count || extent->is_null || *count > kMost) return {};
  const bool is_integer =
      type->is_plain && type->type.kind() == model::Datatype::Kind::kInteger;
  const size_t size = type->form.size;
  if (!is_integer || *count * size > raw->data.size()) return {};
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < *count; ++i) {
    const ConstByteSpan element = raw->data.subspan(i * size, size);
    ByteVector bytes(element.begin(), element.end());
    if (type->form.kind == Form::Kind::kReversed) std::ranges::reverse(bytes);
    const uint64_t number = Cursor(bytes).Number(size);
    const size_t unused = 64 - 8 * size;
    values.push_back(type->type.is_signed() ? static_cast<int64_t>(number << unused) >> unused
                                            : static_cast<int64_t>(number));
  }
  return values;
}

Result<Extent> Object::ReadExtent() const {
  const HeaderMessage* message = header_->Find(MessageType::kDataspace);
  if (message == nullptr) return model::Corrupt("a dataset without a shape");
  return ParseExtent(*file_, message->body);
}

}  // namespace ndlfs::backends::hdf5
