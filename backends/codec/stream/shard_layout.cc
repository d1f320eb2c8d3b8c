// SPDX-License-Identifier: MIT
#include "backends/codec/stream/shard_layout.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "backends/base/checked.h"
#include "backends/codec/registry.h"

namespace ndlfs::backends {
namespace {

constexpr uint64_t kEmpty = std::numeric_limits<uint64_t>::max();

// The position of a chunk. A decoded index in memory has all entries, then a
// Verdict for each.
struct Entry {
  uint64_t offset;
  uint64_t size;
  bool empty() const { return offset == kEmpty && size == kEmpty; }
};
constexpr uint64_t kEntrySize = sizeof(Entry);

enum class Verdict : uint8_t { kSound, kEmpty, kOutside, kOverlaps };

Entry EntryAt(ConstByteSpan index, uint64_t slot) {
  Entry entry;
  std::memcpy(&entry, index.data() + slot * kEntrySize, kEntrySize);
  return entry;
}

uint64_t CountAll(const std::vector<uint64_t>& counts) {
  return CheckedProduct(counts).value_or(kEmpty);
}

// The encoded index is an array with one more dimension, for offset and size.
std::vector<uint64_t> IndexShape(std::vector<uint64_t> counts) {
  counts.push_back(2);
  return counts;
}

Verdict Judge(const Entry& entry, const ByteRange& index, uint64_t shard_size) {
  if (entry.empty()) return Verdict::kEmpty;
  const auto end = CheckedAdd(entry.offset, entry.size);
  if (!end || *end > shard_size) return Verdict::kOutside;
  const bool is_apart = *end <= index.offset || entry.offset >= index.offset + index.length;
  return is_apart || entry.size == 0 ? Verdict::kSound : Verdict::kOverlaps;
}

// Adds the verdicts behind the entries in `index`, except about overlaps with other chunks.
std::span<Verdict> AddVerdicts(ByteSpan index, const ByteRange& index_range,
                               uint64_t shard_size) {
  const uint64_t slots = index.size() / (kEntrySize + 1);
  const std::span verdicts(reinterpret_cast<Verdict*>(index.data() + slots * kEntrySize),
                           slots);
  for (uint64_t slot = 0; slot < slots; ++slot) {
    verdicts[slot] = Judge(EntryAt(index, slot), index_range, shard_size);
  }
  return verdicts;
}

// Marks all chunks that share bytes with another one.
void MarkOverlaps(ConstByteSpan index, std::span<Verdict> verdicts) {
  std::vector<uint64_t> by_offset(verdicts.size());
  std::iota(by_offset.begin(), by_offset.end(), 0);
  std::erase_if(by_offset, [&](uint64_t slot) {
    return verdicts[slot] != Verdict::kSound || EntryAt(index, slot).size == 0;
  });
  const auto before = [&](uint64_t a, uint64_t b) {
    return EntryAt(index, a).offset < EntryAt(index, b).offset;
  };
  // Most writers store chunks in this order already.
  if (!std::is_sorted(by_offset.begin(), by_offset.end(), before)) {
    std::sort(by_offset.begin(), by_offset.end(), before);
  }
  uint64_t end = 0;
  uint64_t last = 0;  // the chunk that ends at `end`
  for (const uint64_t slot : by_offset) {
    const Entry entry = EntryAt(index, slot);
    if (entry.offset < end) verdicts[slot] = verdicts[last] = Verdict::kOverlaps;
    if (entry.offset + entry.size <= end) continue;
    end = entry.offset + entry.size;
    last = slot;
  }
}

// The codecs without a checksum behind the entries.
Json WithoutChecksum(Json codecs) {
  const bool has_checksum = codecs.size() == 2 && codecs[1].is_object() &&
                            codecs[1].value("name", Json()) == "crc32c";
  if (has_checksum) codecs.erase(1);
  return codecs;
}

model::Result<bool> ParseIndexAtStart(const Json& configuration) {
  const auto location = configuration.find("index_location");
  if (location == configuration.end() || *location == "end") return false;
  if (*location == "start") return true;
  return model::BadInput("index_location: expected \"start\" or \"end\", found {}",
                         DescribeJson(*location));
}

model::Result<void> RefuseUnknown(const Json& configuration) {
  for (const auto& [key, value] : configuration.items()) {
    if (key != "chunk_shape" && key != "codecs" && key != "index_codecs" &&
        key != "index_location") {
      return model::BadInput("unknown member {}", model::Quote(key));
    }
  }
  return {};
}

}  // namespace

model::Result<ShardLayout::Parsed> ShardLayout::Parse(const Json& configuration,
                                                      const ChunkForm& shard) {
  NDLFS_RETURN_IF_ERROR(RefuseUnknown(configuration));
  NDLFS_TRY(const Json* shape, RequireMember(configuration, "chunk_shape"));
  NDLFS_TRY(const Json* codecs, RequireMember(configuration, "codecs"));
  NDLFS_TRY(const Json* index_codecs, RequireMember(configuration, "index_codecs"));
  ShardLayout layout;
  NDLFS_TRY(layout.inner_shape_, JsonToSizes(*shape), "chunk_shape");
  NDLFS_TRY(layout.index_at_start_, ParseIndexAtStart(configuration));
  NDLFS_TRY(const auto counts, layout.Counts(shard.shape), "chunk_shape");

  const ChunkForm index{model::Datatype::Integer(8, false), IndexShape(counts)};
  if (CheckedProduct(index.shape, 8).value_or(kMaxViewSize) >= kMaxViewSize) {
    return model::Limit("chunk_shape: an index of more than 2^62 bytes");
  }
  NDLFS_TRY(layout.index_codecs_, MakeZarr3Chain(*index_codecs, index), "index_codecs");
  if (!layout.index_codecs_.ExactEncodedSize(index.shape)) {
    return model::BadInput("index_codecs: the size of the encoded index is not fixed");
  }
  const auto plain = MakeZarr3Chain(WithoutChecksum(*index_codecs), index);
  layout.has_plain_index_ = plain && plain->IsIdentity();
  return Parsed{std::move(layout), codecs};
}

model::Result<std::vector<uint64_t>> ShardLayout::Counts(
    std::span<const uint64_t> shard_shape) const {
  if (shard_shape.size() != inner_shape_.size()) {
    return model::BadInput("inner chunks of {} dimensions in a shard of {}",
                           inner_shape_.size(), shard_shape.size());
  }
  std::vector<uint64_t> counts;
  for (size_t dim = 0; dim < shard_shape.size(); ++dim) {
    if (inner_shape_[dim] == 0 || shard_shape[dim] % inner_shape_[dim] != 0) {
      return model::BadInput("[{}]: inner chunks of {} do not divide a shard of {}", dim,
                             inner_shape_[dim], shard_shape[dim]);
    }
    counts.push_back(shard_shape[dim] / inner_shape_[dim]);
  }
  return counts;
}

uint64_t ShardLayout::EncodedIndexSize(const std::vector<uint64_t>& counts) const {
  return index_codecs_.ExactEncodedSize(IndexShape(counts)).value_or(kEmpty);
}

uint64_t ShardLayout::DecodedIndexSize(const std::vector<uint64_t>& counts) {
  return CheckedMultiply(CountAll(counts), kEntrySize + 1).value_or(kEmpty);
}

ReadOptions ShardLayout::IndexOptions(const std::vector<uint64_t>& counts) const {
  const uint64_t length = EncodedIndexSize(counts);
  if (index_at_start_) return {.range = {0, length}};
  return {.range = {length, length}, .from_end = true};
}

model::Result<ByteRange> ShardLayout::IndexRange(const std::vector<uint64_t>& counts,
                                                 uint64_t size) const {
  const uint64_t length = EncodedIndexSize(counts);
  if (length > size) {
    return model::Corrupt("a shard of {} bytes, too small for its index of {}", size, length);
  }
  return ByteRange{index_at_start_ ? 0 : size - length, length};
}

model::Result<Bytes> ShardLayout::DecodeIndex(ConstByteSpan encoded,
                                              const std::vector<uint64_t>& counts,
                                              uint64_t size) const {
  const uint64_t slots = CountAll(counts);
  NDLFS_TRY(const ByteRange range, IndexRange(counts, size));
  Bytes index(DecodedIndexSize(counts));
  const ByteSpan entries = index.span().first(slots * kEntrySize);
  Scratch scratch;
  NDLFS_RETURN_IF_ERROR(index_codecs_.Decode(encoded, IndexShape(counts), entries, scratch),
                        "shard index");
  MarkOverlaps(entries, AddVerdicts(index.span(), range, size));
  return index;
}

bool ShardLayout::HasOverlaps(ConstByteSpan index) {
  const ConstByteSpan verdicts = index.last(index.size() / (kEntrySize + 1));
  return std::ranges::find(verdicts, static_cast<std::byte>(Verdict::kOverlaps)) !=
         verdicts.end();
}

model::Result<ByteRange> ShardLayout::EntriesRange(const std::vector<uint64_t>& counts,
                                                   uint64_t size, uint64_t first,
                                                   uint64_t count) const {
  NDLFS_TRY(const ByteRange all, IndexRange(counts, size));
  return ByteRange{all.offset + first * kEntrySize, count * kEntrySize};
}

model::Result<Bytes> ShardLayout::DecodeEntries(ConstByteSpan encoded,
                                                const std::vector<uint64_t>& counts,
                                                uint64_t size) const {
  NDLFS_TRY(const ByteRange range, IndexRange(counts, size));
  const uint64_t count = encoded.size() / kEntrySize;
  Bytes index(count * (kEntrySize + 1));
  std::copy(encoded.begin(), encoded.end(), index.span().begin());
  AddVerdicts(index.span(), range, size);
  return index;
}

model::Result<std::optional<ByteRange>> ShardLayout::Find(ConstByteSpan index, uint64_t slot) {
  const uint64_t slots = index.size() / (kEntrySize + 1);
  if (slot >= slots) return model::Internal("inner chunk {} of {}", slot, slots);
  const Entry entry = EntryAt(index, slot);
  switch (static_cast<Verdict>(index[slots * kEntrySize + slot])) {
    case Verdict::kSound:
      return ByteRange{entry.offset, entry.size};
    case Verdict::kEmpty:
      return std::nullopt;
    case Verdict::kOutside:
      return model::Corrupt(
          "shard index: bytes {} + {} of inner chunk {} lie outside the shard", entry.offset,
          entry.size, slot);
    case Verdict::kOverlaps:
      break;
  }
  return model::Corrupt(
      "shard index: bytes {} + {} of inner chunk {} overlap with another or with the index",
      entry.offset, entry.size, slot);
}

}  // namespace ndlfs::backends
