// SPDX-License-Identifier: MIT
#include "backends/format/netcdf3/header.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "backends/base/checked.h"
#include "backends/base/load_number.h"
#include "backends/store/metadata_turn.h"

namespace ndlfs::backends::netcdf3 {
namespace {

using model::BadInput;
using model::Quote;

// A header is read as a whole, so this bounds the memory of an opened file.
constexpr uint64_t kMaxHeaderBytes = uint64_t{16} << 20;
// A longer header takes a turn: its variables take several times its size in memory.
constexpr uint64_t kLongHeader = uint64_t{256} << 10;
constexpr uint64_t kMaxRank = 1024;        // NC_MAX_VAR_DIMS
constexpr size_t kBufferBytes = 64 << 10;  // read ahead

constexpr uint32_t kTagDimension = 0x0A;
constexpr uint32_t kTagVariable = 0x0B;
constexpr uint32_t kTagAttribute = 0x0C;

constexpr uint64_t kAlignment = 4;

std::optional<uint64_t> AlignUp(uint64_t size) {
  const auto padded = CheckedAdd(size, kAlignment - 1);
  if (!padded) return std::nullopt;
  return *padded / kAlignment * kAlignment;
}

// Takes big-endian numbers off the beginning of a file, with a buffer between.
class Cursor {
 public:
  Cursor(const Store& store, std::string_view key, uint64_t file_bytes)
      : store_(store), key_(key), file_bytes_(file_bytes) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return file_bytes_ - position_; }

  model::Result<void> Take(ByteSpan out) {
    if (out.size() > remaining()) {
      return BadInput("the file ends at byte {}, inside its header", file_bytes_);
    }
    if (position_ + out.size() > kMaxHeaderBytes) {
      return model::Limit("a header of more than {} bytes", kMaxHeaderBytes);
    }
    while (!out.empty()) {
      NDLFS_RETURN_IF_ERROR(FillBuffer());
      const size_t at = position_ - buffer_offset_;
      const size_t count = std::min(out.size(), buffer_.size() - at);
      std::copy_n(buffer_.data() + at, count, out.data());
      position_ += count;
      out = out.subspan(count);
    }
    return {};
  }

  model::Result<uint64_t> TakeNumber(size_t bytes) {
    std::byte raw[8];
    NDLFS_RETURN_IF_ERROR(Take({raw, bytes}));
    return LoadNumber({raw, bytes});
  }

  // `bytes` bytes, and what pads them to a multiple of four.
  model::Result<std::string> TakePadded(uint64_t bytes) {
    NDLFS_RETURN_IF_ERROR(CheckCount(bytes));
    std::string text(bytes, '\0');
    NDLFS_RETURN_IF_ERROR(Take(std::as_writable_bytes(std::span(text))));
    std::byte padding[kAlignment];
    NDLFS_RETURN_IF_ERROR(Take({padding, (kAlignment - bytes % kAlignment) % kAlignment}));
    return text;
  }

  // Goes on behind as many.
  model::Result<void> SkipPadded(uint64_t bytes) {
    NDLFS_RETURN_IF_ERROR(CheckCount(bytes));
    position_ = std::min(position_ + *AlignUp(bytes), file_bytes_);
    if (position_ <= kMaxHeaderBytes) return {};
    return model::Limit("a header of more than {} bytes", kMaxHeaderBytes);
  }

 private:
  model::Result<void> CheckCount(uint64_t bytes) const {
    if (bytes > remaining()) {
      return BadInput("the file ends at byte {}, inside {} bytes of its header", file_bytes_,
                      bytes);
    }
    if (bytes <= kMaxHeaderBytes) return {};
    return model::Limit("a header of more than {} bytes", kMaxHeaderBytes);
  }

  model::Result<void> FillBuffer() {
    if (position_ - buffer_offset_ < buffer_.size()) return {};
    // Nobody knows where a header ends before it has been read.
    if (position_ > kLongHeader && !turn_) {
      NDLFS_TRY(turn_, MetadataTurn::Take(MetadataTurn::kMost / 3));
    }
    buffer_.resize(std::min<uint64_t>(kBufferBytes, remaining()));
    buffer_offset_ = position_;
    NDLFS_TRY(const auto count, store_.ReadInto(key_, position_, buffer_));
    if (count.value_or(0) != buffer_.size())
      return BadInput("the file shrank while it was read");
    return {};
  }

