// SPDX-License-Identifier: MIT
//
// The metadata of an HDF5 file by address: superblock, object headers, heaps and B-trees (HDF5
// File Format Specification, sections II to IV). Nothing in a file is believed: every address,
// count and size is checked before it is used, and loops end at the second visit.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hdf5/input.h"
#include "model/bounded_map.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

using ByteVector = std::vector<std::byte>;

// The types of messages that object headers have (IV.A.2).
enum class MessageType : uint16_t {
  kDataspace = 0x01,
  kLinkInfo = 0x02,
  kDatatype = 0x03,
  kOldFill = 0x04,
  kFill = 0x05,
  kLink = 0x06,
  kExternalFiles = 0x07,
  kLayout = 0x08,
  kGroupInfo = 0x0a,
  kFilters = 0x0b,
  kAttribute = 0x0c,
  kSharedTable = 0x0f,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
  kDriver = 0x14,
  kAttributeInfo = 0x15,
  kReferenceCount = 0x16,
  kFileSpace = 0x17,
  kCacheImage = 0x18,
};

struct FilterInfo {
  uint32_t id = 0;   // as registered with The HDF Group
  std::string name;  // as the file has it; may be empty
  std::vector<uint32_t> parameters;
};

// The filters of a dataset or a fractal heap, in the order of writing (IV.A.2.l).
model::Result<std::vector<FilterInfo>> ParseFilters(ConstByteSpan message);

class Metadata;

// A message of an object header, not shared any more.
struct HeaderMessage {
  MessageType type = MessageType::kDataspace;
  uint64_t order = 0;  // of creation, if the header tracks it
  ConstByteSpan body;
};

// The header of an object (IV.A.1).
class ObjectHeader {
 public:
  uint64_t address() const { return address_; }
  uint64_t links() const { return links_; }  // how many hard links lead to it
  bool tracks_attribute_order() const { return tracks_order_; }
  const std::vector<HeaderMessage>& messages() const { return messages_; }
  // The first message of a type; null if there is none.
  const HeaderMessage* Find(MessageType type) const;
  size_t held_bytes() const { return held_bytes_; }

 private:
  friend class HeaderReader;
  uint64_t address_ = 0;
  uint64_t links_ = 1;
  bool tracks_order_ = false;
  size_t held_bytes_ = 0;
  std::vector<HeaderMessage> messages_;
  std::vector<std::shared_ptr<const ByteVector>> blocks_;  // that bodies lie in
};

// A heap with objects of any size, found by identifiers (III.G).
class FractalHeap {
 public:
  static model::Result<std::shared_ptr<const FractalHeap>> Open(const Metadata& file,
                                                                uint64_t address);
  // The object, or its first `most` bytes at least. Kept blocks make the next one cheaper.
  // Thread-safe.
  model::Result<ByteVector> Get(const Metadata& file, ConstByteSpan id,
                                uint64_t most = UINT64_MAX) const;
  uint64_t held_bytes() const EXCLUDES(mutex_);

 private:
  struct Place {
    uint64_t address;
    uint64_t bytes;  // as stored
    uint64_t mask;   // of filters
  };
  using Block = std::shared_ptr<const ByteVector>;

  model::Result<ByteVector> GetManaged(const Metadata& file, Cursor id) const;
  model::Result<ByteVector> GetHuge(const Metadata& file, Cursor id, uint64_t most) const;
  model::Result<ByteVector> Unfilter(ByteVector bytes, uint64_t mask, uint64_t size) const;
  // The direct block that has the byte `offset` of the heap, its beginning in the heap, and
  // its size.
  struct DirectBlock {
    Place place;
    uint64_t begin;
    uint64_t bytes;
  };
  model::Result<DirectBlock> FindDirect(const Metadata& file, uint64_t offset) const;
  model::Result<Block> ReadIndirect(const Metadata& file, uint64_t address,
                                    uint64_t rows) const;
  model::Result<Block> ReadDirect(const Metadata& file, const DirectBlock& block) const;
  Block FindKept(uint64_t address) const;
  void Keep(uint64_t address, Block block) const;
  uint64_t RowBytes(uint64_t row) const { return start_bytes_ << (row == 0 ? 0 : row - 1); }
  uint64_t RowBegin(uint64_t row) const { return row == 0 ? 0 : width_ * RowBytes(row); }

