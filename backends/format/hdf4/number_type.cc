// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/number_type.h"

namespace ndlfs::backends::hdf4 {
namespace {

using model::ByteOrder;
using model::Datatype;

// The order of the machine that wrote the file, which readers take to be like theirs; and
// little-endian.
constexpr int32_t kNative = 0x1000, kLittle = 0x4000;
constexpr int32_t kFlags = kNative | kLittle;

}  // namespace

bool IsText(int32_t number_type) { return (number_type & ~kFlags) == kTextType; }

std::optional<Datatype> TypeOf(int32_t number_type) {
  const ByteOrder order = (number_type & kFlags) != 0 ? ByteOrder::kLittle : ByteOrder::kBig;
  switch (number_type & ~kFlags) {
    case kTextType:
      return Datatype::FixedString(1, model::Charset::kLatin1, model::TextPadding::kNull);
    case 3:  // "unsigned character": used for numbers
    case 21:
      return Datatype::Integer(1, false);
    case 20:
      return Datatype::Integer(1, true);
    case 5:
      return Datatype::Float32(order);
    case 6:
      return Datatype::Float64(order);
    case 22:
      return Datatype::Integer(2, true, order);
    case 23:
      return Datatype::Integer(2, false, order);
    case 24:
      return Datatype::Integer(4, true, order);
    case 25:
      return Datatype::Integer(4, false, order);
    default:
      return std::nullopt;
  }
}

}  // namespace ndlfs::backends::hdf4
