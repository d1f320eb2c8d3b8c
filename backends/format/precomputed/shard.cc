// SPDX-License-Identifier: MIT
#include "backends/format/precomputed/shard.h"

#include <fmt/format.h>

#include <bit>

#include "backends/base/checked.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends::precomputed {
namespace {

using model::Corrupt;
using model::Result;

constexpr uint64_t kEntryBytes = 16;

// Where the data of a shard begin, from which offsets count.
uint64_t EndOfIndex(const Sharding& sharding) { return kEntryBytes << sharding.minishard_bits; }

uint64_t LowBits(uint64_t value, unsigned bits) {
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}
uint64_t ShiftRight(uint64_t value, unsigned bits) { return bits >= 64 ? 0 : value >> bits; }

uint32_t Mix(uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6b;
  h ^= h >> 13;
  h *= 0xc2b2ae35;
  return h ^ h >> 16;
}

}  // namespace

std::optional<uint64_t> MortonCode(const Triple& at, const Triple& counts) {
  uint64_t code = 0;
  unsigned bit = 0;
  for (unsigned i = 0; i < 64; ++i) {
    for (size_t d = 0; d < 3; ++d) {
      if ((uint64_t{1} << i) >= counts[d]) continue;
      if (bit == 64) return std::nullopt;
      code |= (at[d] >> i & 1) << bit++;
    }
  }
  return code;
}

// A key of 8 bytes is only a tail: its two halves go into the first two of four words.
uint64_t MurmurHash(uint64_t number) {
  constexpr uint32_t c1 = 0x239b961b, c2 = 0xab0e9789, c3 = 0x38b34ae5;
  uint32_t h1 = 0, h2 = 0, h3 = 0, h4 = 0;
  auto k2 = static_cast<uint32_t>(number >> 32);
  k2 *= c2;
  k2 = std::rotl(k2, 16);
  k2 *= c3;
  h2 ^= k2;
  auto k1 = static_cast<uint32_t>(number);
  k1 *= c1;
  k1 = std::rotl(k1, 15);
  k1 *= c2;
  h1 ^= k1;
  constexpr uint32_t kLength = 8;
  h1 ^= kLength;
  h2 ^= kLength;
  h3 ^= kLength;
  h4 ^= kLength;
  h1 += h2 + h3 + h4;
  h2 += h1;
  h3 += h1;
  h4 += h1;
  h1 = Mix(h1);
  h2 = Mix(h2);
  h3 = Mix(h3);
  h4 = Mix(h4);
  h1 += h2 + h3 + h4;
  h2 += h1;
  return uint64_t{h2} << 32 | h1;
}

ShardPlace PlaceOf(const Sharding& sharding, uint64_t id) {
  uint64_t hash = ShiftRight(id, sharding.preshift_bits);
  if (sharding.has_murmurhash) hash = MurmurHash(hash);
  return {LowBits(ShiftRight(hash, sharding.minishard_bits), sharding.shard_bits),
          LowBits(hash, sharding.minishard_bits)};
}

std::string NameOfShard(const Sharding& sharding, uint64_t shard) {
  return fmt::format("{:0{}x}.shard", shard, (sharding.shard_bits + 3) / 4);
}

ByteRange EntryOf(uint64_t minishard) { return {minishard * kEntryBytes, kEntryBytes}; }

Result<std::optional<ByteRange>> IndexRange(const Sharding& sharding, ConstByteSpan entry) {
  if (entry.size() != kEntryBytes) return Corrupt("the index of the shard was cut short");
  const auto begin = LoadLittle<uint64_t>(entry.data());
  const auto end = LoadLittle<uint64_t>(entry.data() + 8);
  if (begin == end) return std::nullopt;
  const auto at = CheckedAdd(begin, EndOfIndex(sharding));
  if (end < begin || !at) return Corrupt("an index of a minishard from {} to {}", begin, end);
  return ByteRange{*at, end - begin};
}

Result<void> CheckApart(uint64_t id, const ByteRange& chunk, const ByteRange& index) {
  // Neither range ends behind all files.
  const bool overlaps = chunk.length != 0 && chunk.offset < index.offset + index.length &&
                        index.offset < chunk.offset + chunk.length;
  if (!overlaps) return {};
  return Corrupt(
      "chunk {}, {} bytes at {}, overlaps the index of its minishard, {} bytes at {}", id,
      chunk.length, chunk.offset, index.length, index.offset);
}

Result<std::optional<ByteRange>> FindChunk(const Sharding& sharding, ConstByteSpan index,
                                           uint64_t id) {
  constexpr uint64_t kChunkBytes = 24;
  if (index.size() % kChunkBytes != 0) {
    return Corrupt("an index of a minishard of {} bytes", index.size());
  }
  const uint64_t count = index.size() / kChunkBytes;
  const auto number = [&](uint64_t column, uint64_t i) {
    return LoadLittle<uint64_t>(index.data() + (column * count + i) * 8);
  };
  uint64_t chunk = 0;
  std::optional<uint64_t> at = EndOfIndex(sharding);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t before = chunk;
    chunk += number(0, i);
    // Numbers of chunks are sorted, so that none is there twice.
    if (i > 0 && chunk <= before) {
      return Corrupt("an index of a minishard with chunk {} behind chunk {}", chunk, before);
    }
    at = CheckedAdd(*at, number(1, i));
    const auto end = at ? CheckedAdd(*at, number(2, i)) : std::nullopt;
    if (!end) return Corrupt("chunk {} lies behind all files", chunk);
    if (chunk == id) return ByteRange{*at, *end - *at};
    at = end;
  }
  return std::nullopt;
}

}  // namespace ndlfs::backends::precomputed