  const Store& store_;
  const std::string_view key_;
  const uint64_t file_bytes_;
  std::optional<MetadataTurn> turn_;
  std::vector<std::byte> buffer_;
  uint64_t buffer_offset_ = 0;
  uint64_t position_ = 0;
};

class HeaderParser {
 public:
  explicit HeaderParser(Cursor& cursor, uint64_t file_bytes)
      : cursor_(cursor), file_bytes_(file_bytes) {}

  model::Result<Header> Parse() {
    NDLFS_RETURN_IF_ERROR(ParseMagic());
    NDLFS_TRY(const uint64_t record_count, TakeCount());
    NDLFS_TRY(header_.dimensions, (TakeList<Dimension>("dimensions", kTagDimension,
                                                       [this] { return TakeDimension(); })));
    NDLFS_RETURN_IF_ERROR(FindRecordDimension());
    NDLFS_TRY(header_.attributes, TakeAttributes());
    NDLFS_TRY(header_.variables, (TakeList<Variable>("variables", kTagVariable,
                                                     [this] { return TakeVariable(); })));
    header_.header_bytes = cursor_.position();
    header_.file_bytes = file_bytes_;
    NDLFS_RETURN_IF_ERROR(ComputeRecordStride());
    SetRecordCount(record_count);
    return std::move(header_);
  }

 private:
  model::Result<void> ParseMagic() {
    NDLFS_TRY(const uint64_t magic, cursor_.TakeNumber(4));
    if (magic >> 8 != 0x434446)
      return BadInput("not a netCDF file: it does not begin with CDF");
    header_.version = static_cast<int>(magic & 0xff);
    if (header_.version != 1 && header_.version != 2 && header_.version != 5) {
      return BadInput("netCDF classic version {}, expected 1, 2 or 5", header_.version);
    }
    return {};
  }

  // NON_NEG: 4 bytes, and 8 in CDF-5.
  model::Result<uint64_t> TakeCount() {
    return cursor_.TakeNumber(header_.version == 5 ? 8 : 4);
  }
  model::Result<uint64_t> TakeOffset() {
    return cursor_.TakeNumber(header_.version == 1 ? 4 : 8);
  }

  model::Result<std::string> TakeName() {
    NDLFS_TRY(const uint64_t bytes, TakeCount(), "name");
    NDLFS_TRY(auto name, cursor_.TakePadded(bytes), "name");
    // To netCDF-C a name ends at the first NUL, however long it says it is.
    if (const size_t end = name.find('\0'); end != name.npos) {
      name.resize(end);
      if (header_.cut_names++ == 0) header_.first_cut_name = name;
    }
    if (name.empty()) return BadInput("an empty name at byte {}", cursor_.position());
    return name;
  }

  // ABSENT (no tag, no items), or a tag and as many items as the count says.
  // Nothing is reserved: the count is only believed item by item.
  template <typename Item, typename Take>
  model::Result<std::vector<Item>> TakeList(std::string_view what, uint32_t tag,
                                            const Take& take) {
    NDLFS_TRY(const uint64_t found, cursor_.TakeNumber(4), what);
    NDLFS_TRY(const uint64_t count, TakeCount(), what);
    if (found != tag && (found != 0 || count != 0)) {
      return BadInput("{}: expected the tag {:#x}, found {:#x}", what, tag, found);
    }
    std::vector<Item> items;
    for (uint64_t i = 0; i < count; ++i) {
      NDLFS_TRY(auto item, take(), fmt::format("{}[{}]", what, i));
      items.push_back(std::move(item));
    }
    return items;
  }

  model::Result<Dimension> TakeDimension() {
    Dimension dimension;
    NDLFS_TRY(dimension.name, TakeName());
    NDLFS_TRY(dimension.size, TakeCount());
    if (dimension.size > kMaxViewSize) {
      return model::Limit("{}: size {}", Quote(dimension.name), dimension.size);
    }
    return dimension;
  }

