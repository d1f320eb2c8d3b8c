// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/describe.h"

#include <algorithm>
#include <array>
#include <set>

#include "backends/base/checked.h"
#include "backends/format/hdf5/references.h"
#include "model/attributes.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

constexpr uint64_t kMaxAttributeBytes = model::AttributeRoom::kMostBytes;
constexpr size_t kMaxStorageParts = 100'000;            // external files, or sources
constexpr uint64_t kMaxPartBytes = uint64_t{64} << 20;  // of all of them
constexpr uint64_t kMaxFillBytes = uint64_t{16} << 20;

// --- The data layout (IV.A.2.i)

class LayoutReader {
 public:
  LayoutReader(const std::shared_ptr<const Metadata>& file, const Object& dataset,
               DatasetInfo& info)
      : file_(file), dataset_(dataset), info_(info) {}

  Result<void> Read() {
    const HeaderMessage* message = dataset_.header().Find(MessageType::kLayout);
    if (message == nullptr) return model::Corrupt("a dataset without a layout");
    if (const auto* filters = dataset_.header().Find(MessageType::kFilters)) {
      NDLFS_TRY(info_.filters, ParseFilters(filters->body));
    }
    Cursor in(message->body);
    const uint64_t version = in.Number(1);
    if (version == 1 || version == 2) return ReadOld(in);
    if (version < 3 || version > 5)
      return model::Unsupported("a layout of version {}", version);
    const uint64_t kind = in.Number(1);
    switch (kind) {
      case kCompactKind:
        return SetCompact(in, in.Number(2));
      case kContiguousKind:
        return SetContiguous(in);
      case kChunkedKind:
        return version == 3 ? ReadChunked3(in) : ReadChunked4(in, version);
      case kVirtualKind:
        return ReadVirtual(in);
      default:
        return model::Unsupported("a layout of kind {}", kind);
    }
  }

 private:
  enum Kind : uint64_t {
    kCompactKind = 0,
    kContiguousKind = 1,
    kChunkedKind = 2,
    kVirtualKind = 3,
  };
  uint64_t O() const { return file_->offset_bytes(); }

  Result<void> ReadOld(Cursor& in) {
    constexpr uint64_t kMaxRank = 33;
    const uint64_t rank = in.Number(1);
    const uint64_t kind = in.Number(1);
    in.Skip(5);
    ChunkLayout layout;
    if (rank == 0 || rank > kMaxRank) return model::Corrupt("a layout of rank {}", rank);
    if (kind == kContiguousKind) return SetContiguous(in);
    if (kind == kChunkedKind) {
      layout.address = in.Address(O());
      return SetChunked(std::move(layout), TakeExtents(in, rank, 4), in);
    }
    if (kind != kCompactKind) return model::Unsupported("a layout of kind {}", kind);
    in.Skip(4 * rank);
    return SetCompact(in, in.Number(4));
  }

  static std::vector<uint64_t> TakeExtents(Cursor& in, uint64_t rank, uint64_t width) {
    std::vector<uint64_t> extents;
    for (uint64_t d = 0; d < rank && in.ok(); ++d) extents.push_back(in.Number(width));
    return extents;
  }

  Result<void> SetCompact(Cursor& in, uint64_t bytes) {
    info_.layout = Layout::kCompact;
    const ConstByteSpan elements = in.Take(bytes);
    NDLFS_RETURN_IF_ERROR(in.Check("the layout"));
    info_.compact = std::make_shared<const Bytes>(Bytes::Copy(elements));
    return {};
  }

  Result<void> SetContiguous(Cursor& in) {
    info_.layout = Layout::kContiguous;
    const uint64_t address = in.Address(O());
    NDLFS_RETURN_IF_ERROR(in.Check("the layout"));
    if (const auto* external = dataset_.header().Find(MessageType::kExternalFiles)) {
      return ReadExternal(external->body);
    }
    if (address == kNowhere) return {};
    info_.offset = CheckedAdd(file_->base(), address);
    if (!info_.offset) return model::Corrupt("elements beyond any file");
    return {};
  }