  uint64_t address_ = 0;
  uint64_t id_bytes_ = 0;
  bool has_checksums_ = false;
  uint64_t max_managed_ = 0;
  uint64_t huge_tree_ = kNowhere;
  uint64_t width_ = 0;
  uint64_t start_bytes_ = 0;
  uint64_t max_direct_ = 0;
  uint64_t heap_bits_ = 0;
  uint64_t root_ = kNowhere;
  uint64_t root_rows_ = 0;
  Place filtered_root_ = {};
  std::vector<FilterInfo> filters_;
  static constexpr uint64_t kKeptBytes = uint64_t{2} << 20;
  mutable model::Mutex mutex_;
  mutable model::BoundedMap<uint64_t, Block> kept_ GUARDED_BY(mutex_){kKeptBytes};
};

// A B-tree of version 2 (III.A.2).
class Tree2 {
 public:
  static model::Result<Tree2> Open(const Metadata& file, uint64_t address);
  uint8_t type() const { return type_; }
  size_t record_bytes() const { return record_bytes_; }

  // Calls `visit` with each record in order, until it returns false or fails.
  using Visit = std::function<model::Result<bool>(ConstByteSpan record)>;
  model::Result<void> ForEach(const Metadata& file, const Visit& visit) const;
  // The first record for which `compare` returns 0: it returns whether the wanted one comes
  // before (-1) or behind (1) a record. Of several equal ones it is any.
  using Compare = std::function<model::Result<int>(ConstByteSpan record)>;
  model::Result<std::optional<ByteVector>> Find(const Metadata& file,
                                                const Compare& compare) const;

 private:
  struct Node {
    uint64_t address;
    uint64_t records;
    uint64_t level;
  };
  model::Result<ByteVector> ReadNode(const Metadata& file, const Node& node) const;
  ConstByteSpan Record(const ByteVector& node, uint64_t i) const;
  Node Child(const Metadata& file, const ByteVector& bytes, const Node& node, uint64_t i) const;

  uint8_t type_ = 0;
  uint64_t node_bytes_ = 0;
  uint64_t record_bytes_ = 0;
  Node root_ = {};
  // For each level: the most records of a node, and the bytes of numbers up to that below it.
  struct Level {
    uint64_t most;
    uint64_t total_bytes;
  };
  std::vector<Level> levels_;
  uint64_t count_bytes_ = 0;
};

// Where each object of a global heap lies (III.E).
class GlobalHeap {
 public:
  static model::Result<std::shared_ptr<const GlobalHeap>> Open(const Metadata& file,
                                                               uint64_t address);
  struct Entry {
    uint64_t address;
    uint64_t bytes;
  };
  model::Result<Entry> Find(const Metadata& file, uint64_t index) const;
  size_t held_bytes() const { return sizeof(*this) + places_.size() * sizeof(Place); }

 private:
  static uint64_t HeadBytes(const Metadata& file);

  struct Place {
    uint16_t index;
    uint32_t offset;  // of the head of the object in the heap, in units of 8 bytes
  };
  uint64_t address_ = 0;
  uint64_t end_ = 0;
  std::vector<Place> places_;  // by index
};

// The metadata of one file. Thread-safe.
class Metadata {
 public:
  static model::Result<std::shared_ptr<const Metadata>> Open(
      std::shared_ptr<const Input> input);

  const Input& input() const { return *input_; }
  uint64_t offset_bytes() const { return offset_bytes_; }
  uint64_t length_bytes() const { return length_bytes_; }
  // What addresses are counted from: the bytes of the user block.
  uint64_t base() const { return base_; }
  uint64_t root() const { return root_; }
  uint64_t chunk_tree_k() const { return chunk_tree_k_; }

  // The bytes at `address`, all of which must lie in the file.
  model::Result<ByteVector> Read(uint64_t address, uint64_t bytes) const;
  model::Result<void> ReadInto(uint64_t address, ByteSpan out) const;
  // The same, less at the end of the file.
  model::Result<ByteVector> ReadUpTo(uint64_t address, uint64_t bytes) const;
  // The same, with a signature in front and a checksum behind, which are checked.
  model::Result<ByteVector> ReadSigned(uint64_t address, uint64_t bytes,
                                       std::string_view signature) const;
  // A hint: `bytes` bytes from each of the addresses will be read soon.
  void Prefetch(std::vector<uint64_t> addresses, uint64_t bytes) const;

