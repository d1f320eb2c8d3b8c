// SPDX-License-Identifier: MIT
#pragma once

#include "backends/base/json.h"
#include "backends/codec/codec_chain.h"
#include "model/error.h"

namespace ndlfs::backends::n5 {

// The chain for the blocks of an N5 dataset whose `compression` this is, with
// full blocks of the form `block` (in the order of the axes that we show: the
// slowest first).
model::Result<CodecChain> MakeBlockChain(const Json& compression, const ChunkForm& block);

}  // namespace ndlfs::backends::n5
