// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/object.h"

#include <algorithm>
#include <array>
#include <deque>

#include "backends/base/checked.h"
#include "backends/format/hdf5/element_type.h"
#include "backends/format/hdf5/group.h"
#include "model/attributes.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

// The parts of an attribute message: a name, a datatype, a dataspace, and the elements. Without
// a `file`, only the name.
Result<RawAttribute> ParseAttribute(const Metadata* file, ConstByteSpan message) {
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
  RawAttribute raw;
  raw.name = name.substr(0, name.find('\0'));
  NDLFS_RETURN_IF_ERROR(in.Check("an attribute"));
  if (file == nullptr) return raw;
  if (version == 0 || version > 3) {
    raw.error = model::Unsupported("an attribute of version {}", version).value();
    return raw;
  }
  raw.type = take(type_bytes);
  raw.space = take(space_bytes);
  raw.data = in.Take(in.left());
  if (auto sound = in.Check("the attribute"); !sound) raw.error = std::move(sound).error();
  if (version == 1 || raw.error) return raw;
  const auto follow = [&](MessageType type, ByteVector& holder, ConstByteSpan& part) {
    auto shared = file->Shared(type, part);
    if (!shared) {
      raw.error = std::move(shared).error();
      return;
    }
    holder = *std::move(shared);
    part = holder;
  };
  if (flags & kTypeIsShared) follow(MessageType::kDatatype, raw.shared_type, raw.type);
  if (flags & kSpaceIsShared) follow(MessageType::kDataspace, raw.shared_space, raw.space);
  return raw;
}

// Where the attributes are that do not lie in the header, by its attribute info message
// (IV.A.2.v).
struct DensePlaces {
  uint64_t heap = kNowhere;
  uint64_t by_name = kNowhere;
};

Result<DensePlaces> DensePlacesOf(const Metadata& file, const ObjectHeader& header) {
  constexpr uint64_t kHasMaximum = 1;
  DensePlaces places;
  const HeaderMessage* info = header.Find(MessageType::kAttributeInfo);
  if (info == nullptr) return places;
  Cursor in(info->body);
  in.Skip(1);
  if (in.Number(1) & kHasMaximum) in.Skip(2);
  places.heap = in.Address(file.offset_bytes());
  places.by_name = in.Address(file.offset_bytes());
  NDLFS_RETURN_IF_ERROR(in.Check("the attribute info"));
  return places;
}

}  // namespace

// The attributes in a heap. A record of their tree is an identifier of the heap, flags, the
// order of creation, and the hash of the name.
class DenseAttributes {
 public:
  static constexpr size_t kRecordBytes = 8 + 1 + 4 + 4;
  using Record = std::array<std::byte, kRecordBytes>;

  // With a heap of its own, so that the blocks which it keeps go when this does.
  static Result<std::shared_ptr<const DenseAttributes>> Open(const Metadata& file,
                                                             const ObjectHeader& header) {
    auto dense = std::make_shared<DenseAttributes>();
    NDLFS_TRY(const auto places, DensePlacesOf(file, header));
    if (places.heap == kNowhere) return dense;
    NDLFS_TRY(dense->heap_, FractalHeap::Open(file, places.heap));
    NDLFS_TRY(dense->tree_, Tree2::Open(file, places.by_name));
    if (dense->tree_.record_bytes() != kRecordBytes) {
      return model::Corrupt("attributes in another tree");
    }
    return dense;
  }

  // The message of an attribute, or as much of it as could be shown.
  Result<ByteVector> Read(const Metadata& file, ConstByteSpan record) const {
    constexpr uint64_t kIsShared = 2;
    constexpr uint64_t kMost = model::AttributeRoom::kMostBytes + (uint64_t{1} << 20);
    const ConstByteSpan id = record.first(8);
    const bool is_shared = Cursor(record.subspan(8)).Number(1) & kIsShared;
    return is_shared ? file.SharedObject(MessageType::kAttribute, id)
                     : heap_->Get(file, id, kMost);
  }

  Result<void> ForEach(const Metadata& file, const Tree2::Visit& visit) const {
    return heap_ ? tree_.ForEach(file, visit) : Result<void>();
  }

  // Empty if there is none.
  Result<ByteVector> Find(const Metadata& file, std::string_view name) const {
    ByteVector found;
    if (!heap_) return found;
    const uint64_t hash = HashOf(AsBytes(name));
    const auto compare = [&](ConstByteSpan record) -> Result<int> {
      const uint64_t other = Cursor(record.last(4)).Number(4);
      if (hash != other) return hash < other ? -1 : 1;
      NDLFS_TRY(auto message, Read(file, record));
      NDLFS_TRY(const auto raw, ParseAttribute(nullptr, message));
      const int order = name.compare(raw.name);
      if (order == 0) found = std::move(message);
      return order;
    };
    NDLFS_RETURN_IF_ERROR(tree_.Find(file, compare));
    return found;
  }

