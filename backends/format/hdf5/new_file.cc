// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/new_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/base/checked.h"
#include "backends/base/utf32_text.h"
#include "backends/format/hdf5/group.h"
#include "backends/format/hdf5/metadata.h"
#include "backends/format/hdf5/new_parts.h"
#include "backends/format/hdf5/new_type.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;
using NewKind = NewObject::Kind;

// How netCDF-C calls a dimension that has no variable.
constexpr const char* kDimensionName =
    "This is a netCDF dimension but not a netCDF variable. {:10}";
constexpr uint64_t kMostMetadata = uint64_t{240} << 20;
constexpr size_t kMostRank = 32;
constexpr size_t kMostLinkBytes = UINT16_MAX - 64;
constexpr size_t kSuperblockBytes = 48;

bool IsNewScale(const NewObject& object) {
  return object.kind == NewKind::kDimension ||
         (object.kind == NewKind::kDataset && object.is_scale);
}

// Whether the elements only get room.
bool HasRoom(const NewObject& object) {
  return object.kind == NewKind::kDataset && !object.data;
}
std::optional<uint64_t> RoomFor(const NewObject& object) {
  return HasRoom(object) ? CheckedProduct(object.shape, object.type.size()) : 0;
}

// The one chunk that has all elements of an object that may grow; empty where there is none,
// and for others. Their offset in the file is then that of the chunk.
std::vector<uint64_t> GrowingChunk(const NewObject& object) {
  if (!object.is_unlimited || !IsNewScale(object) || object.data) return {};
  if (object.kind == NewKind::kDimension) return {1024};
  constexpr uint64_t kMost = uint64_t{1} << 31;  // HDF5 has less than 4 GiB
  const auto bytes = CheckedProduct(object.shape, object.type.size());
  if (!object.type.is_fixed_size() || !bytes || *bytes == 0 || *bytes > kMost) return {};
  return object.shape;
}

// Whether the parts of the description refer to each other as new_file.h says.
Result<void> CheckDescription(const NewFile& file) {
  const auto& objects = file.objects;
  if (objects.empty() || objects[0].kind != NewKind::kGroup) {
    return model::BadInput("a file without a root group");
  }
  for (size_t i = 1; i < objects.size(); ++i) {
    const NewObject& object = objects[i];
    const bool has_parent = object.parent < i && objects[object.parent].kind == NewKind::kGroup;
    if (!has_parent || object.kind > NewKind::kSoftLink || !IsLinkName(object.name)) {
      return model::BadInput("object {} has no place", i);
    }
    if (!object.scales.empty() && object.scales.size() != object.shape.size()) {
      return model::BadInput("object {} has other scales than dimensions", i);
    }
    for (const uint32_t scale : object.scales) {
      const bool is_in_order = scale < i || (object.is_scale && scale < objects.size());
      if (!is_in_order || !IsNewScale(objects[scale])) {
        return model::BadInput("object {} has a scale that is none", i);
      }
    }
    const bool has_shape = object.kind != NewKind::kDimension || object.shape.size() == 1;
    if (!has_shape || (object.is_scale && object.shape.empty()) || !RoomFor(object)) {
      return model::BadInput("object {} has no such shape", i);
    }
  }
  return {};
}

// A dataspace (IV.A.2.b); the first dimension may grow without limit if `grows`.
std::vector<std::byte> SpaceMessage(const std::vector<uint64_t>& shape, bool grows = false) {
  ByteWriter out;
  out.Number(2, 1).Number(shape.size(), 1).Number(grows ? 1 : 0, 1);
  out.Number(shape.empty() ? 0 : 1, 1);
  for (const uint64_t extent : shape) out.Number(extent, 8);
  for (size_t d = 0; grows && d < shape.size(); ++d) {
    out.Number(d == 0 ? UINT64_MAX : shape[d], 8);
  }
  return out.Take();
}