  // IV.A.2.h: the names are in a local heap.
  Result<void> ReadExternal(ConstByteSpan message) {
    Cursor in(message);
    in.Skip(4 + 2);
    const uint64_t count = in.Number(2);
    const uint64_t heap_address = in.Address(O());
    NDLFS_TRY(const auto heap, file_->OpenLocalHeap(heap_address));
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t name = in.Number(file_->length_bytes());
      ExternalPart part;
      part.offset = in.Number(file_->length_bytes());
      part.bytes = in.Address(file_->length_bytes());
      NDLFS_RETURN_IF_ERROR(in.Check("the external files"));
      if (part.offset > kMaxViewSize) {
        return model::Corrupt("an external file with a negative offset");
      }
      NDLFS_TRY(part.name, heap.Text(*file_, name));
      NDLFS_RETURN_IF_ERROR(Charge(part.name.size()));
      info_.external.push_back(std::move(part));
    }
    return {};
  }

  Result<void> ReadChunked3(Cursor& in) {
    ChunkLayout layout;
    const uint64_t rank = in.Number(1);
    layout.address = in.Address(O());
    return SetChunked(std::move(layout), TakeExtents(in, rank, 4), in);
  }

  Result<void> ReadChunked4(Cursor& in, uint64_t /*version*/) {
    constexpr uint64_t kPlainEdges = 1;
    constexpr uint64_t kFilteredSingle = 2;
    ChunkLayout layout;
    const uint64_t flags = in.Number(1);
    const uint64_t rank = in.Number(1);
    const uint64_t width = in.Number(1);
    if (width == 0 || width > 8) return model::Corrupt("extents of {} bytes", width);
    auto extents = TakeExtents(in, rank, width);
    const uint64_t index = in.Number(1);
    if (index == 0 || index > 5) return model::Unsupported("an index of kind {}", index);
    layout.index = static_cast<ChunkLayout::Index>(index);
    info_.has_plain_edges = flags & kPlainEdges;
    switch (layout.index) {
      case ChunkLayout::Index::kSingle:
        if (!(flags & kFilteredSingle)) break;
        layout.is_filtered = true;
        layout.single.bytes = in.Number(file_->length_bytes());
        layout.single.filter_mask = in.Number(4);
        break;
      case ChunkLayout::Index::kFixedArray:
        in.Skip(1);
        break;
      case ChunkLayout::Index::kExtensibleArray:
        in.Skip(5);
        break;
      case ChunkLayout::Index::kTree2:
        in.Skip(6);
        break;
      default:
        break;
    }
    layout.address = in.Address(O());
    return SetChunked(std::move(layout), std::move(extents), in);
  }

  // The last of `extents` is the size of an element.
  Result<void> SetChunked(ChunkLayout layout, std::vector<uint64_t> extents, Cursor& in) {
    info_.layout = Layout::kChunked;
    NDLFS_RETURN_IF_ERROR(in.Check("the layout"));
    if (extents.empty()) return model::Corrupt("chunks of no dimensions");
    extents.pop_back();
    if (extents.size() != info_.shape.size()) {
      return model::Corrupt("chunks of {} dimensions in a dataset of {}", extents.size(),
                            info_.shape.size());
    }
    if (std::ranges::count(extents, 0) != 0) return model::Corrupt("chunks of extent 0");
    const auto bytes = CheckedProduct(extents, info_.stored.size());
    if (!bytes) return model::Corrupt("chunks of more than 2^64 bytes");
    info_.chunk = extents;
    layout.shape = info_.shape;
    layout.max_shape = info_.max_shape;
    layout.chunk = std::move(extents);
    layout.chunk_bytes = *bytes;
    info_.chunks = std::make_shared<const ChunkIndex>(file_, std::move(layout));
    return {};
  }

  // Many parts may share a name.
  Result<void> Charge(uint64_t bytes) {
    part_bytes_ += bytes;
    if (part_bytes_ > kMaxPartBytes) return model::Limit("sources of {} bytes", part_bytes_);
    return {};
  }
  static uint64_t HeldBytes(const Selection& selection) {
    constexpr uint64_t kOfPoint = 64;
    return kOfPoint * (selection.points.size() + 2 * selection.boxes.size());
  }

  // A list of mappings in a global heap (VIII.A).
  Result<void> ReadVirtual(Cursor& in) {
    info_.layout = Layout::kVirtual;
    constexpr uint64_t kMostBytes = uint64_t{64} << 20;
    constexpr size_t kSumBytes = 4;
    NDLFS_TRY(const auto block, ReadGlobal(*file_, in, 0, kMostBytes), "the virtual layout");
    if (block.empty()) return {};
    if (block.size() < kSumBytes) return model::Corrupt("the virtual layout ends early");
    const ConstByteSpan content = ConstByteSpan(block).first(block.size() - kSumBytes);
    const uint64_t stored = Cursor(ConstByteSpan(block).last(kSumBytes)).Number(kSumBytes);
    if (HashOf(content) != stored) {
      return model::Corrupt("the virtual layout: its checksum is wrong");
    }
    Cursor mappings(content);
    const uint64_t version = mappings.Number(1);
    if (version > 1) return model::Unsupported("a virtual layout of version {}", version);
    const uint64_t count = mappings.Number(file_->length_bytes());
    if (count > kMaxStorageParts) return model::Limit("{} sources", count);
    for (uint64_t i = 0; i < count; ++i) {
      NDLFS_TRY(auto part, TakePart(mappings, version), "the virtual layout");
      NDLFS_RETURN_IF_ERROR(Charge(part.file.size() + part.dataset.size() +
                                   HeldBytes(part.from) + HeldBytes(part.to)));
      info_.parts.push_back(std::move(part));
    }
    std::set<std::string> files;
    for (const VirtualPart& part : info_.parts) files.insert(part.file);
    info_.sources.assign(files.begin(), files.end());
    return {};
  }

  // Version 1 may name an earlier mapping in place of a name.
  Result<VirtualPart> TakePart(Cursor& in, uint64_t version) const {
    constexpr uint64_t kSharedFile = 1;
    constexpr uint64_t kSharedDataset = 2;
    constexpr uint64_t kSameFile = 4;
    const uint64_t flags = version == 0 ? 0 : in.Number(1);
    const auto earlier = [&]() -> Result<const VirtualPart*> {
      const uint64_t entry = in.Number(file_->length_bytes());
      if (entry >= info_.parts.size()) return model::Corrupt("a mapping that is not there");
      return &info_.parts[entry];
    };
    VirtualPart part;
    if (flags & kSameFile) {
      part.file = ".";
    } else if (flags & kSharedFile) {
      NDLFS_TRY(const VirtualPart* other, earlier());
      part.file = other->file;
    } else {
      part.file = in.Text();
    }
    if (flags & kSharedDataset) {
      NDLFS_TRY(const VirtualPart* other, earlier());
      part.dataset = other->dataset;
    } else {
      part.dataset = in.Text();
    }
    NDLFS_RETURN_IF_ERROR(in.Check("a mapping"));
    NDLFS_TRY(part.from, TakeSelection(in));
    NDLFS_TRY(part.to, TakeSelection(in));
    return part;
  }

  const std::shared_ptr<const Metadata>& file_;
  const Object& dataset_;
  DatasetInfo& info_;
  uint64_t part_bytes_ = 0;
};

