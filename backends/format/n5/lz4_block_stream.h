// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "backends/codec/codec.h"

namespace ndlfs::backends::n5 {

// The codec that N5 calls lz4: the stream of Java's LZ4BlockOutputStream. It consists of
// blocks, each with a header of a magic, sizes and a checksum.
std::shared_ptr<const BytesToBytesCodec> MakeLz4BlockStream();

}  // namespace ndlfs::backends::n5
