// SPDX-License-Identifier: MIT
#pragma once

#include "backends/base/json.h"
#include "backends/codec/codec_chain.h"
#include "model/error.h"

namespace ndlfs::backends::n5 {

// Makes the chain for the blocks of an N5 dataset from its `compression`. `block` is the
// form of a full block, with the slowest axis first.
model::Result<CodecChain> MakeBlockChain(const Json& compression, const ChunkForm& block);

}  // namespace ndlfs::backends::n5
