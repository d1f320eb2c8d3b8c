// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/new_type.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "backends/base/utf32_text.h"
#include "backends/format/hdf5/new_parts.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Datatype;
using model::Result;
using TypeKind = Datatype::Kind;

// The classes of datatypes (IV.A.2.d) and, above them, the versions: only names of members and
// arrays differ in the later one.
enum TypeHead : uint8_t {
  kFixedHead = 0x10,
  kFloatHead = 0x11,
  kStringHead = 0x13,
  kOpaqueHead = 0x15,
  kReferenceHead = 0x17,
  kVlenHead = 0x19,
  kCompoundHead = 0x36,
  kEnumHead = 0x38,
  kArrayHead = 0x3a,
};
constexpr uint64_t kReferenceBytes = 8;
constexpr uint64_t kHeapPlaceBytes = 12;
constexpr uint64_t kCountedBytes = 16;
constexpr uint64_t kUtf8 = 1;

ByteWriter Begin(TypeHead head, uint64_t bits, uint64_t size) {
  ByteWriter out;
  out.Number(head, 1).Number(bits, 3).Number(size, 4);
  return out;
}

// Of the version that its base has.
ByteWriter VlenType(ConstByteSpan base) {
  const auto version = std::to_integer<uint64_t>(base[0]) & 0xf0;
  ByteWriter out = Begin(static_cast<TypeHead>(version | (kVlenHead & 0xf)), 0, kCountedBytes);
  out.Append(base);
  return out;
}

ByteWriter FixedType(size_t size, bool is_signed) {
  ByteWriter out = Begin(kFixedHead, is_signed ? 8 : 0, size);
  out.Number(0, 2).Number(8 * size, 2);
  return out;
}

struct FloatForm {
  std::string_view keyword;
  size_t size;
  uint64_t bits;
  uint64_t exponent_bits;
  uint64_t mantissa_bits;
  bool is_implied = true;
};
constexpr FloatForm kFloatForms[] = {
    {"float16", 2, 16, 5, 10},  {"bfloat16", 2, 16, 8, 7},           {"float32", 4, 32, 8, 23},
    {"float64", 8, 64, 11, 52}, {"float128", 16, 80, 15, 64, false},  // the 80 bits of the x87
};

ByteWriter FloatType(const FloatForm& form, bool is_big = false) {
  constexpr uint64_t kImplied = 0x20;
  const uint64_t bits = (form.bits - 1) << 8 | (form.is_implied ? kImplied : 0);
  ByteWriter out = Begin(kFloatHead, bits | (is_big ? 1 : 0), form.size);
  out.Number(0, 2).Number(form.bits, 2);
  out.Number(form.mantissa_bits, 1).Number(form.exponent_bits, 1);
  out.Number(0, 1).Number(form.mantissa_bits, 1);
  out.Number((uint64_t{1} << (form.exponent_bits - 1)) - 1, 4);
  return out;
}

Result<ByteWriter> OpaqueType(size_t size, std::string_view tag) {
  constexpr size_t kMostTag = 248;
  if (size == 0) return model::Unsupported("elements of 0 bytes");
  tag = tag.substr(0, std::min(tag.find('\0'), kMostTag));
  ByteWriter out = Begin(kOpaqueHead, (tag.size() + 7) / 8 * 8, size);
  out.Text(tag).Align(8);
  return out;
}

Result<void> CheckPartName(std::string_view name) {
  if (name.empty() || name.find('\0') != name.npos) {
    return model::Unsupported("a name that HDF5 does not have: {}", model::Quote(name));
  }
  return {};
}

Result<ByteWriter> EnumType(const Datatype& type) {
  const size_t size = type.base().size();
  if (type.constants().size() > UINT16_MAX) return model::Unsupported("a very large enum");
  ByteWriter out = Begin(kEnumHead, type.constants().size(), size);
  out.Append(FixedType(size, type.base().is_signed()).bytes());
  for (const Datatype::Constant& constant : type.constants()) {
    NDLFS_RETURN_IF_ERROR(CheckPartName(constant.name));
    out.Text(constant.name).Zeros(1);
  }
  for (const Datatype::Constant& constant : type.constants()) {
    out.Number(static_cast<uint64_t>(constant.value), size);
  }
  return out;
}