// --- The fill value (IV.A.2.e and f)

struct StoredFill {
  ConstByteSpan bytes;  // empty: there is none
  bool is_written = true;
};

Result<StoredFill> FindFill(const ObjectHeader& header) {
  constexpr uint64_t kNever = 1;
  constexpr uint64_t kHasValue = 0x20;
  StoredFill fill;
  if (const auto* message = header.Find(MessageType::kFill)) {
    Cursor in(message->body);
    const uint64_t version = in.Number(1);
    if (version == 0 || version > 3) {
      return model::Unsupported("a fill value of version {}", version);
    }
    bool has_value = false;
    if (version < 3) {
      in.Skip(1);
      fill.is_written = in.Number(1) != kNever;
      has_value = in.Number(1) != 0;
    } else {
      const uint64_t flags = in.Number(1);
      fill.is_written = (flags >> 2 & 3) != kNever;
      has_value = flags & kHasValue;
    }
    if (has_value) fill.bytes = in.Take(in.Number(4));
    NDLFS_RETURN_IF_ERROR(in.Check("the fill value"));
  } else if (const auto* old = header.Find(MessageType::kOldFill)) {
    Cursor in(old->body);
    fill.bytes = in.Take(in.Number(4));
    NDLFS_RETURN_IF_ERROR(in.Check("the fill value"));
  }
  return fill;
}

