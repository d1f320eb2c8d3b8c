// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/element_type.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>

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
    NamedFloat{"float16", {2, 15, 10, 5, 0, 10, 15, true}},
    NamedFloat{"float32", {4, 31, 23, 8, 0, 23, 127, true}},
    NamedFloat{"float64", {8, 63, 52, 11, 0, 52, 1023, true}},
    // The 80 bits of the x87, as NumPy names them.
    NamedFloat{"float128", {16, 79, 64, 15, 0, 64, 16383, false}},
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

bool IsStandardSize(size_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

// The head of a datatype.
struct Head {
  unsigned version;
  unsigned kind;
  uint64_t bits;
  uint64_t bytes;
};

enum Class : unsigned {
  kFixed = 0,
  kFloat = 1,
  kTime = 2,
  kString = 3,
  kBitfield = 4,
  kOpaque = 5,
  kCompound = 6,
  kReference = 7,
  kEnum = 8,
  kVlen = 9,
  kArray = 10,
  kComplex = 11,
};

class TypeReader {
 public:
  // Elements that are not read as they stand in the file are packed, as the
  // parts of an element stream are.
  TypeReader(const Metadata& file, bool packed, WideFloats wide_floats, LongTimes long_times)
      : file_(file), packed_(packed), wide_floats_(wide_floats), long_times_(long_times) {}

  // Takes a datatype off `in`.
  Result<ElementType> Read(Cursor& in, int depth) {
    if (depth > Datatype::kMaxDepth) return model::Limit("types nest too deep");
    if (++parts_ > kMaxTypeParts)
      return model::Limit("a type of more than {} parts", kMaxTypeParts);
    Head head;
    head.kind = static_cast<unsigned>(in.Number(1));
    head.version = head.kind >> 4;
    head.kind &= 15;
    head.bits = in.Number(3);
    head.bytes = in.Number(4);
    NDLFS_RETURN_IF_ERROR(in.Check("a datatype"));
    if (head.version == 0 || head.version > 5) {
      return model::Unsupported("a datatype of version {}", head.version);
    }
    if (head.bytes == 0) return model::Corrupt("a datatype of 0 bytes");
    if (head.bytes > kMaxElementBytes) return model::Limit("elements of {} bytes", head.bytes);
    NDLFS_TRY(auto element, ReadClass(in, head, depth));
    NDLFS_RETURN_IF_ERROR(in.Check("a datatype"));
    // A widened element takes more room than it has in the file.
    if (!element.is_plain) element.stored = Datatype::Opaque(head.bytes);
    element.form.size = head.bytes;
    element.has_long_times = has_long_times_;
    return element;
  }

 private:
  Result<ElementType> ReadClass(Cursor& in, const Head& head, int depth) {
    switch (head.kind) {
      case kFixed:
        return ReadInteger(in, head, head.bits >> 3 & 1, "integer");
      case kBitfield:
        return ReadInteger(in, head, false, "bit field");
      case kFloat:
        return ReadFloat(in, head);
      case kTime:
        return ReadTime(in, head);
      case kString:
        return ReadString(head);
      case kOpaque: {
        const std::string_view tag = AsText(in.Take(head.bits & 0xff));
        return ReadOpaque(head.bytes, std::string(tag.substr(0, tag.find('\0'))));
      }
      case kCompound:
        return ReadCompound(in, head, depth);
      case kReference:
        return ReadReference(head);
      case kEnum:
        return ReadEnum(in, head, depth);
      case kVlen:
        return ReadVlen(in, head, depth);
      case kArray:
        return ReadArray(in, head, depth);
      case kComplex:
        return ReadComplex(in, head, depth);
      default:
        return model::Unsupported("a type of the class {} of HDF5", head.kind);
    }
  }

  // An element that is shown with the bytes that it has in the file.
  static ElementType AsStored(Datatype type) {
    ElementType element;
    element.type = type;
    element.stored = std::move(type);
    return element;
  }

  static void SetOrder(ElementType& element, ByteOrder order) {
    if (element.type.size() == 1) return;
    element.stored_order = order;
    element.stored = element.type.WithOrder(order);
    if (element.is_plain && order == ByteOrder::kBig) element.form.kind = Form::Kind::kReversed;
  }

  static ByteOrder OrderOf(const Head& head) {
    return head.bits & 1 ? ByteOrder::kBig : ByteOrder::kLittle;
  }

  // Numbers in some bits of their bytes are widened to the next integer that has all the bytes.
  static Result<ElementType> ReadInteger(Cursor& in, const Head& head, bool is_signed,
                                         std::string_view name) {
    const uint64_t first_bit = in.Number(2);
    const uint64_t bits = in.Number(2);
    if (bits == 0 || first_bit + bits > 8 * head.bytes) {
      return model::Corrupt("{} bits from bit {}, in {} bytes", bits, first_bit, head.bytes);
    }
    if (head.bytes > 8) {
      return ReadOpaque(head.bytes, fmt::format("HDF5 {} of {} bits", name, 8 * head.bytes));
    }
    const size_t shown = std::bit_ceil(head.bytes);
    ElementType element = AsStored(Datatype::Integer(shown, is_signed));
    element.is_plain = IsStandardSize(head.bytes) && bits == 8 * head.bytes;
    SetOrder(element, OrderOf(head));
    if (element.is_plain) return element;
    element.form.kind = Form::Kind::kInteger;
    element.form.shown = shown;
    element.form.order = head.bits & 1 ? Form::Order::kBig : Form::Order::kLittle;
    element.form.first_bit = first_bit;
    element.form.bits = bits;
    element.form.is_signed = is_signed;
    return element;
  }

  // Seconds since 1970, as PyTables writes them: 32 bits are an integer.
  Result<ElementType> ReadTime(Cursor& in, const Head& head) {
    in.Skip(2);
    if (head.bytes != 4 && head.bytes != 8) return ReadOpaque(head.bytes, "HDF5 time");
    const bool is_long = head.bytes == 8;
    has_long_times_ = has_long_times_ || is_long;
    ElementType element = AsStored(is_long && long_times_ == LongTimes::kFloats
                                       ? Datatype::Float64()
                                       : Datatype::Integer(head.bytes, true));
    SetOrder(element, OrderOf(head));
    return element;
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
  Result<ElementType> ReadFloat(Cursor& in, const Head& head) const {
    constexpr uint64_t kImplied = 2;
    constexpr uint64_t kVaxBit = 0x40;
    FloatFields fields{};
    fields.bytes = head.bytes;
    fields.sign = head.bits >> 8 & 0xff;
    fields.is_implied = (head.bits >> 4 & 3) == kImplied;
    in.Skip(4);
    fields.exponent = in.Number(1);
    fields.exponent_bits = in.Number(1);
    fields.mantissa = in.Number(1);
    fields.mantissa_bits = in.Number(1);
    fields.bias = in.Number(4);
    NDLFS_RETURN_IF_ERROR(in.Check("a datatype"));
    if (head.bytes == 1 || !IsReadable(fields)) {
      return ReadOpaque(head.bytes, DescribeFloat(fields));
    }
    const bool is_vax = head.bits & kVaxBit;
    const bool is_wide = !FitsIn(fields, kPlainFloats[2].fields);
    if (is_wide && wide_floats_ == WideFloats::kNearest) {
      return Converted(fields, head, is_vax, kPlainFloats[2]);
    }
    for (const NamedFloat& known : kPlainFloats) {
      if (known.fields != fields || is_vax) continue;
      ElementType element = AsStored(Datatype::Float(known.keyword, head.bytes));
      SetOrder(element, OrderOf(head));
      return element;
    }
    if (fields.is_implied) {
      for (const NamedFloat& ieee : std::span(kPlainFloats).subspan(1, 2)) {
        if (FitsIn(fields, ieee.fields)) return Converted(fields, head, is_vax, ieee);
      }
    }
    return ReadOpaque(head.bytes, DescribeFloat(fields));
  }

  static ElementType Converted(const FloatFields& fields, const Head& head, bool is_vax,
                               const NamedFloat& to) {
    ElementType element = AsStored(Datatype::Float(to.keyword, to.fields.bytes));
    element.is_plain = false;
    if (!is_vax) SetOrder(element, OrderOf(head));
    element.form.kind = Form::Kind::kFloat;
    element.form.shown = to.fields.bytes;
    element.form.fields = fields;
    element.form.order = head.bits & 1 ? Form::Order::kBig : Form::Order::kLittle;
    if (is_vax) element.form.order = Form::Order::kVax;
    return element;
  }

  static model::Charset CharsetOf(uint64_t number) {
    return number == 1 ? model::Charset::kUtf8 : model::Charset::kAscii;
  }

  static Result<ElementType> ReadString(const Head& head) {
    constexpr uint64_t kEndsWithNul = 0;
    constexpr uint64_t kSpaces = 2;
    ElementType element =
        AsStored(Datatype::FixedString(head.bytes, CharsetOf(head.bits >> 4 & 15)));
    const uint64_t padding = head.bits & 15;
    if (padding == kSpaces || (padding == kEndsWithNul && head.bytes > 1)) {
      element.text = {{.offset = 0,
                       .width = head.bytes,
                       .count = 1,
                       .is_space_padded = padding == kSpaces}};
      element.form.kind = Form::Kind::kText;
      element.form.text = element.text[0];
    }
    return element;
  }

  // Also what no other kind fits: the bytes as they are, and what they are.
  static Result<ElementType> ReadOpaque(size_t bytes, std::string tag) {
    // h5py's way of storing what only NumPy has, such as datetime64.
    constexpr std::string_view kNumpy = "NUMPY:";
    if (tag.starts_with(kNumpy)) {
      const auto dtype = NumpyDtype(std::string_view(tag).substr(kNumpy.size()));
      if (dtype && dtype->size() == bytes && dtype->is_fixed_size()) {
        ElementType element = AsStored(dtype->WithOrder(ByteOrder::kLittle));
        element.stored = *dtype;
        element.stored_order = dtype->uniform_order();
        if (dtype->SameLayout(element.type)) return element;
      }
    }
    return AsStored(Datatype::Opaque(bytes, std::move(tag)));
  }

  Result<ElementType> ReadReference(const Head& head) const {
    constexpr uint64_t kObject = 0;
    constexpr uint64_t kRegion = 1;
    constexpr uint64_t kLeastNew = 4;
    const uint64_t kind = head.bits & 15;
    ElementType element;
    element.is_plain = false;
    element.type = Datatype::ObjectRef();
    // The library leaves room for addresses of 8 bytes in any file.
    if (kind == kObject && head.bytes >= file_.offset_bytes()) {
      element.form.kind = Form::Kind::kObjectReference;
    } else if (kind == kRegion && head.bytes >= file_.offset_bytes() + 4) {
      element.type = Datatype::RegionRef(Datatype::Selection::kBlock);
      element.form.kind = Form::Kind::kRegionReference;
    } else if (kind > kRegion && kind <= 4 && head.bytes >= kLeastNew) {
      element.form.kind = Form::Kind::kReference;
    } else {
      return model::Unsupported("references of kind {} with {} bytes", kind, head.bytes);
    }
    return element;
  }

  // Names end at a multiple of 8 bytes before version 3.
  static std::string TakeName(Cursor& in, unsigned version) {
    const std::string name(in.Text());
    if (version < 3) in.Skip((8 - (name.size() + 1) % 8) % 8);
    return name;
  }

  // Not the values of the enum itself: what has no name is shown as its number.
  Result<ElementType> ReadEnum(Cursor& in, const Head& head, int depth) {
    const uint64_t count = head.bits & 0xffff;
    parts_ += count;
    if (parts_ > kMaxTypeParts) return model::Limit("an enum of {} members", count);
    Cursor peek = in;
    const uint64_t base_kind = peek.Number(1) & 15;
    NDLFS_TRY(auto element, Read(in, depth + 1));
    if (base_kind != kFixed) return model::Unsupported("an enum whose base is no integer");
    if (element.form.size > 8) {
      return model::Unsupported("an enum of {} bytes", element.form.size);
    }
    if (element.form.size != head.bytes) return model::Corrupt("an enum of another size");
    std::vector<std::string> names;
    for (uint64_t i = 0; i < count && in.ok(); ++i) names.push_back(TakeName(in, head.version));
    std::vector<Datatype::Constant> constants;
    std::set<std::string> met;  // of two constants of one name, the first one has it
    for (std::string& name : names) {
      const ConstByteSpan value = in.Take(head.bytes);
      NDLFS_RETURN_IF_ERROR(in.Check("an enum"));
      if (!met.insert(name).second) continue;
      constants.push_back({std::move(name), ValueOf(element, value)});
    }
    NDLFS_RETURN_IF_ERROR(in.Check("an enum"));
    const ByteOrder order = element.stored_order.value_or(ByteOrder::kLittle);
    element.type = Datatype::Enum(element.type, std::move(constants));
    element.stored = element.type.WithOrder(order);
    return element;
  }

  static model::WideInt ValueOf(const ElementType& base, ConstByteSpan value) {
    Form form = base.form;
    if (form.kind != Form::Kind::kInteger) {
      form.order =
          form.kind == Form::Kind::kReversed ? Form::Order::kBig : Form::Order::kLittle;
      form.first_bit = 0;
      form.bits = 8 * value.size();
      form.is_signed = base.type.is_signed();
    }
    const uint64_t bits = IntegerOf(form, value.data());
    return form.is_signed ? model::WideInt{static_cast<int64_t>(bits)} : model::WideInt{bits};
  }

 public:
  // The number in the bits of an element, sign-extended to 64 bits.
  static uint64_t IntegerOf(const Form& form, const std::byte* element) {
    uint64_t all = 0;
    for (size_t i = 0; i < form.size; ++i) {
      const size_t at = form.order == Form::Order::kBig ? i : form.size - 1 - i;
      all = all << 8 | std::to_integer<uint64_t>(element[at]);
    }
    const size_t unused = 64 - form.bits;
    const uint64_t high = all >> form.first_bit << unused;
    if (!form.is_signed) return high >> unused;
    return static_cast<uint64_t>(static_cast<int64_t>(high) >> unused);
  }

 private:
  struct Member {
    std::string name;
    size_t offset;  // in the file
    ElementType element;
  };

  // The dimensions that a member has in version 1, besides those of its type.
  Result<std::vector<uint64_t>> TakeOldDimensions(Cursor& in) {
    const uint64_t rank = in.Number(1);
    in.Skip(3 + 4 + 4);
    std::vector<uint64_t> shape;
    for (uint64_t d = 0; d < 4; ++d) {
      const uint64_t extent = in.Number(4);
      if (d < rank) shape.push_back(extent);
    }
    if (rank > 4) return model::Corrupt("a member of {} dimensions", rank);
    return shape;
  }

  Result<Member> ReadMember(Cursor& in, const Head& head, int depth) {
    Member member;
    member.name = TakeName(in, head.version);
    const uint64_t width = head.version < 3 ? 4 : (std::bit_width(head.bytes) + 7) / 8;
    member.offset = in.Number(width);
    std::vector<uint64_t> shape;
    if (head.version == 1) {
      NDLFS_TRY(shape, TakeOldDimensions(in));
    }
    NDLFS_TRY(member.element, Read(in, depth + 1), model::Quote(member.name));
    if (!shape.empty()) {
      NDLFS_TRY(member.element, ArrayOf(std::move(member.element), shape));
    }
    const size_t size = member.element.form.size;
    if (member.offset > head.bytes || size > head.bytes - member.offset) {
      return model::Corrupt("member {} lies outside of its compound",
                            model::Quote(member.name));
    }
    return member;
  }

  Result<ElementType> ReadCompound(Cursor& in, const Head& head, int depth) {
    if ((head.bits & 0xffff) == 0) return model::Corrupt("a compound without members");
    std::vector<Member> members;
    std::set<std::string> names;
    for (uint64_t left = head.bits & 0xffff; left > 0; --left) {
      NDLFS_TRY(auto member, ReadMember(in, head, depth));
      if (!names.insert(member.name).second) {
        return model::Corrupt("two members {}", model::Quote(member.name));
      }
      members.push_back(std::move(member));
    }
    return CompoundOf(std::move(members), head.bytes);
  }

  // The complex class of HDF5 2 is a pair of floats.
  Result<ElementType> ReadComplex(Cursor& in, const Head& head, int depth) {
    NDLFS_TRY(auto real, Read(in, depth + 1));
    const size_t size = real.form.size;
    if (2 * size != head.bytes) return model::Corrupt("a complex number of another size");
    std::vector<Member> members;
    members.push_back({"r", 0, real});
    members.push_back({"i", size, std::move(real)});
    return CompoundOf(std::move(members), head.bytes);
  }

  static bool IsAscending(const std::vector<Member>& members) {
    size_t end = 0;
    for (const Member& member : members) {
      if (member.offset < end) return false;
      end = member.offset + member.element.form.size;
    }
    return true;
  }

  Result<ElementType> CompoundOf(std::vector<Member> members, size_t bytes) const {
    ElementType element;
    element.form.kind = Form::Kind::kCompound;
    element.form.is_packed = packed_;
    std::vector<Datatype::Member> shown;
    std::vector<Datatype::Member> stored;
    bool is_mixed = false;
    bool is_same = !packed_;
    // NumPy could not have the members in their order otherwise.
    if (!IsAscending(members)) element.is_plain = false;
    for (Member& member : members) {
      ElementType& part = member.element;
      if (!part.is_plain) element.is_plain = false;
      shown.push_back({member.name, part.type, member.offset});
      stored.push_back({member.name, part.stored, member.offset});
      MergeOrder(part, element, is_mixed);
      NDLFS_RETURN_IF_ERROR(AppendText(part.text, 1, 0, member.offset, element));
      is_same = is_same && part.form.kind == Form::Kind::kBytes;
      element.form.parts.push_back({member.offset, std::move(part.form)});
    }
    if (packed_) {
      element.type = Datatype::PackedCompound(std::move(shown));
    } else {
      element.type = Datatype::Compound(std::move(shown), bytes);
    }
    element.stored = Datatype::Compound(std::move(stored), bytes);
    if (is_same) element.form = Form();
    return element;
  }

  Result<ElementType> ReadVlen(Cursor& in, const Head& head, int depth) {
    constexpr uint64_t kText = 1;
    if (head.bytes != 4 + file_.offset_bytes() + 4) {
      return model::Corrupt("a sequence of variable length in {} bytes", head.bytes);
    }
    NDLFS_TRY(auto base, Read(in, depth + 1));
    ElementType element;
    element.is_plain = false;
    if ((head.bits & 15) == kText) {
      element.type = Datatype::String(CharsetOf(head.bits >> 8 & 15));
      element.form.kind = Form::Kind::kVariableText;
      return element;
    }
    element.type = Datatype::Vlen(base.type);
    element.stored_order = base.stored_order;
    element.form.kind = Form::Kind::kVlen;
    element.form.base = std::make_shared<Form>(std::move(base.form));
    return element;
  }

  Result<ElementType> ReadArray(Cursor& in, const Head& head, int depth) {
    constexpr uint64_t kMaxRank = 32;
    const uint64_t rank = in.Number(1);
    if (rank == 0 || rank > kMaxRank) return model::Corrupt("an array type of rank {}", rank);
    if (head.version < 3) in.Skip(3);
    std::vector<uint64_t> shape;
    for (uint64_t d = 0; d < rank; ++d) shape.push_back(in.Number(4));
    if (head.version < 3) in.Skip(4 * rank);
    NDLFS_TRY(auto base, Read(in, depth + 1));
    NDLFS_TRY(auto element, ArrayOf(std::move(base), shape));
    if (element.form.size != head.bytes) {
      return model::Corrupt("an array type whose size is not that of its elements");
    }
    return element;
  }

  Result<ElementType> ArrayOf(ElementType base, const std::vector<uint64_t>& shape) const {
    const auto bytes = CheckedProduct(shape, base.form.size);
    if (!bytes || *bytes == 0 || *bytes > kMaxElementBytes ||
        CheckedProduct(shape, std::max<uint64_t>(base.type.size(), 1)).value_or(UINT64_MAX) >
            kMaxElementBytes) {
      return model::Limit("an array type of too many elements");
    }
    ElementType element;
    element.form.size = *bytes;
    element.form.count = *CheckedProduct(shape);
    element.is_plain = base.is_plain;
    element.stored_order = base.stored_order;
    element.type = Datatype::Array(base.type, shape);
    element.stored = Datatype::Array(base.stored, shape);
    NDLFS_RETURN_IF_ERROR(
        AppendText(base.text, element.form.count, base.form.size, 0, element));
    if (base.form.kind != Form::Kind::kBytes) {
      element.form.kind = Form::Kind::kArray;
      element.form.base = std::make_shared<Form>(std::move(base.form));
    }
    return element;
  }

  static void MergeOrder(const ElementType& part, ElementType& whole, bool& is_mixed) {
    if (!part.stored_order) return;
    is_mixed |= whole.stored_order && whole.stored_order != part.stored_order;
    whole.stored_order = part.stored_order;
    if (is_mixed) whole.stored_order.reset();
  }

  // The runs of `count` parts, `stride` bytes apart, from `offset`. Where they are too many,
  // the element is not plain.
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

  const Metadata& file_;
  const bool packed_;
  const WideFloats wide_floats_;
  const LongTimes long_times_;
  bool has_long_times_ = false;
  size_t parts_ = 0;
};

// Changes an element in place to what is shown. Not for forms of another size.
void Patch(const Form& form, std::byte* element) {
  switch (form.kind) {
    case Form::Kind::kReversed:
      return std::reverse(element, element + form.size);
    case Form::Kind::kText:
      return TrimText(form.text, element);
    case Form::Kind::kCompound:
      for (const Form::Part& part : form.parts) Patch(part.form, element + part.offset);
      return;
    case Form::Kind::kArray:
      for (uint64_t i = 0; i < form.count; ++i) {
        Patch(*form.base, element + i * form.base->size);
      }
      return;
    default:
      return;
  }
}

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

Result<ElementType> ReadElementType(const Metadata& file, ConstByteSpan message,
                                    WideFloats wide_floats, LongTimes long_times) {
  Cursor in(message);
  NDLFS_TRY(auto element, TypeReader(file, false, wide_floats, long_times).Read(in, 1));
  if (element.is_plain) return element;
  Cursor again(message);
  NDLFS_TRY(auto packed, TypeReader(file, true, wide_floats, long_times).Read(again, 1));
  packed.is_plain = false;
  packed.stored = Datatype::Opaque(packed.form.size);
  return packed;
}

// --- Elements

Result<void> ElementReader::Append(const Form& form, ConstByteSpan elements, uint64_t count,
                                   ByteVector& out, std::vector<uint64_t>* offsets) {
  if (CheckedMultiply(count, form.size).value_or(UINT64_MAX) > elements.size()) {
    return model::Corrupt("{} bytes for {} elements of {}", elements.size(), count, form.size);
  }
  if (form.kind == Form::Kind::kBytes && offsets == nullptr) {
    return AppendBytes(elements.data(), count * form.size, out);
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (offsets != nullptr) offsets->push_back(out.size());
    NDLFS_RETURN_IF_ERROR(AppendOne(form, elements.data() + i * form.size, out));
  }
  return {};
}

Result<void> ElementReader::AppendOne(const Form& form, const std::byte* element,
                                      ByteVector& out) {
  switch (form.kind) {
    case Form::Kind::kInteger:
      return AppendInteger(form, element, out);
    case Form::Kind::kFloat:
      return AppendFloat(form, element, out);
    case Form::Kind::kVariableText:
    case Form::Kind::kVlen:
      return AppendVlen(form, element, out);
    case Form::Kind::kObjectReference: {
      const uint64_t address = Cursor({element, form.size}).Address(file_.offset_bytes());
      return AppendText(references_.ObjectPath(address), out);
    }
    case Form::Kind::kRegionReference:
      return AppendRegion(element, out);
    case Form::Kind::kReference:
      return AppendReference(form, element, out);
    case Form::Kind::kArray:
      return Append(*form.base, {element, form.size}, form.count, out);
    case Form::Kind::kCompound:
      if (!form.is_packed) break;
      for (const Form::Part& part : form.parts) {
        NDLFS_RETURN_IF_ERROR(AppendOne(part.form, element + part.offset, out));
      }
      return {};
    default:
      break;
  }
  const size_t begin = out.size();
  NDLFS_RETURN_IF_ERROR(AppendBytes(element, form.size, out));
  Patch(form, out.data() + begin);
  return {};
}

Result<void> ElementReader::AppendBytes(const void* bytes, uint64_t size,
                                        ByteVector& out) const {
  if (size > limit_ - std::min<uint64_t>(limit_, out.size())) {
    return model::Limit("elements of more than {} bytes", limit_);
  }
  const auto* begin = static_cast<const std::byte*>(bytes);
  out.insert(out.end(), begin, begin + size);
  return {};
}

Result<void> ElementReader::AppendText(std::string_view text, ByteVector& out) const {
  const auto size = static_cast<uint32_t>(text.size());
  NDLFS_RETURN_IF_ERROR(AppendBytes(&size, sizeof(size), out));
  return AppendBytes(text.data(), size, out);
}

// A number of elements, and their place in a global heap.
Result<void> ElementReader::AppendVlen(const Form& form, const std::byte* element,
                                       ByteVector& out) {
  const bool is_text = form.kind == Form::Kind::kVariableText;
  Cursor in({element, form.size});
  const uint64_t count = in.Number(4);
  const uint64_t bytes = count * (is_text ? 1 : form.base->size);
  ByteVector elements;
  if (bytes != 0) {
    NDLFS_TRY(elements, ReadGlobal(file_, in, bytes, limit_));
  }
  if (is_text) {
    const std::string_view text = AsText(elements).substr(0, bytes);
    return AppendText(text.substr(0, text.find('\0')), out);
  }
  const auto shown = static_cast<uint32_t>(elements.empty() ? 0 : count);
  NDLFS_RETURN_IF_ERROR(AppendBytes(&shown, sizeof(shown), out));
  return Append(*form.base, elements, shown, out);
}

Result<void> ElementReader::AppendRegion(const std::byte* element, ByteVector& out) {
  constexpr uint64_t kMostBytes = uint64_t{64} << 20;
  Cursor in({element, file_.offset_bytes() + 4});
  NDLFS_TRY(const auto region, ReadGlobal(file_, in, 0, kMostBytes));
  if (region.empty()) return AppendText("", out);
  NDLFS_TRY(const auto text, references_.RegionText(region));
  return AppendText(text, out);
}

// A kind, flags, and the token of the object. Those of other kinds, and of other files, are
// in a global heap.
Result<void> ElementReader::AppendReference(const Form& form, const std::byte* element,
                                            ByteVector& out) {
  constexpr uint64_t kObject = 2;
  constexpr uint64_t kIsExternal = 1;
  Cursor in({element, form.size});
  const uint64_t kind = in.Number(1);
  if (kind > kObject || in.Number(1) & kIsExternal) {
    return model::Unsupported(
        "a reference of HDF5 1.12 to a region, an attribute or another file");
  }
  const uint64_t address = in.Address(in.Number(1));
  return AppendText(in.ok() ? references_.ObjectPath(address) : "", out);
}

Result<void> ElementReader::AppendInteger(const Form& form, const std::byte* element,
                                          ByteVector& out) const {
  const uint64_t number = TypeReader::IntegerOf(form, element);
  return AppendBytes(&number, form.shown, out);
}

Result<void> ElementReader::AppendFloat(const Form& form, const std::byte* element,
                                        ByteVector& out) {
  std::array<std::byte, 16> bytes = {};
  for (size_t i = 0; i < form.size; ++i) {
    size_t at = form.order == Form::Order::kLittle ? i : form.size - 1 - i;
    // Pairs of bytes, the first pair the highest, little-endian in themselves.
    if (form.order == Form::Order::kVax) at ^= 1;
    bytes[i] = element[at];
  }
  const auto nearest = ToFloat64(form.fields, ConstByteSpan(bytes).first(form.size));
  rounded_ |= !nearest.is_exact;
  if (form.shown == sizeof(double)) return AppendBytes(&nearest.value, form.shown, out);
  const auto single = static_cast<float>(nearest.value);
  return AppendBytes(&single, form.shown, out);
}

Result<ByteVector> ReadGlobal(const Metadata& file, Cursor& place, uint64_t least,
                              uint64_t most) {
  const uint64_t heap = place.Address(file.offset_bytes());
  const uint64_t index = place.Number(4);
  NDLFS_RETURN_IF_ERROR(place.Check("an element"));
  if (heap == 0 || heap == kNowhere) return ByteVector();
  NDLFS_TRY(const auto entry, file.FindGlobal(heap, index));
  if (entry.bytes < least) {
    return model::Corrupt("an element of {} bytes, of which {} are stored", least, entry.bytes);
  }
  const uint64_t bytes = least == 0 ? entry.bytes : least;
  if (bytes > most) return model::Limit("elements of more than {} bytes", most);
  ByteVector read(bytes);
  NDLFS_RETURN_IF_ERROR(file.ReadInto(entry.address, read));
  return read;
}

Bytes MakeElementStream(const std::vector<uint64_t>& offsets, const ByteVector& elements) {
  const uint64_t end = elements.size();
  const size_t table = offsets.size() * sizeof(uint64_t);
  Bytes stream(table + sizeof(end) + elements.size());
  if (table != 0) std::memcpy(stream.data(), offsets.data(), table);
  std::memcpy(stream.data() + table, &end, sizeof(end));
  if (end != 0) std::memcpy(stream.data() + table + sizeof(end), elements.data(), end);
  return stream;
}

}  // namespace ndlfs::backends::hdf5