Result<ByteWriter> ArrayOf(const std::vector<uint64_t>& shape, ConstByteSpan base,
                           uint64_t base_bytes) {
  constexpr size_t kMostDimensions = 32;
  const auto bytes = CheckedProduct(shape, base_bytes);
  if (shape.empty() || shape.size() > kMostDimensions || !bytes || *bytes == 0 ||
      *bytes > UINT32_MAX) {
    return model::Unsupported("arrays of this shape as elements");
  }
  ByteWriter out = Begin(kArrayHead, 0, *bytes);
  out.Number(shape.size(), 1);
  for (const uint64_t extent : shape) out.Number(extent, 4);
  out.Append(base);
  return out;
}

// A character; several are an array of them.
Result<ByteWriter> CharactersType(size_t count) {
  if (count == 0) return model::Unsupported("text of 0 bytes");
  ByteWriter character = Begin(kStringHead, 0, 1);
  if (count == 1) return character;
  return ArrayOf({count}, character.bytes(), 1);
}

// netCDF-C refuses a file with arrays of arrays, such as those of texts: they are one.
Result<ByteWriter> ArrayType(const Datatype& type, const NewType& base) {
  std::vector<uint64_t> shape = type.shape();
  ConstByteSpan element = base.message;
  uint64_t element_bytes = base.size;
  if (std::to_integer<uint64_t>(element[0]) == kArrayHead) {
    const size_t rank = std::to_integer<size_t>(element[8]);
    for (size_t d = 0; d < rank; ++d) {
      uint32_t extent = 0;
      std::memcpy(&extent, &element[9 + 4 * d], sizeof(extent));
      shape.push_back(extent);
      element_bytes /= extent;
    }
    element = element.subspan(9 + 4 * rank);
  }
  return ArrayOf(shape, element, element_bytes);
}

// A compound of fixed size gets the layout of `type`; others get no padding.
Result<ByteWriter> CompoundType(const Datatype& type, NewType& made) {
  size_t end = 0;
  std::set<std::string_view> names;
  std::vector<std::pair<size_t, size_t>> places;
  for (size_t i = 0; i < made.parts.size(); ++i) {
    const Datatype::Member& member = type.members()[i];
    NDLFS_RETURN_IF_ERROR(CheckPartName(member.name));
    const size_t offset = type.is_fixed_size() ? member.offset : end;
    end = std::max(end, offset + made.parts[i]->size);
    made.offsets.push_back(offset);
    places.emplace_back(offset, end);
    if (!names.insert(member.name).second) {
      return model::Unsupported("two members {}", model::Quote(member.name));
    }
  }
  std::ranges::sort(places);
  for (size_t i = 1; i < places.size(); ++i) {
    if (places[i].first < places[i - 1].second) {
      return model::Unsupported("a compound whose members overlap");
    }
  }
  const size_t size = type.is_fixed_size() ? type.size() : end;
  if (size < end || size > UINT32_MAX || names.size() > UINT16_MAX || names.empty()) {
    return model::Unsupported("a compound of {} members in {} bytes", names.size(), size);
  }
  const size_t offset_bytes = (std::bit_width(size) + 7) / 8;
  ByteWriter out = Begin(kCompoundHead, names.size(), size);
  for (size_t i = 0; i < made.parts.size(); ++i) {
    out.Text(type.members()[i].name).Zeros(1).Number(made.offsets[i], offset_bytes);
    out.Append(made.parts[i]->message);
  }
  return out;
}

