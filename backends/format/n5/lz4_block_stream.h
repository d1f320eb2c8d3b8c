// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "backends/codec/codec.h"

namespace ndlfs::backends::n5 {

// The stream that Java's LZ4BlockOutputStream writes, which is what N5 means
// by lz4: blocks with a header each, of magic, sizes and a checksum.
std::shared_ptr<const BytesToBytesCodec> MakeLz4BlockStream();

}  // namespace ndlfs::backends::n5