  model::Result<std::shared_ptr<const ObjectHeader>> Header(uint64_t address) const
      EXCLUDES(mutex_);
  // The body of the message of a type that is in the header at `address`, which must not be
  // shared itself.
  model::Result<ByteVector> MessageOf(uint64_t address, MessageType type) const;
  // What the body of a shared message stands for.
  model::Result<ByteVector> Shared(MessageType type, ConstByteSpan body) const;
  // Objects that were opened last are kept.
  model::Result<std::shared_ptr<const FractalHeap>> Heap(uint64_t address) const
      EXCLUDES(mutex_);
  // The object of the heap of shared messages of a type.
  model::Result<ByteVector> SharedObject(MessageType type, ConstByteSpan id) const;
  // An object of a global heap.
  model::Result<GlobalHeap::Entry> FindGlobal(uint64_t heap, uint64_t index) const
      EXCLUDES(mutex_);
  // A text in the local heap at `address` (III.D).
  class LocalHeap {
   public:
    model::Result<std::string> Text(const Metadata& file, uint64_t offset) const;

   private:
    friend class Metadata;
    uint64_t data_ = 0;
    uint64_t bytes_ = 0;
  };
  model::Result<LocalHeap> OpenLocalHeap(uint64_t address) const;
  // Of what is kept.
  uint64_t held_bytes() const EXCLUDES(mutex_);

 private:
  explicit Metadata(std::shared_ptr<const Input> input) : input_(std::move(input)) {}
  model::Result<void> ReadSuperblock();
  model::Result<void> ParseOld(Cursor in, unsigned version);
  model::Result<void> ParseNew(ConstByteSpan bytes, Cursor in);
  model::Result<void> CheckEnd(uint64_t stored_base, uint64_t end) const;
  model::Result<void> ReadExtension(uint64_t address);
  model::Result<void> ReadCacheImage(ConstByteSpan message);
  void ReadFileSpace(ConstByteSpan message);
  model::Result<void> ReadSharedTable(ConstByteSpan message);
  // The kept bytes that were never written to `address`, from there on; empty if there are
  // none.
  ConstByteSpan Overlay(uint64_t address) const;

  const std::shared_ptr<const Input> input_;
  uint64_t place_ = 0;  // of the superblock
  uint64_t base_ = 0;
  uint64_t offset_bytes_ = 8;
  uint64_t length_bytes_ = 8;
  uint64_t chunk_tree_k_ = 32;
  uint64_t root_ = kNowhere;
  bool is_paged_ = false;                    // with pages for metadata alone
  std::map<uint64_t, ByteVector> overlays_;  // the cache image
  struct SharedIndex {
    uint64_t types;  // a bit for each type of message
    uint64_t heap;
  };
  std::vector<SharedIndex> shared_;

  static constexpr uint64_t kKeptHeaders = uint64_t{4} << 20;
  static constexpr size_t kKeptHeaps = 4;
  static constexpr uint64_t kKeptGlobal = uint64_t{4} << 20;
  mutable model::Mutex mutex_;
  mutable model::BoundedMap<uint64_t, std::shared_ptr<const ObjectHeader>> headers_
      GUARDED_BY(mutex_){kKeptHeaders};
  // The last used one last.
  mutable std::vector<std::pair<uint64_t, std::shared_ptr<const FractalHeap>>> heaps_
      GUARDED_BY(mutex_);
  mutable model::BoundedMap<uint64_t, std::shared_ptr<const GlobalHeap>> global_
      GUARDED_BY(mutex_){kKeptGlobal};
};

// The hash of names and metadata (Bob Jenkins' lookup3).
uint32_t HashOf(ConstByteSpan bytes);

// A node of a B-tree of version 1 (III.A.1), which has one more key than children.
struct Tree1Node {
  enum class Type : uint8_t { kGroup = 0, kChunks = 1 };
  static model::Result<Tree1Node> Read(const Metadata& file, uint64_t address, Type type,
                                       uint64_t key_bytes);
  ConstByteSpan key(uint64_t i) const {
    return ConstByteSpan(bytes).subspan(i * (key_bytes + child_bytes), key_bytes);
  }
  uint64_t child(uint64_t i) const {
    const size_t at = i * (key_bytes + child_bytes) + key_bytes;
    return Cursor(ConstByteSpan(bytes).subspan(at, child_bytes)).Address(child_bytes);
  }

  uint64_t level = 0;  // 0: the children are no nodes
  uint64_t count = 0;
  uint64_t key_bytes = 0;
  uint64_t child_bytes = 0;
  ByteVector bytes;
};

// Undoes filters whose bits in `mask` are not set, and gives `size` bytes at most.
model::Result<ByteVector> UndoFilters(const std::vector<FilterInfo>& filters, uint64_t mask,
                                      ByteVector bytes, uint64_t size);

}  // namespace ndlfs::backends::hdf5
