// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/chunk_index.h"

#include <algorithm>
#include <bit>
#include <map>

#include "backends/base/checked.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;
using Index = std::vector<uint64_t>;

constexpr size_t kSumBytes = 4;

// Finds chunks by their indexes, one number per dimension.
class Finder {
 public:
  Finder(const Metadata& file, const ChunkLayout& layout) : file_(file), layout_(layout) {}
  virtual ~Finder() = default;
  virtual Result<ChunkRecord> Find(const Index& index) = 0;

 protected:
  // Without `bytes`: those of a chunk that went through no filter.
  Result<ChunkRecord> RecordAt(uint64_t address, std::optional<uint64_t> bytes = {},
                               uint64_t mask = 0) const {
    if (address == kNowhere) return ChunkRecord();
    const auto offset = CheckedAdd(file_.base(), address);
    if (!offset) return model::Corrupt("a chunk beyond any file");
    return ChunkRecord{*offset, bytes.value_or(layout_.chunk_bytes), mask};
  }

  const Metadata& file_;
  const ChunkLayout& layout_;
};

// Chunks that are numbered one after the other.
class LinearFinder : public Finder {
 public:
  LinearFinder(const Metadata& file, const ChunkLayout& layout, std::vector<uint64_t> strides)
      : Finder(file, layout), strides_(std::move(strides)) {}

 protected:
  Result<uint64_t> NumberOf(const Index& index) const {
    std::optional<uint64_t> number = 0;
    for (size_t d = 0; number && d < index.size(); ++d) {
      const auto before = CheckedMultiply(index[d], strides_[d]);
      number = before ? CheckedAdd(*number, *before) : std::nullopt;
    }
    if (!number || *number == UINT64_MAX) return model::Limit("too many chunks");
    return *number;
  }

 private:
  const std::vector<uint64_t> strides_;
};

// VII.A: a tree of version 1, by the offsets of chunks in elements.
class Tree1Finder final : public Finder {
 public:
  using Finder::Finder;

  Result<ChunkRecord> Find(const Index& index) override {
    uint64_t address = layout_.address;
    for (uint64_t level = UINT64_MAX;;) {
      if (address == kNowhere) return ChunkRecord();
      NDLFS_TRY(const Tree1Node* node, NodeAt(address));
      if (node->level >= level) return model::Corrupt("the index of chunks is a circle");
      level = node->level;
      uint64_t low = 0;
      uint64_t high = node->count;
      while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (Compare(node->key(middle), index) <= 0) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      if (low == 0) return ChunkRecord();
      address = node->child(low - 1);
      if (level > 0) continue;
      Cursor key(node->key(low - 1));
      if (Compare(node->key(low - 1), index) != 0) return ChunkRecord();
      const uint64_t bytes = key.Number(4);
      return RecordAt(address, bytes, key.Number(4));
    }
  }

 private:
  static constexpr size_t kKeptNodes = 64;

  int Compare(ConstByteSpan key, const Index& index) const {
    Cursor in(key);
    in.Skip(8);
    for (size_t d = 0; d < index.size(); ++d) {
      const uint64_t offset = in.Number(8);
      const uint64_t wanted = index[d] * layout_.chunk[d];
      if (offset != wanted) return offset < wanted ? -1 : 1;
    }
    return 0;
  }

  Result<const Tree1Node*> NodeAt(uint64_t address) {
    const auto found = nodes_.find(address);
    if (found != nodes_.end()) return &found->second;
    if (nodes_.size() >= kKeptNodes) nodes_.clear();
    const uint64_t key_bytes = 8 + 8 * (layout_.chunk.size() + 1);
    NDLFS_TRY(auto node, Tree1Node::Read(file_, address, Tree1Node::Type::kChunks, key_bytes));
    return &nodes_.emplace(address, std::move(node)).first->second;
  }

  std::map<uint64_t, Tree1Node> nodes_;
};

// VII.B and C: one chunk, or all of them one after the other.
class PlainFinder final : public LinearFinder {
 public:
  using LinearFinder::LinearFinder;

