// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/codec/codec.h"
#include "model/datatype.h"

namespace ndlfs::backends::tiff {

// How the samples of a decompressed strip or tile are stored.
struct PixelForm {
  unsigned bits = 8;  // of a sample; of a number, for complex samples
  // Samples that follow each other in a row for one pixel: the last extent of a chunk is then
  // their number.
  size_t samples = 1;
  bool is_interleaved = false;
  unsigned predictor = 1;  // 1, 2 or 3
  model::ByteOrder order = model::ByteOrder::kLittle;
};

// Makes elements of the rows of a strip or tile. Each row begins with a whole byte. The caller
// has checked that the form and `dtype` fit: numbers of 8, 16, 32 or 64 bits, which `dtype`
// has, or integers of other sizes up to 32 bits. These are fields of bits with the highest
// first, in any byte order.
std::shared_ptr<const ArrayToBytesCodec> MakePixelCodec(const PixelForm& form,
                                                        const model::Datatype& dtype);

}  // namespace ndlfs::backends::tiff
