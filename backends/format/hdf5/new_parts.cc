// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/new_parts.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "backends/format/hdf5/metadata.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

// Appends a B-tree of version 2 (III.A.2) with these records, which are in its order: a leaf,
// or leaves below one node.
Result<uint64_t> AppendTree2(ByteWriter& file, uint64_t type, size_t record_bytes,
                             ConstByteSpan records) {
  constexpr size_t kOverhead = 10;
  constexpr size_t kLeastNode = 512;
  constexpr size_t kMostNode = size_t{64} << 10;
  constexpr size_t kPointerBytes = 8 + 2;
  const size_t node_bytes = std::clamp(records.size() + kOverhead, kLeastNode, kMostNode);
  const size_t most = (node_bytes - kOverhead) / record_bytes;
  const size_t most_inner =
      (node_bytes - kOverhead - kPointerBytes) / (record_bytes + kPointerBytes);
  const size_t count = records.size() / record_bytes;
  // A record stands between two leaves.
  const size_t leaves = count / (most + 1) + 1;
  if (leaves - 1 > most_inner) return model::Limit("{} names in one place", count);
  const auto append_node = [&](std::string_view signature, ConstByteSpan content) {
    const uint64_t begin = file.size();
    file.Text(signature).Number(0, 1).Number(type, 1).Append(content).Sum(begin);
    file.Zeros(begin + node_bytes - file.size());
    return begin;
  };
  ByteWriter between;
  ByteWriter pointers;
  uint64_t root = 0;
  for (size_t leaf = 0, next = 0; leaf < leaves; ++leaf) {
    const size_t in_leaf = (count - (leaves - 1) + leaf) / leaves;
    const auto take = [&](size_t n) {
      return records.subspan(std::exchange(next, next + n) * record_bytes, n * record_bytes);
    };
    root = append_node("BTLF", take(in_leaf));
    pointers.Address(root).Number(in_leaf, 2);
    if (leaf + 1 < leaves) between.Append(take(1));
  }
  if (leaves > 1) root = append_node("BTIN", between.Append(pointers.bytes()).bytes());
  const uint64_t address = file.size();
  constexpr uint64_t kSplitPercent = 98;
  constexpr uint64_t kMergePercent = 40;
  file.Text("BTHD").Number(0, 1).Number(type, 1).Number(node_bytes, 4).Number(record_bytes, 2);
  file.Number(leaves > 1 ? 1 : 0, 2).Number(kSplitPercent, 1).Number(kMergePercent, 1);
  file.Address(root).Number(leaves > 1 ? leaves - 1 : count, 2).Number(count, 8).Sum(address);
  return address;
}

// A fractal heap (III.G) of blocks of one size, which an indirect block lists if there are
// several. Large objects are huge ones, which have a place of their own.
class HeapWriter {
 public:
  HeapWriter(ByteWriter& file, const std::vector<DenseEntry>& entries, size_t id_bytes)
      : file_(file), entries_(entries), id_bytes_(id_bytes), address_(file.size()) {}

  Result<uint64_t> Append() {
    file_.Zeros(kHeaderBytes);
    Distribute();
    const uint64_t root = AppendBlocks();
    NDLFS_RETURN_IF_ERROR(AppendHuge());
    const uint64_t width = std::max<uint64_t>(std::bit_ceil(blocks_), 4);
    const uint64_t allocated = blocks_ * block_bytes_;
    const uint64_t space = blocks_ == 1 ? block_bytes_ : width * block_bytes_;
    ByteWriter header;
    header.Text("FRHP").Number(0, 1).Number(id_bytes_, 2).Number(0, 2).Number(0, 1);
    header.Number(kMostManaged, 4).Number(huge_, 8).Address(huge_tree_);
    header.Number(allocated - used_, 8).Address(kNowhere);
    header.Number(space, 8).Number(allocated, 8).Number(allocated, 8);
    header.Number(entries_.size() - huge_, 8).Number(huge_bytes_, 8).Number(huge_, 8).Zeros(16);
    header.Number(width, 2).Number(block_bytes_, 8).Number(kMostBlock, 8);
    header.Number(8 * kOffsetBytes, 2).Number(1, 2).Address(root);
    header.Number(blocks_ == 1 ? 0 : 1, 2).Sum(0);
    file_.Set(address_, header.bytes());
    return address_;
  }

  // Of each entry.
  const std::vector<std::vector<std::byte>>& ids() const { return ids_; }