// The messages of an object header of version 2 that tracks the order of attributes (IV.A.1.b).
class NewHeader {
 public:
  static constexpr uint64_t kShared = 2;

  Result<void> Add(MessageType type, ConstByteSpan body, uint64_t flags = 0,
                   uint64_t order = 0) {
    if (body.size() > UINT16_MAX) return model::Unsupported("a header of more than 64 KiB");
    messages_.Number(static_cast<uint64_t>(type), 1).Number(body.size(), 2).Number(flags, 1);
    messages_.Number(order, 2).Append(body);
    return {};
  }

  // Appends the header, and gives its address.
  uint64_t Finish(ByteWriter& file) const {
    constexpr uint64_t kTracksOrder = 4;
    constexpr uint64_t kSizeOf4Bytes = 2;
    const uint64_t address = file.Align(8).size();
    file.Text("OHDR").Number(2, 1).Number(kTracksOrder | kSizeOf4Bytes, 1);
    file.Number(messages_.size(), 4).Append(messages_.bytes()).Sum(address);
    return address;
  }

 private:
  ByteWriter messages_;
};

// Writes the file again and again, until all places are those that it was written with. They
// are after two times, if nothing refers to what was left out.
class FileWriter {
 public:
  explicit FileWriter(const NewFile& file) : description_(file) {
    places_.addresses.assign(objects().size(), kUnknown);
    children_.resize(objects().size());
    dimension_ids_.assign(objects().size(), -1);
    std::set<std::pair<uint32_t, std::string_view>> names;
    int32_t next_dimension = 0;
    for (size_t i = 0; i < objects().size(); ++i) {
      const NewObject& object = objects()[i];
      if (IsNewScale(object)) dimension_ids_[i] = next_dimension++;
      if (!object.path.empty()) by_path_.emplace(object.path, i);
      if (i == 0) continue;
      children_[object.parent].push_back(i);
      if (!names.emplace(object.parent, object.name).second) taken_names_.insert(i);
    }
  }

  Result<WrittenFile> Write() {
    constexpr int kMostPasses = 8;
    for (int pass = 0; pass < kMostPasses; ++pass) {
      const Places before = places_;
      NDLFS_RETURN_IF_ERROR(WriteAll());
      if (places_ != before) continue;
      WrittenFile written;
      written.size = std::max(room_end_, places_.room);
      written.offsets = std::move(offsets_);
      written.blocks.push_back({0, file_.Take()});
      return written;
    }
    return model::Internal("an HDF5 file whose parts find no place");
  }

 private:
  static constexpr uint64_t kUnknown = 1;
  // Where everything is.
  struct Places {
    std::vector<uint64_t> addresses;  // 0: not there
    uint64_t heap = 0;
    uint64_t room = 0;
    bool operator==(const Places&) const = default;
  };
  struct Attributes {
    std::vector<std::pair<std::string, std::vector<std::byte>>> messages;
    std::set<std::string, std::less<>> names;
  };

  const std::vector<NewObject>& objects() const { return description_.objects; }
  bool IsThere(size_t i) const { return places_.addresses[i] != 0; }

  Result<void> WriteAll() {
    file_.CutTo(0);
    file_.Zeros(kSuperblockBytes);
    heap_.emplace(places_.heap);
    left_out_ = description_.left_out;
    missing_targets_.clear();
    known_types_.clear();
    offsets_.assign(objects().size(), WrittenFile::kNowhere);
    room_end_ = places_.room;
    FindUsers();
    Places places;
    places.addresses.assign(objects().size(), 0);
    // The root is the last: it tells what was left out.
    for (size_t next = 1; next <= objects().size(); ++next) {
      const size_t i = next % objects().size();
      const size_t begin = file_.size();
      const auto made = Make(i);
      if (made) {
        places.addresses[i] = *made;
      } else if (i == 0) {
        return model::Propagate(made.error());
      } else {
        file_.CutTo(begin);
        offsets_[i] = WrittenFile::kNowhere;
        LeaveOut(i, made.error());
      }
      if (file_.size() + heap_->size() > kMostMetadata) {
        return model::Limit("the metadata of the file are too large");
      }
    }
    places.heap = file_.Align(8).size();
    file_.Append(heap_->Finish());
    places.room = file_.Align(kDataAlignment).size();
    ByteWriter superblock;
    superblock.Text("\x89HDF\r\n\x1a\n").Number(2, 1).Number(8, 1).Number(8, 1).Number(0, 1);
    superblock.Address(0).Address(kNowhere).Address(std::max(room_end_, places.room));
    file_.Set(0, superblock.Address(places.addresses[0]).Sum(0).bytes());
    places_ = std::move(places);
    return {};
  }

