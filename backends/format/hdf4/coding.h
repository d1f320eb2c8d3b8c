// SPDX-License-Identifier: MIT
//
// The ways in which HDF4 encodes elements: those of its compressed elements, and the older ones
// of raster images alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "backends/codec/codec.h"
#include "model/error.h"

namespace ndlfs::backends::hdf4 {

struct Coding {
  // Numbers of compressed elements; those of images are their tags, with one more for JPEG.
  enum Kind : uint16_t {
    kNone = 0,
    kRunLengths = 1,
    kNBit = 2,
    kSkippingHuffman = 3,
    kDeflate = 4,
    kSzip = 5,
    kJpeg = 7,
    kImageRunLengths = 11,
    kImcomp = 12,
  };
  uint16_t kind = kNone;
  std::string parameters = {};  // as they lie in the file
  uint64_t columns = 0;         // of an image
  bool operator==(const Coding&) const = default;
};

// "deflate", for people.
std::string_view NameOf(const Coding& coding);

// kUnsupported for a coding that nobody knows, or that this build leaves out.
model::Result<std::shared_ptr<const BytesToBytesCodec>> MakeDecoder(const Coding& coding);

}  // namespace ndlfs::backends::hdf4