Result<ByteWriter> MessageOf(const Datatype& type, NewType& made) {
  constexpr uint64_t kIsText = 1;
  switch (type.kind()) {
    case TypeKind::kString: {
      if (type.is_fixed_size()) return CharactersType(type.size());
      ByteWriter out = Begin(kVlenHead, kIsText | kUtf8 << 8, kCountedBytes);
      out.Append(FixedType(1, false).bytes());
      return out;
    }
    case TypeKind::kInteger:
      return FixedType(type.size(), type.is_signed());
    case TypeKind::kFloat: {
      const std::string keyword = type.keyword();
      const auto* form = std::ranges::find(kFloatForms, keyword, &FloatForm::keyword);
      if (form == std::end(kFloatForms)) return OpaqueType(type.size(), keyword);
      return FloatType(*form);
    }
    case TypeKind::kOpaque:
      return OpaqueType(type.size(), type.tag());
    case TypeKind::kEnum:
      return EnumType(type);
    case TypeKind::kObjectRef:
      return Begin(kReferenceHead, 0, kReferenceBytes);
    case TypeKind::kRegionRef:
      return Begin(kReferenceHead, 1, kHeapPlaceBytes);
    case TypeKind::kCompound:
      return CompoundType(type, made);
    case TypeKind::kVlen:
      return VlenType(made.parts.front()->message);
    case TypeKind::kArray:
      return ArrayType(type, *made.parts.front());
  }
  return model::Internal("unknown kind of type");
}

// The count of a text or a vlen takes 4 bytes.
size_t LeastBytes(const NewType& type) {
  if (type.type.is_fixed_size()) return type.size;
  if (type.type.kind() == TypeKind::kArray) {
    return type.type.array_length() * type.parts.front()->least;
  }
  if (type.type.kind() != TypeKind::kCompound) return sizeof(uint32_t);
  size_t least = 0;
  for (const NewTypePtr& part : type.parts) least += part->least;
  return least;
}

class Taker {
 public:
  explicit Taker(const NewReferences& references) : references_(references) {}

  Result<void> Take(const NewType& type, ConstByteSpan& stream, std::byte* out) {
    switch (type.type.kind()) {
      case TypeKind::kString:
        return type.type.is_fixed_size() ? TakeCharacters(type, stream, out)
                                         : TakeString(type.type, stream, out);
      case TypeKind::kObjectRef: {
        NDLFS_TRY(const std::string_view path, TakeText(stream));
        Copy(ByteWriter().Address(references_.object(path)).bytes(), out);
        return {};
      }
      case TypeKind::kRegionRef:
        return TakeRegion(type.type, stream, out);
      case TypeKind::kCompound:
        for (size_t i = 0; i < type.parts.size(); ++i) {
          NDLFS_RETURN_IF_ERROR(Take(*type.parts[i], stream, out + type.offsets[i]));
        }
        return {};
      case TypeKind::kVlen:
        return TakeVlen(*type.parts.front(), stream, out);
      case TypeKind::kArray:
        for (uint64_t i = 0; i < type.type.array_length(); ++i) {
          NDLFS_RETURN_IF_ERROR(
              Take(*type.parts.front(), stream, out + i * type.parts.front()->size));
        }
        return {};
      default: {
        NDLFS_TRY(const ConstByteSpan bytes, TakeBytes(stream, type.size));
        Copy(bytes, out);
        return {};
      }
    }
  }

 private:
  static void Copy(ConstByteSpan bytes, std::byte* out) { std::ranges::copy(bytes, out); }

  // Writes the place of an object of the heap with so many elements.
  void PutCounted(uint64_t count, ConstByteSpan object, std::byte* out) {
    if (count == 0) return;
    Copy(ByteWriter().Number(count, 4).Append(references_.put(object)).bytes(), out);
  }

  static Result<void> TakeCharacters(const NewType& type, ConstByteSpan& stream,
                                     std::byte* out) {
    NDLFS_TRY(const ConstByteSpan bytes, TakeBytes(stream, type.size));
    Copy(bytes, out);
    NDLFS_TRY(const auto runs, FindUtf32(type.type));
    RewriteUtf32(runs, type.size, {out, type.size});
    return {};
  }

  Result<void> TakeString(const Datatype& type, ConstByteSpan& stream, std::byte* out) {
    NDLFS_TRY(const std::string_view raw, TakeText(stream));
    const std::string text = TextAsUtf8(type, raw);
    // Programs in C would end it there.
    if (text.find('\0') != std::string::npos) return model::Unsupported("text with a NUL");
    PutCounted(text.size(), AsBytes(text), out);
    return {};
  }