  // The datasets that use each scale. Those of which a scale is not there have none.
  void FindUsers() {
    users_.clear();
    for (size_t i = 0; i < objects().size(); ++i) {
      const NewObject& object = objects()[i];
      if (!IsThere(i) || IsNewScale(object) || !HasAllScales(object)) continue;
      for (size_t d = 0; d < object.scales.size(); ++d) {
        users_[object.scales[d]].Address(places_.addresses[i]).Number(d, 8);
      }
    }
  }

  bool HasAllScales(const NewObject& object) const {
    return std::ranges::all_of(object.scales,
                               [this](uint32_t scale) { return IsThere(scale); });
  }

  void AddLeftOut(std::string_view line) {
    if (!left_out_.empty()) left_out_ += '\n';
    left_out_ += line;
  }

  void LeaveOut(size_t i, const model::Error& error) {
    const NewObject& object = objects()[i];
    AddLeftOut(fmt::format("{}: {}", object.path.empty() ? object.name : object.path,
                           error.message()));
  }

  // Gives the address.
  Result<uint64_t> Make(size_t i) {
    const NewObject& object = objects()[i];
    if (i != 0 && !IsThere(object.parent)) return model::Unsupported("its group is not there");
    if (taken_names_.contains(i)) return model::Unsupported("another object has its name");
    if (object.name.size() + object.target.size() > kMostLinkBytes) {
      return model::Unsupported("a link of more than 64 KiB");
    }
    switch (object.kind) {
      case NewKind::kGroup:
        return MakeGroup(i);
      case NewKind::kDatatype:
        return MakeDatatype(i);
      case NewKind::kDataset:
      case NewKind::kDimension:
        return MakeDataset(i);
      case NewKind::kSoftLink:
        if (object.target.empty()) return model::Unsupported("a link to nothing");
        return kUnknown;
    }
    return model::Internal("an object of no kind");
  }

  // IV.A.2.g; its name is UTF-8, and its order is known.
  std::vector<std::byte> LinkMessage(size_t i, uint64_t order) const {
    constexpr uint64_t kFlags = 4 | 8 | 16 | 1;
    const NewObject& object = objects()[i];
    const bool is_soft = object.kind == NewKind::kSoftLink;
    ByteWriter out;
    out.Number(1, 1).Number(kFlags, 1).Number(is_soft ? 1 : 0, 1).Number(order, 8);
    out.Number(1, 1).Number(object.name.size(), 2).Text(object.name);
    if (is_soft) return out.Number(object.target.size(), 2).Text(object.target).Take();
    return out.Address(places_.addresses[i]).Take();
  }

