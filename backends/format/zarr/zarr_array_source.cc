// SPDX-License-Identifier: MIT
//
// Finds chunks. Without sharding a chunk is the value at a key. With it, an
// inner chunk is a part of that value, found through the index of the shard;
// shards may be nested, an inner chunk then being a shard with an index of its
// own. Only indexes and the wanted chunk are ever read.
#include "backends/format/zarr/zarr_array_source.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/format/chunk_encoding.h"
#include "backends/format/source_notes.h"
#include "backends/format/stored_chunks.h"
#include "backends/format/zarr/separator_store.h"
#include "backends/store/chunk_table.h"
#include "backends/store/keys.h"
#include "backends/store/partial_listing.h"

namespace ndlfs::backends::zarr {
namespace {

using Index = std::vector<uint64_t>;

// The index of a shard may be larger than the cache, which would then load all of it for each
// chunk. If it has more than four pages of so many entries, it is kept in these pages.
constexpr uint64_t kPageEntries = 16'384;
constexpr uint64_t kMostPagedEntries = uint64_t{1} << 28;
// Bytes of the entry of such a shard, without the version. An index has 17 or more.
constexpr size_t kSizeOfShard = sizeof(uint64_t);

// In the folder of an array, besides chunks.
constexpr size_t kOtherEntries = 1000;

// The place of `index` in C order.
uint64_t Linear(std::span<const uint64_t> index, std::span<const uint64_t> counts) {
  uint64_t linear = 0;
  for (size_t dim = 0; dim < index.size(); ++dim) linear = linear * counts[dim] + index[dim];
  return linear;
}

// A shard on the way to an inner chunk.
struct Shard {
  Index origin;  // its first element in the array
  Index shape;
  // Where its bytes are; nullopt for a whole value, whose size is not known.
  std::optional<ByteRange> bytes;
  uint64_t slot;  // of the IndexCache, for its index
  // The version of the value, once an index was read from it.
  std::optional<Generation> version = std::nullopt;
};

// The entry of a shard or a page in the IndexCache: the decoded index, then the text of the
// generation in which this was read, and the length of that text.
Bytes WithVersion(const Bytes& index, const Generation& version) {
  const std::string text = version.ToText();
  const auto length = static_cast<uint32_t>(text.size());
  Bytes entry(index.size() + text.size() + sizeof(length));
  std::byte* at = std::copy_n(index.data(), index.size(), entry.data());
  at = std::copy_n(AsBytes(text).data(), text.size(), at);
  std::memcpy(at, &length, sizeof(length));
  return entry;
}

struct VersionedIndex {
  ConstByteSpan index;
  std::optional<Generation> version;
};
VersionedIndex SplitEntry(ConstByteSpan entry) {
  uint32_t length;
  entry = entry.first(entry.size() - sizeof(length));
  std::memcpy(&length, entry.data() + entry.size(), sizeof(length));
  return {entry.first(entry.size() - length), Generation::FromText(AsText(entry.last(length)))};
}

class ZarrArraySource final : public ArraySource,
                              public SourceNotes,
                              public StoredChunks,
                              public EncodedChunks {
 public:
  ZarrArraySource(std::shared_ptr<const Store> store, std::string prefix,
                  std::shared_ptr<const ArrayLayout> layout)
      : store_(WithOtherSeparator(std::move(store), prefix, *layout)),
        table_(dynamic_cast<const ChunkTable*>(store_.get())),
        prefix_(std::move(prefix)),
        layout_(std::move(layout)) {}

  const ArraySpec& spec() const override { return layout_->spec; }

  std::vector<std::string> notes() const override {
    const auto* finding = dynamic_cast<const SeparatorStore*>(store_.get());
    return finding != nullptr ? finding->notes() : std::vector<std::string>();
  }

  const ChunkEncoding* encoding() const override {
    return layout_->encoding ? &*layout_->encoding : nullptr;
  }

  // For sharded arrays a listing can only tell that nothing is stored.
  model::Result<std::optional<std::vector<uint64_t>>> ListChunks(size_t most) const override {
    if (has_exact_keys()) return std::nullopt;
    std::vector<uint64_t> found;
    std::string folder = prefix_.empty() ? prefix_ : prefix_.substr(0, prefix_.size() - 1);
    NDLFS_TRY(const bool is_all, ListBelow(folder, 0, most, found));
    const bool is_known = is_all && (layout_->shards.empty() || found.empty());
    if (!is_known) return std::nullopt;
    std::sort(found.begin(), found.end());
    return found;
  }

  model::Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                                      IndexCache& indexes) const override {
    if (layout_->shards.empty()) {
      return Find(prefix_ + layout_->keys.Key(index), indexes);
    }
    const ChunkGrid& grid = layout_->spec.grid;
    Index begin(grid.rank());
    for (size_t dim = 0; dim < grid.rank(); ++dim) begin[dim] = grid.Begin(dim, index[dim]);
    return LocateInShards(begin, indexes);
  }