  model::Result<void> FindRecordDimension() {
    for (size_t i = 0; i < header_.dimensions.size(); ++i) {
      if (header_.dimensions[i].size != 0) continue;
      if (header_.record_dimension) {
        return BadInput("two unlimited dimensions, {} and {}",
                        Quote(header_.dimensions[*header_.record_dimension].name),
                        Quote(header_.dimensions[i].name));
      }
      header_.record_dimension = i;
    }
    return {};
  }

  model::Result<std::vector<Attribute>> TakeAttributes() {
    model::AttributeRoom room;
    return TakeList<Attribute>("attributes", kTagAttribute,
                               [&] { return TakeAttribute(room); });
  }

  model::Result<Attribute> TakeAttribute(model::AttributeRoom& room) {
    Attribute attribute;
    NDLFS_TRY(attribute.name, TakeName());
    NDLFS_TRY(attribute.type, TakeType(), Quote(attribute.name));
    NDLFS_TRY(attribute.count, TakeCount());
    const auto bytes = CheckedMultiply(attribute.count, SizeOf(attribute.type));
    if (!bytes) return BadInput("{}: {} values", Quote(attribute.name), attribute.count);
    if (!TakeRoom(room, attribute)) {
      NDLFS_RETURN_IF_ERROR(cursor_.SkipPadded(*bytes), Quote(attribute.name));
    } else {
      NDLFS_TRY(attribute.values, cursor_.TakePadded(*bytes), Quote(attribute.name));
    }
    return attribute;
  }

  // CDF-1 and CDF-2 define the first six types only, yet netCDF-C reads the
  // others there too.
  model::Result<Type> TakeType() {
    NDLFS_TRY(const uint64_t number, cursor_.TakeNumber(4));
    if (number < 1 || number > 11) return BadInput("unknown type {}", number);
    return static_cast<Type>(number);
  }

  model::Result<Variable> TakeVariable() {
    Variable variable;
    NDLFS_TRY(variable.name, TakeName());
    const std::string quoted = Quote(variable.name);
    NDLFS_RETURN_IF_ERROR(TakeVariableDimensions(variable), quoted);
    NDLFS_TRY(variable.attributes, TakeAttributes(), quoted);
    NDLFS_TRY(variable.type, TakeType(), quoted);
    // vsize is redundant, and wrong for large variables by design.
    NDLFS_RETURN_IF_ERROR(TakeCount(), quoted);
    NDLFS_TRY(variable.begin, TakeOffset(), quoted);
    NDLFS_RETURN_IF_ERROR(ComputeBytes(variable), quoted);
    return variable;
  }

  model::Result<void> TakeVariableDimensions(Variable& variable) {
    NDLFS_TRY(const uint64_t rank, TakeCount());
    if (rank > kMaxRank) return model::Limit("{} dimensions, at most {}", rank, kMaxRank);
    for (uint64_t i = 0; i < rank; ++i) {
      NDLFS_TRY(const uint64_t id, TakeCount());
      if (id >= header_.dimensions.size()) {
        return BadInput("dimension {} of {}", id, header_.dimensions.size());
      }
      if (id == header_.record_dimension) {
        if (i != 0) return BadInput("the unlimited dimension is not the first one");
        variable.is_record = true;
      }
      variable.dimensions.push_back(id);
    }
    return {};
  }

  model::Result<void> ComputeBytes(Variable& variable) const {
    std::optional<uint64_t> bytes = SizeOf(variable.type);
    for (const uint64_t id : variable.dimensions) {
      if (id == header_.record_dimension) continue;
      bytes = CheckedMultiply(*bytes, header_.dimensions[id].size);
      if (!bytes || *bytes > kMaxViewSize) return model::Limit("too many values");
    }
    variable.bytes = *bytes;
    return {};
  }