 private:
  static constexpr size_t kHeaderBytes = 146;
  static constexpr uint64_t kMostManaged = 4096;
  static constexpr uint64_t kMostBlock = uint64_t{64} << 10;
  static constexpr uint64_t kOffsetBytes = 4;
  static constexpr uint64_t kHeadBytes = 4 + 1 + 8 + kOffsetBytes;  // of a block

  static bool IsHuge(const DenseEntry& entry) { return entry.message.size() > kMostManaged; }

  // Gives each entry its identifier. Offsets count the heads of blocks.
  void Distribute() {
    uint64_t end = kHeadBytes;  // in the last block
    used_ = kHeadBytes;
    for (const DenseEntry& entry : entries_) {
      ByteWriter id;
      const uint64_t bytes = entry.message.size();
      if (IsHuge(entry)) {
        constexpr uint64_t kHuge = 0x10;
        id.Number(kHuge, 1).Number(++huge_, id_bytes_ - 1);
      } else {
        if (end + bytes > kMostBlock) {
          ++blocks_;
          end = kHeadBytes;
          used_ += kHeadBytes;
        }
        id.Number(0, 1).Number((blocks_ - 1) * kMostBlock + end, kOffsetBytes);
        id.Number(bytes, 2).Zeros(id_bytes_ - id.size());
        end += bytes;
        used_ += bytes;
      }
      ids_.push_back(id.Take());
    }
    constexpr uint64_t kLeastBlock = 512;
    block_bytes_ = blocks_ > 1 ? kMostBlock : std::bit_ceil(std::max(end, kLeastBlock));
  }

  // Gives the address of the root.
  uint64_t AppendBlocks() {
    std::vector<uint64_t> addresses;
    const auto fill_up = [&] {
      if (!addresses.empty()) file_.Zeros(addresses.back() + block_bytes_ - file_.size());
    };
    const auto begin_block = [&] {
      fill_up();
      addresses.push_back(file_.size());
      file_.Text("FHDB").Number(0, 1).Address(address_);
      file_.Number((addresses.size() - 1) * block_bytes_, kOffsetBytes);
    };
    begin_block();
    for (const DenseEntry& entry : entries_) {
      if (IsHuge(entry)) continue;
      if (file_.size() + entry.message.size() > addresses.back() + block_bytes_) begin_block();
      file_.Append(entry.message);
    }
    fill_up();
    if (blocks_ == 1) return addresses.front();
    const uint64_t root = file_.size();
    file_.Text("FHIB").Number(0, 1).Address(address_).Number(0, kOffsetBytes);
    addresses.resize(std::max<uint64_t>(std::bit_ceil(blocks_), 4), kNowhere);
    for (const uint64_t address : addresses) file_.Address(address);
    file_.Sum(root);
    return root;
  }

  Result<void> AppendHuge() {
    constexpr uint64_t kHugeById = 1;
    ByteWriter records;
    uint64_t number = 0;
    for (const DenseEntry& entry : entries_) {
      if (!IsHuge(entry)) continue;
      huge_bytes_ += entry.message.size();
      records.Address(file_.size()).Number(entry.message.size(), 8).Number(++number, 8);
      file_.Append(entry.message);
    }
    if (number == 0) return {};
    NDLFS_TRY(huge_tree_, AppendTree2(file_, kHugeById, 24, records.bytes()));
    return {};
  }

  ByteWriter& file_;
  const std::vector<DenseEntry>& entries_;
  const size_t id_bytes_;
  const uint64_t address_;
  std::vector<std::vector<std::byte>> ids_;
  uint64_t blocks_ = 1;
  uint64_t block_bytes_ = 0;
  uint64_t used_ = 0;
  uint64_t huge_ = 0;
  uint64_t huge_bytes_ = 0;
  uint64_t huge_tree_ = kNowhere;
};

// The numbers of the entries in the order of trees of names: by hash, then by name.
std::vector<std::pair<uint32_t, size_t>> InTreeOrder(const std::vector<DenseEntry>& entries) {
  std::vector<std::pair<uint32_t, size_t>> order;
  for (size_t i = 0; i < entries.size(); ++i) {
    order.emplace_back(HashOf(AsBytes(entries[i].name)), i);
  }
  std::ranges::sort(order, [&](const auto& a, const auto& b) {
    return std::pair(a.first, entries[a.second].name) <
           std::pair(b.first, entries[b.second].name);
  });
  return order;
}

}  // namespace

ByteWriter& ByteWriter::Number(uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) {
    bytes_.push_back(static_cast<std::byte>(i < 8 ? value >> 8 * i : 0));
  }
  return *this;
}

