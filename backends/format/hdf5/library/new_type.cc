// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/new_type.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "backends/base/element_stream.h"
#include "backends/base/utf32_text.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Datatype;
using model::Result;
using TypeKind = Datatype::Kind;

hid_t IntegerType(const Datatype& type) {
  switch (type.size()) {
    case 1:
      return type.is_signed() ? H5T_STD_I8LE : H5T_STD_U8LE;
    case 2:
      return type.is_signed() ? H5T_STD_I16LE : H5T_STD_U16LE;
    case 4:
      return type.is_signed() ? H5T_STD_I32LE : H5T_STD_U32LE;
    default:
      return type.is_signed() ? H5T_STD_I64LE : H5T_STD_U64LE;
  }
}

Result<Handle> OpaqueType(size_t size, const std::string& tag) {
  if (size == 0) return model::Unsupported("elements of 0 bytes");
  NDLFS_TRY(auto id, Checked(H5Tcreate(H5T_OPAQUE, size), "an opaque type"));
  const std::string cut = tag.substr(0, H5T_OPAQUE_TAG_MAX - 1);
  NDLFS_RETURN_IF_ERROR(CheckStatus(H5Tset_tag(id.get(), cut.c_str()), "an opaque type"));
  return id;
}

// An IEEE float of two bytes with `exponent` bits of exponent.
Result<Handle> TwoByteFloat(size_t exponent) {
  NDLFS_TRY(auto id, Checked(H5Tcopy(H5T_IEEE_F32LE), "a float type"));
  const size_t mantissa = 15 - exponent;
  const size_t bias = (size_t{1} << (exponent - 1)) - 1;
  const bool done = H5Tset_fields(id.get(), 15, mantissa, exponent, 0, mantissa) >= 0 &&
                    H5Tset_precision(id.get(), 16) >= 0 && H5Tset_size(id.get(), 2) >= 0 &&
                    H5Tset_ebias(id.get(), bias) >= 0;
  if (!done) return LibraryError("a float type");
  return id;
}

Result<Handle> FloatType(const Datatype& type) {
  const std::string keyword = type.keyword();
  if (keyword == "float32") return Checked(H5Tcopy(H5T_IEEE_F32LE), "a float type");
  if (keyword == "float64") return Checked(H5Tcopy(H5T_IEEE_F64LE), "a float type");
  if (keyword == "float16") return TwoByteFloat(5);
  if (keyword == "bfloat16") return TwoByteFloat(8);
  if (keyword == "float128" && H5Tget_size(H5T_NATIVE_LDOUBLE) == type.size() &&
      H5Tget_precision(H5T_NATIVE_LDOUBLE) == 80) {
    return Checked(H5Tcopy(H5T_NATIVE_LDOUBLE), "a float type");
  }
  return OpaqueType(type.size(), keyword);
}

Result<Handle> EnumType(const Datatype& type) {
  static_assert(std::endian::native == std::endian::little);
  const size_t size = type.base().size();
  NDLFS_TRY(auto id, Checked(H5Tenum_create(IntegerType(type.base())), "an enum type"));
  for (const Datatype::Constant& constant : type.constants()) {
    std::byte value[sizeof(model::WideInt)];
    std::memcpy(value, &constant.value, sizeof(value));
    if (size > sizeof(value)) return model::Internal("an enum of {} bytes", size);
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Tenum_insert(id.get(), constant.name.c_str(), value), "an enum type"));
  }
  return id;
}

// A character; several are an array of them.
Result<Handle> CharactersType(size_t count) {
  if (count == 0) return model::Unsupported("text of 0 bytes");
  NDLFS_TRY(auto character, Checked(H5Tcopy(H5T_C_S1), "a character type"));
  if (count == 1) return character;
  const hsize_t dimension = count;
  return Checked(H5Tarray_create2(character.get(), 1, &dimension), "a text type");
}

Result<NewType> ArrayType(const Datatype& type, const std::vector<NewType>& known) {
  NewType made;
  NDLFS_TRY(NewType base, MakeNewType(type.base(), known));
  if (type.shape().empty() || type.shape().size() > H5S_MAX_RANK || type.array_length() == 0) {
    return model::Unsupported("arrays of this shape as elements");
  }
  std::vector<hsize_t> shape(type.shape().begin(), type.shape().end());
  // netCDF-C refuses a file with arrays of arrays, such as those of texts.
  Handle inner;
  const bool is_nested = H5Tget_class(base.id.get()) == H5T_ARRAY;
  const int inner_rank = is_nested ? H5Tget_array_ndims(base.id.get()) : 0;
  if (inner_rank > 0 && shape.size() + static_cast<size_t>(inner_rank) <= H5S_MAX_RANK) {
    shape.resize(shape.size() + static_cast<size_t>(inner_rank));
    NDLFS_RETURN_IF_ERROR(CheckStatus(
        H5Tget_array_dims2(base.id.get(), &*(shape.end() - inner_rank)), "an array type"));
    NDLFS_TRY(inner, Checked(H5Tget_super(base.id.get()), "an array type"));
  }
  const auto rank = static_cast<unsigned>(shape.size());
  const hid_t element = inner ? inner.get() : base.id.get();
  NDLFS_TRY(made.id, Checked(H5Tarray_create2(element, rank, shape.data()), "an array type"));
  made.parts.push_back(std::move(base));
  return made;
}

