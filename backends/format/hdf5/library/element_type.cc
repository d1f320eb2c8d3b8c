// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/element_type.h"

#include <algorithm>
#include <array>
#include <string>

#include "backends/base/checked.h"
#include "backends/base/numpy_dtype.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::ByteOrder;
using model::Datatype;
using model::Result;

// A limit, because a few bytes of a hostile datatype could have very many parts.
constexpr size_t kMaxTypeParts = 100'000;
constexpr size_t kMaxTextRuns = 10'000;
constexpr size_t kMaxElementBytes = size_t{1} << 31;

struct NamedFloat {
  std::string_view keyword;
  FloatFields fields;
};

constexpr std::array kPlainFloats = {
    NamedFloat{"float16", {2, 15, 10, 5, 0, 10, 15, H5T_NORM_IMPLIED}},
    NamedFloat{"float32", {4, 31, 23, 8, 0, 23, 127, H5T_NORM_IMPLIED}},
    NamedFloat{"float64", {8, 63, 52, 11, 0, 52, 1023, H5T_NORM_IMPLIED}},
    // The 80 bits of the x87, as NumPy names them.
    NamedFloat{"float128", {16, 79, 64, 15, 0, 64, 16383, H5T_NORM_NONE}},
};

// Whether every number of `from` is one of `to`, which is an IEEE format.
bool FitsIn(const FloatFields& from, const FloatFields& to) {
  if (from.mantissa_bits > to.mantissa_bits || from.exponent_bits > to.exponent_bits) {
    return false;
  }
  const auto signed_bias = [](const FloatFields& f) { return static_cast<int64_t>(f.bias); };
  const auto smallest = [&](const FloatFields& f) {
    return 1 - signed_bias(f) - static_cast<int64_t>(f.mantissa_bits);
  };
  const auto largest = [&](const FloatFields& f) {
    return (int64_t{1} << f.exponent_bits) - 1 - signed_bias(f);
  };
  // Formats without infinity use the largest exponent for numbers, too.
  return smallest(from) >= smallest(to) && largest(from) <= largest(to);
}

std::optional<ByteOrder> OrderOf(hid_t type) {
  switch (H5Tget_order(type)) {
    case H5T_ORDER_LE:
      return ByteOrder::kLittle;
    case H5T_ORDER_BE:
      return ByteOrder::kBig;
    default:
      return std::nullopt;
  }
}

bool IsStandardSize(size_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

hid_t StandardInteger(size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? H5T_STD_I8LE : H5T_STD_U8LE;
    case 2:
      return is_signed ? H5T_STD_I16LE : H5T_STD_U16LE;
    case 4:
      return is_signed ? H5T_STD_I32LE : H5T_STD_U32LE;
    default:
      return is_signed ? H5T_STD_I64LE : H5T_STD_U64LE;
  }
}

hid_t StandardBitfield(size_t bytes) {
  switch (bytes) {
    case 1:
      return H5T_STD_B8LE;
    case 2:
      return H5T_STD_B16LE;
    case 4:
      return H5T_STD_B32LE;
    default:
      return H5T_STD_B64LE;
  }
}

// A string that the library has allocated.
std::string TakeString(char* text) {
  std::string copy = text ? text : "";
  if (text) H5free_memory(text);
  return copy;
}

model::Charset CharsetOf(hid_t type) {
  return H5Tget_cset(type) == H5T_CSET_UTF8 ? model::Charset::kUtf8 : model::Charset::kAscii;
}

class TypeReader {
 public:
  // Elements that are not read as they stand in the file are packed, as the
  // parts of an element stream are.
  TypeReader(bool packed, WideFloats wide_floats)
      : packed_(packed), wide_floats_(wide_floats) {}

  Result<ElementType> Read(hid_t type, int depth) {
    if (depth > Datatype::kMaxDepth) return model::Limit("types nest too deep");
    if (++parts_ > kMaxTypeParts)
      return model::Limit("a type of more than {} parts", kMaxTypeParts);
    const size_t bytes = H5Tget_size(type);
    if (bytes == 0) return LibraryError("size of the type");
    if (bytes > kMaxElementBytes) return model::Limit("elements of {} bytes", bytes);
    NDLFS_TRY(auto element, ReadClass(type, bytes, depth));
    // A widened element takes more room than it has in the file.
    if (!element.is_plain) element.stored = Datatype::Opaque(bytes);
    return element;
  }