  Result<void> TakeVlen(const NewType& base, ConstByteSpan& stream, std::byte* out) {
    NDLFS_TRY(const uint32_t count, TakeCount(stream));
    if (count > stream.size() / base.least) {
      return model::Corrupt("a sequence of {} elements", count);
    }
    std::vector<std::byte> elements(size_t{count} * base.size);
    for (uint32_t i = 0; i < count; ++i) {
      NDLFS_RETURN_IF_ERROR(Take(base, stream, elements.data() + i * base.size));
    }
    PutCounted(count, elements, out);
    return {};
  }

  Result<void> TakeRegion(const Datatype& type, ConstByteSpan& stream, std::byte* out) {
    NDLFS_TRY(const model::Value value, TakeElement(type, stream));
    if (value.region() == nullptr) return {};
    const auto object = references_.region(*value.region());
    if (!object.empty()) Copy(references_.put(object), out);
    return {};
  }

  const NewReferences& references_;
};

}  // namespace

Result<NewTypePtr> MakeNewType(const Datatype& type, const std::vector<NewTypePtr>& known) {
  const auto same = std::ranges::find_if(known, [&](const NewTypePtr& other) {
    return other->type.kind() == type.kind() &&
           other->type.is_fixed_size() == type.is_fixed_size() && other->type == type &&
           other->type.SameLayout(type);
  });
  if (same != known.end()) return *same;
  auto made = std::make_shared<NewType>();
  made->type = type;
  if (type.kind() == TypeKind::kCompound) {
    for (const Datatype::Member& member : type.members()) {
      NDLFS_TRY(auto part, MakeNewType(member.type, known), model::Quote(member.name));
      made->parts.push_back(std::move(part));
    }
  } else if (type.kind() == TypeKind::kVlen || type.kind() == TypeKind::kArray) {
    NDLFS_TRY(auto part, MakeNewType(type.base(), known));
    made->parts.push_back(std::move(part));
  }
  if (type.size() > UINT32_MAX) return model::Unsupported("elements of {} bytes", type.size());
  NDLFS_TRY(ByteWriter message, MessageOf(type, *made));
  made->message = message.Take();
  uint32_t size = 0;
  std::memcpy(&size, &made->message[4], sizeof(size));
  made->size = size;
  made->least = LeastBytes(*made);
  return NewTypePtr(std::move(made));
}

std::vector<std::byte> TextTypeMessage(std::string_view text, bool is_utf8) {
  constexpr uint64_t kTerminated = 0;
  constexpr uint64_t kPadded = 1;
  const bool ends = text.empty() || text.find('\0') == text.size() - 1;
  return Begin(kStringHead, (ends ? kTerminated : kPadded) | (is_utf8 ? kUtf8 << 4 : 0),
               std::max<size_t>(text.size(), 1))
      .Take();
}

std::vector<std::byte> ObjectReferenceMessage() {
  return Begin(kReferenceHead, 0, kReferenceBytes).Take();
}

std::vector<std::byte> ScaleUserMessage() {
  ByteWriter out = Begin(kCompoundHead, 2, kReferenceBytes + 8);
  out.Text("dataset").Zeros(2).Append(ObjectReferenceMessage());
  out.Text("dimension").Zeros(1).Number(kReferenceBytes, 1).Append(Int32Message());
  return out.Take();
}

std::vector<std::byte> VlenMessage(ConstByteSpan base) { return VlenType(base).Take(); }

std::vector<std::byte> BigFloat32Message() { return FloatType(kFloatForms[2], true).Take(); }

std::vector<std::byte> Int32Message() { return FixedType(4, true).Take(); }

Result<void> TakeNewElement(const NewType& type, ConstByteSpan& stream, std::byte* out,
                            const NewReferences& references) {
  return Taker(references).Take(type, stream, out);
}

}  // namespace ndlfs::backends::hdf5
