// SPDX-License-Identifier: MIT
//
// Datatype: what the elements of an array or attribute are. It says two things
// at once: the type in the words of the Ndarray Data Language (NDL 0.6.1,
// section 5), and how one element lies in memory (size, member offsets, byte
// order, text encoding). Equality is that of the language; SameLayout()
// compares the bytes.
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

// How the bytes of text stand for characters.
enum class Charset : uint8_t { kAscii, kUtf8, kUtf32, kLatin1 };

// What fills the rest of a fixed-length text.
enum class TextPadding : uint8_t { kNull, kSpace };

// The extension `x-datetime` / `x-timedelta`: int64 counts of `scale` units,
// with the smallest int64 as NaT. `unit` is NumPy's (Y M W D h m s ms us ns
// ps fs as, or generic).
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

  // Nesting deeper than this is refused by every reader.
  static constexpr int kMaxDepth = 64;

  // A placeholder: opaque of size 0.
  Datatype();

  // Integers of 1, 2, 4 or 8 bytes; floats by their NDL name ("float32").
  static Datatype Integer(size_t bytes, bool is_signed, ByteOrder order = ByteOrder::kLittle);
  static Datatype Time(TimeUnit unit, ByteOrder order = ByteOrder::kLittle);
  // `name` is a keyword: float16, float32, float64, or an extension such as
  // bfloat16, float8_e4m3, float128 (that of NumPy on x86: 80 bits in 16
  // bytes); `bytes` its size.
  static Datatype Float(std::string_view name, size_t bytes,
                        ByteOrder order = ByteOrder::kLittle);
  static Datatype Float32(ByteOrder order = ByteOrder::kLittle);
  static Datatype Float64(ByteOrder order = ByteOrder::kLittle);
  // Any of the integer and float keywords of the language and of the
  // extensions above; nullopt for other words.
  static std::optional<Datatype> FromKeyword(std::string_view keyword);

  // Text of variable length, encoded as `charset` says.
  static Datatype String(Charset charset = Charset::kUtf8);
  // Text in `bytes` bytes. UTF-32 text has a byte order.
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
  // has checked that they lie inside; overlaps are allowed.
  static Datatype Compound(std::vector<Member> members, size_t bytes);
  // Members one after the other without gaps; their offsets are filled in.
  static Datatype PackedCompound(std::vector<Member> members);
  // compound [r, i] of float32 (bytes == 8) or float64 (16).
  static Datatype Complex(size_t bytes, ByteOrder order = ByteOrder::kLittle);
  static Datatype Vlen(const Datatype& base);
  // The caller has checked that the product of `shape` does not overflow.
  static Datatype Array(const Datatype& base, std::vector<uint64_t> shape);

  Kind kind() const { return rep_->kind; }
  // Bytes of one element as it is stored; 0 for elements of variable size:
  // variable strings, vlens, references, and whatever contains one.
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
  // The constant of this name, or the first of this value; null if there is none.
  const Constant* FindConstant(std::string_view name) const;          // kEnum
  const Constant* FindConstant(WideInt value) const;                  // kEnum
  const Datatype& base() const;                                       // kEnum, kVlen, kArray
  const std::vector<uint64_t>& shape() const { return rep_->shape; }  // kArray
  uint64_t array_length() const;                                      // product of shape()

  bool is_bool() const;     // one byte wide, FALSE: 0 and TRUE: 1
  bool is_complex() const;  // r and i of one float32 or float64, without gaps

  // "int16", "float32", "string", ... ; for the nested kinds the kind's word.
  std::string keyword() const;
  // How deep the kinds nest: 1 for a number.
  int depth() const { return rep_->depth; }

  // The same type with every number in `order`.
  Datatype WithOrder(ByteOrder order) const;
  // The one byte order of all its parts that have one; nullopt where they
  // differ or none has one (single bytes, ASCII).
  std::optional<ByteOrder> uniform_order() const;

  // Equal in the language: kinds, names, members, constants; not the layout.
  friend bool operator==(const Datatype& a, const Datatype& b);
  // Elements are the same bytes.
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
    // Their positions, sorted; files may have a million constants.
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

// The runs of an element that byte-order conversion reverses: `count` numbers
// of `width` bytes from `offset`. Runs are ascending and do not overlap.
struct SwapRun {
  size_t offset;
  size_t width;
  size_t count;
};

// What turns an element of `type` into one with every number in `order`.
// Empty when the bytes are the same already. Refuses (kLimit) a type with
// more than a million runs.
Result<std::vector<SwapRun>> PlanByteSwap(const Datatype& type, ByteOrder order);

}  // namespace ndlfs::model