  Result<ChunkRecord> Find(const Index& index) override {
    if (layout_.address == kNowhere) return ChunkRecord();
    if (layout_.index == ChunkLayout::Index::kSingle) {
      if (std::ranges::count(index, 0) != static_cast<ptrdiff_t>(index.size())) {
        return ChunkRecord();
      }
      if (!layout_.is_filtered) return RecordAt(layout_.address);
      return RecordAt(layout_.address, layout_.single.bytes, layout_.single.filter_mask);
    }
    NDLFS_TRY(const uint64_t linear, NumberOf(index));
    const auto begin = CheckedMultiply(linear, layout_.chunk_bytes);
    const auto address = begin ? CheckedAdd(layout_.address, *begin) : std::nullopt;
    if (!address) return model::Corrupt("a chunk beyond any file");
    return RecordAt(*address);
  }
};

// What the fixed and the extensible array share: elements in blocks and pages.
class ArrayFinder : public LinearFinder {
 public:
  using LinearFinder::LinearFinder;

  Result<ChunkRecord> Find(const Index& index) override {
    if (layout_.address == kNowhere) return ChunkRecord();
    NDLFS_TRY(const uint64_t linear, NumberOf(index));
    if (element_bytes_ == 0) NDLFS_RETURN_IF_ERROR(ReadHeader());
    return FindElement(linear);
  }

 protected:
  virtual Result<void> ReadHeader() = 0;
  virtual Result<ChunkRecord> FindElement(uint64_t i) = 0;

  Result<void> SetElementBytes(uint64_t client, uint64_t bytes) {
    const uint64_t least = file_.offset_bytes() + (client == 1 ? 1 + 4 : 0);
    if (client > 1 || bytes < least || (client == 0 && bytes != least) || bytes > least + 8) {
      return model::Corrupt("an index of chunks with elements of {} bytes", bytes);
    }
    element_bytes_ = bytes;
    return {};
  }

  // The block at an address; the last one is kept. The prefix is what all have in front.
  Result<const ByteVector*> BlockAt(uint64_t address, uint64_t bytes,
                                    std::string_view signature) {
    if (address != kept_address_ || kept_.size() != bytes) {
      kept_address_ = kNowhere;
      NDLFS_TRY(kept_, file_.ReadSigned(address, bytes, signature));
      kept_address_ = address;
    }
    return &kept_;
  }

  // Element `i` of those that begin at byte `at` of a block.
  Result<ChunkRecord> ElementOf(const ByteVector& block, uint64_t at, uint64_t i) const {
    const auto begin = CheckedMultiply(i, element_bytes_);
    const auto end = begin ? CheckedAdd(at + element_bytes_, *begin) : std::nullopt;
    if (!end || *end > block.size()) return model::Corrupt("a chunk beyond its index");
    Cursor in(ConstByteSpan(block).subspan(at + *begin, element_bytes_));
    const uint64_t o = file_.offset_bytes();
    const uint64_t address = in.Address(o);
    if (element_bytes_ == o) return RecordAt(address);
    const uint64_t bytes = in.Number(element_bytes_ - o - 4);
    return RecordAt(address, bytes, in.Number(4));
  }

  // Element `i` of the pages behind the first `front` bytes at `address`, of 2^bits elements
  // each; the last one of `total` may be short.
  Result<ChunkRecord> ElementOfPages(uint64_t address, uint64_t front, uint64_t total,
                                     uint64_t bits, uint64_t i) {
    const uint64_t page = i >> bits;
    const uint64_t first = page << bits;
    const uint64_t count = std::min(uint64_t{1} << bits, total - first);
    const auto skipped = CheckedMultiply(page, (element_bytes_ << bits) + kSumBytes);
    const auto bytes = CheckedMultiply(count, element_bytes_);
    const auto inside = skipped ? CheckedAdd(front, *skipped) : std::nullopt;
    const auto at = inside ? CheckedAdd(address, *inside) : std::nullopt;
    if (!at || !bytes) return model::Corrupt("a page beyond any file");
    NDLFS_TRY(const ByteVector* block, BlockAt(*at, *bytes + kSumBytes, ""));
    return ElementOf(*block, 0, i - first);
  }

  static bool IsSet(ConstByteSpan bitmap, uint64_t bit) {
    return bit / 8 < bitmap.size() &&
           (std::to_integer<unsigned>(bitmap[bit / 8]) >> (7 - bit % 8) & 1) != 0;
  }

  uint64_t element_bytes_ = 0;

 private:
  ByteVector kept_;
  uint64_t kept_address_ = kNowhere;
};

// VII.D
class FixedArrayFinder final : public ArrayFinder {
 public:
  using ArrayFinder::ArrayFinder;

