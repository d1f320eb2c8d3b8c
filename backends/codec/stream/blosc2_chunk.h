// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/codec/stream/blosc_stream.h"
#include "model/error.h"

namespace ndlfs::backends {

// A chunk of Blosc 2 (README_CHUNK_FORMAT of c-blosc2), which decodes block by block. It has
// the memory for one block, and is for one thread. Fails with kUnsupported for filters, codecs
// and flags that it does not know, and for dictionaries.
class Blosc2Chunk {
 public:
  // Reads the header of the chunk at the beginning of `bytes`. The bytes must stay while the
  // chunk is used. There may be more of them than the chunk has.
  static model::Result<Blosc2Chunk> Open(ConstByteSpan bytes);

  uint64_t decoded_size() const { return decoded_size_; }
  // The decoded size of each block but the last one, which may be smaller. Not 0 if
  // decoded_size() is not.
  uint64_t block_size() const { return block_size_; }
  // If all elements are the same, there are no blocks to decode: Decode() may then be called
  // for any range.
  bool is_constant() const { return special_ != Special::kNone; }

  // Decodes the block that begins at `offset` of the decoded chunk. `out` has the size of the
  // block, which is block_size() or what is left.
  model::Result<void> Decode(uint64_t offset, ByteSpan out);

 private:
  enum class Special : uint8_t { kNone, kZeros, kNan, kValue, kUninitialized };
  struct Filter {
    bool is_bitwise;
    size_t element_size;
  };

  model::Result<void> ReadFilters();
  model::Result<void> ReadSpecial(unsigned flags);
  model::Result<void> CheckBlocks() const;
  void Fill(uint64_t offset, ByteSpan out) const;
  model::Result<void> DecodeStreams(uint64_t offset, ByteSpan block) const;
  void Undo(const Filter& filter, ConstByteSpan from, ByteSpan to);
  model::Result<void> UndoDelta(uint64_t offset, ByteSpan block);

  ConstByteSpan bytes_;
  unsigned flags_ = 0;
  size_t element_size_ = 0;
  uint64_t decoded_size_ = 0;
  uint64_t block_size_ = 0;
  BloscCompressor compressor_ = {};
  Special special_ = Special::kNone;
  std::array<std::byte, 255> value_ = {};  // one element, if all are the same
  std::vector<Filter> filters_;            // shuffles, in the order of undoing them
  bool has_delta_ = false;
  std::array<Bytes, 2> scratch_;  // a block before a filter
  Bytes planes_;                  // of bits
  Bytes reference_;               // the first block, which the delta filter refers to
};

}  // namespace ndlfs::backends