  // A few links are in the header, many in a heap.
  Result<uint64_t> MakeGroup(size_t i) {
    constexpr size_t kMostInHeader = 32;
    constexpr uint64_t kTracksOrder = 1;
    std::vector<std::vector<std::byte>> messages;
    std::vector<DenseEntry> entries;
    for (const size_t child : children_[i]) {
      if (!IsThere(child)) continue;
      messages.push_back(LinkMessage(child, messages.size()));
      entries.push_back({objects()[child].name, messages.back()});
    }
    NewHeader header;
    const bool is_dense = messages.size() > kMostInHeader;
    DensePlace place{kNowhere, kNowhere};
    if (is_dense) {
      NDLFS_TRY(place, AppendDenseLinks(file_.Align(8), entries));
    }
    ByteWriter info;
    info.Number(0, 1).Number(kTracksOrder, 1).Number(messages.size(), 8);
    info.Address(place.heap).Address(place.by_name);
    NDLFS_RETURN_IF_ERROR(header.Add(MessageType::kLinkInfo, info.bytes()));
    NDLFS_RETURN_IF_ERROR(header.Add(MessageType::kGroupInfo, std::vector<std::byte>(2)));
    for (size_t m = 0; !is_dense && m < messages.size(); ++m) {
      NDLFS_RETURN_IF_ERROR(header.Add(MessageType::kLink, messages[m]));
    }
    Attributes attributes;
    if (i == 0 && !description_.properties.empty()) {
      NDLFS_RETURN_IF_ERROR(AddText(attributes, "_NCProperties", description_.properties));
    }
    AddAttributes(i, attributes);
    if (i == 0) {
      NameMissingTargets();
      if (!left_out_.empty()) {
        NDLFS_RETURN_IF_ERROR(AddText(attributes, kLeftOutAttribute, left_out_));
      }
    }
    return Finish(header, attributes);
  }

  Result<uint64_t> MakeDatatype(size_t i) {
    NDLFS_TRY(const NewTypePtr type, MakeNewType(objects()[i].type, known_types_));
    NewHeader header;
    NDLFS_RETURN_IF_ERROR(header.Add(MessageType::kDatatype, type->message));
    auto committed = std::make_shared<NewType>(*type);
    committed->committed = i;
    known_types_.push_back(std::move(committed));
    Attributes attributes;
    AddAttributes(i, attributes);
    return Finish(header, attributes);
  }

  Result<uint64_t> MakeDataset(size_t i) {
    const NewObject& object = objects()[i];
    const bool is_real = object.kind == NewKind::kDataset;
    if (object.shape.size() > kMostRank) {
      return model::Unsupported("{} dimensions; HDF5 has {}", object.shape.size(), kMostRank);
    }
    NewHeader header;
    const auto chunk = GrowingChunk(object);
    NDLFS_RETURN_IF_ERROR(
        header.Add(MessageType::kDataspace, SpaceMessage(object.shape, !chunk.empty())));
    // That of netCDF-4 for a dimension; nothing reads its elements.
    NewTypePtr type;
    uint64_t element_bytes = sizeof(float);
    if (is_real) {
      if (!object.type.is_fixed_size() && !object.data) {
        return model::BadInput("elements of variable size without data");
      }
      NDLFS_TRY(type, MakeNewType(object.type, known_types_));
      element_bytes = type->size;
      NDLFS_RETURN_IF_ERROR(header.Add(MessageType::kDatatype, TypeMessageOf(*type),
                                       IsCommitted(*type) ? NewHeader::kShared : 0));
    } else {
      NDLFS_RETURN_IF_ERROR(header.Add(MessageType::kDatatype, BigFloat32Message()));
    }
    NDLFS_RETURN_IF_ERROR(AddFill(object, header));
    NDLFS_RETURN_IF_ERROR(AddLayout(i, type.get(), chunk, element_bytes, header));
    Attributes attributes;
    NDLFS_RETURN_IF_ERROR(AddScaleAttributes(i, attributes));
    AddAttributes(i, attributes);
    return Finish(header, attributes);
  }

  bool IsCommitted(const NewType& type) const {
    return type.committed != 0 && IsThere(type.committed);
  }

  // The type itself, or the object that is this type.
  std::vector<std::byte> TypeMessageOf(const NewType& type) const {
    if (!IsCommitted(type)) return type.message;
    constexpr uint64_t kIsObject = 2;
    return ByteWriter()
        .Number(3, 1)
        .Number(kIsObject, 1)
        .Address(places_.addresses[type.committed])
        .Take();
  }

