// SPDX-License-Identifier: MIT
#include "backends/codec/codec.h"

namespace ndlfs::backends {

model::Result<Bytes> ArrayToArrayCodec::DecodeVariable(ConstByteSpan, const ChunkForm&,
                                                       uint64_t) const {
  return model::Internal("{} accepted elements of variable size", name());
}

model::Result<Bytes> ArrayToBytesCodec::DecodeVariable(ConstByteSpan, const ChunkForm&,
                                                       uint64_t) const {
  return model::Unsupported("no elements of variable size");
}

model::Result<ConstByteSpan> BytesToBytesCodec::DecodePart(ConstByteSpan) const {
  return model::Internal("{} does not decode to a part", name());
}

model::Result<uint64_t> BytesToBytesCodec::BlockSize(const EncodedChunk&, uint64_t) const {
  return model::Internal("{} does not decode ranges", name());
}

model::Result<void> BytesToBytesCodec::DecodeRange(const EncodedChunk&, uint64_t, uint64_t,
                                                   uint64_t, ByteSpan) const {
  return model::Internal("{} does not decode ranges", name());
}

}  // namespace ndlfs::backends