  // One chunk of plain elements, that has the rows of the array.
  std::optional<ContiguousRange> contiguous() const override {
    if (!layout_->plain || has_exact_keys()) return std::nullopt;
    const ChunkGrid& grid = layout_->objects;
    uint64_t size = layout_->plain->size();
    for (size_t dim = 0; dim < grid.rank(); ++dim) {
      const uint64_t extent = grid.max_chunk_shape()[dim];
      if (grid.counts()[dim] != 1) return std::nullopt;
      if (dim > 0 && extent != grid.array_shape()[dim]) return std::nullopt;
      size *= extent;  // checked to be a chunk of acceptable size
    }
    return ContiguousRange{store_, prefix_ + layout_->keys.Key(Index(grid.rank(), 0)), 0,
                           *layout_->plain, size};
  }

 private:
  // Adds the numbers of the chunks whose keys are below `folder`. False if these are too many,
  // or if a key may lead to a chunk that the metadata do not have there.
  model::Result<bool> ListBelow(const std::string& folder, size_t depth, size_t most,
                                std::vector<uint64_t>& found) const {
    const size_t rank = layout_->objects.rank();
    NDLFS_TRY(const auto entries, ListSome(*store_, folder, most + kOtherEntries));
    if (entries.size() >= most + kOtherEntries) return false;
    for (const StoreEntry& entry : entries) {
      const std::string key = JoinKey(folder, entry.name);
      if (entry.is_prefix) {
        const bool is_number = entry.name.find_first_not_of("0123456789") == std::string::npos;
        if (!is_number && entry.name != layout_->keys.prefix()) continue;
        if (depth > rank) return false;
        NDLFS_TRY(const bool is_all, ListBelow(key, depth + 1, most, found));
        if (!is_all) return false;
        continue;
      }
      const auto index =
          layout_->keys.Index(std::string_view(key).substr(prefix_.size()), rank);
      if (!index) {
        // Perhaps a chunk under the other separator.
        if (entry.name.find_first_not_of("c0123456789.") == std::string::npos) return false;
        continue;
      }
      if (!IsInGrid(*index)) continue;
      if (found.size() >= most) return false;
      found.push_back(Linear(*index, layout_->objects.counts()));
    }
    return true;
  }

  bool IsInGrid(const Index& index) const {
    for (size_t dim = 0; dim < index.size(); ++dim) {
      if (index[dim] >= layout_->objects.counts()[dim]) return false;
    }
    return true;
  }

  // Whether the keys of chunks are those of the specification, and are not listed.
  bool has_exact_keys() const { return table_ != nullptr && !table_->lists_keys(); }

  // The value at `key`, where it truly is.
  model::Result<ChunkLocation> Find(std::string key, IndexCache& indexes) const {
    ChunkLocation location;
    if (table_ == nullptr) {
      location.store = store_;
      location.key = std::move(key);
      location.pieces = {ByteRange{}};
      return location;
    }
    NDLFS_TRY(auto place, table_->Resolve(key, &indexes), store_->Describe(key));
    if (!place) return ChunkLocation::Absent();
    location.store = std::move(place->store);
    location.key = std::move(place->key);
    location.pieces = {place->range};
    location.if_match = std::move(place->if_match);
    location.inline_bytes = std::move(place->bytes);
    location.must_exist = true;
    location.never_changes = place->never_changes;
    return location;
  }

  // A part of the value at `whole`; nullopt: nothing of it.
  static ChunkLocation Part(const ChunkLocation& whole, const std::optional<ByteRange>& piece,
                            const std::optional<Generation>& version) {
    ChunkLocation location = whole;
    location.pieces.clear();
    if (piece) location.pieces = {*piece};
    if (version) location.if_match = version;
    return location;
  }