  // IV.A.2.f: nothing is filled in where there is only room. Headers have no room for large
  // values.
  static Result<void> AddFill(const NewObject& object, NewHeader& header) {
    constexpr uint64_t kEarly = 1;
    constexpr uint64_t kLate = 2;
    constexpr uint64_t kNever = 1 << 2;
    constexpr uint64_t kIfSet = 2 << 2;
    constexpr uint64_t kHasValue = 0x20;
    constexpr size_t kMostBytes = UINT16_MAX - 6;
    const bool has_value = object.fill && object.fill->size() <= kMostBytes;
    const uint64_t flags = (object.kind == NewKind::kDimension ? kLate : kEarly) |
                           (object.data ? kIfSet : kNever) | (has_value ? kHasValue : 0);
    ByteWriter out;
    out.Number(3, 1).Number(flags, 1);
    if (has_value) {
      std::vector<std::byte> fill = *object.fill;
      if (!object.type.is_fixed_size() || fill.size() != object.type.size()) {
        return model::BadInput("a fill value of {} bytes", fill.size());
      }
      NDLFS_TRY(const auto runs, FindUtf32(object.type));
      RewriteUtf32(runs, fill.size(), fill);
      out.Number(fill.size(), 4).Append(fill);
    }
    return header.Add(MessageType::kFill, out.bytes());
  }

  // IV.A.2.i
  Result<void> AddLayout(size_t i, const NewType* type, const std::vector<uint64_t>& chunk,
                         uint64_t element_bytes, NewHeader& header) {
    constexpr uint64_t kContiguous = 1;
    constexpr uint64_t kChunked = 2;
    const NewObject& object = objects()[i];
    const auto bytes = CheckedProduct(object.shape, element_bytes);
    if (!bytes || *bytes > kMaxViewSize) return model::Unsupported("more than 2^62 bytes");
    uint64_t address = kNowhere;
    if (HasRoom(object) && *bytes != 0) {
      address = offsets_[i] = room_end_;
      room_end_ += *bytes + (kDataAlignment - *bytes % kDataAlignment) % kDataAlignment;
    } else if (object.data) {
      NDLFS_TRY(const auto elements, ElementsOf(*type, object.shape, *object.data));
      if (!elements.empty()) address = file_.Align(8).size();
      file_.Append(elements);
    }
    ByteWriter out;
    out.Number(3, 1);
    if (chunk.empty()) {
      out.Number(kContiguous, 1).Address(address).Number(*bytes, 8);
      return header.Add(MessageType::kLayout, out.bytes());
    }
    uint64_t tree = kNowhere;
    if (address != kNowhere) {
      tree = file_.Align(8).size();
      AppendChunkTree(file_, address, chunk, element_bytes);
    }
    out.Number(kChunked, 1).Number(chunk.size() + 1, 1).Address(tree);
    for (const uint64_t extent : chunk) out.Number(extent, 4);
    return header.Add(MessageType::kLayout, out.Number(element_bytes, 4).bytes());
  }

  // Adds the attributes to the header, or to a heap if they are many or large, and appends it.
  Result<uint64_t> Finish(NewHeader& header, const Attributes& attributes) {
    constexpr size_t kMostInHeader = 1000;
    constexpr uint64_t kTracksOrder = 1;
    const auto& all = attributes.messages;
    if (all.empty()) return header.Finish(file_);
    const bool is_dense =
        all.size() > kMostInHeader || std::ranges::any_of(all, [](const auto& attribute) {
          return attribute.second.size() > UINT16_MAX;
        });
    DensePlace place{kNowhere, kNowhere};
    if (is_dense) {
      if (all.size() > UINT16_MAX) return model::Unsupported("more than 65,535 attributes");
      std::vector<DenseEntry> entries;
      for (const auto& [name, message] : all) entries.push_back({name, message});
      NDLFS_TRY(place, AppendDenseAttributes(file_.Align(8), entries));
    }
    ByteWriter info;
    info.Number(0, 1).Number(kTracksOrder, 1).Number(all.size(), 2);
    info.Address(place.heap).Address(place.by_name);
    NDLFS_RETURN_IF_ERROR(header.Add(MessageType::kAttributeInfo, info.bytes()));
    for (size_t i = 0; !is_dense && i < all.size(); ++i) {
      NDLFS_RETURN_IF_ERROR(header.Add(MessageType::kAttribute, all[i].second, 0, i));
    }
    return header.Finish(file_);
  }

