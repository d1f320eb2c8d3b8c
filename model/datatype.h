// SPDX-License-Identifier: MIT
//
// Datatype: the type of the elements of an array or attribute. It describes
// two things: the type as the Ndarray Data Language defines it (NDL 0.6.1,
// section 5), and the layout of one element in memory (size, member offsets,
// byte order, text encoding). operator== compares the types; SameLayout()
// compares the layouts as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::model {

__extension__ typedef __int128 WideInt;  // holds every NDL integer

enum class ByteOrder : uint8_t { kLittle, kBig };

// The character encoding of a text.
enum class Charset : uint8_t { kAscii, kUtf8, kUtf32, kLatin1 };

// The character that fills up a text of fixed length.
enum class TextPadding : uint8_t { kNull, kSpace };

// The extensions `x-datetime` and `x-timedelta`: each element is an int64 that
// counts steps of `scale` units; the smallest int64 is NaT (not a time). `unit`
// is one of NumPy's: Y M W D h m s ms us ns ps fs as, or generic.
struct TimeUnit {
  std::string unit;
  int64_t scale = 1;
  bool is_delta = false;
  bool operator==(const TimeUnit&) const = default;
};

// A value type: copies share one immutable description.
class Datatype {
 public:
  enum class Kind : uint8_t {
    kString,
    kInteger,
    kFloat,
    kOpaque,
    kEnum,
    kObjectRef,
    kRegionRef,
    kCompound,
    kVlen,
    kArray,
  };
  enum class Selection : uint8_t { kBlock, kElement };

  struct Member;    // of a compound
  struct Constant;  // of an enum

  // Every reader refuses types that nest deeper than this.
  static constexpr int kMaxDepth = 64;

  // A placeholder: opaque of size 0.
  Datatype();

  // Integers of 1, 2, 4 or 8 bytes; floats by their NDL name ("float32").
  static Datatype Integer(size_t bytes, bool is_signed, ByteOrder order = ByteOrder::kLittle);
  static Datatype Time(TimeUnit unit, ByteOrder order = ByteOrder::kLittle);
  // `name` is a keyword: float16, float32, float64, or an extension such as
  // bfloat16, float8_e4m3 or float128 (NumPy's on x86: 80 bits in 16 bytes).
  // `bytes` is its size.
  static Datatype Float(std::string_view name, size_t bytes,
                        ByteOrder order = ByteOrder::kLittle);
  static Datatype Float32(ByteOrder order = ByteOrder::kLittle);
  static Datatype Float64(ByteOrder order = ByteOrder::kLittle);
  // The type of an integer or float keyword, of the language or of the
  // extensions above; nullopt for other words.
  static std::optional<Datatype> FromKeyword(std::string_view keyword);

  // Text of variable length, encoded as `charset` says.
  static Datatype String(Charset charset = Charset::kUtf8);
  // Text in `bytes` bytes. `order` matters for UTF-32 only.
  static Datatype FixedString(size_t bytes, Charset charset,
                              TextPadding padding = TextPadding::kNull,
                              ByteOrder order = ByteOrder::kLittle);

  static Datatype Opaque(size_t bytes, std::string tag = {});
  static Datatype Enum(const Datatype& base, std::vector<Constant> constants);
  // enum {base: int8, members: {FALSE: 0, TRUE: 1}}, NDL's bool.
  static Datatype Bool();
  static Datatype ObjectRef();
  static Datatype RegionRef(Selection selection);
  // Members at the given offsets in an element of `bytes` bytes. The caller
  // must have checked that each lies inside; members may overlap.
  static Datatype Compound(std::vector<Member> members, size_t bytes);
  // Members one after the other without gaps. Fills in their offsets.
  static Datatype PackedCompound(std::vector<Member> members);
  // A compound of members r and i, each float32 (`bytes` == 8) or float64 (16).
  static Datatype Complex(size_t bytes, ByteOrder order = ByteOrder::kLittle);
  static Datatype Vlen(const Datatype& base);
  // The caller must have checked that neither the product of `shape` nor the size
  // of the element overflows.
  static Datatype Array(const Datatype& base, std::vector<uint64_t> shape);