  model::Result<ChunkLocation> LocateInShards(const Index& begin, IndexCache& indexes) const {
    Index object(begin.size());
    Shard shard;
    shard.origin.resize(begin.size());
    for (size_t dim = 0; dim < begin.size(); ++dim) {
      object[dim] = layout_->objects.ChunkOf(dim, begin[dim]);
      shard.origin[dim] = layout_->objects.Begin(dim, object[dim]);
    }
    shard.shape = layout_->objects.ChunkShape(object);
    shard.slot = Linear(object, layout_->objects.counts());
    NDLFS_TRY(const ChunkLocation whole,
              FindShard(prefix_ + layout_->keys.Key(object), indexes));
    if (whole.absent()) return whole;
    shard.version = whole.if_match;
    if (whole.pieces[0].length != ByteRange::kToEnd) shard.bytes = whole.pieces[0];

    uint64_t slots = Count(layout_->objects.counts());  // used by the levels so far
    for (const ShardLayout& level : layout_->shards) {
      NDLFS_TRY(const auto piece, FindInShard(whole, level, shard, begin, indexes),
                whole.store->Describe(whole.key));
      if (!piece) return Part(whole, std::nullopt, shard.version);
      slots += Descend(level, begin, *piece, slots, shard);
    }
    return Part(whole, shard.bytes, shard.version);
  }

  // A shard as a value, of all bytes or of a range whose size is known. Any other one is read
  // through the table.
  model::Result<ChunkLocation> FindShard(const std::string& key, IndexCache& indexes) const {
    NDLFS_TRY(ChunkLocation shard, Find(key, indexes));
    if (shard.absent()) return shard;
    const ByteRange& range = shard.pieces[0];
    const bool is_usual =
        !shard.inline_bytes && (range.length != ByteRange::kToEnd || range.offset == 0);
    if (is_usual) return shard;
    shard.inline_bytes = nullptr;
    shard.store = store_;
    shard.key = key;
    shard.pieces = {ByteRange{}};
    return shard;
  }

  // Makes `shard` its inner chunk at `begin`, which lies at `piece` of it.
  // Returns how many slots inner chunks of this level take.
  uint64_t Descend(const ShardLayout& level, const Index& begin, const ByteRange& piece,
                   uint64_t slots, Shard& shard) const {
    const uint64_t start = shard.bytes ? shard.bytes->offset : 0;
    shard.bytes = ByteRange{start + piece.offset, piece.length};
    shard.shape = level.inner_shape();
    // Inner chunks are a regular grid over the whole array.
    Index at(begin.size());
    Index counts(begin.size());
    for (size_t dim = 0; dim < begin.size(); ++dim) {
      at[dim] = begin[dim] / shard.shape[dim];
      shard.origin[dim] = at[dim] * shard.shape[dim];
      counts[dim] = (layout_->spec.shape[dim] - 1) / shard.shape[dim] + 1;
    }
    shard.slot = slots + Linear(at, counts);
    return Count(counts);
  }

  // The piece of `shard` that is its inner chunk at `begin`; nullopt if it is
  // empty, or the shard absent. Sets the version of `shard`.
  model::Result<std::optional<ByteRange>> FindInShard(const ChunkLocation& whole,
                                                      const ShardLayout& level, Shard& shard,
                                                      const Index& begin,
                                                      IndexCache& indexes) const {
    NDLFS_TRY(const Index counts, level.Counts(shard.shape));
    const auto load = [&] { return LoadIndex(whole, level, counts, shard, indexes); };
    NDLFS_TRY(const auto entry, indexes.GetOrLoad(id(), shard.slot, load));
    if (entry->empty()) return std::nullopt;
    auto [index, version] = SplitEntry(entry->span());
    if (shard.version && shard.version != version) {
      return model::Stale("the shard has changed since its index was read");
    }
    shard.version = std::move(version);
    Index local(begin.size());
    for (size_t dim = 0; dim < begin.size(); ++dim) {
      local[dim] = (begin[dim] - shard.origin[dim]) / level.inner_shape()[dim];
    }
    const uint64_t chunk = Linear(local, counts);
    if (index.size() != kSizeOfShard) return ShardLayout::Find(index, chunk);
    uint64_t size;
    std::memcpy(&size, index.data(), sizeof(size));
    return FindInPage(whole, level, shard, counts, size, chunk, indexes);
  }