  // IV.A.2.m
  static Result<void> Add(Attributes& attributes, const std::string& name, ConstByteSpan type,
                          bool is_shared, const std::vector<uint64_t>& shape,
                          ConstByteSpan elements) {
    constexpr uint64_t kUtf8Name = 1;
    if (std::max(name.size() + 1, type.size()) > UINT16_MAX) {
      return model::Unsupported("a name or a type of more than 64 KiB");
    }
    if (!attributes.names.insert(name).second) {
      return model::Unsupported("another attribute has its name");
    }
    const auto space = SpaceMessage(shape);
    ByteWriter out;
    out.Number(3, 1).Number(is_shared ? 1 : 0, 1).Number(name.size() + 1, 2);
    out.Number(type.size(), 2).Number(space.size(), 2).Number(kUtf8Name, 1);
    out.Text(name).Zeros(1).Append(type).Append(space).Append(elements);
    attributes.messages.emplace_back(name, out.Take());
    return {};
  }

  static Result<void> AddText(Attributes& attributes, const std::string& name,
                              std::string_view text, bool is_utf8 = true) {
    using namespace std::string_view_literals;
    return Add(attributes, name, TextTypeMessage(text, is_utf8), false, {},
               AsBytes(text.empty() ? "\0"sv : text));
  }

  static Result<void> AddIntegers(Attributes& attributes, const std::string& name,
                                  const std::vector<uint64_t>& shape,
                                  const std::vector<int32_t>& values) {
    return Add(attributes, name, Int32Message(), false, shape,
               std::as_bytes(std::span(values)));
  }

  void AddAttributes(size_t i, Attributes& attributes) {
    for (const NewAttribute& attribute : objects()[i].attributes) {
      if (const auto added = AddAttribute(attribute, attributes); !added) {
        LeaveOut(i, model::Error(added.error()).In("attribute " + attribute.name));
      }
    }
  }

  Result<void> AddAttribute(const NewAttribute& attribute, Attributes& attributes) {
    if (attribute.name.empty() || attribute.name.find('\0') != std::string::npos) {
      return model::Unsupported("its name");
    }
    if (attribute.shape.size() > kMostRank) return model::Unsupported("its shape");
    const bool is_text = attribute.type.kind() == model::Datatype::Kind::kString &&
                         attribute.type.is_fixed_size();
    if (is_text && attribute.shape.empty()) {
      return AddText(attributes, attribute.name, AsText(attribute.data),
                     attribute.type.charset() == model::Charset::kUtf8);
    }
    NDLFS_TRY(const NewTypePtr type, MakeNewType(attribute.type, known_types_));
    NDLFS_TRY(const auto elements, ElementsOf(*type, attribute.shape, attribute.data));
    return Add(attributes, attribute.name, TypeMessageOf(*type), IsCommitted(*type),
               attribute.shape, elements);
  }

