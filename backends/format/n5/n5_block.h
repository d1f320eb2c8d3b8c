// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/base/json.h"
#include "backends/codec/codec_chain.h"
#include "backends/format/chunk_encoding.h"
#include "model/error.h"

namespace ndlfs::backends::n5 {

// Makes the chain for the blocks of an N5 dataset from its `compression`. `block` is the
// form of a full block, with the slowest axis first.
model::Result<CodecChain> MakeBlockChain(const Json& compression, const ChunkForm& block);

// The encoding of full blocks, which nearly all are, with the header in front; `stored` is
// big-endian. nullopt if only readers of N5 have words for it.
std::optional<ChunkEncoding> DescribeBlocks(const Json& compression,
                                            const model::Datatype& stored,
                                            const std::vector<uint64_t>& block);

}  // namespace ndlfs::backends::n5
