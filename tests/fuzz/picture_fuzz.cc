// SPDX-License-Identifier: MIT
//
// Any bytes as a picture. The first byte chooses the library, the second the type of the
// samples, the third what else decides how they are decoded; then follow the extents, a byte
// each, and the picture.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backends/base/bytes.h"
#include "backends/codec/picture/picture.h"
#include "model/datatype.h"

namespace {

using ndlfs::backends::PictureKind;
using ndlfs::backends::PictureLayout;
using ndlfs::backends::PictureRule;
using ndlfs::model::Datatype;

constexpr size_t kChoiceBytes = 6;

Datatype TypeOf(uint8_t choice) {
  switch (choice % 6) {
    case 0:
      return Datatype::Integer(1, false);
    case 1:
      return Datatype::Integer(2, false);
    case 2:
      return Datatype::Integer(2, true);
    case 3:
      return Datatype::Float("float16", 2);
    case 4:
      return Datatype::Float32();
    default:
      return Datatype::Float64();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kChoiceBytes) return 0;
  const uint64_t rows = data[3], columns = data[4], samples = data[5] % 8;
  PictureRule rule;
  rule.kind = static_cast<PictureKind>(data[0] % 6);
  rule.colours = static_cast<PictureRule::Colours>(data[2] % 3);
  rule.has_masks = (data[2] & 4) != 0;
  rule.swaps_bytes = (data[2] & 64) != 0;
  const auto layout = static_cast<PictureLayout>(data[2] >> 3 & 3);
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(kChoiceBytes);
  ndlfs::backends::ConstByteSpan picture = bytes;
  if ((data[2] & 32) != 0) {
    // The first half is tables.
    rule.tables.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size() / 2);
    picture = bytes.subspan(bytes.size() / 2);
  }
  ndlfs::backends::ChunkForm form{TypeOf(data[1]), {}};
  switch (layout) {
    case PictureLayout::kRows:
      form.shape = {1, rows, columns};
      break;
    case PictureLayout::kPixels:
      form.shape = {rows, columns, samples};
      break;
    case PictureLayout::kVolume:
      form.shape = {1, rows, columns};
      break;
    case PictureLayout::kChannelsOfVolume:
      form.shape = {samples, 1, rows, columns};
      break;
  }
  const auto codec = MakePictureCodec(rule, layout, data[2] >= 128 ? 256 : rows);
  if (!codec) return 0;
  ndlfs::backends::Bytes decoded(form.byte_size().value());
  (void)(*codec)->MaxEncodedSize(form);
  (void)(*codec)->Decode(picture, form, decoded.span());
  return 0;
}