  // `data` as elements of the file.
  Result<std::vector<std::byte>> ElementsOf(const NewType& type,
                                            const std::vector<uint64_t>& shape,
                                            ConstByteSpan data) {
    const auto count = CheckedProduct(shape, 1);
    const auto bytes = CheckedProduct(shape, type.size);
    if (!count || !bytes) return model::Limit("too many elements");
    if (type.type.is_fixed_size()) {
      if (data.size() != *bytes) return model::BadInput("elements of {} bytes", data.size());
      std::vector<std::byte> elements(data.begin(), data.end());
      NDLFS_TRY(const auto runs, FindUtf32(type.type));
      RewriteUtf32(runs, type.size, elements);
      return elements;
    }
    if (*count > data.size() / type.least) {
      return model::BadInput("{} elements without data", *count);
    }
    std::vector<std::byte> elements(*bytes);
    const NewReferences references = {
        [this](std::string_view path) { return AddressOf(path); },
        [this](const model::Region& region) { return RegionObject(region); },
        [this](ConstByteSpan object) { return heap_->Put(object); }};
    for (uint64_t i = 0; i < *count; ++i) {
      NDLFS_RETURN_IF_ERROR(
          TakeNewElement(type, data, elements.data() + i * type.size, references));
    }
    if (!data.empty()) return model::BadInput("{} bytes after the elements", data.size());
    return elements;
  }

  // Gives dimensions the attributes by which netCDF-4 knows them.
  Result<void> AddScaleAttributes(size_t i, Attributes& attributes) {
    const NewObject& object = objects()[i];
    const bool is_scale = IsNewScale(object);
    if (is_scale) {
      NDLFS_RETURN_IF_ERROR(AddTerminated(attributes, "CLASS", "DIMENSION_SCALE"));
      const std::string name = object.kind == NewKind::kDimension
                                   ? fmt::format(fmt::runtime(kDimensionName), object.shape[0])
                                   : object.name;
      NDLFS_RETURN_IF_ERROR(AddTerminated(attributes, "NAME", name));
    }
    if (!HasAllScales(object)) return {};
    std::vector<int32_t> ids;
    for (const uint32_t scale : object.scales) ids.push_back(dimension_ids_[scale]);
    if (object.is_scale && ids.empty()) ids.push_back(dimension_ids_[i]);
    if (!is_scale && !ids.empty()) {
      NDLFS_RETURN_IF_ERROR(AddDimensionList(object, attributes));
    }
    if (!ids.empty()) {
      NDLFS_RETURN_IF_ERROR(AddIntegers(attributes, "_Netcdf4Coordinates", {ids.size()}, ids));
    }
    if (!is_scale) return {};
    NDLFS_RETURN_IF_ERROR(AddIntegers(attributes, "_Netcdf4Dimid", {}, {dimension_ids_[i]}));
    const auto users = users_.find(i);
    if (users == users_.end()) return {};
    const uint64_t count = users->second.size() / 16;
    return Add(attributes, "REFERENCE_LIST", ScaleUserMessage(), false, {count},
               users->second.bytes());
  }

  // With its NUL, as libhdf5_hl does.
  static Result<void> AddTerminated(Attributes& attributes, const std::string& name,
                                    const std::string& text) {
    return AddText(attributes, name, std::string_view(text.c_str(), text.size() + 1), false);
  }

  // For each dimension, a list of one scale.
  Result<void> AddDimensionList(const NewObject& object, Attributes& attributes) {
    ByteWriter lists;
    for (const uint32_t scale : object.scales) {
      const auto reference = ByteWriter().Address(places_.addresses[scale]).Take();
      lists.Number(1, 4).Append(heap_->Put(reference));
    }
    return Add(attributes, "DIMENSION_LIST", VlenMessage(ObjectReferenceMessage()), false,
               {object.scales.size()}, lists.bytes());
  }

  // The object that a reference leads to. Notes those that the file does not have.
  std::optional<size_t> FindTarget(std::string_view path) {
    const auto found = by_path_.find(path);
    if (found != by_path_.end() && IsThere(found->second)) return found->second;
    if (!path.empty() && missing_targets_.size() < kMostMissingTargets) {
      missing_targets_.emplace(path);
    }
    return std::nullopt;
  }