 private:
  Result<ElementType> ReadClass(hid_t type, size_t bytes, int depth) {
    const H5T_class_t kind = H5Tget_class(type);
    switch (kind) {
      case H5T_INTEGER:
        return ReadInteger(type, bytes);
      case H5T_BITFIELD:
        return ReadBitfield(type, bytes);
      case H5T_FLOAT:
        return ReadFloat(type, bytes);
      case H5T_STRING:
        return ReadString(type, bytes);
      case H5T_OPAQUE:
        return ReadOpaque(type, bytes, TakeString(H5Tget_tag(type)));
      case H5T_TIME:
        return ReadTime(type, bytes);
      case H5T_REFERENCE:
        return ReadReference(type, bytes);
      case H5T_ENUM:
        return ReadEnum(type);
      case H5T_COMPOUND:
        return ReadCompound(type, bytes, depth);
      case H5T_VLEN:
        return ReadVlen(type, depth);
      case H5T_ARRAY:
        return ReadArray(type, bytes, depth);
      case H5T_NO_CLASS:
        return LibraryError("class of the type");
      default:  // such as the complex numbers of HDF5 2
        return model::Unsupported("a type of the class {} of HDF5", static_cast<int>(kind));
    }
  }

  // An element that the library gives as `type`, without pointers.
  static Result<ElementType> Bytes(Datatype type, hid_t memory) {
    ElementType element;
    NDLFS_TRY(element.memory, Checked(H5Tcopy(memory), "copy of a type"));
    element.form.size = H5Tget_size(memory);
    element.type = type;
    element.stored = std::move(type);
    return element;
  }

  static void SetOrder(ElementType& element, std::optional<ByteOrder> order) {
    if (!order || element.type.size() == 1) return;
    element.stored_order = order;
    element.stored = element.type.WithOrder(*order);
  }

  static bool IsWhole(hid_t type, size_t bytes) {
    return IsStandardSize(bytes) && H5Tget_precision(type) == 8 * bytes &&
           H5Tget_offset(type) == 0 && OrderOf(type);
  }