 protected:
  Result<void> ReadHeader() override {
    constexpr uint64_t kMaxPageBits = 24;
    const uint64_t o = file_.offset_bytes();
    const uint64_t bytes = 4 + 4 + file_.length_bytes() + o + kSumBytes;
    NDLFS_TRY(const auto head, file_.ReadSigned(layout_.address, bytes, "FAHD"));
    Cursor in(head);
    in.Skip(5);
    const uint64_t client = in.Number(1);
    NDLFS_RETURN_IF_ERROR(SetElementBytes(client, in.Number(1)));
    page_bits_ = in.Number(1);
    total_ = in.Number(file_.length_bytes());
    block_ = in.Address(o);
    if (page_bits_ > kMaxPageBits) return model::Corrupt("pages of 2^{} chunks", page_bits_);
    prefix_ = 4 + 1 + 1 + o;
    const bool is_paged = total_ > uint64_t{1} << page_bits_;
    if (!is_paged || block_ == kNowhere) return {};
    const uint64_t pages = ((total_ - 1) >> page_bits_) + 1;
    NDLFS_TRY(const auto front,
              file_.ReadSigned(block_, prefix_ + (pages - 1) / 8 + 1 + kSumBytes, "FADB"));
    bitmap_.assign(front.begin() + static_cast<ptrdiff_t>(prefix_), front.end() - kSumBytes);
    return {};
  }

  Result<ChunkRecord> FindElement(uint64_t i) override {
    if (block_ == kNowhere) return ChunkRecord();
    if (i >= total_) return model::Corrupt("an index of {} chunks", total_);
    if (bitmap_.empty()) {
      NDLFS_TRY(const ByteVector* block,
                BlockAt(block_, prefix_ + total_ * element_bytes_ + kSumBytes, "FADB"));
      return ElementOf(*block, prefix_, i);
    }
    if (!IsSet(bitmap_, i >> page_bits_)) return ChunkRecord();
    return ElementOfPages(block_, prefix_ + bitmap_.size() + kSumBytes, total_, page_bits_, i);
  }

 private:
  uint64_t page_bits_ = 0;
  uint64_t total_ = 0;
  uint64_t block_ = kNowhere;
  uint64_t prefix_ = 0;
  ByteVector bitmap_;  // which pages were written; empty if there are none
};

// VII.E: some elements in the index block; then blocks that grow, in super blocks that grow.
class ExtensibleArrayFinder final : public ArrayFinder {
 public:
  using ArrayFinder::ArrayFinder;

 protected:
  Result<void> ReadHeader() override {
    const uint64_t o = file_.offset_bytes();
    const uint64_t bytes = 4 + 8 + 6 * file_.length_bytes() + o + kSumBytes;
    NDLFS_TRY(const auto head, file_.ReadSigned(layout_.address, bytes, "EAHD"));
    Cursor in(head);
    in.Skip(5);
    const uint64_t client = in.Number(1);
    NDLFS_RETURN_IF_ERROR(SetElementBytes(client, in.Number(1)));
    const uint64_t max_bits = in.Number(1);
    direct_ = in.Number(1);
    block_elements_ = in.Number(1);
    const uint64_t pointers = in.Number(1);
    page_bits_ = in.Number(1);
    in.Skip(6 * file_.length_bytes());
    const uint64_t index_block = in.Address(o);
    if (!std::has_single_bit(block_elements_) || !std::has_single_bit(pointers) ||
        max_bits > 64 || page_bits_ > 24 || uint64_t{1} << page_bits_ == 0 ||
        max_bits < static_cast<uint64_t>(std::bit_width(block_elements_))) {
      return model::Corrupt("an index of chunks of impossible sizes");
    }
    near_blocks_ = 2 * (pointers - 1);
    near_supers_ = 2 * (std::bit_width(pointers) - 1);
    const uint64_t supers = 2 + max_bits - std::bit_width(block_elements_);
    offset_bytes_ = (max_bits + 7) / 8;
    prefix_ = 4 + 1 + 1 + o;
    supers_ = supers > near_supers_ ? supers - near_supers_ : 0;
    if (index_block == kNowhere) return {};
    const uint64_t index_bytes =
        prefix_ + direct_ * element_bytes_ + (near_blocks_ + supers_) * o + kSumBytes;
    NDLFS_TRY(index_, file_.ReadSigned(index_block, index_bytes, "EAIB"));
    return {};
  }