  void NameMissingTargets() {
    for (const std::string& path : missing_targets_) {
      AddLeftOut(model::OneLine(path) + ": references to it are null");
    }
  }

  // 0, a null reference, if the file does not have the object.
  uint64_t AddressOf(std::string_view path) {
    const auto object = FindTarget(path);
    return object ? places_.addresses[*object] : 0;
  }

  // An address and a selection (VII.C and VIII.A).
  std::vector<std::byte> RegionObject(const model::Region& region) {
    const auto target = FindTarget(region.target);
    if (!target) return {};
    const size_t rank = objects()[*target].shape.size();
    uint64_t largest = 0;
    for (const auto& point : region.points) {
      if (point.size() != rank || rank == 0) return {};
      largest = std::max(largest, std::ranges::max(point));
    }
    const bool is_block = region.selection == model::Datatype::Selection::kBlock;
    if (is_block ? region.points.size() != 2 : region.points.empty()) return {};
    if (largest == UINT64_MAX || (!is_block && largest > UINT32_MAX)) return {};
    constexpr uint64_t kPoints = 1;
    constexpr uint64_t kBlocks = 2;
    ByteWriter coordinates;
    const auto corner = [&](size_t d, bool is_last) {
      const auto [least, most] = std::minmax(region.points[0][d], region.points[1][d]);
      return is_last ? most : least;
    };
    const bool is_long = largest > UINT32_MAX;
    if (!is_block) {
      for (const auto& point : region.points) {
        for (const uint64_t index : point) coordinates.Number(index, 4);
      }
    } else if (!is_long) {
      for (size_t at = 0; at < 2 * rank; ++at)
        coordinates.Number(corner(at % rank, at >= rank), 4);
    } else {
      for (size_t d = 0; d < rank; ++d) {
        coordinates.Number(corner(d, false), 8).Number(1, 8).Number(1, 8);
        coordinates.Number(corner(d, true) - corner(d, false) + 1, 8);
      }
    }
    ByteWriter out;
    out.Address(places_.addresses[*target]).Number(is_block ? kBlocks : kPoints, 4);
    if (is_long) {
      out.Number(2, 4).Number(1, 1).Number(4 + coordinates.size(), 4).Number(rank, 4);
    } else {
      out.Number(1, 4).Zeros(4).Number(8 + coordinates.size(), 4).Number(rank, 4);
      out.Number(is_block ? 1 : region.points.size(), 4);
    }
    return out.Append(coordinates.bytes()).Take();
  }

  const NewFile& description_;
  std::vector<std::vector<size_t>> children_;
  std::vector<int32_t> dimension_ids_;
  std::set<size_t> taken_names_;  // objects whose name another one has
  std::map<std::string_view, size_t> by_path_;
  // What all addresses are made of; of the last time.
  Places places_;
  // This time:
  ByteWriter file_;
  std::optional<NewGlobalHeap> heap_;
  std::string left_out_;
  std::vector<uint64_t> offsets_;
  uint64_t room_end_ = 0;
  std::map<size_t, ByteWriter> users_;  // the elements of REFERENCE_LIST
  static constexpr size_t kMostMissingTargets = 1000;
  std::set<std::string, std::less<>> missing_targets_;
  std::vector<NewTypePtr> known_types_;
};

}  // namespace

Result<WrittenFile> WriteNewFile(const NewFile& file) {
  NDLFS_RETURN_IF_ERROR(CheckDescription(file));
  uint64_t room = 0;
  for (const NewObject& object : file.objects) {
    // Each begins at a multiple of kDataAlignment.
    const auto end = CheckedAdd(room, *RoomFor(object));
    if (!end || *end > kMaxViewSize) return model::Limit("more than {} bytes", kMaxViewSize);
    room = *end + (kDataAlignment - *end % kDataAlignment) % kDataAlignment;
  }
  return FileWriter(file).Write();
}

}  // namespace ndlfs::backends::hdf5
