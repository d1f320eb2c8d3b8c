// SPDX-License-Identifier: MIT
//
// Where chunks are in shards: sharded.md of Neuroglancer's specification.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "backends/base/bytes.h"
#include "backends/format/precomputed/info.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::precomputed {

// The compressed Morton code of a chunk. `at` has its numbers along x, y and z, and `counts`
// how many chunks there are. nullopt if the code takes more than 64 bits.
std::optional<uint64_t> MortonCode(const Triple& at, const Triple& counts);

// The first 64 bits of MurmurHash3_x86_128 of a number of 8 bytes.
uint64_t MurmurHash(uint64_t number);

struct ShardPlace {
  uint64_t shard = 0;
  uint64_t minishard = 0;
};
ShardPlace PlaceOf(const Sharding& sharding, uint64_t id);

// "0a.shard"
std::string NameOfShard(const Sharding& sharding, uint64_t shard);

// Where the entry of a minishard is in a shard.
ByteRange EntryOf(uint64_t minishard);
// Where its index is, by the 16 bytes of the entry; nullopt if it has none. kCorrupt if it
// cannot be there.
model::Result<std::optional<ByteRange>> IndexRange(const Sharding& sharding,
                                                   ConstByteSpan entry);

// The place of a chunk in its shard by the (decoded) index of the minishard; nullopt if it is
// not there.
model::Result<std::optional<ByteRange>> FindChunk(const Sharding& sharding, ConstByteSpan index,
                                                  uint64_t id);

}  // namespace ndlfs::backends::precomputed