Result<NewType> VlenType(const Datatype& type, const std::vector<NewType>& known) {
  NewType made;
  NDLFS_TRY(NewType base, MakeNewType(type.base(), known));
  NDLFS_TRY(made.id, Checked(H5Tvlen_create(base.id.get()), "a vlen type"));
  made.parts.push_back(std::move(base));
  return made;
}

// A compound of fixed size gets the layout of `type`; others get no padding.
Result<NewType> CompoundType(const Datatype& type, const std::vector<NewType>& known) {
  NewType made;
  size_t end = 0;
  for (const Datatype::Member& member : type.members()) {
    NDLFS_TRY(NewType part, MakeNewType(member.type, known), model::Quote(member.name));
    const size_t offset = type.is_fixed_size() ? member.offset : end;
    if (type.is_fixed_size() && part.size != member.type.size()) {
      return model::Internal("a member of {} bytes", part.size);
    }
    end = std::max(end, offset + part.size);
    made.offsets.push_back(offset);
    made.parts.push_back(std::move(part));
  }
  const size_t size = type.is_fixed_size() ? type.size() : end;
  if (size == 0) return model::Unsupported("elements of 0 bytes");
  NDLFS_TRY(made.id, Checked(H5Tcreate(H5T_COMPOUND, size), "a compound type"));
  for (size_t i = 0; i < made.parts.size(); ++i) {
    NDLFS_RETURN_IF_ERROR(CheckStatus(H5Tinsert(made.id.get(), type.members()[i].name.c_str(),
                                                made.offsets[i], made.parts[i].id.get()),
                                      "a compound type"));
  }
  return made;
}

Result<NewType> MakeType(const Datatype& type, const std::vector<NewType>& known) {
  NewType made;
  switch (type.kind()) {
    case TypeKind::kString: {
      NDLFS_TRY(made.id,
                type.is_fixed_size() ? CharactersType(type.size()) : MakeVariableTextType());
      return made;
    }
    case TypeKind::kInteger: {
      NDLFS_TRY(made.id, Checked(H5Tcopy(IntegerType(type)), "an integer type"));
      return made;
    }
    case TypeKind::kFloat: {
      NDLFS_TRY(made.id, FloatType(type));
      return made;
    }
    case TypeKind::kOpaque: {
      NDLFS_TRY(made.id, OpaqueType(type.size(), type.tag()));
      return made;
    }
    case TypeKind::kEnum: {
      NDLFS_TRY(made.id, EnumType(type));
      return made;
    }
    case TypeKind::kObjectRef: {
      NDLFS_TRY(made.id, Checked(H5Tcopy(H5T_STD_REF_OBJ), "a reference type"));
      return made;
    }
    case TypeKind::kRegionRef: {
      NDLFS_TRY(made.id, Checked(H5Tcopy(H5T_STD_REF_DSETREG), "a reference type"));
      return made;
    }
    case TypeKind::kCompound:
      return CompoundType(type, known);
    case TypeKind::kVlen:
      return VlenType(type, known);
    case TypeKind::kArray:
      return ArrayType(type, known);
  }
  return model::Internal("unknown kind of type");
}

NewType CopyOf(const NewType& from) {
  NewType copy;
  H5Iinc_ref(from.id.get());
  copy.id = Handle(from.id.get());
  copy.type = from.type;
  copy.size = from.size;
  copy.offsets = from.offsets;
  for (const NewType& part : from.parts) copy.parts.push_back(CopyOf(part));
  return copy;
}

class Taker {
 public:
  Taker(const NewReferences& references, std::pmr::memory_resource& arena)
      : references_(references), arena_(arena) {}

  Result<void> Take(const NewType& type, ConstByteSpan& stream, std::byte* out) {
    switch (type.type.kind()) {
      case TypeKind::kString:
        return type.type.is_fixed_size() ? TakeCharacters(type, stream, out)
                                         : TakeString(type.type, stream, out);
      case TypeKind::kObjectRef: {
        NDLFS_TRY(const std::string_view path, TakeText(stream));
        const hobj_ref_t reference = references_.object(path);
        std::memcpy(out, &reference, sizeof(reference));
        return {};
      }
      case TypeKind::kRegionRef:
        return TakeRegion(type.type, stream, out);
      case TypeKind::kCompound:
        for (size_t i = 0; i < type.parts.size(); ++i) {
          NDLFS_RETURN_IF_ERROR(Take(type.parts[i], stream, out + type.offsets[i]));
        }
        return {};
      case TypeKind::kVlen:
        return TakeVlen(type.parts.front(), stream, out);
      case TypeKind::kArray:
        for (uint64_t i = 0; i < type.type.array_length(); ++i) {
          NDLFS_RETURN_IF_ERROR(
              Take(type.parts.front(), stream, out + i * type.parts.front().size));
        }
        return {};
      default: {
        NDLFS_TRY(const ConstByteSpan bytes, TakeBytes(stream, type.size));
        std::memcpy(out, bytes.data(), bytes.size());
        return {};
      }
    }
  }