 private:
  std::shared_ptr<const FractalHeap> heap_;  // null: there are none
  Tree2 tree_;
};

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

Result<const DenseAttributes*> Object::Dense() const {
  if (!dense_) {
    NDLFS_TRY(dense_, DenseAttributes::Open(*file_, *header_));
  }
  return dense_.get();
}

Result<void> Object::ForEachAttribute(
    const std::function<void(const RawAttribute&)>& visit) const {
  constexpr uint64_t kMostBytes = uint64_t{8} << 20;     // of all places
  constexpr uint64_t kMostMessages = uint64_t{2} << 20;  // others are read again
  struct Place {
    uint64_t order;
    std::string name;
    ConstByteSpan message;
    ByteVector read = {};  // what the message lies in, if that is not the header
    DenseAttributes::Record record = {};
  };
  std::deque<Place> places;
  uint64_t bytes = 0;
  uint64_t message_bytes = 0;
  const auto add = [&](uint64_t order, ConstByteSpan message) -> Result<Place*> {
    NDLFS_TRY(auto raw, ParseAttribute(nullptr, message));
    bytes += sizeof(Place) + raw.name.size();
    if (bytes > kMostBytes) return nullptr;
    return &places.emplace_back(Place{order, std::move(raw.name), message});
  };
  for (const HeaderMessage& message : header_->messages()) {
    if (message.type != MessageType::kAttribute) continue;
    NDLFS_RETURN_IF_ERROR(add(message.order, message.body));
  }
  NDLFS_TRY(const auto* dense, Dense());
  const auto add_dense = [&](ConstByteSpan record) -> Result<bool> {
    NDLFS_TRY(auto message, dense->Read(*file_, record));
    NDLFS_TRY(Place* const place, add(Cursor(record.subspan(9)).Number(4), message));
    if (place == nullptr) return false;
    std::ranges::copy(record, place->record.begin());
    place->message = {};
    if (message_bytes + message.size() > kMostMessages) return true;
    message_bytes += message.size();
    place->read = std::move(message);
    place->message = place->read;
    return true;
  };
  NDLFS_RETURN_IF_ERROR(dense->ForEach(*file_, add_dense));
  if (header_->tracks_attribute_order()) {
    std::ranges::stable_sort(places, {}, &Place::order);
  } else {
    std::ranges::stable_sort(places, {}, &Place::name);
  }
  for (const Place& place : places) {
    ByteVector again;
    if (place.message.empty()) {
      NDLFS_TRY(again, dense->Read(*file_, place.record));
    }
    NDLFS_TRY(const auto raw,
              ParseAttribute(file_, again.empty() ? place.message : ConstByteSpan(again)));
    visit(raw);
  }
  if (bytes > kMostBytes) {
    return model::Limit("only {} of its attributes are looked at", places.size());
  }
  return {};
}

bool Object::MayHaveLargeAttributes() const {
  constexpr uint64_t kSmallHeader = uint64_t{64} << 10;
  if (header_->held_bytes() > kSmallHeader) return true;
  const auto dense = DensePlacesOf(*file_, *header_);
  return dense && dense->heap != kNowhere;
}

std::optional<RawAttribute> Object::Attribute(std::string_view name) const {
  for (const HeaderMessage& message : header_->messages()) {
    if (message.type != MessageType::kAttribute) continue;
    const auto named = ParseAttribute(nullptr, message.body);
    if (!named || named->name != name) continue;
    auto raw = ParseAttribute(file_, message.body);
    return raw ? std::optional(*std::move(raw)) : std::nullopt;
  }
  const auto dense = Dense();
  if (!dense) return std::nullopt;
  auto message = (*dense)->Find(*file_, name);
  if (!message || message->empty()) return std::nullopt;
  auto raw = ParseAttribute(file_, *message);
  if (!raw) return std::nullopt;
  raw->message = *std::move(message);
  return *std::move(raw);
}

std::optional<std::string> Object::Text(std::string_view name) const {
  constexpr uint64_t kMaxText = uint64_t{1} << 20;
  class NoReferences final : public ReferenceReader {
    std::string ObjectPath(uint64_t) override { return ""; }
    Result<std::string> RegionText(ConstByteSpan) override { return ""; }
  };
  const auto raw = Attribute(name);
  if (!raw || raw->error) return std::nullopt;
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
  const auto raw = Attribute(name);
  if (!raw || raw->error) return {};
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
