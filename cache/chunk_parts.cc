// SPDX-License-Identifier: MIT
#include "cache/chunk_parts.h"

#include <algorithm>
#include <cstring>

#include "cache/chunk_loader.h"

namespace ndlfs::cache {

using backends::ByteSpan;
using model::Result;

namespace {

// Below this, looking for a part takes longer than decoding it.
constexpr uint64_t kSmallestPart = uint64_t{64} << 10;

// Parts pay where they are at most this share of a chunk. Decoding halves saved
// an eighth of the time where the cache is small, and cost a quarter more where
// it has room for all (tests/bench/RESULTS.md).
constexpr uint64_t kLargestShare = 4;

// One byte after the last of a box.
uint64_t EndOf(uint64_t from, const std::vector<CopyAxis>& axes, size_t run) {
  uint64_t end = from + run;
  for (const CopyAxis& axis : axes) end += (axis.count - 1) * axis.from_stride;
  return end;
}

}  // namespace

std::unique_ptr<const ChunkParts> ChunkParts::MakeFor(const backends::ArraySource& source,
                                                      ChunkCache& cache, ChunkLedger* ledger,
                                                      LoadCounts& counts) {
  const backends::ArraySpec& spec = source.spec();
  const bool pays = MayLoadParts(spec) && MaxDecodedSize(spec) >= kLargestShare * kSmallestPart;
  if (!pays) return nullptr;
  return std::unique_ptr<const ChunkParts>(new ChunkParts(source, cache, ledger, counts));
}

bool ChunkParts::Copy(const Chunk& chunk, uint64_t from, std::byte* to,
                      const std::vector<CopyAxis>& axes, size_t run) const {
  if (cache_.Contains({source_.id(), chunk.number})) return false;
  const uint64_t part = PartBytes(chunk);
  if (part == 0) return false;
  const uint64_t parts = (EndOf(from, axes, run) - 1) / part - from / part + 1;
  const uint64_t size =
      DecodedSize(source_.spec(), source_.spec().grid.ChunkShape(chunk.index));
  if (parts > size / part / kLargestShare) return false;
  return ReadStrided(
      [&](uint64_t offset, ByteSpan out) { return Read(chunk, part, offset, out); }, from, to,
      axes, run);
}

// 0 where it is not known, because this chunk does not tell it.
uint64_t ChunkParts::PartBytes(const Chunk& chunk) const {
  if (const uint64_t known = part_bytes_.load(std::memory_order_relaxed)) return known;
  const auto block = FindBlockSize(source_, chunk.index, context_);
  if (!block || !*block) return 0;
  const uint64_t size = std::max(**block, (kSmallestPart + **block - 1) / **block * **block);
  part_bytes_.store(size, std::memory_order_relaxed);
  return size;
}

bool ChunkParts::Read(const Chunk& chunk, uint64_t part_bytes, uint64_t offset,
                      ByteSpan out) const {
  while (!out.empty()) {
    const uint64_t begin = offset / part_bytes * part_bytes;
    const auto part = Part(chunk, begin, part_bytes);
    if (!part || (*part)->size() <= offset - begin) return false;
    const size_t count = std::min<uint64_t>(out.size(), (*part)->size() - (offset - begin));
    std::memcpy(out.data(), (*part)->data() + (offset - begin), count);
    offset += count;
    out = out.subspan(count);
  }
  return true;
}

Result<ChunkCache::Handle> ChunkParts::Part(const Chunk& chunk, uint64_t begin,
                                            uint64_t part_bytes) const {
  const uint64_t chunk_bytes =
      DecodedSize(source_.spec(), source_.spec().grid.ChunkShape(chunk.index));
  const uint64_t size = std::min(part_bytes, chunk_bytes - begin);
  bool is_hit = true;
  auto part = cache_.GetOrLoad(
      {.array = source_.id(), .block = chunk.number, .part = begin / part_bytes + 1}, size,
      PartTransientSize(part_bytes), [&] {
        is_hit = false;
        const auto start = LoadCounts::Clock::now();
        auto loaded = LoadPart(source_, chunk.index, context_, begin, size, part_bytes);
        if (loaded) counts_.AddLoad(counts_.decoded_parts, size, start);
        return loaded;
      });
  if (part && is_hit) counts_.hits.fetch_add(1, std::memory_order_relaxed);
  return part;
}

}  // namespace ndlfs::cache