  // Each record holds one block of every record variable, padded to four
  // bytes; alone in its records, a variable is not padded. As netCDF-C has it,
  // one after others without values is alone too.
  model::Result<void> ComputeRecordStride() {
    const Variable* last = nullptr;
    uint64_t stride = 0;
    for (const Variable& variable : header_.variables) {
      if (!variable.is_record) continue;
      const auto padded = AlignUp(variable.bytes);
      const auto sum = padded ? CheckedAdd(stride, *padded) : std::nullopt;
      if (!sum || *sum > kMaxViewSize) return model::Limit("too many values in a record");
      stride = *sum;
      last = &variable;
    }
    const bool alone = last != nullptr && stride == *AlignUp(last->bytes);
    header_.record_stride = alone ? last->bytes : stride;
    return {};
  }

  // "Streaming" writers leave the number of records to the size of the file.
  void SetRecordCount(uint64_t stored) {
    const uint64_t streaming = header_.version == 5 ? std::numeric_limits<uint64_t>::max()
                                                    : std::numeric_limits<uint32_t>::max();
    header_.record_count = stored;
    if (stored != streaming) return;
    uint64_t begin = file_bytes_;
    for (const Variable& variable : header_.variables) {
      if (variable.is_record) begin = std::min(begin, variable.begin);
    }
    header_.record_count =
        header_.record_stride == 0 ? 0 : (file_bytes_ - begin) / header_.record_stride;
  }

  Cursor& cursor_;
  const uint64_t file_bytes_;
  Header header_;
};

// Whether no variable (of the record ones, none in their first record) lies
// where the header or another variable does.
bool HavePlacesOfTheirOwn(const Header& header) {
  std::vector<const Variable*> variables;
  for (const Variable& variable : header.variables) variables.push_back(&variable);
  std::sort(variables.begin(), variables.end(),
            [](const Variable* a, const Variable* b) { return a->begin < b->begin; });
  uint64_t end = header.header_bytes;
  for (const Variable* variable : variables) {
    const auto next = CheckedAdd(variable->begin, variable->bytes);
    if (variable->begin < end || !next) return false;
    end = *next;
  }
  return true;
}

bool EndsBeforeData(const Header& header) {
  return std::all_of(header.variables.begin(), header.variables.end(),
                     [&](const Variable& v) { return v.begin >= header.file_bytes; }) &&
         HavePlacesOfTheirOwn(header);
}

}  // namespace

model::Result<void> TakeRoom(model::AttributeRoom& room, const Attribute& attribute) {
  if (attribute.type == Type::kChar) return room.Take(attribute.name, 1, attribute.count);
  return room.Take(attribute.name, attribute.count, 0);
}

uint64_t SizeOf(Type type) {
  switch (type) {
    case Type::kByte:
    case Type::kChar:
    case Type::kUByte:
      return 1;
    case Type::kShort:
    case Type::kUShort:
      return 2;
    case Type::kInt:
    case Type::kFloat:
    case Type::kUInt:
      return 4;
    case Type::kDouble:
    case Type::kInt64:
    case Type::kUInt64:
      break;
  }
  return 8;
}

model::Datatype ElementType(Type type) {
  using model::ByteOrder;
  using model::Datatype;
  switch (type) {
    case Type::kChar:
      return Datatype::FixedString(1, model::Charset::kAscii);
    case Type::kFloat:
      return Datatype::Float32(ByteOrder::kBig);
    case Type::kDouble:
      return Datatype::Float64(ByteOrder::kBig);
    default:
      const bool is_signed = type < Type::kUByte || type == Type::kInt64;
      return Datatype::Integer(SizeOf(type), is_signed, ByteOrder::kBig);
  }
}

model::Result<Header> ReadHeader(const Store& store, std::string_view key) {
  NDLFS_TRY(const auto file_bytes, store.Size(key));
  if (!file_bytes) return model::NotFound("the file is gone");
  Cursor cursor(store, key, *file_bytes);
  NDLFS_TRY(Header header, HeaderParser(cursor, *file_bytes).Parse());
  header.ends_before_data = EndsBeforeData(header);
  return header;
}

}  // namespace ndlfs::backends::netcdf3