ByteWriter& ByteWriter::Append(ConstByteSpan bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

ByteWriter& ByteWriter::Zeros(size_t count) {
  bytes_.resize(bytes_.size() + count);
  return *this;
}

ByteWriter& ByteWriter::Align(size_t alignment) {
  return Zeros((alignment - size() % alignment) % alignment);
}

ByteWriter& ByteWriter::Sum(size_t begin) {
  return Number(HashOf(ConstByteSpan(bytes_).subspan(begin)), 4);
}

void ByteWriter::Set(size_t offset, ConstByteSpan bytes) {
  std::ranges::copy(bytes, bytes_.begin() + static_cast<ptrdiff_t>(offset));
}

Result<DensePlace> AppendDenseLinks(ByteWriter& file, const std::vector<DenseEntry>& links) {
  constexpr size_t kIdBytes = 7;
  constexpr uint64_t kByName = 5;
  HeapWriter heap(file, links, kIdBytes);
  NDLFS_TRY(const uint64_t address, heap.Append());
  ByteWriter records;
  for (const auto& [hash, i] : InTreeOrder(links))
    records.Number(hash, 4).Append(heap.ids()[i]);
  NDLFS_TRY(const uint64_t tree, AppendTree2(file, kByName, kIdBytes + 4, records.bytes()));
  return DensePlace{address, tree};
}

Result<DensePlace> AppendDenseAttributes(ByteWriter& file,
                                         const std::vector<DenseEntry>& attributes) {
  constexpr size_t kIdBytes = 8;
  constexpr uint64_t kByName = 8;
  HeapWriter heap(file, attributes, kIdBytes);
  NDLFS_TRY(const uint64_t address, heap.Append());
  ByteWriter records;
  for (const auto& [hash, i] : InTreeOrder(attributes)) {
    records.Append(heap.ids()[i]).Number(0, 1).Number(i, 4).Number(hash, 4);
  }
  NDLFS_TRY(const uint64_t tree, AppendTree2(file, kByName, kIdBytes + 9, records.bytes()));
  return DensePlace{address, tree};
}

// A node of version 1 (III.A.1), with room for 64 children.
void AppendChunkTree(ByteWriter& file, uint64_t address, const std::vector<uint64_t>& chunk,
                     uint64_t element_bytes) {
  constexpr uint64_t kOfChunks = 1;
  constexpr size_t kChildren = 64;
  const size_t key_bytes = 8 + 8 * (chunk.size() + 1);
  const size_t end = file.size() + 24 + kChildren * (key_bytes + 8) + key_bytes;
  file.Text("TREE").Number(kOfChunks, 1).Number(0, 1).Number(1, 2);
  file.Address(kNowhere).Address(kNowhere);
  uint64_t bytes = element_bytes;
  for (const uint64_t extent : chunk) bytes *= extent;
  file.Number(bytes, 4).Zeros(4 + 8 * (chunk.size() + 1)).Address(address);
  // The key behind the last chunk.
  file.Zeros(8);
  for (const uint64_t extent : chunk) file.Number(extent, 8);
  file.Number(element_bytes, 8).Zeros(end - file.size());
}

std::vector<std::byte> NewGlobalHeap::Put(ConstByteSpan object) {
  constexpr size_t kMostBytes = size_t{64} << 10;
  if (objects_ == UINT16_MAX || heap_.size() - begin_ + object.size() > kMostBytes) Close();
  if (objects_ == 0) {
    begin_ = heap_.size();
    heap_.Text("GCOL").Number(1, 4).Zeros(8);
  }
  heap_.Number(++objects_, 2).Zeros(6).Number(object.size(), 8).Append(object).Align(8);
  return ByteWriter().Address(address_ + begin_).Number(objects_, 4).Take();
}

void NewGlobalHeap::Close() {
  constexpr size_t kLeastBytes = 4096;
  if (objects_ == 0) return;
  const size_t used = heap_.size() - begin_;
  if (used < kLeastBytes) {
    // What is free is an object, too, if there is room for its head.
    const size_t left = kLeastBytes - used;
    heap_.Zeros(left >= 16 ? 8 : 0).Number(left, 8);
    heap_.Zeros(begin_ + kLeastBytes - heap_.size());
  }
  heap_.Set(begin_ + 8, ByteWriter().Number(heap_.size() - begin_, 8).bytes());
  objects_ = 0;
}

std::vector<std::byte> NewGlobalHeap::Finish() {
  Close();
  return heap_.Take();
}

}  // namespace ndlfs::backends::hdf5