// Where values are never filled in, there is none.
Result<void> ReadFill(const Metadata& file, const Object& dataset, ObjectIndex& index,
                      DatasetInfo& info) {
  NDLFS_TRY(const StoredFill fill, FindFill(dataset.header()));
  if (fill.bytes.empty()) return {};
  if (fill.bytes.size() != info.form.size) {
    return model::Corrupt("a fill value of {} bytes, for elements of {}", fill.bytes.size(),
                          info.form.size);
  }
  References references(file, index, false);
  info.netcdf_fill.emplace();
  NDLFS_RETURN_IF_ERROR(ElementReader(file, references, kMaxFillBytes)
                            .Append(info.form, fill.bytes, 1, *info.netcdf_fill),
                        "the fill value");
  if (!fill.is_written) return {};
  info.fill = info.netcdf_fill;
  info.stored_fill = ByteVector(fill.bytes.begin(), fill.bytes.end());
  return {};
}

// --- Attributes

// The values that an attribute has, once it is shown: members and texts count, too.
uint64_t CountValues(const model::Datatype& type, uint64_t count, uint64_t bytes) {
  switch (type.kind()) {
    case model::Datatype::Kind::kCompound:
    case model::Datatype::Kind::kArray:
      return std::max(count, bytes);
    default:
      return count;
  }
}

// The values of one attribute in the terms of AttributeInfo.
class ValueReader {
 public:
  ValueReader(const Metadata& file, ObjectIndex& index, model::AttributeRoom& room,
              ObjectInfo& info)
      : file_(file), index_(index), room_(room), info_(info) {}

  Result<void> Read(const RawAttribute& raw, AttributeInfo& info) {
    if (raw.error) return model::Propagate(*raw.error);
    NDLFS_TRY(const auto type, ReadElementType(file_, raw.type, WideFloats::kNearest));
    NDLFS_TRY(const auto extent, ParseExtent(file_, raw.space));
    info.type = type.type;
    info.stored_order = type.stored_order;
    info.shape = extent.is_null ? std::vector<uint64_t>{0} : extent.shape;
    const auto count = CheckedProduct(info.shape);
    const auto bytes = count ? CheckedMultiply(*count, type.form.size) : std::nullopt;
    if (!bytes) return model::Limit("too many elements");
    const bool is_text = type.type.kind() == model::Datatype::Kind::kString;
    const bool is_fixed = type.type.is_fixed_size();
    NDLFS_RETURN_IF_ERROR(room_.Take(info.name, CountValues(type.type, *count, *bytes),
                                     is_text && is_fixed ? *bytes : 0));
    if (*count == 0) return {};
    // The others may not have been read to their end.
    if (*bytes > kMaxAttributeBytes) {
      return model::Limit("elements of more than {} bytes", kMaxAttributeBytes);
    }
    return Append(type, raw.data, *count, info);
  }