  Result<ChunkRecord> FindElement(uint64_t i) override {
    if (index_.empty()) return ChunkRecord();
    if (i < direct_) return ElementOf(index_, prefix_, i);
    const uint64_t o = file_.offset_bytes();
    const uint64_t rest = i - direct_;
    const uint64_t super = std::bit_width(rest / block_elements_ + 1) - 1;
    const uint64_t blocks = uint64_t{1} << super / 2;
    const uint64_t elements = block_elements_ << (super + 1) / 2;
    const uint64_t inside = rest - block_elements_ * ((uint64_t{1} << super) - 1);
    const uint64_t block = inside / elements;
    const uint64_t addresses = prefix_ + direct_ * element_bytes_;
    if (super < near_supers_) {
      // Those of the super blocks before it: 1, 1, 2, 2, 4, 4 and so on.
      const uint64_t before = 2 * ((uint64_t{1} << super / 2) - 1) + (super % 2) * blocks;
      const uint64_t address = AddressIn(index_, addresses + (before + block) * o);
      return ElementOfBlock(address, elements, inside % elements, std::nullopt);
    }
    if (super - near_supers_ >= supers_) return model::Corrupt("a chunk beyond its index");
    const uint64_t super_address =
        AddressIn(index_, addresses + (near_blocks_ + super - near_supers_) * o);
    if (super_address == kNowhere) return ChunkRecord();
    const uint64_t pages = elements >> page_bits_;
    const bool is_paged = elements > uint64_t{1} << page_bits_;
    constexpr uint64_t kMostBlocks = uint64_t{1} << 24;  // and bytes for each of them
    if (blocks > kMostBlocks || pages / 8 > kMostBlocks) return model::Limit("too many chunks");
    const uint64_t bitmap_bytes = is_paged ? (pages + 7) / 8 * blocks : 0;
    const uint64_t front = prefix_ + offset_bytes_;
    if (super_address != super_address_) {
      super_address_ = kNowhere;
      NDLFS_TRY(super_,
                file_.ReadSigned(super_address, front + bitmap_bytes + blocks * o + kSumBytes,
                                 "EASB"));
      super_address_ = super_address;
    }
    const uint64_t address = AddressIn(super_, front + bitmap_bytes + block * o);
    std::optional<bool> has_page;
    if (is_paged) {
      const uint64_t page = (inside % elements) >> page_bits_;
      has_page =
          IsSet(ConstByteSpan(super_).subspan(front, bitmap_bytes), block * pages + page);
    }
    return ElementOfBlock(address, elements, inside % elements, has_page);
  }

 private:
  uint64_t AddressIn(const ByteVector& block, uint64_t at) const {
    if (at > block.size()) return kNowhere;
    Cursor in(ConstByteSpan(block).subspan(at));
    const uint64_t address = in.Address(file_.offset_bytes());
    return in.ok() ? address : kNowhere;
  }

  // `has_page`: whether the page of the element was written, if the block has pages.
  Result<ChunkRecord> ElementOfBlock(uint64_t address, uint64_t elements, uint64_t i,
                                     std::optional<bool> has_page) {
    if (address == kNowhere || !has_page.value_or(true)) return ChunkRecord();
    const uint64_t front = prefix_ + offset_bytes_;
    if (has_page) return ElementOfPages(address, front + kSumBytes, elements, page_bits_, i);
    NDLFS_TRY(const ByteVector* block,
              BlockAt(address, front + elements * element_bytes_ + kSumBytes, "EADB"));
    return ElementOf(*block, front, i);
  }

  uint64_t direct_ = 0;          // elements in the index block
  uint64_t block_elements_ = 0;  // of the smallest block
  uint64_t page_bits_ = 0;
  uint64_t near_blocks_ = 0;  // addresses of blocks in the index block
  uint64_t near_supers_ = 0;  // super blocks whose blocks these are
  uint64_t supers_ = 0;       // addresses of super blocks in it
  uint64_t offset_bytes_ = 0;
  uint64_t prefix_ = 0;
  ByteVector index_;
  ByteVector super_;
  uint64_t super_address_ = kNowhere;
};

// VII.F: a tree of version 2, by the indexes of chunks.
class Tree2Finder final : public Finder {
 public:
  using Finder::Finder;