  // The same by a page of the index of a shard of `size` bytes, all of which was checked when
  // it had the version of `shard`.
  model::Result<std::optional<ByteRange>> FindInPage(const ChunkLocation& whole,
                                                     const ShardLayout& level,
                                                     const Shard& shard, const Index& counts,
                                                     uint64_t size, uint64_t chunk,
                                                     IndexCache& indexes) const {
    const uint64_t first = chunk / kPageEntries * kPageEntries;
    const uint64_t count = std::min(kPageEntries, Count(counts) - first);
    const auto load = [&]() -> model::Result<Bytes> {
      NDLFS_TRY(ByteRange range, level.EntriesRange(counts, size, first, count));
      if (shard.bytes) range.offset += shard.bytes->offset;
      NDLFS_TRY(const auto value, whole.store->Get(whole.key, range.length,
                                                   {.range = range,
                                                    .if_match = shard.version,
                                                    .never_changes = whole.never_changes}));
      if (!value || value->bytes.size() != range.length) {
        return model::Stale("the shard has changed since its index was read");
      }
      NDLFS_TRY(const Bytes page, level.DecodeEntries(value->bytes.span(), counts, size));
      return WithVersion(page, *shard.version);
    };
    // Slots of indexes are counted from 0, those of pages from the other end.
    const uint64_t slot =
        shard.slot * (kMostPagedEntries / kPageEntries) + first / kPageEntries;
    NDLFS_TRY(const auto entry, indexes.GetOrLoad(id(), ~slot, load));
    const auto [page, version] = SplitEntry(entry->span());
    if (version != shard.version) {
      return model::Stale("the shard has changed since its index was read");
    }
    return ShardLayout::Find(page, chunk - first);
  }

  // Whether the index of `shard` shall be kept in pages.
  static bool IsPaged(const ShardLayout& level, const Index& counts, const Shard& shard) {
    constexpr uint64_t kMostSlots = uint64_t{1} << 44;  // so that numbers of pages are unique
    const uint64_t entries = Count(counts);
    return level.has_plain_index() && entries > 4 * kPageEntries &&
           entries <= kMostPagedEntries && shard.slot < kMostSlots;
  }

  // The index of a shard, as the cache keeps it: of one that is kept in pages, the size of the
  // shard alone. No bytes for one that is absent.
  static model::Result<Bytes> LoadIndex(const ChunkLocation& whole, const ShardLayout& level,
                                        const Index& counts, const Shard& shard,
                                        IndexCache& indexes) {
    ReadOptions options = level.IndexOptions(counts);
    if (shard.bytes) {
      NDLFS_TRY(const ByteRange range, level.IndexRange(counts, shard.bytes->length));
      options = {.range = {shard.bytes->offset + range.offset, range.length}};
    }
    options.if_match = shard.version;
    options.never_changes = whole.never_changes;
    const Store& store = *whole.store;
    const auto value = store.Get(whole.key, level.EncodedIndexSize(counts), options);
    if (!value) {
      // The shard cannot be read. Watches it by its facts, so that a repair is noticed.
      const auto info = store.Stat(whole.key);
      if (info) NDLFS_RETURN_IF_ERROR(DidRead(whole, *info, indexes));
      return model::Propagate(value.error());
    }
    if (!*value && whole.must_exist) return MissingValue({whole.store, whole.key});
    const auto found = *value ? std::optional((*value)->info) : std::nullopt;
    NDLFS_RETURN_IF_ERROR(DidRead(whole, found, indexes));
    if (!*value && shard.version) return model::Stale("the shard is gone");
    if (!*value) return Bytes();
    const uint64_t size = shard.bytes ? shard.bytes->length : (*value)->info.size;
    NDLFS_TRY(const ByteRange range, level.IndexRange(counts, size));
    if ((*value)->bytes.size() != range.length)
      return model::Corrupt("the shard was cut short");
    NDLFS_TRY(Bytes index, level.DecodeIndex((*value)->bytes.span(), counts, size));
    const bool is_paged = IsPaged(level, counts, shard);
    if (is_paged && !ShardLayout::HasOverlaps(index.span())) {
      index = Bytes(kSizeOfShard);
      std::memcpy(index.data(), &size, kSizeOfShard);
    }
    return WithVersion(index, (*value)->info.generation);
  }

  static model::Result<void> DidRead(const ChunkLocation& whole,
                                     const std::optional<ValueInfo>& found,
                                     IndexCache& indexes) {
    if (whole.never_changes) return {};
    return indexes.DidRead(whole.store, whole.key, found);
  }

  static uint64_t Count(const Index& counts) { return CheckedProduct(counts).value_or(0); }

  const std::shared_ptr<const Store> store_;
  const ChunkTable* const table_;  // what `store_` is; null: its values are there themselves
  const std::string prefix_;
  const std::shared_ptr<const ArrayLayout> layout_;
};

}  // namespace

std::shared_ptr<const ArraySource> MakeZarrArraySource(
    std::shared_ptr<const Store> store, std::string prefix,
    std::shared_ptr<const ArrayLayout> layout) {
  return std::make_shared<const ZarrArraySource>(std::move(store), std::move(prefix),
                                                 std::move(layout));
}

}  // namespace ndlfs::backends::zarr