  Kind kind() const { return rep_->kind; }
  // Size of one element in bytes; 0 for types of variable size: strings
  // without a fixed length, vlens, references, and types that contain one.
  size_t size() const { return rep_->size; }
  bool is_fixed_size() const { return rep_->fixed; }
  ByteOrder order() const { return rep_->order; }

  bool is_signed() const { return rep_->is_signed; }                  // kInteger
  const std::optional<TimeUnit>& time() const { return rep_->time; }  // kInteger
  Charset charset() const { return rep_->charset; }                   // kString
  TextPadding padding() const { return rep_->padding; }               // kString
  const std::string& tag() const { return rep_->text; }               // kOpaque
  Selection selection() const { return rep_->selection; }             // kRegionRef
  const std::vector<Member>& members() const;                         // kCompound
  const std::vector<Constant>& constants() const;                     // kEnum
  // The constant with this name, or the first one with this value; null if
  // there is none.
  const Constant* FindConstant(std::string_view name) const;          // kEnum
  const Constant* FindConstant(WideInt value) const;                  // kEnum
  const Datatype& base() const;                                       // kEnum, kVlen, kArray
  const std::vector<uint64_t>& shape() const { return rep_->shape; }  // kArray
  uint64_t array_length() const;                                      // product of shape()

  bool is_bool() const;     // an enum of one byte with FALSE: 0 and TRUE: 1
  bool is_complex() const;  // what Complex() makes

  // "int16", "float32", "string" ...; "compound", "enum" ... for nested kinds.
  std::string keyword() const;
  // How deep the type nests: 1 for a number, 2 for a vlen of numbers.
  int depth() const { return rep_->depth; }

  // This type with every number in `order`.
  Datatype WithOrder(ByteOrder order) const;
  // The byte order that all parts share; nullopt if they differ, or if no part
  // has a byte order (single bytes, ASCII).
  std::optional<ByteOrder> uniform_order() const;

  // Compares the types as the language defines them: kinds, names, members and
  // constants, but not the layout.
  friend bool operator==(const Datatype& a, const Datatype& b);
  // Compares type and layout: equal values are then equal bytes.
  bool SameLayout(const Datatype& other) const;

 private:
  struct Rep {
    Kind kind = Kind::kOpaque;
    bool fixed = true;
    bool is_signed = false;
    ByteOrder order = ByteOrder::kLittle;
    Charset charset = Charset::kUtf8;
    TextPadding padding = TextPadding::kNull;
    Selection selection = Selection::kBlock;
    int depth = 1;
    size_t size = 0;
    std::string text;  // float keyword or opaque tag
    std::optional<TimeUnit> time;
    std::vector<Member> members;
    std::vector<Constant> constants;
    // Positions in `constants`, sorted: enums in files may have a million of
    // them.
    std::vector<uint32_t> by_name;
    std::vector<uint32_t> by_value;
    std::shared_ptr<const Datatype> base;
    std::vector<uint64_t> shape;
  };
  explicit Datatype(Rep rep);

  std::shared_ptr<const Rep> rep_;
};

struct Datatype::Member {
  std::string name;
  Datatype type;
  size_t offset = 0;
};

struct Datatype::Constant {
  std::string name;
  WideInt value = 0;
  bool operator==(const Constant&) const = default;
};

inline const std::vector<Datatype::Member>& Datatype::members() const { return rep_->members; }
inline const std::vector<Datatype::Constant>& Datatype::constants() const {
  return rep_->constants;
}
inline const Datatype& Datatype::base() const { return *rep_->base; }

// A run of `count` numbers of `width` bytes each, beginning at byte `offset` of
// an element. A change of byte order reverses each of the numbers.
struct SwapRun {
  size_t offset;
  size_t width;
  size_t count;
};

// The runs to reverse so that every number of an element of `type` is in
// `order`; ascending and without overlaps. Empty if there is nothing to
// reverse. Fails with kLimit for more than a million runs, and with
// kUnsupported if members to be reversed overlap.
Result<std::vector<SwapRun>> PlanByteSwap(const Datatype& type, ByteOrder order);

}  // namespace ndlfs::model