  // Reads a number in the byte order of the file. Where nothing but the order
  // changes, the library swaps the bytes without a look at the precision.
  static Result<void> KeepOrder(hid_t type, ElementType& element) {
    if (element.is_plain || OrderOf(type) != ByteOrder::kBig) return {};
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Tset_order(element.memory.get(), H5T_ORDER_BE), "byte order"));
    if (element.form.size > 1) element.form.kind = MemoryForm::Kind::kReversed;
    return {};
  }

  // Numbers in some bits of their bytes are widened by the library to the next
  // integer that has all the bytes.
  static Result<ElementType> ReadInteger(hid_t type, size_t bytes) {
    if (bytes > 8) {
      return ReadOpaque(type, bytes, fmt::format("HDF5 integer of {} bits", 8 * bytes));
    }
    const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
    const size_t shown = std::bit_ceil(bytes);
    NDLFS_TRY(auto element,
              Bytes(Datatype::Integer(shown, is_signed), StandardInteger(shown, is_signed)));
    SetOrder(element, OrderOf(type));
    element.is_plain = IsWhole(type, bytes);
    NDLFS_RETURN_IF_ERROR(KeepOrder(type, element));
    return element;
  }

  // Seconds since 1970, as PyTables writes them: 32 bits are an integer, 64 bits a float.
  static Result<ElementType> ReadTime(hid_t type, size_t bytes) {
    const auto order = OrderOf(type);
    if ((bytes != 4 && bytes != 8) || !order) return ReadOpaque(type, bytes, "HDF5 time");
    NDLFS_TRY(auto element,
              Bytes(bytes == 4 ? Datatype::Integer(4, true) : Datatype::Float64(), type));
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Tset_order(element.memory.get(), H5T_ORDER_LE), "byte order"));
    SetOrder(element, order);
    return element;
  }

  static Result<ElementType> ReadBitfield(hid_t type, size_t bytes) {
    if (bytes > 8) {
      return ReadOpaque(type, bytes, fmt::format("HDF5 bit field of {} bits", 8 * bytes));
    }
    const size_t shown = std::bit_ceil(bytes);
    NDLFS_TRY(auto element, Bytes(Datatype::Integer(shown, false), StandardBitfield(shown)));
    SetOrder(element, OrderOf(type));
    element.is_plain = IsWhole(type, bytes);
    NDLFS_RETURN_IF_ERROR(KeepOrder(type, element));
    return element;
  }

  static Result<FloatFields> ReadFloatFields(hid_t type, size_t bytes) {
    FloatFields fields{};
    fields.bytes = bytes;
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Tget_fields(type, &fields.sign, &fields.exponent, &fields.exponent_bits,
                                  &fields.mantissa, &fields.mantissa_bits),
                    "fields of the floating-point type"));
    fields.bias = H5Tget_ebias(type);
    fields.norm = H5Tget_norm(type);
    return fields;
  }

  static std::string DescribeFloat(const FloatFields& fields) {
    return fmt::format(
        "HDF5 float of {} bits: sign {}, exponent {} + {} - {}, mantissa {} + {}",
        8 * fields.bytes, fields.sign, fields.exponent, fields.exponent_bits, fields.bias,
        fields.mantissa, fields.mantissa_bits);
  }

  // Formats that NDL does not have are converted to the smallest IEEE format that holds all
  // their numbers. Formats of one byte stay as they are, because writers differ in the meaning
  // of the largest exponent.
  Result<ElementType> ReadFloat(hid_t type, size_t bytes) const {
    NDLFS_TRY(const auto fields, ReadFloatFields(type, bytes));
    if (bytes == 1) return ReadOpaque(type, bytes, DescribeFloat(fields));
    const auto order = OrderOf(type);
    const bool is_wide = !FitsIn(fields, kPlainFloats[2].fields);
    if (is_wide && wide_floats_ == WideFloats::kNearest && IsReadable(fields)) {
      return ReadWideFloat(type, fields, order);
    }
    for (const NamedFloat& known : kPlainFloats) {
      if (known.fields != fields || !order) continue;
      NDLFS_TRY(auto element, Bytes(Datatype::Float(known.keyword, bytes), type));
      NDLFS_RETURN_IF_ERROR(
          CheckStatus(H5Tset_order(element.memory.get(), H5T_ORDER_LE), "byte order"));
      SetOrder(element, order);
      return element;
    }
    if (fields.norm == H5T_NORM_IMPLIED) {
      for (const NamedFloat& ieee : std::span(kPlainFloats).subspan(1, 2)) {
        if (!FitsIn(fields, ieee.fields)) continue;
        NDLFS_TRY(auto element,
                  Bytes(Datatype::Float(ieee.keyword, ieee.fields.bytes),
                        ieee.fields.bytes == 4 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE));
        SetOrder(element, order);
        element.is_plain = false;
        return element;
      }
    }
    return ReadOpaque(type, bytes, DescribeFloat(fields));
  }

  static Result<ElementType> ReadWideFloat(hid_t type, const FloatFields& fields,
                                           std::optional<ByteOrder> order) {
    NDLFS_TRY(auto element, Bytes(Datatype::Float64(), type));
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Tset_order(element.memory.get(), H5T_ORDER_LE), "byte order"));
    SetOrder(element, order);
    element.form.kind = MemoryForm::Kind::kWideFloat;
    element.form.fields = fields;
    element.is_plain = false;
    return element;
  }

  static Result<ElementType> ReadString(hid_t type, size_t bytes) {
    NDLFS_TRY(auto memory, Checked(H5Tcopy(H5T_C_S1), "string type"));
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Tset_cset(memory.get(), H5Tget_cset(type)), "character set"));
    const htri_t is_variable = H5Tis_variable_str(type);
    NDLFS_RETURN_IF_ERROR(CheckStatus(is_variable, "string type"));
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Tset_size(memory.get(), is_variable ? H5T_VARIABLE : bytes), "string"));
    if (is_variable) {
      NDLFS_TRY(auto element, Bytes(Datatype::String(CharsetOf(type)), memory.get()));
      element.form.kind = MemoryForm::Kind::kVariableText;
      element.is_plain = false;
      return element;
    }
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Tset_strpad(memory.get(), H5T_STR_NULLPAD), "string padding"));
    NDLFS_TRY(auto element, Bytes(Datatype::FixedString(bytes, CharsetOf(type)), memory.get()));
    const H5T_str_t padding = H5Tget_strpad(type);
    if (padding == H5T_STR_SPACEPAD) {
      element.text = {{.offset = 0, .width = bytes, .count = 1, .is_space_padded = true}};
    } else if (padding == H5T_STR_NULLTERM && bytes > 1) {
      element.text = {{.offset = 0, .width = bytes, .count = 1, .is_space_padded = false}};
    }
    return element;
  }

  // Also what no other kind fits: the bytes as they are, and what they are.
  static Result<ElementType> ReadOpaque(hid_t type, size_t bytes, std::string tag) {
    // h5py's way of storing what only NumPy has, such as datetime64.
    constexpr std::string_view kNumpy = "NUMPY:";
    if (tag.starts_with(kNumpy)) {
      const auto dtype = NumpyDtype(std::string_view(tag).substr(kNumpy.size()));
      if (dtype && dtype->size() == bytes && dtype->is_fixed_size()) {
        NDLFS_TRY(auto element, Bytes(dtype->WithOrder(ByteOrder::kLittle), type));
        element.stored = *dtype;
        element.stored_order = dtype->uniform_order();
        // Read() would not swap the bytes.
        if (dtype->SameLayout(element.type)) return element;
      }
    }
    return Bytes(Datatype::Opaque(bytes, std::move(tag)), type);
  }

  static Result<ElementType> ReadReference(hid_t type, size_t bytes) {
    const bool is_object = H5Tequal(type, H5T_STD_REF_OBJ) > 0;
    if (!is_object && H5Tequal(type, H5T_STD_REF_DSETREG) <= 0) {
      return model::Unsupported("references of {} bytes, of HDF5 1.12 or later", bytes);
    }
    NDLFS_TRY(auto element, Bytes(is_object ? Datatype::ObjectRef()
                                            : Datatype::RegionRef(Datatype::Selection::kBlock),
                                  is_object ? H5T_STD_REF_OBJ : H5T_STD_REF_DSETREG));
    element.form.kind =
        is_object ? MemoryForm::Kind::kObjectReference : MemoryForm::Kind::kRegionReference;
    element.is_plain = false;
    return element;
  }

  // Read as its base: between enums the library converts by name, and makes -1
  // of numbers that have none.
  Result<ElementType> ReadEnum(hid_t type) {
    NDLFS_TRY(const auto super, Checked(H5Tget_super(type), "base of the enum"));
    if (H5Tget_class(super.get()) != H5T_INTEGER) {
      return model::Unsupported("an enum whose base is no integer");
    }
    const size_t bytes = H5Tget_size(super.get());
    if (bytes > 8) return model::Unsupported("an enum of {} bytes", bytes);
    NDLFS_TRY(auto element, ReadInteger(super.get(), bytes));
    NDLFS_TRY(auto constants, ReadConstants(type, super.get(), element.type.is_signed()));
    const ByteOrder order = element.stored.order();
    element.type = Datatype::Enum(element.type, std::move(constants));
    element.stored = element.type.WithOrder(order);
    return element;
  }

  Result<std::vector<Datatype::Constant>> ReadConstants(hid_t type, hid_t base,
                                                        bool is_signed) {
    const int count = H5Tget_nmembers(type);
    NDLFS_RETURN_IF_ERROR(CheckStatus(count, "members of the enum"));
    parts_ += static_cast<size_t>(count);
    if (parts_ > kMaxTypeParts) return model::Limit("an enum of {} members", count);
    // In the order of the base, for the reason in KeepOrder().
    const auto order = OrderOf(base);
    NDLFS_TRY(const auto wide, Checked(H5Tcopy(StandardInteger(8, is_signed)), "integer type"));
    NDLFS_RETURN_IF_ERROR(CheckStatus(
        H5Tset_order(wide.get(), order == ByteOrder::kBig ? H5T_ORDER_BE : H5T_ORDER_LE),
        "byte order"));
    std::vector<Datatype::Constant> constants;
    for (int i = 0; i < count; ++i) {
      const auto index = static_cast<unsigned>(i);
      uint64_t bits = 0;  // the conversion is done in place
      NDLFS_RETURN_IF_ERROR(
          CheckStatus(H5Tget_member_value(type, index, &bits), "value of an enum"));
      NDLFS_RETURN_IF_ERROR(CheckStatus(
          H5Tconvert(base, wide.get(), 1, &bits, nullptr, H5P_DEFAULT), "value of an enum"));
      if (order == ByteOrder::kBig) bits = __builtin_bswap64(bits);
      const auto value =
          is_signed ? model::WideInt{static_cast<int64_t>(bits)} : model::WideInt{bits};
      constants.push_back({TakeString(H5Tget_member_name(type, index)), value});
    }
    return constants;
  }

  struct Member {
    std::string name;
    size_t offset;  // in the file
    ElementType element;
  };

  Result<std::vector<Member>> ReadMembers(hid_t type, size_t bytes, int depth) {
    const int count = H5Tget_nmembers(type);
    NDLFS_RETURN_IF_ERROR(CheckStatus(count, "members of the compound"));
    std::vector<Member> members;
    for (int i = 0; i < count; ++i) {
      const auto index = static_cast<unsigned>(i);
      Member member;
      member.name = TakeString(H5Tget_member_name(type, index));
      member.offset = H5Tget_member_offset(type, index);
      NDLFS_TRY(const auto file_type, Checked(H5Tget_member_type(type, index), "member type"));
      const size_t size = H5Tget_size(file_type.get());
      if (member.offset > bytes || size > bytes - member.offset) {
        return model::Corrupt("member {} lies outside of its compound",
                              model::Quote(member.name));
      }
      NDLFS_TRY(member.element, Read(file_type.get(), depth + 1), model::Quote(member.name));
      members.push_back(std::move(member));
    }
    return members;
  }

  static bool IsAscending(const std::vector<Member>& members) {
    size_t end = 0;
    for (const Member& member : members) {
      if (member.offset < end) return false;
      end = member.offset + member.element.stored.size();
    }
    return true;
  }

  Result<ElementType> ReadCompound(hid_t type, size_t bytes, int depth) {
    NDLFS_TRY(auto members, ReadMembers(type, bytes, depth));
    ElementType element;
    size_t memory_bytes = 0;
    for (const Member& member : members) {
      if (!member.element.is_plain) element.is_plain = false;
      memory_bytes += member.element.form.size;
    }
    if (!packed_) memory_bytes = bytes;
    NDLFS_TRY(element.memory,
              Checked(H5Tcreate(H5T_COMPOUND, std::max<size_t>(memory_bytes, 1)), "compound"));
    element.form.kind = MemoryForm::Kind::kCompound;
    element.form.size = memory_bytes;
    std::vector<Datatype::Member> shown;
    std::vector<Datatype::Member> stored;
    size_t next = 0;
    bool is_mixed = false;
    // NumPy could not have the members in their order otherwise.
    if (!IsAscending(members)) element.is_plain = false;
    for (Member& member : members) {
      ElementType& part = member.element;
      const size_t offset = packed_ ? next : member.offset;
      next += part.form.size;
      if (packed_ || element.is_plain) {
        NDLFS_RETURN_IF_ERROR(CheckStatus(
            H5Tinsert(element.memory.get(), member.name.c_str(), offset, part.memory.get()),
            "compound"));
      }
      shown.push_back({member.name, part.type, offset});
      stored.push_back({member.name, part.stored, member.offset});
      MergeOrder(part, element, is_mixed);
      NDLFS_RETURN_IF_ERROR(AppendText(part.text, 1, 0, member.offset, element));
      element.form.parts.push_back({offset, std::move(part.form)});
    }
    if (packed_) {
      element.type = Datatype::PackedCompound(std::move(shown));
    } else {
      element.type = Datatype::Compound(std::move(shown), bytes);
    }
    element.stored = Datatype::Compound(std::move(stored), bytes);
    const auto& parts = element.form.parts;
    if (std::all_of(parts.begin(), parts.end(), [](const auto& part) {
          return part.form.kind == MemoryForm::Kind::kBytes;
        })) {
      element.form = BytesForm(memory_bytes);
    }
    return element;
  }

  Result<ElementType> ReadVlen(hid_t type, int depth) {
    NDLFS_TRY(const auto super, Checked(H5Tget_super(type), "base of the vlen"));
    NDLFS_TRY(auto base, Read(super.get(), depth + 1));
    ElementType element;
    NDLFS_TRY(element.memory, Checked(H5Tvlen_create(base.memory.get()), "vlen type"));
    element.type = Datatype::Vlen(base.type);
    element.is_plain = false;
    element.stored_order = base.stored_order;
    element.form.kind = MemoryForm::Kind::kVlen;
    element.form.size = sizeof(hvl_t);
    element.form.base = std::make_shared<MemoryForm>(std::move(base.form));
    return element;
  }

  Result<ElementType> ReadArray(hid_t type, size_t bytes, int depth) {
    std::array<hsize_t, H5S_MAX_RANK> dims;
    const int rank = H5Tget_array_ndims(type);
    if (rank < 0 || rank > H5S_MAX_RANK || H5Tget_array_dims2(type, dims.data()) < 0) {
      return LibraryError("shape of the array type");
    }
    NDLFS_TRY(const auto super, Checked(H5Tget_super(type), "base of the array type"));
    const std::vector<uint64_t> shape(dims.begin(), dims.begin() + rank);
    if (CheckedProduct(shape, H5Tget_size(super.get())) != bytes) {
      return model::Corrupt("an array type whose size is not that of its elements");
    }
    NDLFS_TRY(auto base, Read(super.get(), depth + 1));
    ElementType element;
    NDLFS_TRY(
        element.memory,
        Checked(H5Tarray_create2(base.memory.get(), static_cast<unsigned>(rank), dims.data()),
                "array type"));
    const uint64_t count = *CheckedProduct(shape);
    element.form.count = count;
    element.form.size = H5Tget_size(element.memory.get());
    if (element.form.size != count * base.form.size) {
      return model::Limit("an array type of {} elements", count);
    }
    element.is_plain = base.is_plain;
    element.stored_order = base.stored_order;
    element.type = Datatype::Array(base.type, shape);
    element.stored = Datatype::Array(base.stored, shape);
    NDLFS_RETURN_IF_ERROR(AppendText(base.text, count, base.stored.size(), 0, element));
    if (base.form.kind != MemoryForm::Kind::kBytes) {
      element.form.kind = MemoryForm::Kind::kArray;
      element.form.base = std::make_shared<MemoryForm>(std::move(base.form));
    }
    return element;
  }

  static MemoryForm BytesForm(size_t size) {
    MemoryForm form;
    form.size = size;
    return form;
  }

  static void MergeOrder(const ElementType& part, ElementType& whole, bool& is_mixed) {
    if (!part.stored_order) return;
    is_mixed |= whole.stored_order && whole.stored_order != part.stored_order;
    whole.stored_order = part.stored_order;
    if (is_mixed) whole.stored_order.reset();
  }

  // The runs of `count` parts, `stride` bytes apart, from `offset`. Where they
  // are too many, the element is left to the library.
  static Result<void> AppendText(const std::vector<TextRun>& runs, uint64_t count,
                                 size_t stride, size_t offset, ElementType& whole) {
    if (runs.empty() || count == 0) return {};
    if (runs.size() == 1 && runs[0].width * runs[0].count == stride) {
      TextRun run = runs[0];
      run.offset += offset;
      run.count *= count;
      whole.text.push_back(run);
      return {};
    }
    if (count > kMaxTextRuns || runs.size() * count + whole.text.size() > kMaxTextRuns) {
      whole.is_plain = false;
      return {};
    }
    for (uint64_t i = 0; i < count; ++i) {
      for (TextRun run : runs) {
        run.offset += offset + i * stride;
        whole.text.push_back(run);
      }
    }
    return {};
  }

  const bool packed_;
  const WideFloats wide_floats_;
  size_t parts_ = 0;
};

}  // namespace

