// SPDX-License-Identifier: MIT
//
// The header of a compressed chunk. It says in what way the chunk is encoded, which all chunks
// of an array have in common, and which element of the file has the encoded bytes.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hdf4/description.h"
#include "model/error.h"

namespace ndlfs::backends::hdf4 {

// The elements with compressed bytes, by their references.
using CompressedParts = std::unordered_map<uint16_t, Piece>;

// How much of a header is of interest.
inline constexpr uint64_t kChunkHeaderBytes = 14;

// Fails if the chunk with this header is not encoded as its array is. Of an array that the
// library decodes, it asks nothing: the library goes by the header of each chunk.
model::Result<void> CheckCoding(ConstByteSpan header, ArrayInfo::Coding coding);

// Where the bytes of the chunk with this header are, in an array with this coding.
model::Result<Piece> FindCompressed(ConstByteSpan header, ArrayInfo::Coding coding,
                                    const CompressedParts& parts);

}  // namespace ndlfs::backends::hdf4