 private:
  // A region reference is one of blocks or of elements by its type; HDF5 tells
  // only by the value.
  Result<void> Append(const ElementType& type, ConstByteSpan elements, uint64_t count,
                      AttributeInfo& info) {
    References references(file_, index_, false);
    ElementReader reader(file_, references, kMaxAttributeBytes);
    NDLFS_RETURN_IF_ERROR(reader.Append(type.form, elements, count, info.data));
    if (references.met_elements()) {
      info.type = WithElementRegions(info.type);
      info.data.clear();
      References all_elements(file_, index_, true);
      NDLFS_RETURN_IF_ERROR(ElementReader(file_, all_elements, kMaxAttributeBytes)
                                .Append(type.form, elements, count, info.data));
    }
    if (!info.type.is_fixed_size()) {
      NDLFS_RETURN_IF_ERROR(room_.Take(info.name, 0, info.data.size()));
    }
    if (references.met_dangling()) Note(info, kDanglingNote);
    if (reader.rounded()) Note(info, "a long double is shown as the float64 that is nearest");
    return {};
  }

  void Note(const AttributeInfo& info, std::string_view note) {
    info_.notes.push_back(fmt::format("attribute {}: {}", model::Quote(info.name), note));
  }

  const Metadata& file_;
  ObjectIndex& index_;
  model::AttributeRoom& room_;
  ObjectInfo& info_;
};

// PyTables writes those of its class Array alone as floats.
bool HasPairsOfTimes(const Object& dataset) {
  constexpr std::array<std::string_view, 4> kClasses = {"CARRAY", "EARRAY", "TABLE", "VLARRAY"};
  const auto name = dataset.Text("CLASS");
  return name && std::ranges::find(kClasses, *name) != kClasses.end();
}

}  // namespace

Result<DatasetInfo> DescribeDataset(const std::shared_ptr<const Metadata>& file,
                                    const Object& dataset, ObjectIndex& index,
                                    std::vector<std::string>& notes) {
  const HeaderMessage* datatype = dataset.header().Find(MessageType::kDatatype);
  if (datatype == nullptr) return model::Corrupt("a dataset without a type");
  NDLFS_TRY(auto type, ReadElementType(*file, datatype->body));
  DatasetInfo info;
  if (type.has_long_times && HasPairsOfTimes(dataset)) {
    NDLFS_TRY(type,
              ReadElementType(*file, datatype->body, WideFloats::kStored, LongTimes::kPairs));
    notes.push_back(
        "times of 64 bits have the seconds in the upper half, and microseconds in the lower "
        "one, as PyTables writes them");
  }
  NDLFS_TRY(auto extent, dataset.ReadExtent());
  info.type = std::move(type.type);
  info.is_plain = type.is_plain;
  info.stored = std::move(type.stored);
  info.text = std::move(type.text);
  info.form = std::move(type.form);
  info.stored_order = type.stored_order;
  info.is_null = extent.is_null;
  info.shape = std::move(extent.shape);
  info.max_shape = std::move(extent.max_shape);
  NDLFS_RETURN_IF_ERROR(LayoutReader(file, dataset, info).Read());
  NDLFS_RETURN_IF_ERROR(ReadFill(*file, dataset, index, info));
  return info;
}

void ReadAttributes(const Object& object, const std::vector<std::string>& left_out,
                    ObjectIndex& index, ObjectInfo& info) {
  model::AttributeRoom room;
  ValueReader reader(object.file(), index, room, info);
  const auto visit = [&](const RawAttribute& raw) {
    if (std::ranges::count(left_out, raw.name) != 0) return;
    AttributeInfo read;
    read.name = raw.name;
    if (auto done = reader.Read(raw, read); !done) read.error = std::move(done).error();
    if (!read.error || read.error->code() != model::ErrorCode::kLimit) {
      info.attributes.push_back(std::move(read));
    } else if (!info.error) {
      // There may be very many that do not fit: one of them is told.
      info.error = std::move(read.error);
    }
  };
  if (auto all = object.ForEachAttribute(visit); !all) info.error = std::move(all).error();
}

}  // namespace ndlfs::backends::hdf5