bool HasRegions(const model::Datatype& type) {
  switch (type.kind()) {
    case Datatype::Kind::kRegionRef:
      return true;
    case Datatype::Kind::kVlen:
    case Datatype::Kind::kArray:
      return HasRegions(type.base());
    case Datatype::Kind::kCompound:
      return std::any_of(type.members().begin(), type.members().end(),
                         [](const auto& member) { return HasRegions(member.type); });
    default:
      return false;
  }
}

model::Datatype WithElementRegions(const model::Datatype& type) {
  if (!HasRegions(type)) return type;
  switch (type.kind()) {
    case Datatype::Kind::kRegionRef:
      return Datatype::RegionRef(Datatype::Selection::kElement);
    case Datatype::Kind::kVlen:
      return Datatype::Vlen(WithElementRegions(type.base()));
    case Datatype::Kind::kArray:
      return Datatype::Array(WithElementRegions(type.base()), type.shape());
    default:
      break;
  }
  std::vector<Datatype::Member> members = type.members();
  for (auto& member : members) member.type = WithElementRegions(member.type);
  return Datatype::PackedCompound(std::move(members));
}

namespace {

Result<ElementType> ReadUnknown(hid_t file_type, WideFloats wide_floats) {
  NDLFS_TRY(auto element, TypeReader(false, wide_floats).Read(file_type, 1));
  if (element.is_plain) return element;
  NDLFS_TRY(auto packed, TypeReader(true, wide_floats).Read(file_type, 1));
  packed.is_plain = false;
  return packed;
}

// Numbers and texts that have been understood: the attributes of a file mostly have a few
// types, and the library takes long to make one to read with. Needs library_mutex.
class KnownTypes {
 public:
  Result<ElementType> Get(hid_t file_type, WideFloats wide_floats) {
    Entry wanted;
    wanted.wide_floats = wide_floats;
    wanted.type_class = H5Tget_class(file_type);
    wanted.size = H5Tget_size(file_type);
    const bool is_text = wanted.type_class == H5T_STRING;
    const bool is_number = wanted.type_class == H5T_INTEGER || wanted.type_class == H5T_FLOAT;
    if (!is_text && !is_number) return ReadUnknown(file_type, wide_floats);
    if (is_text) {
      wanted.is_variable = H5Tis_variable_str(file_type);
      wanted.charset = H5Tget_cset(file_type);
      wanted.padding = H5Tget_strpad(file_type);
    }
    for (const Entry& entry : entries_) {
      if (IsSame(entry, wanted, file_type)) return Copy(entry.element);
    }
    NDLFS_TRY(wanted.element, ReadUnknown(file_type, wide_floats));
    auto element = Copy(wanted.element);
    if (is_number) wanted.number = Handle(H5Tcopy(file_type));
    if (is_number && !wanted.number) return element;
    constexpr size_t kMost = 32;
    if (entries_.size() == kMost) entries_.clear();
    entries_.push_back(std::move(wanted));
    return element;
  }

