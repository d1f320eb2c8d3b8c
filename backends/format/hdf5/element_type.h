// SPDX-License-Identifier: MIT
//
// The datatypes of HDF5 (HDF5 File Format Specification, IV.A.2.d) as datatypes of NDL, and how
// elements in a file become elements that are shown.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/format/hdf5/metadata.h"
#include "backends/format/hdf5/wide_float.h"
#include "backends/format/text_codec.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// How an element lies in the file.
struct Form {
  enum class Kind : uint8_t {
    kBytes,     // as it is shown
    kReversed,  // a number, to be shown with its bytes in reverse
    kText,      // of fixed length, with another padding than NULs
    kInteger,   // some bits of the bytes, to be shown as an integer of `shown` bytes
    kFloat,     // a number of the format `fields`, to be shown as a float of `shown` bytes
    kVariableText,
    kVlen,
    kObjectReference,
    kRegionReference,
    kReference,  // of HDF5 1.12: to an object, or a part of one
    kCompound,
    kArray,
  };
  enum class Order : uint8_t { kLittle, kBig, kVax };
  struct Part;

  Kind kind = Kind::kBytes;
  size_t size = 0;                   // in the file
  size_t shown = 0;                  // kInteger, kFloat
  Order order = Order::kLittle;      // kInteger, kFloat
  size_t first_bit = 0;              // kInteger
  size_t bits = 0;                   // kInteger
  bool is_signed = false;            // kInteger
  TextRun text = {};                 // kText
  FloatFields fields = {};           // kFloat
  bool is_packed = false;            // kCompound: shown without the bytes between its parts
  std::vector<Part> parts;           // kCompound
  std::shared_ptr<const Form> base;  // kVlen, kArray
  uint64_t count = 1;                // kArray
};

struct Form::Part {
  size_t offset;
  Form form;
};

struct ElementType {
  // See DatasetInfo. `stored` has the size of an element in the file, even if is_plain is false
  // and `stored` says nothing else.
  model::Datatype type;
  model::Datatype stored;
  bool is_plain = true;
  bool has_long_times = false;  // it is, or contains, a time of 64 bits
  std::vector<TextRun> text;
  std::optional<model::ByteOrder> stored_order;
  Form form;
};

// Whether `type` contains region references; and the same type with references to elements
// instead.
bool HasRegions(const model::Datatype& type);
model::Datatype WithElementRegions(const model::Datatype& type);

// How floats are read that have no exact float64.
enum class WideFloats : uint8_t {
  kStored,   // NumPy's long double, or opaque bytes
  kNearest,  // the float64 that is nearest
};

// What times of 64 bits are.
enum class LongTimes : uint8_t {
  kFloats,  // seconds
  kPairs,   // seconds in the upper 32 bits of an integer, microseconds in the lower ones
};

// The type that a datatype message describes.
model::Result<ElementType> ReadElementType(const Metadata& file, ConstByteSpan message,
                                           WideFloats wide_floats = WideFloats::kStored,
                                           LongTimes long_times = LongTimes::kFloats);

// Reads the references of a file as the text that element streams have; see references.h.
class ReferenceReader {
 public:
  virtual ~ReferenceReader() = default;
  // Of an object at an address.
  virtual std::string ObjectPath(uint64_t address) = 0;
  // Of a region, the stored form of which is an address and a selection.
  virtual model::Result<std::string> RegionText(ConstByteSpan region) = 0;
};

// Elements of a file as they are shown, little-endian and, if they are of variable size or
// hold parts that are, as in an element stream.
class ElementReader {
 public:
  // Fails with kLimit if the elements take more than `limit` bytes.
  ElementReader(const Metadata& file, ReferenceReader& references, uint64_t limit)
      : file_(file), references_(references), limit_(limit) {}

  // Appends `count` elements at `elements` (each form.size long) to `out`, and the place where
  // each begins to `offsets`, if given.
  model::Result<void> Append(const Form& form, ConstByteSpan elements, uint64_t count,
                             ByteVector& out, std::vector<uint64_t>* offsets = nullptr);
  // Whether a number had to be rounded.
  bool rounded() const { return rounded_; }

 private:
  model::Result<void> AppendOne(const Form& form, const std::byte* element, ByteVector& out);
  model::Result<void> AppendBytes(const void* bytes, uint64_t size, ByteVector& out) const;
  model::Result<void> AppendText(std::string_view text, ByteVector& out) const;
  model::Result<void> AppendVlen(const Form& form, const std::byte* element, ByteVector& out);
  model::Result<void> AppendRegion(const std::byte* element, ByteVector& out);
  model::Result<void> AppendReference(const Form& form, const std::byte* element,
                                      ByteVector& out);
  model::Result<void> AppendInteger(const Form& form, const std::byte* element,
                                    ByteVector& out) const;
  model::Result<void> AppendFloat(const Form& form, const std::byte* element, ByteVector& out);

  const Metadata& file_;
  ReferenceReader& references_;
  const uint64_t limit_;
  bool rounded_ = false;
};

// The bytes in a global heap that a place names, an address and an index; at least `least` and
// at most `most` bytes. Empty for an address that leads nowhere.
model::Result<ByteVector> ReadGlobal(const Metadata& file, Cursor& place, uint64_t least,
                                     uint64_t most);

// A whole element stream: the table, then the elements.
Bytes MakeElementStream(const std::vector<uint64_t>& offsets, const ByteVector& elements);

}  // namespace ndlfs::backends::hdf5