 private:
  Result<void> TakeCharacters(const NewType& type, ConstByteSpan& stream, std::byte* out) {
    NDLFS_TRY(const ConstByteSpan bytes, TakeBytes(stream, type.size));
    std::memcpy(out, bytes.data(), bytes.size());
    NDLFS_TRY(const auto runs, FindUtf32(type.type));
    RewriteUtf32(runs, type.size, {out, type.size});
    return {};
  }

  Result<void> TakeString(const Datatype& type, ConstByteSpan& stream, std::byte* out) {
    NDLFS_TRY(const std::string_view raw, TakeText(stream));
    const std::string text = TextAsUtf8(type, raw);
    // The library would end it there.
    if (text.find('\0') != std::string::npos) return model::Unsupported("text with a NUL");
    auto* copy = static_cast<char*>(arena_.allocate(text.size() + 1, 1));
    std::memcpy(copy, text.c_str(), text.size() + 1);
    std::memcpy(out, &copy, sizeof(copy));
    return {};
  }

  Result<void> TakeVlen(const NewType& base, ConstByteSpan& stream, std::byte* out) {
    NDLFS_TRY(const uint32_t count, TakeCount(stream));
    // Each part takes a byte at least, or the length says nothing about memory.
    const size_t least = base.type.is_fixed_size() ? base.size : 1;
    if (count > stream.size() / least) {
      return model::Corrupt("a sequence of {} elements", count);
    }
    hvl_t vlen = {count, nullptr};
    if (count != 0) {
      const size_t bytes = size_t{count} * base.size;
      vlen.p = arena_.allocate(bytes, alignof(std::max_align_t));
      std::memset(vlen.p, 0, bytes);
    }
    for (uint32_t i = 0; i < count; ++i) {
      NDLFS_RETURN_IF_ERROR(
          Take(base, stream, static_cast<std::byte*>(vlen.p) + i * base.size));
    }
    std::memcpy(out, &vlen, sizeof(vlen));
    return {};
  }

  Result<void> TakeRegion(const Datatype& type, ConstByteSpan& stream, std::byte* out) {
    NDLFS_TRY(const model::Value value, TakeElement(type, stream));
    if (value.region() == nullptr) return {};
    const RegionBytes reference = references_.region(*value.region());
    std::memcpy(out, &reference, sizeof(reference));
    return {};
  }

  const NewReferences& references_;
  std::pmr::memory_resource& arena_;
};

}  // namespace

Result<NewType> MakeNewType(const Datatype& type, const std::vector<NewType>& known) {
  const auto same = std::ranges::find_if(known, [&](const NewType& other) {
    return other.type.kind() == type.kind() &&
           other.type.is_fixed_size() == type.is_fixed_size() && other.type == type &&
           other.type.SameLayout(type);
  });
  if (same != known.end()) return CopyOf(*same);
  NDLFS_TRY(NewType made, MakeType(type, known));
  made.type = type;
  made.size = H5Tget_size(made.id.get());
  return made;
}

Result<Handle> MakeTextType(size_t bytes, bool is_utf8) {
  NDLFS_TRY(auto id, Checked(H5Tcopy(H5T_C_S1), "a text type"));
  const bool done = H5Tset_size(id.get(), std::max<size_t>(bytes, 1)) >= 0 &&
                    H5Tset_cset(id.get(), is_utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII) >= 0;
  if (!done) return LibraryError("a text type");
  return id;
}

Result<Handle> MakeVariableTextType() {
  NDLFS_TRY(auto id, Checked(H5Tcopy(H5T_C_S1), "a text type"));
  const bool done =
      H5Tset_size(id.get(), H5T_VARIABLE) >= 0 && H5Tset_cset(id.get(), H5T_CSET_UTF8) >= 0;
  if (!done) return LibraryError("a text type");
  return id;
}

bool HasReferences(const Datatype& type) {
  switch (type.kind()) {
    case TypeKind::kObjectRef:
    case TypeKind::kRegionRef:
      return true;
    case TypeKind::kCompound:
      return std::ranges::any_of(type.members(), [](const Datatype::Member& member) {
        return HasReferences(member.type);
      });
    case TypeKind::kVlen:
    case TypeKind::kArray:
      return HasReferences(type.base());
    default:
      return false;
  }
}

Result<void> TakeNewElement(const NewType& type, ConstByteSpan& stream, std::byte* out,
                            const NewReferences& references, std::pmr::memory_resource& arena) {
  return Taker(references, arena).Take(type, stream, out);
}

}  // namespace ndlfs::backends::hdf5