 private:
  // All that ReadElementType() goes by.
  struct Entry {
    WideFloats wide_floats = WideFloats::kStored;
    H5T_class_t type_class = H5T_NO_CLASS;
    size_t size = 0;
    // For text only.
    htri_t is_variable = 0;
    H5T_cset_t charset = H5T_CSET_ERROR;
    H5T_str_t padding = H5T_STR_ERROR;
    Handle number;  // the type of a number
    ElementType element;
  };

  static bool IsSame(const Entry& entry, const Entry& wanted, hid_t file_type) {
    return entry.wide_floats == wanted.wide_floats && entry.type_class == wanted.type_class &&
           entry.size == wanted.size && entry.is_variable == wanted.is_variable &&
           entry.charset == wanted.charset && entry.padding == wanted.padding &&
           (!entry.number || H5Tequal(entry.number.get(), file_type) > 0);
  }

  // With the same identifier, which nobody changes any more.
  static ElementType Copy(const ElementType& known) {
    ElementType element;
    element.type = known.type;
    element.stored = known.stored;
    element.is_plain = known.is_plain;
    element.text = known.text;
    element.stored_order = known.stored_order;
    element.form = known.form;
    H5Iinc_ref(known.memory.get());
    element.memory = Handle(known.memory.get());
    return element;
  }

  std::vector<Entry> entries_;
};

}  // namespace

model::Result<ElementType> ReadElementType(hid_t file_type, WideFloats wide_floats) {
  // Never destroyed: the library may end before.
  static KnownTypes& known = *new KnownTypes();
  return known.Get(file_type, wide_floats);
}

}  // namespace ndlfs::backends::hdf5