  Result<ChunkRecord> Find(const Index& index) override {
    constexpr uint8_t kFiltered = 11;
    if (layout_.address == kNowhere) return ChunkRecord();
    if (!tree_) {
      NDLFS_TRY(tree_, Tree2::Open(file_, layout_.address));
    }
    const uint64_t o = file_.offset_bytes();
    const size_t key_bytes = 8 * index.size();
    const bool is_filtered = tree_->type() == kFiltered;
    const size_t least = o + key_bytes + (is_filtered ? 1 + 4 : 0);
    if (tree_->record_bytes() < least || tree_->record_bytes() > least + 7) {
      return model::Corrupt("an index of chunks with records of {} bytes",
                            tree_->record_bytes());
    }
    const auto compare = [&](ConstByteSpan record) -> Result<int> {
      Cursor in(record.last(key_bytes));
      for (const uint64_t wanted : index) {
        const uint64_t at = in.Number(8);
        if (wanted != at) return wanted < at ? -1 : 1;
      }
      return 0;
    };
    NDLFS_TRY(const auto record, tree_->Find(file_, compare));
    if (!record) return ChunkRecord();
    Cursor in(*record);
    const uint64_t address = in.Address(o);
    if (!is_filtered) return RecordAt(address);
    const uint64_t bytes = in.Number(record->size() - o - key_bytes - 4);
    return RecordAt(address, bytes, in.Number(4));
  }

 private:
  std::optional<Tree2> tree_;
};

// How many chunks each step along a dimension goes on, in the order of `shape`; the dimension
// `first` counts as the first one. Its own extent does not matter.
Result<std::vector<uint64_t>> StridesOf(const ChunkLayout& layout, size_t first) {
  const size_t rank = layout.chunk.size();
  std::vector<uint64_t> strides(rank);
  uint64_t stride = 1;
  const auto pass = [&](size_t d) {
    strides[d] = stride;
    const uint64_t extent = layout.max_shape[d];
    const uint64_t count = extent / layout.chunk[d] + (extent % layout.chunk[d] != 0);
    stride = CheckedMultiply(stride, count).value_or(UINT64_MAX);
  };
  for (size_t d = rank; d-- > 0;) {
    if (d != first) pass(d);
  }
  if (first < rank) strides[first] = stride;
  if (stride == UINT64_MAX) return model::Limit("too many chunks");
  return strides;
}

Result<std::unique_ptr<Finder>> MakeFinder(const Metadata& file, const ChunkLayout& layout) {
  using Kind = ChunkLayout::Index;
  switch (layout.index) {
    case Kind::kTree1:
      return std::make_unique<Tree1Finder>(file, layout);
    case Kind::kTree2:
      return std::make_unique<Tree2Finder>(file, layout);
    case Kind::kExtensibleArray: {
      const auto unlimited = std::ranges::find(layout.max_shape, kNowhere);
      const auto first = static_cast<size_t>(unlimited - layout.max_shape.begin());
      NDLFS_TRY(auto strides, StridesOf(layout, first == layout.max_shape.size() ? 0 : first));
      return std::make_unique<ExtensibleArrayFinder>(file, layout, std::move(strides));
    }
    default:
      break;
  }
  if (layout.index == Kind::kSingle)
    return std::make_unique<PlainFinder>(file, layout, Index());
  NDLFS_TRY(auto strides, StridesOf(layout, 0));
  if (layout.index == Kind::kImplicit) {
    return std::make_unique<PlainFinder>(file, layout, std::move(strides));
  }
  return std::make_unique<FixedArrayFinder>(file, layout, std::move(strides));
}

}  // namespace

Result<std::vector<ChunkRecord>> ChunkIndex::Locate(uint64_t first, uint64_t count) const {
  const size_t rank = layout_.chunk.size();
  std::vector<uint64_t> counts;
  for (size_t d = 0; d < rank; ++d) {
    const uint64_t extent = layout_.shape[d];
    counts.push_back(extent / layout_.chunk[d] + (extent % layout_.chunk[d] != 0));
  }
  const auto total = CheckedProduct(counts);
  if (!total) return model::Limit("too many chunks");
  NDLFS_TRY(const auto finder, MakeFinder(*file_, layout_));
  std::vector<ChunkRecord> records;
  const uint64_t end = first + std::min(count, *total - std::min(first, *total));
  std::vector<uint64_t> index(rank);
  for (uint64_t i = first; i < end; ++i) {
    uint64_t rest = i;
    for (size_t d = rank; d-- > 0; rest /= counts[d]) index[d] = rest % counts[d];
    NDLFS_TRY(const auto record, finder->Find(index), "cannot find a chunk");
    records.push_back(record);
  }
  return records;
}

}  // namespace ndlfs::backends::hdf5
